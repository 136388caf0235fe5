"""V-trace, TD(lambda) and UPGO against vectors that torchrl, rlax and DI-engine agree on, and what must hold whatever the numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from league import returns

GOLDEN = Path(__file__).parent / "golden"
PRECISIONS = [(np.float64, 1e-8), (np.float32, 1e-5)]
FRAME_ARRAYS = ("values", "next_values", "rewards", "terminated", "truncated")


def cases(name: str) -> list[Any]:
    told = json.loads((GOLDEN / f"{name}_golden.json").read_text())
    return [pytest.param(case, id=case["name"]) for case in told["cases"]]


def arrays(case: dict[str, Any], names: tuple[str, ...], dtype: Any) -> list[Any]:
    found = [np.array(case["inputs"][name]) for name in names]
    return [array if array.dtype == bool else array.astype(dtype) for array in found]


def play(seed: int = 0, shape: tuple[int, int] = (24, 5), ends: float = 0.1) -> dict[str, Any]:
    """Random play in which ``next_values`` agree with ``values`` as they do in a real sequence."""
    random = np.random.default_rng(seed)
    values = random.normal(size=shape)
    ended = random.random(shape) < ends
    terminated = ended & (random.random(shape) < 0.5)
    truncated = ended & ~terminated
    next_values = returns.successor_values(values, random.normal(size=shape[1]), truncated, random.normal(size=shape))
    rewards = random.normal(size=shape)
    return {"values": values, "next_values": next_values, "rewards": rewards, "terminated": terminated, "truncated": truncated}


def ratios(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {"log_pi": random.normal(size=shape) - 2, "log_mu": random.normal(size=shape) - 2}


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("case", cases("vtrace"))
def test_vtrace_agrees_with_the_golden_vectors(case: dict[str, Any], dtype: Any, tolerance: float) -> None:
    got = returns.vtrace(*arrays(case, ("log_pi", "log_mu", *FRAME_ARRAYS), dtype), **case["params"])
    assert got.vs.dtype == got.advantage.dtype == dtype
    np.testing.assert_allclose(got.vs, case["outputs"]["vs"], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(got.advantage, case["outputs"]["pg_advantage"], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("case", cases("td_lambda"))
def test_td_lambda_agrees_with_the_golden_vectors(case: dict[str, Any], dtype: Any, tolerance: float) -> None:
    for name, expected in case["outputs"].items():
        lambda_ = float(name.removeprefix("lambda_"))
        got = returns.td_lambda(*arrays(case, FRAME_ARRAYS[1:], dtype), **case["params"], lambda_=lambda_)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("case", cases("upgo"))
def test_upgo_agrees_with_the_golden_vectors(case: dict[str, Any], dtype: Any, tolerance: float) -> None:
    got = returns.upgo_returns(*arrays(case, FRAME_ARRAYS, dtype), **case["params"])
    np.testing.assert_array_equal(got.follows, np.array(case["outputs"]["lambda_shifted"], bool))
    np.testing.assert_allclose(got.returns, case["outputs"]["upgo_return"], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("number", range(5))
def test_upgo_agrees_with_di_engine(number: int) -> None:
    case = json.loads((GOLDEN / "upgo_golden.json").read_text())["ding_cases"]["cases"][number]
    rewards, values = np.array(case["rewards"]), np.array(case["bootstrap_values"])
    never = np.zeros(rewards.shape, bool)
    got = returns.upgo_returns(values[:-1], values[1:], rewards, never, never, gamma=1.0)
    np.testing.assert_allclose(got.returns, case["upgo"], atol=1e-6)  # theirs are float32 inside


def test_the_off_policy_vectors_catch_a_reversed_ratio_and_the_on_policy_ones_cannot() -> None:
    for param in cases("vtrace"):
        case: Any = param.values[0]
        log_pi, log_mu, *rest = arrays(case, ("log_pi", "log_mu", *FRAME_ARRAYS), np.float64)
        wrong = returns.vtrace(log_mu, log_pi, *rest, **case["params"])
        off = float(np.abs(wrong.advantage - case["outputs"]["pg_advantage"]).max())
        assert (off < 1e-8) == (case["name"] == "onpolicy_noterm"), case["name"]


@pytest.mark.parametrize("lambda_", [0.0, 0.8, 1.0])
def test_on_policy_vtrace_is_td_lambda(lambda_: float) -> None:
    frames = play()
    log_pi = ratios(1, frames["values"].shape)["log_pi"]
    got = returns.vtrace(log_pi, log_pi, **frames, gamma=0.97, lambda_=lambda_)
    del frames["values"]
    np.testing.assert_allclose(got.vs, returns.td_lambda(**frames, gamma=0.97, lambda_=lambda_), atol=1e-12)
    assert got.ratio.mean() == 1.0


def test_lambda_one_is_monte_carlo() -> None:
    frames = play(ends=0.0)
    rewards, bootstrap = frames["rewards"], frames["next_values"][-1]
    expected = [sum(0.9**k * r for k, r in enumerate(rewards[t:])) + 0.9 ** (len(rewards) - t) * bootstrap for t in range(len(rewards))]
    log_pi = ratios(1, rewards.shape)["log_pi"]
    np.testing.assert_allclose(returns.vtrace(log_pi, log_pi, **frames, gamma=0.9).vs, expected, atol=1e-10)


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_what_comes_after_a_terminal_has_no_effect(gamma: float) -> None:
    frames = play(ends=0.0)
    frames["terminated"][10] = True
    log = ratios(2, frames["values"].shape)
    other = {name: array.copy() for name, array in frames.items()}
    other["next_values"][10] = np.nan  # the value of what follows the end is never looked at
    other["values"][11:] += 5.0
    other["next_values"][11:] -= 7.0
    other["rewards"][11:] *= 3.0
    one, two = (returns.vtrace(**log, **f, gamma=gamma, lambda_=0.8) for f in (frames, other))
    np.testing.assert_array_equal(one.vs[:11], two.vs[:11])
    np.testing.assert_array_equal(one.advantage[:11], two.advantage[:11])
    assert not np.allclose(one.vs[11:], two.vs[11:])
    one_up, two_up = (returns.upgo_returns(**f, gamma=gamma).returns for f in (frames, other))
    np.testing.assert_array_equal(one_up[:11], two_up[:11])


def test_a_truncation_bootstraps_from_its_own_final_observation_and_cuts_the_trace() -> None:
    zeros = np.zeros((3, 1))
    cut = np.array([[False], [True], [False]])
    values = np.array([[0.0], [0.0], [100.0]])  # the next episode starts at a frame worth 100
    final = np.array([[np.nan], [2.0], [np.nan]])
    following = returns.successor_values(values, np.array([50.0]), cut, final)
    assert following.ravel().tolist() == [0.0, 2.0, 50.0]
    never = np.zeros((3, 1), bool)
    returned = returns.td_lambda(following, zeros, never, cut, gamma=0.5, lambda_=1.0)
    assert returned.ravel().tolist() == [0.5, 1.0, 25.0]
    got = returns.vtrace(zeros, zeros, values, following, zeros, never, cut, gamma=0.5)
    assert got.vs.ravel().tolist() == [0.5, 1.0, 25.0]
    assert got.advantage.ravel().tolist() == [0.5, 1.0, 25.0 - 100.0]
    assert returns.upgo_returns(values, following, zeros, never, cut, gamma=0.5).returns.ravel().tolist() == [0.5, 1.0, 25.0]


def test_a_truncated_last_frame_bootstraps_from_its_final_observation() -> None:
    cut = np.array([[True]])
    assert returns.successor_values(np.ones((1, 1)), np.array([9.0]), cut, np.array([[4.0]])).item() == 4.0


def test_episodes_side_by_side_equal_episodes_apart() -> None:
    frames = play(ends=0.0)
    frames["terminated"][9] = True
    log = ratios(3, frames["values"].shape)
    whole = returns.vtrace(**log, **frames, gamma=0.95, lambda_=0.9)
    whole_up = returns.upgo_returns(**frames, gamma=0.95).returns
    for part in (slice(0, 10), slice(10, None)):
        some = {name: array[part] for name, array in frames.items()}
        got = returns.vtrace(**{name: array[part] for name, array in log.items()}, **some, gamma=0.95, lambda_=0.9)
        np.testing.assert_allclose(got.vs, whole.vs[part], atol=1e-12)
        np.testing.assert_allclose(got.advantage, whole.advantage[part], atol=1e-12)
        np.testing.assert_allclose(returns.upgo_returns(**some, gamma=0.95).returns, whole_up[part], atol=1e-12)


def test_sequences_of_one_batch_do_not_touch_each_other() -> None:
    frames = play()
    log = ratios(3, frames["values"].shape)
    whole = returns.vtrace(**log, **frames, gamma=0.95)
    alone = returns.vtrace(**{k: v[:, 2:3] for k, v in log.items()}, **{k: v[:, 2:3] for k, v in frames.items()}, gamma=0.95)
    np.testing.assert_array_equal(alone.vs, whole.vs[:, 2:3])


def test_frames_that_do_not_count_are_zero_and_touch_nothing() -> None:
    frames = play(ends=0.0)
    living = np.ones(frames["values"].shape, bool)
    frames["terminated"][7, 1], living[8:15, 1] = True, False  # a ship dies, its world goes on until frame 14, then a new one starts
    log = ratios(4, living.shape)
    broken = {name: array.copy() for name, array in frames.items()}
    broken_log = {name: array.copy() for name, array in log.items()}
    for name in ("values", "next_values", "rewards"):
        broken[name][~living] = np.nan
    for array in broken_log.values():
        array[~living] = np.inf
    with np.errstate(invalid="raise"):
        one = returns.vtrace(**log, **frames, gamma=0.95, living=living)
        two = returns.vtrace(**broken_log, **broken, gamma=0.95, living=living)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not a[~living].any()
    assert not returns.upgo_returns(**broken, gamma=0.95, living=living).returns[~living].any()
    frames["terminated"][14, 1] = True  # without the mask, ended there too: the other frames must agree
    free = returns.vtrace(**log, **frames, gamma=0.95)
    np.testing.assert_array_equal(one.vs[living], free.vs[living])


def test_groups_are_traces_of_their_own() -> None:
    frames = play()
    log = ratios(5, (*frames["values"].shape, 3))
    whole = returns.vtrace(**log, **frames, gamma=0.95, lambda_=0.8, rho_bar=2.0)
    for group in range(3):
        one = returns.vtrace(**{k: v[..., group] for k, v in log.items()}, **frames, gamma=0.95, lambda_=0.8, rho_bar=2.0)
        np.testing.assert_array_equal(whole.vs[..., group], one.vs)
        np.testing.assert_array_equal(whole.advantage[..., group], one.advantage)


def test_products_of_clipped_ratios_are_as_described() -> None:
    """What typically remains of a trace after 16 steps when each of seven heads' log-ratio deviates by 0.1."""
    random = np.random.default_rng(0)
    log_ratio = random.normal(scale=0.1, size=(20_000, 16, 7))
    joint = np.minimum(1, np.exp(log_ratio.sum(-1))).prod(1)
    split = np.minimum(1, np.exp(log_ratio)).prod(1)
    assert np.exp(np.log(joint).mean()) == pytest.approx(0.18, abs=0.01)
    assert np.exp(np.log(split).mean()) == pytest.approx(0.53, abs=0.01)
    log_mu = np.zeros((16, 20_000))
    never = np.zeros(log_mu.shape, bool)
    rewards = np.zeros(log_mu.shape)
    rewards[-1] = 1.0  # the first frame's target is what the trace carries of it: 15 ratios, and the last one's own clip
    got = returns.vtrace(log_ratio.sum(-1).T, log_mu, rewards * 0, rewards * 0, rewards, never, never, gamma=1.0)
    assert got.vs[0] == pytest.approx(joint, abs=1e-9)


def test_an_absurd_lag_stays_finite() -> None:
    frames = {name: array.astype(np.float32) if array.dtype != bool else array for name, array in play().items()}
    shape = frames["values"].shape
    got = returns.vtrace(np.full(shape, -1.0, np.float32), np.full(shape, -500.0, np.float32), **frames, gamma=1.0)
    assert np.isfinite(got.vs).all()
    assert np.isfinite(got.advantage).all()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"rewards": np.full((4, 2), np.nan)}, r"rewards\[0, 0\]: not a finite number"),
    ({"rewards": np.zeros((2, 4))}, r"rewards: shape \(2, 4\), but values have \(4, 2\)"),
    ({"values": np.zeros(4)}, r"values: shape \(4,\); time-major"),
    ({"values": np.zeros((0, 2))}, r"at least one frame"),
    ({"terminated": np.ones((4, 2), bool), "truncated": np.ones((4, 2), bool)}, r"terminated and truncated\[0, 0\]: both"),
    ({"gamma": 1.5}, r"gamma: 1.5 is not within"),
    ({"lambda_": 1.5}, r"lambda_: 1.5"),
    ({"rho_bar": -1.0}, r"rho_bar: -1.0"),
    ({"log_mu": np.zeros((4, 3))}, r"log_mu: shape \(4, 3\)"),
    ({"log_pi": np.full((4, 2), np.inf)}, r"log_pi\[0, 0\]: not a finite"),
    ({"living": np.array([[1, 1], [0, 1], [1, 1], [1, 1]], bool)}, r"living\[0, 0\]: the next frame does not count"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_errors_say_what_and_where(change: dict[str, Any], message: str) -> None:
    zeros, never = np.zeros((4, 2)), np.zeros((4, 2), bool)
    good: dict[str, Any] = dict.fromkeys(["log_pi", "log_mu", "values", "next_values", "rewards"], zeros)
    good |= {"terminated": never, "truncated": never}
    returns.vtrace(**good, gamma=1.0)
    with pytest.raises(ValueError, match=message):
        returns.vtrace(**{**good, "gamma": 1.0, **change})


def test_successor_values_says_which_shapes_it_wants() -> None:
    with pytest.raises(ValueError, match=r"bootstrap_values \(3,\)"):
        returns.successor_values(np.zeros((4, 2)), np.zeros(3), np.zeros((4, 2), bool), np.zeros((4, 2)))

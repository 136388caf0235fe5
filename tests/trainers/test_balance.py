"""Rare modes and new targets: what is decided for, and what is learnt from more often."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from data.checkpoint import load
from data.features import UNKNOWN_MODE, Normaliser, SetInputs, summary_features
from data.profile import ARENA_PROFILE
from data.vocabulary import MODES
from data.windows import Part
from engine.policy import Policy
from engine.replay import held_modes, replay_modes
from tests.trainers.synthetic import session
from trainers import executor, strategist
from trainers.loop import LoopSettings, load_network
from trainers.networks.strategist import Strategist
from trainers.strategist import mode_bias
from trainers.tactician import CLOCK_HZ, TacticianSettings, _examples, _keyframes, _labels, _later

ADJUST = (0.0, 0.5, 1.0)
COUNTS = np.array([90, 0, 0, 0, 10])


def test_a_rare_mode_is_decided_for_where_that_balances() -> None:
    # Of the rows of mode 4 the likeliest mode is 0, but less so than by how common 0 is.
    logits = np.zeros((20, 5), np.float32)
    logits[:, 0] = 2.0
    logits[10:, 4] = 1.0
    labels = np.array([0] * 10 + [4] * 10)
    bias = mode_bias(logits, labels, COUNTS, ADJUST)
    assert (logits + bias).argmax(1).tolist() == labels.tolist()
    assert bias[0] == pytest.approx(-np.log(0.9) * 0.5)
    assert bias[4] == pytest.approx(-np.log(0.1) * 0.5)  # no more than it takes


@pytest.mark.parametrize("labels", [[0] * 20, [-1] * 20])
def test_where_nothing_is_gained_the_likeliest_mode_stays(labels: list[int]) -> None:
    logits = np.zeros((20, 5), np.float32)
    logits[:, 0] = 9.0
    assert not mode_bias(logits, np.array(labels), COUNTS, ADJUST).any()


def test_without_its_history_a_second_is_judged_alone() -> None:
    torch.manual_seed(0)
    network = Strategist(6, 5, 16, 1, 2, 0.0, 8, forget=1.0)
    x = torch.randn(1, 8, 6)
    other = torch.cat([torch.randn(1, 7, 6), x[:, 7:]], dim=1)
    network.train()
    assert torch.allclose(network(x)[0, -1], network(other)[0, -1])
    network.eval()  # in flight it has its history
    assert not torch.allclose(network(x)[0, -1], network(other)[0, -1], atol=1e-4)


def test_training_and_flight_decide_alike(tmp_path: Path) -> None:
    steps = session(12.0)
    loop = LoopSettings(1, 32, 1e-3, device="cpu", checkpoints=False)
    settings = strategist.StrategistSettings(loop, history=8, shorter=0, phases=1, width=16, layers=1)
    best = strategist.train([steps, session(12.0, 1)], settings, tmp_path / "s").best
    found = load(best)
    assert len(steps) > 20 * settings.history  # what was before the oldest second tells how that one changed
    assert len(found.card["mode_bias"]) == len(MODES)
    network = strategist.make_network(len(summary_features(ARENA_PROFILE)), settings)
    load_network(network, best)
    network.eval()
    below = executor.train([session(4.0)], executor.ExecutorSettings(loop, width=16, layers=1), tmp_path / "e").best
    told: list[set[int]] = []
    for bias in ([0.0] * 5, [-9.0, 0.0, 0.0, 0.0, 9.0]):
        found.card["mode_bias"] = bias
        policy = Policy(ARENA_PROFILE, {"strategist": found, "executor": load(below)})
        flown = held_modes(replay_modes(policy, steps, 0, len(steps)), 0, len(steps))
        normaliser = Normaliser.from_json(found.card["normaliser"]["summary"])
        said = strategist.predict(network, normaliser, steps, Part(0, 0, len(steps)), 0.0, UNKNOWN_MODE, bias)
        assert flown.tolist() == said.tolist()
        told.append(set(flown.tolist()))
    assert told[1] == {4}
    assert told[0] != told[1]


def test_what_fills_up_short_stretches_is_no_play() -> None:
    """Else the normaliser would take the filling for play."""
    steps = session(12.0)
    settings = strategist.StrategistSettings(history=32, phases=1)
    windows = strategist._windows([steps], [np.zeros(len(steps), np.int8)], [Part(0, 0, len(steps))], settings)
    assert windows.real.sum(1).tolist() == [12]
    assert np.isfinite(windows.x).all()
    hp = [f.name for f in summary_features(ARENA_PROFILE)].index("low.hp")
    seen = Normaliser.fit(windows.x, windows.real).mean[hp]
    assert seen == pytest.approx(windows.x[0, :12, hp].mean())


def test_a_target_is_learnt_before_the_hand_sets_out_for_it() -> None:
    times = np.arange(6) * 50_000_000
    targets = np.array([7, 7, 7, 8, 8, -1], np.int32)
    assert _later(times, np.arange(6), 0.1).tolist() == [2, 3, 4, 5, 5, 5]
    ids = np.array([[7, 8]] * 6, np.int32)
    ids[1] = [7, 9]  # the new one is not seen yet
    inputs = SetInputs(np.zeros((6, 2, 1), np.float32), np.ones((6, 2), np.bool_), ids, np.zeros((6, 1), np.float32))
    labels = _labels(inputs, targets, targets[_later(times, np.arange(6), 0.1)])
    # A target that ends soon is still one; where there is none, none.
    assert labels.tolist() == [0, 0, 1, 1, 1, 32]


def test_rows_near_a_new_target_are_keyframes() -> None:
    times = np.arange(12) * 50_000_000
    targets = np.array([7] * 5 + [8] * 4 + [-1] * 3, np.int32)
    assert _keyframes(times, targets, 0.1).tolist() == [3, 4, 5, 6, 7]
    assert not len(_keyframes(times, targets, 0.0))
    assert not len(_keyframes(times, np.full(12, -1, np.int32), 0.1))


def test_the_decision_before_is_the_baseline_of_a_target() -> None:
    steps = session(12.0)  # another enemy each second
    targets = steps.track_ids.reshape(-1, 2)[:, 1].astype(np.int32)
    said = [(np.zeros(len(steps), np.int64), targets)]
    found = _examples([steps], [Part(0, 0, len(steps))], TacticianSettings(phases=1), None, said)
    rows = np.arange(len(found["kept"]))
    assert found["kept"].tolist() == (rows % int(CLOCK_HZ) != 0).tolist()

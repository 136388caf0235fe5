"""Actors of last man standing: what is sampled, paid, masked, cut and packed."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from league.arena.world import kernels
from league.codec import BINS, HEADS, LOGITS
from league.losses import REFERENCE_LOGITS, LossSettings, evaluate, update_loss
from league.network import HEAD_SLICES, ActorCritic
from league.packing import Frames, fit, pack
from league.privileged import TOLD_SIZE
from league.rollout import Actor, Chunk, Match, Policy, RolloutSettings
from league.symmetry import fold
from league.trajectories import TrajectorySequence

ALL = (True,) * 4


def network(seed: int = 0, hidden: int = 16) -> ActorCritic:
    """Far from uniform, so that a wrong log-probability shows."""
    torch.manual_seed(seed)
    made = ActorCritic(hidden)
    for part in (made.actor, made.critic):
        torch.nn.init.normal_(part[4].weight, 0.0, 0.3)
    return made.requires_grad_(False).eval()


def play(
    actor: Actor, policies: dict[str, Policy], numbers: range, players: tuple[str, ...], learning: tuple[bool, ...] = ALL, **more: Any
):
    """Rollouts of 64 steps until ``numbers`` matches are over, each beginning as soon as a world is free."""
    left = list(numbers)
    chunks: list[Chunk] = []
    while left or any(actor.matches):
        free = actor.idle[: len(left)]
        actor.begin({w: Match(left.pop(0), players, learning) for w in free})
        chunks.append(actor.rollout(policies, 64, **more))
    return chunks


def test_on_policy_ratios_are_one_and_no_head_is_clipped() -> None:
    net = network()
    actor = Actor(RolloutSettings(worlds=4))
    actor.begin({w: Match(w, ("a",) * 4, ALL) for w in range(4)})
    chunk = actor.rollout({"a": Policy(net, 3)}, 32, net)
    assert chunk.sequence is not None
    chunk.sequence.check()
    assert chunk.sequence.weights_version == 3
    parts = update_loss(evaluate(net, chunk.sequence), LossSettings()).parts
    assert parts["mean_ratio"] == pytest.approx(1.0, abs=1e-5)
    assert parts["kl"] == pytest.approx(0.0, abs=1e-6)
    assert (chunk.sequence.head_mask.all((0, 1)) == [True] * 4 + [False] * 3).all()  # nothing to pick up, abilities and guns at rest
    assert (chunk.sequence.behaviour_log_prob[~chunk.sequence.head_mask] == 0).all()
    other = update_loss(evaluate(network(1), chunk.sequence), LossSettings()).parts
    assert abs(other["mean_ratio"] - 1) > 0.05


def test_every_learning_seat_is_paid_its_outcome_once_and_is_gone_after_its_death() -> None:
    actor = Actor(RolloutSettings(worlds=3))
    chunks = play(
        actor, {"a": Policy(network(), 0), "b": Policy(network(1), 0)}, range(6), ("a", "b", "b", "expert"), (True, False, True, False)
    )
    sequences = [c.sequence for c in chunks if c.sequence is not None]
    assert sum(int(s.terminated.sum()) for s in sequences) == 6 * 2
    assert all((~s.living[1:] <= (s.done | ~s.living)[:-1]).all() for s in sequences)
    played = [p for c in chunks for p in c.played]
    assert sorted(p.match.number for p in played) == list(range(6))
    paid = sorted(float(s.reward[t, b]) for s in sequences for t, b in np.argwhere(s.terminated))
    told = sorted(1 - 2 * (p.placements[k] - 1) / 3 for p in played for k in (0, 2))
    assert paid == pytest.approx(told, abs=1e-6)
    assert sum(float(np.abs(s.reward[~s.terminated]).sum()) for s in sequences) == 0
    assert sum(c.frames for c in chunks) == sum(s.frames for s in sequences) < sum(c.steps for c in chunks)
    assert all(s.check() and not s.truncated.any() for s in sequences)


def test_seats_rotate_and_the_best_placement_is_that_of_the_expert_whatever_the_seat() -> None:
    actor = Actor(RolloutSettings(worlds=16))
    chunks = play(actor, {}, range(16), ("expert", "random", "random", "random"), (False,) * 4)
    places = np.array([p.placements for c in chunks for p in c.played])
    assert places[:, 0].mean() < 1.5 < places[:, 1:].mean(0).min()
    assert all(c.sequence is None and c.frames == 0 for c in chunks)


def test_a_match_goes_the_same_way_in_any_actor_and_world() -> None:
    players = ("a", "novice", "expert", "random")

    def ships(seed: int, numbers: range, world: int) -> NDArray[np.float32]:
        actor = Actor(RolloutSettings(worlds=len(numbers), seed=seed))
        actor.begin({w: Match(number, players, (True, False, False, False)) for w, number in enumerate(numbers)})
        actor.rollout({"a": Policy(network(), 0)}, 48)
        return actor.state.ship_pos[world]

    alone = ships(5, range(3, 4), 0)
    assert np.array_equal(alone, ships(5, range(6), 3))
    assert not np.array_equal(alone, ships(6, range(3, 4), 0))
    assert not np.array_equal(alone, ships(5, range(6), 2))


def play_all(episode_steps: int, unroll: int, pseudo: float = 0.0) -> Chunk:
    actor = Actor(RolloutSettings(worlds=3, episode_steps=episode_steps, pseudo_reward_scale=pseudo))
    actor.begin({w: Match(w, ("a",) * 4, ALL) for w in range(3)})
    return actor.rollout({"a": Policy(network(), 0)}, unroll)


@pytest.mark.parametrize("unroll", [10, 16])
def test_a_cut_match_pays_nothing_and_keeps_what_was_seen_last(unroll: int) -> None:
    cut, longer = play_all(10, unroll).sequence, play_all(100, 11).sequence
    assert cut is not None
    assert longer is not None
    assert int(cut.truncated.sum()) == 12
    assert not cut.reward.any()
    assert not cut.terminated.any()
    following = cut.check().next_observation()[cut.truncated]
    as_it_went_on = longer.observation[10]
    assert np.array_equal(np.unique(following, axis=0), np.unique(as_it_went_on, axis=0))
    assert play_all(10, unroll).played[0].truncated
    assert play_all(10, unroll).played[0].placements == (2.5,) * 4


def test_pseudo_rewards_are_paid_for_damage_and_sum_to_what_was_dealt_less_what_was_taken() -> None:
    actor = Actor(RolloutSettings(worlds=4, pseudo_reward_scale=0.5))
    chunks = play(actor, {"a": Policy(network(), 0)}, range(4), ("a", "a", "a", "expert"), (True, True, True, False))
    plain = play(
        Actor(RolloutSettings(worlds=4)), {"a": Policy(network(), 0)}, range(4), ("a", "a", "a", "expert"), (True, True, True, False)
    )
    extra = sum(
        float((a.sequence.reward - b.sequence.reward).sum()) for a, b in zip(chunks, plain, strict=True) if a.sequence and b.sequence
    )
    gained = actor.state.damage_dealt - actor.state.damage_taken
    learning = np.array([[seat != (3 + w) % 4 for seat in range(4)] for w in range(4)])
    assert extra == pytest.approx(0.5 * float(gained[learning].sum()), abs=1e-4)
    assert extra != 0


def unpacked(frames: Frames) -> TrajectorySequence:
    """One column for each seat, as it was played."""
    steps, seats = len(frames.reward), frames.reward[0].size
    flat = {name: getattr(frames, name).reshape(steps, seats, *getattr(frames, name).shape[3:]) for name in Frames._fields[1:]}
    after = frames.observation[steps].reshape(seats, -1)
    at = np.argwhere(flat["truncated"][:-1]).astype(np.int32)
    return TrajectorySequence(
        observation=frames.observation[:steps].reshape(steps, seats, -1),
        behaviour_log_prob=flat.pop("log_prob"),
        bootstrap_observation=after,
        final_at=at,
        final_observation=after[at[:, 1]],
        **flat,
    )


def some_frames(steps: int = 24, worlds: int = 4, ships: int = 3) -> Frames:
    random = np.random.default_rng(1)
    shape = (steps, worlds, ships)
    lengths = random.integers(0, steps + 1, (worlds, ships))
    lengths[0, 0] = lengths[1, 1] = steps
    times = np.arange(steps)[:, None, None]
    ends = (times == lengths - 1) & (random.random((worlds, ships)) < 0.9)
    ends |= (times == lengths - 1) & (lengths < steps)
    ends[:, 0, 0] = False
    cut = ends & (random.random((worlds, ships)) < 0.4)
    action = random.integers(0, BINS, (*shape, len(HEADS))).astype(np.int8)
    return Frames(
        observation=random.uniform(0, 1, (steps + 1, worlds, ships, TOLD_SIZE)).astype(np.float32),
        action=action,
        head_mask=random.random(action.shape) < 0.8,
        log_prob=-random.uniform(0.5, 2, action.shape).astype(np.float32),
        reward=random.normal(size=shape).astype(np.float32),
        terminated=ends & ~cut,
        truncated=cut,
        living=times < lengths,
    )


@pytest.mark.parametrize("traces", ["joint", "split"])
def test_packing_changes_no_loss_and_no_gradient(traces: Any) -> None:
    frames = some_frames()
    assert frames.truncated.any()
    assert frames.terminated.any()
    packed, plain = pack(frames, 7), unpacked(frames)
    assert packed is not None
    packed.check()
    assert packed.columns < plain.columns
    assert packed.frames == plain.frames
    settings = LossSettings(kl_weight=0, kl_weight_end=0, traces=traces)
    found: list[tuple[dict[str, float], NDArray[Any]]] = []
    for sequence in (packed, plain):
        net = network(2).requires_grad_(True)
        loss = update_loss(evaluate(net, sequence), settings)
        loss.total.backward()
        gradient = net.actor[0].weight.grad
        assert gradient is not None
        found.append((loss.parts, gradient.numpy()))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-4, abs=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-3, atol=1e-5)


def test_a_gap_without_an_end_is_refused() -> None:
    frames = some_frames()
    frames.terminated[:] = frames.truncated[:] = False
    with pytest.raises(ValueError, match="must follow an end"):
        pack(frames, 0)
    nobody = frames._replace(living=np.zeros_like(frames.living))
    assert pack(nobody, 0) is None


def test_bins_hold_everything_once_and_no_more_than_their_room() -> None:
    lengths = np.random.default_rng(0).integers(1, 64, 100).tolist()
    bins = fit(lengths, 64)
    assert sorted(i for members in bins for i in members) == list(range(100))
    assert max(sum(lengths[i] for i in members) for members in bins) <= 64
    assert len(bins) <= 1.25 * sum(lengths) / 64 + 1


def test_samples_follow_the_softmax_and_the_stream_alone() -> None:
    kernels("last_standing_kernel")
    from league.sampling_kernel import sample

    rows = np.arange(4 * 5000, dtype=np.int64)
    logits = np.tile(np.random.default_rng(0).normal(size=(1, LOGITS + 1)).astype(np.float32), (len(rows), 1))
    mask = np.ones((len(rows), 7), np.bool_)
    mask[:, 3] = False

    def drawn(streams: NDArray[np.uint64], ages: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        action, log_prob = np.zeros((len(rows), 7), np.int8), np.zeros((len(rows), 7), np.float32)
        assert sample(logits, mask, rows, 4, streams, np.full(5000, ages, np.int64), action, log_prob)
        return action, log_prob

    streams = np.random.default_rng(1).integers(0, 2**63, 5000).astype(np.uint64)
    action, log_prob = drawn(streams, 3)
    for head, name in enumerate(HEADS):
        expected = torch.from_numpy(logits[0, HEAD_SLICES[name]]).softmax(-1).numpy()
        share = np.bincount(action[:, head], minlength=len(expected)) / len(rows)
        assert np.abs(share - expected).max() < 4 * np.sqrt(0.25 / len(rows))
        wanted = np.log(expected)[action[:, head]] if mask[0, head] else 0
        np.testing.assert_allclose(log_prob[:, head], wanted, atol=1e-5)
    assert np.array_equal(action, drawn(streams, 3)[0])
    assert (action != drawn(streams, 4)[0]).mean() > 0.3
    assert (action[::4] != action[1::4]).mean() > 0.3  # seats of one world
    logits[9, 20] = np.nan
    assert not sample(logits, mask, rows, 4, streams, np.zeros(5000, np.int64), action.copy(), log_prob.copy())


def test_what_does_not_fit_is_refused_with_a_reason() -> None:
    actor = Actor(RolloutSettings(worlds=2))
    with pytest.raises(ValueError, match="match 4: 3 players"):
        actor.begin({0: Match(4, ("a",) * 3, (True,) * 3)})
    with pytest.raises(ValueError, match="expert is a script and cannot learn"):
        actor.begin({0: Match(4, ("expert",) * 4, ALL)})
    actor.begin({0: Match(4, ("a",) * 4, ALL)})
    with pytest.raises(ValueError, match="world 0: match"):
        actor.begin({0: Match(5, ("a",) * 4, ALL)})
    with pytest.raises(KeyError, match="players a: no weights are set"):
        actor.rollout({}, 4)
    broken = network()
    broken.actor[4].bias.fill_(float("nan"))
    with pytest.raises(ValueError, match="player a: its logits are not finite"):
        actor.rollout({"a": Policy(broken, 0)}, 4)
    for field, value in {"worlds": 0, "ships": 9, "draw_reward": 2.0, "pseudo_reward_scale": float("nan")}.items():
        with pytest.raises(ValueError, match=field):
            dataclasses.replace(RolloutSettings(), **{field: value})


def test_reference_logits_are_those_of_the_reference() -> None:
    actor = Actor(RolloutSettings(worlds=2))
    actor.begin({w: Match(w, ("a",) * 4, ALL) for w in range(2)})
    sequence = actor.rollout({"a": Policy(network(), 0)}, 8, network(3)).sequence
    assert sequence is not None
    wanted = network(3).actor(fold(torch.from_numpy(sequence.seen))[0]).numpy()
    np.testing.assert_allclose(sequence.extras[REFERENCE_LOGITS], wanted, atol=1e-5)

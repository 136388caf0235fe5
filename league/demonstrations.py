"""Play of the scripted pilots of last man standing, to imitate: no file is needed for a first policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.progress import Progress, Report, ignore
from league.arena.last_standing import action_masks, build_observation, decided, new_worlds, outcomes, step
from league.arena.last_standing_pilots import PILOTS, make_pilot, seats_of
from league.arena.last_standing_rules import EPISODE_STEPS
from league.codec import HEADS, OBSERVATION_SIZE
from league.trajectories import Array, TrajectorySequence

PLAYERS: Final = ("expert", "expert", "novice", "random")
WORLDS_AT_ONCE: Final = 32


def pilot_play(
    matches: int,
    players: Sequence[str] = PLAYERS,
    learn_from: Sequence[str] = ("expert",),
    seed: int = 0,
    episode_steps: int = EPISODE_STEPS,
    report: Report = ignore,
    stop: Callable[[], bool] = lambda: False,
) -> list[TrajectorySequence]:
    """``matches`` episodes among ``players`` (2 to 8 names), as blocks [T, B]: the seats of those named in ``learn_from``.

    ``stop`` is asked between blocks; what was played is given back. The same seed gives the same play. Some 100 kB for each
    seat and minute. Raises ValueError for unknown names, or when nobody who plays is learnt from.
    """
    unknown = sorted({*players, *learn_from} - set(PILOTS))
    if unknown:
        raise ValueError(f"pilots {', '.join(unknown)}; use some of {', '.join(PILOTS)}")
    if not set(players) & set(learn_from):
        raise ValueError(f"nobody of {', '.join(learn_from)} is among the players {', '.join(players)}; name one who plays")
    if matches < 1:
        raise ValueError(f"{matches} matches; play at least 1")
    blocks: list[TrajectorySequence] = []
    for first in range(0, matches, WORLDS_AT_ONCE):
        if stop():
            break
        report(Progress("pilots play", first / matches))
        seeds = np.arange(first, min(first + WORLDS_AT_ONCE, matches)) + seed * 1_000_003
        blocks.append(_block(players, learn_from, seeds, episode_steps))
    return blocks


def _block(players: Sequence[str], learn_from: Sequence[str], seeds: NDArray[np.int64], episode_steps: int) -> TrajectorySequence:
    worlds, ships = len(seeds), len(players)
    state = new_worlds(worlds, seeds, ships, episode_steps)
    seats, rows = seats_of(worlds, ships), np.arange(worlds)
    pilots = [make_pilot(name, seeds * 31 + player) for player, name in enumerate(players)]
    taken: list[tuple[Array, ...]] = []
    while not state.over.all():
        observation = build_observation(state)
        actions = np.zeros((worlds, ships, len(HEADS)), np.int8)
        for player, pilot in enumerate(pilots):
            seat = seats[:, player]
            actions[rows, seat] = pilot.act(observation[rows, seat][:, None])[:, 0]
        before, mask = decided(state), action_masks(state)
        step(state, actions)
        ended = decided(state) & ~before
        reward = np.where(ended, outcomes(state), 0.0).astype(np.float32)
        taken.append((observation, actions, mask, reward, ended, ~before))
    arrays = [np.stack(part) for part in zip(*taken, strict=True)]  # [T, worlds, ships, ...]
    wanted = np.array([name in learn_from for name in players])
    world, player = np.nonzero(np.broadcast_to(wanted, (worlds, ships)))
    return _as_sequence([a[:, world, seats[world, player]] for a in arrays], seeds[world])


def _as_sequence(arrays: Sequence[Any], seeds: NDArray[np.int64]) -> TrajectorySequence:
    """Whoever is alive at the limit is paid there, so that its episode is terminated, not cut."""
    observation, action, mask, reward, terminated, living = arrays
    return TrajectorySequence(
        observation=observation,
        action=action,
        head_mask=mask & living[..., None],
        behaviour_log_prob=np.zeros(action.shape, np.float32),
        reward=reward,
        terminated=terminated,
        truncated=np.zeros_like(terminated),
        living=living,
        bootstrap_observation=np.zeros((len(seeds), OBSERVATION_SIZE), np.float32),
        episodes=tuple(f"pilots {s}" for s in seeds.tolist()),
        extras={"recorded_reward": np.zeros_like(reward)},
    )

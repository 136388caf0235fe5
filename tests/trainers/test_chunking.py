"""Chunks of actions and the way-point: what is learnt of them, what holds of them in flight, and a policy that flies by them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.checkpoint import load
from data.profile import ARENA_PROFILE
from data.steps import input_names
from data.track_lookup import click_rows
from engine.policy import Policy
from engine.replay import replay_actions
from tests.trainers.synthetic import session
from trainers import executor
from trainers.chunking import Chunk, Chunks, Plan, flown
from trainers.executor_extras import chunk_loss, labels, mirrored_way
from trainers.loop import LoopSettings
from trainers.networks.shape import WAY_GRID, Extras
from trainers.pressing import PressRule

INPUTS = 3


def plans(count: int, ticks: int, seed: int = 0) -> list[Plan]:
    dice = np.random.default_rng(seed)
    return [
        Plan(np.array([0.5, 0.5], np.float32), dice.random((ticks, 2), np.float32), dice.random((ticks, INPUTS), np.float32))
        for _ in range(count)
    ]


@pytest.mark.parametrize("chunk", [Chunk(4), Chunk(4, decay=0.5), Chunk(4, first=4), Chunk(5, first=2), Chunk(3, first=1)])
def test_what_is_tuned_on_is_what_is_flown(chunk: Chunk) -> None:
    made = plans(11, chunk.ticks)
    hazards = np.stack([plan.hazards for plan in made])
    stretch = np.array([0] * 7 + [1] * 4)
    batch = flown(hazards, stretch, chunk)
    for part in (made[:7], made[7:]):
        chunks = Chunks(chunk)
        first = 0 if part[0] is made[0] else 7
        for i, plan in enumerate(part):
            np.testing.assert_allclose(chunks.tick(plan).hazards[0], batch[first + i], rtol=1e-6)


def test_the_mean_is_of_what_was_foretold_of_now_and_older_words_weigh_more() -> None:
    chunk, made = Chunk(3, decay=0.7), plans(3, 3)
    chunks = Chunks(chunk)
    for plan in made[:2]:
        chunks.tick(plan)
    now = chunks.tick(made[2])
    weights = np.exp(-0.7 * np.arange(3))
    expected = sum(w * made[i].hazards[2 - i] for i, w in enumerate(weights)) / weights.sum()
    np.testing.assert_allclose(now.hazards[0], expected, rtol=1e-6)
    chunks.forget()
    np.testing.assert_allclose(chunks.tick(made[0]).hazards[0], made[0].hazards[0], rtol=1e-6)


def test_ways_to_different_points_are_not_averaged() -> None:
    one, two = plans(2, 4)
    two = replace(two, point=np.array([0.9, 0.1], np.float32))
    chunks = Chunks(Chunk(4))
    chunks.tick(one)
    now = chunks.tick(two)
    np.testing.assert_allclose(now.path[0], two.path[0])
    np.testing.assert_allclose(now.hazards[0], (one.hazards[1] * 1 + two.hazards[0] * np.exp(-0.01)) / (1 + np.exp(-0.01)), rtol=1e-6)


@pytest.mark.parametrize("wrong", [{"ticks": 0}, {"ticks": 4, "first": 5}, {"ticks": 4, "decay": -1.0}])
def test_impossible_chunks_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="lie in"):
        Chunk(**wrong)  # pyright: ignore[reportArgumentType]


def test_labels_of_a_chunk_end_with_the_click_and_the_stretch() -> None:
    steps = session(6)
    found = labels(steps, 0, 60, click_rows(steps), Extras(4, True), 1.0)
    left = input_names(ARENA_PROFILE).index("mouse_left")
    click = int(click_rows(steps)[1])
    for ahead in range(4):
        assert np.flatnonzero(found["hazards"][:, ahead, left]).tolist() == [r - ahead for r in click_rows(steps).tolist() if r < 60]
        np.testing.assert_allclose(found["path"][10, ahead], steps.action_xy[10 + ahead])
    assert found["path_known"][click - 2].tolist() == [True, True, True, False]
    assert found["hazards_known"][58].tolist() == [True, True, False, False]
    # The ship stands in the middle: column and row 4 of 8; the last second has no later one.
    assert (found["way"][:40] == 4 * WAY_GRID[0] + 4).all()
    assert (found["way"][40:] == -1).all()


def test_a_mirrored_way_point_is_where_the_mirrored_ship_is() -> None:
    way = torch.tensor([0, 7, 56, 13, -1])
    yes, no = torch.ones(5, dtype=torch.bool), torch.zeros(5, dtype=torch.bool)
    assert mirrored_way(way, (yes, no)).tolist() == [7, 0, 63, 10, -1]
    assert mirrored_way(way, (no, yes)).tolist() == [56, 63, 0, 53, -1]


class Foretelling:
    """Stands for the network: says these shares and hazards."""

    aspect = 0.5

    def __init__(self, share: torch.Tensor, logits: torch.Tensor) -> None:
        self.foretell = lambda *given: (share, logits)


def test_a_path_is_learnt_as_shares_of_the_line_to_the_click() -> None:
    # From (0.2, 0.2) to (0.6, 0.2) over a point above the line, in a picture twice as wide as high; the last tick is after the click.
    path = torch.tensor([[[0.3, 0.2], [0.4, 0.1], [0.6, 0.2], [0.1, 0.9]]])
    batch = {
        "path": path,
        "path_known": torch.tensor([[True, True, True, False]]),
        "hazards": torch.zeros(1, 4, INPUTS),
        "hazards_known": torch.ones(1, 4, dtype=torch.bool),
        "point": torch.tensor([[0.6, 0.2]]),
        "cursor": torch.tensor([[0.2, 0.2]]),
        "choice": torch.tensor([0]),
    }
    true = torch.tensor([[[0.25, 0.0], [0.5, -0.125], [1.0, 0.0], [9.0, 9.0]]])
    never = torch.full((1, 4, INPUTS), -30.0)

    def loss(share: torch.Tensor, logits: torch.Tensor, **changes: torch.Tensor) -> float:
        network: Any = Foretelling(share, logits)
        nothing: Any = None
        return float(chunk_loss(network, batch | changes, nothing, nothing, nothing, torch.tensor([True]), torch.ones(INPUTS)))

    assert loss(true, never) == pytest.approx(0.0, abs=1e-6)
    assert loss(true + 0.2, never) > 0.1
    assert loss(true, never + 30) > 1
    assert loss(true + 0.2, never, choice=torch.tensor([-1])) == pytest.approx(0.0, abs=1e-6)  # no click is near: no path


@pytest.mark.timeout(240)
@pytest.mark.parametrize("chunk", [Chunk(6), Chunk(6, first=3)], ids=["ensembled", "first three"])
def test_a_policy_flies_by_chunks_and_a_way_point(tmp_path: Path, chunk: Chunk) -> None:
    loop = LoopSettings(2, 64, 3e-3, warmup_steps=5, device="cpu", checkpoints=False)
    settings = executor.ExecutorSettings(loop, width=16, layers=1, augment="off", chunk=chunk, way_point=True)
    steps = session(8.0)
    found = load(executor.train([steps, session(8.0, 1)], settings, tmp_path).best)
    assert (found.card["network"]["chunk"], found.card["network"]["way_point"]) == (6, True)
    policy = Policy(ARENA_PROFILE, {"executor": found})
    silent = np.full(len(steps), -1, np.int32)
    replayed = replay_actions(policy, steps, 0, len(steps), np.zeros(len(steps), np.int64), silent)
    assert replayed.hazards.shape == (len(steps), len(input_names(ARENA_PROFILE)))
    assert ((replayed.hazards > 0) & (replayed.hazards < 1)).all()
    policy.rules["space"] = PressRule(0.0, 0.0)
    policy.reset()
    actions = [policy.act(steps.observation(row)).action for row in range(60)]
    assert all(0 <= a.x <= 1 and 0 <= a.y <= 1 for a in actions)
    assert all("space" in a.onsets for a in actions)


def test_all_that_is_a_place_is_mirrored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, told = executor.Mirrors, list[tuple[str, ...]]()

    def spy(features: Any, device: Any, slots: Any, places: Any, offsets: Any) -> Any:
        told.append((*places, *offsets))
        return plain(features, device, slots, places, offsets)

    monkeypatch.setattr(executor, "Mirrors", spy)
    loop = LoopSettings(1, 64, 1e-3, device="cpu", checkpoints=False)
    settings = executor.ExecutorSettings(loop, width=16, layers=1, cursor_past=True, chunk=Chunk(3))
    executor.train([session(4.0)], settings, tmp_path)
    assert set(told[0]) == {"boxes", "own", "cursor", "cursor_past", "point", "path", "slot_offset"}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("sees", [False, True])
def test_only_a_policy_with_that_extra_sees_where_the_cursor_was(tmp_path: Path, sees: bool) -> None:
    loop = LoopSettings(2, 64, 3e-3, warmup_steps=5, device="cpu", checkpoints=False)
    settings = executor.ExecutorSettings(loop, width=16, layers=1, cursor_past=sees)
    steps = session(6.0)
    found = load(executor.train([steps, session(6.0, 1)], settings, tmp_path).best)
    policy, silent = Policy(ARENA_PROFILE, {"executor": found}), np.full(1, -1, np.int32)
    moved = steps.cursor.copy()
    moved[:-1] = 1 - moved[:-1]  # it came from elsewhere, and lies in the same place now
    last, mode = len(steps) - 1, np.zeros(1, np.int64)
    one, other = (replay_actions(policy, replace(steps, cursor=cursor), last, last + 1, mode, silent) for cursor in (steps.cursor, moved))
    assert (one.point == other.point).all()
    assert bool((one.hazards != other.hazards).any()) is sees


def test_a_chunks_chances_are_of_one_tick_each() -> None:
    assert executor.ExecutorSettings().key_ticks == 3
    assert executor.ExecutorSettings(chunk=Chunk(8)).key_ticks == 1


def test_without_chunks_there_are_none(tmp_path: Path) -> None:
    loop = LoopSettings(1, 64, 1e-3, device="cpu", checkpoints=False)
    found = load(executor.train([session(4.0)], executor.ExecutorSettings(loop, width=16, layers=1), tmp_path).best)
    assert Policy(ARENA_PROFILE, {"executor": found}).new_chunks() is None

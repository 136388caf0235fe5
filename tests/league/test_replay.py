"""The replay: each column is learnt from twice, memory stays bounded, and a restored one goes on as if nothing had been."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from league.replay import LAG_BINS, LagStatistics, Replay, ReplaySettings, restore
from league.trajectories import TrajectoryError, TrajectorySequence, write_arrays


def block(columns: int, first: int = 0, version: int = 0, steps: int = 4, **changed: Any) -> TrajectorySequence:
    """Column ``i`` has the number ``first + i`` as its reward, and a truncated step of its own when that number is even."""
    frame = (steps, columns)
    numbers = first + np.arange(columns)
    truncated = np.zeros(frame, bool)
    truncated[1, numbers % 2 == 0] = True
    at = np.argwhere(truncated).astype(np.int32)
    values: dict[str, Any] = {
        "observation": np.zeros((*frame, 19), np.float32),
        "action": np.zeros((*frame, 7), np.int8),
        "head_mask": np.ones((*frame, 7), bool),
        "behaviour_log_prob": np.zeros((*frame, 7), np.float32),
        "reward": np.broadcast_to(numbers, frame).astype(np.float32).copy(),
        "terminated": np.zeros(frame, bool),
        "truncated": truncated,
        "living": np.ones(frame, bool),
        "bootstrap_observation": np.broadcast_to(numbers[:, None] / 1000, (columns, 19)).astype(np.float32),
        "final_at": at,
        "final_observation": np.broadcast_to(numbers[at[:, 1], None] / 2000, (len(at), 19)).astype(np.float32),
        "weights_version": version,
        "episodes": tuple(f"match {n}" for n in numbers),
        "extras": {"reference_logits": np.zeros((*frame, 36), np.float32)},
    }
    return TrajectorySequence(**{**values, **changed})


def numbers(sequence: TrajectorySequence) -> list[int]:
    return sequence.reward[0].astype(int).tolist()


def test_each_column_is_drawn_twice_and_never_twice_in_a_batch() -> None:
    replay = Replay(ReplaySettings(capacity=32, sequences=8))
    replay.add(block(16))
    seen: Counter[int] = Counter()
    while (batch := replay.draw(0)) is not None:
        assert len(set(numbers(batch.sequence))) == 8
        seen.update(numbers(batch.sequence))
    left = len(replay)
    assert sum(seen.values()) + sum(replay._left) == 32  # pyright: ignore[reportPrivateUsage]
    assert max(seen.values()) == 2
    assert left < 8
    assert replay.counts.used_up == sum(n == 2 for n in seen.values())


def test_in_the_long_run_nothing_is_lost_when_learning_keeps_up() -> None:
    replay, seen = Replay(ReplaySettings(capacity=64, sequences=8)), Counter[int]()
    for turn in range(50):
        replay.add(block(8, first=8 * turn))
        while (batch := replay.draw(0)) is not None:
            seen.update(numbers(batch.sequence))
    assert replay.counts.pushed_out == 0
    assert replay.counts.added == 400
    assert set(seen.values()) <= {1, 2}
    assert sum(seen.values()) == replay.counts.drawn >= 2 * 400 - 14


def test_each_column_keeps_its_successors_and_its_name() -> None:
    replay = Replay(ReplaySettings(capacity=16, sequences=8))
    replay.add(block(12, first=20))
    batch = replay.draw(0)
    assert batch is not None
    sequence = batch.sequence.check()
    drawn = numbers(sequence)
    assert np.allclose(sequence.bootstrap_observation[:, 0], np.array(drawn) / 1000)
    assert sequence.episodes == tuple(f"match {n}" for n in drawn)
    following = sequence.next_observation()
    assert np.allclose(following[1, :, 0], [n / 2000 if n % 2 == 0 else 0 for n in drawn])
    assert sequence.extras["reference_logits"].shape == (4, 8, 36)


def test_more_than_fits_pushes_out_the_oldest_and_memory_stays() -> None:
    replay = Replay(ReplaySettings(capacity=16, sequences=4))
    replay.add(block(16))
    size = replay.nbytes
    replay.add(block(10, first=100))
    assert (len(replay), replay.counts.pushed_out) == (16, 10)
    assert replay.nbytes <= size + 8 * (19 * 4 + 4)
    left: set[int] = set()
    while (batch := replay.draw(0)) is not None:
        left.update(numbers(batch.sequence))
    assert left <= {10, 11, 12, 13, 14, 15, *range(100, 110)}
    replay.add(block(40, first=200))  # more than the whole replay at once: the last 16 stay
    batch = replay.draw(0)
    assert batch is not None
    assert min(numbers(batch.sequence)) >= 224


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    def drawn(seed: int) -> list[int]:
        replay = Replay(ReplaySettings(capacity=64, sequences=8, seed=seed))
        replay.add(block(64))
        batch = replay.draw(0)
        assert batch is not None
        return numbers(batch.sequence)

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_a_restored_replay_goes_on_exactly(tmp_path: Path) -> None:
    replay = Replay(ReplaySettings(capacity=32, sequences=4, seed=5))
    replay.add(block(20, version=1))
    replay.draw(3)
    replay.save(tmp_path / "replay.npz")
    again = restore(tmp_path / "replay.npz")
    for either in (replay, again):
        either.add(block(16, first=50, version=3))
    for _ in range(10):
        a, b = replay.draw(4), again.draw(4)
        assert a is not None
        assert b is not None
        assert a.sequence.episodes == b.sequence.episodes
        assert np.array_equal(a.sequence.next_observation(), b.sequence.next_observation())
        assert np.array_equal(a.versions, b.versions)
    assert (replay.counts, replay.lag) == (again.counts, again.lag)


def test_an_empty_replay_can_be_saved_too(tmp_path: Path) -> None:
    Replay().save(tmp_path / "replay.npz")
    again = restore(tmp_path / "replay.npz")
    assert again.draw(0) is None
    again.add(block(64))
    assert again.ready


def test_lags_are_counted_and_weights_from_the_future_refused() -> None:
    replay = Replay(ReplaySettings(capacity=8, sequences=4))
    replay.add(block(4, version=5))
    batch = replay.draw(7)
    assert batch is not None
    assert batch.versions.tolist() == [5, 5, 5, 5]
    assert (replay.lag.mean, replay.lag.largest, replay.lag.count) == (2.0, 2, 4)
    with pytest.raises(ValueError, match="version 4 is older than 5"):
        replay.draw(4)
    assert replay.counts.drawn == 4
    replay.clear()
    assert replay.draw(4) is None


def test_quantiles_of_the_lag() -> None:
    lag = LagStatistics()
    assert (lag.mean, lag.quantile(0.5)) == (0.0, 0)
    lag.add(np.array([0] * 90 + [3] * 9 + [500]))
    assert (lag.quantile(0.5), lag.quantile(0.95), lag.largest) == (0, 3, 500)
    assert lag.quantile(1.0) == LAG_BINS - 1
    assert lag.mean == pytest.approx(5.27)


def test_columns_without_a_frame_that_counts_are_not_taken() -> None:
    living = np.ones((4, 6), bool)
    living[:, 2] = False
    replay = Replay(ReplaySettings(capacity=8, sequences=2))
    replay.add(block(6, living=living))
    assert (len(replay), replay.counts.dead) == (5, 1)


def test_blocks_of_another_kind_are_refused() -> None:
    replay = Replay(ReplaySettings(capacity=8, sequences=2))
    replay.add(block(2))
    with pytest.raises(TrajectoryError, match="extras"):
        replay.add(block(2, extras={}))
    with pytest.raises(TrajectoryError, match="split or pad"):
        replay.add(block(2, steps=5))
    with pytest.raises(TrajectoryError, match="call them something else"):
        replay.add(dataclasses.replace(block(2), extras={"reward": np.zeros((4, 2))}))


@pytest.mark.parametrize("wrong", [{"capacity": 0}, {"reuse": 0}, {"sequences": 0}, {"capacity": 8, "sequences": 9}])
def test_settings_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="replay settings"):
        ReplaySettings(**wrong)


def test_another_or_a_torn_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "replay.npz"
    write_arrays(path, {}, {"replay_format": 7})
    with pytest.raises(TrajectoryError, match="replay format 7"):
        restore(path)
    write_arrays(path, {}, {"replay_format": 1, "settings": {"capacity": 9, "sequences": 3}})
    with pytest.raises(TrajectoryError, match="not a whole replay"):
        restore(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(TrajectoryError, match="not a whole file"):
        restore(path)

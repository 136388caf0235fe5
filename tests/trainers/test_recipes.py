"""The three recipes on small made-up sessions, and the policy they make."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from data.checkpoint import load
from data.features import SLOTS, Normaliser, summary_features
from data.profile import ARENA_PROFILE
from data.steps import Steps, empty_steps
from data.vocabulary import MODES
from data.windows import Part
from tests.trainers.synthetic import session
from trainers import executor, strategist, tactician
from trainers.executor import _rows_before
from trainers.executor_examples import Horizons, examples
from trainers.loop import LoopSettings, TrainingError
from trainers.networks.blocks import smoothed_cross_entropy
from trainers.prepare import Conditioning, drop_bad_rows


def loop(epochs: int = 2, batch: int = 32, rate: float = 1e-3) -> LoopSettings:
    return LoopSettings(epochs, batch, rate, warmup_steps=5, device="cpu")


def silent(steps: Steps) -> Conditioning:
    return Conditioning([np.zeros((len(steps), 2), np.int64)], [np.full((len(steps), 2), -1, np.int32)])


def test_smoothing_ignores_unlabelled_rows_and_closed_classes() -> None:
    logits = torch.tensor([[2.0, 0.0, float("-inf")], [9.0, -9.0, 0.0]])
    labels = torch.tensor([0, -1])
    loss = smoothed_cross_entropy(logits, labels, 0.1)
    log_p = torch.log_softmax(logits[0, :2], 0)
    assert float(loss) == pytest.approx(float(-(0.9 * log_p[0] + 0.1 * log_p.mean())), abs=1e-6)
    assert float(smoothed_cross_entropy(logits, torch.tensor([-1, -1]), 0.1)) == 0.0


def test_bad_rows_are_counted_and_named() -> None:
    values = np.zeros((5, 3), np.float32)
    values[2, 1], values[4, 2] = np.nan, np.inf
    notes: list[str] = []
    assert drop_bad_rows({"summary": values}, "strategist", notes).tolist() == [True, True, False, True, False]
    assert "2 of 5 rows dropped" in notes[0]
    assert "columns [1, 2]" in notes[0]


def test_examples_label_the_next_click_and_no_row_is_off_by_one() -> None:
    steps = session(6)
    arrays = examples([steps], [Part(0, 0, len(steps))], silent(steps))
    clicks = np.flatnonzero(arrays["click"][:, 0])
    assert clicks.tolist() == list(range(8, 120, 20))
    for row in clicks:
        # The clicked enemy is slot 1 (the ship itself comes first), from its appearance to the click, not after it.
        assert (arrays["choice"][row - 8 : row + 1] == 1).all()
        assert arrays["choice"][row + 1] == -1
        np.testing.assert_allclose(arrays["point"][row], steps.action_xy[row])
        assert arrays["intent"][row - 8 : row + 1].all()
        assert not arrays["intent"][row + 1 : row + 4].any()
        assert arrays["soon"][row - Horizons().key_ticks + 1 : row + 1, 0].all()
        assert not arrays["soon"][row + 1, 0]
    late = examples([session(6, lag=1)], [Part(0, 0, len(steps))], silent(steps))
    assert np.flatnonzero(late["click"][:, 0]).tolist() == [row + 1 for row in clicks]


def test_what_is_lost_in_the_tick_of_the_click_was_clicked_all_the_same() -> None:
    steps = session(6)
    row = 28
    there = slice(int(steps.track_offsets[row]), int(steps.track_offsets[row + 1]))
    enemies = np.flatnonzero(steps.track_classes[there] != 0) + there.start
    counts = np.diff(steps.track_offsets)
    counts[row] -= len(enemies)
    columns = {n: np.delete(getattr(steps, n), enemies, axis=0) for n in dir(steps) if n.startswith("track_") and n != "track_offsets"}
    lost = dataclasses.replace(steps, track_offsets=np.concatenate([[0], np.cumsum(counts)]), **columns)
    whole, found = (examples([s], [Part(0, 0, len(s))], silent(s))["choice"] for s in (steps, lost))
    assert whole[row] == 1
    assert (found[row - 8 : row] == 1).all(), "on the enemy, for as long as it was seen"
    assert found[row] == SLOTS, "on the ground, where it is not"


def test_a_click_over_a_gap_or_in_another_part_is_no_label() -> None:
    steps = session(6)
    arrays = examples([steps], [Part(0, 0, 26)], silent(steps))
    assert (arrays["choice"][20:26] == -1).all()  # its click is in row 28
    times = steps.time_ns.copy()
    times[27:] += 3_000_000_000
    cut = dataclasses.replace(steps, time_ns=times)
    assert (examples([cut], [Part(0, 0, 40)], silent(cut))["choice"][20:27] == -1).all()


def test_a_rare_mode_that_one_feature_tells_is_found(tmp_path: Path) -> None:
    sessions = [session(50, seed=i) for i in range(5)]
    labels = []
    for steps in sessions:  # hp is low in 5 % of the time only
        levels = steps.levels
        rare = (np.arange(len(steps)) % 400 >= 380) & True
        levels[:, 0] = np.where(rare, 0.2, 1.0)
        labels.append(np.where(rare, MODES.index("FLEE"), MODES.index("FIGHT")).astype(np.int8))
    settings = replace(strategist.QUICK, loop=loop(12, 8, 3e-3), history=16, width=32, phases=1)
    result = strategist.train(sessions, settings, tmp_path, labels=labels)
    assert any(re.search(r"FLEE [3-7]\.\d %", note) for note in result.notes)
    assert result.figures["recall_flee"] > 0.8
    assert result.figures["balanced_accuracy"] > 0.8
    assert load(result.best).card["class_counts"]["FLEE"] > 0


def test_what_is_hidden_is_not_learnt_from(tmp_path: Path) -> None:
    sessions = [session(30, seed=i) for i in range(4)]
    labels = []
    for steps in sessions:
        weak = np.arange(len(steps)) % 200 >= 100
        steps.levels[:, 0] = np.where(weak, 0.2, 1.0)
        labels.append(np.where(weak, MODES.index("FLEE"), MODES.index("FIGHT")).astype(np.int8))
    settings = replace(strategist.QUICK, loop=loop(8, 8, 3e-3), history=4, width=32, phases=1)
    seen = strategist.train(sessions, settings, tmp_path / "seen", labels=labels)
    blind = replace(settings, hidden=("*.hp", "*.hp@*", "*.hp.missing*"))
    unseen = strategist.train(sessions, blind, tmp_path / "unseen", labels=labels)
    assert seen.figures["balanced_accuracy"] > 0.9
    assert unseen.figures["balanced_accuracy"] < 0.75
    # Hidden in flight too: it is the card that hides.
    card = load(unseen.best).card
    norm = Normaliser.from_json(card["normaliser"]["summary"])
    at = [f.name for f in summary_features(ARENA_PROFILE)].index("level.hp")
    assert abs(norm.apply(np.full((1, len(norm.mean)), 0.7, np.float32))[0, at]) < 1e-6


@pytest.mark.parametrize("level", [strategist, tactician, executor])
def test_a_misspelt_feature_to_hide_is_refused(level: object, tmp_path: Path) -> None:
    settings = replace(level.QUICK, loop=loop(1), hidden=("level.helth",))  # type: ignore[attr-defined]
    with pytest.raises(TrainingError, match=r"no feature is called 'level.helth'; there are .*level\.hp"):
        level.train([session(6), session(6, seed=1)], settings, tmp_path)  # type: ignore[attr-defined]


def test_horizons_say_how_far_ahead_is_learnt() -> None:
    steps = session(6)
    part, given = [Part(0, 0, len(steps))], silent(steps)
    near = examples([steps], part, given, Horizons(point_s=0.0, intent_s=0.1, key_ticks=1))
    click = int(np.flatnonzero(near["click"][:, 0])[0])
    assert near["choice"][click - 1 : click + 2].tolist() == [-1, 1, -1]
    assert near["intent"][click - 3 : click + 1].tolist() == [0, 1, 1, 1]
    assert near["soon"][click - 1 : click + 1, 0].tolist() == [0, 1]
    assert (near["click_soon"] == near["click"]).all()
    ahead = examples([steps], part, given, Horizons(click_ticks=3))
    assert ahead["click_soon"][click - 3 : click + 2, 0].tolist() == [0, 1, 1, 1, 0]
    assert (ahead["click"] == near["click"]).all()  # what is judged stays the tick of the click
    for wrong in ({"key_ticks": 0}, {"click_ticks": 0}, {"click_ticks": 101}):
        with pytest.raises(ValueError, match=r"key_ticks in 1\.\.100"):
            Horizons(**wrong)


def test_the_tactician_learns_to_point(tmp_path: Path) -> None:
    sessions = [session(14, seed=i) for i in range(4)]
    result = tactician.train(sessions, replace(tactician.QUICK, loop=loop(6, 32, 3e-3), width=32), tmp_path)
    assert result.figures["on_target"] > 0.8


def test_the_executor_learns_to_click_the_enemy(tmp_path: Path) -> None:
    sessions = [session(12, seed=i) for i in range(4)]
    result = executor.train(sessions, replace(executor.QUICK, loop=loop(8, 32, 3e-3), width=32), tmp_path)
    card = load(result.best).card
    assert card["points"]["on_track"] > 0.8
    assert card["points"]["point_px"] < 20
    # The cursor rests elsewhere half a second before each click: a baseline of nothing at all would flatter nobody.
    assert card["points"]["persistence_px"] > 60
    assert card["onsets"]["mouse_left"]["f1_2"] > 0.6
    assert 0 < card["onsets"]["mouse_left"]["even_2"] < card["onsets"]["mouse_left"]["f1_2"]
    assert card["onsets"]["space"] == {"f1_2": None, "f1_0": None, "even_2": None, "true": 0, "pressed": 0}
    assert card["thresholds"]["space"]["threshold"] > 1  # never pressed: never presses
    assert card["points"]["causality"] > 0.3
    assert len(card["normaliser"]["slots"]["mean"]) == np.asarray(card["normaliser"]["slots"]["std"]).size
    assert SLOTS == 12


def test_sessions_without_tracks_train_with_a_warning(tmp_path: Path) -> None:
    bare = [session(6, seed=i, tracks=False) for i in range(2)]
    settings = replace(executor.QUICK, loop=loop(1), width=32)
    assert any("no tracks" in note for note in executor.train(bare, settings, tmp_path / "e").notes)
    assert any(
        "no tracks" in note for note in tactician.train(bare, replace(tactician.QUICK, loop=loop(1), width=32), tmp_path / "t").notes
    )


@pytest.mark.parametrize("level", [strategist, tactician, executor])
def test_no_data_and_too_little_are_refused(level: object, tmp_path: Path) -> None:
    for sessions, words in (([], "no sessions"), ([empty_steps(ARENA_PROFILE)], "0 usable rows"), ([session(1)], "20 usable rows of 20")):
        with pytest.raises(TrainingError, match=words):
            level.train(sessions, level.QUICK, tmp_path)  # type: ignore[attr-defined]


def test_the_rows_before_stay_within_their_stretch() -> None:
    stretch = np.array([0, 0, 0, 0, 1, 1, 1])
    assert _rows_before(stretch, np.array([0, 3, 5, 6]), 2).tolist() == [0, 1, 4, 4]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("level", [strategist, tactician, executor])
def test_a_level_that_was_stopped_and_gone_on_with_is_the_one_that_never_was(level: object, tmp_path: Path) -> None:
    """Augmentation, resampling and dropout draw at random too."""
    sessions = [session(10, seed=i) for i in range(3)]
    settings = replace(level.QUICK, loop=loop(4, 16), width=16, layers=1, augment="on")  # type: ignore[attr-defined]
    asked = 0

    def count() -> bool:
        nonlocal asked
        asked += 1
        return False

    straight = level.train(sessions, settings, tmp_path / "straight", stop=count)  # type: ignore[attr-defined]
    left = asked * (7 if level is strategist else 5) // 8  # two thirds of it, the Strategist tries how far to look back

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    stopped = level.train(sessions, settings, tmp_path / "gone on", stop=stop)  # type: ignore[attr-defined]
    assert stopped.interrupted
    assert 0 < stopped.epochs < straight.epochs
    assert level.train(sessions, settings, tmp_path / "gone on", resume=True).figures == straight.figures  # type: ignore[attr-defined]
    for name in ("checkpoint_epoch_4", "best_model"):
        whole, resumed = (load(tmp_path / folder / name).tensors for folder in ("straight", "gone on"))
        assert whole.keys() == resumed.keys()
        for tensor, values in whole.items():
            np.testing.assert_array_equal(values, resumed[tensor], err_msg=f"{name}: {tensor}")

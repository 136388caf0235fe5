"""Training on a person's boxes: what is held out, what the figures are worth, and a detector that finds things."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data.boxes import Box
from data.settings_io import load_settings
from engine.perception.card import read_card
from engine.perception.detector import load_detector
from engine.runtime.progress import Progress
from engine.teach import TeachError, TeachProject
from engine.teach_guesses import propose
from engine.teach_sampling import sample
from engine.teach_training import box_scales, held_out, honest_words, newest_model, put_into_profile, take_back, train_taught
from engine.work import WORK
from tests.support.teaching import PROFILE, Squares, blank, confirm_truth, recall, record


def test_whole_sessions_are_held_out_where_there_are_enough() -> None:
    pictures = [blank(f"{s}{k}", "confirmed", s, float(k)) for s in "abcde" for k in range(6)]
    kept = held_out(pictures)
    assert {len([p for p in pictures if p.session == s and p.id in kept]) for s in "abcde"} == {0, 6}
    assert 0.1 < len(kept) / len(pictures) < 0.35


@pytest.mark.parametrize("sessions", ["a", "ab"])
def test_else_the_last_part_of_each_session_is(sessions: str) -> None:
    pictures = [blank(f"{s}{k:02d}", "confirmed", s, float(k)) for s in sessions for k in range(20)]
    kept = held_out(pictures)
    for s in sessions:
        times = [p.time_s for p in pictures if p.session == s and p.id in kept]
        assert times == [16.0, 17.0, 18.0, 19.0]


def test_a_training_that_goes_on_is_not_judged_by_what_it_learnt_from() -> None:
    first = [blank(f"{s}{k:02d}", "confirmed", s, float(k)) for s in "ab" for k in range(20)]
    kept = held_out(first)
    learnt = {p.id for p in first} - kept
    assert held_out(first, learnt) == kept
    third = [*first, *(blank(f"c{k:02d}", "confirmed", "c", float(k)) for k in range(20))]
    assert held_out(third) & learnt  # whole sessions are held out now
    again = held_out(third, learnt)
    assert not again & learnt
    assert len(again) >= 4
    assert held_out(first, {p.id for p in first}) == set()


def test_too_few_pictures_are_refused_with_how_many_are_needed() -> None:
    with pytest.raises(TeachError, match="5 pictures are confirmed; a detector needs 8 at least"):
        held_out([blank(str(k), "confirmed") for k in range(5)])


def test_small_things_are_labelled_larger() -> None:
    small, large = Box("me", 0.5, 0.5, 0.5 + 8 / 320, 0.5 + 8 / 192), Box("foe", 0.1, 0.1, 0.3, 0.3)
    assert box_scales([blank("a", boxes=(small, large))], PROFILE) == {"me": 1.5}


def test_few_pictures_are_called_few() -> None:
    classes = {"me": {"n": 12, "ap50": 0.4}, "foe": {"n": 40, "ap50": 0.9}}
    box = Box("me", 0, 0, 0.1, 0.1)
    kept, learnt = [blank(f"k{k}", session="a") for k in range(12)], [blank(f"t{k}", session="a", boxes=(box,)) for k in range(40)]
    words = " | ".join(honest_words({"classes": classes}, kept, learnt, ("me", "foe")))
    assert "12 pictures are too few to judge by" in words
    assert "all pictures are of one session" in words
    assert "never drawn, so that it cannot be found: foe" in words
    assert "mostly chance: me (12)" in words
    assert "weak: me" in words
    many = [blank(f"k{k}", session="b") for k in range(60)]
    learnt = [blank("t", session="a", boxes=(box, Box("foe", 0, 0, 0.1, 0.1)))]
    good = {name: {"n": 50, "ap50": 0.9} for name in ("me", "foe")}
    assert honest_words({"classes": good}, many, learnt, ("me", "foe")) == [
        "the best pass was chosen by these same pictures, so that the figures are a little too good"
    ]


@pytest.mark.timeout(300)
def test_from_recordings_to_a_detector_in_the_profile_and_back(tmp_path: Path) -> None:
    truth = {record(tmp_path, squares, 12.0): squares for squares in (Squares(1), Squares(2), Squares(3))}
    project = TeachProject(tmp_path, PROFILE)
    sample(project, 24)
    confirm_truth(project, truth)
    told: list[Progress] = []
    taught = train_taught(tmp_path, PROFILE, epochs=16, report=told.append, run_name="first")
    assert taught.complete
    assert [p.done for p in told] == sorted(p.done for p in told)
    assert any(p.eta_s is not None for p in told)
    assert taught.trained_on + taught.held_out == len(project.pictures())
    assert taught.figures["map50"] > 0.6
    assert not (tmp_path / "models" / "detector" / "first" / "pictures").exists()
    card = read_card(taught.weights.with_suffix(".json"))
    assert card.classes == ("me", "foe")
    assert card.figures["words"] == list(taught.words)
    assert f"{taught.held_out} pictures are too few to judge by" in taught.words[0]

    # the model proposes in pictures of another day, with classes, the least sure first
    other = Squares(9)
    session = record(tmp_path, other, 8.0)
    fresh = TeachProject(tmp_path, PROFILE)
    assert sample(fresh, 6, (session,)) > 0
    assert newest_model(fresh) == taught.weights
    assert propose(fresh, newest_model(fresh)).by.keys() == {"model"}
    new = [p for p in fresh.pictures() if p.session == session]
    assert np.mean([recall(p.boxes, other.boxes(p.time_s)) for p in new]) > 0.6
    doubts = [p.unsure for p in fresh.queue()[: len(new)]]
    assert doubts == sorted(doubts, key=lambda d: -(d or 0))

    # into the profile, and out again
    config = tmp_path / "config.toml"
    old = PROFILE.model_copy(update={"detector": "models/detector/old.onnx"})
    put_into_profile(TeachProject(tmp_path, old), taught.weights, config)
    settings, _ = load_settings(config, (f"paths.workspace={tmp_path}",), strict=True)
    now = settings.games["squares"]
    assert now.detector == "models/detector/first/squares_detector.onnx"
    detector = load_detector(now, workspace=tmp_path)
    assert detector is not None
    assert len(detector.detect(other.picture(1.0)))
    change, name = take_back(TeachProject(tmp_path, now), config)
    assert name == "models/detector/old.onnx"
    assert change.path == config
    assert load_settings(config, (), strict=True)[0].games["squares"].detector == name
    with pytest.raises(TeachError, match="nothing can be taken back"):
        take_back(TeachProject(tmp_path, old), config)


@pytest.mark.timeout(240)
def test_stopped_it_keeps_what_was_learnt_and_goes_on_later(tmp_path: Path) -> None:
    truth = {record(tmp_path, squares, 8.0): squares for squares in (Squares(1),)}
    project = TeachProject(tmp_path, PROFILE)
    sample(project, 10)
    with pytest.raises(TeachError, match="0 pictures are confirmed"):
        train_taught(tmp_path, PROFILE)
    confirm_truth(project, truth)
    with pytest.raises(TeachError, match="no earlier training"):
        train_taught(tmp_path, PROFILE, resume=True)
    stopped = train_taught(tmp_path, PROFILE, epochs=4, should_stop=lambda: True, run_name="stopped")
    assert not stopped.complete
    assert stopped.weights.is_file()
    ids = {p.id for p in project.pictures()}
    learnt = set(read_card(stopped.weights.with_suffix(".json")).training["learnt"])
    assert len(learnt) == stopped.trained_on
    said = WORK["teach"](lambda _: None, str(tmp_path), PROFILE.model_dump(mode="json"), epochs=1, resume=True, run_name="on")
    assert said.startswith("on/squares_detector.onnx: mAP50")
    assert TeachProject(tmp_path, PROFILE).state()["runs"] == ["stopped", "on"]
    on = newest_model(TeachProject(tmp_path, PROFILE))
    assert on is not None
    assert set(read_card(on.with_suffix(".json")).training["learnt"]) == learnt < ids

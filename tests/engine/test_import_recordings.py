"""Earlier recordings as sessions: steps as live play would have made them, each file once, merged in training."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.catalog import list_sessions
from data.importers.old_recordings import OldRecording, read_old
from data.labels import labelled, mode_stretches, read, set_mode
from data.profile import ARENA_PROFILE
from data.session import open_session
from data.verify import verify
from data.vocabulary import MODES
from engine.import_recordings import FileReport, ImportOptions, files_in, import_files
from engine.training import load_sessions
from trainers.prepare import check_sessions

OPTIONS = ImportOptions(ARENA_PROFILE, {"npc": "drone", "me": "self"})


def sequence(count: int = 90, fps: float = 30.0, **more: Any) -> dict[str, Any]:
    """The cursor wanders to the right, an npc with it; a click at picture 30, held for 3 pictures; q at picture 45."""
    actions = [{"x": i / count, "y": 0.5, "click": int(30 <= i < 33), "key": "q" if i == 45 else None} for i in range(count)]
    objects = [
        [
            {"class": "npc", "bbox": [i / count - 0.02, 0.46, i / count + 0.02, 0.54], "conf": 0.9},
            {"class": "me", "bbox": [0.48, 0.46, 0.52, 0.54], "conf": 0.95},
            {"class": "moon", "bbox": [0.8, 0.1, 0.9, 0.2], "conf": 0.5},
        ]
        for i in range(count)
    ]
    return {"fps": fps, "states": [{"health": 90}] * count, "actions": actions, "objects": objects, "modes": ["flee"] * count, **more}


def put(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def import_one(workspace: Path, path: Path, options: ImportOptions = OPTIONS) -> FileReport:
    return import_files(workspace, [path], options)[0]


def test_a_sequence_becomes_a_session(tmp_path: Path) -> None:
    told = import_one(tmp_path, put(tmp_path / "old" / "sequence_1.json", sequence()))
    assert (told.outcome, told.kind, told.rows) == ("imported", "sequence", 90)
    assert told.seconds == pytest.approx(89 / 30, abs=0.01)
    assert told.dropped == {"objects of class 'moon', which arena has not": 90}
    assert told.used == ("2 presses", "180 objects", "90 levels", f"{told.steps} steps at 20 Hz of 90 rows")
    folder = tmp_path / "sessions" / told.session
    assert {finding.severity for finding in verify(folder)} == {"info"}
    with open_session(folder) as session:
        steps, events = session.steps(), session.events()
        assert session.metadata.details["imported"] == "sequence_1.json"
        assert session.metadata.duration_s == pytest.approx(89 / 30, abs=0.01)
    assert abs(len(steps) - 60) <= 1
    assert set(np.diff(steps.time_ns)) == {50_000_000}
    assert [(e.kind, e.name) for e in events if e.kind != "move"] == [
        ("press", "mouse_left"),
        ("release", "mouse_left"),
        ("press", "q"),
        ("release", "q"),
    ]
    rows = {name: row for row in range(len(steps)) for name in steps.onsets(row)}
    assert rows["mouse_left"] == 20  # picture 30 of 30 a second: at 1 s
    assert rows["q"] == 30
    assert steps.action_xy[20, 0] == pytest.approx(1 / 3, abs=0.02)
    assert set(steps.track_classes.tolist()) == {0, 1}
    assert steps.levels[0, ARENA_PROFILE.level_names().index("hp")] == pytest.approx(0.9)
    drones = steps.track_classes == 1
    assert len(set(steps.track_ids[drones].tolist())) == 1  # followed, not found anew
    assert steps.track_velocities[drones][-1, 0] == pytest.approx(1 / 3, rel=0.2)


def test_the_same_play_is_taken_once(tmp_path: Path) -> None:
    demos = [
        {
            "timestamp": i / 20,
            "state": {"hp": 50},
            "action": [0.5, 0.5, int(i == 7), 0],
            "objects": [{"class": "npc", "bbox": [0.1, 0.1, 0.2, 0.2]}],
        }
        for i in range(60)
    ]
    first = put(tmp_path / "recordings_v2" / "shadow_recording_1.json", {"demos": demos})
    twin = tmp_path / "data" / "recordings" / "shadow_recording_1.pkl"
    twin.parent.mkdir(parents=True)
    twin.write_bytes(pickle.dumps({"demos": demos}))
    put(tmp_path / "data" / "corrections_1.jsonl", {"bot_action": "FIGHT", "vlm_correction": "FLEE", "state": {}})
    files = files_in([tmp_path / "recordings_v2", tmp_path / "data", first])
    assert len(files) == 3
    outcomes = {t.file: (t.outcome, t.reason) for t in import_files(tmp_path, files, OPTIONS)}
    assert outcomes[first.name][0] == "imported"
    assert outcomes[twin.name] == ("already", "the same play under another name")
    assert outcomes["corrections_1.jsonl"][0] == "not play"
    again = import_files(tmp_path, files, OPTIONS)
    assert [t.outcome for t in again].count("imported") == 0
    assert again[-1].reason or again[0].reason
    (info,) = list_sessions(tmp_path)
    assert (info.kind, info.steps) == ("shadow", 60)


def test_it_is_learnt_from_with_all_others(tmp_path: Path) -> None:
    from tests.support.sessions import write_session

    for i in range(2):
        assert import_one(tmp_path, put(tmp_path / "old" / f"sequence_{i}.json", sequence(90 + 30 * i))).outcome == "imported"
    steps, left_out = load_sessions(tmp_path, "arena")
    assert (len(steps), left_out) == (2, [])
    check_sessions(steps)
    assert write_session(tmp_path, 10).exists()
    assert len(load_sessions(tmp_path, ARENA_PROFILE.name)[0]) == 3


def test_a_pause_stays_a_pause(tmp_path: Path) -> None:
    values = sequence(60)
    values["timestamps"] = [i / 30 + (10 if i >= 30 else 0) for i in range(60)]
    told = import_one(tmp_path, put(tmp_path / "sequence_gap.json", values))
    with open_session(tmp_path / "sessions" / told.session) as session:
        gaps = np.diff(session.steps().time_ns)
    assert gaps.max() > 8e9
    assert told.steps < 70


def test_times_in_nanoseconds_and_a_pause_of_months_take_no_longer(tmp_path: Path) -> None:
    values = sequence(300)
    values["timestamps"] = [1_700_000_000_000_000_000 + 33_000_000 * i + (100 * 86_400 * 10**9 if i >= 150 else 0) for i in range(300)]
    told = import_one(tmp_path, put(tmp_path / "old" / "sequence_ns.json", values))
    assert (told.outcome, told.defaulted) == ("imported", ("times are in ns",))
    assert told.seconds == pytest.approx(100 * 86_400 + 299 * 0.033, abs=0.01)
    with open_session(tmp_path / "sessions" / told.session) as session:
        times = session.steps().time_ns
    assert set((times - times[0]) % 50_000_000) == {0}
    assert (np.diff(times) > 1e9).sum() == 1
    assert abs(len(times) - 220) <= 3  # a second of the last picture before the pause, as in live play


def test_a_file_of_absurd_times_does_not_keep_the_others_out(tmp_path: Path) -> None:
    absurd = sequence(60, timestamps=[i * 10**13 for i in range(60)])
    files = [put(tmp_path / "old" / "a.json", absurd), put(tmp_path / "old" / "b.json", sequence())]
    first, second = import_files(tmp_path, files, OPTIONS)
    assert (first.outcome, second.outcome) == ("refused", "imported")
    assert first.reason.startswith("the median step between its times is 1e+13")


HUGE = 10**399  # 400 digits


@pytest.mark.parametrize("suffix", [".json", ".pkl"])
def test_a_number_of_400_digits_does_not_keep_the_other_files_out(suffix: str, tmp_path: Path) -> None:
    actions, objects = sequence(60)["actions"], sequence(60)["objects"]
    huge: dict[str, dict[str, Any]] = {
        "x": {"actions": [{**actions[0], "x": HUGE}, *actions[1:]]},
        "fps": {"fps": HUGE},
        "timestamp": {"timestamps": [HUGE, *(i / 30 for i in range(1, 60))]},
        "bbox": {"objects": [[{**objects[0][0], "bbox": [HUGE, 0, HUGE, 1]}], *objects[1:]]},
        "state": {"states": [{"health": HUGE}, *sequence(59)["states"]]},
    }
    files = []
    for number, (name, values) in enumerate(huge.items()):
        files.append(put(tmp_path / "old" / f"{name}.json", sequence(60 + number, **values)))
        if suffix == ".pkl":
            files[-1].unlink()
            files[-1] = files[-1].with_suffix(suffix)
            files[-1].write_bytes(pickle.dumps(sequence(60 + number, **values)))
    *told, last = import_files(tmp_path, [*files, put(tmp_path / "old" / "z.json", sequence(90))], OPTIONS)
    assert last.outcome == "imported"
    assert {one.outcome for one in told} == {"refused" if suffix == ".json" else "imported"}  # of a pickle only the number is left out
    assert all("a whole number of 400 digits" in one.reason for one in told if suffix == ".json")


@pytest.mark.parametrize("error", [OverflowError("too large"), ZeroDivisionError("by zero"), MemoryError()])
def test_an_error_that_nobody_foresaw_refuses_one_file_only(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: Path, size: tuple[int, int] | None) -> OldRecording:
        if path.name == "a.json":
            raise error
        return read_old(path, size)

    monkeypatch.setattr("engine.import_recordings.read_old", read)
    files = [put(tmp_path / "old" / name, sequence(60)) for name in ("a.json", "b.json")]
    first, second = import_files(tmp_path, files, OPTIONS)
    assert (first.outcome, second.outcome) == ("refused", "imported")
    assert first.reason == (str(error) or "it holds more than there is memory for")


def test_one_bad_time_does_not_change_the_pace_of_the_play(tmp_path: Path) -> None:
    demos = [{"timestamp": i / 10, "state": {"hp": 50}, "action": [i / 100, 0.5, 0, 0]} for i in range(100)]
    demos[50]["timestamp"] = demos[49]["timestamp"]
    told = import_one(tmp_path, put(tmp_path / "old" / "shadow_recording_1.json", {"demos": demos}))
    assert (told.outcome, told.seconds, told.steps) == ("imported", 9.9, 199)
    assert told.defaulted == ("1 time that was missing or did not grow: taken from its neighbours",)


def test_modes_are_kept_only_when_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path / "sequence_1.json", sequence())
    told = import_one(tmp_path, path, ImportOptions(ARENA_PROFILE, OPTIONS.classes, keep_modes=True))
    folder = tmp_path / "sessions" / told.session
    with open_session(folder) as session:
        said = labelled(session.steps(), folder).said_mode
    assert said is not None
    assert (said[:-3] == MODES.index("FLEE")).all()
    other = tmp_path / "other"
    told = import_one(other, path)
    assert not (other / "sessions" / told.session / "labels.jsonl").exists()


def test_modes_that_were_left_out_are_told_and_taken_by_a_second_import(tmp_path: Path) -> None:
    path = put(tmp_path / "old" / "sequence_1.json", sequence())
    keep = ImportOptions(ARENA_PROFILE, OPTIONS.classes, keep_modes=True)
    told = import_one(tmp_path, path)
    assert told.modes_left == 90
    folder = tmp_path / "sessions" / told.session
    start_ns = 1_000_000_000
    set_mode(folder, start_ns, start_ns + 500_000_000, "LOOT")
    again = import_one(tmp_path, path, keep)
    assert (again.outcome, again.session) == ("already", told.session)
    assert again.reason == "this file was imported before; its 90 modes are labels now"
    other = import_one(tmp_path / "first", path, keep)
    assert other.modes_left == 0
    first = read(tmp_path / "first" / "sessions" / other.session)[0]
    assert [label for label in read(folder)[0] if label.source == "rules"] == first
    assert [stretch.mode for stretch in mode_stretches(read(folder)[0])] == ["LOOT", "FLEE"]  # a person's word still holds
    assert import_one(tmp_path, path, keep).reason == "this file was imported before; its modes are labels already"
    assert import_one(tmp_path, path).reason == "this file was imported before"
    assert len(read(folder)[0]) == 2


def test_a_recording_without_modes_says_so(tmp_path: Path) -> None:
    keep = ImportOptions(ARENA_PROFILE, OPTIONS.classes, keep_modes=True)
    nameless = put(tmp_path / "old" / "sequence_2.json", {name: v for name, v in sequence(60).items() if name != "modes"})
    assert import_one(tmp_path, nameless).modes_left == 0
    assert import_one(tmp_path, nameless, keep).reason.endswith("it names no modes")


def test_a_double_click_is_two(tmp_path: Path) -> None:
    values = sequence(30)
    for action in values["actions"]:
        action["click"] = "none"
    values["actions"][10]["click"] = "double"
    told = import_one(tmp_path, put(tmp_path / "sequence_1.json", values))
    with open_session(tmp_path / "sessions" / told.session) as session:
        assert [e.kind for e in session.events() if e.name == "mouse_left"] == ["press", "release", "press", "release"]


def test_what_does_not_fit_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    path = put(tmp_path / "sequence_1.json", sequence())
    told = import_one(tmp_path, path, ImportOptions(ARENA_PROFILE))
    assert told.outcome == "refused"
    assert "none of its classes (me, moon, npc)" in told.reason
    assert "--map me=CLASS" in told.reason
    told = import_one(tmp_path, path, ImportOptions(ARENA_PROFILE, {"npc": "dragon"}))
    assert "has no class 'dragon'" in told.reason
    told = import_one(tmp_path, put(tmp_path / "broken.json", "rubbish"))
    assert (told.outcome, told.session) == ("refused", "")
    assert not told.reason.startswith("broken.json")  # the file stands before it already
    assert list_sessions(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        files_in([tmp_path / "nowhere"])

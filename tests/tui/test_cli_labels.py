"""``secondseat labels set --target`` and ``labels tracks`` on a real session."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.labels import Label, append
from data.profile import ARENA_PROFILE
from tests.support.sessions import write_play, write_session
from tests.trainers.synthetic import session
from tui import cli


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SECONDSEAT_PATHS__WORKSPACE", str(tmp_path / "ws"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "ws"


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert cli.main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_person_says_which_target_and_what_happens(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_session(workspace)
    tracks = told(capsys, "labels", "tracks", "last", "0.66")["tracks"]
    assert [(t["id"], t["class"]) for t in tracks] == [(20, "drone"), (21, "drone")]
    label = told(capsys, "labels", "set", "last", "0.5", "1", "--target", "20", "--description", "it runs at me")
    assert label["target"]["class_name"] == "drone"
    assert label["target"]["box"] == [0.25, 0.25, 0.25, 0.25]
    assert "mode" not in label
    told(capsys, "labels", "set", "last", "0.8", "1", "--mode", "FLEE", "--target", "none")
    listed = told(capsys, "labels", "list", "last")
    zero = listed["start_ns"]
    held = [((s["start_ns"] - zero) / 1e9, (s["end_ns"] - zero) / 1e9, (s["target"] or {}).get("class_name")) for s in listed["targets"]]
    assert held == [(0.5, 0.8, "drone"), (0.8, 1.0, None)]
    assert [s["mode"] for s in listed["holds"]] == ["FLEE"]
    capsys.readouterr()
    assert cli.main(["labels", "list", "last"]) == 0
    text = capsys.readouterr().out
    assert "target drone at 0.25 0.25, it runs at me" in text
    assert "FLEE, no target" in text
    assert "targets:" in text
    assert told(capsys, "labels", "undo", "last")["mode"] == "FLEE"
    assert [s["target"]["class_name"] for s in told(capsys, "labels", "list", "last")["targets"]] == ["drone"]


def test_a_target_that_is_not_there_is_refused_with_what_to_do(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace)
    for words, said in (
        (["set", "last", "0.5", "1", "--target", "9999"], f"{folder.name} has no track 9999 in that stretch"),
        (["set", "last", "0.5", "1", "--target", "drone"], "give its id, a whole number"),
        (["set", "last", "0.5", "1", "--target", "20", "--none"], "or --none alone"),
        (["set", "last", "0.5", "1", "--description", "x" * 2001], "at most 2000 letters"),
        (["set", "last", "0.5", "1", "--description", "\x1b[31mred\a"], "it has a control character ('\\x1b'); leave it out"),
        (["set", "last", "0.5", "1", "--description", "\udcff"], "it is no UTF-8 text"),
        (["set", "last", "0.5", "99:00", "--mode", "LOOT"], f"{folder.name} is 0:02.0 long; 99:00 is beyond it, use `end`"),
        (["set", "last", "0.5", "2.1", "--none"], "2.1 is beyond it"),
        (["tracks", "last", "1:00"], "has no step at 1:00"),
        (["tracks", "last", "soon"], "is not a moment"),
    ):
        capsys.readouterr()
        assert cli.main(["labels", *words]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
    assert told(capsys, "labels", "list", "last")["labels"] == []


def test_a_description_from_elsewhere_steers_no_terminal_and_breaks_no_table(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace)
    start_ns = told(capsys, "labels", "list", "last")["start_ns"]
    said = Label(start_ns=start_ns, end_ns=start_ns + 10**9, source="human", description="\x1b[31mred\a\nnew row", by="\x9bm")
    append(folder, [said])
    assert cli.main(["labels", "list", "last"]) == 0
    listed = capsys.readouterr().out
    assert "human    [31mred  new row" in listed
    assert len(listed.splitlines()) == 2
    assert cli.main(["labels", "undo", "last"]) == 0
    assert capsys.readouterr().out == f"{folder.name}: taken back: 0:00.0-0:01.0  [31mred  new row\n"


def test_the_length_as_it_is_shown_is_the_end(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_session(workspace)
    ends = {told(capsys, "labels", "set", "last", "0.5", end, "--mode", "LOOT")["end_ns"] for end in ("end", "0:02.0", "0:02")}
    assert len(ends) == 1


@pytest.mark.parametrize("name", ["self", "lock", "rock", "portal"])
def test_what_can_be_no_target_is_refused(name: str, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = session(4)
    kind = ARENA_PROFILE.class_names().index(name)
    write_play(workspace, dataclasses.replace(steps, track_classes=np.full_like(steps.track_classes, kind)))
    track = told(capsys, "labels", "tracks", "last", "1")["tracks"][0]
    assert track["class"] == name
    assert cli.main(["labels", "set", "last", "0.5", "2", "--target", str(track["id"])]) == 2
    wanted = f"track {track['id']} is {name}, which is no target; one can be drone, raider, mender, bomber, hunter, loot, cache"
    assert wanted in " ".join(capsys.readouterr().err.split())
    assert told(capsys, "labels", "list", "last")["labels"] == []


def test_the_help_prints_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["labels", "tracks", "--help"]) == 0
    assert "``" not in capsys.readouterr().out


def test_an_empty_picture_is_said(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_session(workspace, 4)
    assert told(capsys, "labels", "tracks", "last", "0")["tracks"] == []
    assert cli.main(["labels", "tracks", "last", "0"]) == 0
    assert "nothing is in the picture" in capsys.readouterr().out

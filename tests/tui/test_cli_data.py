"""``secondseat import`` and ``secondseat data stats`` through the command line."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from data.catalog import list_sessions
from data.session_edit import cut, merge
from tests.support.sessions import write_play, write_session
from tests.trainers.synthetic import session
from tui import cli


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("SECONDSEAT_PATHS__WORKSPACE", str(tmp_path / "ws"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "ws"


def said(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    capsys.readouterr()
    assert cli.main([*words]) == status
    return capsys.readouterr().out


class Bomb:
    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self._mark}",)


def old_recordings(folder: Path, mark: Path) -> None:
    """A sequence of the earlier scripts, and a file beside it that would run something when it is unpickled."""
    folder.mkdir()
    objects = [[{"class": "npc", "bbox": [i / 60, 0.4, i / 60 + 0.05, 0.5], "conf": 0.9}] for i in range(60)]
    actions = [{"x": i / 60, "y": 0.5, "click": int(i == 30), "key": None} for i in range(60)]
    sequence = {"fps": 30, "states": [{"health": 90}] * 60, "actions": actions, "objects": objects, "modes": ["FIGHT"] * 60}
    (folder / "sequence_1.json").write_text(json.dumps(sequence), encoding="utf-8")
    (folder / "shadow_recording_2.pkl").write_bytes(pickle.dumps({"demos": [Bomb(mark)]}))


def test_a_folder_is_taken_in_but_for_the_bomb_in_it(workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, mark = tmp_path / "old", tmp_path / "RAN"
    old_recordings(folder, mark)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    text = said(capsys, "import", str(folder), "--map", "npc=drone", status=1)
    (info,) = list_sessions(workspace)
    rows = {line.split()[0]: line for line in text.splitlines() if line.startswith(("sequence_1.json ", "shadow_recording_2.pkl "))}
    assert "imported" in rows["sequence_1.json"]
    assert rows["sequence_1.json"].endswith(info.id)
    assert "refused" in rows["shadow_recording_2.pkl"]
    assert any(line.startswith("shadow_recording_2.pkl: ") and ".system" in line for line in text.splitlines())
    assert text.splitlines()[-1] == "1 imported, 1 refused"
    kinds = [line.split() for line in text.splitlines()[-4:-1]]  # the summary per kind
    assert kinds == [["kind", "imported", "refused"], ["sequence", "1", "-"], ["not", "known", "-", "1"]]
    assert not mark.exists()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert (info.state, info.game) == ("saved", "arena")
    assert info.steps > 30

    told = {one["file"]: one for one in json.loads(said(capsys, "import", str(folder), "--map", "npc=drone", "--json", status=1))}
    assert {name: one["outcome"] for name, one in told.items()} == {"sequence_1.json": "already", "shadow_recording_2.pkl": "refused"}
    assert len(list_sessions(workspace)) == 1
    assert not mark.exists()


def test_what_the_recordings_hold_is_told(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "data", "stats") == "no sessions yet; record some: secondseat record\n"
    long, short = write_play(workspace, session(12, seed=3)), write_session(workspace, 60).name
    lines = said(capsys, "data", "stats").splitlines()
    assert lines[0].split()[:4] == ["session", "length", "ticks", "learnable"]
    by_name = {line.split()[0]: line.split() for line in lines[1:4]}
    assert by_name[long][1:4] == ["0:12", "240", "240"]
    assert by_name[short][1:4] == ["0:02", "60", "60"]
    assert "300" in lines[3].split()  # all of them
    assert any(line.startswith("modes ") for line in lines)
    assert any(line.startswith("presses in learnable ticks ") and "mouse_left" in line for line in lines)

    found = json.loads(said(capsys, "data", "stats", "--json"))
    assert [one["id"] for one in found["sessions"]] == [long, short]
    assert found["total"]["ticks"] == 300
    assert found["sessions"][0]["keys"] == {"mouse_left": 12}
    one = said(capsys, "data", "stats", short).splitlines()
    assert [line.split()[0] for line in one[1:2]] == [short]
    assert not any(line.split()[:1] == [long] for line in one)

    (workspace / "sessions" / short / "metadata.json").write_text("{", encoding="utf-8")
    assert long in said(capsys, "data", "stats")  # what can't be read holds nothing else up


def test_cuts_and_what_they_were_cut_from_are_counted_once(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from engine.training import load_sessions

    whole = write_play(workspace, session(12, seed=3))
    piece = cut(workspace, whole, 0.0, 6.0).id
    both = merge(workspace, [whole, piece]).id
    lines = said(capsys, "data", "stats", whole, piece, both, whole).splitlines()
    by_name = {line.split()[0]: line for line in lines[1:4]}
    assert by_name[piece].endswith(f"  {whole}")
    assert by_name[both].endswith(f"  {', '.join(sorted((piece, whole)))}")
    assert lines[4].split()[:8] == ["1", "session", "without", "2", "copies", "0:12", "240", "240"]
    assert f"{piece}: made from {whole}, which is counted already" in lines
    total = json.loads(said(capsys, "data", "stats", "--json"))["total"]
    assert total["learnable_ticks"] == sum(len(steps) for steps in load_sessions(workspace, "arena")[0]) == 240
    assert "copy of" not in said(capsys, "data", "stats", piece)


def test_modes_that_are_not_taken_are_told_and_may_be_taken_later(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old_recordings(tmp_path / "old", tmp_path / "RAN")
    words = ["import", str(tmp_path / "old" / "sequence_1.json"), "--map", "npc=drone"]
    assert "60 modes not taken (keep them with --keep-modes)" in said(capsys, *words)
    assert "its 60 modes are labels now" in said(capsys, *words, "--keep-modes")
    assert [label["mode"] for label in json.loads(said(capsys, "labels", "list", "last", "--json"))["holds"]] == ["FIGHT"]

"""``secondseat sessions`` on real sessions: list, show, verify, recover, trash and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.sessions import write_session
from tui import cli


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("SECONDSEAT_PATHS__WORKSPACE", str(tmp_path / "ws"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "ws"


def told(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> Any:
    capsys.readouterr()
    assert cli.main([*words, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_a_session_is_listed_shown_checked_trashed_and_brought_back(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace)
    [listed] = told(capsys, "sessions", "list")
    assert {"id", "kind", "game", "state", "duration_s", "frames", "events"} <= set(listed)
    assert (listed["id"], listed["kind"], listed["game"], listed["state"], listed["frames"]) == (folder.name, "play", "arena", "saved", 60)
    assert str(workspace) not in json.dumps(listed)  # the workspace can be moved

    assert told(capsys, "sessions", "show", "last")["metadata"]["profile"]["name"] == "arena"
    assert told(capsys, "sessions", "show", folder.name[:12])["id"] == folder.name
    [checked] = told(capsys, "sessions", "verify", "last")
    assert [f for f in checked["findings"] if f["severity"] == "error"] == []
    assert told(capsys, "sessions", "recover") == []

    assert told(capsys, "sessions", "trash", "last")[0]["id"] == folder.name
    assert told(capsys, "sessions", "list") == []
    assert [s["id"] for s in told(capsys, "sessions", "trash")] == [folder.name]
    assert told(capsys, "sessions", "trash", "--undo", "last")["id"] == folder.name
    assert folder.is_dir()

    told(capsys, "sessions", "trash", folder.name)
    assert told(capsys, "sessions", "trash", "--empty", "--yes")["sessions"] == 1
    assert not list(workspace.rglob("video.mkv"))


def test_people_read_a_table(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace)
    assert cli.main(["sessions", "list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["id", "kind", "game", "state", "length", "frames", "events", "steps", "size"]
    assert said[1].startswith(f"{folder.name}  play  arena  saved")
    assert cli.main(["sessions", "show", "last"]) == 0
    assert "pictures   60 of 64x48" in capsys.readouterr().out


def test_a_damaged_session_is_an_error_of_verify_and_stays_listed(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace)
    (folder / "metadata.json").write_text("{", encoding="utf-8")
    [listed] = told(capsys, "sessions", "list")
    assert listed["state"] == "corrupt"
    assert "metadata.json" in listed["reason"]
    told(capsys, "sessions", "verify", status=1)


def test_emptying_the_trash_asks(workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write_session(workspace)
    assert cli.main(["sessions", "trash", "last"]) == 0
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert cli.main(["sessions", "trash", "--empty"]) == 1
    assert len(told(capsys, "sessions", "trash")) == 1

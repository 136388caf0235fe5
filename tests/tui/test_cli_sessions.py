"""``secondseat sessions`` and ``labels`` on real sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from data.metadata import Stretch, read_metadata, write_metadata
from data.text import printable_lines
from tests.support.sessions import new_writer, write_session
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
    assert told(capsys, "sessions", "undo")["id"] == folder.name
    assert folder.is_dir()

    told(capsys, "sessions", "trash", folder.name)
    assert told(capsys, "sessions", "empty", "--yes")["sessions"] == 1
    assert not list(workspace.rglob("video.mkv"))


def test_all_that_are_named_are_trashed_or_none(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = write_session(workspace, 5), write_session(workspace, 6)
    assert cli.main(["sessions", "trash", one.name, "typo"]) == 1
    assert "typo" in capsys.readouterr().err
    assert one.is_dir()
    live = new_writer(workspace)
    assert cli.main(["sessions", "trash", one.name, live.id]) == 1
    assert f"{live.id} is being recorded now; stop it first; nothing was moved" in capsys.readouterr().err
    assert one.is_dir()
    live.remove()
    moved = told(capsys, "sessions", "trash", "last", two.name, two.name)
    assert [info["id"] for info in moved] == [two.name]
    assert one.is_dir()


def test_people_read_a_table(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace)
    assert cli.main(["sessions", "list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["id", "kind", "game", "state", "length", "frames", "events", "steps", "size", "labels", "title"]
    assert said[1].startswith(f"{folder.name}  play  arena  saved")


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
    assert cli.main(["sessions", "empty"]) == 1
    assert len(told(capsys, "sessions", "trash")) == 1


def test_the_list_is_filtered_and_sorted(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short, long = write_session(workspace, 5).name, write_session(workspace, 40).name
    told(capsys, "sessions", "tag", long, "good", "boss")
    told(capsys, "sessions", "rename", short, "a try")

    def ids(*words: str) -> list[str]:
        return [session["id"] for session in told(capsys, "sessions", "list", *words)]

    assert ids("--sort", "length", "--reverse") == [long, short]
    assert ids("--tag", "good", "--tag", "boss") == [long]
    assert ids("--text", "A TRY") == [short]
    assert ids("--state", "saved", "--since", "today", "--sort", "title") == [short, long]
    assert ids("--kind", "bot") == []
    assert cli.main(["sessions", "list", "--kind", "bot"]) == 0
    assert capsys.readouterr().out == "none of 2 sessions is like that\n"
    assert cli.main(["sessions", "list", "--since", "whenever"]) == 1
    assert "is not a day; write 2026-11-28" in capsys.readouterr().err


def test_a_session_is_shown_on_eighty_columns(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace)
    told(capsys, "sessions", "tag", "last", "good")
    told(capsys, "sessions", "rename", "last", "First flight")
    told(capsys, "sessions", "note", "last", "it went well " * 12)
    told(capsys, "labels", "set", "last", "0.5", "1", "--mode", "flee")
    (folder / "video.mkv").rename(folder / "video.bak")
    capsys.readouterr()
    assert cli.main(["sessions", "show", "last"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in said) <= 80
    assert said[0] == f"{folder.name}  First flight #good"
    lanes = {line[:12].strip(): line[13:] for line in said if line[12:13] == " "}
    assert set(lanes) >= {"you", "rules", "actor", "space"}
    assert lanes["you"].strip().startswith("FLEE")
    assert 16 <= lanes["you"].index("FLEE") <= 18  # half a second of two on 67 columns
    assert any("said by" in line and "a person" in line for line in said)
    assert "! error: video.mkv: missing; metadata.json says 60 frames" in said
    shown = told(capsys, "sessions", "show", "last")
    assert (shown["title"], shown["labels"], shown["annotations"]["tags"]) == ("First flight", 1, ["good"])
    assert shown["timeline"]["presses"]["space"]["count"] == 30
    assert {"FLEE", "human"} == {value for s in shown["timeline"]["modes"] if s["source"] == "human" for value in (s["mode"], s["source"])}
    assert shown["problems"][0]["file"] == "video.mkv"


def test_pieces_and_files_are_made_of_sessions(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace, 100, flush_every=5)
    piece = told(capsys, "sessions", "cut", "last", "0:01", "end")
    assert (piece["frames"], piece["steps"]) == (69, 69)
    assert told(capsys, "sessions", "merge", folder.name, piece["id"])["frames"] == 169
    clip = told(capsys, "sessions", "clip", folder.name, "500000000ns", "1", "--output", str(workspace / "x.mp4"), "--overlay")
    assert (clip["pictures"], clip["size_bytes"]) == (15, (workspace / "x.mp4").stat().st_size)
    assert cli.main(["sessions", "clip", folder.name, "0", "1", "--output", str(workspace / "x.mp4")]) == 1
    assert "exists; name another file" in capsys.readouterr().err
    packed = told(capsys, "sessions", "compact", "--all")
    assert [bool(one["files"]) for one in packed] == [True, True, True]
    assert told(capsys, "sessions", "verify", "--all")
    for words, told_ in (
        (["cut", folder.name, "2", "1"], "is no stretch"),
        (["cut", folder.name, "x", "1"], "'x' is not a moment"),
        (["cut", folder.name, "-1", "1"], "No such option"),
        (["merge", folder.name], "two or more different"),
        (["compact"], "name sessions, or use --all"),
    ):
        assert cli.main(["sessions", *words]) in (1, 2)
        assert told_ in capsys.readouterr().err


def test_a_person_labels_stretches(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace)
    told(capsys, "labels", "set", "last", "0", "1.5", "--mode", "FIGHT")
    told(capsys, "labels", "set", "last", "0:01", "end", "--mode", "LOOT")
    told(capsys, "labels", "set", "last", "250000000ns", "0.5", "--none")
    listed = told(capsys, "labels", "list", "last")
    zero = listed["start_ns"]
    holds = [((s["start_ns"] - zero) / 1e9, (s["end_ns"] - zero) / 1e9, s["mode"]) for s in listed["holds"]]
    assert holds == [(0.0, 0.25, "FIGHT"), (0.5, 1.0, "FIGHT"), (1.0, pytest.approx(1.952), "LOOT")]
    assert told(capsys, "labels", "undo", "last")["withdrawn"] is True
    assert told(capsys, "labels", "undo", "last")["mode"] == "LOOT"
    capsys.readouterr()
    assert cli.main(["labels", "list", "last"]) == 0
    assert "0:00.0-0:01.5  human   FIGHT" in capsys.readouterr().out
    told(capsys, "labels", "undo", "last")
    assert told(capsys, "labels", "undo", "last") is None
    for words, status, said in (
        (["set", "last", "0", "1"], 2, "give --mode, --target or --description, or --none alone"),
        (["set", "last", "0", "1", "--mode", "FIGHT", "--none"], 2, "give --mode, --target or --description, or --none alone"),
        (["set", "last", "1", "1", "--mode", "FIGHT"], 2, "is no stretch"),
        (["set", "last", "60", "70", "--mode", "FIGHT"], 2, f"{folder.name} is 0:02.0 long; there is nothing at 60"),
        (["set", "last", "0", "1", "--mode", "DANCE"], 2, "DANCE"),
    ):
        assert cli.main(["labels", *words]) == status
        assert said in capsys.readouterr().err


def test_playing_needs_a_terminal_and_says_what_does_not(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace, 5)
    assert cli.main(["sessions", "play", "last"]) == 1
    assert f"there is no terminal to play {folder.name} in; write a file instead: secondseat sessions clip" in capsys.readouterr().err


def test_ctrl_c_leaves_nothing_half_made(workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write_session(workspace, 60)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("data.session_parts._carry_words", interrupted)  # when nearly all is written
    assert cli.main(["sessions", "cut", "last", "0", "1"]) == 130
    assert "interrupted; nothing is left half-made" in capsys.readouterr().err
    assert [path.name for path in (workspace / "sessions").iterdir() if path.is_dir()] == [told(capsys, "sessions", "list")[0]["id"]]


def test_a_narrow_terminal_shows_fewer_columns(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(workspace, 5)
    told(capsys, "sessions", "rename", "last", "First flight")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for columns in (200, 80, 40):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert cli.main(["sessions", "list"]) == 0
        head, row = capsys.readouterr().out.splitlines()
        assert head.split()[:1] == ["id"]
        assert "saved" in row
        assert row.endswith("First flight")
        assert ("events" in head, columns < 80 or len(row) <= columns) == (columns == 200, True)


def test_a_closed_window_is_told_once(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace)
    metadata = read_metadata(folder)
    metadata.notes = ["window closed", "merged from two"]
    write_metadata(folder, metadata)
    assert cli.main(["sessions", "show", "last"]) == 0
    assert "window closed; merged from two" in capsys.readouterr().out, "without a gap that tells it"
    start = metadata.clock.monotonic_ns
    metadata.gaps = [Stretch(start_ns=start + 10**9, end_ns=start + 2 * 10**9, reason="window 'the game' is closed")]
    write_metadata(folder, metadata)
    assert cli.main(["sessions", "show", "last"]) == 0
    said = capsys.readouterr().out
    assert "window closed" not in said, "the gap says it"
    assert "1.0 s window 'the game' is closed" in said
    assert "merged from two" in said


@pytest.mark.parametrize("game", ["arena", "\x1b[31mgame\nrow"])
def test_another_persons_session_steers_no_terminal(game: str, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_session(workspace)
    metadata = read_metadata(folder)
    profile = metadata.profile.model_copy(update={"name": game})
    at = {"started_at": "\x1b[5mnow", "notes": ["\x1b]0;title\a"], "profile": profile}
    gap = Stretch(start_ns=metadata.clock.monotonic_ns, end_ns=metadata.clock.monotonic_ns + 10**9, reason="\x1b[7m")
    write_metadata(folder, metadata.model_copy(update={**at, "gaps": [gap]}))
    (folder / "annotations.json").write_text(json.dumps({"title": "\x1b[8mtitle\nrow", "tags": ["\x07"], "note": "\x1b[2J\nsecond line"}))
    for words in (["list"], ["show", "last"], ["note", "last"], ["tag", "last"], ["verify", "last"]):
        assert cli.main(["sessions", *words]) == (game != "arena" and words in (["show", "last"], ["verify", "last"]))
        said = capsys.readouterr()
        assert printable_lines(said.out + said.err) == said.out + said.err, words
        assert words != ["list"] or [line for line in said.out.splitlines() if line.startswith("row")] == []
        assert words != ["note", "last"] or said.out == " [2J\nsecond line\n"


@pytest.mark.parametrize("words", ["half a letter \udcc3", "\x1b[31mred"])
def test_a_note_that_is_no_text_is_refused(words: str, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_session(workspace, 5)
    assert cli.main(["sessions", "note", "last", words]) == 1
    assert "secondseat: the note cannot be kept: it " in capsys.readouterr().err
    assert told(capsys, "sessions", "note", "last")["note"] == ""

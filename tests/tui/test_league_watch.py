"""``secondseat league watch`` from the front door: videos, players by name, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data.checkpoint import save
from league.arena import last_standing_window
from league.imitate import made_for
from league.network import ActorCritic
from tui.cli import main

Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return lambda *words: main(["--workspace", str(tmp_path / "w"), "league", "watch", *words])


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy in the workspace's models."""
    folder = tmp_path / "w" / "models" / "league" / "first"
    card = {"card_version": 1, **made_for(), "hidden": 8}
    folder.mkdir(parents=True)
    save(folder / "pi_sup", {name: values.numpy() for name, values in ActorCritic(8).state_dict().items()}, card)
    return folder / "pi_sup.safetensors"


def test_a_policy_and_a_script_in_a_video(run: Run, policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--seed", "3", "--fps", "10", "--scale", "1", "--json")
    assert run("pi_sup", "expert", "--video", "./a.mp4", *words) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["player"] for row in found["players"]] == ["pi_sup", "expert"]
    assert sum(row["first"] for row in found["players"]) <= 1
    assert [match["seed"] for match in found["matches"]] == [3]
    assert (tmp_path / "here" / "a.mp4").stat().st_size > 10_000
    assert run("first/pi_sup", str(policy), "expert", "--video", "./a.mp4", *words) == 1
    assert "a.mp4 exists; name another file" in capsys.readouterr().err


def test_the_window_gets_the_players_and_their_places_are_told_and_a_persons_play_is_kept(
    run: Run, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Any] = []

    class Window:
        def __init__(self, matches: Any, count: int, scale: int, look: Any, line: str = "") -> None:
            seen.append((matches, count, scale, look.name))

        def run(self, stop: Callable[[], bool]) -> None:
            matches = seen[-1][0]
            while not matches.over:
                matches.advance()

        def close(self) -> None:
            seen.append("closed")

    monkeypatch.setattr(last_standing_window, "LastStandingWindow", Window)
    assert run("person", "first", "novice", "--matches", "2", "--scale", "1", "--look", "ice") == 0
    (matches, *settings), closed = seen
    assert matches.log is not None
    assert (matches.person, settings, closed) == (0, [2, 1, "ice"], "closed")
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines()] == ["player", "person", "first", "novice", "kept:"]
    assert main(["--workspace", str(tmp_path / "w"), "league", "data"]) == 0
    assert f"(recorder): {matches.log.moves} rows in 1 sequences" in capsys.readouterr().out  # league imitate learns from them
    assert run("person", "first", "novice", "--no-keep") == 0
    assert "kept" not in capsys.readouterr().out
    assert run("person", "first", "novice", "--json") == 0
    told = json.loads(capsys.readouterr().out)["kept"]
    assert (told["matches"], told["file"].split("_")[0]) == (1, "data/processed/played")


def test_what_cannot_be_watched_is_one_line(run: Run, policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, status, told in (
        (("expert",), 2, "1 players; name 2 to 8"),
        (("person", "person"), 2, "one keyboard"),
        (("person", "expert", "--video", "a.mp4"), 2, "opens no window, so a person cannot play"),
        (("expert", "bob"), 1, "neither a scripted pilot (expert, novice, random) nor a policy; there are first/pi_sup"),
        (("expert", "novice", "--video", "a.gif"), 1, "name it something.mp4"),
    ):
        assert run(*words) == status
        error = capsys.readouterr().err
        assert told in error
        assert len(error.strip().splitlines()) == 1

"""``secondseat league replay`` from the front door: chosen matches and numbers, a window or a video, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from league.arena import last_standing_window
from league.arena.last_standing_rules import RULES_VERSION
from league.moves import KeptMatch
from league.rollout import Actor, Match, RolloutSettings, world_seed
from league.store import LeagueStore
from tui.cli import main

pytestmark = pytest.mark.timeout(180)  # on a busy machine
Run = Callable[..., int]
STEPS, SEED = 50, 9


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``secondseat league replay`` in a workspace with a league of three short matches of pilots, the second of which was not kept."""
    players = ("expert", "novice", "random")
    actor = Actor(RolloutSettings(3, 3, STEPS, SEED), kept_every=1)
    actor.begin({w: Match(n, players, (False,) * 3) for w, n in enumerate((0, 5, 32))})
    store = LeagueStore(tmp_path / "w" / "league" / "small")
    store.folder.mkdir(parents=True)
    for one in actor.rollout({}, STEPS).played:
        number, places = one.match.number, one.placements
        told = {"match": number, "learner": "main-1", "players": list(players), "placements": list(places), "steps": one.steps}
        store.matches.append([told])
        if number != 5:
            world = world_seed(SEED, number)
            store.replays.append([KeptMatch(number, players, places, world, STEPS, RULES_VERSION, one.moves).to_json()])
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return lambda *words: main(["--workspace", str(tmp_path / "w"), "league", "replay", *words])


def test_the_latest_and_a_number_as_videos(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quick = ("--fps", "10", "--scale", "1")
    assert run("--video", "./a.mp4", *quick, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["league"], told["match"], told["exact"]) == ("league/small", 32, True)
    assert told["why"] == "the latest of main-1"
    assert told["players"] == ["expert", "novice", "random"]
    assert (tmp_path / "here" / "a.mp4").stat().st_size > 10_000
    assert run("0", "--league-state", "small", "--video", "./b.mp4", *quick) == 0
    assert "match 0: the match itself, move by move\nvideo: " in capsys.readouterr().out
    assert run("closest", "--video", "./a.mp4", *quick) == 1
    assert "a.mp4 exists; name another file" in capsys.readouterr().err


def test_the_window_shows_it_again_and_again(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []

    class Window:
        def __init__(self, matches: Any, count: int, scale: int, look: Any, line: str = "") -> None:
            seen.append((matches, count, scale, look.name, line))

        def run(self, stop: Callable[[], bool]) -> None:
            assert not stop()

        def close(self) -> None:
            seen.append("closed")

    monkeypatch.setattr(last_standing_window, "LastStandingWindow", Window)
    assert run("32", "--scale", "3", "--look", "reef") == 0
    (matches, *rest), closed = seen
    assert (rest, closed) == ([0, 3, "reef", "match 32, as it was played"], "closed")
    assert matches.names == ("novice", "random", "expert"), "player k sat in seat (k + 32) % 3"
    world = matches.seed
    matches.restart()
    assert matches.seed == world
    assert "match 32" in capsys.readouterr().out


def test_what_cannot_be_shown_is_one_line(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for words, status, said in (
        (("99",), 1, "match 99: "),
        (("5",), 1, "match 5 cannot be shown: "),  # its moves were not kept, and there is no state that names snapshots
        (("nearest",), 2, "'nearest' is no match; use its number, or one of closest, upset, latest"),
        (("0", "--league-state", "other"), 2, "no such league"),
    ):
        assert run(*words, "--video", "./x.mp4") == status
        errors = capsys.readouterr().err
        assert said in errors
        assert errors.count("\n") == 1

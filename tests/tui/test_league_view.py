"""The live view of a league: everything it is told is on the screen, at every size, in words as well as in colours."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console, RenderableType

from league.live import LeagueProgress, PlayerView
from league.matchmaking import MixRow
from league.ratings import Interval
from tui.league_view import (
    ASCII_SIGNS,
    BAD,
    EVEN,
    GOOD,
    LeagueView,
    heading,
    heat_colour,
    league_screen,
    map_screen,
    notes_screen,
    plain_line,
    shown_players,
)


def progress(frozen: int = 3) -> LeagueProgress:
    """Two learners and some snapshots; learner 0 beats everyone in 70 of 100, and pair (0, 1) has hardly met."""
    players = [
        PlayerView("main-1", "main", False, 2_000_000, frozen, 0, ""),
        PlayerView("main_exploiter-1", "main_exploiter", False, 9, 0, 4, ""),
    ]
    players += [PlayerView(f"main-1@{k}", "main", True, k * 500_000, 0, 0, "its file is missing" if k == 1 else "") for k in range(frozen)]
    count = len(players)
    payoffs, games = np.full((count, count), 0.5), np.full((count, count), 100)
    payoffs[0, 1:], payoffs[1:, 0] = 0.7, 0.3
    games[0, 1] = games[1, 0] = 3
    return LeagueProgress(
        round=2,
        rounds=5,
        learner="main-1",
        iteration=1,
        iterations=3,
        done=0.25,
        eta_s=754.0,
        frames=4_000_000,
        frames_per_s=81_234.0,
        matches=3_210,
        players=tuple(players),
        payoffs=payoffs,
        games=games,
        ratings={p.id: Interval(100.0, 60.0, 145.0) for p in players[:2]},
        elo={p.id: 1000.0 + k for k, p in enumerate(players)},
        mix=(MixRow("main-1", "pfsp", 0.5, 0.48, 100), MixRow("main-1", "self_play", 0.5, 0.52, 100)),
        losses={"main-1": {"policy": -0.012, "entropy": 2.31, "clipped": 0.5, "lag": 1.5}},
        notes=("main-1@2 frozen after 1000000 frames", "main_exploiter-1 starts anew"),
    )


def printed(told: LeagueProgress, width: int, height: int, colours: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=colours, color_system="truecolor" if colours else None)
    console.print(league_screen(told, width, height))
    return out.getvalue()


def test_a_wide_terminal_shows_players_map_mix_losses_and_notes() -> None:
    said = printed(progress(), 120, 36)
    lines = said.splitlines()
    assert "round 2/5  main-1 1/3  25%, 12:34 left  4,000,000 frames, 81,234/s, 3,210 matches" in lines[0]
    main = next(line for line in lines if "main-1 " in line and "◆" in line)
    assert main.split()[:6] == ["1", "◆", "main-1", "+100", "+60", "+145"]
    assert main.split()[-4:] == ["··", "70", "70", "70"], "a pair that hardly met has no figure"
    assert any("× main-1@1" in line for line in lines)
    assert "pfsp 48 (50)   self play 52 (50)" in said
    assert "entropy" in said
    assert "2.31" in said
    assert "clipped" not in said
    assert "main_exploiter-1 starts anew" in said


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 36), (60, 16), (200, 60)])
def test_it_fits_every_terminal_however_many_players_there_are(width: int, height: int) -> None:
    for frozen in (0, 3, 60):
        lines = printed(progress(frozen), width, height).splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) <= max(height, 18)
    assert "older players" in printed(progress(60), width, height)


def test_a_low_picture_beside_other_parts_gives_its_lines_to_the_players() -> None:
    told = progress(9)
    alone, beside = (console_lines(told, alone) for alone in (True, False))
    assert sum("main-1@" in line for line in beside) > sum("main-1@" in line for line in alone)
    assert not any("entropy" in line for line in beside)
    assert len(beside) <= 19


def console_lines(told: LeagueProgress, alone: bool) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=80, height=19).print(league_screen(told, 80, 19, alone=alone))
    return [line for line in out.getvalue().splitlines() if "frozen after" not in line]


def test_the_map_alone_has_names_and_the_notes_come_newest_first() -> None:
    said = printed_part(map_screen(progress(60), 80, 24))
    assert max(map(len, said)) <= 80
    assert len(said) <= 24
    assert any(line.split()[:2] == ["1", "main-1"] and "70" in line for line in said)
    assert "older players" in said[-1]
    told = printed_part(notes_screen(progress(), 80, 24))
    newest = next(k for k, line in enumerate(told) if "starts anew" in line)
    assert "frozen after" in told[newest + 1]
    plain = "".join(printed_part(map_screen(progress(), 80, 24, ASCII_SIGNS)) + printed_part(notes_screen(progress(), 80, 24, ASCII_SIGNS)))
    assert plain.isascii()


def printed_part(part: RenderableType) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=80, height=24).print(part)
    return out.getvalue().splitlines()


def test_colours_say_what_the_digits_say() -> None:
    assert (heat_colour(0.0), heat_colour(0.5), heat_colour(1.0)) == (BAD, EVEN, GOOD)
    assert heat_colour(0.7)[2] > heat_colour(0.7)[0]
    assert "48;2;" in printed(progress(), 120, 36, colours=True)


def test_learners_stay_and_the_newest_snapshots_are_shown() -> None:
    players = progress(10).players
    assert shown_players(players, 5) == [0, 1, 9, 10, 11]
    assert shown_players(players, 1) == [0]
    assert shown_players(players, 99) == list(range(12))


def test_what_is_not_known_yet_is_left_out() -> None:
    told = replace(progress(), ratings={}, losses={}, mix=(), notes=(), eta_s=None, elo={})
    assert "left" not in heading(told)
    assert printed(told, 120, 36)
    assert plain_line(told) == heading(told)


def test_without_a_terminal_it_is_a_line_a_turn(capsys: pytest.CaptureFixture[str]) -> None:
    with LeagueView() as view:
        assert view.plain
        for told in (progress(), progress(), replace(progress(), learner="main_exploiter-1")):
            view(told)
    told = capsys.readouterr().err.splitlines()
    lines = [line for line in told if not line.startswith("note: ")]
    assert [line.split()[2] for line in lines] == ["main-1", "main_exploiter-1"]
    assert "entropy 2.31" in lines[0]


def test_without_a_terminal_each_note_is_said_once_and_when_it_comes(capsys: pytest.CaptureFixture[str]) -> None:
    with LeagueView(plain=True) as view:
        for notes in (
            ("main-1@2 does not play: its file is missing",),
            ("main-1@2 does not play: its file is missing", "later"),
            ("later",),
        ):
            view(replace(progress(), notes=notes))
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    assert told == ["note: main-1@2 does not play: its file is missing", "note: later"]

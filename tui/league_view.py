"""A running league in the terminal: players with ratings, a heat map of who beats whom, opponents seen beside asked, losses.

Everything is made from one ``LeagueProgress``; nothing here asks the league anything. The picture is drawn by a thread of its own
from the newest one, so that a terminal which is not read holds up no learner. Good is blue and bad is red; every figure also
stands in digits.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal

from tui.commands.invocation import shown_duration

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    from league.live import LeagueProgress, PlayerView

BAD: Final = (178, 34, 52)
EVEN: Final = (58, 60, 70)
GOOD: Final = (36, 104, 190)
PLAIN_LINE_EVERY_S: Final = 10.0
_REFRESH_HZ: Final = 2
LOSSES: Final = {
    "policy": "policy", "upgo": "upgo", "value": "value", "kl": "kl", "entropy": "entropy", "mean_ratio": "ratio",
    "explained_variance": "expl.", "gradient_norm": "grad.", "lag": "lag",
}  # fmt: skip
"""Parts of an update that are worth a look while it runs; ``metrics.jsonl`` has all."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What is drawn where there is no word; a terminal that shows no more than ASCII gets others."""

    benched: str = "×"
    learning: str = "◆"
    frozen: str = "■"
    waits: str = "▶"
    full: str = "━"
    empty: str = "─"
    unknown: str = "··"
    note: str = "·"
    overflow: Literal["ellipsis", "crop"] = "ellipsis"


SIGNS: Final = Signs()
ASCII_SIGNS: Final = Signs("x", "*", "#", ">", "#", "-", "..", "-", "crop")
_FEW_GAMES: Final = 20
"""Games of a pair below which its payoff is only what is assumed of it."""
_FIXED_LINES: Final = 8
"""Heading, bar, headings of tables and notes: what players cannot have."""
_LOW: Final = 30
_LEAST_WITH_HEAT: Final = 96
_LEAST_WITH_STATE: Final = 84
_PLAYERS_WIDTH: Final = 72
"""Characters that the list of players takes beside the map."""


def heat_colour(payoff: float) -> tuple[int, int, int]:
    """Red at 0, grey at 0.5, blue at 1."""
    share = min(1.0, max(-1.0, 2 * payoff - 1))
    end = GOOD if share > 0 else BAD
    red, green, blue = (round(EVEN[k] + (end[k] - EVEN[k]) * abs(share)) for k in range(3))
    return red, green, blue


def shown_players(players: tuple[PlayerView, ...], most: int) -> list[int]:
    """Indices of those there is room for: learners first, then the newest frozen ones, in their own order."""
    learners = [k for k, player in enumerate(players) if not player.frozen][:most]
    frozen = [k for k, player in enumerate(players) if player.frozen]
    room = max(0, most - len(learners))
    return learners + (frozen[-room:] if room else [])


def heading(progress: LeagueProgress) -> str:
    """One line: where it is, how fast, how long it takes."""
    left = f", {shown_duration(progress.eta_s)} left" if progress.eta_s is not None else ""
    return (
        f"round {progress.round}/{progress.rounds}  {progress.learner} {progress.iteration}/{progress.iterations}  "
        f"{progress.done:.0%}{left}  {progress.frames:,} frames, {progress.frames_per_s:,.0f}/s, {progress.matches:,} matches"
    )


def plain_line(progress: LeagueProgress) -> str:
    """The same with the turn's losses, for logs."""
    losses = progress.losses.get(progress.learner, {})
    told = "  ".join(f"{name} {losses[name]:.3g}" for name in LOSSES if name in losses)
    return f"{heading(progress)}{'  ' if told else ''}{told}"


def league_screen(
    progress: LeagueProgress, width: int, height: int, signs: Signs = SIGNS, head: str = "", *, alone: bool = True
) -> RenderableType:
    """The whole picture for a terminal of ``width`` x ``height`` characters; what does not fit is left out and told.

    ``head``: other words for the first line. Where losses and notes are shown elsewhere as well, it is not ``alone``: a low picture
    then gives their lines to the players.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    low = not alone and height < _LOW
    notes = progress.notes[-1 if low else -3 :]
    side = len({row.learner for row in progress.mix}) + 1 + (0 if low else len(progress.losses) + 1)
    room = max(3, height - _FIXED_LINES + 3 - len(notes) - side)
    heat = width >= _LEAST_WITH_HEAT
    shown = shown_players(progress.players, min(room, (width - _PLAYERS_WIDTH) // 3) if heat else room)
    beside = Table.grid(padding=(0, 3))
    beside.add_row(
        _players(progress, shown, signs, state=_LEAST_WITH_STATE <= width < _LEAST_WITH_HEAT),
        *([_heat(progress, shown, signs)] if heat else []),
    )
    parts = top(progress, width, signs, head)
    left_out = len(progress.players) - len(shown)
    told = [_older(left_out)] if left_out else []
    told += [f"the map: row ranks above column, in %; {signs.unknown} too few games"] if heat else []
    parts += [
        beside,
        Text("; ".join(told), style="dim", no_wrap=True),
        _mix(progress),
        *([] if low or not progress.losses else [_losses(progress)]),
    ]
    parts += [_note(note, signs) for note in notes]
    return Group(*parts)


def map_screen(progress: LeagueProgress, width: int, height: int, signs: Signs = SIGNS, head: str = "") -> RenderableType:
    """Who ranks above whom, alone and with the rows' names: as many players as fit."""
    from rich.console import Group
    from rich.text import Text

    name_width = max((len(player.id) for player in progress.players), default=0) + 6
    shown = shown_players(progress.players, max(1, min(height - 4, (width - name_width) // 3)))
    left_out = len(progress.players) - len(shown)
    told = f"row ranks above column, in %; {signs.unknown} too few games" + (f"; {_older(left_out)}" if left_out else "")
    return Group(*top(progress, width, signs, head), _heat(progress, shown, signs, names=True), Text(told, style="dim", no_wrap=True))


def notes_screen(progress: LeagueProgress, width: int, height: int, signs: Signs = SIGNS, head: str = "") -> RenderableType:
    """Losses, opponents, and all notes there is room for, newest first."""
    from rich.console import Group
    from rich.text import Text

    learners = len({row.learner for row in progress.mix}) + len(progress.losses) + 2
    notes = [_note(note, signs) for note in progress.notes[::-1][: max(1, height - learners - 4)]]
    heads = [Text("what happened, newest first", style="dim")] if notes else []
    return Group(*top(progress, width, signs, head), *([_losses(progress)] if progress.losses else []), _mix(progress), *heads, *notes)


def _older(count: int) -> str:
    return f"and {count} older player{'' if count == 1 else 's'}"


def top(progress: LeagueProgress, width: int, signs: Signs = SIGNS, head: str = "") -> list[RenderableType]:
    """Where it is, in words and as a bar."""
    from rich.text import Text

    return [
        Text(head or heading(progress), style="bold", overflow=signs.overflow, no_wrap=True),
        _bar(progress.done, width, signs),
    ]


def _note(note: str, signs: Signs) -> Text:
    from rich.text import Text

    return Text(f"{signs.note} {note}", style="dim", overflow=signs.overflow, no_wrap=True)


def _bar(done: float, width: int, signs: Signs) -> Text:
    from rich.text import Text

    filled = round(min(1.0, max(0.0, done)) * width)
    return Text.assemble((signs.full * filled, "blue"), (signs.empty * (width - filled), "dim"), no_wrap=True)


def _table(*headings: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    for number, words in enumerate(headings):
        table.add_column(words, justify="right" if number else "left", no_wrap=True)
    return table


def _players(progress: LeagueProgress, shown: list[int], signs: Signs, *, state: bool) -> Table:
    """Beside the map, each player's number is that of its row and its column there."""
    table = _table("player", "rating", "95 %", "elo", "games", "frames", *(("",) if state else ()))
    for place, k in enumerate(shown, 1):
        player = progress.players[k]
        rating, elo = progress.ratings.get(player.id), progress.elo.get(player.id)
        sign = (
            signs.benched
            if player.benched
            else signs.learning
            if player.id == progress.learner
            else signs.frozen
            if player.frozen
            else signs.waits
        )
        told = player.benched or ("" if player.frozen else f"{player.snapshots} frozen, {player.resets} resets")
        table.add_row(
            f"{place:>2} {sign} {player.id}",
            f"{rating.value:+.0f}" if rating else "-",
            f"{rating.low:+.0f} {rating.high:+.0f}" if rating else "-",
            f"{elo:.0f}" if elo is not None else "-",
            f"{int(progress.games[k].sum()):,}",
            f"{player.frames / 1e6:.2f} M",
            *((told[:20],) if state else ()),
            style="" if not player.frozen else "dim",
        )
    return table


def _heat(progress: LeagueProgress, shown: list[int], signs: Signs, *, names: bool = False) -> Table:
    """Row ranks above column, in hundredths; the sign of what is not known where a pair has played too little."""
    from rich.style import Style
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=0, header_style="dim", pad_edge=False)
    if names:
        table.add_column("", no_wrap=True)
    for place in range(len(shown)):
        table.add_column(f"{place + 1:>2} ", no_wrap=True, width=3)
    for place, row in enumerate(shown, 1):
        cells: list[Text] = [Text(f"{place:>2} {progress.players[row].id}  ")] if names else []
        for column in shown:
            payoff = float(progress.payoffs[row, column])
            known = row != column and int(progress.games[row, column]) >= _FEW_GAMES
            red, green, blue = heat_colour(payoff)
            words = "   " if row == column else f"{min(99, round(payoff * 100)):>2} " if known else f"{signs.unknown} "
            cells.append(Text(words, style=Style(color="white", bgcolor=f"rgb({red},{green},{blue})") if known else Style(dim=True)))
        table.add_row(*cells)
    return table


def _mix(progress: LeagueProgress) -> Table:
    """Opponents as they were drawn beside those asked for, by learner."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("opponents", no_wrap=True)
    table.add_column("seen (asked), %", no_wrap=True)
    by_learner: dict[str, list[str]] = {}
    for row in progress.mix:
        by_learner.setdefault(row.learner, []).append(f"{row.branch.replace('_', ' ')} {100 * row.seen:.0f} ({100 * row.asked:.0f})")
    for learner, words in by_learner.items():
        table.add_row(learner, "   ".join(words))
    return table


def _losses(progress: LeagueProgress) -> Table:
    names = [name for name in LOSSES if any(name in parts for parts in progress.losses.values())]
    table = _table("losses", *(LOSSES[name] for name in names))
    for learner, parts in progress.losses.items():
        table.add_row(learner, *(f"{parts[name]:.3g}" if name in parts else "-" for name in names))
    return table


class LeagueView:
    """What ``run_league`` reports to: a picture on a terminal, else a line at each new turn and every ten seconds, and each note once."""

    def __init__(self, plain: bool = False) -> None:
        self.plain = plain or not sys.stderr.isatty() or os.environ.get("TERM", "") in {"", "dumb"}
        self._newest: LeagueProgress | None = None
        self._live: Live | None = None
        self._console: Console | None = None
        self._turn: tuple[int, str] = (0, "")
        self._said_s = 0.0
        self._noted: set[str] = set()

    def __call__(self, progress: LeagueProgress) -> None:
        self._newest = progress
        if not self.plain:
            return
        for note in (note for note in progress.notes if note not in self._noted):
            print(f"note: {note}", file=sys.stderr, flush=True)
        self._noted.update(progress.notes)
        turn = (progress.round, progress.learner)
        if turn != self._turn or time.monotonic() - self._said_s >= PLAIN_LINE_EVERY_S:
            self._turn, self._said_s = turn, time.monotonic()
            print(plain_line(progress), file=sys.stderr, flush=True)

    def __enter__(self) -> LeagueView:
        if not self.plain:
            from rich.console import Console
            from rich.live import Live

            self._console = Console(stderr=True)
            self._live = Live(console=self._console, get_renderable=self._picture, refresh_per_second=_REFRESH_HZ, vertical_overflow="crop")
            self._live.start()
        return self

    def _picture(self) -> RenderableType:
        from rich.text import Text

        if self._newest is None or self._console is None:
            return Text("the league begins")
        return league_screen(self._newest, *self._console.size)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

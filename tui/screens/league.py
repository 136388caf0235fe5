"""The page of one league, refinement or imitation: its live picture while it runs, and what it came to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events

from engine.state import EngineState
from tui.league_page import PARTS, Asked
from tui.league_reader import PageReader
from tui.panes.base import LinesPane, cut
from tui.screens import league_deeds
from tui.screens.lists import ListPane, ListScreen

if TYPE_CHECKING:
    from league.runs import RunRow


class LeaguePane(ListPane):
    """Lines that a thread has made; they scroll where they do not fit."""

    scope = "league"

    def __init__(self, row: RunRow) -> None:
        super().__init__("league", "")
        self.row = row
        self._part = 0
        self._reader: PageReader | None = None

    def key_words(self) -> list[tuple[str, str]]:
        words = super().key_words()
        if self.row.kind != "league":
            words = [(key, word) for key, word in words if word not in ("part", "report")]
        return [*words, ("esc", "back")]

    def on_mount(self) -> None:
        face = self.face
        self._reader = PageReader(self.row.kind, self.row.folder, lambda: face.soon(self._changed))
        self._reader.start()
        self._title()

    def on_unmount(self) -> None:
        if self._reader is not None:
            self._reader.stop()

    def _changed(self) -> None:
        if self.is_attached:
            self.show(self.face.newest)

    def _title(self) -> None:
        part = f"  {PARTS[self._part]}" if self.row.kind == "league" else ""
        self.set_title(f"{self.row.kind.capitalize()}  {self.row.name}{part}")

    def compose_all(self, state: EngineState) -> list[Text]:
        reader, width, height = self._reader, self.size.width, self.size.height
        if reader is None or width < 2 or height < 2:
            return []
        reader.ask(Asked(width, height - 1, PARTS[self._part], self.look))
        if not reader.lines:
            return [Text(f"{self.look.glyphs.waiting} Reading {self.row.folder}", self.look.palette.dim)]
        return [cut(line.copy(), width, self.look.glyphs.ellipsis) for line in reader.lines]

    def show(self, state: EngineState) -> None:
        super().show(state)
        width, height = self.size.width, self.size.height
        job = league_deeds.job_of(state, self.row.folder)
        line = league_deeds.job_line(self.face, job, width, self.key("league_stop"), self.key("league_job"))
        if line is not None and height:
            self.set_lines([*self.lines[: height - 1], *[Text()] * (height - 1 - len(self.lines)), line])

    def on_key(self, event: events.Key) -> None:
        if not self.run_own_key(event):
            super().on_key(event)

    def do_league_part(self) -> None:
        if self.row.kind == "league":
            self._part = (self._part + 1) % len(PARTS)
            self._top = 0
            self._title()
            self.show(self.face.newest)

    def do_league_stop(self) -> None:
        league_deeds.stop(self.face, self.row)

    def do_league_resume(self) -> None:
        """With what is known by now: the run may have gone on since its row was read."""
        from league.runs import list_runs

        workspace, folder = Path(self.face.newest.workspace), self.row.folder

        def done(rows: list[RunRow]) -> None:
            self.row = next((row for row in rows if row.folder == folder), replace(self.row, pid=0))
            league_deeds.resume(self.face, self.row)

        self.face.desk.quick(lambda: list_runs(workspace), done, lambda error: self.face.tell("error", str(error)))

    def do_league_report(self) -> None:
        league_deeds.open_report(self.face, self.row)

    def do_league_job(self) -> None:
        league_deeds.tell_job(self.face, self.row)


class LeagueScreen(ListScreen):
    def __init__(self, row: RunRow) -> None:
        super().__init__()
        self._row = row

    def body(self) -> LinesPane:
        pane = LeaguePane(self._row)
        pane.add_class("full-pane")
        return pane

"""Sessions: what has been recorded, newest first. Read by a thread, so that a slow disk never stops the drawing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from engine.state import EngineState
from tui.panes.base import LinesPane, clock, cut
from tui.screens.lists import ListPane, ListScreen


@dataclass(frozen=True, slots=True)
class SessionRow:
    id: str
    kind: str
    game: str
    state: str
    duration_s: float
    frames: int
    events: int


def load_sessions(workspace: Path) -> list[SessionRow]:
    """The workspace's sessions, newest first."""
    from data.catalog import list_sessions

    rows = [
        SessionRow(s.id, s.kind, s.game, s.state, s.duration_s, s.frames, s.events)
        for s in list_sessions(workspace)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row.id, reverse=True)


class SessionsPane(ListPane):
    def __init__(self, load: Callable[[Path], list[SessionRow]] = load_sessions) -> None:
        super().__init__("sessions", "Sessions", "up down  esc back", choose=True)
        self._load = load
        self._rows: list[SessionRow] | None = None
        self._problem = ""
        self._loaded_for: tuple[str, int] | None = None

    def compose_all(self, state: EngineState) -> list[Text]:
        wanted = (state.workspace, state.sessions)
        if state.workspace and wanted != self._loaded_for:
            self._loaded_for = wanted
            threading.Thread(target=self._read, args=(Path(state.workspace),), name="secondseat-sessions", daemon=True).start()
        palette = self.look.palette
        rows = self._rows
        if self._problem:
            return [Text(self._problem, palette.bad)]
        if rows is None:
            return [Text("Reading the sessions.", palette.dim)]
        if not rows:
            return [
                Text.assemble(
                    ("No sessions yet: ", palette.dim),
                    ("F5", palette.accent),
                    (" records, ", palette.dim),
                    ("F6", palette.accent),
                    (" saves.", palette.dim),
                )
            ]
        return [self._compose_row(row) for row in rows]

    def _compose_row(self, row: SessionRow) -> Text:
        palette, glyphs = self.look.palette, self.look.glyphs
        sign, style = {
            "recording": (glyphs.recording, palette.bad),
            "unsaved": (glyphs.needs, palette.warn),
            "saved": (glyphs.good, palette.good),
            "recovered": (glyphs.needs, palette.warn),
        }.get(row.state, (glyphs.failed, palette.bad))
        line = Text(f" {sign:<2} {row.state:<10}", style, no_wrap=True)
        line.append(f"{row.id:<42.42} ")
        line.append(f"{row.kind:<7}{row.game:<10.10}", palette.dim)
        line.append(f"{clock(row.duration_s)}  {row.frames:>8,} frames  {row.events:>8,} events")
        cut(line, max(1, self.size.width), self.look.glyphs.ellipsis)
        return line

    def _read(self, workspace: Path) -> None:
        try:
            self._rows, self._problem = self._load(workspace), ""
        except Exception as error:  # one broken folder must not take the screen away
            self._problem = f"the sessions of {workspace} cannot be read: {error}"


class SessionsScreen(ListScreen):
    def body(self) -> LinesPane:
        pane = SessionsPane()
        pane.add_class("full-pane")
        return pane

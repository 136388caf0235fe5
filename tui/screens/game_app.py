"""The marking screens by themselves, for ``secondseat games add`` in a terminal."""

from __future__ import annotations

import os
import sys

from textual.app import App

from data.profile import Gauge, Region
from engine.game_builder import Draft, DraftError
from engine.game_builder_window import WindowEye
from engine.state import EngineState
from tui import theme
from tui.screens.game_gauges import GaugesScreen, PartScreen
from tui.screens.game_screen import Eye, GameScreen, Outcome
from tui.style import CSS


class GameApp(App[Outcome]):
    """One screen; what the person decides ends the app. Panes find here what they find in the face."""

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False

    def __init__(self, screen: GameScreen) -> None:
        self.look = theme.pick(os.environ, theme.locale_encoding(os.environ))
        many_colours = self.look.theme != theme.TERMINAL
        super().__init__(ansi_color=None if many_colours else True)
        self.newest = EngineState()
        self._first = screen
        if many_colours:
            for own in theme.own_themes():
                self.register_theme(own)
        self.theme = self.look.theme

    def on_mount(self) -> None:
        if self.look.glyphs.border == "ascii":
            self.add_class("ascii")
        self.push_screen(self._first, self.exit)


def mark_gauges(draft: Draft) -> tuple[Gauge, ...] | None:
    """Let the person mark gauges on the window's picture; None when they went back. Raises DraftError."""
    marked = Draft(title=draft.title, part=draft.part, gauges=draft.gauges, base=draft.base)
    outcome = _run(GaugesScreen(marked, lambda part: _eye(draft.title, part)))
    return marked.gauges if outcome == "next" else None


def mark_part(title: str) -> Region | None:
    """Let the person mark the part of the window that is the picture; None when they went back. Raises DraftError."""
    marked = Draft(title=title)
    outcome = _run(PartScreen(marked, lambda part: _eye(title, part)))
    return marked.part if outcome == "next" else None


def _eye(title: str, part: Region) -> Eye:
    return WindowEye(title, part)


def _run(screen: GameScreen) -> Outcome | None:
    from tui.start import why_not_here

    reason = why_not_here()
    if not sys.stderr.isatty():
        reason = "stderr is not a terminal"
    if reason:
        raise DraftError(f"no picture can be shown here ({reason}); type it instead, as left,top,right,bottom in 0..1")
    return GameApp(screen).run()

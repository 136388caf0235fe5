"""Choosing the game's window among those that are open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar, Final

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.widgets import Input

from engine.game_builder import Draft
from engine.game_builder_window import filtered
from engine.platforms.port import PlatformError, WindowInfo
from engine.state import EngineState
from tui.screens.game_screen import GameScreen
from tui.screens.lists import ListPane

AGAIN_S: Final = 2.0


class WindowsPane(ListPane):
    """The windows that fit the filter; those that cannot be seen now are told apart by words."""

    def __init__(self) -> None:
        super().__init__("game-list", choose=True)
        self.can_focus = False
        self.windows: list[WindowInfo] = []
        self.said = "looking for windows"

    def compose_all(self, state: EngineState) -> list[Text]:
        if not self.windows:
            return [Text(line) for line in self.said.split("\n")]
        room = max(10, self.size.width - 20)
        return [
            Text.assemble(
                f"{window.title:<{room}.{room}}  ",
                (f"{window.rect.width}x{window.rect.height}" if window.rect else "not on the screen", self.look.palette.dim),
                no_wrap=True,
            )
            for window in self.windows
        ]

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and 0 <= self._top + offset.y < len(self.windows):
            self.selected = self._top + offset.y
            self.show(self.face.newest)


class WindowScreen(GameScreen):
    """``open_windows`` looks for them, off the drawing loop; what is chosen goes into the draft."""

    step = "which window is the game in?"
    keys: ClassVar[str] = "type to filter  up down choose  enter takes it  esc leaves, nothing is written"

    def __init__(self, draft: Draft, open_windows: Callable[[], list[WindowInfo]]) -> None:
        super().__init__()
        self.draft = draft
        self.chosen: WindowInfo | None = None
        self._open_windows = open_windows
        self._every: list[WindowInfo] = []
        self._trouble = ""

    def body(self) -> ComposeResult:
        yield Input(placeholder="a part of the title", id="game-filter")
        yield WindowsPane()

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(Input).focus()
        self._look_later()
        self.set_interval(AGAIN_S, self._look_later)

    def _look_later(self) -> None:
        self.run_worker(self._look(), exclusive=True)

    async def _look(self) -> None:
        try:
            self._every, self._trouble = await asyncio.to_thread(self._open_windows), ""
        except PlatformError as problem:
            self._every, self._trouble = [], str(problem)
        self._show()

    def _show(self) -> None:
        pane, text = self.query_one(WindowsPane), self.query_one(Input).value
        before = pane.windows[pane.selected].id if 0 <= pane.selected < len(pane.windows) else None
        pane.windows = filtered(self._every, text)
        if self._trouble:
            what, _, remedy = self._trouble.partition("; ")
            pane.said = f"There is no screen to look at: {what}." + (f"\nWhat to do: {remedy}." if remedy else "")
        elif not self._every:
            pane.said = "No window is open.\nStart the game: this list looks again by itself."
        else:
            pane.said = f"No open window has {text!r} in its title; {len(self._every)} without the filter."
        wanted = before if before is not None else next((w.id for w in pane.windows if self._is_drafts(w)), None)
        pane.selected = next((n for n, w in enumerate(pane.windows) if w.id == wanted), 0)
        pane.show(EngineState())

    def _is_drafts(self, window: WindowInfo) -> bool:
        return bool(self.draft.title) and self.draft.title.casefold() in window.title.casefold()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        pane = self.query_one(WindowsPane)
        if not pane.windows:
            self.say(pane.said.partition("\n")[0], bad=True)
            return
        window = pane.windows[pane.selected]
        if window.rect is None:
            self.say(f"{window.title!r} is not on the screen now; show it, then choose it", bad=True)
            return
        self.chosen = window
        if not self._is_drafts(window):
            self.draft.title = window.title
        self.dismiss("next")

    def on_key(self, event: events.Key) -> None:
        by = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}.get(event.key)
        if event.key == "escape":
            event.stop()
            self.dismiss("leave")
        elif by is not None:
            event.stop()
            self.query_one(WindowsPane).move(by)

"""The last step: the whole profile, each line to be changed, and what a recording with it would hold."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import ClassVar, Final, Protocol

from rich.text import Text
from textual import events
from textual.app import ComposeResult

from data.profile import GameProfile
from engine import game_builder as builder
from engine.game_builder import Draft, DraftError
from engine.game_builder_names import classes_of_file
from engine.game_builder_rehearsal import Rehearsed
from engine.platforms.port import PlatformError
from engine.state import EngineState
from tui.panes.base import face_of
from tui.screens.dialogs import AskText
from tui.screens.game_screen import GameScreen, Side
from tui.screens.lists import ListPane

REHEARSE_S: Final = 10.0
LOOK_S: Final = 0.25


class Rehearses(Protocol):
    """Watches as a recording would (``engine.game_builder_rehearsal.Rehearsal``)."""

    def start(self) -> object: ...

    def stop(self) -> None: ...

    def look(self) -> Rehearsed: ...


MakeRehearsal = Callable[[GameProfile], Rehearses]

Change = Callable[[Draft, str], None]


def _set_classes(draft: Draft, text: str) -> None:
    path = Path(text).expanduser()
    draft.classes = classes_of_file(path) if path.suffix and path.is_file() else builder.classes_of_text(text)


def _set_detector(draft: Draft, text: str) -> None:
    draft.detector = text.strip()


def _set_name(draft: Draft, text: str) -> None:
    draft.name = builder.check_name(text)


def _set_margin(draft: Draft, text: str) -> None:
    draft.edge_margin_px = builder.whole_number(text, 0, 200, "edge margin")


def _set_hold(draft: Draft, text: str) -> None:
    draft.hold_ms = builder.whole_number(text, 10, 1000, "hold time")


def _set_title(draft: Draft, text: str) -> None:
    draft.set_title(text, draft.title if text.casefold() in draft.title.casefold() else "")


ROWS: Final[tuple[tuple[str, str, Callable[[Draft], str], Change | None], ...]] = (
    ("name", "The game's name here", lambda d: d.name, _set_name),
    ("window", "The part of the window's title that stays the same", lambda d: d.title, _set_title),
    ("picture", "", lambda d: f"{d.size[0]}x{d.size[1]} px of the window", None),
    ("keys", "", lambda d: " ".join(d.keys) or "none: only the mouse is recorded", None),
    ("gauges", "", lambda d: ", ".join(g.name for g in d.gauges) or "none", None),
    ("classes", "Object classes: name=role, …, or a YOLO data.yaml", lambda d: builder.classes_text(d.classes), _set_classes),
    ("detector", "An .onnx detector, under the workspace; empty: none", lambda d: d.detector, _set_detector),
    ("edge", "How many px inside the window's edge the bot's cursor stays", lambda d: str(d.edge_margin_px), _set_margin),
    ("hold", "How many ms the bot holds a tapped key", lambda d: str(d.hold_ms), _set_hold),
)
"""Each line: its heading, what is asked when it is changed, what it shows, and how an answer is taken (None: an earlier
step's)."""


class SummaryPane(ListPane):
    def __init__(self, draft: Draft) -> None:
        super().__init__("game-list", choose=True)
        self._draft = draft

    def compose_all(self, state: EngineState) -> list[Text]:
        palette = self.look.palette
        return [Text.assemble((f"{heading:<9} ", palette.dim), show(self._draft) or "none", no_wrap=True) for heading, _, show, _ in ROWS]


class SummaryScreen(GameScreen):
    """Saved is only what leaves this screen by ``s``."""

    step = "look it over, then save"
    keys: ClassVar[str] = "enter change a line  w show again what would be recorded  s save  esc back"

    def __init__(self, draft: Draft, make_rehearsal: MakeRehearsal, taken: Collection[str]) -> None:
        super().__init__()
        self.draft, self._taken = draft, taken
        self._make_rehearsal = make_rehearsal
        self._rehearsal: Rehearses | None = None
        self._until_s = 0.0

    def body(self) -> ComposeResult:
        yield SummaryPane(self.draft)
        yield Side("game-live")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(SummaryPane).focus()
        self.set_interval(LOOK_S, self._look)
        self.run_worker(self._begin())

    async def on_unmount(self) -> None:
        await self._end()

    async def _begin(self) -> None:
        await self._end()
        try:
            rehearsal = self._make_rehearsal(self.draft.profile())
            await asyncio.to_thread(rehearsal.start)
        except (DraftError, PlatformError) as problem:
            self.say(str(problem), bad=True)
            return
        self._rehearsal, self._until_s = rehearsal, time.monotonic() + REHEARSE_S
        self._look()

    async def _end(self) -> None:
        rehearsal, self._rehearsal = self._rehearsal, None
        if rehearsal is not None:
            await asyncio.to_thread(rehearsal.stop)

    def _look(self) -> None:
        rehearsal = self._rehearsal
        if rehearsal is None:
            return
        live, left = self.query_one("#game-live", Side), self._until_s - time.monotonic()
        palette = live.look.palette
        head = f"What would be recorded ({max(0, left):.0f} s left; nothing is written):"
        live.put([Text(head, palette.strong), *(Text(f"  {line}") for line in rehearsal.look().lines(self.draft.profile()))])
        if left <= 0:
            self.run_worker(self._end())

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "escape":
                self.dismiss("back")
            case "enter":
                self._change()
            case "w":
                self.run_worker(self._begin())
            case "s":
                self._save()
            case _:
                return
        event.stop()

    def _change(self) -> None:
        heading, question, show, take = ROWS[self.query_one(SummaryPane).selected]
        if take is None:
            self.say(f"{heading}: esc goes back to that step")
            return

        def answered(text: str | None) -> None:
            if text is None:
                return
            try:
                take(self.draft, text)
            except DraftError as problem:
                self.say(str(problem), bad=True)
                return
            self.say(f"{self.draft.name} is there already: saving changes it" if self.draft.name in self._taken else "")
            self.query_one(SummaryPane).show(EngineState())

        face_of(self).push_screen(AskText(question, show(self.draft)), answered)

    def _save(self) -> None:
        try:
            self.draft.profile()
        except DraftError as problem:
            self.say(str(problem), bad=True)
            return
        self.dismiss("next")

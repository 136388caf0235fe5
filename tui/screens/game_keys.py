"""Which keys the game uses: counted while the person plays, then confirmed, added to or dropped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from typing import ClassVar, Final, Protocol

from rich.text import Text
from textual import events
from textual.app import ComposeResult

from engine.game_builder import Draft, DraftError
from engine.game_builder_keys import PRIVACY, KeyChoice
from engine.platforms.port import PlatformError
from engine.state import EngineState
from tui.panes.base import bar, face_of, wrapped
from tui.screens.dialogs import AskText
from tui.screens.game_screen import GameScreen
from tui.screens.lists import ListPane

WATCH_S: Final = 60.0
LOOK_S: Final = 0.25


class Watch(Protocol):
    """Counts keys (``engine.game_builder_keys.KeyWatch``)."""

    @property
    def failure(self) -> str: ...

    @property
    def clicks(self) -> int: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def focus(self) -> bool: ...

    def counts(self) -> list[tuple[str, int]]: ...


class SeenKeysPane(ListPane):
    def __init__(self, choice: KeyChoice) -> None:
        super().__init__("game-list", choose=True)
        self._choice = choice

    def compose_all(self, state: EngineState) -> list[Text]:
        palette, glyphs = self.look.palette, self.look.glyphs
        rows = self._choice.rows()
        if not rows:
            lines = [Text("No key yet."), Text("")]
            return lines + [
                line
                for text in (PRIVACY, "A game without keys is fine too: the mouse is recorded anyway.")
                for line in wrapped(Text(text, palette.dim), max(20, self.size.width))
            ]
        most = max(1, max(count for _, count, _ in rows))
        out: list[Text] = []
        for key, count, taken in rows:
            line = Text(f"[{'x' if taken else ' '}] {key:<12} ", "" if taken else palette.dim, no_wrap=True)
            line.append(f"{count:>5} ", palette.strong if taken else palette.dim)
            line.append(bar(count / most, 20, glyphs.bar_full, " ").rstrip(), palette.accent if taken else palette.dim)
            out.append(line if taken else line.append(" dropped", palette.dim))
        return out

    @property
    def under(self) -> str:
        rows = self._choice.rows()
        return rows[self.selected][0] if 0 <= self.selected < len(rows) else ""


class GameKeysScreen(GameScreen):
    """``make_watch`` counts the keys of the draft's window; ``control_keys`` are never among them."""

    step = "its keys. Click into the game and play for a minute"
    keys: ClassVar[str] = "space drop or take  a type keys  s stop or watch again  enter go on  esc back"

    def __init__(self, draft: Draft, make_watch: Callable[[], Watch], control_keys: Collection[str]) -> None:
        super().__init__()
        self.draft, self._control = draft, control_keys
        self.choice = KeyChoice(draft.keys)
        self._make_watch = make_watch
        self._watch: Watch | None = None
        self._until_s = 0.0

    def body(self) -> ComposeResult:
        yield SeenKeysPane(self.choice)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(SeenKeysPane).focus()
        self.set_interval(LOOK_S, self._look)
        if not self.draft.keys:
            self.run_worker(self._begin())
        else:
            self.say("the keys of the profile as it is; s watches you play and adds those you use")

    async def on_unmount(self) -> None:
        await self._end()

    async def _begin(self) -> None:
        watch = self._make_watch()
        try:
            await asyncio.to_thread(watch.start)
        except PlatformError as problem:
            self.say(f"keys cannot be seen here: {problem}; type them with a", bad=True)
            return
        self._watch, self._until_s = watch, time.monotonic() + WATCH_S
        self._look()

    async def _end(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            await asyncio.to_thread(watch.stop)
            self.choice.see(watch.counts())

    def _look(self) -> None:
        watch = self._watch
        if watch is None:
            return
        self.choice.see(watch.counts())
        left = self._until_s - time.monotonic()
        clicks = f"{watch.clicks} click{'' if watch.clicks == 1 else 's'}"
        if watch.failure:
            self.say(f"nothing is heard any more: {watch.failure}; s watches again", bad=True)
        elif left <= 0:
            self.say(f"the minute is over, {clicks}; drop what is not the game's, enter goes on")
            self.run_worker(self._end())
        elif watch.focus():
            self.say(f"{left:.0f} s left, counting in {self.draft.title!r}, {clicks}")
        else:
            self.say(f"{left:.0f} s left; {self.draft.title!r} has no focus, so nothing counts: click into it", bad=True)
        self.query_one(SeenKeysPane).show(EngineState())

    def on_key(self, event: events.Key) -> None:
        pane = self.query_one(SeenKeysPane)
        match event.key:
            case "escape":
                self.dismiss("back")
            case "enter":
                self._accept()
            case "space" if pane.under:
                self.choice.toggle(pane.under)
                pane.show(EngineState())
            case "a":
                face_of(self).push_screen(AskText("Keys, such as w a s d space", ""), self._typed)
            case "s":
                self.run_worker(self._end() if self._watch is not None else self._begin())
                self.say("stopped; enter goes on" if self._watch is not None else "")
            case _:
                return
        event.stop()

    def _typed(self, text: str | None) -> None:
        if not text:
            return
        typed = Draft()
        try:
            typed.edit_keys(text, self._control)
        except DraftError as problem:
            self.say(str(problem), bad=True)
            return
        self.choice.add(typed.keys)
        self.query_one(SeenKeysPane).show(EngineState())

    def _accept(self) -> None:
        try:
            self.draft.set_keys(self.choice.chosen(), self._control)
        except DraftError as problem:
            self.say(str(problem), bad=True)
            return
        self.dismiss("next")

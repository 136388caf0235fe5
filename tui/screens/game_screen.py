"""What the screens of "Add a game" share: a title, a body, a line that answers, the keys; and a picture to mark in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar, Final, Literal, Protocol

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widget import Widget

from data.profile import Region
from data.schema import Frame, Image
from engine.state import EngineState
from tui.panes.base import LinesPane, cut, wrapped
from tui.panes.status import StatusLine
from tui.screens.game_picture import PicturePane

Outcome = Literal["next", "back", "leave"]
"""What the person wants after a screen."""
LOOK_S: Final = 0.5
FIRST_LOOK_S: Final = 0.1


class Eye(Protocol):
    """The window as it is seen (``engine.game_builder_window.WindowEye``)."""

    @property
    def frame(self) -> Frame | None: ...

    @property
    def state(self) -> str: ...

    def start(self) -> object: ...

    def stop(self) -> None: ...


MakeEye = Callable[[Region], Eye]
"""Looks at a part of the game's window."""


class Line(LinesPane):
    """A few words in one style, on as many lines as it has."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._text = Text()

    def say(self, text: str, style: str = "") -> None:
        self._text = Text(text, style, no_wrap=True)
        self.show(EngineState())

    def show(self, state: EngineState) -> None:
        if self.size.width:
            lines = wrapped(self._text, self.size.width)
            rest = lines[: self.size.height]
            if len(lines) > len(rest) and rest:
                cut(rest[-1].append(" " + lines[len(rest)].plain), self.size.width, self.look.glyphs.ellipsis)
            self.set_lines(rest)


class Keys(LinesPane):
    """The keys, on as many lines as there are; a key and its word stay together."""

    def put(self, text: str) -> None:
        palette, lines = self.look.palette, [""]
        for group in text.split("  "):
            longer = f"{lines[-1]}  {group}" if lines[-1] else group
            if len(longer) + 1 > self.size.width and lines[-1]:
                lines.append(group)
            else:
                lines[-1] = longer
        self.set_lines([Text(f" {line}", palette.dim, no_wrap=True) for line in lines])


class GameScreen(ModalScreen[Outcome]):
    """Nothing behind it is reached by its letters; the function keys work on."""

    BINDINGS: ClassVar[list[BindingType]] = []
    step = ""
    keys: ClassVar[str] = ""
    with_status = False
    """Whether the face's status line stands above: what is captured, recorded and flown stays in sight."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="game"):
            if self.with_status:
                yield StatusLine("status")
            yield Line("game-title")
            yield from self.body()
            yield Line("game-said")
            yield Keys("game-keys")

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def on_mount(self) -> None:
        self.query_one("#game-title", Line).say(f" Add a game: {self.step}", "bold")
        self.call_after_refresh(self.say_keys)

    def say_keys(self) -> None:
        self.query_one(Keys).put(self.keys)

    def on_resize(self) -> None:
        self.call_after_refresh(self.say_keys)

    def say(self, text: str, bad: bool = False) -> None:
        line = self._line()
        line.say(f" {line.look.glyphs.needs} {text}" if bad and text else f" {text}", line.look.palette.warn if bad else "")

    def _line(self) -> Line:
        return self.query_one("#game-said", Line)


class PictureScreen(GameScreen):
    """The window's picture, which stands still, and something beside it."""

    def __init__(self, make_eye: MakeEye, part: Region) -> None:
        super().__init__()
        self.eye = make_eye(part)

    def body(self) -> ComposeResult:
        with Horizontal():
            yield PicturePane("game-picture")
            yield self.side()

    def side(self) -> Widget:
        raise NotImplementedError

    @property
    def picture(self) -> PicturePane:
        return self.query_one(PicturePane)

    def on_mount(self) -> None:
        super().on_mount()
        self.picture.focus()
        self.eye.start()
        self.set_interval(LOOK_S, self.look_again)
        self.set_timer(FIRST_LOOK_S, self.look_again)

    async def on_unmount(self) -> None:
        await asyncio.to_thread(self.eye.stop)

    def newest(self) -> Image | None:
        frame = self.eye.frame
        return None if frame is None else frame.image

    def look_again(self) -> None:
        """Twice a second. The first picture that comes is the one that is marked."""
        image = self.newest()
        if self.picture.image is None:
            if image is not None:
                self.take(image)
            else:
                self.picture.put(None, self.eye.state)
        self.show_side()

    def take(self, image: Image) -> None:
        """This is the picture from now on."""
        self.picture.put(image)

    def show_side(self) -> None:
        """What stands beside the picture, with live values."""


class Side(LinesPane):
    """Lines beside the picture."""

    def put(self, lines: list[Text]) -> None:
        width = self.size.width
        if width:
            self.set_lines([cut(line, width, self.look.glyphs.ellipsis) for line in lines])

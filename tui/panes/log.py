"""Log: the engine's notices and the face's own, filtered and followed; the full log adds what libraries printed."""

from __future__ import annotations

import time
from typing import Final

from rich.text import Text
from textual import events

from engine.state import EngineState, Notice
from tui.panes.base import LinesPane, cut

LEVELS: Final = ("debug", "info", "warning", "error")
_WORDS: Final = {"debug": "DBUG", "info": "INFO", "warning": "WARN", "error": "FAIL"}


class LogPane(LinesPane):
    """Newest lines at the bottom. Scrolling up stops following; ``f`` follows again."""

    can_focus = True
    scope = "log"

    def __init__(self, id: str, title: str = "", *, output: bool = False) -> None:
        super().__init__(id, title)
        self.level = 1
        self.filter = ""
        self.following = True
        self._end = 0
        self._output = output
        self._shown: tuple[object, ...] = ()

    def show(self, state: EngineState) -> None:
        notices = self.face.all_notices(self._output)
        width, height = self.size.width, self.size.height
        if not width:
            return
        shown = [n for n in notices if LEVELS.index(n.level) >= self.level and self.filter.lower() in f"{n.source} {n.text}".lower()]
        if self.following:
            self._end = len(shown)
        key = (len(notices), notices[-1] if notices else None, width, height, self.level, self.filter, self._end)
        if key == self._shown:
            return
        self._shown = key
        self._end = min(max(self._end, min(height, len(shown))), len(shown))
        if not shown:
            what = (
                f"No line with {self.filter!r}; / changes the filter."
                if self.filter
                else "Nothing has happened yet: what the engine does is told here."
            )
            self.set_lines([Text(what, self.look.palette.dim)])
            return
        self.set_lines([self.compose_notice(n, width) for n in shown[max(0, self._end - height) : self._end]])

    def compose_notice(self, notice: Notice, width: int) -> Text:
        palette = self.look.palette
        style = {"debug": palette.dim, "info": "", "warning": palette.warn, "error": palette.bad}[notice.level]
        line = Text(no_wrap=True)
        line.append(time.strftime("%H:%M:%S ", time.localtime(notice.time_s)), palette.dim)
        line.append(_WORDS[notice.level] + " ", style or palette.good)
        line.append(f"{notice.source:<10.10} ", palette.dim)
        line.append(printable(notice.text), style)
        cut(line, width, self.look.glyphs.ellipsis)
        return line

    def on_mount(self) -> None:
        self.level = LEVELS.index(self.face.memory.text("log_level", "info", LEVELS))
        self.update_titles()

    def update_titles(self) -> None:
        self.border_title = f"7 Log  {LEVELS[self.level]}+  {'following' if self.following else 'stopped'}" + (
            f"  /{self.filter}" if self.filter else ""
        )

    def scroll_by(self, lines: int) -> None:
        self.following = False
        self._end += lines
        self._end = max(1, self._end)
        self.update_titles()
        self.show(self.face.newest)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_by(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_by(3)

    def on_key(self, event: events.Key) -> None:
        by = {"up": -1, "down": 1, "pageup": -self.size.height, "pagedown": self.size.height}.get(event.key)
        if by is not None:
            event.stop()
            self.scroll_by(by)

    def do_log_filter(self) -> None:
        self.face.ask_text("Show only lines with", self.filter, self._set_filter)

    def _set_filter(self, text: str | None) -> None:
        if text is not None:
            self.filter = text
            self.update_titles()
            self.show(self.face.newest)

    def do_log_level(self) -> None:
        self.level = (self.level + 1) % len(LEVELS)
        self.face.memory.keep(log_level=LEVELS[self.level])
        self.update_titles()
        self.show(self.face.newest)

    def do_log_follow(self) -> None:
        self.following = not self.following
        self.update_titles()
        self.show(self.face.newest)


def printable(text: str) -> str:
    """One line without control characters: a library's text must not steer the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)

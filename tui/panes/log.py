"""Log: the engine's notices and the face's own, filtered and followed. ``tui.panes.log_file`` shows whole files."""

from __future__ import annotations

import time

from rich.text import Text
from textual import events

from data.text import printable
from engine.state import EngineState, Notice
from tui.line_index import LEVELS
from tui.panes.base import LinesPane, cut

_WORDS = {"debug": "DBUG", "info": "INFO", "warning": "WARN", "error": "FAIL"}


class LogPane(LinesPane):
    """Newest lines at the bottom. Scrolling up stops following; ``f`` follows again."""

    can_focus = True
    scope = "log"

    def __init__(self, id: str, title: str = "") -> None:
        super().__init__(id, title)
        self.level = 1
        self.filter = ""
        self.following = True
        self._end = 0
        self._shown: tuple[object, ...] = ()

    def on_mount(self) -> None:
        self.level = LEVELS.index(self.face.memory.text("log_level", "info", LEVELS))
        self.update_title()

    def show(self, state: EngineState) -> None:
        notices = self.face.all_notices()
        width, height = self.size.width, self.size.height
        if not width:
            return
        key = (len(notices), notices[-1] if notices else None, width, height, self.level, self.filter, self.following, self._end, self.look)
        if key == self._shown:
            return
        shown = [n for n in notices if LEVELS.index(n.level) >= self.level and self.filter.lower() in f"{n.source} {n.text}".lower()]
        if self.following:
            self._end = len(shown)
        self._end = min(max(self._end, min(height, len(shown))), len(shown))
        self._shown = (*key[:7], self._end, self.look)
        if not shown:
            self.set_lines([Text(self._empty(len(notices)), self.look.palette.dim)])
            return
        self.set_lines([self.compose_notice(n, width) for n in shown[max(0, self._end - height) : self._end]])

    def _empty(self, count: int) -> str:
        if self.filter:
            return f"No line with {self.filter!r}; {self.key('log_filter')} changes the filter."
        if count:
            return f"No line of the level {LEVELS[self.level]} or above; {self.key('log_level')} changes the level."
        return "Nothing has happened yet: what the engine does is told here."

    def compose_notice(self, notice: Notice, width: int) -> Text:
        clock = time.strftime("%H:%M:%S", time.localtime(notice.time_s))
        return log_line(self, clock, notice.level, notice.source, notice.text, width)

    def update_title(self) -> None:
        self.set_title(
            f"7 Log  {LEVELS[self.level]}+  {'following' if self.following else 'stopped'}" + (f"  /{self.filter}" if self.filter else "")
        )

    def scroll_by(self, lines: int) -> None:
        self.following = False
        self._end = max(1, self._end + lines)
        self.update_title()
        self.show(self.face.newest)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_by(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_by(3)

    def on_key(self, event: events.Key) -> None:
        page = max(1, self.size.height - 1)
        by = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -(10**9), "end": 10**9}.get(event.key)
        if by is not None:
            event.stop()
            self.scroll_by(by)

    def use_filter(self, words: str, level: int) -> None:
        """Show only lines with these words, from this level on."""
        self.filter, self.level = words, level
        self.update_title()
        self.show(self.face.newest)

    def do_log_filter(self) -> None:
        def typed(words: str | None) -> None:
            if words is not None:
                self.use_filter(words, self.level)

        self.face.ask_text("Show only lines with", self.filter, typed)

    def do_log_level(self) -> None:
        level = (self.level + 1) % len(LEVELS)
        self.face.memory.keep(log_level=LEVELS[level])
        self.use_filter(self.filter, level)

    def do_log_follow(self) -> None:
        self.following = not self.following
        self.update_title()
        self.show(self.face.newest)

    def do_log_copy(self) -> None:
        """The lines that are seen, by the terminal's own way (OSC 52): not every terminal takes it, and none says so."""
        self.face.copy_to_clipboard("\n".join(line.plain.rstrip() for line in self.lines))
        what = f"{len(self.lines)} lines sent to the terminal's clipboard"
        self.face.tell("info", f"{what}; if nothing arrives, it does not take OSC 52 (tmux: set-clipboard on)", log=False)


def log_line(pane: LinesPane, clock: str, level: str, source: str, text: str, width: int) -> Text:
    """Time, level, source and text of one line, cut to ``width``."""
    palette = pane.look.palette
    style = {"debug": palette.dim, "info": "", "warning": palette.warn, "error": palette.bad}[level]
    line = Text(no_wrap=True)
    line.append(f"{clock} ", palette.dim)
    line.append(_WORDS[level] + " ", style or palette.good)
    line.append(f"{source:<10.10} ", palette.dim)
    line.append(printable(text), style)
    return cut(line, width, pane.look.glyphs.ellipsis)

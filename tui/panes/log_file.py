"""The full log: a whole file of any length, with its filter, read by ``tui.line_index`` as far as it is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rich.text import Text
from textual import events

from data.text import printable
from engine.state import EngineState
from tui.line_index import LEVELS, Filter, LineIndex
from tui.panes.base import cut
from tui.panes.log import LogPane, log_line

LOG_NAME: Final = "secondseat.log"
ROTATED: Final = 4
_LEVEL_WORDS: Final = {"DEBUG": "debug", "INFO": "info", "WARNING": "warning", "ERROR": "error", "CRITICAL": "error"}


class LogFilePane(LogPane):
    """Two files: what Secondseat tells, and what libraries print. ``n`` shows the other one."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._which = 0
        self._back = 0
        self._seen_end = 0
        self._index: LineIndex | None = None

    def on_mount(self) -> None:
        self.level = LEVELS.index(self.face.memory.text("log_level", "info", LEVELS))
        self._open()

    def on_unmount(self) -> None:
        if self._index is not None:
            self._index.stop()

    def _files(self) -> list[tuple[str, list[Path]]]:
        """The files there are, by name, each with those that were rotated away before it."""
        files: list[tuple[str, list[Path]]] = []
        if self.face.newest.workspace:
            log = Path(self.face.newest.workspace) / "logs" / LOG_NAME
            files.append((LOG_NAME, [*(log.with_name(f"{LOG_NAME}.{n}") for n in range(ROTATED, 0, -1)), log]))
        if self.face.output.path is not None:
            files.append((self.face.output.path.name, [self.face.output.path]))
        return files

    def _open(self) -> None:
        if self._index is not None:
            self._index.stop()
        files = self._files()
        paths = files[self._which % len(files)][1] if files else []
        self._index = LineIndex(lambda: paths, lambda: self.face.soon(lambda: self.show(self.face.newest)))
        self._index.set_filter(Filter(self.filter, self.level))
        self._index.start()
        self._back, self._seen_end, self._shown = 0, 0, ()
        self.update_title()

    def show(self, state: EngineState) -> None:
        index, width, height = self._index, self.size.width, self.size.height
        if index is None or not width:
            return
        count, end = index.count(), index.at_end()
        if self.following:
            self._back = 0
        elif self._seen_end and end > self._seen_end:
            self._back += end - self._seen_end  # hold still while lines come in below
        self._seen_end = end
        self._back = max(0, min(self._back, count - height))
        key = (index, count, index.settled, self._back, width, height, self.level, self.filter, self.look)
        if key == self._shown:
            return
        self._shown = key
        self.update_title()
        lines = index.lines(self._back, height) if index.ready or self.filter else index.newest(height)
        if not lines:
            self.set_lines([Text(self._empty(0) if index.settled else "Looking through the file.", self.look.palette.dim)])
            return
        self.set_lines([self._line(line, width) for line in lines])

    def _empty(self, count: int) -> str:
        if not self.filter and self.level < 2:
            return "Nothing has been written here yet."
        return super()._empty(1)

    def _line(self, text: str, width: int) -> Text:
        """A line of our log in columns, any other as it is."""
        parts = text.split(" ", 4)
        if len(parts) == 5 and parts[2] in _LEVEL_WORDS:
            source = parts[3].rsplit(".", 1)[-1]
            return log_line(self, parts[1][:8], _LEVEL_WORDS[parts[2]], source, parts[4], width)
        return cut(Text(printable(text), no_wrap=True), width, self.look.glyphs.ellipsis)

    def update_title(self) -> None:
        files = self._files()
        name = files[self._which % len(files)][0] if files else "no file"
        count = self._index.count() if self._index is not None else 0
        words = [f"Full log  {name}", f"{LEVELS[self.level]}+", "following" if self.following else "stopped", f"{count:,} lines"]
        self.set_title("  ".join([*words, *([f"/{self.filter}"] if self.filter else [])]))

    def scroll_by(self, lines: int) -> None:
        self.following = False
        self._back = max(0, self._back - lines)
        self.show(self.face.newest)

    def use_filter(self, words: str, level: int) -> None:
        if self._index is not None:
            self._index.set_filter(Filter(words, level))
        self._back, self._seen_end = 0, 0
        super().use_filter(words, level)

    def do_log_next(self) -> None:
        """The other file."""
        self._which += 1
        self._open()
        self.show(self.face.newest)

    def on_click(self, event: events.Click) -> None:
        self.focus()

"""The thread that reads the files of the league or run that is looked at and makes its page. The pane only takes the newest lines."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.text import Text

from tui.league_page import Asked, page
from tui.pump import one_line

if TYPE_CHECKING:
    from league.runs import Kind

log = logging.getLogger(__name__)

POLL_S: Final = 1.0
_WATCHED: Final = ("live.json", "metrics.jsonl", "summary.json")


class PageReader:
    """``changed`` is called from the thread when there is another page. ``ask`` and ``stop`` may be called from any thread."""

    def __init__(self, kind: Kind, folder: Path, changed: Callable[[], object]) -> None:
        self.kind: Final = kind
        self.folder: Final = folder
        self.lines: tuple[Text, ...] = ()
        self._changed = changed
        self._asked: Asked | None = None
        self._made_for: tuple[object, ...] = ()
        self._wake = threading.Event()
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="secondseat-league", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ending = True
        self._wake.set()

    def ask(self, asked: Asked) -> None:
        """Say what is seen; its page follows."""
        if asked != self._asked:
            self._asked = asked
            self._wake.set()

    def _run(self) -> None:
        while not self._ending:
            if self._asked is not None and self.make(self._asked) and not self._ending:
                self._changed()
            self._wake.wait(POLL_S)
            self._wake.clear()

    def make(self, asked: Asked) -> bool:
        """Make the page when its files or what is asked changed; whether it did."""
        key = (asked, self._signature())
        if key == self._made_for:
            return False
        self._made_for = key
        try:
            self.lines = page(self.kind, self.folder, asked)
        except Exception as error:  # of files that anyone may have written: told, and tried again when they change
            log.warning("%s cannot be shown: %s", self.folder, one_line(error))
            self.lines = (Text(f"{asked.look.glyphs.failed} cannot be shown: {one_line(error)} ({self.folder})", asked.look.palette.bad),)
        return True

    def _signature(self) -> tuple[object, ...]:
        seen: list[object] = []
        for path in (*(self.folder / name for name in _WATCHED), *sorted(self.folder.glob("checkpoint_epoch_*.json"))):
            try:
                stat = path.stat()
                seen.append((path.name, stat.st_mtime_ns, stat.st_size))
            except OSError:
                continue
        return tuple(seen)

"""Textual's driver for Linux and macOS, made to bear a terminal that is not read and bytes that are not text.

When the terminal does not take what was drawn, Textual's own driver blocks the drawing loop. This one throws whole
updates away instead, remembers that the screen is torn, and the app repaints it once the terminal reads again.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import queue
import selectors
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers._writer_thread import WriterThread
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key

if TYPE_CHECKING:
    from textual.message import Message

MAX_WAITING: Final = 24
"""Writes that may wait. An update is one to three writes, so this is a few seconds of a stalled terminal."""
SLOW_WAITING: Final = 4
"""More waiting writes than this mean that the terminal is slow."""
LEAVE_S: Final = 0.8
"""How long leaving waits for a terminal that does not read."""


class _Writer(WriterThread):
    """Writes what it is given, in order, and says how much is waiting. Never blocks whoever draws."""

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self._waiting: queue.Queue[str | None] = queue.Queue()
        self._out = file
        self.done = threading.Event()

    @property
    def waiting(self) -> int:
        return self._waiting.qsize()

    def write(self, text: str) -> None:
        self._waiting.put(text)

    def run(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone: the hang-up signal ends the app
            while (text := self._waiting.get()) is not None:
                self._out.write(text)
                if not self._waiting.qsize():
                    self._out.flush()
            self._out.flush()
            self.done.set()

    def stop(self) -> None:
        self._waiting.put(None)
        self.done.wait(LEAVE_S)


class SteadyDriver(LinuxDriver):
    """See the module. ``torn``: updates were thrown away. ``whole``: the terminal took everything up to the end."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._writer: _Writer | None = None
        self._leaving = False
        self.torn = False
        self.slow_until = 0.0
        super().__init__(*args, **kwargs)  # pyright: ignore[reportUnknownMemberType]

    @property
    def _writer_thread(self) -> _Writer | None:
        return self._writer

    @_writer_thread.setter
    def _writer_thread(self, value: WriterThread | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._writer = None if value is None else _Writer(self._file)

    @property
    def waiting(self) -> int:
        return 0 if self._writer is None else self._writer.waiting

    @property
    def whole(self) -> bool:
        return self._writer is None or self._writer.done.is_set()

    @property
    def slow(self) -> bool:
        """The terminal was slow within the last 10 s."""
        return time.monotonic() < self.slow_until

    def _get_terminal_size(self) -> tuple[int, int]:
        """The terminal's own word before COLUMNS and LINES, which some shells export and never change."""
        for fd in (self.fileno, 2, 1):
            with contextlib.suppress(OSError, ValueError):
                size = os.get_terminal_size(fd)
                if size.columns and size.lines:
                    return size.columns, size.lines
        return super()._get_terminal_size()

    def write(self, data: str) -> None:
        writer = self._writer
        if writer is None:
            return
        if not self._leaving:
            if self.torn or writer.waiting >= MAX_WAITING:
                self.torn = True
                return
            if writer.waiting > SLOW_WAITING:
                self.slow_until = time.monotonic() + 10.0
        writer.write(data)

    def mend(self) -> bool:
        """Whether the screen is torn and the terminal reads again: then it is the app's turn to repaint."""
        if not self.torn or self.waiting:
            return False
        self.torn = False
        self.slow_until = time.monotonic() + 10.0
        return True

    def stop_application_mode(self) -> None:
        self._leaving = True
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Read keys and mouse. Bytes that are not UTF-8 (legacy mouse reports, line noise) become one replacement
        character each, which the parser needs for its lengths, and are dropped as keys."""
        selector = selectors.SelectSelector()
        selector.register(self.fileno, selectors.EVENT_READ)
        parser = XTermParser(self._debug)
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        try:
            while not self.exit_event.is_set():
                if selector.select(0.1):
                    data = _read(self.fileno)
                    if not data:
                        # Hang-up or a closed pipe: the signal or the end of the run follows.
                        self.exit_event.wait(0.2)
                        continue
                    with contextlib.suppress(ParseError):
                        for message in parser.feed(decode(data)):
                            self.process_message(message)
                with contextlib.suppress(ParseError):
                    for message in parser.tick():
                        self.process_message(message)
        finally:
            selector.close()
            with contextlib.suppress(EOFError, ParseError):
                for _ in parser.feed(""):
                    pass

    def process_message(self, message: Message) -> None:
        if isinstance(message, Key) and message.character is not None and "\ufffd" in message.character:
            return
        super().process_message(message)


def _read(fileno: int) -> bytes:
    try:
        return os.read(fileno, 4096)
    except OSError:
        return b""

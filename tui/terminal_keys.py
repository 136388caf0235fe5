"""Function keys as a plain terminal sends them, for the hotkeys' test: without Textual, and with nothing drawn."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Generator
from typing import Final

WAIT_S: Final = 0.1
_TILDE: Final = {11: 1, 12: 2, 13: 3, 14: 4, 15: 5, 17: 6, 18: 7, 19: 8, 20: 9, 21: 10, 23: 11, 24: 12}
_SEQUENCE: Final = re.compile(rb"\x1b(?:\[(\d+)~|O([PQRS])|\[\[([A-E]))")
_CONSOLE: Final = {**{chr(0x3B + n): n + 1 for n in range(10)}, "\x85": 11, "\x86": 12}
"""The second letter that a Windows console gives for F1 to F12."""


def function_keys(data: bytes) -> list[str]:
    """The names of the function keys in what a terminal sent (xterm's, VT220's and the Linux console's ways)."""
    names: list[str] = []
    for tilde, vt, linux in _SEQUENCE.findall(data):
        number = _TILDE.get(int(tilde), 0) if tilde else vt[0] - ord("P") + 1 if vt else linux[0] - ord("A") + 1
        if number:
            names.append(f"f{number}")
    return names


@contextlib.contextmanager
def reading_keys() -> Generator[Callable[[], str] | None]:
    """A function that waits up to a tenth of a second for a function key; None where there is no terminal to read."""
    if not sys.stdin.isatty():
        yield None
        return
    waiting: list[str] = []

    def next_key(read: Callable[[], bytes]) -> str:
        if not waiting:
            waiting.extend(function_keys(read()))
        return waiting.pop(0) if waiting else ""

    if sys.platform == "win32":
        yield _read_console
        return
    import select
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)

    def read() -> bytes:
        return os.read(descriptor, 1024) if select.select([descriptor], [], [], WAIT_S)[0] else b""

    try:
        tty.setcbreak(descriptor)
        yield lambda: next_key(read)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _read_console() -> str:
    """Windows: a function key comes as two letters, the first of them nothing."""
    import msvcrt

    until_s = time.monotonic() + WAIT_S
    while time.monotonic() < until_s:
        if msvcrt.kbhit():  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            if msvcrt.getwch() in "\x00\xe0":  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
                number = _CONSOLE.get(msvcrt.getwch(), 0)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
                return f"f{number}" if number else ""
        else:
            time.sleep(0.01)
    return ""

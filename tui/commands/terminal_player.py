"""Plays a recording straight into the terminal: the other screen, single keys, and everything put back at the end."""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import time
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.color import ColorSystem
from rich.console import Console

from data.text import printable
from tui.commands.running import CommandError, TermAsInterrupt
from tui.halfblock import Depth, runs
from tui.moments import moment
from tui.screens.play_marks import Marks, load_marks
from tui.screens.play_video import LOCAL_BYTES_S, SPEEDS, SSH_BYTES_S, Player, Shown
from tui.theme import locale_encoding, pick

if TYPE_CHECKING:
    from collections.abc import Callable

SEEK_MS: Final = 5000
_TURN_S: Final = 0.05
_ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
_LEAVE: Final = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
_ARROWS: Final = {"\x1b[D": "left", "\x1bOD": "left", "\x1b[C": "right", "\x1bOC": "right"}
_WINDOWS_ARROWS: Final = {"K": "left", "M": "right"}
_SYSTEMS: Final[dict[Depth, ColorSystem | None]] = {24: ColorSystem.TRUECOLOR, 8: ColorSystem.EIGHT_BIT, 4: ColorSystem.STANDARD, 0: None}


def play_session(folder: Path, start_s: float, end_s: float | None, speed: float, marked: bool) -> None:
    """Plays until the end, ``end_s``, or q. Raises CommandError where there is no terminal, SessionError."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "") in ("", "dumb"):
        instead = f"secondseat sessions clip {folder.name} 0 end --output clip.mp4"
        raise CommandError(f"there is no terminal to play {folder.name} in; write a file instead: {instead}")
    if speed not in SPEEDS:
        raise CommandError(f"--speed {speed:g}: use {', '.join(f'{one:g}' for one in SPEEDS)}")
    if end_s is not None and end_s <= start_s:
        raise CommandError(f"--from {start_s:g} --to {end_s:g}: the second must be later")
    marks = load_marks(folder)
    with TermAsInterrupt(), _single_keys() as read_key, _other_screen():
        reason = _Playing(folder, marks, start_s, end_s, speed, marked).run(read_key)
    if reason:
        raise CommandError(f"{folder.name}: {reason}")


class _Playing:
    def __init__(self, folder: Path, marks: Marks, start_s: float, end_s: float | None, speed: float, marked: bool) -> None:
        self._name, self._marks = folder.name, marks
        self._begin_ms = (marks.timeline.start_ns - marks.zero_ns) // 1_000_000
        self._stop_ms = None if end_s is None else self._begin_ms + round(end_s * 1000)
        self._pictures: queue.SimpleQueue[Shown | str] = queue.SimpleQueue()
        self._size = (0, 0)
        self._before: Shown | None = None
        self._shown_line = ""
        limit = SSH_BYTES_S if os.environ.get("SSH_CONNECTION") else LOCAL_BYTES_S
        begin_ms = self._begin_ms + round(start_s * 1000)
        self._player = Player(folder / "video.mkv", begin_ms, _depth(), limit, self._pictures.put, self._pictures.put)
        self._player.marks = marks.draw if marked else None
        self._player.speed = speed

    def run(self, read_key: Callable[[float], str]) -> str:
        """Returns why there is nothing to play; empty when all went well."""
        player = self._player
        try:
            self._fit()
            player.play(True)
            while True:
                if self._key(read_key(_TURN_S)):
                    return ""
                self._fit()
                while not self._pictures.empty():
                    shown = self._pictures.get()
                    if isinstance(shown, str):
                        return shown
                    self._draw(shown)
                    player.drawn()
                self._line()
                if player.playing and (player.at_end or (self._stop_ms is not None and player.time_ms >= self._stop_ms)):
                    return ""
        finally:
            player.close()

    def _key(self, key: str) -> bool:
        """Does what a key asks for; whether it was the one that leaves."""
        player = self._player
        if key in ("q", "Q", "escape", "\x03"):
            return True
        if key == " ":
            player.play(not player.playing)
        elif key in ("left", "right"):
            player.seek(player.time_ms + (SEEK_MS if key == "right" else -SEEK_MS))
        elif key in ("-", "+", "=", "<", ">"):
            player.faster(-1 if key in ("-", "<") else 1)
        elif key in (",", "."):
            player.step(1 if key == "." else -1)
        return False

    def _fit(self) -> None:
        columns, rows = get_terminal_size()
        if (columns, rows) != self._size:
            self._size, self._before, self._shown_line = (columns, rows), None, ""
            self._player.fit(columns, max(1, rows - 1))

    def _draw(self, shown: Shown) -> None:
        """The rows that are not on the terminal yet; all of them when the picture's place or colours are new."""
        before, self._before = self._before, shown
        same = before is not None and (before.at, before.depth) == (shown.at, shown.depth)
        out: list[str] = []
        if not same:
            out, self._shown_line = ["\x1b[0m\x1b[2J"], ""
        system = _SYSTEMS[shown.depth]
        for y in range(shown.at.rows):
            if before is None or not same or not np.array_equal(before.cells[y], shown.cells[y]):
                row = "".join(style.render(text, color_system=system) for text, style in runs(shown.cells[y], shown.depth))
                out.append(f"\x1b[{shown.at.top + y + 1};{shown.at.left + 1}H{row}")
        _write("".join(out))

    def _line(self) -> None:
        """Under the picture: where it is, and what is down."""
        player, timeline = self._player, self._marks.timeline
        now_ns = self._marks.zero_ns + player.time_ms * 1_000_000
        down = [lane.name for lane in (*timeline.clicks, *timeline.keys) if lane.down_at(now_ns)]
        at, whole = (moment(max(0, ms - self._begin_ms) / 1000) for ms in (player.time_ms, player.end_ms))
        word = "playing" if player.playing else "paused"
        text = f" {word} {at} of {whole}  x{player.speed:g}  {printable(' '.join(down))}"
        columns, rows = self._size
        hint = "  space  q " if columns > 60 else ""
        line = f"\x1b[{rows};1H\x1b[0m\x1b[2K{text[: columns - len(hint)]:<{columns - len(hint)}}{hint}"
        if line != self._shown_line:
            self._shown_line = line
            _write(line)


def _depth() -> Depth:
    """The colours that this terminal shows; none where NO_COLOR is set or blocks cannot be drawn."""
    if not pick(os.environ, locale_encoding(os.environ)).glyphs.braille:
        return 0
    depths: dict[str, Depth] = {"truecolor": 24, "256": 8, "standard": 4, "windows": 4}
    return depths.get(Console().color_system or "", 0)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


@contextlib.contextmanager
def _other_screen() -> Generator[None]:
    _write(_ENTER)
    try:
        yield
    finally:
        _write(_LEAVE)


@contextlib.contextmanager
def _single_keys() -> Generator[Callable[[float], str]]:
    """Keys come one by one and are not echoed. Gives a function that waits so long for one and names it; "" for none."""
    if sys.platform == "win32":
        yield _windows_key
        return
    import select
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)

    def read_key(wait_s: float) -> str:
        if not select.select([descriptor], [], [], wait_s)[0]:
            return ""
        found = os.read(descriptor, 32).decode("utf-8", "replace")
        return _ARROWS.get(found[:3], "escape" if found == "\x1b" else "" if found.startswith("\x1b") else found[:1])

    tty.setcbreak(descriptor)
    try:
        yield read_key
    finally:
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)


def _windows_key(wait_s: float) -> str:
    msvcrt: Any = import_module("msvcrt")
    until_s = time.monotonic() + wait_s
    while not msvcrt.kbhit():
        if time.monotonic() >= until_s:
            return ""
        time.sleep(0.01)
    key: str = msvcrt.getwch()
    if key in ("\x00", "\xe0"):  # the key's own code follows
        return _WINDOWS_ARROWS.get(msvcrt.getwch(), "")
    return "escape" if key == "\x1b" else key

"""Questions on the terminal, and lines that are rewritten while something is watched. Both go to stderr, facts to stdout."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from shutil import get_terminal_size
from typing import Final

from data.text import printable, printable_lines

BACK: Final = "<"
HELP: Final = f"Enter takes what stands in [ ], {BACK} goes back to the question before, Ctrl-C leaves: nothing is written before the end."
_EVERY_S: Final = 0.25


class Back(Exception):
    """The person wants the question before."""


class Abandoned(Exception):
    """The questions ended before the last one was answered; nothing was written."""


class Asker:
    """One question at a time, each with a default and a way back. ``asked`` counts them."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, question: str, default: str = "") -> str:
        """The answer, or the default for an empty one. Raises Back and Abandoned."""
        self.asked += 1
        self.say(f"{question} [{default}]: ", end="")
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            self.say("")
            raise
        if not line:
            self.say("")
            raise Abandoned("the answers ended before the game was saved; nothing was written")
        text = line.strip()
        if text == BACK:
            raise Back
        return text or default

    def yes(self, question: str, default: bool) -> bool:
        """Raises Back and Abandoned."""
        while True:
            answer = self.ask(f"{question} (y or n)", "y" if default else "n").casefold()
            if answer in ("y", "yes", "n", "no"):
                return answer[0] == "y"
            self.say(f"! {answer!r}: answer y or n")

    def say(self, text: str, end: str = "\n") -> None:
        print(printable_lines(text), end=end, file=sys.stderr, flush=True)


def moments(seconds: float) -> Iterator[float]:
    """The seconds that are left, four times a second, until they are over or Enter is pressed."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        yield left
        if _enter_within(min(_EVERY_S, left)):
            return


def _enter_within(seconds: float) -> bool:
    """Whether a line was typed meanwhile. Where a terminal cannot be asked for that, time alone counts."""
    if os.name != "posix" or not sys.stdin.isatty():
        time.sleep(seconds)
        return False
    from select import select

    if not select([sys.stdin], [], [], seconds)[0]:
        return False
    sys.stdin.readline()
    return True


class LiveLines:
    """A few lines that are rewritten in place; on a pipe nothing is shown before ``end``."""

    def __init__(self) -> None:
        self._rewrites = sys.stderr.isatty() and os.environ.get("TERM", "") not in {"", "dumb"}
        self._shown: list[str] = []

    def show(self, lines: Sequence[str]) -> None:
        width = get_terminal_size().columns - 1
        cut = [printable(line)[:width] for line in lines]
        if self._rewrites and cut != self._shown:
            up = f"\x1b[{len(self._shown)}A\r" if self._shown else ""
            sys.stderr.write(up + "\x1b[J" + "".join(f"{line}\n" for line in cut))
            sys.stderr.flush()
        self._shown = cut

    def end(self) -> None:
        """What was shown last stays."""
        if not self._rewrites:
            for line in self._shown:
                print(line, file=sys.stderr)
        self._shown = []

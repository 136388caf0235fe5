"""Work that takes a while, at the command line: a bar with the time left, and an end that leaves nothing half-made."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from data.progress import Report


@contextlib.contextmanager
def long_work() -> Generator[Report]:
    """A report that shows the progress on stderr. SIGTERM and SIGHUP interrupt the work as Ctrl-C does."""
    from engine.runtime.progress import EtaReport
    from tui.commands.running import ProgressLine, StatusLine, TermAsInterrupt

    line = StatusLine()
    with TermAsInterrupt():
        try:
            yield EtaReport(ProgressLine(line))
        except KeyboardInterrupt:
            line.say("secondseat: interrupted; nothing is left half-made")
            raise
        finally:
            line.end()

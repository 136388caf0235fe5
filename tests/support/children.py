"""Child processes of tests."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def killed_at_last(process: subprocess.Popen[Any]) -> Iterator[None]:
    """It is killed in the end if it does not go by itself, whatever happened: leaving a ``Popen`` waits for it without a limit."""
    try:
        yield
        process.wait(10)
    finally:
        process.kill()

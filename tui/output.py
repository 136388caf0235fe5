"""Where what libraries print goes: the file that descriptors 1 and 2 were pointed at, and a stream onto it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TextIO


@dataclass(frozen=True, slots=True)
class OutputFile:
    """``path`` is None where output goes nowhere in particular (in tests)."""

    path: Path | None = None
    stream: TextIO | None = None

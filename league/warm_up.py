"""What the league runs compiled, compiled before it begins: once for a machine and version, with a word on why that takes a while."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from pathlib import Path
from typing import Final

from data.progress import Progress, Report, ignore
from league.arena.world import cache_folder, kernels

KERNELS: Final = (
    "arena.last_standing_kernel",
    "arena.last_standing_privileged_kernel",
    "fold_kernel",
    "layer_kernel",
    "sampling_kernel",
    "loss_kernel",
)
"""Modules of ``league`` with compiled functions that a learner and its actors call."""


def cold() -> list[str]:
    """Those of ``KERNELS`` that this Python has not compiled on this machine as they are."""
    return [name for name in KERNELS if not _is_kept(name)]


def warm_up(report: Report = ignore) -> None:
    """Load all of ``KERNELS`` into this process; those that are ``cold`` are compiled first, which is reported."""
    waiting = cold()
    for name in KERNELS:
        if name in waiting:
            part = waiting.index(name)
            text = f"part {part + 1} of {len(waiting)}; once on this machine, a minute or two in all"
            report(Progress("compiling the league", part / len(waiting), message=text))
        kernels("last_standing_kernel")  # names the folder of compiled code before anything else is imported
        importlib.import_module(f"league.{name}")
        if name in waiting:
            with contextlib.suppress(OSError):  # then it is compiled again next time, as all is that cannot be kept
                stamp = _stamp(name)
                stamp.parent.mkdir(exist_ok=True)
                stamp.touch()


def _stamp(name: str) -> Path:
    """A file that is made when all of a module is compiled: what numba keeps of it says only that some is."""
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or cache_folder())
    return folder / "whole" / f"{name.rpartition('.')[2]}.{sys.implementation.cache_tag}"


def _is_kept(name: str) -> bool:
    source = Path(__file__).parent / f"{name.replace('.', '/')}.py"
    try:
        return _stamp(name).stat().st_mtime > source.stat().st_mtime
    except FileNotFoundError:
        return False

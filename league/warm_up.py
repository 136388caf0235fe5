"""What the league runs compiled, compiled before it begins: once for a machine and version, with a word on why that takes a while."""

from __future__ import annotations

import importlib
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
    """Those of ``KERNELS`` that this machine has not compiled as they are."""
    here = Path(__file__).parent
    sources = {name: here / f"{name.replace('.', '/')}.py" for name in KERNELS}
    return [name for name, source in sources.items() if not _is_kept(source)]


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


def _is_kept(source: Path) -> bool:
    changed_s = source.stat().st_mtime
    return any(kept.stat().st_mtime > changed_s for kept in cache_folder().rglob(f"{source.stem}.*.nbi"))

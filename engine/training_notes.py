"""What a training says while it goes: kept in the log, and what a person must not miss told apart from plain figures."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import Final

from data.progress import Progress, Report, is_note, note_text

log = logging.getLogger(__name__)

_PLAIN: Final = re.compile(
    r"\d+ sessions, \d+ steps|\d+ examples; |windows: |windows of |learns from |preset |mixed precision: |goes on with |"
    r"resumed after epoch |stopped after epoch |stopped early: |[^ ]+: \d+ perturbed stretches .* are learnt from"
)
"""How remarks begin that are figures for whoever wants to know. Every other one is a warning: a new kind is never missed."""


def warnings_in(notes: Iterable[str]) -> tuple[str, ...]:
    """Those remarks that a person must not miss, each once."""
    return tuple(note for note in dict.fromkeys(notes) if not _PLAIN.match(note))


def noting(report: Report) -> Report:
    """A report that keeps every remark in the log too."""

    def forward(progress: Progress) -> None:
        if is_note(progress):
            log.info("%s", note_text(progress))
        report(progress)

    return forward

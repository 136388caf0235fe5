"""Lengths in words: one rule for the command line and the face."""

from __future__ import annotations

import pytest

from tui.commands.invocation import shown_duration
from tui.moments import moment


@pytest.mark.parametrize(
    ("seconds", "shown", "fine"),
    [
        (10.63, "0:11", "0:10.6"),
        (29.51, "0:30", "0:29.5"),
        (4.96, "0:05", "0:05.0"),
        (59.7, "1:00", "0:59.7"),
        (3599.96, "1:00:00", "1:00:00.0"),
        (0.0, "0:00", "0:00.0"),
        (-3.0, "0:00", "0:00.0"),
    ],
)
def test_a_length_is_the_same_wherever_it_is_shown(seconds: float, shown: str, fine: str) -> None:
    assert shown_duration(seconds) == moment(seconds, fine=False) == shown
    assert moment(seconds) == fine

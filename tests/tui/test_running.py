"""What long commands show: the bar, and remarks that stay."""

from __future__ import annotations

import pytest

from data.progress import Progress
from tui.commands.running import ProgressLine, StatusLine

NOTES = ("device cuda: not on this machine (0 GPUs); training on the CPU instead", "uneven classes: LOOT is 90 % of all")


def shown(rewrites: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is written while two remarks come at once, between two states of the bar."""
    line, out = StatusLine(), list[str]()
    line.rewrites = rewrites
    monkeypatch.setattr(line, "_out", type("Out", (), {"write": staticmethod(out.append)}))
    report = ProgressLine(line)
    report(Progress("strategist epoch 1/9", 0.1))
    for note in NOTES:
        report(Progress("strategist note", 0.1, message=note))
    report(Progress("strategist epoch 2/9", 0.2))
    return "".join(out)


@pytest.mark.parametrize("rewrites", [True, False])
def test_every_remark_has_a_line_of_its_own(rewrites: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(rewrites, monkeypatch)
    for note in NOTES:
        assert f"\nstrategist: {note}\n" in text
    assert "epoch 2/9" in text.splitlines()[-1] or not rewrites

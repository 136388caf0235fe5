"""``secondseat evaluations``: what was kept, and what can be said of two."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.test_comparison import evaluation, kept
from tui import cli


def run(capsys: pytest.CaptureFixture[str], workspace: Path, *words: str) -> tuple[int, str]:
    status = cli.main(["evaluations", *words, "--workspace", str(workspace)])
    said = capsys.readouterr()
    return status, said.out + said.err


def test_nothing_yet(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, tmp_path, "list") == (0, "no evaluation yet; make one: secondseat evaluate\n")
    status, said = run(capsys, tmp_path, "compare", "a", "b")
    assert status == 2
    assert "none yet" in said


def test_list_and_compare(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, gain in (("base", 0.0), ("better", 4.0)):
        kept(tmp_path, evaluation(name, gain))
    (tmp_path / "logs" / "evaluations" / "torn.json").write_text("{")
    status, said = run(capsys, tmp_path, "list")
    assert status == 0
    assert "better" in said
    assert "! torn.json: cannot be read" in said
    status, said = run(capsys, tmp_path, "compare", "base", "better")
    assert status == 0
    assert said.count("better") >= 3
    assert "pair by pair" in said
    status, said = run(capsys, tmp_path, "compare", "better", "base", "--json")
    assert [d["verdict"] for d in json.loads(said)] == ["worse", "worse"]
    status, said = run(capsys, tmp_path, "compare", "better", "nobody")
    assert status == 2
    assert "'nobody'" in said

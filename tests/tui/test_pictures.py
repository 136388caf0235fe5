"""Whole screens compared with kept ones. ``SECONDSEAT_UPDATE_SNAPSHOTS=1 pytest tests/tui/test_pictures.py`` keeps new ones."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path

import pytest
from fake import FakeCenter, full_state, idle_state
from harness import FULL, face, screen_text, until

from tui import theme

KEPT = Path(__file__).parent / "snapshots"
PLAIN = theme.pick({"TERM": "linux"}, "utf-8")


def compare(name: str, text: str) -> None:
    path = KEPT / f"{name}.txt"
    if os.environ.get("SECONDSEAT_UPDATE_SNAPSHOTS"):
        KEPT.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    kept = path.read_text(encoding="utf-8")
    assert text == kept, f"{path.name} differs:\n{text}"


@pytest.fixture(autouse=True)
def _same_clock(monkeypatch: pytest.MonkeyPatch):
    if not hasattr(time, "tzset"):
        pytest.skip("log times depend on this machine's time zone")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def workspace_with_a_run(folder: Path) -> str:
    run = folder / "models" / "executor" / "run1"
    run.mkdir(parents=True)
    rows = []
    for step in range(1, 401):
        row: dict[str, float] = {"step": step * 100, "train_loss": 0.3 + 3 * math.exp(-step / 60) + 0.05 * math.sin(step)}
        if step % 20 == 0:
            row["val_loss"] = 0.4 + 3 * math.exp(-step / 55)
        rows.append(json.dumps(row) + "\n")
    (run / "metrics.jsonl").write_text("".join(rows))
    return str(folder)


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
@pytest.mark.parametrize("kind", ["full", "idle"])
async def test_the_live_screen(kind: str, size: tuple[int, int], tmp_path: Path) -> None:
    workspace = workspace_with_a_run(tmp_path) if kind == "full" else ""
    center = FakeCenter(full_state(workspace) if kind == "full" else idle_state())
    async with face(center, size=size) as (app, pilot, _):
        if workspace:
            if size[0] == 80:
                await pilot.press("2")
            await until(lambda: "best at" in screen_text(app))
        await pilot.pause()
        compare(f"live_{kind}_{size[0]}x{size[1]}", screen_text(app))


async def test_plain_terminals_get_ascii_only(tmp_path: Path) -> None:
    async with face(FakeCenter(full_state(workspace_with_a_run(tmp_path))), look=PLAIN) as (app, pilot, _):
        await until(lambda: "best at" in screen_text(app))
        await pilot.pause()
        text = screen_text(app)
        assert text.isascii()
        compare("live_full_ascii", text)


async def test_the_dialogs_and_lists() -> None:
    async with face(FakeCenter(full_state()), size=(80, 24), look=FULL) as (app, pilot, _):
        for name, key in (("quit", "q"), ("keys", "question_mark"), ("checks", "i")):
            await pilot.press(key)
            await pilot.pause()
            app._answer = (0.0, "", "info")
            compare(f"{name}_80x24", screen_text(app))
            await pilot.press("escape")

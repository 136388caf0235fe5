"""Whole screens compared with kept ones. ``SECONDSEAT_UPDATE_SNAPSHOTS=1 pytest tests/tui/test_pictures.py`` keeps new ones."""

from __future__ import annotations

import json
import math
import os
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fake import CHECKS, WHEN_S, FakeCenter, full_state, idle_state
from harness import FULL, face, screen_text, until

from engine.state import BotState, EngineState, JobState, Notice, RecorderState, ServiceState
from tui import theme
from tui.app import SecondseatApp
from tui.panes.actions import ActionsPane
from tui.pump import EngineHost

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


def states(workspace: str) -> dict[str, EngineState]:
    """Every state that the live screen tells of, by name."""
    full, idle = full_state(workspace), replace(idle_state(workspace), sessions=2)
    capture = full.capture
    rec = RecorderState("idle", disk_free_bytes=118_000_000_000)
    missing = (("display", "missing", "no display: DISPLAY is not set"), ("hotkeys", "warn", "this terminal only"), *CHECKS[3:])
    failed = JobState(
        "j3", "train", "train strategist", "failed", message="no session has a label; record with a pilot first, or label one"
    )
    queue = (
        JobState("j4", "train", "train all", "running", "epoch 31/80", 0.38, 135.0, "val 0.455", "models/executor/run1"),
        JobState("j5", "detector", "train detector", "queued", "waits for its turn"),
    )
    stopped = BotState("stopped", "quick-1", "Secondseat Arena", reason="F8 was pressed")
    gate = (ServiceState("listener", "waiting", "window not in focus"), ServiceState("perception", "failed", "detector.onnx: no such file"))
    return {
        "first_start": replace(idle_state(workspace), checks=missing),
        "saved": replace(idle, capture=capture, recorder=replace(rec, last_session="20261127-203107_play_arena", note="saved: 00:12:41")),
        "paused": replace(idle, capture=capture, recorder=replace(full.recorder, phase="paused")),
        "unsaved": replace(idle, capture=capture, recorder=replace(full.recorder, phase="unsaved")),
        "saving": replace(idle, capture=capture, recorder=replace(full.recorder, phase="saving")),
        "armed": replace(idle, capture=capture, bot=BotState("armed", "quick-1", "Secondseat Arena")),
        "yielded": replace(idle, capture=capture, bot=BotState("yielded", "quick-1", "Secondseat Arena", reason="you pressed w")),
        "stopped": replace(idle, capture=capture, bot=stopped),
        "training": replace(idle, jobs=queue),
        "failed": replace(idle, capture=capture, jobs=(failed,), services=gate),
        "disk_full": replace(
            idle,
            capture=capture,
            recorder=replace(rec, note="stopped and saved: the disk is almost full", disk_free_bytes=400_000_000),
            notices=(Notice(WHEN_S, "error", "recorder", "stopped and saved: the disk is almost full; free some space"),),
            checks=(("disk", "missing", "0.4 GB free"), *CHECKS[:5]),
        ),
    }


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_every_state_of_the_live_screen(size: tuple[int, int], tmp_path: Path) -> None:
    wanted = states(workspace_with_a_run(tmp_path))
    center = FakeCenter(wanted["first_start"])
    async with face(center, size=size) as (app, pilot, _):
        await until(lambda: app.runs.trained)
        for name, state in wanted.items():
            center.state = state
            if name in ("training", "failed"):
                pane = app.screen.query_one(ActionsPane)
                row = {"training": "train_all", "failed": "train_strategist"}[name]
                pane.selected = [action.id for action in app.registry.launcher()].index(row)
            app.update_all()
            if size == (120, 36):
                await until(lambda: "best at" in screen_text(app))
            app._answer = (0.0, "", "info")
            compare(f"state_{name}_{size[0]}x{size[1]}", screen_text(app))
        await pilot.pause()


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_an_engine_that_did_not_start(size: tuple[int, int]) -> None:
    def factory() -> FakeCenter:
        raise OSError("workspace /x cannot be written")

    app = SecondseatApp(EngineHost(factory), look=FULL)
    async with app.run_test(size=size) as pilot:
        await until(lambda: app.host.phase == "failed")
        await pilot.pause()
        app._notices.clear()
        compare(f"engine_failed_{size[0]}x{size[1]}", screen_text(app))


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_every_screen_and_dialog(size: tuple[int, int], tmp_path: Path) -> None:
    """Forms, questions, the palette, help, details, runs and themes."""
    center = FakeCenter(replace(states(workspace_with_a_run(tmp_path))["training"], workspace=str(tmp_path)))
    async with face(center, size=size) as (app, pilot, _):
        await until(lambda: app.runs.trained)
        pane = app.screen.query_one(ActionsPane)
        pane.selected = [action.id for action in app.registry.launcher()].index("train_executor")
        for name, keys, word in (
            ("form", ["e"], "learning rate"),
            ("arm", ["a"], "arm and fly"),
            ("stop_job", ["K"], "stop it"),
            ("palette", ["ctrl+p", *"train"], "Train the"),
            ("help", ["question_mark"], "Everywhere"),
            ("details", ["3", "d"], "train loss"),
            ("runs", ["2", "enter"], "newest run"),
            ("themes", ["1", "T"], "high contrast"),
            ("filter", ["7", "slash"], "Show only lines with"),
        ):
            for key in keys:
                await pilot.press(key)
            await until(lambda word=word: word in screen_text(app))
            await pilot.pause(0.3 if name == "palette" else 0.05)
            app._answer = (0.0, "", "info")
            text = screen_text(app).replace(str(tmp_path), "WORKSPACE")
            if name in ("details", "runs"):  # ages and long folders are another machine's
                text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-11-27 20:31", text)
                text = "\n".join(line for line in text.splitlines() if not re.match(r"│ +output ", line) and "WORKSPACE" not in line) + "\n"
            compare(f"{name}_{size[0]}x{size[1]}", text)
            await pilot.press("escape")
            await pilot.pause()


def coloured(app: SecondseatApp, rows: int) -> str:
    """The first rows as runs of text with their colours."""
    app.update_all()
    out: list[str] = []
    for strip in app.screen._compositor.render_strips(app.size)[:rows]:
        for segment in strip:
            style = segment.style
            if segment.text.strip() and style is not None:
                ink = style.color.name if style.color is not None else "default"
                paper = style.bgcolor.name if style.bgcolor is not None else "default"
                out.append(
                    f"{segment.text.strip():<40} {ink} on {paper}{' bold' if style.bold else ''}{' reverse' if style.reverse else ''}"
                )
    return "\n".join(out) + "\n"


async def test_each_theme_once() -> None:
    async with face(FakeCenter(full_state()), size=(120, 36)) as (app, pilot, _):
        for name in theme.TITLES:
            app.use_theme(name)
            await pilot.pause(0.1)
            compare(f"theme_{name}", coloured(app, 9))

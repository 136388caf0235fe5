"""The face on a stand-in engine, driven by Textual's pilot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fake import FakeCenter
from textual._context import visible_screen_stack
from textual.pilot import Pilot

from tui import theme
from tui.app import SecondseatApp
from tui.memory import Memory
from tui.pump import EngineHost

FULL = theme.Look(theme.SECONDSEAT, theme.Glyphs(), theme.Palette())


@asynccontextmanager
async def face(
    center: FakeCenter | None = None, size: tuple[int, int] = (120, 36), memory: Memory | None = None, look: theme.Look = FULL
) -> AsyncIterator[tuple[SecondseatApp, Pilot[int], FakeCenter]]:
    """The app with its engine up and every pane drawn."""
    center = center or FakeCenter()
    app = SecondseatApp(EngineHost(lambda: center, attached=center.attached), memory=memory or Memory(None), look=look)
    async with app.run_test(size=size) as pilot:
        checked = center.attached  # an engine that was there before has made its checks
        await until(lambda: app.host.phase == "ready" and (checked or any(name == "doctor" for name, _ in center.commands)))
        center.commands.clear()
        await pilot.pause()
        yield app, pilot, center


async def until(condition: Callable[[], object], timeout_s: float = 10.0) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


def screen_text(app: SecondseatApp) -> str:
    """What is on the screen, as plain text without trailing blanks."""
    app.update_all()
    visible_screen_stack.set(list(app._background_screens))  # what stands behind a dialog is drawn by it
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join(strip.text.rstrip() for strip in strips) + "\n"

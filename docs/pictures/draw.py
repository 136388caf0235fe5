"""Draws the README's pictures: the real app on the real engine, with the arena's expert at play.

``python docs/pictures/draw.py [WORKSPACE]`` records half a minute of the expert, trains all three levels quickly and
lets them fly, and keeps a picture of each stage as SVG beside this file.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

RECORD_S = 30.0
FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def plain_svg(svg: str) -> str:
    """The picture without web fonts: nothing is fetched when it is shown."""
    svg = re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("<style>", "<style>\n    text { white-space: pre; }", 1).replace("<text ", '<text xml:space="preserve" ')
    return svg.replace("Fira Code, monospace", FONT).replace("font-family: Fira Code", f"font-family: {FONT}")


async def until(condition: Callable[[], object], what: str, timeout_s: float) -> None:
    end = asyncio.get_running_loop().time() + timeout_s
    while not condition():
        if asyncio.get_running_loop().time() > end:
            raise TimeoutError(what)
        await asyncio.sleep(0.2)


async def draw(workspace: Path) -> None:
    from data.settings import Settings
    from engine.control_center import ControlCenter
    from tui import theme
    from tui.app import SecondseatApp
    from tui.memory import Memory
    from tui.pump import EngineHost

    settings = Settings.model_validate({"paths": {"workspace": str(workspace)}})
    look = theme.Look(theme.SECONDSEAT, theme.Glyphs(), theme.Palette())
    app = SecondseatApp(EngineHost(lambda: ControlCenter(settings, settings.workspace())), memory=Memory(None), look=look)

    def keep(name: str) -> None:
        (HERE / f"{name}.svg").write_text(plain_svg(app.export_screenshot(title="secondseat")), encoding="utf-8")
        sys.stdout.write(f"{name}.svg\n")

    async with app.run_test(size=(120, 36)) as pilot:
        await until(lambda: app.host.phase == "ready" and app.newest.checks, "the engine", 60)
        await pilot.pause(1.0)
        keep("first_start")
        await pilot.press("y")
        await until(lambda: app.newest.arena.running, "the arena", 180)
        await pilot.press("f5")
        await asyncio.sleep(RECORD_S)
        keep("recording")
        await pilot.press("f6")
        await until(lambda: app.newest.recorder.phase == "idle", "saving", 20)
        await asyncio.sleep(1.0)
        app.memory.keep_parameters("train_all", {"quick": True})
        await pilot.press("t")
        await until(lambda: len(app.runs.curves.val[0]) > 5, "training", 300)
        await asyncio.sleep(1.0)
        keep("training")
        await until(lambda: all(job.phase not in ("running", "queued") for job in app.newest.jobs), "the end of training", 900)
        await pilot.press("a")
        await pilot.pause(0.5)
        keep("arming")
        await pilot.press("y")
        await until(lambda: app.newest.bot.phase == "flying", "flying", 60)
        await asyncio.sleep(12.0)
        keep("flying")
        await pilot.press("f8")
        await pilot.pause(1.0)
        await pilot.press("s")
        await pilot.pause(1.0)
        keep("sessions")
        await asyncio.to_thread(app.host.stop)


def main() -> None:
    if len(sys.argv) > 1:
        asyncio.run(draw(Path(sys.argv[1])))
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(draw(Path(folder)))


if __name__ == "__main__":
    main()

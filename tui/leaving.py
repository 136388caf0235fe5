"""The ways out of the face, as actions: leaving, detaching, handing over. They ask when something would end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.asking import ask

if TYPE_CHECKING:
    from tui.app import SecondseatApp

SAVE_S = 10.0
DETACHED = "detached; the engine goes on: secondseat attach looks at it again, secondseat stop ends it"


def quit_app(app: SecondseatApp) -> None:
    """Leave when nothing runs, else ask what to do with what does; attached: ask whether the engine is to end too."""
    if app.leaving:
        return
    if app.host.attached:
        _quit_attached(app)
        return
    busy = app.busy()
    if not busy:
        app.leave()
        return
    answers: list[tuple[str, str]] = [
        ("s", "stop and save: the bot lets go, jobs end at a checkpoint"),
        ("w", "wait: leave when it is done"),
    ]
    commands: dict[str, Callable[[], None]] = {"s": lambda: stop_and_save(app), "w": app.wait_then_leave}
    if app.hand_over is not None:
        answers.append(("h", "hand over: a headless engine goes on with it, the bot disarmed"))
        commands["h"] = lambda: hand_over(app)
    ask(app, "Quit", ["Still running:", *(f"  {line}" for line in busy)], answers, commands)


def _quit_attached(app: SecondseatApp) -> None:
    if app.host.link or app.host.phase != "ready":
        app.leave()
        return
    busy, mine = app.host.busy(), app.desk.busy()
    lines = ["The engine runs in another process" + (" and is at work:" if busy else "; nothing is at work."), *(f"  {b}" for b in busy)]
    if mine:
        lines += ["At work in this face, and ended with it:", *(f"  {line}" for line in mine)]
    if app.newest.viewers > 1:
        others = app.newest.viewers - 1
        lines.append(f"{others} other face{'s are' if others > 1 else ' is'} attached to it.")
    ask(
        app,
        "Quit",
        lines,
        [("d", "detach: the engine goes on"), ("s", "stop the engine: the bot lets go, everything is saved")],
        {"d": lambda: detach(app, asked=True), "s": lambda: stop_engine(app)},
    )


def stop_and_save(app: SecondseatApp) -> None:
    """End everything at a point where it is kept; jobs get longer for it than when a signal ends the face."""

    def how() -> str:
        app.host.stop(SAVE_S)
        return ""

    app.tell("info", "stopping: the bot lets go, the recording and the jobs are saved")
    app.leave(how)


def detach(app: SecondseatApp, *, asked: bool = False) -> None:
    """Leave and let the engine go on; what this face does by itself would end, and is asked for first."""
    mine = app.desk.busy()
    if mine and not asked:
        lines = ["At work in this face, and ended with it:", *(f"  {line}" for line in mine)]
        ask(app, "Detach", lines, [("d", "detach all the same: the engine goes on")], {"d": lambda: detach(app, asked=True)})
        return
    app.farewell = DETACHED
    app.leave()


def stop_engine(app: SecondseatApp) -> None:
    """End the engine of another process, then leave."""

    def how() -> str:
        text = app.host.stop_engine().result(10.0)
        app.host.stop()
        return f"the engine was told to stop ({text})"

    app.leave(how)


def hand_over(app: SecondseatApp) -> None:
    """Start a headless engine that goes on with what runs, then leave."""
    start = app.hand_over
    if start is not None:
        app.tell("info", "handing over: the bot lets go, the recording is saved, a headless engine starts")
        app.leave(start)

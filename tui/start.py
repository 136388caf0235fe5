"""Opening the face: the order in which things are taken, and the way out.

stdio (library output away from the screen) -> signals -> Textual -> first paint -> engine. Whatever ends the app, the
engine is stopped (disarmed first, then saved) and the terminal is whole again.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from data.text import printable_lines
from tui.commands.invocation import say_error

if TYPE_CHECKING:
    from data.settings import Settings
    from tui.app import SecondseatApp
    from tui.pump import Center, CenterFactory, EngineHost

SettingsLoader = Callable[[], "tuple[Settings, tuple[str, ...]]"]
"""The settings in force and what is to be said of them; called after the first paint, in the engine's thread."""

OWN_NAME: Final = "face"
"""How the engine of this face is called when it is looked at from elsewhere."""
THREADS_S: Final = 4.0
"""How long threads that libraries left behind may keep the process from ending."""


def in_browser() -> bool:
    """Whether the face is drawn in a browser, through pipes, by the driver that Textual's own variable names (see ``tui.web``)."""
    return "TEXTUAL_DRIVER" in os.environ


def why_not_here() -> str:
    """Why this terminal cannot show the face; empty when it can."""
    if in_browser():
        return ""
    if not sys.stdin.isatty() or not (sys.stdout.isatty() or sys.stderr.isatty()):
        return "this is not a terminal"
    if sys.platform != "win32" and os.environ.get("TERM", "") in ("dumb", "", "unknown"):  # no console there sets it
        return f"TERM={os.environ.get('TERM', '') or '(empty)'} cannot place text on the screen"
    return ""


def run_app(
    load_settings: SettingsLoader,
    *,
    debug: bool = False,
    words: tuple[str, ...] = (),
    attach_to: Path | None = None,
    factory: CenterFactory | None = None,
    state_folder: Path | None = None,
) -> int:
    """Open the face; returns the exit status.

    ``words`` are the global options of this run, for an engine that is handed over to. With ``attach_to`` the face is
    that engine's and starts none. ``factory`` replaces the engine in tests.
    """
    reason = why_not_here()
    if reason:
        say_error(f"{reason}; use the command line instead: secondseat --help")
        return 2

    from engine.runtime import stdio
    from engine.runtime.signals import Wake

    folder = state_folder or stdio.state_folder()
    terminal = stdio.claim_terminal(folder / "output.log")
    wake = Wake(restore=terminal.restore)
    wake.install()
    app: SecondseatApp | None = None
    status, problem = 0, ""
    try:
        app = _make_app(load_settings, debug, attach_to, factory, folder, terminal)
        host = app.host
        if "--config" in words:
            app.config = words[words.index("--config") + 1]
        if attach_to is None:
            app.hand_over = lambda: _hand_over(host, words)
        wake.ask_to_leave = app.ask_to_leave
        wake.stop_engine = lambda: _discard(host.stop())
        app.run()
        problem = app.crash
    except BaseException as error:  # whatever it was, the terminal has to be whole before it is told
        import traceback

        traceback.print_exc(file=terminal.log)
        problem = f"{type(error).__name__}: {error}"
    if app is not None and not getattr(app._driver, "whole", True):  # pyright: ignore[reportPrivateUsage]
        terminal.restore()
    terminal.release()
    wake.left()
    left_behind = app.host.stop() if app is not None else []
    if problem or (app is not None and app.left_undone):
        status = 1
    if wake.signum:
        status = 128 + wake.signum
    _end_soon(status)
    with contextlib.suppress(OSError):  # the terminal is gone
        _last_words(app, problem, left_behind, terminal.log_path)
    wake.close()
    return status


def _last_words(app: SecondseatApp | None, problem: str, left_behind: list[str], log_path: Path) -> None:
    """What is to be said of the end, now that the terminal is the person's again."""
    if problem:
        say_error(f"the face ended on an error: {problem}; details are in {log_path}")
    elif app is not None and app.farewell:
        print(f"secondseat: {printable_lines(app.farewell)}", flush=True)
    if app is not None and app.left_undone:
        say_error(app.left_undone)
    if left_behind:
        say_error(f"would not stop: {', '.join(left_behind)}")


def _discard(_: object) -> None:
    """The result has been kept by its maker."""


def _hand_over(host: EngineHost, words: tuple[str, ...]) -> str:
    from tui.hand_over import hand_over

    return hand_over(host, words)


def _make_app(
    load_settings: SettingsLoader, debug: bool, attach_to: Path | None, factory: CenterFactory | None, folder: Path, terminal: Any
) -> SecondseatApp:
    from tui.app import SecondseatApp
    from tui.memory import FILE_NAME, Memory
    from tui.output import OutputFile
    from tui.pump import EngineHost

    def own() -> Center:
        settings, notices = load_settings()
        app.use_settings(settings, notices)
        from engine.control_center import ControlCenter
        from engine.endpoint import RemoteError

        center = ControlCenter(settings, settings.workspace(), debug=debug)
        try:
            center.serve(OWN_NAME, exact=False)
        except RemoteError as error:  # the face works all the same
            app.note("warning", f"other terminals cannot reach this engine: {error}")
        return center

    def elsewhere() -> Center:
        from engine.remote_center import RemoteCenter

        assert attach_to is not None
        threading.Thread(target=look, name="secondseat-settings", daemon=True).start()
        return RemoteCenter(attach_to)

    def look() -> None:
        """The face's own settings: not waited for, the engine has its own."""
        try:
            app.use_settings(*load_settings())
        except Exception as error:
            app.note("warning", f"keys and colours are as they come: {error}")

    driver: dict[str, Any] = {}
    if sys.platform != "win32" and not in_browser():
        from tui.driver import SteadyDriver

        driver["driver_class"] = SteadyDriver
    app = SecondseatApp(
        EngineHost(factory or (own if attach_to is None else elsewhere), attached=attach_to is not None),
        memory=Memory(folder / FILE_NAME),
        output=OutputFile(terminal.log_path, terminal.log),
        **driver,
    )
    return app


def _end_soon(status: int) -> None:
    """A thread that a library left behind must not keep the process: end it for them after a while."""

    def end() -> None:
        time.sleep(THREADS_S)
        os._exit(status)

    threading.Thread(target=end, name="secondseat-end", daemon=True).start()

"""Real X servers, window managers and windows for tests and benchmarks: started, found ready and stopped by pid."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

NEEDED_PROGRAMS = ("Xvfb", "Xephyr", "openbox", "xdotool")
TARGET_SCRIPT = Path(__file__).with_name("x11_target.py")


def missing_programs() -> list[str]:
    return [name for name in NEEDED_PROGRAMS if shutil.which(name) is None]


def wait_until(condition: Callable[[], Any], timeout_s: float = 5.0, what: str = "") -> Any:
    """Polls until the condition holds and returns its value; AssertionError after the time limit."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what or condition}")
        time.sleep(0.005)


class Child:
    """A program that is stopped by pid when the context ends."""

    def __init__(self, command: list[str], display: str | None, pass_fds: tuple[int, ...] = ()) -> None:
        environment = {k: v for k, v in os.environ.items() if k not in {"WAYLAND_DISPLAY"}}
        if display is not None:
            environment["DISPLAY"] = display
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=pass_fds,
        )

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(5)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


@contextlib.contextmanager
def x_server(program: str = "Xvfb", size: str = "1280x720", parent_display: str | None = None) -> Iterator[str]:
    """Starts Xvfb or Xephyr on a free display number and gives the display's name."""
    reader, writer = os.pipe()
    if program == "Xvfb":
        command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset", "-ac"]
        command += ["+extension", "GLX", "+extension", "XTEST"]
    else:
        command = ["Xephyr", "-displayfd", str(writer), "-screen", size, "-nolisten", "tcp", "-noreset", "-ac"]
    try:
        server = Child(command, parent_display, pass_fds=(writer,))
    finally:
        os.close(writer)
    try:
        number = b""
        deadline = time.monotonic() + 15
        while not number.endswith(b"\n"):
            ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(reader, 16) if ready else b""
            if not chunk:
                raise RuntimeError(f"{program} did not start (exit status {server.process.poll()})")
            number += chunk
        yield f":{int(number)}"
    finally:
        os.close(reader)
        server.stop()


@contextlib.contextmanager
def openbox(display: str) -> Iterator[None]:
    """A small window manager; ready when it answers.

    For some moments after it has announced itself it swallows what is asked of it, and a window that was to be shown then never is.
    SDL waits for that for ever, in C, where no time limit of a test reaches it.
    """
    from Xlib.display import Display

    connection = Display(display)
    try:
        root, atom = connection.screen().root, connection.intern_atom("_NET_SUPPORTING_WM_CHECK")
        root.delete_property(atom)  # an earlier one's word would be taken for this one's
        connection.sync()
        with Child(["openbox", "--sm-disable"], display):
            wait_until(lambda: root.get_full_property(atom, 0), 15, "openbox announces itself")
            _wait_for_answer(connection)
            yield
    finally:
        connection.close()


def _wait_for_answer(connection: Any) -> None:
    """Until the window manager tells how wide its frames are (EWMH, _NET_REQUEST_FRAME_EXTENTS), asking again and again."""
    from Xlib import X
    from Xlib.protocol.event import ClientMessage

    root = connection.screen().root
    ask, told = (connection.intern_atom(name) for name in ("_NET_REQUEST_FRAME_EXTENTS", "_NET_FRAME_EXTENTS"))
    probe = root.create_window(0, 0, 1, 1, 0, X.CopyFromParent)

    def answered() -> Any:
        question = ClientMessage(window=probe, client_type=ask, data=(32, [0] * 5))
        root.send_event(question, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        connection.sync()
        return probe.get_full_property(told, 0)

    wait_until(answered, 15, "the window manager answers")
    probe.destroy()
    connection.sync()


class TargetWindow:
    """A window of known title that logs its input, in a child process. Commands go through an own X connection."""

    def __init__(self, display: str, title: str, x: int, y: int, width: int, height: int, colour: str, directory: Path) -> None:
        from Xlib.display import Display

        self.display_name, self.title = display, title
        handle, path = tempfile.mkstemp(prefix="target_", suffix=".jsonl", dir=directory)
        os.close(handle)
        self.log_path = Path(path)
        values = [str(self.log_path), title, str(x), str(y), str(width), str(height), colour]
        self.child = Child([sys.executable, str(TARGET_SCRIPT), *values], display)
        self.connection = Display(display)
        try:
            self.id = int(wait_until(lambda: next((r["id"] for r in self.rows() if r["kind"] == "ready"), None), 15, "the target window"))
        except BaseException:
            self.close()
            raise
        self.window = self.connection.create_resource_object("window", self.id)

    def rows(self) -> list[dict[str, Any]]:
        """All whole log lines so far."""
        text = self.log_path.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        return [r for r in self.rows() if r["kind"] != "ready" and (not kinds or r["kind"] in kinds)]

    def focus(self) -> None:
        """Gives the window the keyboard focus and waits until it has it."""
        from Xlib import X

        self.window.set_input_focus(X.RevertToParent, X.CurrentTime)
        self.connection.sync()
        wait_until(lambda: getattr(self.connection.get_input_focus().focus, "id", 0) == self.id, 5, f"focus on {self.title}")

    def move(self, x: int, y: int, width: int | None = None, height: int | None = None) -> None:
        """Asks for the place (and size) and waits until the window has moved: a window manager does it in its own time."""
        size = {} if width is None or height is None else {"width": width, "height": height}
        before = self._place()
        self.window.configure(x=x, y=y, **size)
        self.connection.sync()

        def moved() -> bool:
            place = self._place()
            return place != before and (not size or place[2:] == (width, height))

        wait_until(moved, 5, f"{self.title} moves from {before}")

    def _place(self) -> tuple[int, int, int, int]:
        shape = self.window.get_geometry()
        return *self.origin(), shape.width, shape.height

    def hide(self) -> None:
        self.window.unmap()
        self.connection.sync()

    def show(self) -> None:
        self.window.map()
        self.connection.sync()

    def origin(self) -> tuple[int, int]:
        """The client area's present corner on the screen."""
        place = self.connection.screen().root.translate_coords(self.window, 0, 0)
        return place.x, place.y

    def kill(self) -> None:
        """Ends the window's process; the server destroys the window."""
        self.child.process.kill()
        self.child.process.wait(5)

    def close(self) -> None:
        self.connection.close()
        self.child.stop()


class Person:
    """Presses keys and moves the mouse through XTEST on one display.

    On the outer display of a nested pair this arrives inside as a real device of the nested server.
    """

    def __init__(self, display: str) -> None:
        from Xlib.display import Display

        self.connection = Display(display)

    def _fake(self, kind: int, detail: int = 0, x: int = 0, y: int = 0) -> int:
        self.connection.xtest_fake_input(kind, detail, x=x, y=y)
        self.connection.sync()
        return time.monotonic_ns()

    def key(self, code: int, down: bool | None = None) -> int:
        """Presses (True), releases (False) or taps (None) a key code; returns the time right after the press."""
        from Xlib import X

        at_ns = self._fake(X.KeyRelease if down is False else X.KeyPress, code)
        if down is None:
            self._fake(X.KeyRelease, code)
        return at_ns

    def button(self, number: int, down: bool | None = None) -> int:
        from Xlib import X

        at_ns = self._fake(X.ButtonRelease if down is False else X.ButtonPress, number)
        if down is None:
            self._fake(X.ButtonRelease, number)
        return at_ns

    def move(self, x: int, y: int) -> int:
        from Xlib import X

        return self._fake(X.MotionNotify, 0, x, y)

    def nudge(self, dx: int, dy: int) -> int:
        """Moves the mouse by so many of its counts, as a hand does."""
        from Xlib import X

        return self._fake(X.MotionNotify, 1, dx, dy)

    def warp(self, x: int, y: int) -> None:
        """Puts the pointer somewhere without a device, as a game does."""
        self.connection.screen().root.warp_pointer(x, y)
        self.connection.sync()

    def held_codes(self) -> set[int]:
        """Key codes down now, by any device."""
        bits = self.connection.query_keymap()
        return {8 * i + b for i, byte in enumerate(bits) for b in range(8) if byte >> b & 1}

    def held_buttons(self) -> set[int]:
        mask = self.connection.screen().root.query_pointer().mask
        return {b for b in range(1, 6) if mask >> (7 + b) & 1}

    def focus_nothing(self) -> None:
        from Xlib import X

        self.connection.set_input_focus(self.connection.screen().root, X.RevertToPointerRoot, X.CurrentTime)
        self.connection.sync()

    def close(self) -> None:
        self.connection.close()

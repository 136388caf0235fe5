"""``secondseat doctor --keys``: what was pressed, and which ears heard it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.input.key_test import run_key_test
from engine.platforms.port import PlatformError
from tests.support.children import killed_at_last
from tests.support.desktops import WindowsDesktop
from tests.support.x11 import Person, TargetWindow, wait_until
from tui.terminal_keys import function_keys

ROOT = Path(__file__).resolve().parents[2]
F5, F6 = 71, 72


@pytest.mark.parametrize(
    ("sent", "names"),
    [
        (b"\x1b[15~\x1b[17~\x1b[18~\x1b[19~", ["f5", "f6", "f7", "f8"]),
        (b"\x1bOP\x1bOS\x1b[24~", ["f1", "f4", "f12"]),
        (b"\x1b[[E", ["f5"]),  # the Linux console
        (b"w\x1b[15;5~\x1b[A\x1b[99~\xff", []),  # other keys, Ctrl+F5
    ],
)
def test_function_keys_are_read_as_terminals_send_them(sent: bytes, names: list[str]) -> None:
    assert function_keys(sent) == names


def test_both_ears_are_named_and_the_test_ends_with_the_key() -> None:
    desktop, told = WindowsDesktop(), []
    typed = iter(["f7", "", "w", "f5"])

    def terminal() -> str:
        time.sleep(0.02)
        name = next(typed, "")
        if name == "f5":
            desktop.key("f5", True)
            desktop.key("f5", False)
        return name

    test = run_key_test("f5", {"f5", "f6", "f7"}, 30, told.append, terminal, lambda: desktop.port)
    assert set(test.heard["f5"]) == {"windows", "terminal"}
    assert test.heard["f7"] == ["terminal"]
    assert (test.globally, test.backend, test.to_json("f5")["works"]) == (True, "windows", True)
    assert told[0] == "global hotkeys: windows"
    assert "F5 heard: terminal" in told


def test_without_any_backend_the_terminal_still_counts() -> None:
    def no_port() -> None:
        raise PlatformError("no display: DISPLAY is not set")

    test = run_key_test("f5", {"f5"}, 0.3, lambda _line: None, lambda: "f5", no_port)  # type: ignore[arg-type,return-value]
    assert test.heard == {"f5": ["terminal"]}
    assert not test.globally
    assert test.backend.startswith("off: no display")


@pytest.mark.x11
def test_the_command_hears_a_key_pressed_in_a_game(
    x_display: str, window_manager: None, target_window: object, person: Person, tmp_path: Path
) -> None:
    game: TargetWindow = target_window("My Game")  # type: ignore[operator]
    game.focus()
    environment = os.environ | {name: str(tmp_path) for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME")}
    command = [sys.executable, "-m", "tui.cli", "doctor", "--keys", "--json", "--wait", "30"]
    with (
        subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child,
        killed_at_last(child),
    ):
        assert child.stderr is not None
        while "global hotkeys: x11" not in (line := child.stderr.readline()):
            assert line, "it ended"
        for code in (F6, F5):
            person.key(code)
        out, _ = child.communicate(timeout=20)
    assert child.returncode == 0
    assert json.loads(out) == {"backend": "x11", "wanted": "f5", "heard": {"f6": ["x11"], "f5": ["x11"]}, "works": True, "globally": True}


def test_the_command_in_a_terminal_without_a_screen(tmp_path: Path) -> None:
    environment = os.environ | {name: str(tmp_path) for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME")}
    environment = {k: v for k, v in environment.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "tui.cli", "doctor", "--keys", "--wait", "20"]
    with (
        subprocess.Popen(command, cwd=ROOT, env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True) as child,
        killed_at_last(child),
    ):
        os.close(slave)
        said = b""
        while b"global hotkeys" not in said:
            said += os.read(master, 4096)
        os.write(master, b"\x1b[15~")
        wait_until(lambda: child.poll() is not None, 10)
        said += os.read(master, 4096)
    os.close(master)
    text = said.decode()
    assert child.returncode == 0
    assert "global hotkeys: off: no display: DISPLAY is not set" in text
    assert "F5 heard: terminal" in text
    assert "F5 works in this terminal only" in text

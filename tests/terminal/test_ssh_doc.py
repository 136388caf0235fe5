"""docs/ssh.md is true: every command line in it is run, its unit is a unit, its keys are those of the registry.

``ssh`` runs what it is told on this machine; tmux is a server of the test's own; ``systemctl`` and ``loginctl``, which
would change the machine, only check their words. ``:0`` is the test's screen, with a window called My Game.
"""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from ptyrun import PtyRun

from engine.endpoint import endpoint_path
from engine.remote import Remote, UnreachableError, running
from engine.runtime.stdio import RESTORE_SEQUENCES
from engine.state import EngineState
from league.arena.world import cache_folder
from tests.support.served import wait_for
from tui.actions import REGISTRY

DOC = Path(__file__).resolve().parents[2] / "docs" / "ssh.md"
BIN = Path(sys.executable).parent
STUBS = {
    "ssh": '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\n[ "$1" = gamebox ] || exit 9\nshift\nexec "$@"\n',
    "systemctl": "#!/bin/sh\n[ \"$1\" = --user ] || exit 9\ncase \"$2 $3 $4\" in 'daemon-reload  '|'enable --now secondseat.service'|"
    "'status secondseat.service '|'stop secondseat.service ') exit 0;; esac\nexit 9\n",
    "journalctl": '#!/bin/sh\n[ "$*" = "--user -u secondseat.service -n 20" ] || exit 9\n',
    "loginctl": '#!/bin/sh\n[ "$*" = enable-linger ] || exit 9\n',
}


def blocks(language: str) -> list[list[str]]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", DOC.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [block.strip().splitlines() for block in found]


class Shell:
    """Runs the document's lines as a person would: what stays is left running, what takes the screen gets one."""

    def __init__(self, folder: Path, runtime: str, display: str) -> None:
        self.folder = folder
        self.tmux = f"secondseat-doc-{uuid.uuid4().hex[:8]}"
        stubs = folder / "bin"
        stubs.mkdir()
        tmux = f'#!/bin/sh\nexec {shutil.which("tmux")} -f /dev/null -L {self.tmux} "$@"\n'
        for name, text in {**STUBS, "tmux": tmux}.items():
            (stubs / name).write_text(text)
            (stubs / name).chmod(0o755)
        homes = {name: str(folder) for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
        self.env = {
            **homes,
            "PATH": f"{stubs}:{BIN}:{os.environ['PATH']}",
            "XDG_RUNTIME_DIR": runtime,
            "NUMBA_CACHE_DIR": str(cache_folder()),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm-256color",
            "OMP_NUM_THREADS": "1",
        }
        self.display = display
        self.left_running: list[subprocess.Popen[bytes]] = []

    def run(self, line: str) -> None:
        line = line.replace(":0", self.display)
        words = shlex.split(line)
        if "attach" in words:
            self._on_a_screen(line, b"D" if words[0] != "tmux" else None)
        elif words[:2] == ["secondseat", "headless"]:
            self.left_running.append(subprocess.Popen(words, cwd=self.folder, env=self.env, stderr=subprocess.DEVNULL))
            wait_for(lambda: state() is not None and state().recorder.steps > 5, 90)  # type: ignore[union-attr]
        else:
            done = subprocess.run(
                ["sh", "-c", line], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=60, check=False
            )
            assert done.returncode == 0, f"{line}: {done.stderr}"
            assert "Traceback" not in done.stderr
            if words[0] == "tmux":
                wait_for(lambda: state() is not None or state("face") is not None, 90)

    def _on_a_screen(self, line: str, leave: bytes | None) -> None:
        program = ["-c", f"import os; os.execvp('sh', ['sh', '-c', {line!r}])"]
        run = PtyRun(self.folder, program=program, columns=120, rows=36, env=self.env)
        try:
            run.wait_for("Actions", 30)
            run.wait_for("Log", 30)
            time.sleep(0.5)
            if leave is None:
                subprocess.run([str(self.folder / "bin" / "tmux"), "detach-client", "-a"], check=False)
                subprocess.run([str(self.folder / "bin" / "tmux"), "detach-client", "-s", "secondseat"], check=True)
            else:
                run.type(leave)
            assert run.wait(15) == 0
            run.assert_whole()
        finally:
            run.close()

    def close(self) -> None:
        for hello in running():
            psutil.Process(hello.pid).terminate()
        for process in self.left_running:
            process.wait(30)
        subprocess.run([str(self.folder / "bin" / "tmux"), "kill-server"], check=False, capture_output=True)


def state(name: str = "engine") -> EngineState | None:
    try:
        return EngineState.from_json(Remote(endpoint_path(name)).state())
    except UnreachableError:
        return None


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, x_display: str) -> Iterator[Shell]:
    if shutil.which("tmux") is None:
        pytest.skip("needs tmux")
    with tempfile.TemporaryDirectory(prefix="ss-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        made = Shell(tmp_path, runtime, x_display)
        yield made
        made.close()


@pytest.mark.x11
@pytest.mark.timeout(400)
def test_every_command_line_does_what_the_page_says(shell: Shell, target_window) -> None:  # type: ignore[no-untyped-def]
    target_window(title="My Game").focus()
    lines = [line for block in blocks("sh") for line in block if not line.startswith("printf")]
    assert len(lines) >= 15
    for line in lines:
        if line.startswith("secondseat headless") and state() is not None:
            Remote(endpoint_path()).stop()  # the page offers it instead of the one in tmux
            wait_for(lambda: state() is None, 60)
        if line == "secondseat attach" and state() is None:
            shell.run("tmux new -d -s again secondseat headless --record")
        shell.run(line)
    assert state() is None, "the page has stopped the engine"
    face = state("face")
    assert face is not None, "the face in tmux goes on"


def test_the_unit_is_a_unit_and_its_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(blocks("ini")[0])
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    assert set(unit) == {"DEFAULT", "Unit", "Service", "Install"}
    if shutil.which("systemd-analyze"):
        installed = tmp_path / "secondseat.service"
        installed.write_text(text.replace("%h/.local/bin/secondseat", str(BIN / "secondseat")))
        checked = subprocess.run(
            ["systemd-analyze", "verify", "--user", "--man=no", str(installed)], capture_output=True, text=True, timeout=30, check=False
        )
        assert "secondseat.service" not in checked.stderr, checked.stderr
    with tempfile.TemporaryDirectory(prefix="ss-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        command = [str(BIN / "secondseat"), *unit["Service"]["ExecStart"].split()[1:], "--workspace", str(tmp_path / "ws")]
        env = {**{k: v for k, v in os.environ.items() if k != "DISPLAY"}, "XDG_STATE_HOME": str(tmp_path)}
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: state() is not None, 50)
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(float(unit["Service"]["TimeoutStopSec"])) == 0


def test_the_reset_line_brings_a_terminal_back(tmp_path: Path) -> None:
    line = next(line for block in blocks("sh") for line in block if line.startswith("printf"))
    spoil = "import os, termios, tty; tty.setraw(0); os.write(1, b'\\x1b[?1049h\\x1b[?1003h\\x1b[?25l'); "
    run = PtyRun(tmp_path, program=["-c", f"{spoil}os.execvp('bash', ['bash', '-c', {line!r}])"])
    try:
        assert run.wait() == 0
        modes = termios.tcgetattr(run.slave)
        assert modes[3] & termios.ICANON
        assert modes[3] & termios.ECHO
        for off in ("?1049l", "?25h", "?1000l", "?1002l", "?1003l", "?1006l", "?2004l", "0m"):
            assert f"\x1b[{off}".encode() in run.output[run.output.rfind(b"?25l") :]
            assert f"\x1b[{off}" in RESTORE_SEQUENCES
    finally:
        run.close()


def test_the_keys_are_those_of_the_registry() -> None:
    registry = REGISTRY.present(attached=True)
    rows = re.findall(r"^\| (\S.*?) \| (.*?): (.*?) \|$", DOC.read_text(encoding="utf-8"), re.MULTILINE)
    expected = []
    for action_id in ("detach", "quit", "stop_all", "redraw"):
        action = registry[action_id]
        help_text = "asks whether to detach or to stop the engine" if action_id == "quit" else action.help
        expected.append((action.key_text(), action.title, help_text))
    assert rows == expected

"""What reaches the terminal, and what a terminal can send."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ptyrun import HERE, PtyRun

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")


@pytest.fixture
def start(tmp_path: Path):
    runs: list[PtyRun] = []

    def go(*what: str, **options: object) -> PtyRun:
        run = PtyRun(tmp_path, *what, **options)
        runs.append(run)
        return run

    yield go
    for run in runs:
        run.close()


def test_library_output_reaches_the_log_and_never_the_screen(start) -> None:
    run = start("noise").up()
    time.sleep(1.4)
    assert b"NOISE" not in run.output
    log = (run.folder / "output.log").read_text()
    for word in ("RAWNOISE", "PYNOISE", "WARNNOISE"):
        assert word in log
    run.type("g")
    run.wait_for("PYNOISE")  # the full log shows it
    run.type("q")
    assert run.wait() == 0


def test_bytes_that_are_not_text_do_no_harm(start) -> None:
    run = start().up()
    run.type(b"\x1b[M \xc8\xc8")  # a legacy mouse report right of column 95
    noise = random.Random(3)
    for _ in range(20):
        run.type(bytes(noise.randrange(0x80, 0x100) for _ in range(50)))
    run.type(b"\xe2\x1b[M#\xff\xff\xfe")
    time.sleep(0.3)
    run.type(b"\x1b[15~")  # F5
    run.wait_for("REC ")
    run.type("q")
    run.wait_for("Still running")
    run.type("s")
    assert run.wait() == 0
    run.assert_whole()


@pytest.mark.parametrize(
    ("term", "f5"),
    [
        ("xterm-256color", b"\x1b[15~"),
        ("linux", b"\x1b[[E"),
        ("vt100", b"\x1b[15~"),
        ("screen", b"\x1b[15~"),
        ("screen-256color", b"\x1b[15~"),
        ("tmux-256color", b"\x1b[15~"),
    ],
)
def test_f5_on_several_terminals(start, term: str, f5: bytes) -> None:
    run = start(env={"TERM": term}).up()
    run.type(f5)
    run.wait_for("REC ")


@pytest.mark.parametrize("cuts", [(1,), (2,), (3, 4), (1, 2, 3, 4)])
def test_an_escape_sequence_that_arrives_in_pieces_is_one_key(start, cuts: tuple[int, ...]) -> None:
    """As over a slow line: the pieces come 20 ms apart, and no letter of the sequence is taken for a key of its own."""
    run = start().up()
    whole = b"\x1b[15~"
    for begin, end in zip((0, *cuts), (*cuts, len(whole)), strict=True):
        run.type(whole[begin:end])
        time.sleep(0.02)
    run.wait_for("REC ")
    run.type("\x1b[<0;5;")  # half a mouse report, then silence, then a key
    time.sleep(0.4)
    run.type("1M")
    run.type(b"\x1b[17~")  # F6
    run.wait_for("not recording")
    run.type("q")
    assert run.wait() == 0
    run.assert_whole()


def test_a_small_terminal_says_so_and_recovers(start) -> None:
    run = start(columns=40, rows=10)
    run.wait_for("enlarge the terminal")
    run.resize(100, 30)
    run.wait_for("Actions")
    run.type("q")
    assert run.wait() == 0


@pytest.mark.parametrize("env", [{"LANG": "", "LC_ALL": "C"}, {"LANG": "en_US.ISO-8859-1"}, {"PYTHONIOENCODING": "ascii"}])
def test_other_locales(start, env: dict[str, str]) -> None:
    run = start("full", env=env).up()
    run.wait_for("REC 00:12:41")
    if "PYTHONIOENCODING" not in env:
        assert run.output.decode("ascii", "replace").count("\ufffd") == 0, "ASCII only where the locale is not UTF-8"
    run.type("q")
    run.wait_for("Still running")
    run.type("s")
    assert run.wait() == 0


def test_states_are_words_without_colours(start) -> None:
    run = start("full", env={"NO_COLOR": "1"}).up()
    run.wait_for("● REC 00:12:41")
    run.wait_for("▶ BOT")
    assert b"\x1b[38;2" not in run.output
    assert b"\x1b[38;5" not in run.output


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_gets_a_hint(start, term: str) -> None:
    run = start(env={"TERM": term})
    assert run.wait() == 2
    assert b"use the command line instead: secondseat --help" in run.output
    assert b"\x1b" not in run.output


def test_no_terminal_gets_a_hint(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "fake_app.py"), str(tmp_path)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 2
    assert "this is not a terminal" in done.stderr

"""A recording played on a real terminal: what it is sent, and that another kind of terminal can show it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from ptyrun import PtyRun

from data.schema import Frame
from tests.support.sessions import FRAME_NS, START_NS, event, new_writer, step

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight seconds in which every pixel changes with every picture: the most a player can be asked for."""
    root = tmp_path_factory.mktemp("workspace")
    writer = new_writer(root, size=(160, 90))
    rng = np.random.default_rng(1)
    for number in range(240):
        small = rng.integers(0, 256, (18, 32, 3)).astype(np.uint8)
        writer.write_frame(Frame(number, START_NS + number * FRAME_NS, small.repeat(5, axis=0).repeat(5, axis=1)))
        writer.write_event(event(number))
        writer.write_step(step(number))
    writer.close("saved")
    return root


def playing(folder: Path, workspace: Path, **env: str) -> PtyRun:
    run = PtyRun(folder, f"workspace={workspace}", columns=80, rows=24, env={"COLORTERM": "truecolor", **env})
    run.wait_for("Next:", 20.0)
    run.type("s")
    run.wait_for("play_arena", 20.0)
    run.type("P")
    run.wait_for("playing", 20.0)
    return run


@pytest.mark.parametrize(("env", "most_kb_s"), [({}, 60), ({"SSH_CONNECTION": "a 1 b 2"}, 24)])
def test_playing_sends_no_more_than_it_may(tmp_path: Path, workspace: Path, env: dict[str, str], most_kb_s: int) -> None:
    run = playing(tmp_path, workspace, **env)
    try:
        run.wait_for(f"at most {most_kb_s} kB/s")
        before, begin = len(run.output), time.monotonic()
        time.sleep(4.0)
        assert 5_000 < (len(run.output) - before) / (time.monotonic() - begin) < most_kb_s * 1_000
        run.type("\x1b")
        time.sleep(0.3)
        run.type("q")
        assert run.wait() == 0
        run.assert_whole()
    finally:
        run.close()


def test_without_colour_pictures_are_characters(tmp_path: Path, workspace: Path) -> None:
    run = playing(tmp_path, workspace, NO_COLOR="1")
    try:
        run.wait_for("no colour")
        run.type(" ")
        run.wait_for("paused")
        assert "▀".encode() not in run.output
        assert b"\x1b[38;2" not in run.output
    finally:
        run.close()

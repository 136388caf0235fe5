"""A disk that really fills up: the recording stops in time and is whole, and so is everything else on it."""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from data.metadata import Source
from data.profile import ARENA_PROFILE
from data.schema import Frame, InputEvent
from data.session import open_session
from data.settings import SettingsError
from data.settings_io import load_settings, save_settings
from data.verify import verify
from engine.recorder import Recorder, RecordingSettings


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB. Mounting one takes the rights of root."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no small disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def record_until_it_stops(workspace: Path, noise: int) -> tuple[list[str], Recorder, float]:
    """Records pictures with so much noise; returns what was said, and how long after the last byte that was."""
    said: list[str] = []
    recorder = Recorder(RecordingSettings(workspace, ARENA_PROFILE, Source(kind="screen")), lambda _, text: said.append(text))
    recorder.start()
    recorder.set_focus(True)
    recorder.press("f5")
    dice = np.random.default_rng(0)
    began_s = time.monotonic()
    full_s = 0.0
    for number in range(900):
        now_ns = time.monotonic_ns()
        recorder.offer_frame(Frame(number, now_ns, dice.integers(0, noise, (240, 320, 3), np.uint8)))
        recorder.offer_event(InputEvent(now_ns, "press" if number % 2 == 0 else "release", "space"))
        if recorder.state().phase == "idle":
            full_s = time.monotonic() - began_s
            break
        time.sleep(1 / 40)
    assert recorder.wait()
    return said, recorder, full_s


def fill(path: Path) -> None:
    """To the last byte."""
    with path.open("wb", buffering=0) as rest, contextlib.suppress(OSError):
        while rest.write(bytes(4096)):
            pass


@pytest.mark.parametrize("noise", [255, 90], ids=["faster than can be watched", "slowly"])
def test_a_full_disk_stops_and_saves_and_leaves_all_else_whole(small_disk: Path, noise: int) -> None:
    config = small_disk / "config.toml"
    config.write_text("[capture]\nfps = 31 # mine\n", encoding="utf-8")
    said, recorder, full_s = record_until_it_stops(small_disk / "ws", noise)
    try:
        assert 0 < full_s < 20
        told = re.fullmatch(r"disk full, recording stopped and saved \((\d+) frames\)", said[-1])
        assert told is not None, said
        (folder,) = (path for path in (small_disk / "ws" / "sessions").iterdir() if path.is_dir())
        with open_session(folder) as session:
            assert session.metadata.state == "saved"
            assert session.counts().frames == int(told[1]) > 10
            assert len(list(session.frames())) == int(told[1])
            assert len(session.events()) > 10
        assert [finding for finding in verify(folder) if finding.severity == "error"] == []

        fill(small_disk / "rest")
        with pytest.raises(SettingsError, match="No space left on device; its old content is untouched"):
            save_settings(config, {"capture.fps": 60})
        assert load_settings(config)[0].capture.fps == 31
        assert config.read_text(encoding="utf-8").endswith("# mine\n")
        assert [path.name for path in small_disk.iterdir() if path.name.endswith(".tmp")] == []
        recorder.press("f5")
        assert said[-1].startswith("cannot record: ")
        (small_disk / "rest").unlink()
    finally:
        assert recorder.stop()

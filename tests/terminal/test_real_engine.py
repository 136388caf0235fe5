"""The face on the real engine: it comes up, a signal ends it, and no child is left, a training one neither."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from ptyrun import PtyRun

from engine.endpoint import endpoint_path
from engine.remote import Remote
from tests.support.served import wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")


@pytest.mark.timeout(120)
def test_the_real_engine_starts_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = tempfile.mkdtemp(prefix="ss-")
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    env = {
        "SECONDSEAT_PATHS__WORKSPACE": str(tmp_path / "workspace"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_RUNTIME_DIR": runtime,
    }
    run = PtyRun(tmp_path, program=["-m", "tui.cli"], columns=120, rows=36, env=env)
    try:
        run.wait_for("Next:", 60.0)
        run.wait_for("tells more", 30.0)  # the checks were made
        wait_for(lambda: endpoint_path("face").exists(), 20)
        Remote(endpoint_path("face")).command("train", level="detector", quick=True)
        run.wait_for("train detector", 10.0)
        children = psutil.Process(run.process.pid).children(recursive=True)
        assert any("engine.work" in " ".join(child.cmdline()) for child in children), "it trains"
        run.signal(signal.SIGTERM)
        assert run.wait(15.0) == 128 + signal.SIGTERM
        run.assert_whole()
        end = time.monotonic() + 5.0
        while any(child.is_running() for child in children):
            assert time.monotonic() < end, f"left behind: {children}"
            time.sleep(0.1)
        assert os.listdir(tmp_path / "workspace")
        assert "Traceback" not in (tmp_path / "state" / "secondseat" / "output.log").read_text()
    finally:
        run.close()
        shutil.rmtree(runtime)

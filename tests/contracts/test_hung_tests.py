"""A test that hangs where no exception reaches it is ended and named, and the tests behind it are made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = """
import tests.conftest
from tests.conftest import pytest_configure, pytest_runtest_protocol

tests.conftest.GRACE_S = 1.0
"""
TESTS = """
import signal, time
import pytest

@pytest.mark.timeout(1)
def test_that_hangs():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # as in compiled code that never returns
    time.sleep(50)

def test_behind_it():
    pass
"""


@pytest.mark.skipif(os.name != "posix", reason="time limits are signals there")
def test_it_is_ended_and_named_and_the_next_one_is_made(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_two.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\ntimeout = 20\npythonpath = {ROOT}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=45, check=False)
    assert done.returncode == 1
    assert "crashed while running 'test_two.py::test_that_hangs'" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert 'test_two.py", line 8 in test_that_hangs' in done.stderr

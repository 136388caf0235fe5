"""A test that hangs where no exception reaches it is ended and named, and with it the run, as `make test` makes it."""

from __future__ import annotations

import os
import re
import shlex
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
OTHERS = """
def test_of_another_file():
    pass
"""


@pytest.mark.skipif(os.name != "posix", reason="time limits are signals there")
def test_it_is_ended_and_named(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_hung.py").write_text(TESTS)
    for name in "abc":
        (tmp_path / f"test_{name}.py").write_text(OTHERS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\ntimeout = 20\npythonpath = {ROOT}\n")
    asked = re.search(r"-m pytest (.*)", (ROOT / "Makefile").read_text())
    assert asked
    command = [sys.executable, "-m", "pytest", *shlex.split(asked[1]), "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=45, check=False)
    assert done.returncode == 1
    assert "crashed while running 'test_hung.py::test_that_hangs'" in done.stdout
    assert "1 failed" in done.stdout
    assert 'test_hung.py", line 8 in test_that_hangs' in done.stderr

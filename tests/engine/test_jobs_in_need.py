"""Jobs in need: one that runs out of memory says so and the next one runs; one that starts processes of its own does so
also under an engine full of threads."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from data.memory import is_out_of_memory
from engine.runtime import jobs as runtime
from engine.runtime.jobs import JobRunner, child_environment
from engine.state import JobState
from engine.work import OUT_OF_MEMORY

STAND_IN = '''
"""In the job's own process: the piece of work is replaced, all round it is real."""
import sys
import types


def train_taught(workspace, profile, how="", report=None, **options):
    if how == "numpy":
        import numpy
        numpy.ones(1 << 56)
    if how == "python":
        bytearray(1 << 60)
    if how == "killed":
        import os
        import signal
        os.kill(os.getpid(), signal.SIGKILL)
    return "trained"


def train_arena_detector(workspace, report=None, **options):
    from engine.arena_pictures import write_yolo_folder
    write_yolo_folder(workspace / "pictures", 3, 2, workers=2)
    return f"{len(list((workspace / 'pictures').rglob('*.png')))} pictures"


for name, work in (("engine.teach_training", train_taught), ("engine.detector_job", train_arena_detector)):
    sys.modules[name] = types.ModuleType(name)
    setattr(sys.modules[name], work.__name__, work)
'''
pytestmark = pytest.mark.timeout(180)  # whole processes, beside whatever else this machine does
PROFILE = {"name": "squares", "window_title": "Squares"}


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobRunner:
    """Jobs whose processes find the stand-ins."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text(STAND_IN)

    def environment() -> dict[str, str]:
        usual = child_environment()
        return {**usual, "PYTHONPATH": os.pathsep.join([str(tmp_path / "own"), usual["PYTHONPATH"]])}

    monkeypatch.setattr(runtime, "child_environment", environment)
    return JobRunner(tmp_path / "jobs")


def ended(jobs: JobRunner, count: int = 1, timeout_s: float = 170.0) -> list[JobState]:
    found: list[JobState] = []
    until = time.monotonic() + timeout_s
    while len(found) < count and time.monotonic() < until:
        found += jobs.poll()
        time.sleep(0.05)
    assert len(found) == count, jobs.states()
    return found


@pytest.mark.parametrize(
    "how", ["numpy", "python", pytest.param("killed", marks=pytest.mark.skipif(sys.platform == "win32", reason="POSIX"))]
)
def test_out_of_memory_is_told_and_the_next_job_runs(how: str, tmp_path: Path, runner: JobRunner) -> None:
    first = runner.start("teach", "teach squares", {"workspace": str(tmp_path), "profile": PROFILE, "how": how})
    second = runner.start("teach", "teach squares again", {"workspace": str(tmp_path), "profile": PROFILE})
    assert [job.phase for job in runner.states()] == ["running", "queued"]
    failed, done = ended(runner, 2)
    assert (failed.id, failed.phase) == (first, "failed")
    assert "ran out of memory" in failed.message
    assert "smaller batch" in failed.message
    assert (done.id, done.phase, done.message) == (second, "done", "trained")


class OutOfMemoryError(RuntimeError):
    """As torch names its own."""


@pytest.mark.parametrize(
    ("error", "memory"),
    [
        (MemoryError(), True),
        (OutOfMemoryError("CUDA: 2.00 GiB"), True),
        (
            RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
            True,
        ),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("shapes differ"), False),
        (ValueError("a note on out of memory"), False),
    ],
)
def test_each_librarys_words_for_it_are_known(error: Exception, memory: bool) -> None:
    assert is_out_of_memory(error) == memory
    assert "what was finished is kept" in OUT_OF_MEMORY


def test_a_job_with_processes_of_its_own_runs_under_an_engine_full_of_threads(tmp_path: Path, runner: JobRunner) -> None:
    over = threading.Event()
    threads = [threading.Thread(target=over.wait, args=(180,), daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    starter = threading.Thread(target=lambda: runner.start("detector", "train detector", {"workspace": str(tmp_path)}))
    starter.start()  # the engine's loop is not the main thread either
    starter.join()
    try:
        (state,) = ended(runner)
    finally:
        over.set()
    assert (state.phase, state.message) == ("done", "5 pictures")

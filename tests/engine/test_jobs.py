"""Jobs: real child processes, their progress, their end, and that they outlive who started them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from data.locks import Identity, identity
from engine.runtime.jobs import JobRunner, child_environment
from engine.runtime.progress import EtaReport, Progress, ProgressFile, last_line, part
from engine.state import JobState
from engine.work import NICE


def ended(jobs: JobRunner, timeout_s: float = 40.0) -> JobState:
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        if done := jobs.poll():
            return done[0]
        time.sleep(0.05)
    raise AssertionError(f"no job ended: {jobs.states()}")


def test_a_job_that_cannot_be_done_fails_with_its_reason(tmp_path: Path) -> None:
    jobs = JobRunner(tmp_path / "jobs")
    job_id = jobs.start("train", "train all", {"workspace": str(tmp_path)})
    assert jobs.running() == [job_id]
    state = ended(jobs)
    assert (state.phase, state.id) == ("failed", job_id)
    assert "no sessions of arena to learn from" in state.message
    assert "secondseat record" in state.message
    assert jobs.running() == []
    with pytest.raises(ValueError, match="no running job"):
        jobs.stop(job_id)


def test_what_learns_waits_for_its_turn(tmp_path: Path) -> None:
    jobs = JobRunner(tmp_path / "jobs")
    first = jobs.start("train", "train strategist", {"workspace": str(tmp_path)})
    second = jobs.start("train", "train tactician", {"workspace": str(tmp_path)})
    third = jobs.start("detector", "train detector", {"workspace": str(tmp_path)})
    assert [job.phase for job in jobs.states()] == ["running", "queued", "queued"]
    assert "taken out" in jobs.stop(third)
    assert ended(jobs).id == first
    assert jobs.running() == [second]
    jobs.kill_all()
    assert [job.phase for job in jobs.states()] == ["failed", "cancelled", "cancelled"]


def test_what_waits_is_handed_over_too(tmp_path: Path) -> None:
    jobs = JobRunner(tmp_path / "jobs")
    jobs.start("train", "train strategist", {"workspace": str(tmp_path)})
    jobs.start("train", "train tactician", {"workspace": str(tmp_path)})
    assert jobs.release() == ["train strategist", "train tactician"]
    again = JobRunner(tmp_path / "jobs")
    assert sorted(job.title for job in again.states()) == ["train strategist", "train tactician"]
    again.stop_all()
    ended(again)
    assert again.running() == []


def sleeper(tmp_path: Path) -> subprocess.Popen[bytes]:
    # As engine.work does: tests that run in the background inherit an ignored SIGINT.
    code = "import signal, time; signal.signal(signal.SIGINT, signal.default_int_handler); print(1, flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code], env=child_environment(), cwd=tmp_path, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as said:
        said.readline()
    return process


def left_behind(folder: Path, process: Identity | None, engine: Identity | None = None, ended: str = "") -> JobRunner:
    """The runner of an engine that finds the job of another one."""
    folder.mkdir(parents=True)
    told = {"id": "j1", "kind": "train", "title": "train all", "arguments": {}, "ended": ended}
    processes = {name: asdict(who) if who else None for name, who in (("process", process), ("engine", engine))}
    (folder / "job.json").write_text(json.dumps({**told, **processes}))
    return JobRunner(folder.parent)


def gone() -> Identity:
    """An engine that was killed."""
    own = identity()
    assert own is not None
    return replace(own, started="1")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_job_of_an_earlier_engine_is_taken_up_and_can_be_stopped(tmp_path: Path) -> None:
    process = sleeper(tmp_path)
    try:
        jobs = left_behind(tmp_path / "jobs" / "j1", identity(process.pid), gone())
        assert jobs.running() == ["j1"]
        ProgressFile(tmp_path / "jobs" / "j1" / "progress.jsonl")(Progress("epoch 3/80", 0.25, 12.0))
        jobs.poll()
        assert (jobs.states()[0].stage, jobs.states()[0].done, jobs.states()[0].eta_s) == ("epoch 3/80", 0.25, 12.0)
        jobs.stop("j1")
        process.wait(10)
        assert ended(jobs).phase == "cancelled"
    finally:
        process.kill()
        process.wait()


def test_a_job_that_ends_as_it_is_being_stopped_is_told_of(tmp_path: Path) -> None:
    process = sleeper(tmp_path)
    jobs = left_behind(tmp_path / "jobs" / "j1", identity(process.pid), gone())
    process.kill()
    process.wait()
    jobs.stop("j1")
    assert [job.phase for job in jobs.poll()] == ["cancelled"]
    assert jobs.poll() == []


def test_a_pid_that_was_used_again_is_not_taken_for_the_job(tmp_path: Path) -> None:
    process = sleeper(tmp_path)
    try:
        there = identity(process.pid)
        assert there is not None
        jobs = left_behind(tmp_path / "jobs" / "j1", replace(there, started="1"), gone())
        assert jobs.running() == []
        told = jobs.poll()
        assert (told[0].phase, "its process is gone" in told[0].message) == ("failed", True)
        jobs.stop_all()
        jobs.kill_all()
        assert process.poll() is None, "the stranger is left alone"
    finally:
        process.kill()
        process.wait()


def test_a_job_that_another_living_engine_looks_after_is_left_to_it(tmp_path: Path) -> None:
    process = sleeper(tmp_path)
    try:
        jobs = left_behind(tmp_path / "jobs" / "j1", identity(process.pid), identity())
        assert (jobs.running(), jobs.states()) == ([], ())
    finally:
        process.kill()
        process.wait()


def test_a_job_is_handed_from_one_engine_to_the_next(tmp_path: Path) -> None:
    """What ends while no engine looks is told once by the next one."""
    first = JobRunner(tmp_path / "jobs")
    job_id = first.start("perceive", "perceive x", {"workspace": str(tmp_path), "session": "x"})
    assert JobRunner(tmp_path / "jobs").running() == [], "it is the first engine's"
    assert first.release() == ["perceive x"]
    assert (first.running(), first.states()) == ([], ())
    second = JobRunner(tmp_path / "jobs")
    assert second.running() == [job_id]
    second.release()
    until = time.monotonic() + 30
    while last_line(tmp_path / "jobs" / job_id / "progress.jsonl").get("phase") != "failed":
        assert time.monotonic() < until
        time.sleep(0.05)
    wait_for_exit(tmp_path / "jobs" / job_id)
    third = JobRunner(tmp_path / "jobs")
    assert [(job.phase, job.id) for job in third.poll()] == [("failed", job_id)]
    assert third.poll() == []
    assert JobRunner(tmp_path / "jobs").poll() == [], "told once"


def wait_for_exit(folder: Path) -> None:
    process = json.loads((folder / "job.json").read_text())["process"]
    until = time.monotonic() + 10
    while identity(process["pid"]) is not None:
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_job_that_does_not_save_in_time_is_killed(tmp_path: Path) -> None:
    process = sleeper(tmp_path)
    process.send_signal(signal.SIGSTOP)  # it cannot take the order to stop
    try:
        jobs = left_behind(tmp_path / "jobs" / "j1", identity(process.pid), gone())
        jobs.stop_all()
        assert jobs.poll() == []
        assert jobs.kill_all() == ["train all"]
        assert process.wait(5) == -signal.SIGKILL
        jobs.poll()
        assert [job.phase for job in jobs.states()] == ["cancelled"]
    finally:
        process.kill()
        process.wait()


def test_a_damaged_job_file_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "jobs" / "j1"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text("{")
    assert JobRunner(tmp_path / "jobs").running() == []
    assert (folder / "job.json").read_text() == "{"


def test_half_a_last_line_is_still_being_written(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"done": 0.5}\n{"done": 0.')
    assert last_line(path) == {"done": 0.5}
    assert last_line(tmp_path / "none.jsonl") == {}


def test_parts_of_a_job_add_up_and_get_a_time_left() -> None:
    told: list[Progress] = []
    clock = iter([0.0, 30.0]).__next__
    report = part(EtaReport(told.append, clock), 0.5, 0.5, "training: ")
    report(Progress("epoch 1", 0.5))
    assert told[0].done == pytest.approx(0.75)
    assert told[0].stage == "training: epoch 1"
    assert told[0].eta_s == pytest.approx(10.0)


@pytest.mark.skipif(os.name != "posix", reason="nice values are of POSIX")
@pytest.mark.parametrize(("before", "after"), [(0, NICE), (NICE + 5, NICE + 5)])
def test_a_job_stands_back_behind_the_game_and_the_face(before: int, after: int) -> None:
    code = f"import os, engine.work; os.nice({before} - os.nice(0)); engine.work._step_back(); print(os.nice(0))"
    done = subprocess.run([sys.executable, "-c", code], env=child_environment(), capture_output=True, text=True, check=True)
    assert int(done.stdout) == after

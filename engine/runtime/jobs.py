"""Long work as child processes: their progress stands in files that are tailed, so a job outlives the face.

A job's folder, ``<workspace>/logs/jobs/<id>``, holds ``job.json`` (what it is, its process), ``progress.jsonl``
(see ``progress.ProgressFile``) and ``output.log`` (everything it printed).
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from engine.runtime.progress import last_line
from engine.state import JobPhase, JobState

log = logging.getLogger(__name__)

_STOP_AFTER_S = (0.0, 15.0, 20.0)
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM))


def child_environment() -> dict[str, str]:
    """The environment of every child: a safe path (a folder named ``data`` where the user stands is not ours)."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "PYTHONUNBUFFERED": "1"}


@dataclass(slots=True)
class _Job:
    state: JobState
    folder: Path
    pid: int
    created_s: float  # the process's start time: a pid alone may be used again
    process: subprocess.Popen[bytes] | None = None
    stop_asked_s: float = 0.0
    stops_sent: int = 0


class JobRunner:
    """Starts, watches and stops jobs. ``poll`` is called about twice a second; all methods from one thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs: dict[str, _Job] = {}
        self._adopt()

    def start(self, kind: str, title: str, arguments: dict[str, Any]) -> str:
        """Start ``engine.work`` with this kind and arguments; returns the job's id."""
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        job_id = next(i for i in (f"{stamp}_{kind}", *(f"{stamp}_{kind}_{n}" for n in range(2, 100))) if i not in self._jobs)
        folder = self._folder / job_id
        folder.mkdir(parents=True)
        with open(folder / "output.log", "wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "engine.work", kind, json.dumps(arguments), str(folder / "progress.jsonl")],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=child_environment(),
                start_new_session=os.name == "posix",
            )
        created_s = _created_s(process.pid)
        (folder / "job.json").write_text(
            json.dumps({"id": job_id, "kind": kind, "title": title, "arguments": arguments, "pid": process.pid, "created_s": created_s}),
            encoding="utf-8",
        )
        self._jobs[job_id] = _Job(JobState(job_id, kind, title, "running", "starting"), folder, process.pid, created_s, process)
        return job_id

    def stop(self, job_id: str) -> str:
        """Ask a job to save and stop; it is ended by force when it has not after 20 s."""
        job = self._jobs.get(job_id)
        if job is None or job.state.phase != "running":
            raise ValueError(f"no running job {job_id}; running: {', '.join(self.running()) or 'none'}")
        if not job.stop_asked_s:
            job.stop_asked_s = time.monotonic()
        self.poll()
        return f"{job.state.title}: asked to save and stop"

    def running(self) -> list[str]:
        return [i for i, job in self._jobs.items() if job.state.phase == "running"]

    def states(self) -> tuple[JobState, ...]:
        """The jobs of this run, newest last (at most 20)."""
        return tuple(job.state for job in list(self._jobs.values())[-20:])

    def poll(self) -> list[JobState]:
        """Read the progress files; the jobs that ended since the last call."""
        ended: list[JobState] = []
        for job in self._jobs.values():
            if job.state.phase != "running":
                continue
            self._push_stop(job)
            code = job.process.poll() if job.process is not None else (None if _alive(job.pid, job.created_s) else 0)
            job.state = _read(job)
            if code is None:
                continue
            job.state = _ended(job, code)
            ended.append(job.state)
        return ended

    def _push_stop(self, job: _Job) -> None:
        if not job.stop_asked_s:
            return
        waited_s = time.monotonic() - job.stop_asked_s
        while job.stops_sent < len(_STOP_AFTER_S) and waited_s >= _STOP_AFTER_S[job.stops_sent]:
            if _alive(job.pid, job.created_s):
                os.kill(job.pid, _STOP_SIGNALS[job.stops_sent])
            job.stops_sent += 1

    def _adopt(self) -> None:
        """Take up jobs that an earlier engine started and that still run."""
        for path in sorted(self._folder.glob("*/job.json")):
            try:
                known = json.loads(path.read_text(encoding="utf-8"))
                pid, created_s = int(known["pid"]), float(known["created_s"])
                job = _Job(JobState(str(known["id"]), str(known["kind"]), str(known["title"]), "running"), path.parent, pid, created_s)
            except (OSError, ValueError, KeyError, TypeError):
                log.warning("%s is damaged and is left alone", path)
                continue
            if _alive(pid, created_s):
                self._jobs[job.state.id] = job


def _read(job: _Job) -> JobState:
    line = last_line(job.folder / "progress.jsonl")
    if not line:
        return job.state
    eta = line.get("eta_s")
    return replace(
        job.state,
        stage=str(line.get("stage", job.state.stage)),
        done=float(line.get("done", job.state.done)),
        eta_s=float(eta) if isinstance(eta, int | float) else None,
        message=str(line.get("message", "")),
        run_dir=str(line.get("run_dir") or job.state.run_dir),
    )


def _ended(job: _Job, code: int) -> JobState:
    line = last_line(job.folder / "progress.jsonl")
    told = line.get("phase")
    if told in ("done", "failed", "cancelled"):
        phase: JobPhase = told
        return replace(job.state, phase=phase, eta_s=None, done=1.0 if phase == "done" else job.state.done)
    why = f"ended with code {code}" if code >= 0 else f"killed by signal {-code}"
    return replace(
        job.state, phase="cancelled" if job.stop_asked_s else "failed", eta_s=None, message=f"{why}; see {job.folder / 'output.log'}"
    )


def _created_s(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0


def _alive(pid: int, created_s: float) -> bool:
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - created_s) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False

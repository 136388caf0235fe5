"""Long work as child processes: their progress stands in files that are tailed, so a job outlives the face.

A job's folder, ``<workspace>/logs/jobs/<id>``, holds ``job.json`` (what it is, its process, the engine that looks after
it), ``progress.jsonl`` (see ``progress.ProgressFile``) and ``output.log`` (everything it printed). A job whose engine has
handed it over, or is gone, is taken up by the next engine of the workspace, also when it has ended meanwhile.

Of the jobs that learn one runs at a time; those asked for meanwhile wait in their order.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from data.files import from_json, write_json
from data.locks import Identity, identity
from engine.platforms.processes import ask_to_end, creation_flags
from engine.restore import restored
from engine.runtime.progress import last_line
from engine.state import JobPhase, JobState

log = logging.getLogger(__name__)

ONE_AT_A_TIME: Final = frozenset({"train", "detector", "teach", "imitate", "refine", "league"})
"""The kinds of job that take the whole machine."""
_STOP_AFTER_S = (0.0, 15.0, 20.0)
_ENDED_BY_FORCE: Final = -9
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def child_environment() -> dict[str, str]:
    """The environment of every child: a safe path (a folder named ``data`` where the user stands is not ours)."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "PYTHONUNBUFFERED": "1"}


@dataclass(slots=True)
class _Job:
    state: JobState
    folder: Path
    child: Identity | None  # None: it waits, or it had ended before it could be looked at
    arguments: dict[str, Any]
    process: subprocess.Popen[bytes] | None = None
    stop_asked_s: float = 0.0
    stops_sent: int = 0

    def write_down(self, *, owned: bool = True) -> None:
        """Keep ``job.json`` as it is now; not ``owned``: any engine may take the job up. A disk that refuses is told: it must not keep the
        others from being watched."""
        known: dict[str, Any] = {
            "id": self.state.id,
            "kind": self.state.kind,
            "title": self.state.title,
            "arguments": self.arguments,
            "process": _to_json(self.child),
            "engine": _to_json(identity()) if owned else None,
            "ended": "" if self.state.phase in ("running", "queued") else self.state.phase,
            "queued": self.state.phase == "queued",
        }
        try:
            write_json(self.folder / "job.json", known)
        except OSError as error:
            log.warning("%s: how it stands could not be written down: %s", self.state.title, error.strerror or error)


class JobRunner:
    """Starts, watches and stops jobs. ``poll`` is called about twice a second; all methods from one thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs: dict[str, _Job] = {}
        self._ended_alone: list[JobState] = []  # while nobody polled: not told of yet
        self._adopt()

    def start(self, kind: str, title: str, arguments: dict[str, Any]) -> str:
        """Start ``engine.work`` with this kind and arguments, or let it wait for its turn; returns the job's id."""
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        job_id = next(i for i in (f"{stamp}_{kind}", *(f"{stamp}_{kind}_{n}" for n in range(2, 100))) if i not in self._jobs)
        folder = self._folder / job_id
        folder.mkdir(parents=True)
        job = _Job(JobState(job_id, kind, title, "queued", "waits for its turn"), folder, None, arguments)
        self._jobs[job_id] = job
        if kind in ONE_AT_A_TIME and self._learning():
            job.write_down()
        else:
            self._launch(job)
        return job_id

    def _launch(self, job: _Job) -> None:
        with open(job.folder / "output.log", "wb") as output:
            job.process = subprocess.Popen(
                [sys.executable, "-m", "engine.work", job.state.kind, json.dumps(job.arguments), str(job.folder / "progress.jsonl")],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=child_environment(),
                start_new_session=True,
                creationflags=creation_flags(keep_console=True),
            )
        job.child = identity(job.process.pid)
        job.state = replace(job.state, phase="running", stage="starting")
        job.write_down()

    def _learning(self) -> bool:
        return any(job.state.phase == "running" and job.state.kind in ONE_AT_A_TIME for job in self._jobs.values())

    def _launch_next(self) -> None:
        """Start the job that has waited longest when it is its turn."""
        waiting = self._queued()
        if waiting and not self._learning():
            self._launch(self._jobs[waiting[0]])

    def _queued(self) -> list[str]:
        return [job_id for job_id, job in self._jobs.items() if job.state.phase == "queued"]

    def stop(self, job_id: str) -> str:
        """Ask a job to save and stop; it is ended by force when it has not after 20 s."""
        job = self._jobs.get(job_id)
        if job is not None and job.state.phase == "queued":
            job.state = replace(job.state, phase="cancelled", stage="", message="taken out of the queue")
            job.write_down()
            return f"{job.state.title}: taken out of the queue"
        if job is None or job.state.phase != "running":
            raise ValueError(f"no running job {job_id}; running: {', '.join(self.running()) or 'none'}")
        if not job.stop_asked_s:
            job.stop_asked_s = time.monotonic()
        self._ended_alone = self.poll()  # whoever ended in this very moment is told of by the next poll
        return f"{job.state.title}: asked to save and stop"

    def running(self) -> list[str]:
        return [i for i, job in self._jobs.items() if job.state.phase == "running"]

    def states(self) -> tuple[JobState, ...]:
        """The jobs of this run, newest last (at most 20)."""
        return tuple(job.state for job in list(self._jobs.values())[-20:])

    def poll(self) -> list[JobState]:
        """Read the progress files; the jobs that ended since the last call."""
        ended, self._ended_alone = self._ended_alone, []
        for job in self._jobs.values():
            if job.state.phase != "running":
                continue
            self._push_stop(job)
            alive = job.process.poll() is None if job.process is not None else _alive(job.child)
            job.state = _read(job)
            if not alive:
                self._note_end(job)
                ended.append(job.state)
        self._launch_next()
        return ended

    def stop_all(self) -> None:
        """Ask every job to save and stop, those that wait first; ``poll`` tells when they have."""
        for job_id in [*self._queued(), *self.running()]:
            self.stop(job_id)

    def kill_all(self) -> list[str]:
        """End by force what still runs: its last checkpoint stays. The titles."""
        for job_id in self._queued():
            self.stop(job_id)
        running = [self._jobs[job_id] for job_id in self.running()]
        for job in running:
            _kill(job.child)
            if job.process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    job.process.wait(2.0)
            job.stop_asked_s = job.stop_asked_s or time.monotonic()
        self._ended_alone = self.poll()
        return [job.state.title for job in running]

    def release(self) -> list[str]:
        """Leave the running jobs to the next engine of this workspace. The titles."""
        running = [self._jobs.pop(job_id) for job_id in (*self.running(), *self._queued())]
        for job in running:
            job.write_down(owned=False)
            if job.process is not None:
                job.process.returncode = 0  # no child of ours to wait for any more
        return [job.state.title for job in running]

    def _note_end(self, job: _Job) -> None:
        job.state = _ended(job, job.process.returncode if job.process is not None else None)
        job.write_down()

    def _push_stop(self, job: _Job) -> None:
        if not job.stop_asked_s:
            return
        waited_s = time.monotonic() - job.stop_asked_s
        while job.stops_sent < len(_STOP_AFTER_S) and waited_s >= _STOP_AFTER_S[job.stops_sent]:
            if job.stops_sent < len(_STOP_SIGNALS):
                _send(job.child, _STOP_SIGNALS[job.stops_sent])
            else:
                _kill(job.child)
            job.stops_sent += 1

    def _adopt(self) -> None:
        """Take up jobs that an earlier engine started and nobody looks after: those that run, and those that have ended since."""
        for path in sorted(self._folder.glob("*/job.json")):
            try:
                known = from_json(path.read_text(encoding="utf-8"))
                state = JobState(str(known["id"]), str(known["kind"]), str(known["title"]), "running")
                job = _Job(state, path.parent, _from_json(known["process"]), dict(known["arguments"]))
                ended, queued = str(known["ended"]), known.get("queued") is True
                looked_after = _alive(_from_json(known["engine"]))
            except (OSError, ValueError, KeyError, TypeError):
                log.warning("%s is damaged and is left alone", path)
                continue
            if ended or looked_after:
                continue
            job.state = replace(state, phase="queued", stage="waits for its turn") if queued else _read(job)
            self._jobs[job.state.id] = job
            if queued or _alive(job.child):
                job.write_down()
            else:
                self._note_end(job)
                self._ended_alone.append(job.state)


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


def _ended(job: _Job, code: int | None) -> JobState:
    """How it ended; ``code`` is None for a job of an earlier engine."""
    line = last_line(job.folder / "progress.jsonl")
    told = line.get("phase")
    if told in ("done", "failed", "cancelled"):
        phase: JobPhase = told
        return replace(job.state, phase=phase, eta_s=None, done=1.0 if phase == "done" else job.state.done)
    if code == _ENDED_BY_FORCE and not job.stop_asked_s:  # how Linux ends a process when there is no memory left
        why = "it was ended by force (signal 9), most likely since this machine ran out of memory: close other programs, or use a"
        return replace(job.state, phase="failed", eta_s=None, message=f"{why} smaller batch; see {job.folder / 'output.log'}")
    why = "its process is gone" if code is None else f"ended with code {code}" if code >= 0 else f"killed by signal {-code}"
    return replace(
        job.state, phase="cancelled" if job.stop_asked_s else "failed", eta_s=None, message=f"{why}; see {job.folder / 'output.log'}"
    )


def _to_json(process: Identity | None) -> dict[str, Any] | None:
    return None if process is None else asdict(process)


def _from_json(value: object) -> Identity | None:
    return None if value is None else restored(Identity, value)


def _alive(process: Identity | None) -> bool:
    """Whether this very process lives; another one with its number does not count."""
    return process is not None and identity(process.pid) == process


def _send(process: Identity | None, number: int) -> None:
    if process is not None and _alive(process):
        ask_to_end(process.pid, number)


def _kill(process: Identity | None) -> None:
    """End it by force, and what it has started itself."""
    if process is None or not _alive(process):
        return
    if sys.platform == "win32":
        os.kill(process.pid, signal.SIGTERM)
    elif os.getpgid(process.pid) == process.pid:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        os.kill(process.pid, signal.SIGKILL)

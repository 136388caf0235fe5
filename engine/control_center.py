"""The engine: every service wired, its own thread and loop, commands in, one snapshot out.

The face, the headless server and the command line talk to it only through ``command`` and ``snapshot``. Drawing
never runs on this loop and this loop never waits for a terminal.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from data.metadata import Source
from data.settings import Settings
from data.workspace import Workspace
from engine.alerts import Alerts
from engine.bot import Bot
from engine.commands import COMMANDS, EngineError
from engine.duties import Duties
from engine.kept import count_kept
from engine.notices import NoticeHandler, log_to_file
from engine.recorder import Recorder, RecordingSettings
from engine.recorder_machine import KeyNames
from engine.rig import Rig
from engine.runtime.jobs import JobRunner
from engine.runtime.pacing import Spread
from engine.runtime.service import TaskService
from engine.runtime.supervisor import Supervisor
from engine.source_spec import SourceSpec
from engine.state import BotState, EngineState, Picture, SystemState
from engine.wire import own_version

if TYPE_CHECKING:
    from engine.input.hotkeys import Hotkeys

log = logging.getLogger("engine")  # what a person calls it

SNAPSHOT_S, IDLE_SNAPSHOT_S = 0.1, 0.4
HOUSEKEEPING_S = 0.5
JOBS_LEFT_S = 0.5
"""So long before the deadline, jobs that have not ended are ended by force."""


class ControlCenter:
    """One engine. ``start`` returns at once; ``stop`` ends everything within a deadline and names what would not."""

    attached = False
    """This process's own engine, not one that is reached from elsewhere."""
    link = ""
    """Nothing can be wrong with the way to it."""

    def __init__(self, settings: Settings, workspace: Workspace | None = None, debug: bool = False) -> None:
        self.settings = settings
        self.workspace = workspace if workspace is not None else settings.workspace()
        self.supervisor = Supervisor()
        self.bot = Bot(settings.live.tick_hz)
        self.spec = SourceSpec.from_settings(settings)
        self.alerts = Alerts(settings.recorder.notice)
        self.recorder = Recorder(
            RecordingSettings(
                self.workspace.root, self.spec.profile(settings), Source(), fps=settings.capture.fps, tick_hz=settings.live.tick_hz
            ),
            self._on_recorder,
            alert=self.alerts.tell,
            keys=KeyNames(*(key.upper() for key in (settings.keys.record, settings.keys.save, settings.keys.discard))),
        )
        self.hotkeys: Hotkeys | None = None
        self.jobs: JobRunner | None = None
        self.rig: Rig | None = None
        self.rig_lock = asyncio.Lock()
        self.checks: tuple[tuple[str, str, str], ...] = ()
        self._debug = debug
        self._notices: NoticeHandler | None = None
        self._log_file: logging.Handler | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._ended = threading.Event()
        self._stop_asked: asyncio.Event | None = None
        self._stop_reason = ""
        self._left_over: list[str] = []
        self.stop_deadline_s = 5.0
        """How long ending may take when nobody says otherwise: most of it is for jobs to save."""
        self._hurry = False
        self._keep_jobs = False
        self._last_problem = self._repairing = self._failure = ""
        self._state = EngineState(workspace=str(self.workspace.root), started_s=time.time(), pid=os.getpid(), version=own_version())
        self._lag_ms = Spread(600)
        self._kept = (0, 0)
        self._recorded: tuple[str, str] = ("idle", "")  # as the recorder was when that was counted
        self._served = ("", 0)
        self._process = psutil.Process()
        self._extra: list[TaskService] = []

    # ---- from any thread

    def start(self) -> None:
        if self._thread is not None:
            return
        # A thread that waits for the interpreter gets it within 1 ms: with the usual 5 ms a tick lost several turns.
        sys.setswitchinterval(0.001)
        self._notices, self._log_file = log_to_file(self.workspace.made(self.workspace.logs), self._debug)
        self._thread = threading.Thread(target=self._run_loop, name="engine", daemon=True)
        self._thread.start()

    def wait_ready(self, timeout_s: float = 20.0) -> bool:
        """Whether it is up in time. A session that is repaired first takes as long as it is long: that time does not count.

        Raises EngineError when it has ended instead.
        """
        until_s = time.monotonic() + timeout_s
        while not self._ready.wait(0.1):
            now_s = time.monotonic()
            until_s = now_s + timeout_s if self._repairing else until_s
            if self._ended.is_set():
                raise EngineError(f"it ended by itself: {self._failure}; {self.workspace.logs / 'secondseat.log'} says more")
            if now_s > until_s:
                return False
        return True

    def snapshot(self) -> EngineState:
        """The newest state; a plain read of a reference."""
        return self._state

    def picture(self, max_width_px: int, max_height_px: int) -> Picture | None:
        """The newest picture made small, with what was found on it; None while nothing is watched."""
        rig = self.rig
        return rig.picture(max_width_px, max_height_px) if rig is not None else None

    def command(self, name: str, **params: Any) -> Future[str]:
        """Run one of ``COMMANDS``. The future gives a line to show, or raises EngineError with what to do."""
        done: Future[str] = Future()
        handler = COMMANDS.get(name)
        if handler is None:
            done.set_exception(EngineError(f"no command {name}; there are: {', '.join(sorted(COMMANDS))}"))
            return done
        if self._loop is None or not self._ready.is_set() or self._ended.is_set():
            done.set_exception(EngineError("the engine is not running yet; try again in a moment"))
            return done
        return asyncio.run_coroutine_threadsafe(self._guarded(handler, params), self._loop)

    def busy(self) -> list[str]:
        """What runs that leaving would end or leave behind."""
        return self._state.doing()

    def request_stop(self, reason: str) -> None:
        """Disarm, save and end, from any thread and without waiting."""
        self._stop_reason = reason
        loop, stop = self._loop, self._stop_asked
        if loop is not None and stop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)

    def duties(self) -> Duties:
        """What a new engine would have to go on with."""
        return Duties(self.spec if self.rig is not None else None, self._state.recorder.phase in ("recording", "paused"))

    def stop(self, deadline_s: float | None = None, *, keep_jobs: bool = False) -> list[str]:
        """Disarm the bot, save the recording, stop all services; the names of those that would not stop.

        Jobs save and end too; with ``keep_jobs`` they run on and are left to the next engine of this workspace.
        """
        if deadline_s is not None:
            self.stop_deadline_s = deadline_s
        self._keep_jobs = self._keep_jobs or keep_jobs
        self.request_stop(self._stop_reason or ("handed over" if keep_jobs else "left"))
        if self._thread is not None and not self._ended.wait(self.stop_deadline_s + 2.0):
            return ["engine"]
        return self._left_over

    def hurry(self) -> None:
        """Wait for jobs no longer while ending; the recording is saved all the same."""
        self._hurry = True

    def stop_engine(self) -> Future[str]:
        """As ``request_stop``, for whoever holds a control centre without knowing where it stands."""
        self.request_stop("asked to stop")
        done: Future[str] = Future()
        done.set_result("stopping: the bot lets go, the recording is saved")
        return done

    def wait_ended(self, timeout_s: float | None = None) -> bool:
        return self._ended.wait(timeout_s)

    @property
    def stop_reason(self) -> str:
        return self._stop_reason

    def serve(self, name: str, *, exact: bool = True) -> None:
        """Let other processes of this user reach this engine by a name; before ``start``. Raises RemoteError.

        Unless ``exact``, the next free name is taken when another engine has it.
        """
        from engine.endpoint import endpoint_path, take_place
        from engine.remote_server import RemoteServer

        self._extra.append(RemoteServer(self, take_place(endpoint_path(name), exact=exact)))

    # ---- on the engine's loop

    def _run_loop(self) -> None:
        try:
            asyncio.run(self._main())
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}"
            log.exception("the engine ended on an error")
        finally:
            self._ended.set()
            for handler in (self._notices, self._log_file):
                if handler is not None:
                    logging.getLogger().removeHandler(handler)
                    handler.close()

    async def _main(self) -> None:
        self._loop, self._stop_asked = asyncio.get_running_loop(), asyncio.Event()
        self.jobs = JobRunner(self.workspace.made(self.workspace.logs / "jobs"))
        for service in self._extra:
            self.supervisor.add(service)
            self.supervisor.start(service.name)
        await asyncio.to_thread(self._recover)
        self.alerts.start()
        self.recorder.start()
        await asyncio.to_thread(self._start_hotkeys)
        self._publish()
        self._ready.set()
        housekeeping_s = 0.0
        try:
            while not self._stop_asked.is_set():
                pause_s = SNAPSHOT_S if self.rig is not None or self._state.doing() else IDLE_SNAPSHOT_S
                due_s = time.monotonic() + pause_s
                try:
                    await asyncio.wait_for(self._stop_asked.wait(), pause_s)
                except TimeoutError:
                    self._lag_ms.add(max(0.0, (time.monotonic() - due_s) * 1e3))
                if time.monotonic() - housekeeping_s >= HOUSEKEEPING_S:
                    housekeeping_s = time.monotonic()
                    try:
                        await self._housekeeping()
                    except Exception as error:  # a full disk, say: no reason to end with a recording under way
                        self._tell_once(error)
                self._publish()
        finally:
            await self._shut_down()

    def _recover(self) -> None:
        from data.recovery import recover_all

        def begins(name: str) -> None:
            self._repairing = name
            log.info("repairing %s, which was left unfinished", name)

        for report in recover_all(self.workspace.root, begins):
            log.warning("%s", report.message)
        self._repairing = ""
        self.count_kept()

    def _tell_once(self, error: Exception) -> None:
        """What goes wrong twice a second is told the first time."""
        text = f"{type(error).__name__}: {error}"
        if text != self._last_problem:
            self._last_problem = text
            log.error("looking after what runs failed, and is tried again: %s", text, exc_info=error)

    def count_kept(self) -> None:
        """Count anew what the workspace holds; it reads the disk. What cannot be counted is told of: it is no reason to end."""
        try:
            self._kept = count_kept(self.workspace.root)
        except Exception as error:
            log.error("what the workspace holds cannot be counted: %s", error, exc_info=error)

    def _start_hotkeys(self) -> None:
        from engine.input.hotkeys import Hotkeys

        stop_key = self.settings.actuator.stop_key
        self.hotkeys = Hotkeys(self._on_hotkey, self.settings.control_keys(), even_with_modifiers=(stop_key,))
        log.info("global hotkeys: %s", self.hotkeys.start())

    def _on_hotkey(self, name: str) -> None:
        """From the listener's thread: hands off first, everything else on the loop."""
        keys = self.settings.keys
        if name == self.settings.actuator.stop_key:
            self.bot.stop(f"{name.upper()} was pressed")
            self.command("stop_all", reason=f"{name.upper()} was pressed")
        else:
            command = {keys.record: "record_toggle", keys.save: "record_save", keys.discard: "record_discard"}[name]
            self.command(command).add_done_callback(lambda done: self._on_hotkey_done(name, done))

    def _on_hotkey_done(self, name: str, done: Future[str]) -> None:
        """Nobody looks at the terminal when a key is pressed in the game: what came to nothing is told by tone too."""
        error = done.exception() if not done.cancelled() else None
        if error is not None:
            log.warning("%s: %s", name.upper(), error)
            self.alerts.tell("failure", str(error))

    def _on_recorder(self, level: str, text: str) -> None:
        log.log({"error": logging.ERROR, "warning": logging.WARNING}.get(level, logging.INFO), "recorder: %s", text)

    async def _housekeeping(self) -> None:
        self.supervisor.check()
        if self.hotkeys is not None and self.hotkeys.look():
            await asyncio.to_thread(self.hotkeys.revive)
        ended = self.jobs is not None and self._note_ended(self.jobs)
        recorder = self.recorder.state()
        before, self._recorded = self._recorded, (recorder.phase, recorder.last_session)
        if ended or before != self._recorded:  # a recording also ends by itself: its window was closed, the disk is full
            await asyncio.to_thread(self.count_kept)
        if self.rig is not None:
            await self.rig.housekeeping()

    def note_served(self, name: str, viewers: int) -> None:
        """Under which name this engine can be reached, and how many faces are attached."""
        self._served = (name, viewers)

    async def _guarded(self, handler: Callable[..., Awaitable[str]], params: dict[str, Any]) -> str:
        try:
            text = await handler(self, **params)
        except EngineError:
            raise
        except TypeError as error:
            raise EngineError(f"{getattr(handler, '__name__', 'command')}: {error}") from error
        except (OSError, ValueError, RuntimeError) as error:
            log.warning("%s", error)
            raise EngineError(str(error)) from error
        except Exception as error:
            known = type(error).__module__.split(".", 1)[0] in ("data", "engine", "trainers", "league")
            if not known:
                log.exception("a command failed")
            raise EngineError(str(error) or type(error).__name__) from error
        else:
            if text and text != self.recorder.state().note:  # what the recorder says is a notice already
                log.info("%s", text)
            return text
        finally:
            self._publish()  # whoever waited for the command sees its effect

    async def _shut_down(self) -> None:
        """Order matters: hands off first, then save what was recorded, then the rest. Jobs save meanwhile."""
        began_s = time.monotonic()
        log.info("the engine ends: %s", self._stop_reason or "left")
        self.bot.disarm(self._stop_reason)
        jobs = self.jobs
        if jobs is not None:
            await self._step("jobs", lambda: self._ask_jobs(jobs))

        async def save() -> None:
            if not await asyncio.to_thread(self.recorder.stop, self._stop_reason or "left", self.stop_deadline_s):
                self._left_over.append("recorder")

        await self._step("recorder", save)
        self._publish()
        await self._step("alerts", lambda: asyncio.to_thread(self.alerts.stop))
        if self.hotkeys is not None:
            await self._step("hotkeys", lambda hotkeys=self.hotkeys: asyncio.to_thread(hotkeys.stop))
        if self.rig is not None:
            await self._step("source", self._end_rig)
        if jobs is not None:
            await self._step("jobs", lambda: self._end_jobs(jobs, began_s))
        self._publish()
        self._left_over += await self.supervisor.stop_all(self.stop_deadline_s / 2)
        self._publish()
        if self._left_over:
            log.error("would not stop: %s", ", ".join(self._left_over))

    async def _step(self, what: str, step: Callable[[], Awaitable[None] | None]) -> None:
        """One step of ending; those after it are done whatever becomes of it."""
        try:
            waited = step()
            if waited is not None:
                await waited
        except Exception:
            log.exception("ending: %s", what)
            self._left_over += [what] if what not in self._left_over else []

    def _ask_jobs(self, jobs: JobRunner) -> None:
        if self._keep_jobs:
            for title in jobs.release():
                log.info("%s runs on, for the next engine", title)
        else:
            jobs.stop_all()

    async def _end_rig(self) -> None:
        rig, self.rig = self.rig, None
        if rig is not None:
            self._left_over += await rig.stop(self.supervisor, self.stop_deadline_s)

    async def _end_jobs(self, jobs: JobRunner, began_s: float) -> None:
        """Wait for the jobs that were asked to save; those that need longer are ended, at their last checkpoint."""
        while jobs.running() and not self._hurry and time.monotonic() < began_s + self.stop_deadline_s - JOBS_LEFT_S:
            await asyncio.sleep(0.05)
            self._note_ended(jobs)
            self._publish()
        for title in jobs.kill_all():
            log.warning("%s was ended before it had saved by itself; its last checkpoint stays", title)

    def _note_ended(self, jobs: JobRunner) -> bool:
        """Tell of jobs that have ended; whether there were any."""
        ended = jobs.poll()
        for job in ended:
            level = {"done": logging.INFO, "failed": logging.ERROR}.get(job.phase, logging.WARNING)
            log.log(level, "%s: %s%s", job.title, job.phase, f": {job.message}" if job.message else "")
        return bool(ended)

    def _publish(self) -> None:
        rig = self.rig
        notices, notice_count = self._notices.counted() if self._notices is not None else ((), 0)
        bot = self.bot.state()
        self.alerts.follow_bot(bot.phase, _bot_text(bot))
        state = replace(
            self._state,
            sequence=self._state.sequence + 1,
            time_s=time.time(),
            name=self._served[0],
            viewers=self._served[1],
            ending=self._stop_reason,
            recorder=self.recorder.state(),
            alert=self.alerts.newest,
            bot=bot,
            services=self.supervisor.states(),
            jobs=self.jobs.states() if self.jobs is not None else (),
            notices=notices,
            notice_count=notice_count,
            checks=self.checks,
            sessions=self._kept[0],
            policies=self._kept[1],
            system=self._system(),
        )
        if rig is not None:
            state = replace(state, capture=rig.capture_state(), tick=rig.tick_state(), arena=rig.arena_state())
        else:
            empty = EngineState()
            state = replace(state, capture=empty.capture, tick=empty.tick, arena=empty.arena)
        self._state = state

    def _system(self) -> SystemState:
        rig, process = self.rig, self._process
        # Measured since the call before: too short a time says little.
        cpu_percent = process.cpu_percent(None) if self._state.sequence % 10 == 0 else self._state.system.cpu_percent
        return SystemState(
            cpu_percent=cpu_percent,
            memory_mb=round(process.memory_info().rss / 1e6, 1),
            loop_lag_p99_ms=round(self._lag_ms.quantile(0.99), 1),
            hotkeys=self.hotkeys.state if self.hotkeys is not None else "off: starting",
            last_hotkey=self.hotkeys.last.text if self.hotkeys is not None and self.hotkeys.last is not None else "",
            actuator=rig.actuator_text() if rig is not None else "off",
            display=os.environ.get("DISPLAY", ""),
        )

    def policy_path(self, name: str) -> Path:
        """The folder of a policy by its name (empty: the promoted one, else the newest)."""
        from data.models import resolve_policy

        return resolve_policy(self.workspace.root, name)


def _bot_text(bot: BotState) -> str:
    """For an alert: who has the controls."""
    if bot.phase in ("armed", "flying", "paused"):
        return f"the bot is armed: {bot.policy} may drive {bot.window}"
    return f"the bot has let go{f': {bot.reason}' if bot.reason else ''}"

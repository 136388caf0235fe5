"""Everything that watches one source, wired: capture, tick, input, recorder and the bot's hands.

A rig is made when a source is chosen and thrown away when another is; the recorder and the bot outlive it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from data.metadata import Source
from data.schema import Frame, InputEvent
from data.settings import Settings
from data.vocabulary import ActorKind
from data.workspace import Workspace
from engine.bot import Bot, Hands
from engine.hands import ActuatorHands, ArenaHands
from engine.live import CaptureService, Perceives, Pilots, TickService
from engine.recorder import Recorder, RecordingSettings
from engine.runtime.supervisor import Supervisor
from engine.screen_input import ScreenInput
from engine.source_spec import SourceSpec
from engine.sources.arena import ArenaSource
from engine.state import ArenaState, CaptureState, Picture, TickState
from engine.step_assembler import StepAssembler

if TYPE_CHECKING:
    from engine.actuator.client import Actuator, ActuatorStatus
    from engine.arena_window import ArenaWindowHandle
    from engine.platforms.port import WindowInfo
    from engine.sources.screen import ScreenSource
    from engine.sources.video import VideoSource

log = logging.getLogger(__name__)

OPEN_TIMEOUT_S = 120.0
"""Opening the arena compiles its rules once per user, which takes about half a minute on a slow machine."""


def _compile_rules() -> None:
    """Compiling inside a live process stalls its other threads, so a child does it, once per user and version."""
    from league.arena.world import warm

    warm()


class RigError(Exception):
    """The source cannot be watched; the text says why and what to do."""


class Rig:
    """``start`` and ``stop`` run on the engine's loop; the states may be read there too."""

    def __init__(self, spec: SourceSpec, settings: Settings, workspace: Workspace, recorder: Recorder, bot: Bot) -> None:
        self.spec, self.profile = spec, spec.profile(settings, workspace)
        self._settings, self._workspace, self._recorder, self._bot = settings, workspace, recorder, bot
        self._arena: ArenaSource | None = None
        self._video: VideoSource | None = None
        self._screen: ScreenSource | None = None
        self._window: ArenaWindowHandle | None = None
        self._input: ScreenInput | None = None
        self._actuator: Actuator | None = None
        self._told: tuple[bool, str] | None = None
        self._notice = ""
        self._failure_told = False
        self._assembler = StepAssembler(self.profile)
        self.capture: CaptureService | None = None
        self.tick: TickService | None = None

    async def start(self, supervisor: Supervisor) -> None:
        """Open the source and wait until it gives pictures. Raises RigError and leaves nothing running."""
        try:
            await self._start(supervisor)
        except BaseException:
            await self.stop(supervisor, 3.0)
            raise

    async def _start(self, supervisor: Supervisor) -> None:
        spec, settings = self.spec, self._settings
        if spec.kind == "arena":
            await asyncio.to_thread(_compile_rules)
            source: Any = ArenaSource(spec.pilot or None, spec.seed, spec.fps, look=spec.look)
            self._arena = source
        elif spec.kind == "video":
            from engine.sources.video import VideoSource

            source = self._video = VideoSource(spec.folder(self._workspace), loop=spec.loop)
        else:
            if spec.kind == "arena_window":
                await self._open_arena_window()
            source = await asyncio.to_thread(self._make_screen)
            self._screen = source
            self._make_hands_and_ears()
        capture = CaptureService(source, spec.fps, self.profile.name, self._on_event if self._screen is None else None)
        capture.on_turn = self._on_turn
        capture.sinks.append(self._on_frame)
        self.capture = capture
        supervisor.add(capture)
        supervisor.start(capture.name)
        await self._opened(capture)
        if self._screen is not None:
            await asyncio.to_thread(self._listen)
        self._recorder.configure(
            RecordingSettings(
                self._workspace.root,
                self.profile,
                Source(kind=source.kind, description=source.description),
                fps=spec.fps,
                tick_hz=settings.live.tick_hz,
                control_keys=settings.control_keys(),
                prebuffer_s=settings.recorder.prebuffer_s,
                last_remarks=self._input.last_remarks if self._input is not None else list,
                details=self._details(),
                scale=self._screen.scale if self._screen is not None else 1.0,
            )
        )
        tick = TickService(capture, self._make_perceiver, self._assembler, settings.live.tick_hz, self.cursor, self.focus, self._flies)
        tick.sinks.append(self._recorder.offer_step)
        self.tick = tick
        supervisor.add(tick)
        supervisor.start(tick.name)

    async def stop(self, supervisor: Supervisor, deadline_s: float) -> list[str]:
        """Stop everything of this rig; the names of what would not stop."""
        late: list[str] = []
        for service in (self.tick, self.capture):
            if service is not None and not await supervisor.remove(service.name, deadline_s):
                late.append(service.name)
        self.tick = self.capture = None
        self._recorder.forget_source()
        for what in (self._input, self._actuator, self._window):
            if what is not None:
                await asyncio.to_thread(what.stop)
        self._input = self._actuator = self._window = None
        return late

    @property
    def failure(self) -> str:
        """Why nothing is seen or decided any more; empty while all is well. A rig that failed stays so: another one takes its place."""
        for service in (self.capture, self.tick):
            health = service.health() if service is not None else None
            if health is not None and health.health == "failed":
                return f"{health.name}: {health.reason}"
        return ""

    async def housekeeping(self) -> None:
        """Twice a second: follow a window that was opened anew, notice one that was closed, or a capture that failed, read the arena's
        truth."""
        if self.failure and not self._failure_told:
            self._failure_told = True
            if self._recorder.state().phase in ("recording", "paused"):
                self._recorder.finish(self.failure)
            if self._bot.phase in ("armed", "flying", "paused", "yielded"):
                self._bot.stop(self.failure)
        screen = self._screen
        if screen is not None:
            if screen.window_closed and self._recorder.state().phase in ("recording", "paused"):
                self._recorder.note("window closed")
                self._recorder.finish("the window was closed")
            if self._input is not None and screen.window_id != self._input.window_id:
                await asyncio.to_thread(self._listen)
            if screen.notice != self._notice:
                self._notice = screen.notice
                if self._notice:
                    log.warning("%s", self._notice)
                    self._recorder.note(self._notice)
            if self._input is not None:
                self._input.look_at_pointer()
                self._input.look_at_listener()
        if self._video is not None and self._video.ended:
            why = "the session that was played is over"
            if self._recorder.state().phase in ("recording", "paused"):
                self._recorder.finish(why)
            if self._bot.phase in ("armed", "flying", "paused", "yielded"):
                self._bot.disarm(why)
        if self._window is not None and self._window.client is not None:
            from league.arena.truth_socket import TruthSocketError

            try:
                self._window.client.poll()
            except TruthSocketError:
                self._window.client = None
                log.info("the arena's window was closed")

    # ---- what the bot and the recorder need

    def hands(self, dry_run: bool) -> Hands:
        """Hands for what is watched. Raises RigError when nothing can be driven (a whole monitor, a fixed region)."""
        if self._arena is not None:
            return ArenaHands(self._arena.apply, "the arena", dry_run)
        if self._video is not None:
            if not dry_run:
                raise RigError(f"{self.spec.describe()}: what is over cannot be driven; the bot flies it as a dry run only (--dry-run)")
            return ArenaHands(lambda _action: None, self._video.description, dry_run=True)
        if self._actuator is None or self._screen is None or not (self.spec.window or self.spec.kind == "arena_window"):
            raise RigError(
                f"{self.spec.describe()} is not a window: the bot drives only a window that has the focus; choose it by its title"
            )
        return ActuatorHands(self._actuator, self._find_window, self.profile, dry_run)

    def set_pilot(self, pilot: Pilots | None) -> None:
        if self.tick is not None:
            self.tick.pilot = pilot

    def begin_recording(self) -> None:
        """What is held down as a recording begins is part of it, and so is what is wrong with the pictures."""
        if self._notice:
            self._recorder.note(self._notice)
        if self._input is not None:
            self._input.begin_recording()

    def cursor(self) -> tuple[float, float] | None:
        played = self._arena or self._video
        if played is not None:
            return played.cursor
        return self._input.cursor if self._input is not None else None

    def focus(self) -> bool:
        if self._screen is None:
            return True
        return self._input.focus if self._input is not None else not self._title

    # ---- states

    def capture_state(self) -> CaptureState:
        return replace(self.capture.state(self.focus()), notice=self._notice) if self.capture is not None else CaptureState()

    def tick_state(self) -> TickState:
        return self.tick.state() if self.tick is not None else TickState()

    def picture(self, max_width_px: int, max_height_px: int) -> Picture | None:
        """The newest picture made small, with what was found on it; from any thread."""
        from engine.preview import picture_of

        capture, tick = self.capture, self.tick
        frame = capture.newest.look() if capture is not None else None
        if frame is None:
            return None
        observation = tick.observation.look() if tick is not None else None
        return picture_of(frame, observation, self.profile.class_names(), max_width_px, max_height_px)

    def arena_state(self) -> ArenaState:
        if self._arena is not None:
            counters, score, episode = self._arena.counters(), self._arena.score(), self._arena.episode
        elif self._window is not None and self._window.client is not None:
            newest = self._window.client.tick
            counters, score, episode = newest.get("counters", {}), float(newest.get("score", 0.0)), int(newest.get("episode", 0))
        else:
            return ArenaState()
        kills, loot = counters.get("kills", 0), counters.get("looted", 0) + counters.get("caches", 0)
        pilot = "bot" if self._bot.flies else (self.spec.pilot if self._arena is not None else "person")
        return ArenaState(True, round(score, 2), int(kills), int(counters.get("deaths", 0)), int(loot), episode, pilot)

    def actuator_text(self) -> str:
        if self._screen is None:
            return self.spec.kind
        return self._actuator.text() if self._actuator is not None else "off"

    # ---- inside

    @property
    def _title(self) -> str:
        if self.spec.kind == "arena_window":
            return self.profile.window_title
        return self.spec.window

    def _make_perceiver(self) -> Perceives:
        from engine.perception.perceive import Perceiver

        return Perceiver(self.profile, self._settings.live.device)

    def _make_screen(self) -> ScreenSource:
        from engine.sources.screen import ScreenSource

        spec = self.spec
        if self._title:
            return ScreenSource(window=self._title, fps=spec.fps, wait_for_window=False, part=self.profile.window_part)
        if spec.region is not None:
            return ScreenSource(region=spec.region, fps=spec.fps)
        return ScreenSource(monitor=spec.monitor or 1, fps=spec.fps)

    def _make_hands_and_ears(self) -> None:
        from engine.actuator.client import Actuator

        settings = self._settings
        self._actuator = Actuator(stop_key=settings.actuator.stop_key, on_change=self._on_actuator, on_stop_key=self._on_stop_key)
        journal, titled, what = self._actuator.journal, bool(self._title), self.spec.describe()
        keys = settings.control_keys()
        self._input = ScreenInput(self.profile, keys, journal, titled, what, self._on_event, self._recorder, self._bot)

    async def _open_arena_window(self) -> None:
        from engine.arena_window import ArenaWindowError, start_arena_window

        give_up = threading.Event()
        try:
            self._window = await asyncio.to_thread(
                start_arena_window,
                self.spec.seed,
                self.spec.scale,
                self.spec.pilot or None,
                look=self.spec.look,
                cancelled=give_up.is_set,
            )
        except ArenaWindowError as error:
            raise RigError(str(error)) from error
        finally:
            give_up.set()

    async def _opened(self, capture: CaptureService) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + OPEN_TIMEOUT_S
        while not capture.opened.is_set():
            if capture.health().health == "failed":
                raise RigError(capture.reason)
            if loop.time() > until:
                raise RigError(f"{self.spec.describe()} did not open within {OPEN_TIMEOUT_S:g} s")
            await asyncio.sleep(0.01)

    def _listen(self) -> None:
        """Listen to the window that is followed now, or to the mouse inside a fixed region."""
        from engine.platforms.port import PlatformError

        if self._screen is None or self._input is None:
            return
        try:
            self._input.follow(self._screen.window_id, self._screen.rect)
        except PlatformError as problem:
            raise RigError(str(problem)) from problem

    def _find_window(self) -> WindowInfo:
        from engine.platforms import current_port
        from engine.platforms.port import describe_missing_window, find_windows

        port = current_port()
        try:
            # The window that is watched, whatever it is called by now: its pictures are what is decided by, and it is what was named.
            wanted = self._screen.window_id if self._screen is not None else None
            if wanted is not None and (followed := port.window(wanted)) is not None:
                return followed
            found = find_windows(port, self._title)
            if not found:
                raise RigError(describe_missing_window(self._title, port.windows()))
            return found[0]
        finally:
            port.close()

    def _details(self) -> dict[str, Any]:
        if self.spec.kind == "screen":
            return {}
        if self._video is not None:
            return {"session": self._video.folder.name}
        from league.arena.skirmish import RULES_VERSION

        return {"rules_version": RULES_VERSION, "seed": self.spec.seed} | ({"pilot": self.spec.pilot} if self.spec.pilot else {})

    def _flies(self) -> tuple[ActorKind, str]:
        if self._video is not None:
            return self._video.flies
        if self._bot.acts:
            return "bot", self._bot.state().policy
        if self._arena is not None:
            return ("demonstrator", self._arena.pilot) if self._arena.pilot else ("unknown", "")
        return "human", ""

    def _on_event(self, event: InputEvent) -> None:
        self._assembler.event(event)
        self._recorder.offer_event(event)

    def _on_frame(self, frame: Frame) -> None:
        self._recorder.offer_frame(frame)
        self._bot.on_frame(frame)

    def _on_turn(self, visible: bool) -> None:
        """Each capture turn: whether the recorder may take anything in, and why not."""
        screen_input = self._input
        if screen_input is not None:
            screen_input.turn()
        focus = visible and self.focus()
        why = "" if focus else (self.capture.reason if self.capture is not None and not visible else "") or "the window is not in focus"
        if self._told != (focus, why):
            self._told = (focus, why)
            self._recorder.set_focus(focus, why or "the window is not in focus")
            if focus and screen_input is not None:
                screen_input.offer_held()

    def _on_actuator(self, status: ActuatorStatus) -> None:
        level = logging.WARNING if status.condition in ("stopped", "dead", "yielded") else logging.INFO
        log.log(level, "actuator: %s%s", status.condition, f" ({status.reason})" if status.reason else "")

    def _on_stop_key(self) -> None:
        self._bot.stop("the stop key was pressed")

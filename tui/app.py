"""The Textual app: keys, screens, the timer that feeds the panes, and the way out.

Nothing heavy is imported here: the first picture is drawn before the engine, its networks or pydantic are loaded.
``tui.start.run_app`` is the entry.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar, Final, cast

from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.app import App
from textual.binding import Binding, BindingsMap, BindingType
from textual.command import CommandPalette
from textual.screen import Screen

from engine.state import EngineState, Notice
from tui import theme
from tui.actions import PANES, REGISTRY, Action, Registry, is_function_key
from tui.memory import Memory
from tui.output import OutputTail
from tui.panes.base import LinesPane
from tui.pump import EngineHost, NotReady, one_line
from tui.runs import RunWatcher
from tui.screens.live import PANE_IDS, LiveScreen
from tui.style import CSS

SECOND_CTRL_C_S: Final = 2.0
ANSWER_S: Final = 12.0
"""How long the answer to a command stands before the next step takes its line again."""
RUNNING_BOT: Final = ("armed", "flying", "paused", "yielded")


class SecondseatApp(App[int]):
    """``host`` owns the engine; ``memory`` is what the face remembers."""

    CSS = CSS
    TITLE = "Secondseat"
    ENABLE_COMMAND_PALETTE = False  # our own binding opens it
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self,
        host: EngineHost,
        *,
        memory: Memory | None = None,
        output: OutputTail | None = None,
        look: theme.Look | None = None,
        registry: Registry = REGISTRY,
        refresh_hz: float = 0.0,
        on_leave: Callable[[], None] | None = None,
        **kwargs: Any,
    ) -> None:
        self.look = look or theme.pick(os.environ, theme.locale_encoding(os.environ))
        super().__init__(**kwargs)
        self.host = host
        self.memory = memory or Memory(None)
        self.output = output or OutputTail(None)
        self.registry = registry
        self.newest = EngineState()
        self.crash = ""
        self.leaving = False
        self._refresh_hz = refresh_hz
        self._on_leave = on_leave
        self._notices: list[Notice] = []
        self._answer: tuple[float, str, str] = (0.0, "", "info")
        self._ctrl_c_s = -SECOND_CTRL_C_S
        self._wait_then_quit = False
        self._slots = itertools.count()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.runs = RunWatcher(self._models_folder, self._running_folder)
        self._bindings = BindingsMap(self._make_bindings())
        if self.look.theme == theme.SECONDSEAT:
            self.register_theme(theme.own_theme())
        self.theme = self.look.theme

    # ---- start

    def on_mount(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self.look.glyphs.border == "ascii":
            self.add_class("ascii")
        current = self.memory.text("pane", "actions", PANE_IDS)
        for line in self.memory.notices:
            self.note("warning", line)
        self.push_screen(LiveScreen(current))
        self.call_after_refresh(self._after_first_paint)

    def _after_first_paint(self) -> None:
        import sys

        # Textual would swallow prints; they belong into the log like all other output of libraries.
        if not self.is_headless and self.output.stream is not None:
            sys.stdout = sys.stderr = self.output.stream
        self._update_all()
        self.host.start(self._engine_changed)
        self.runs.start()
        self.set_timer(self._slot_s(), self._tick)

    def _engine_changed(self) -> None:
        """Called from the thread that started the engine."""
        self._from_thread(self._engine_is_up)

    def _engine_is_up(self) -> None:
        if self.host.phase == "failed":
            self.note("error", f"the engine did not start: {self.host.failure}")
        elif self.host.phase == "ready":
            self.send("doctor", quiet=True)
        self._update_all()

    def use_settings(self, face_keys: dict[str, str], function_keys: dict[str, str], refresh_hz: float, notices: tuple[str, ...]) -> None:
        """What the settings say of the face; from any thread. ``function_keys`` replaces F5, F6 ... of an action."""

        def apply() -> None:
            merged = dict(face_keys)
            for action_id, key in function_keys.items():
                letters = [k for k in REGISTRY[action_id].keys if not is_function_key(k)]
                merged.setdefault(action_id, ",".join((key, *letters)))
            self.registry, wrong = REGISTRY.with_keys(merged)
            self._bindings = BindingsMap(self._make_bindings())
            self.refresh_bindings()
            self._refresh_hz = refresh_hz
            for line in (*notices, *wrong):
                self.note("warning", line)

        self._from_thread(apply)

    def _from_thread(self, call: Callable[[], object]) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(call)

    # ---- keys

    def _make_bindings(self) -> list[BindingType]:
        """All keys of the registry. Those of a pane's own stand first and step aside while it has no focus."""
        out: list[BindingType] = []
        for action in sorted(self.registry.actions, key=lambda a: a.scope == "app"):
            for key in action.keys:
                priority = is_function_key(key) or key in ("ctrl+c", "ctrl+l")
                out.append(Binding(key, f"app.act('{action.id}','{key}')", action.title, show=False, priority=priority))
        out.extend(Binding(key, f"app.pane('{pane_id}')", title, show=False) for key, pane_id, title, _ in PANES)
        return out

    def action_act(self, action_id: str, key: str = "") -> None:
        if action_id == "quit" and key == "ctrl+c":
            now = time.monotonic()
            if now - self._ctrl_c_s < SECOND_CTRL_C_S:
                self.leave()
                return
            self._ctrl_c_s = now
        self.run_action_id(action_id)

    def action_pane(self, pane_id: str) -> None:
        while not isinstance(self.screen, LiveScreen) and len(self.screen_stack) > 2:
            self.pop_screen()
        if isinstance(self.screen, LiveScreen):
            self.screen.focus_pane(pane_id)

    def run_action_id(self, action_id: str) -> None:
        """Run an action of the registry: its ``do_`` method here or in the focused pane, else its engine command."""
        action = self.registry[action_id]
        own = getattr(self, f"do_{action_id}", None)
        if own is None and action.scope != "app":
            target = self.focused
            own = getattr(target, f"do_{action_id}", None) if target is not None else None
            if own is None:
                raise SkipAction
        if own is not None:
            own()
            return
        self.send(action.command, **self._parameters(action))

    def _parameters(self, action: Action) -> dict[str, Any]:
        if not action.form:
            return dict(action.fixed)
        from tui.parameters import arguments, from_kept

        values, wrong = from_kept(action.form, self.memory.parameters(action.id))
        for line in wrong:
            self.note("warning", line)
        return {**arguments(values), **action.fixed}

    # ---- commands

    def send(self, command: str, *, quiet: bool = False, then: Callable[[], None] | None = None, **params: Any) -> None:
        """Send a command to the engine; its answer, or what went wrong, is shown. ``then`` runs when it went well."""
        try:
            future = self.host.command(command, **params)
        except NotReady as error:
            self.tell("warning", str(error))
            return

        def done(finished: Future[str]) -> None:
            self._from_thread(lambda: self._answered(finished, quiet, then))

        future.add_done_callback(done)

    def _answered(self, future: Future[str], quiet: bool, then: Callable[[], None] | None) -> None:
        if future.cancelled():
            return
        error = future.exception()
        if error is not None:
            self.tell("error", one_line(error))
            return
        if not quiet:
            self.tell("info", future.result(), log=False)
        self._update_all()
        if then is not None:
            then()

    def tell(self, level: str, text: str, *, log: bool = True) -> None:
        """Show a line above the footer for a while; ``log`` keeps it in the log pane too."""
        self._answer = (time.monotonic(), text, level)
        if log:
            self.note(level, text)
        self._update_all()

    def note(self, level: str, text: str) -> None:
        """A notice of the face's own."""
        known = level if level in ("debug", "info", "warning", "error") else "info"
        self._notices.append(Notice(time.time(), cast("Any", known), "face", text))
        del self._notices[:-200]

    def all_notices(self, output: bool = False) -> list[Notice]:
        """The engine's notices and the face's own by time; with ``output`` also what libraries printed."""
        notices = [*self.newest.notices, *self._notices, *(self.output.notices() if output else ())]
        notices.sort(key=lambda notice: notice.time_s)
        return notices

    # ---- actions of the face

    def do_edit(self) -> None:
        live = self._live()
        if live is None or self.screen is not live:
            return
        from tui.panes.actions import ActionsPane

        self.edit(live.query_one(ActionsPane).chosen)

    def edit(self, action: Action) -> None:
        """Open the form of an action; what is accepted is kept and run."""
        if not action.form:
            self.tell("info", f"{action.title} has no parameters", log=False)
            return
        from tui.parameters import Parameters
        from tui.screens.dialogs import ParametersForm

        def accepted(values: Parameters | None) -> None:
            if values is not None:
                self.memory.keep_parameters(action.id, values.model_dump())
                self.run_action_id(action.id)

        self.push_screen(ParametersForm(action.title, action.form, self.memory.parameters(action.id)), accepted)

    def do_arm(self) -> None:
        """Asks before the bot flies, and names what it will fly in; when it is armed already: fly on, or disarm."""
        from tui.screens.dialogs import AskLetter

        bot, capture = self.newest.bot, self.newest.capture
        if bot.phase in RUNNING_BOT:
            lines = [f"{bot.policy or 'The bot'} is {bot.phase} in {bot.window or 'the arena'}."]
            answers = [("f", "fly on"), ("d", "disarm")]
            commands: dict[str, Callable[[], None]] = {"f": lambda: self.send("fly"), "d": lambda: self.send("disarm")}
        else:
            params = self._parameters(self.registry["arm"])
            params.pop("dry_run", None)
            window = capture.detail or capture.source
            policy = str(params.get("policy") or "the promoted policy")
            if capture.source == "none":
                window = "the chosen source (nothing is captured yet)"
            lines = [
                f"{policy} will move the pointer and press keys in:",
                f"  {window}",
                "Touch a key or the mouse and it hands back. F8 stops it.",
            ]
            answers = [("y", "arm and fly"), ("d", "dry run: decide, but press nothing"), ("e", "choose the policy")]
            commands = {
                "y": lambda: self.send("arm", then=lambda: self.send("fly"), dry_run=False, **params),
                "d": lambda: self.send("arm", then=lambda: self.send("fly"), dry_run=True, **params),
                "e": lambda: self._edit_arm(),
            }

        def answered(letter: str | None) -> None:
            if letter:
                commands[letter]()

        self.push_screen(AskLetter("Arm and fly", lines, answers), answered)

    def _edit_arm(self) -> None:
        from tui.parameters import Parameters
        from tui.screens.dialogs import ParametersForm

        def accepted(values: Parameters | None) -> None:
            if values is not None:
                self.memory.keep_parameters("arm", values.model_dump())
                self.do_arm()

        self.push_screen(ParametersForm("Arm and fly", "arm", self.memory.parameters("arm")), accepted)

    def do_stop_job(self) -> None:
        from tui.panes.actions import ActionsPane
        from tui.screens.dialogs import AskLetter

        running = [job for job in self.newest.jobs if job.phase in ("running", "queued")]
        if not running:
            self.tell("info", "no job runs", log=False)
            return
        job = running[0]
        live = self._live()
        if live is not None:
            pane = live.query_one(ActionsPane)
            chosen = pane.job_of(pane.chosen, self.newest)
            if chosen is not None and chosen in running:
                job = chosen

        def answered(letter: str | None) -> None:
            if letter == "y":
                self.send("job_stop", id=job.id)

        self.push_screen(
            AskLetter("Stop a job", [f"{job.title}: {job.stage or job.phase}. What it has saved stays."], [("y", "stop it")]), answered
        )

    def do_stop_all(self) -> None:
        self.send("stop_all")

    def do_full(self) -> None:
        if isinstance(self.screen, LiveScreen):
            self.screen.toggle_full()

    def do_keys(self) -> None:
        from tui.screens.lists import KeysScreen

        self._open(KeysScreen)

    def do_doctor(self) -> None:
        from tui.screens.lists import DoctorScreen

        if isinstance(self.screen, DoctorScreen):
            self.send("doctor")
        else:
            self._open(DoctorScreen)

    def do_full_log(self) -> None:
        from tui.screens.lists import FullLogScreen

        self._open(FullLogScreen)

    def do_sessions(self) -> None:
        from tui.screens.data import SessionsScreen

        self._open(SessionsScreen)

    def _open(self, kind: Callable[[], Screen[None]]) -> None:
        """One list screen at a time; opening the one that is there closes it."""
        if not isinstance(self.screen, LiveScreen):
            same = type(self.screen) is kind
            self.pop_screen()
            if same:
                return
        self.push_screen(kind())
        self.call_after_refresh(self._update_all)

    def do_palette(self) -> None:
        from tui.palette import RegistryCommands

        if not CommandPalette.is_open(cast("App[object]", self)):
            self.push_screen(CommandPalette(providers=[RegistryCommands], placeholder="find an action"))

    def do_redraw(self) -> None:
        self.screen.refresh(layout=True)
        self.refresh(repaint=True)

    def ask_text(self, title: str, value: str, answered: Callable[[str | None], None]) -> None:
        from tui.screens.dialogs import AskText

        self.push_screen(AskText(title, value), answered)

    # ---- leaving

    def do_quit(self) -> None:
        busy = self.host.busy()
        if self.leaving:
            return
        if not busy:
            self.leave()
            return
        from tui.screens.dialogs import AskLetter

        if isinstance(self.screen, AskLetter):
            return

        def answered(letter: str | None) -> None:
            if letter == "s":
                self.leave()
            elif letter == "w":
                self._wait_then_quit = True
                self.tell("info", "leaving as soon as nothing runs any more; q asks again")

        answers = [
            ("s", "stop and save: the bot lets go, the recording is saved, jobs end at their last checkpoint"),
            ("w", "wait: leave when it is done"),
        ]
        self.push_screen(AskLetter("Quit", ["Still running:", *(f"  {line}" for line in busy)], answers), answered)

    def leave(self) -> None:
        """Stop the engine in a thread of its own, then end the app. Safe to call more than once, on the app's loop."""
        if self.leaving:
            self.exit(0)
            return
        self.leaving = True
        if self.host.phase in ("ready", "starting"):
            self.tell("info", "stopping: the bot lets go, the recording is saved")

        def stop() -> None:
            self.host.stop()
            self._from_thread(lambda: self.exit(0))

        threading.Thread(target=stop, name="secondseat-leave", daemon=True).start()

    def ask_to_leave(self) -> None:
        """From any thread, at once: the app ends without questions (a signal came)."""
        self.leaving = True
        self._from_thread(lambda: self.exit(0))

    async def on_unmount(self) -> None:
        self.runs.stop()
        self.output.stop()

    def _fatal_error(self) -> None:
        """An error of our own: the traceback goes to the log (without the values of variables, which may be secret),
        one line to the terminal once it is whole again."""
        import logging
        import sys

        error = sys.exc_info()[1]
        logging.getLogger(__name__).exception("the face ended on an error")
        if self.output.stream is not None:
            import traceback

            traceback.print_exc(file=self.output.stream)
        self.crash = f"{type(error).__name__}: {one_line(error)}" if error is not None else "unknown error"
        self._close_messages_no_wait()

    # ---- the timer

    def _slot_s(self) -> float:
        """The pause between two panes, so that all of them together are brought up to date ``refresh_hz`` times a second."""
        hz = self._refresh_hz or 4.0
        if os.environ.get("SSH_CONNECTION"):
            hz = min(hz, 2.0)
        if getattr(self._driver, "slow", False):
            hz = 1.0
        return 1.0 / hz / max(1, len(self._live_panes()))

    def _live_panes(self) -> list[LinesPane]:
        """The panes of the present screen that are seen."""
        try:
            return [pane for pane in self.screen.query(LinesPane) if pane.is_on_screen and pane.size.width]
        except Exception:  # no screen at the very beginning and end
            return []

    def _tick(self) -> None:
        """One pane is brought up to date; the next one's turn comes a slot later."""
        if self._exit:
            return
        panes = self._live_panes()
        if panes:
            index = next(self._slots) % len(panes)
            if index == 0:
                self.newest = self.host.snapshot()
                self._after_snapshot()
            panes[index].show(self.newest)
        self.set_timer(self._slot_s(), self._tick)

    def _after_snapshot(self) -> None:
        mend = getattr(self._driver, "mend", None)
        if mend is not None and mend():
            self.do_redraw()
        if self._wait_then_quit and not self.host.busy():
            self._wait_then_quit = False
            self.leave()

    def _update_all(self) -> None:
        self.newest = self.host.snapshot()
        for pane in self._live_panes():
            pane.show(self.newest)

    # ---- what the panes ask

    @property
    def next_step(self) -> str:
        """The id of the action that a newcomer does best now; empty when they are on their way."""
        state = self.newest
        if self.host.phase != "ready":
            return ""
        if state.recorder.phase == "unsaved":
            return "save"
        if state.recorder.phase != "idle" or state.bot.phase != "disarmed" or any(job.phase == "running" for job in state.jobs):
            return ""
        if not state.sessions:
            return "demo" if state.capture.source == "none" else "record"
        trained = any(job.kind == "train" and job.phase == "done" for job in state.jobs) or bool(self.runs.curves.run)
        return "arm" if trained else "train_all"

    def hint(self, state: EngineState) -> Text:
        """The line above the footer: the answer to the last command while it is fresh, else the next step."""
        palette, glyphs = self.look.palette, self.look.glyphs
        when, text, level = self._answer
        if text and time.monotonic() - when < ANSWER_S:
            style = {"error": palette.bad, "warning": palette.warn}.get(level, palette.good)
            sign = {"error": glyphs.failed, "warning": glyphs.needs}.get(level, glyphs.good)
            return Text(f" {sign} {text}", style)
        if self.host.phase == "failed":
            return Text(f" {glyphs.failed} the engine did not start: {self.host.failure}", palette.bad)
        if self.host.phase == "starting":
            return Text(f" {glyphs.waiting} starting the engine", palette.dim)
        step = self.next_step
        if not step:
            return Text("")
        action = self.registry[step]
        keys = action.key_text()
        words = {
            "demo": "No sessions yet: press {p} and play, or {k} and watch a pilot play; {r} records.",
            "record": "No sessions yet: press {k}, play, then {v} to save.",
            "save": "The recording is not saved: {k} saves it, {x} discards it.",
            "train_all": "Recorded. Press {k} to train on it, or {r} to record more.",
            "arm": "Trained. Press {k} to let it fly.",
        }[step]
        names = {
            letter: self.registry[name].key_text() for letter, name in (("p", "play"), ("r", "record"), ("v", "save"), ("x", "discard"))
        }
        return Text.assemble((f" {glyphs.pointer} Next: ", f"bold {palette.accent}"), (words.format(k=keys, **names), palette.accent))

    def remember_pane(self, pane_id: str) -> None:
        self.memory.keep("pane", pane_id)

    def _live(self) -> LiveScreen | None:
        return next((s for s in self.screen_stack if isinstance(s, LiveScreen)), None)

    def _models_folder(self) -> Path | None:
        workspace = self.newest.workspace
        return Path(workspace) / "models" if workspace else None

    def _running_folder(self) -> Path | None:
        for job in self.newest.jobs:
            if job.phase == "running" and job.run_dir:
                path = Path(job.run_dir)
                return path if path.is_absolute() else Path(self.newest.workspace) / path
        return None

    def on_app_focus(self, event: events.AppFocus) -> None:
        self._update_all()

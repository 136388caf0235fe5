"""The Textual app: keys, screens, the timer that feeds the panes, and the way out.

Nothing heavy is imported here: the first picture is drawn before the engine, its networks or pydantic are loaded.
``tui.start.run_app`` is the entry.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingsMap, BindingType
from textual.screen import Screen
from textual.widget import Widget

from tui import hints, theme
from tui.actions import PANES, REGISTRY
from tui.desk import Desk
from tui.memory import Memory
from tui.output import OutputFile
from tui.panes.base import LinesPane
from tui.pump import EngineHost, one_line
from tui.registry import Action, Registry, is_function_key
from tui.runs import RunWatcher
from tui.screens.live import PANE_IDS, LiveScreen
from tui.style import CSS
from tui.talking import TalkingApp

if TYPE_CHECKING:
    from data.settings import Settings

SECOND_CTRL_C_S: Final = 2.0
PANES_A_SLOT: Final = 3


class SecondseatApp(TalkingApp):
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
        output: OutputFile | None = None,
        look: theme.Look | None = None,
        registry: Registry = REGISTRY,
        refresh_hz: float = 0.0,
        **kwargs: Any,
    ) -> None:
        self.look = look or theme.pick(os.environ, theme.locale_encoding(os.environ))
        self.many_colours = self.look.theme != theme.TERMINAL
        super().__init__(host, ansi_color=None if self.many_colours else True, **kwargs)
        self.memory = memory or Memory(None)
        self.output = output or OutputFile()
        self._actions = registry
        self.registry = registry.present(attached=host.attached)
        self.crash = ""
        self._refresh_hz = refresh_hz
        self._ctrl_c_s = -SECOND_CTRL_C_S
        self._wait_then_quit = False
        self._bell = False
        self._settings: Settings | None = None
        self.config = ""
        """The settings file that was named for this run; empty: the usual one."""
        self._global_keys: frozenset[str] = frozenset({"f5", "f6", "f7", "f8"})
        self._alert = -1  # no snapshot yet: what happened before is not rung for
        self._turn: list[LinesPane] = []
        """The panes whose turn is still to come in this round."""
        self._slot_s = 0.25
        self.runs = RunWatcher(self._models_folder, self._running_folder, lambda: self.soon(self._show_chart))
        self.desk = Desk(self.soon)
        self.at_the_end: list[Callable[[], object]] = []
        """What else is closed when the face goes; may take a moment."""
        self._bindings = BindingsMap(self._make_bindings())
        if self.many_colours:
            for own in theme.own_themes():
                self.register_theme(own)
        self.use_theme(self.memory.text("theme", self.look.theme, tuple(self.available_themes)))

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
        self.update_all()
        self.host.start(self._engine_changed)
        self.runs.start()
        self._tick()

    def _engine_changed(self) -> None:
        """Called from the thread that started the engine."""
        self.soon(self._engine_is_up)

    def _engine_is_up(self) -> None:
        if self.host.phase == "failed":
            self.note("error", f"the engine did not start: {self.host.failure}")
        elif self.host.phase == "ready" and not (self.host.attached and self.host.snapshot().checks):
            self.send("doctor", quiet=True)
        if self.is_web:
            self.tell("info", hints.in_browser(self.registry), log=False)
        self.update_all()

    def use_settings(self, settings: Settings, notices: tuple[str, ...] = ()) -> None:
        """What the settings say of the face; from any thread."""
        keys = settings.keys
        given = {"record": keys.record, "save": keys.save, "discard": keys.discard, "stop_all": settings.actuator.stop_key}
        merged = dict(keys.face)
        for action_id, key in given.items():
            letters = [k for k in REGISTRY[action_id].keys if not is_function_key(k)]
            merged.setdefault(action_id, ",".join((key, *letters)))

        def apply() -> None:
            self._settings = settings
            registry, wrong = self._actions.with_keys(merged)
            self.registry = registry.present(attached=self.host.attached)
            self._bindings = BindingsMap(self._make_bindings())
            self.refresh_bindings()
            for pane in (pane for screen in self.screen_stack for pane in screen.query(LinesPane)):
                pane.update_keys()
            self._global_keys = settings.control_keys()
            self._refresh_hz = settings.face.refresh_hz
            self._bell = settings.recorder.notice == "bell"
            if settings.face.theme in self.available_themes and not self.memory.text("theme", ""):
                self.use_theme(settings.face.theme)
            elif settings.face.theme not in ("", *self.available_themes):
                self.note(
                    "warning", f"[face] theme: {settings.face.theme!r} is not a theme; use {', '.join(sorted(self.available_themes))}"
                )
            for line in (*notices, *wrong):
                self.note("warning", line)

        self.soon(apply)

    def use_theme(self, name: str) -> None:
        """Draw in other colours; where there are only 16 they stay the terminal's own."""
        if not self.many_colours:
            name = theme.TERMINAL
        self.theme = name
        self.look = theme.Look(name, self.look.glyphs, theme.palette_of(name, self.available_themes[name].dark))

    def settings(self) -> Settings:
        """The settings in force; the defaults as long as they have not been read."""
        from data.settings import Settings

        return self._settings or Settings()

    def save_settings(self, changes: dict[str, Any]) -> None:
        """Write single values to the person's ``config.toml``, because they asked for it."""
        from data.settings_io import save_settings, settings_file_to_write

        if not changes:
            self.tell("info", "nothing to save: every field is empty, so the settings hold already", log=False)
            return

        def saved(line: str) -> None:
            self.tell("info", f"in force from the next start: {line}")

        config = Path(self.config) if self.config else None
        self.desk.quick(lambda: save_settings(settings_file_to_write(config), changes), saved, lambda e: self.tell("error", one_line(e)))

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
            if now - self._ctrl_c_s < SECOND_CTRL_C_S or (self._ctrl_c_s > 0 and self.screen.is_modal):
                self.leave()
                return
            self._ctrl_c_s = now
        if key in self._global_keys and self.registry[action_id].command:
            # The engine's listener may have heard the same press: the engine makes one of the two.
            self.send("key", quiet=True, pressed=key)
            return
        self.run_action_id(action_id)

    def action_pane(self, pane_id: str) -> None:
        while not isinstance(self.screen, LiveScreen) and len(self.screen_stack) > 2:
            self.pop_screen()
        if isinstance(self.screen, LiveScreen):
            self.screen.focus_pane(pane_id)

    def run_action_id(self, action_id: str) -> None:
        """Run an action of the registry: its ``do_`` method here or in the focused pane, else its engine command."""
        action = self.registry[action_id]
        if action.scope != "app":
            own = getattr(self.focused, f"do_{action_id}", None) or getattr(self.screen, f"do_{action_id}", None)
            if own is None:
                raise SkipAction
            own()
        elif action.command:
            self.send(action.command, **self.parameters(action))
        else:
            from tui.deeds import DEEDS

            DEEDS[action_id](self)

    def parameters(self, action: Action) -> dict[str, Any]:
        if not action.form:
            return dict(action.fixed)
        from tui.parameters import arguments, from_kept

        values, wrong = from_kept(action.form, self.memory.parameters(action.id))
        for line in wrong:
            self.note("warning", line)
        return {**arguments(values), **action.fixed}

    def redraw(self) -> None:
        """Paint every cell anew."""
        self.screen.refresh(layout=True)
        self.refresh(repaint=True)

    def open_screen(self, kind: Callable[[], Screen[None]]) -> None:
        """One list screen at a time; opening the one that is there closes it."""
        wanted = kind()
        same = type(self.screen) is type(wanted)
        while not isinstance(self.screen, LiveScreen) and len(self.screen_stack) > 2:
            self.pop_screen()
        if same:
            return
        self.push_screen(wanted)
        self.call_after_refresh(self.update_all)

    def busy(self) -> list[str]:
        """What leaving would end: of the engine, and work on sessions."""
        return [*self.host.busy(), *self.desk.busy()]

    def wait_then_leave(self) -> None:
        """Leave as soon as nothing runs any more."""
        self._wait_then_quit = True
        self.tell("info", "leaving as soon as nothing runs any more; q asks again")

    def ask_text(self, title: str, value: str, answered: Callable[[str | None], None], help: str = "") -> None:
        """One line of text; ``help`` stands under it. None when it was left by escape."""
        from tui.screens.dialogs import AskText

        self.push_screen(AskText(title, value, help), answered)

    # ---- leaving

    async def on_unmount(self) -> None:
        self.runs.stop()
        await asyncio.to_thread(self.desk.close)
        for close in self.at_the_end:
            await asyncio.to_thread(close)

    def _fatal_error(self) -> None:
        """An error of our own: the traceback goes to the log (without the values of variables, which may be secret),
        one line to the terminal once it is whole again."""
        import sys

        error = sys.exc_info()[1]
        logging.getLogger(__name__).exception("the face ended on an error")
        if self.output.stream is not None:
            import traceback

            traceback.print_exc(file=self.output.stream)
        self.crash = f"{type(error).__name__}: {one_line(error)}" if error is not None else "unknown error"
        self._close_messages_no_wait()

    # ---- the timer

    def _round_s(self) -> float:
        """How long a round takes, in which every pane is brought up to date once."""
        hz = self._refresh_hz or 4.0
        if os.environ.get("SSH_CONNECTION"):
            hz = min(hz, 2.0)
        if getattr(self._driver, "slow", False):
            hz = 1.0
        return 1.0 / hz

    def _live_panes(self) -> list[LinesPane]:
        """The panes that are seen: of the present screen, and behind a dialog of those it covers only in part."""
        panes: list[LinesPane] = []
        for screen in reversed(self._screen_stacks.get(self._current_mode, [])):
            panes += [pane for pane in screen.query(LinesPane) if pane.size.width and pane.display and pane.is_attached]
            if not screen.is_modal:
                break
        return [pane for pane in panes if all(node.display for node in pane.ancestors if isinstance(node, Widget))]

    def _tick(self) -> None:
        """A few panes are brought up to date, the next ones a moment later, so that no turn of the loop is long."""
        if self._exit or self._loop is None:
            return
        try:
            if not self._turn:
                self.newest = self.host.snapshot()
                self._after_snapshot()
                self._turn = self._live_panes()
                self._slot_s = self._round_s() / max(1, math.ceil(len(self._turn) / PANES_A_SLOT))
            now, self._turn = self._turn[:PANES_A_SLOT], self._turn[PANES_A_SLOT:]
            for pane in now:
                if pane.is_attached:
                    pane.show(self.newest)
        except Exception as error:
            self._handle_exception(error)
            return
        self._loop.call_later(self._slot_s, self._tick)

    def _after_snapshot(self) -> None:
        mend = getattr(self._driver, "mend", None)
        if mend is not None and mend():
            self.redraw()
        alert, before, self._alert = self.newest.alert, self._alert, self.newest.alert.number
        if 0 <= before < alert.number:  # also what a key did that was pressed in the game
            self.tell("error" if alert.kind == "failure" else "info", alert.text, log=False)
            if self._bell:
                self.bell()
        if self.newest.ending and not self.host.attached and not self.leaving:
            self.farewell = f"the engine of this face has ended: {self.newest.ending}"
            self.leave()
        if self._wait_then_quit and not self.busy():
            self._wait_then_quit = False
            self.leave()

    def update_all(self) -> None:
        self.newest = self.host.snapshot()
        for pane in self._live_panes():
            pane.show(self.newest)

    def _show_chart(self) -> None:
        """The chart that was asked for is drawn."""
        for pane in self._live_panes():
            if pane.scope == "losses":
                pane.show(self.newest)

    # ---- what the panes ask

    @property
    def next_step(self) -> str:
        """The id of the action that a newcomer does best now; empty when they are on their way."""
        return hints.next_step(self.newest, self.host.phase, self.runs.trained)

    @property
    def flier(self) -> tuple[str, str]:
        """The policy that would fly when none is named, and a newer one that would not."""
        if not self.runs.policies:
            return "", ""
        from data.models import flier_of

        who = flier_of(self.runs.policies, self.runs.promoted)
        return who.name, who.newer

    def remember_pane(self, pane_id: str) -> None:
        self.memory.keep(pane=pane_id)

    def live(self) -> LiveScreen | None:
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
        self.update_all()

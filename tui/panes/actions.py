"""Actions: the launcher. One row per action of the registry, with its state; enter runs it, e edits its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.cells import cell_len
from rich.text import Text
from textual import events

from engine.state import EngineState, JobState
from tui.charts import sparkline
from tui.moments import moment
from tui.panes.base import LinesPane, brief, cut, highlighted, wrapped
from tui.panes.status import percent
from tui.registry import Action

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {"evaluations": ("evaluate",), "leagues": ("league", "refine", "imitate")}
"""Kinds of job that belong to a row which opens a screen."""


class ActionsPane(LinesPane):
    can_focus = True
    scope = "actions"

    def __init__(self, id: str, title: str = "") -> None:
        super().__init__(id, title)
        self.selected = 0
        self._top = 0
        self._rows: list[Action | str] = []

    def key_words(self) -> list[tuple[str, str]]:
        return [("enter", "run"), (self.key("edit"), "edit"), (self.key("stop_job"), "stop"), (self.key("job_details"), "details")]

    @property
    def chosen(self) -> Action:
        rows = self.face.registry.launcher()
        return rows[min(self.selected, len(rows) - 1)]

    def show(self, state: EngineState) -> None:
        width, height = self.size.width, self.size.height
        if not width:
            return
        actions = self.face.registry.launcher()
        rows: list[Action | str] = []
        group = ""
        roomy = height >= len(actions) + len({action.group for action in actions})
        for action in actions:
            if action.group != group and roomy:
                rows.append(action.group)
            group = action.group
            rows.append(action)
        at = rows.index(actions[min(self.selected, len(actions) - 1)])
        if at < self._top + 1:
            self._top = max(0, at - 1)
        elif at >= self._top + height:
            self._top = at - height + 1
        self._top = max(0, min(self._top, len(rows) - height))
        why = self._why(state, width)
        room = height - len(why)
        if why and at >= self._top + room:
            self._top = at - room + 1
        self._rows = rows[self._top : self._top + room]
        lines = [self._compose_row(row, state, width) for row in self._rows]
        self.set_lines([*lines, *(Text() for _ in range(room - len(lines))), *why] if why else lines)

    def _why(self, state: EngineState, width: int) -> list[Text]:
        """Why the chosen row's job failed, on the lowest lines; its key tells the rest."""
        job = self.job_of(self.chosen, state)
        if job is None or job.phase != "failed":
            return []
        text = f"{self.look.glyphs.failed} {job.message or 'failed without a word'}"
        lines = wrapped(Text(text, self.look.palette.bad), width)
        if len(lines) > 2:
            lines = [lines[0], cut(Text(text[len(lines[0].plain) :].strip(), self.look.palette.bad), width, self.look.glyphs.ellipsis)]
        return lines

    def _compose_row(self, row: Action | str, state: EngineState, width: int) -> Text:
        palette, glyphs = self.look.palette, self.look.glyphs
        if isinstance(row, str):
            return Text(row, palette.dim)
        chosen = row is self.chosen and self.has_focus
        sign, notes, style = self.row_state(row, state)
        keys = row.key_text()
        line = Text(f"{glyphs.pointer if row is self.chosen else ' '}{sign or ' '} ", style, no_wrap=True)
        line.append(row.launcher, palette.strong if row.id == self.face.next_step else "")
        room = width - line.cell_len - 1
        note = next((note for note in notes if cell_len(note) <= room), notes[-1] if notes else "")
        right = Text(note or keys, style if note else palette.dim)
        cut(line, max(4, width - right.cell_len - 1), glyphs.ellipsis)
        line.append(" " * max(1, width - line.cell_len - right.cell_len))
        line.append_text(right)
        line.truncate(width)
        if chosen:
            return highlighted(line, width, palette.selected)
        if row.id == self.face.next_step:
            line.stylize(palette.accent)
        return line

    def row_state(self, action: Action, state: EngineState) -> tuple[str, tuple[str, ...], str]:
        """The sign, the words at the right (the first that fit are shown; none: the row's keys) and the style of a row."""
        palette, glyphs = self.look.palette, self.look.glyphs
        if action.id == "record":
            phase = state.recorder.phase
            if phase == "recording":
                return glyphs.recording, (f"recording {moment(state.recorder.duration_s, fine=False)}", "recording"), palette.bad
            if phase in ("paused", "unsaved", "saving"):
                return glyphs.needs, (phase,), palette.warn
            return glyphs.off, (), ""
        if action.id == "arm":
            phase = state.bot.phase
            if phase == "flying":
                return glyphs.running, ("flying",), palette.bad
            if phase != "disarmed":
                return glyphs.needs, (phase,), palette.warn
            return (glyphs.off, _missing("policy"), palette.dim) if _no_policy(state) else (glyphs.off, (), "")
        job = self.job_of(action, state)
        if job is not None:
            match job.phase:
                case "running":
                    return glyphs.running, self._progress(action, job), palette.learn
                case "queued":
                    return glyphs.waiting, ("waits its turn", "waits"), palette.dim
                case "failed":
                    return glyphs.failed, ("failed",), palette.bad
                case "cancelled":
                    return glyphs.off, ("stopped",), palette.dim
                case "done":
                    return glyphs.good, (*self._result(action), "done"), palette.good
        if action.command == "train" and action.fixed.get("level") != "detector" and not state.sessions:
            return "", _missing("session", action.first_key()), palette.dim
        if action.id == "evaluations" and _no_policy(state):
            return "", _missing("policy", action.first_key()), palette.dim
        result = self._result(action)
        return "", (f"{result[0]}  {action.first_key()}".strip(), *result) if result else (), palette.dim

    def _progress(self, action: Action, job: JobState) -> tuple[str, ...]:
        """Stage, share, the loss so far and the time left; less and less of it."""
        run = self.face.runs.levels.get(str(action.fixed.get("level", "")))
        loss = run.curves.get("train_loss") if run is not None else None
        spark = sparkline(loss.values[-200:], 4, self.look.glyphs.blocks) if loss is not None else ""
        eta = "" if job.eta_s is None else brief(job.eta_s)
        stage = job.stage.replace("epoch ", "ep ")
        parts = ((stage, percent(job), spark, eta), (percent(job), spark, eta), (stage, percent(job)), (percent(job), eta), (percent(job),))
        return tuple(" ".join(filter(None, some)) for some in parts)

    def _result(self, action: Action) -> tuple[str, ...]:
        """What the newest run of the row's level reached."""
        run = self.face.runs.levels.get(str(action.fixed.get("level", "")))
        if run is None:
            return ()
        if (found := run.figure("val_map50")) is not None:
            return (f"map {found:.2f}",)
        loss = run.curves.get("val_loss")
        return (f"last {loss.values[-1]:.2f}",) if loss else ()

    def job_of(self, action: Action, state: EngineState) -> JobState | None:
        """The newest job that this row started."""
        if action.id in _KINDS:
            return next((job for job in reversed(state.jobs) if job.kind in _KINDS[action.id]), None)
        if action.command != "train":
            return None
        level = str(action.fixed.get("level", ""))
        for job in reversed(state.jobs):
            if level == "detector" and job.kind == "detector":
                return job
            if level not in ("", "detector") and job.kind == "train":
                all_done = job.phase == "done" and job.title.endswith(" all")
                if all_done or level in f"{job.title} {job.run_dir}".lower():
                    return job
        return None

    def do_job_details(self) -> None:
        """The newest job of the chosen row in full; without one, everything."""
        from tui.screens.details import DetailsScreen

        job = self.job_of(self.chosen, self.face.newest)
        self.face.open_screen(lambda: DetailsScreen("" if job is None else job.id))

    def move(self, by: int) -> None:
        count = len(self.face.registry.launcher())
        self.selected = (self.selected + by) % count
        self.show(self.face.newest)

    def on_focus(self) -> None:
        self.show(self.face.newest)

    def on_blur(self) -> None:
        self.show(self.face.newest)

    def on_key(self, event: events.Key) -> None:
        steps = {"up": -1, "down": 1, "k": -1, "j": 1}
        if event.key in steps:
            event.stop()
            self.move(steps[event.key])
        elif event.key in ("home", "end"):
            event.stop()
            self.selected = 0 if event.key == "home" else -1 % len(self.face.registry.launcher())
            self.show(self.face.newest)
        elif event.key in ("enter", "space"):
            event.stop()
            self.face.run_action_id(self.chosen.id)

    def on_click(self, event: events.Click) -> None:
        y = event.get_content_offset_capture(self).y
        if not 0 <= y < len(self._rows):
            return
        row = self._rows[y]
        if isinstance(row, str):
            return
        event.stop()
        self.selected = self.face.registry.launcher().index(row)
        self.show(self.face.newest)
        if event.button == 3:
            self.face.run_action_id("edit")
        elif event.chain == 2:
            self.face.run_action_id(row.id)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move(-1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move(1)


def _missing(what: str, key: str = "") -> tuple[str, ...]:
    """Why a row has nothing to do yet, in fewer and fewer words; where none fit, its key alone: a name that is cut helps nobody."""
    return f"{key}  needs a {what}".strip(), f"needs a {what}", f"no {what}", ""


def _no_policy(state: EngineState) -> bool:
    """Whether the engine has counted, and found none."""
    return state.sequence > 0 and not state.policies

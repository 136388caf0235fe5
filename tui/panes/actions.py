"""Actions: the launcher. One row per action of the registry, with its state; enter runs it, e edits its parameters."""

from __future__ import annotations

from rich.text import Text
from textual import events

from engine.state import EngineState, JobState
from tui.panes.base import LinesPane, cut, highlighted
from tui.panes.status import percent
from tui.registry import Action


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
        roomy = height >= len(actions) + 4
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
        self._rows = rows[self._top : self._top + height]
        self.set_lines([self._compose_row(row, state, width) for row in self._rows])

    def _compose_row(self, row: Action | str, state: EngineState, width: int) -> Text:
        palette, glyphs = self.look.palette, self.look.glyphs
        if isinstance(row, str):
            return Text(row, palette.dim)
        chosen = row is self.chosen and self.has_focus
        sign, note, style = self.row_state(row, state)
        keys = row.key_text()
        line = Text(f"{glyphs.pointer if row is self.chosen else ' '}{sign or ' '} ", style, no_wrap=True)
        line.append(row.launcher, palette.strong if row.id == self.face.next_step else "")
        right = Text(note or keys, style if note else palette.dim)
        if line.cell_len + right.cell_len >= width and " " in note:
            right = Text(note.rsplit(" ", 1)[1], style)  # the percentage alone
        cut(line, max(4, width - right.cell_len - 1), glyphs.ellipsis)
        line.append(" " * max(1, width - line.cell_len - right.cell_len))
        line.append_text(right)
        line.truncate(width)
        if chosen:
            return highlighted(line, width, palette.selected)
        if row.id == self.face.next_step:
            line.stylize(palette.accent)
        return line

    def row_state(self, action: Action, state: EngineState) -> tuple[str, str, str]:
        """The sign, the words at the right and the style of a row."""
        palette, glyphs = self.look.palette, self.look.glyphs
        if action.id == "record":
            phase = state.recorder.phase
            if phase == "recording":
                return glyphs.recording, "recording", palette.bad
            if phase in ("paused", "unsaved", "saving"):
                return glyphs.needs, phase, palette.warn
            return glyphs.off, "", ""
        if action.id == "arm":
            phase = state.bot.phase
            if phase == "flying":
                return glyphs.running, "flying", palette.bad
            return (glyphs.off, "", "") if phase == "disarmed" else (glyphs.needs, phase, palette.warn)
        job = self.job_of(action, state)
        if job is not None:
            match job.phase:
                case "running" | "queued":
                    return glyphs.running, f"{job.stage.replace('epoch ', 'ep ')} {percent(job)}".strip(), palette.learn
                case "failed":
                    return glyphs.failed, "failed", palette.bad
                case "cancelled":
                    return glyphs.off, "stopped", palette.dim
                case "done":
                    return glyphs.good, "done", palette.good
        return "", "", ""

    def job_of(self, action: Action, state: EngineState) -> JobState | None:
        """The newest job that this row started."""
        if action.command not in ("train", "evaluate"):
            return None
        level = str(action.fixed.get("level", ""))
        for job in reversed(state.jobs):
            if action.command == "evaluate" and job.kind == "evaluate":
                return job
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
        else:
            self.face.run_action_id(row.id)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move(-1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move(1)

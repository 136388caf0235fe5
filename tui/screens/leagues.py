"""Leagues: every league, refinement and imitation of the workspace, the running ones with how far they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.text import Text

from data.text import printable
from engine.state import EngineState, JobState
from tui.panes.base import LinesPane
from tui.panes.status import percent
from tui.pump import one_line
from tui.screens import league_deeds
from tui.screens.table import Column, TablePane, TableScreen

if TYPE_CHECKING:
    from league.runs import RunRow

AGAIN_S: Final = 3.0
"""So often the list is read anew while one of its runs goes on."""
COLUMNS: Final = (
    Column("kind", 11, narrow=10, words="by kind", down=False),
    Column("name", 18, narrow=17, words="by name", down=False),
    Column("state", 15, narrow=13),
    Column("at", 16, narrow=12),
    Column("frames", 8, right=True, narrow=7, words="most frames first"),
    Column("matches", 9, right=True, from_width=100, words="most matches first"),
    Column("when", 11, from_width=84, words="newest first"),
    Column("worth", 0, narrow=0),
)


class LeaguesPane(TablePane["RunRow"]):
    scope = "leagues"
    noun = "runs"
    detail_lines = 3

    def __init__(self) -> None:
        super().__init__("leagues", "Leagues")
        self.order = next(column for column in COLUMNS if column.id == "when")
        self._loaded_for: tuple[object, ...] = ()
        self._loaded_s = 0.0
        self._reading = False

    # ---- its rows

    def columns(self) -> Sequence[Column]:
        return COLUMNS

    def name_of(self, row: RunRow) -> str:
        return str(row.folder)

    def haystack(self, row: RunRow) -> str:
        return f"{row.kind} {row.name} {self.state_of(row)[0]} {row.stage}"

    def sort_key(self, row: RunRow, column: str) -> object:
        keys = {"kind": row.kind, "name": row.name, "frames": row.frames or 0, "matches": row.matches or 0}
        return (keys.get(column, row.changed_s), row.name)

    def job_of(self, row: RunRow) -> JobState | None:
        return league_deeds.job_of(self.face.newest, row.folder)

    def state_of(self, row: RunRow) -> tuple[str, str, str]:
        """The word, the sign and the style of how it stands."""
        palette, glyphs = self.look.palette, self.look.glyphs
        job = self.job_of(row)
        state = row.state
        if job is not None and row.state == "kept" and job.phase in ("done", "failed", "cancelled"):
            state = {"done": "done", "failed": "failed"}.get(job.phase, "stopped")
        if job is not None and job.phase == "running":
            return f"running {percent(job)}", glyphs.running, palette.learn
        match state:
            case "running":
                share = f" {100 * row.done:.0f}%" if row.done is not None else ""
                return f"running{share}", glyphs.running, palette.learn
            case "done":
                return "done", glyphs.good, palette.good
            case "failed":
                return "failed", glyphs.failed, palette.bad
            case "cut off":
                return "cut off", glyphs.needs, palette.warn
            case "stopped":
                return "stopped", glyphs.off, palette.dim
            case _:
                return "kept", " ", palette.dim

    def cell(self, row: RunRow, column: str, room: int) -> Text:
        palette = self.look.palette
        match column:
            case "kind":
                return Text(row.kind)
            case "name":
                return Text(printable(row.name))
            case "state":
                word, sign, style = self.state_of(row)
                return Text(f"{sign} {word}", style)
            case "at":
                return Text(printable(row.stage), palette.dim)
            case "frames":
                return Text(_short(row.frames), palette.dim)
            case "matches":
                return Text("" if row.matches is None else f"{row.matches:,}", palette.dim)
            case "when":
                return Text(time.strftime("%m-%d %H:%M", time.localtime(row.changed_s)), palette.dim)
            case _:
                return Text(printable(row.figure))

    def empty(self, width: int) -> list[Text]:
        palette = self.look.palette
        first, second, third = (Text(self.key(f"leagues_{name}"), palette.accent) for name in ("imitate", "refine", "run"))
        return [
            Text.assemble("No league yet. It begins with a first policy: ", first, " makes one from play, your own or that of pilots;"),
            Text.assemble(second, " has it go on by playing, ", third, " starts a league that looks for its own weaknesses."),
            Text("Each is a job: it goes on while you do something else, can be stopped, and goes on where it was.", palette.dim),
        ]

    def details(self, width: int, height: int) -> list[Text]:
        row, palette = self.chosen, self.look.palette
        if row is None:
            return []
        job = self.job_of(row)
        going = job is not None and job.phase in league_deeds.GOING
        lines = [Text(f"{row.kind} {printable(row.name)}  {printable(row.figure)}", "bold", no_wrap=True)]
        if row.why:
            lines.append(Text(f"{self.look.glyphs.failed} {printable(row.why)}", palette.bad))
        elif row.state in ("stopped", "cut off") and not going:
            lines.append(Text(f"{self.key('leagues_resume')} goes on with it from its last save", palette.dim))
        elif row.pid and not going:
            lines.append(Text(f"process {row.pid} runs it, not this engine", palette.dim))
        return [*lines, Text(str(row.folder), palette.dim)]

    def busy(self, width: int) -> Text | None:
        job = league_deeds.job_of(self.face.newest, None)
        return league_deeds.job_line(self.face, job, width, self.key("leagues_stop"), self.key("leagues_job"))

    # ---- reading

    def show(self, state: EngineState) -> None:
        jobs = league_deeds.jobs_of(state)
        key = (state.workspace, *((job.id, job.phase, bool(job.run_dir)) for job in jobs))
        going = any(job.phase == "running" for job in jobs) or any(row.pid for row in self.all or ())
        due = going and time.monotonic() - self._loaded_s > AGAIN_S
        if state.workspace and not self._reading and (key != self._loaded_for or due):
            self._loaded_for = key
            self.reload(Path(state.workspace))
        super().show(state)

    def reload(self, workspace: Path) -> None:
        def read() -> list[RunRow]:
            from league.runs import list_runs

            return list_runs(workspace)

        def done(rows: list[RunRow]) -> None:
            self._reading, self._loaded_s = False, time.monotonic()
            self.take(rows)

        def failed(error: Exception) -> None:
            self._reading, self._loaded_s = False, time.monotonic()
            self.problem = f"the leagues of {workspace} cannot be read: {one_line(error)}"
            self.redraw()

        self._reading = True
        self.face.desk.quick(read, done, failed)

    # ---- what the keys do

    def open_chosen(self) -> None:
        self.do_leagues_open()

    def do_leagues_open(self) -> None:
        from tui.screens.league import LeagueScreen

        if self.chosen is not None:
            row = self.chosen
            self.face.push_screen(LeagueScreen(row))

    @property
    def has_policies(self) -> bool:
        return any(row.stage or row.kind == "league" for row in self.all or ())

    def do_leagues_run(self) -> None:
        league_deeds.begin(self.face, "league", self.has_policies)

    def do_leagues_imitate(self) -> None:
        league_deeds.begin(self.face, "imitation", True)

    def do_leagues_refine(self) -> None:
        league_deeds.begin(self.face, "refinement", self.has_policies)

    def do_leagues_resume(self) -> None:
        league_deeds.resume(self.face, self.chosen)

    def do_leagues_stop(self) -> None:
        league_deeds.stop(self.face, self.chosen)

    def do_leagues_job(self) -> None:
        league_deeds.tell_job(self.face, self.chosen)

    def do_leagues_report(self) -> None:
        league_deeds.open_report(self.face, self.chosen)

    def do_leagues_sort(self) -> None:
        self.next_order()

    def do_leagues_reverse(self) -> None:
        self.turn_round()

    def do_leagues_filter(self) -> None:
        self.begin_filter()


def _short(frames: int | None) -> str:
    """83 k, 4.4 M."""
    if frames is None:
        return ""
    return f"{frames / 1e6:.1f} M" if frames >= 1e6 else f"{frames / 1e3:.0f} k" if frames >= 1e3 else str(frames)


class LeaguesScreen(TableScreen):
    def body(self) -> LinesPane:
        pane = LeaguesPane()
        pane.add_class("full-pane")
        return pane

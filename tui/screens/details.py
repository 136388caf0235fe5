"""Details: every job with its words in full and the end of what it printed, and all figures of each level's run."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from rich.text import Text

from data.text import printable
from engine.state import EngineState, JobState
from tui.charts import nice_number, sparkline
from tui.panes.base import LinesPane, clock, cut, wrapped
from tui.panes.status import percent
from tui.screens.lists import ListPane, ListScreen

OUTPUT_LINES: Final = 12
READ_BYTES: Final = 8_192


class DetailsPane(ListPane):
    """``job_id`` alone, or everything when it is empty."""

    def __init__(self, job_id: str = "") -> None:
        super().__init__("details", "Details", "up down scroll  esc back")
        self._job_id = job_id
        self._output: dict[str, list[str]] = {}
        self._asked: set[tuple[str, str]] = set()

    def compose_all(self, state: EngineState) -> list[Text]:
        palette, width = self.look.palette, max(20, self.size.width)
        out: list[Text] = []
        jobs = [job for job in reversed(state.jobs) if not self._job_id or job.id == self._job_id]
        for job in jobs:
            out += [*self._job(job, state.workspace, width), Text()]
        if not self._job_id:
            for level, run in sorted(self.face.runs.levels.items()):
                out.append(Text(f"{level}  {run.run_dir.name}", palette.strong))
                for name, curve in run.curves.items():
                    trend = sparkline(curve.values[-400:], 24, self.look.glyphs.blocks)
                    out.append(self._figure(name, curve.values[-1]).append(f"  {trend}", palette.learn))
                out += [self._figure(name, value) for name, value in run.card.items() if name not in run.curves]
                out.append(Text())
        return out or [Text("No job has run since the start, and there is no training run in the workspace.", palette.dim)]

    def _figure(self, name: str, value: float) -> Text:
        return Text.assemble((f"  {name.replace('_', ' '):<24}", self.look.palette.dim), f"{nice_number(value):>9}")

    def _job(self, job: JobState, workspace: str, width: int) -> list[Text]:
        palette, glyphs = self.look.palette, self.look.glyphs
        style = {"failed": palette.bad, "done": palette.good, "cancelled": palette.dim}.get(job.phase, palette.learn)
        head = Text(f"{job.title}: {'stopped' if job.phase == 'cancelled' else job.phase}", f"{style} bold" if style else "bold")
        if job.phase == "running":
            eta = f", {clock(job.eta_s)} to go" if job.eta_s is not None else ""
            head.append(f"  {percent(job)}{eta}", style)
        lines = [head]
        if job.stage:
            lines.append(Text(f"  {job.stage}"))
        if job.message:
            lines += wrapped(Text(f"  {job.message}", palette.bad if job.phase == "failed" else ""), width)
        if job.run_dir:
            lines.append(Text(f"  run     {job.run_dir}", palette.dim))
        log = Path(workspace) / "logs" / "jobs" / job.id / "output.log"
        lines.append(Text(f"  output  {log}", palette.dim))
        self._read(job, log)
        lines += [Text(f"    {printable(line)}", palette.dim) for line in self._output.get(job.id, [])]
        return [cut(line, width, glyphs.ellipsis) for line in lines]

    def _read(self, job: JobState, path: Path) -> None:
        """The end of the job's output, read once per phase and in a thread: a slow disk must not stop the drawing."""
        if (job.id, job.phase) in self._asked:
            return
        self._asked.add((job.id, job.phase))

        def read() -> None:
            try:
                with path.open("rb") as file:
                    file.seek(max(0, path.stat().st_size - READ_BYTES))
                    text = file.read().decode("utf-8", "replace")
            except OSError:
                return
            self._output[job.id] = [line for line in text.splitlines() if line.strip()][-OUTPUT_LINES:]

        threading.Thread(target=read, name="secondseat-job-output", daemon=True).start()


class DetailsScreen(ListScreen):
    def __init__(self, job_id: str = "") -> None:
        super().__init__()
        self._job_id = job_id

    def body(self) -> LinesPane:
        pane = DetailsPane(self._job_id)
        pane.add_class("full-pane")
        return pane

"""What is done with evaluations from their list and their pages: a new one, its end, the page of plots."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.text import Text

from data.text import printable
from engine.state import EngineState, JobState
from tui.asking import ask
from tui.moments import moment
from tui.opening import open_file
from tui.panes.base import bar, cut
from tui.panes.status import percent
from tui.pump import one_line
from tui.screens.session_deeds import long_work

if TYPE_CHECKING:
    from data.progress import Report
    from engine.comparison import Kept
    from tui.app import SecondseatApp


def job_of(state: EngineState) -> JobState | None:
    """The evaluation that runs or waits, else the newest."""
    jobs = [job for job in state.jobs if job.kind == "evaluate"]
    going = [job for job in jobs if job.phase in ("running", "queued")]
    return going[0] if going else jobs[-1] if jobs else None


def job_line(face: SecondseatApp, state: EngineState, width: int) -> Text | None:
    """How far the evaluation of the moment is, or why the last one failed; None when there is nothing to say."""
    job, look = job_of(state), face.look
    if job is None or job.phase in ("done", "cancelled"):
        return None
    if job.phase == "failed":
        line = Text(f"{look.glyphs.failed} the last evaluation failed: {printable(job.message) or 'without a word'}", look.palette.bad)
        line.append(f"  {face.registry['evaluations_job'].first_key()} tells more", look.palette.dim)
        return cut(line, width, look.glyphs.ellipsis)
    sign = look.glyphs.running if job.phase == "running" else look.glyphs.waiting
    tail = ""
    if job.phase == "running":
        tail = f"  {bar(job.done, 12 if width >= 100 else 6, look.glyphs.bar_full, look.glyphs.bar_empty)} {percent(job)}"
        tail += f"  {moment(job.eta_s, fine=False)} left" if job.eta_s is not None else ""
    hint = f"  {face.registry['evaluations_stop'].first_key()} stops it"
    head = Text(f"{sign} {printable(job.title)}", look.palette.learn, no_wrap=True)
    head.append(f": {printable(job.stage)}" if job.stage else "")
    cut(head, max(10, width - len(tail) - len(hint)), look.glyphs.ellipsis)
    return cut(head.append(tail).append(hint, look.palette.dim), width, look.glyphs.ellipsis)


_WHAT_STAYS: Final = "Of flights nothing is kept before all are flown; evaluations that were kept stay."


def begin(face: SecondseatApp) -> None:
    """A form, then the evaluation as a job."""
    from tui.deeds import open_form

    if face.newest.sequence and not face.newest.policies:
        key = face.registry["train_all"].first_key()
        face.tell("warning", f"there is no policy to evaluate yet: {key} trains one from your recordings", log=False)
        return
    open_form(face, face.registry["evaluate"], lambda: face.run_action_id("evaluate"))


def stop(face: SecondseatApp) -> None:
    """Ask, then end the evaluation of the moment."""
    job = job_of(face.newest)
    if job is None or job.phase not in ("running", "queued"):
        face.tell("info", "no evaluation runs", log=False)
        return
    lines = [f"{job.title}: {job.stage or job.phase}, {percent(job)}.", _WHAT_STAYS]
    ask(face, "Stop the evaluation", lines, [("y", "stop it")], {"y": lambda: face.send("job_stop", id=job.id)})


def tell_job(face: SecondseatApp) -> None:
    from tui.screens.details import DetailsScreen

    job = job_of(face.newest)
    if job is None:
        face.tell("info", "no evaluation has run since the start", log=False)
    else:
        face.push_screen(DetailsScreen(job.id))


def default_page(workspace: Path, kept: Kept) -> Path:
    from engine.comparison import FOLDER

    return workspace / FOLDER / f"{kept.id}.svg"


def save_page(face: SecondseatApp, kept: Kept) -> None:
    """Ask for a file, then draw the page of plots into it."""

    def answered(text: str | None) -> None:
        if text and text.strip():
            _draw(face, kept, Path(text.strip()).expanduser(), opened=False)

    path = default_page(Path(face.newest.workspace), kept)
    face.ask_text(f"Plots of {kept.policy} into", str(path), answered, ".svg, .png or .pdf")


def open_page(face: SecondseatApp, kept: Kept) -> None:
    """Draw the page of plots where it is kept and show it in the desktop's program; without a desktop it says where it lies."""
    _draw(face, kept, default_page(Path(face.newest.workspace), kept), opened=True)


def _draw(face: SecondseatApp, kept: Kept, path: Path, *, opened: bool) -> None:
    def work(report: Report) -> Path:
        from data.progress import Progress
        from engine.scoreboard_page import draw_kept

        report(Progress("loading the library for plots", 0.0))
        with _ONE_AT_A_TIME:
            return draw_kept(path, kept)

    def done(made: Path) -> None:
        try:
            if opened and open_file(made):
                face.tell("info", f"plots in {made}, opened")
                return
        except OSError as error:
            face.tell("error", f"plots in {made}; they could not be opened: {one_line(error)}")
            return
        why = "; there is no desktop here to show them" if opened else ""
        face.tell("info", f"plots in {made}{why}")

    long_work(face, "drawing the plots", work, done)


_ONE_AT_A_TIME = threading.Lock()
"""The library for plots is not made for several threads."""

"""What is done with leagues, refinements and imitations from their list and their pages: begun, stopped, gone on with, shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from data.text import printable
from engine.state import EngineState, JobState
from tui.asking import ask
from tui.moments import moment
from tui.opening import open_file
from tui.panes.base import bar, cut
from tui.panes.status import percent
from tui.pump import one_line

if TYPE_CHECKING:
    from league.runs import Kind, RunRow
    from tui.app import SecondseatApp

JOBS: Final[Mapping[str, Kind]] = {"league": "league", "refine": "refinement", "imitate": "imitation"}
"""What a kind of job is called here."""
COMMANDS: Final[Mapping[Kind, str]] = {kind: command for command, kind in JOBS.items()}
_UNITS: Final[Mapping[Kind, tuple[str, str]]] = {
    "league": ("rounds", "Rounds"),
    "refinement": ("iterations", "Iterations"),
    "imitation": ("epochs", "Epochs"),
}
GOING: Final = ("running", "queued")


def jobs_of(state: EngineState) -> list[JobState]:
    return [job for job in state.jobs if job.kind in JOBS]


def job_of(state: EngineState, folder: Path | None) -> JobState | None:
    """The newest job of that run; without a run the one that goes on, else the newest."""
    jobs = jobs_of(state)
    if folder is not None:
        return next((job for job in reversed(jobs) if job.run_dir == str(folder)), None)
    going = [job for job in jobs if job.phase in GOING]
    return going[0] if going else jobs[-1] if jobs else None


def job_line(face: SecondseatApp, job: JobState | None, width: int, stop_key: str, details_key: str) -> Text | None:
    """How far a job is, or why it failed; None when there is nothing to say."""
    look = face.look
    if job is None or job.phase in ("done", "cancelled"):
        return None
    if job.phase == "failed":
        line = Text(f"{look.glyphs.failed} {job.title}: {printable(job.message) or 'failed without a word'}", look.palette.bad)
        return cut(line.append(f"  {details_key} tells more", look.palette.dim), width, look.glyphs.ellipsis)
    sign = look.glyphs.running if job.phase == "running" else look.glyphs.waiting
    tail = ""
    if job.phase == "running":
        tail = f"  {bar(job.done, 12 if width >= 100 else 6, look.glyphs.bar_full, look.glyphs.bar_empty)} {percent(job)}"
        tail += f"  {moment(job.eta_s, fine=False)} left" if job.eta_s is not None else ""
    hint = f"  {stop_key} stops it"
    head = Text(f"{sign} {printable(job.title)}", look.palette.learn, no_wrap=True)
    head.append(f": {printable(job.stage)}" if job.stage else "")
    head.append(f", {printable(job.message)}" if job.message and width >= 100 else "")
    cut(head, max(10, width - len(tail) - len(hint)), look.glyphs.ellipsis)
    return cut(head.append(tail).append(hint, look.palette.dim), width, look.glyphs.ellipsis)


def begin(face: SecondseatApp, kind: Kind, policies: bool) -> None:
    """A form, then the work as a job; a league and a refinement need a first policy."""
    from tui.deeds import open_form

    if kind != "imitation" and not policies:
        key = face.registry["leagues_imitate"].first_key()
        face.tell("warning", f"there is no first policy yet: {key} makes one from play, scripted pilots' among it", log=False)
        return
    action = face.registry[{"league": "league_run", "refinement": "league_refine", "imitation": "league_imitate"}[kind]]
    open_form(face, action, lambda: face.run_action_id(action.id))


def resume(face: SecondseatApp, row: RunRow | None) -> None:
    """Ask how far, then go on as a job with the settings it was begun with."""
    if row is None:
        return
    job = job_of(face.newest, row.folder)
    if row.pid or (job is not None and job.phase in GOING):
        face.tell("info", f"{row.name} is going on already", log=False)
        return
    unit, title = _UNITS[row.kind]
    reached = _reached(row)

    def answered(text: str | None) -> None:
        if text is None or not text.strip():
            return
        number = int(text) if text.strip().isdecimal() else 0
        if number < 1:
            face.tell("warning", f"{text.strip()} is no number of {unit}: use a whole number, in all", log=False)
            return
        asked: dict[str, Any] = {"folder": str(row.folder), "resume": True, unit: number}
        face.send(COMMANDS[row.kind], **asked)

    face.ask_text(f"{title} in all, {row.name}", str(reached), answered, "those that are over count")


def _reached(row: RunRow) -> int:
    """A proposal: what was asked for and is not over, else twice of what is."""
    words = row.stage.replace(",", "").rpartition(" ")[2].split("/")
    if not words[-1].isdecimal():
        return 10
    asked = int(words[-1])
    return asked if len(words) == 2 and row.done is not None and row.done < 1 else 2 * asked


def stop(face: SecondseatApp, row: RunRow | None) -> None:
    """Ask, then end the job of this run, or without one the job of the moment."""
    job = job_of(face.newest, row.folder) if row is not None else None
    if (job is None or job.phase not in GOING) and row is not None and row.pid:
        face.tell("info", f"{row.name} is run by process {row.pid}, not by this engine: Ctrl-C where it was started stops it", log=False)
        return
    job = job if job is not None and job.phase in GOING else job_of(face.newest, None)
    if job is None or job.phase not in GOING:
        face.tell("info", "no league, refinement or imitation goes on", log=False)
        return
    key = face.registry["leagues_resume"].first_key()
    lines = [
        f"{job.title}: {job.stage or job.phase}, {percent(job)}.",
        f"It ends after the present step and is saved; {key} goes on with it.",
    ]
    ask(face, "Stop it", lines, [("y", "stop it")], {"y": lambda: face.send("job_stop", id=job.id)})


def tell_job(face: SecondseatApp, row: RunRow | None) -> None:
    from tui.screens.details import DetailsScreen

    job = (job_of(face.newest, row.folder) if row is not None else None) or job_of(face.newest, None)
    if job is None:
        face.tell("info", "no league, refinement or imitation has run since the start", log=False)
    else:
        face.push_screen(DetailsScreen(job.id))


def open_report(face: SecondseatApp, row: RunRow | None) -> None:
    """The page of a league's report, which is written whenever it ends; without a desktop it says where it lies."""
    if row is None:
        return
    page = row.folder / "report" / "report.html"
    if row.kind != "league" or not page.is_file():
        made = f"secondseat league report --league-state {row.name} makes it" if row.kind == "league" else "leagues have one"
        face.tell("info", f"{row.name} has no report: {made}", log=False)
        return
    try:
        opened = open_file(page)
    except OSError as error:
        face.tell("error", f"the report is {page}; it could not be opened: {one_line(error)}")
        return
    face.tell("info", f"the report {page} is opened" if opened else f"the report is {page}; there is no desktop here to show it")

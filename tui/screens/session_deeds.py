"""What is done with sessions from their list and their pages: dialogs, work on the desk, and what is said afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from data.text import printable
from tui.desk import Cancelled
from tui.moments import moment
from tui.panes.base import bar, cut, size
from tui.pump import one_line

if TYPE_CHECKING:
    from data.catalog import SessionInfo
    from data.progress import Report
    from data.verify import Finding
    from tui.app import SecondseatApp
    from tui.screens.data import SessionsPane

Then = Callable[[], object]
MOST_FINDINGS = 12


def readable(face: SecondseatApp, session: SessionInfo) -> bool:
    """Whether something can be done with it; says what helps when not."""
    if session.state == "corrupt":
        key = face.registry["sessions_recover"].first_key()
        face.tell("warning", f"{session.id} is broken: {key} repairs it", log=False)
    return session.state != "corrupt"


def open_page(face: SecondseatApp, session: SessionInfo) -> None:
    from tui.screens.session import SessionScreen

    face.push_screen(SessionScreen(session.folder))


def play(face: SecondseatApp, folder: Path, start_s: float) -> None:
    from tui.screens.play import PlayScreen

    face.push_screen(PlayScreen(folder, start_s))


def say(face: SecondseatApp, what: str) -> Callable[[Exception], object]:
    """An error in the hint line and the log."""
    return lambda error: face.tell("error", f"{what}: {one_line(error)}")


def _workspace(folder: Path) -> Path:
    return folder.parent.parent


def _names(sessions: Sequence[SessionInfo]) -> str:
    return sessions[0].id if len(sessions) == 1 else f"{len(sessions):,} sessions"


# ---- the trash


def trash(pane: SessionsPane, sessions: Sequence[SessionInfo]) -> None:
    """One at once, since it can be brought back; several after a question."""
    from tui.screens.dialogs import AskLetter

    face = pane.face
    if not sessions:
        return
    if len(sessions) == 1:
        _trash_now(pane, sessions)
        return
    total = size(sum(session.size_bytes for session in sessions))
    undo = face.registry["sessions_undo"].first_key()
    lines = [f"{len(sessions):,} sessions, {total}, go to the trash.", *(f"  {s.id}" for s in sessions[:5])]
    lines += [f"  and {len(sessions) - 5:,} more"] if len(sessions) > 5 else []

    def answered(letter: str | None) -> None:
        if letter == "y":
            _trash_now(pane, sessions)

    face.push_screen(AskLetter("To the trash", [*lines, f"{undo} brings them back."], [("y", "to the trash")]), answered)


def _trash_now(pane: SessionsPane, sessions: Sequence[SessionInfo]) -> None:
    from data.trash import refuse_live, trash_folder

    face, moved = pane.face, list[str]()

    def work() -> None:
        refuse_live([session.folder for session in sessions])
        for session in sessions:
            moved.append(trash_folder(session.folder).name)

    def end(error: Exception | None) -> None:
        if moved:
            pane.trashed.append(moved)
            gone = {session.id for session in sessions[: len(moved)]}
            pane.marked = [name for name in pane.marked if name not in gone]
        if error is not None:
            face.tell("error", f"trash: {one_line(error)}")
        else:
            undo = face.registry["sessions_undo"].first_key()
            face.tell("info", f"{_names(sessions)} in the trash; {undo} brings {'it' if len(sessions) == 1 else 'them'} back")
        pane.reload()

    face.desk.quick(work, lambda _: end(None), end)


def untrash(pane: SessionsPane) -> None:
    """Bring back what went to the trash last from here; without such a thing the key means what it means elsewhere."""
    from textual.actions import SkipAction

    from data.trash import undo

    face = pane.face
    if not pane.trashed:
        raise SkipAction
    names, workspace = pane.trashed.pop(), Path(face.newest.workspace)
    what = names[0] if len(names) == 1 else f"{len(names):,} sessions"

    def done(_: Any) -> None:
        face.tell("info", f"back again: {what}")
        pane.reload()

    def work() -> None:
        while names:  # what an error leaves in the trash can be tried again
            undo(workspace, names[-1])
            names.pop()

    def failed(error: Exception) -> None:
        pane.trashed.append(names)
        face.tell("error", f"undo: {one_line(error)}")
        pane.reload()

    face.desk.quick(work, done, failed)


# ---- words


def write_note(face: SecondseatApp, folder: Path, then: Then) -> None:
    """A form with title and note; what is there is read first."""
    from data.annotations import read, update
    from tui.screens.session_form import NoteForm

    def answered(words: tuple[str, str] | None) -> None:
        if words is not None:
            title, note = words
            face.desk.quick(lambda: update(folder, title=title, note=note), lambda _: then(), say(face, "note"))

    face.desk.quick(
        lambda: read(folder),
        lambda said: face.push_screen(NoteForm(folder.name, said.title, said.note), answered),
        say(face, "note"),
    )


def write_tags(face: SecondseatApp, folders: Sequence[Path], then: Then) -> None:
    """One line: tags to add, and with a minus tags to take away. For one session its tags stand there to be edited."""
    from data.annotations import AnnotationError, read, update

    if not folders:
        return

    def apply(text: str, before: tuple[str, ...]) -> None:
        words = text.replace(",", " ").replace("#", " ").split()
        add = [word for word in words if not word.startswith("-")]
        remove = {word[1:] for word in words if word.startswith("-")} | {tag for tag in before if tag not in add}

        def work() -> None:
            for folder in folders:
                there = read(folder).tags
                update(folder, add=[tag for tag in add if tag not in remove], remove=[tag for tag in there if tag in remove])

        def failed(error: Exception) -> None:
            face.tell("error" if not isinstance(error, AnnotationError) else "warning", one_line(error))
            then()

        face.desk.quick(work, lambda _: then(), failed)

    def ask(before: tuple[str, ...]) -> None:
        one = len(folders) == 1
        title = f"Tags of {folders[0].name}" if one else f"Tags for {len(folders):,} sessions: word adds, -word takes away"
        face.ask_text(title, " ".join(before), lambda text: apply(text, before) if text is not None else None)

    if len(folders) == 1:
        face.desk.quick(lambda: read(folders[0]).tags, ask, say(face, "tags"))
    else:
        ask(())


# ---- long work


def long_work(
    face: SecondseatApp, title: str, work: Callable[[Report], Any], done: Callable[[Any], object], then: Then | None = None
) -> None:
    def failed(error: Exception) -> None:
        if isinstance(error, Cancelled):
            face.tell("warning", f"{title}: stopped")
        else:
            face.tell("error", f"{title}: {one_line(error)}")
        if then is not None:
            then()

    if not face.desk.long(title, work, done, failed):
        busy_said(face)


def busy_said(face: SecondseatApp) -> None:
    """Say that other work must end first."""
    doing = face.desk.doing
    face.tell("warning", f"{doing.title if doing else 'other work'} is still going on; {_stop_key(face)} stops it", log=False)


def _stop_key(face: SecondseatApp) -> str:
    return face.registry["sessions_cancel"].first_key()


def cancel(face: SecondseatApp) -> None:
    """Stop the work of the moment; without any the key means what it means elsewhere."""
    from textual.actions import SkipAction

    if not face.desk.cancel():
        raise SkipAction


def busy_line(face: SecondseatApp, width: int) -> Text | None:
    """The work of the moment, how far it is and how to stop it; None when there is none."""
    doing, look = face.desk.doing, face.look
    if doing is None:
        return None
    line = Text(f"{look.glyphs.waiting} {doing.title}", look.palette.warn, no_wrap=True)
    if doing.stage:
        line.append(f": {printable(doing.stage)}")
    if doing.done > 0:
        line.append(f"  {bar(doing.done, 12, look.glyphs.bar_full, look.glyphs.bar_empty)} {doing.done * 100:.0f}%")
    if doing.eta_s is not None:
        line.append(f"  {moment(doing.eta_s, fine=False)} left")
    elif time.monotonic() - doing.begin_s >= 2:
        line.append(f"  {moment(time.monotonic() - doing.begin_s, fine=False)}")
    line.append(f"  {_stop_key(face)} stops it", look.palette.dim)
    return cut(line, width, look.glyphs.ellipsis)


def verify(face: SecondseatApp, folders: Sequence[Path], then: Then) -> None:
    """Check sessions; what was found is shown."""

    def work(report: Report) -> dict[str, list[Finding]]:
        from data.progress import Progress
        from data.verify import verify as look_at

        found: dict[str, list[Finding]] = {}
        for number, folder in enumerate(folders):
            report(Progress(folder.name, number / len(folders)))
            found[folder.name] = look_at(folder)
        return found

    if folders:
        long_work(face, "verifying", work, lambda found: _findings(face, found, folders, then))


def _findings(face: SecondseatApp, found: dict[str, list[Finding]], folders: Sequence[Path], then: Then) -> None:
    from tui.screens.dialogs import AskLetter

    bad = {name: findings for name, findings in found.items() if any(f.severity != "info" for f in findings)}
    if not bad:
        face.tell("info", f"{len(found):,} session{'s' * (len(found) != 1)} verified: in order")
        return
    signs = {"error": face.look.glyphs.failed, "warning": face.look.glyphs.needs, "info": face.look.glyphs.dot}
    lines: list[str] = []
    for name, findings in bad.items():
        lines += [name, *(f"  {signs[f.severity]} {f.severity}: {f.file}: {printable(f.text)}" for f in findings)]
    if len(lines) > MOST_FINDINGS:
        lines = [*lines[: MOST_FINDINGS - 1], f"and {len(lines) - MOST_FINDINGS + 1} lines more: 'secondseat sessions verify' prints all"]

    def answered(letter: str | None) -> None:
        if letter == "r":
            recover(face, [folder for folder in folders if folder.name in bad], then)

    answers = [("r", "repair: what is damaged is kept beside")] if any(f.severity == "error" for fs in bad.values() for f in fs) else []
    face.push_screen(AskLetter(f"{len(bad)} of {len(found)} need a look", lines, answers), answered)


def recover(face: SecondseatApp, folders: Sequence[Path], then: Then) -> None:
    def work(report: Report) -> list[Any]:
        from data.progress import Progress
        from data.recovery import recover as repair

        reports: list[Any] = []
        for number, folder in enumerate(folders):
            report(Progress(folder.name, number / len(folders)))
            reports.append(repair(folder))
        return reports

    def done(reports: list[Any]) -> None:
        for report in reports:
            face.tell("warning" if report.outcome == "refused" else "info", report.message)
        then()

    if folders:
        long_work(face, "repairing", work, done, then)


def merge(face: SecondseatApp, sessions: Sequence[SessionInfo], then: Then) -> None:
    if len(sessions) < 2:
        key = face.registry["sessions_mark"].first_key()
        face.tell("warning", f"merging needs two sessions or more: mark them with {key}", log=False)
        return
    workspace = _workspace(sessions[0].folder)

    def done(info: SessionInfo) -> None:
        face.tell("info", f"merged into {info.id}, {moment(info.duration_s)}; the {len(sessions)} stay")
        then()

    def work(report: Report) -> SessionInfo:
        from data.session_edit import merge as put_together

        return put_together(workspace, [session.id for session in sessions], report)

    long_work(face, f"merging {len(sessions)} sessions", work, done, then)


def cut_out(face: SecondseatApp, folder: Path, start_s: float, end_s: float, then: Then) -> None:
    """A new session of one stretch."""

    def work(report: Report) -> SessionInfo:
        from data.session_edit import cut as take

        return take(_workspace(folder), folder.name, start_s, end_s, report)

    def done(info: SessionInfo) -> None:
        face.tell("info", f"{moment(start_s)} to {moment(end_s)} is now {info.id}; the original stays")
        then()

    long_work(face, "cutting", work, done, then)


def export(face: SecondseatApp, folder: Path, start_s: float, end_s: float, *, whole: bool = False) -> None:
    """Ask for a file, then write the stretch into it as MP4, with pointer, clicks and keys drawn in."""
    stretch = "" if whole else f"_{start_s:.0f}-{end_s:.0f}s"
    default = _workspace(folder) / "clips" / f"{folder.name}{stretch}.mp4"

    def answered(text: str | None) -> None:
        if not text or not text.strip():
            return
        path = Path(text.strip()).expanduser()

        def work(report: Report) -> Path:
            from data.clip import export_clip

            path.parent.mkdir(parents=True, exist_ok=True)
            export_clip(folder, start_s, end_s, path, report, overlay=True)
            return path

        long_work(face, "exporting a clip", work, lambda done: face.tell("info", f"clip of {moment(end_s - start_s)} in {done}"))

    face.ask_text(f"Clip {moment(start_s)} to {moment(end_s)} as MP4 into", str(default), answered)


def use_as_source(face: SecondseatApp, name: str) -> None:
    """The recording as what is captured, as if it were live."""
    face.send("source", kind="video", session=name)

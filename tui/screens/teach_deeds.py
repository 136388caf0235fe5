"""What is done while a detector is taught from the face: pictures, the page, training, into the profile and back.

``Teaching`` is what the face keeps of it while screens come and go. The work itself is ``engine.teach*``, as for
``secondseat games teach``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from data.profile import ARENA_PROFILE, GameProfile
from tui.asking import ask
from tui.panes.status import percent
from tui.pump import one_line
from tui.screens.session_deeds import long_work
from tui.teach_serving import ServedPage

if TYPE_CHECKING:
    from data.progress import Report
    from engine.state import EngineState, JobState
    from engine.teach import TeachProject
    from engine.teach_facts import TeachFacts
    from engine.teach_prepare import Prepared
    from tui.app import SecondseatApp

FIRST_PICTURES: Final = 60
MORE_PICTURES: Final = 30


@dataclass(frozen=True, slots=True)
class Subject:
    """The game that is taught. ``profile`` is as the settings say now; ``file`` is the settings file that names it;
    ``names``: all games of one's own."""

    project: TeachProject
    profile: GameProfile
    facts: TeachFacts
    file: Path
    names: tuple[str, ...]


class NoGame(LookupError):
    """There is nothing to teach; the text says why and what to do."""


def read_subject(config: str, workspace: Path, names_first: tuple[str, ...], at_work: TeachProject | None = None) -> Subject:
    """The first of ``names_first`` that is a game of one's own, else the settings' game, else the first there is.

    ``at_work``: a project that something writes through just now; it is kept, so that nobody works on an older copy.

    Raises NoGame, SettingsError, engine.teach.TeachError, OSError.
    """
    from data.settings_io import load_settings, settings_file_to_write
    from engine.teach import TeachProject
    from engine.teach_facts import facts_of

    given = Path(config) if config else None
    settings = load_settings(given, strict=True)[0]
    names = tuple(name for name in settings.games if name != ARENA_PROFILE.name)
    if not names:
        raise NoGame("There is no game of your own yet, and the arena's detector comes with it.")
    name = next((one for one in (*names_first, settings.game) if one in names), names[0])
    project = TeachProject(workspace, settings.games[name])
    kept = at_work if at_work is not None and at_work.profile.name == name else project
    return Subject(kept, project.profile, facts_of(project), settings_file_to_write(given), names)


class Teaching:
    """``subject`` None: not read yet, or ``problem`` tells why it cannot be. ``page`` outlives the screen."""

    def __init__(self, face: SecondseatApp) -> None:
        self._face = face
        self.subject: Subject | None = None
        self.problem = ""
        self.no_game = False
        self.page: ServedPage | None = None
        self.wanted = ""
        """The game that was chosen here; empty: the present one."""
        self._preparing: TeachProject | None = None

    # ---- reading

    def read(self, then: Callable[[], object] = lambda: None) -> None:
        """Read the settings and the teach folder anew, off the drawing loop."""
        face = self._face
        workspace, first = Path(face.newest.workspace), (self.wanted, face.newest.capture.game)
        serving = self.page is not None and self.page.going
        at_work = self.page.project if self.page is not None and serving else self._preparing

        def done(subject: Subject) -> None:
            self.subject, self.problem, self.no_game = subject, "", False
            for notice in subject.project.notices:
                face.note("warning", notice)
            then()

        def failed(error: Exception) -> None:
            self.subject, self.problem, self.no_game = None, one_line(error), isinstance(error, NoGame)
            then()

        face.desk.quick(lambda: read_subject(face.config, workspace, first, at_work), done, failed)

    def count(self, then: Callable[[], object]) -> None:
        """Count the pictures and boxes again: the page has changed them."""
        from dataclasses import replace

        subject = self.subject
        if subject is None:
            return

        def done(counts: dict[str, int]) -> None:
            if self.subject is subject:
                self.subject = replace(subject, facts=replace(subject.facts, counts=counts))
                then()

        self._face.desk.quick(subject.project.counts, done, self._said("counting"))

    def next_game(self, then: Callable[[], object]) -> None:
        subject = self.subject
        if subject is None or len(subject.names) < 2:
            self._face.tell("info", "there is no other game of your own", log=False)
            return
        if self.page is not None and self.page.going:
            self._face.tell("warning", f"the page of {subject.facts.game} is open; stop it first", log=False)
            return
        names = subject.names
        self.wanted = names[(names.index(subject.facts.game) + 1) % len(names)]
        self.read(then)

    # ---- pictures and the page

    def more(self, then: Callable[[], object]) -> None:
        """Take further pictures, and propose boxes in them."""
        if self.subject is not None:
            there = self.subject.facts.pictures
            self._prepare(there + MORE_PICTURES if there else FIRST_PICTURES, then, opened=False)

    def open_page(self, then: Callable[[], object]) -> None:
        """Serve the page; before it come pictures where there are none, and proposals."""
        subject = self.subject
        if subject is None:
            return
        if self.page is not None and self.page.going:
            self._face.tell("info", "the page is open already: its address stands above", log=False)
            return
        self._prepare(subject.facts.pictures or FIRST_PICTURES, then, opened=True)

    def _prepare(self, wanted: int, then: Callable[[], object], *, opened: bool) -> None:
        from engine.teach_prepare import prepare

        face, subject = self._face, self.subject
        if subject is None:
            return
        if not subject.facts.pictures and subject.facts.no_recordings:
            face.tell("warning", subject.facts.no_recordings, log=False)
            return

        def work(report: Report) -> Prepared:
            from engine.runtime.progress import EtaReport

            return prepare(subject.project, wanted, report=EtaReport(report))

        def ended() -> None:
            self._preparing = None
            self.read(then)

        def done(prepared: Prepared) -> None:
            face.tell("info", "; ".join(prepared.lines()) or "nothing new to propose: every picture is as you left it")
            if opened:
                self._serve(subject, then)
            ended()

        if face.desk.doing is None:
            self._preparing = subject.project
        long_work(face, f"pictures of {subject.facts.game}", work, done, ended)

    def _serve(self, subject: Subject, then: Callable[[], object]) -> None:
        face = self._face

        def changed() -> None:
            face.desk.post(lambda: self._page_changed(then))

        self.page = ServedPage(subject.project, changed)
        self.page.start()

    def _page_changed(self, then: Callable[[], object]) -> None:
        page, face = self.page, self._face
        if page is None:
            return
        if page.problem:
            face.tell("error", page.problem)
        elif page.finished:
            face.tell("info", f"the boxes are done for now; {face.registry['teach_train'].first_key()} trains a detector on them")
        self.count(then)

    def show_page(self) -> None:
        face, page = self._face, self.page
        try:
            if page is None or not page.address:
                face.tell("info", "the page is not open; enter opens it", log=False)
            elif not page.open_browser():
                face.tell("warning", f"there is no desktop here to show it: open the address yourself, or {page.tunnel}", log=False)
        except OSError as error:
            face.tell("error", f"the browser could not be started: {one_line(error)}")

    def copy_address(self) -> None:
        face, page = self._face, self.page
        if page is None or not page.address:
            face.tell("info", "the page is not open; enter opens it", log=False)
            return
        face.copy_to_clipboard(page.address)
        face.tell("info", "the address is sent to the terminal's clipboard; it is yours alone", log=False)

    # ---- training

    def train(self) -> None:
        """A form, then the training as a job."""
        from tui.deeds import open_form

        face, subject = self._face, self.subject
        if subject is None:
            return
        facts = subject.facts
        if facts.missing:
            least = facts.confirmed + facts.missing
            face.tell(
                "warning", f"{facts.confirmed} pictures are confirmed; at least {least} are needed, some dozens to be of use", log=False
            )
            return
        job = self.job(face.newest)
        if job is not None and job.phase in ("running", "queued"):
            face.tell("warning", f"{job.title} is still going on", log=False)
            return
        action = face.registry["teach_train"]
        profile = subject.profile.model_dump(mode="json")
        usual = {"resume": facts.model is not None and not facts.model.complete}
        open_form(face, action, lambda: face.send("teach", profile=profile, **face.parameters(action)), usual)

    def job(self, state: EngineState) -> JobState | None:
        """The newest training of this game."""
        return job_of(state, self.subject.facts.game) if self.subject is not None else None

    def stop(self) -> None:
        """Work of the moment, else the training, else the page."""
        face = self._face
        job = self.job(face.newest)
        if face.desk.cancel():
            return
        if job is not None and job.phase in ("running", "queued"):
            lines = [f"{job.title}: {job.stage or job.phase}, {percent(job)}.", "What it has learnt so far stays and can be gone on with."]
            ask(face, "Stop the training", lines, [("y", "stop it")], {"y": lambda: face.send("job_stop", id=job.id)})
        elif self.page is not None and self.page.going:
            self.page.stop()
            face.tell("info", "the page is closed; what was drawn is kept", log=False)
        else:
            face.tell("info", "nothing to stop", log=False)

    # ---- the profile

    def put(self, then: Callable[[], object]) -> None:
        """Ask, then name the newest detector in the profile; also watch with it, when that is wished."""
        face, subject = self._face, self.subject
        if subject is None:
            return
        facts, model = subject.facts, subject.facts.model
        if model is None:
            face.tell("warning", "no detector was trained here yet", log=False)
        elif facts.in_profile:
            face.tell("info", f"games.{facts.game} has it already", log=False)
        elif not model.complete:
            key = face.registry["teach_train"].first_key()
            face.tell("warning", f"its training was stopped early: {key} goes on with it, then it can be put into the profile", log=False)
        else:
            lines = [f"{model.name}", f"in place of {facts.detector or 'none'}, in {subject.file}."]
            lines += [f"mAP50 {model.figures.get('map50', 0.0):.2f} on {model.held_out} held-out pictures.", *model.words[:2]]
            lines += [f"{face.registry['teach_undo'].first_key()} takes it back."]
            answers = [("y", "put it in, and watch this game with it"), ("s", "put it in only")]
            ask(face, "Into the profile", lines, answers, {"y": lambda: self._put(then, True), "s": lambda: self._put(then, False)})

    def _put(self, then: Callable[[], object], use: bool) -> None:
        def work() -> str:
            from engine.teach_training import newest_model, put_into_profile

            fresh = self._fresh()
            weights = newest_model(fresh.project)
            if weights is None:
                raise ValueError("the newest detector does not fit the profile any more; train it again")
            return put_into_profile(fresh.project, weights, fresh.file).sentence()

        self._change(work, then, use)

    def undo(self, then: Callable[[], object]) -> None:
        """The detector before goes back into the profile, at once: putting it in again is one key."""
        if self.subject is None:
            return

        def work() -> str:
            from engine.teach_training import take_back

            fresh = self._fresh()
            change, detector = take_back(fresh.project, fresh.file)
            return f"games.{fresh.facts.game} has the detector {detector or 'none'} again; {change.sentence()}"

        game = self.subject.facts.game
        watched = self._face.newest.capture.source == "screen" and self._face.newest.capture.game == game
        self._change(work, then, watched and self._face.newest.recorder.phase == "idle")

    def _change(self, work: Callable[[], str], then: Callable[[], object], use: bool) -> None:
        face = self._face

        def told(sentence: str) -> None:
            face.tell("info", sentence)

            def read() -> None:
                if use and self.subject is not None:
                    face.send("game", profile=self.subject.profile.model_dump(mode="json"))
                then()

            self.read(read)

        face.desk.quick(work, told, self._said("the profile"))

    def _fresh(self) -> Subject:
        """The settings may have been written meanwhile: what is put into them begins with what stands there now."""
        if self.subject is None:
            raise ValueError("no game is chosen")
        return read_subject(self._face.config, self.subject.project.place.root, (self.subject.facts.game,))

    def _said(self, what: str) -> Callable[[Exception], Any]:
        return lambda error: self._face.tell("error", f"{what}: {one_line(error)}")

    def close(self) -> bool:
        """End the page; False when it would not end in time."""
        return self.page is None or self.page.close()


def job_of(state: EngineState, game: str) -> JobState | None:
    """The newest job that trains a game's detector."""
    return next((job for job in reversed(state.jobs) if job.kind == "teach" and job.title == f"teach {game}"), None)

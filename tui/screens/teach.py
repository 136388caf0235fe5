"""Teach a detector one's own game: pictures, the page for boxes, training, into the profile, and back."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from data.text import printable
from engine.state import EngineState, JobState
from tui.moments import moment
from tui.panes.base import LinesPane, bar, cut, wrapped
from tui.panes.status import percent
from tui.screens.lists import ListPane, ListScreen
from tui.screens.session_deeds import busy_line
from tui.screens.teach_deeds import Teaching
from tui.screens.teach_parts import FIGURES, figure_row, next_step, signs

KEPT: Final = "teaching"
COUNT_EVERY: Final = 4
"""Rounds of the face between two counts while the page is open."""


def teaching_of(pane: LinesPane) -> Teaching:
    """What the face keeps of teaching; made when it is first asked for."""
    face = pane.face
    if KEPT not in face.desk.kept:
        made = face.desk.kept[KEPT] = Teaching(face)
        face.at_the_end.append(made.close)
    return face.desk.kept[KEPT]


class TeachPane(ListPane):
    scope = "teach"

    def __init__(self) -> None:
        super().__init__("teach", "Teach a detector")
        self._read_for: tuple[object, ...] = ()
        self._rounds = 0

    @property
    def teaching(self) -> Teaching:
        return teaching_of(self)

    # ---- what is seen

    def show(self, state: EngineState) -> None:
        teaching = self.teaching
        ended = tuple(job.id for job in state.jobs if job.kind == "teach" and job.phase not in ("running", "queued"))
        wanted = (state.workspace, state.sessions, ended)
        if state.workspace and wanted != self._read_for:
            self._read_for = wanted
            teaching.read(self.again)
        self._rounds += 1
        if teaching.page is not None and teaching.page.going and self._rounds % COUNT_EVERY == 0:
            teaching.count(self.again)
        subject = teaching.subject
        self.set_title("Teach a detector" if subject is None else f"Teach a detector: {printable(subject.facts.game)}")
        super().show(state)

    def again(self) -> None:
        if self.is_attached:
            super().show(self.face.newest)

    def compose_all(self, state: EngineState) -> list[Text]:
        width = max(20, self.size.width)
        if self.teaching.subject is None:
            return self._without(width)
        step = next_step(self.teaching, state)
        lines = [*self._pictures(width), Text(), *self._page(width), Text(), *self._training(state, width), Text(), *self._profile(width)]
        busy = busy_line(self.face, width)
        told = step.words(self.face.registry, self.look, width) if busy is None else [busy]
        return [*told, Text(), *lines]

    def _without(self, width: int) -> list[Text]:
        palette, problem = self.look.palette, self.teaching.problem
        if not problem:
            return [Text("Reading the settings and your pictures.", palette.dim)]
        if not self.teaching.no_game:
            return wrapped(Text(f"{self.look.glyphs.failed} {printable(problem)}", palette.bad), width)
        first = Text(problem, palette.dim)
        then = Text.assemble("Describe your game with ", (self.key("add_game"), palette.accent), style=palette.dim)
        then.append(f" ({self.key('palette')} finds it), record some play, and teach a detector here what to see.")
        return [*wrapped(first, width), *wrapped(then, width)]

    def _head(self, number: int, name: str, rest: Text | str, width: int) -> Text:
        sign, style = signs(self.teaching, self.face.newest, self.look)[number - 1]
        line = Text(f"{sign} {number} {name:<9} ", style, no_wrap=True)
        line.append_text(rest if isinstance(rest, Text) else Text(rest))
        return cut(line, width, self.look.glyphs.ellipsis)

    def _below(self, text: Text | str, width: int) -> list[Text]:
        whole = text if isinstance(text, Text) else Text(text, self.look.palette.dim)
        return [Text(" " * 14, no_wrap=True).append_text(part) for part in wrapped(whole, width - 14)]

    def _pictures(self, width: int) -> list[Text]:
        subject, look = self.teaching.subject, self.look
        if subject is None:
            return []
        facts = subject.facts
        recordings = f"{facts.recordings:,} recording{'s' * (facts.recordings != 1)} to take them from"
        if not facts.pictures:
            return [self._head(1, "Pictures", Text(f"none yet; {recordings}", look.palette.dim), width)]
        done = facts.pictures - facts.to_look_at
        share = f"{bar(done / facts.pictures, 10, look.glyphs.bar_full, look.glyphs.bar_empty)} "
        words = f"{facts.confirmed} of {facts.pictures} labelled, {facts.to_look_at} to look at, {facts.counts['skipped']} skipped"
        boxes = "  ".join(f"{printable(name)} {facts.counts[f'boxes.{name}']}" for name in facts.classes)
        return [self._head(1, "Pictures", share + words, width), *self._below(f"boxes: {boxes}", width), *self._below(recordings, width)]

    def _page(self, width: int) -> list[Text]:
        palette, page = self.look.palette, self.teaching.page
        if page is None or not page.going:
            return [self._head(2, "Page", Text("closed", palette.dim), width)]
        if not page.address:
            return [self._head(2, "Page", Text("opening", palette.dim), width)]
        # The address stands on a line of its own and is never cut: a terminal makes a link of it, a person copies it.
        address = [Text(part.plain, palette.accent, no_wrap=True) for part in wrapped(Text(page.address), width)]
        told = f"on this machine alone, and for you alone; {page.tunnel}"
        return [self._head(2, "Page", "open it in a browser; it saves as you draw", width), *address, *self._below(told, width)]

    def _training(self, state: EngineState, width: int) -> list[Text]:
        subject, job = self.teaching.subject, self.teaching.job(state)
        if subject is None:
            return []
        if job is not None and job.phase in ("running", "queued", "failed"):
            return self._job(job, width)
        model = subject.facts.model
        if model is None:
            return [self._head(3, "Training", Text("no detector was trained yet", self.look.palette.dim), width)]
        figures = f"mAP50 {model.figures.get('map50', 0.0):.2f}, mAP50-95 {model.figures.get('map50_95', 0.0):.2f}"
        lines = [self._head(3, "Training", f"{figures} on {model.held_out} held-out pictures", width)]
        lines += self._below(f"trained on {model.trained_on} pictures{'' if model.complete else ', stopped early'}", width)
        classes = model.figures.get("classes", {})
        if classes:
            names = max(5, *(len(name) for name in classes))
            lines += self._below(Text(f"{'class':<{names}}  {FIGURES}", self.look.palette.dim), width)
            lines += [line for name, row in classes.items() for line in self._below(Text(figure_row(name, row, names)), width)]
        return [*lines, *(line for word in model.words for line in self._below(f"- {word}", width))]

    def _job(self, job: JobState, width: int) -> list[Text]:
        palette, glyphs = self.look.palette, self.look.glyphs
        if job.phase == "failed":
            why = Text(f"failed: {printable(job.message) or 'without a word'}", palette.bad)
            first, *more = wrapped(why, width - 14)
            return [self._head(3, "Training", first, width), *(line for part in more for line in self._below(part, width))]
        if job.phase == "queued":
            return [self._head(3, "Training", Text("waits for its turn", palette.dim), width)]
        words = f"{bar(job.done, 10, glyphs.bar_full, glyphs.bar_empty)} {percent(job)}  {printable(job.stage)}"
        words += f"  {moment(job.eta_s, fine=False)} left" if job.eta_s is not None else ""
        return [
            self._head(3, "Training", Text(words, palette.learn), width),
            *(self._below(printable(job.message), width) if job.message else []),
        ]

    def _profile(self, width: int) -> list[Text]:
        subject = self.teaching.subject
        if subject is None:
            return []
        facts = subject.facts
        has = f"games.{printable(facts.game)} has {printable(facts.detector) or 'no detector'}"
        undo = f"{facts.before} before it can be brought back: {self.key('teach_undo')}" if facts.before else ""
        return [self._head(4, "Profile", has, width), *(self._below(undo, width) if undo else [])]

    # ---- what the keys do

    def do_teach_page(self) -> None:
        self.teaching.open_page(self.again)

    def do_teach_more(self) -> None:
        self.teaching.more(self.again)

    def do_teach_train(self) -> None:
        self.teaching.train()

    def do_teach_put(self) -> None:
        self.teaching.put(self.again)

    def do_teach_undo(self) -> None:
        self.teaching.undo(self.again)

    def do_teach_browser(self) -> None:
        self.teaching.show_page()

    def do_teach_copy(self) -> None:
        self.teaching.copy_address()

    def do_teach_stop(self) -> None:
        self.teaching.stop()

    def do_teach_job(self) -> None:
        from tui.screens.details import DetailsScreen

        job = self.teaching.job(self.face.newest)
        if job is None:
            self.face.tell("info", "nothing was trained here since the start", log=False)
        else:
            self.face.push_screen(DetailsScreen(job.id))

    def do_teach_game(self) -> None:
        self.teaching.next_game(self.again)

    def do_teach_again(self) -> None:
        self.teaching.read(self.again)


class TeachScreen(ListScreen):
    def body(self) -> LinesPane:
        pane = TeachPane()
        pane.add_class("full-pane")
        return pane

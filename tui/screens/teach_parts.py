"""What the teaching screen says of itself: which step is next, the signs before the steps, rows of figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text

from engine.state import EngineState
from tui.panes.base import wrapped
from tui.registry import Registry
from tui.screens.teach_deeds import Teaching
from tui.theme import Look

FIGURES: Final = "held out  AP50  AP50-95  recall  precision"


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next: words before and after the key of ``action`` (empty: nothing to press)."""

    before: str
    action: str = ""
    after: str = ""

    def words(self, registry: Registry, look: Look, width: int) -> list[Text]:
        line = Text(f"{look.glyphs.pointer} {self.before}", look.palette.strong)
        if self.action:
            line.append(registry[self.action].first_key(), look.palette.accent).append(self.after)
        return wrapped(line, width)


def next_step(teaching: Teaching, state: EngineState) -> Step:
    subject = teaching.subject
    if subject is None:
        return Step("")
    facts, job = subject.facts, teaching.job(state)
    open_ = teaching.page is not None and teaching.page.going
    if not facts.pictures:
        if facts.no_recordings:
            return Step(f"No recording of {facts.game} yet: ", "record", " records while you play it; a few minutes are enough to begin.")
        return Step("", "teach_page", " takes pictures of your recordings, proposes boxes, and opens the page to correct them.")
    if job is not None and job.phase in ("running", "queued"):
        return Step("It trains. What it has learnt is judged by pictures it never saw. ", "teach_stop", " stops it.")
    if facts.missing:
        if open_:
            return Step(f"Confirm, fix and draw on the page: {facts.missing} more before anything can be learnt, some dozens to be of use.")
        return Step(f"{facts.missing} more labelled pictures are needed: ", "teach_page", " opens the page to confirm, fix and draw.")
    if facts.model is None:
        return Step("Enough to train a first detector: ", "teach_train", "; more labelled pictures make a better one.")
    if not facts.model.complete:
        return Step("The training was stopped early: ", "teach_train", " goes on with it.")
    if not facts.in_profile:
        return Step("The newest detector is not in the profile yet: ", "teach_put", " puts it there.")
    if facts.to_look_at:
        return Step("It is in the profile. Those it is least sure of come first now: ", "teach_page", " opens the page.")
    return Step("It is in the profile. Weak somewhere? ", "teach_more", " takes more pictures, the next training learns from them too.")


def signs(teaching: Teaching, state: EngineState, look: Look) -> list[tuple[str, str]]:
    """Sign and style of each of the four steps: done, at work, failed, or not yet."""
    glyphs, palette = look.glyphs, look.palette
    subject, job = teaching.subject, teaching.job(state)
    if subject is None:
        return [(glyphs.off, palette.dim)] * 4
    facts = subject.facts
    good, off, going = (glyphs.good, palette.good), (glyphs.off, palette.dim), (glyphs.running, palette.learn)
    page = going if teaching.page is not None and teaching.page.going else good if facts.pictures and not facts.to_look_at else off
    training = good if facts.model is not None and facts.model.complete else off
    if job is not None and job.phase in ("running", "queued", "failed"):
        training = {"running": going, "queued": (glyphs.waiting, palette.dim), "failed": (glyphs.failed, palette.bad)}[job.phase]
    return [good if facts.pictures else off, page, training, good if facts.in_profile else off]


def figure_row(name: str, row: Mapping[str, Any], names: int) -> str:
    """One class's figures under ``FIGURES``; a class that was not held out has none."""
    n = int(row.get("n", 0))
    said = [f"{row[key]:.2f}" if n else "-" for key in ("ap50", "ap50_95", "recall", "precision")]
    return f"{name:<{names}}  {n:>8}  {said[0]:>4}  {said[1]:>7}  {said[2]:>6}  {said[3]:>9}"

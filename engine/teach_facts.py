"""How far the teaching of a detector is, read at once: pictures, boxes, the newest model and what the profile has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.perception.card import DetectorError, read_card
from engine.teach import STATES, TeachError, TeachProject
from engine.teach_sampling import sessions_of
from engine.teach_training import LEAST_PICTURES, newest_model, taken_before


@dataclass(frozen=True, slots=True)
class TaughtModel:
    """The newest detector that was taught. ``name``: relative to the workspace; ``complete``: not stopped early;
    ``figures``: see ``judging.judge``; ``words``: what these are worth; ``held_out``: pictures they were measured on."""

    name: str
    complete: bool
    trained_on: int
    held_out: int
    figures: Mapping[str, Any]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TeachFacts:
    """``counts``: see ``TeachProject.counts``. ``detector``: what the profile names, empty for none. ``before``: how many
    detectors can be taken back. ``no_recordings``: why no picture can be taken; empty when some can."""

    game: str
    classes: tuple[str, ...]
    counts: Mapping[str, int]
    recordings: int
    no_recordings: str
    model: TaughtModel | None
    detector: str
    before: int

    @property
    def pictures(self) -> int:
        return sum(self.counts[state] for state in STATES)

    @property
    def confirmed(self) -> int:
        return self.counts["confirmed"]

    @property
    def to_look_at(self) -> int:
        return self.counts["new"] + self.counts["proposed"]

    @property
    def missing(self) -> int:
        """How many more pictures have to be confirmed before anything can be trained."""
        return max(0, LEAST_PICTURES - self.confirmed)

    @property
    def in_profile(self) -> bool:
        """Whether the profile has the newest model."""
        return self.model is not None and self.model.name == self.detector


def facts_of(project: TeachProject) -> TeachFacts:
    """Read them; the sessions' metadata too. Raises OSError."""
    recordings, why = 0, ""
    try:
        recordings = len(sessions_of(project.place.root, project.profile.name))
    except TeachError as error:
        why = str(error)
    return TeachFacts(
        game=project.profile.name,
        classes=project.names,
        counts=project.counts(),
        recordings=recordings,
        no_recordings=why,
        model=_model_of(project),
        detector=project.profile.detector,
        before=taken_before(project),
    )


def _model_of(project: TeachProject) -> TaughtModel | None:
    path = newest_model(project)
    if path is None:
        return None
    try:
        card = read_card(path.with_suffix(".json"))
    except DetectorError:  # it went away between two looks
        return None
    return TaughtModel(
        name=project.place.relative(path),
        complete=card.training.get("complete") is True,
        trained_on=int(card.training.get("pictures", 0)),
        held_out=int(card.training.get("held_out", 0)),
        figures=card.figures,
        words=tuple(str(word) for word in card.figures.get("words", ())),
    )

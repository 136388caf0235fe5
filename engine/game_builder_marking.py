"""Marking gauges on a picture: what a person has marked, what was fitted to it, and what they changed. No I/O.

The picture stands still while it is marked; newer ones are only read. A second picture (the bar less full) makes the fit
surer: colour and direction then need no guess.
"""

from __future__ import annotations

from typing import Final, get_args

from data.profile import Colour, Gauge
from data.schema import Image
from engine.game_builder import Draft, DraftError
from engine.game_builder_gauges import Box, Direction, Fit, FitError, Kind, box_of, fit_gauge, read_gauge

USUAL_NAMES: Final = ("hp", "shield", "energy", "ammo", "boost")
DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)


class Marking:
    """``draft`` gets the gauges that are kept. ``said`` is what the person should know of the last thing they did."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.picture: Image | None = None
        self.mark: Box | None = None
        self.fit: Fit | None = None
        self.said = ""
        self._less: Image | None = None
        self._colour: Colour | None = None
        self._direction: Direction | None = None
        self._kind: Kind = "level"
        self._name = ""

    @property
    def name(self) -> str:
        """The gauge of the draft that is marked anew; empty for a new one."""
        return self._name

    def take(self, picture: Image) -> None:
        """The picture that is marked from now on; what was marked on the old one is forgotten."""
        self.picture = picture
        self.forget()

    def forget(self) -> None:
        self.mark = self.fit = self._less = self._colour = self._direction = None
        self._kind, self._name, self.said = "level", "", ""

    def put_mark(self, box: Box) -> None:
        """A rectangle round a bar, in px of the picture."""
        name, kind = self._name, self._kind
        self.forget()
        self._name, self._kind = name, kind
        self.mark = box
        self._refit()

    def take_less(self, picture: Image) -> None:
        """A picture of the same bar less full."""
        if self.mark is None:
            self.said = "mark the bar first"
            return
        before, self._less = self._less, picture
        if not self._refit():
            self._less = before

    def pick(self, x: int, y: int) -> None:
        """The bar's colour is that of a pixel."""
        if self.picture is None or self.mark is None:
            self.said = "mark the bar first"
            return
        red, green, blue = (int(v) for v in self.picture[y, x])
        before, self._colour = self._colour, (red, green, blue)
        if not self._refit():
            self._colour = before

    def turn(self) -> None:
        """The next direction."""
        if self.fit is None:
            self.said = "mark the bar first"
            return
        before = self._direction
        self._direction = DIRECTIONS[(DIRECTIONS.index(self.fit.gauge.direction) + 1) % len(DIRECTIONS)]
        if not self._refit():
            self._direction = before

    def change_kind(self) -> None:
        """A level (0 is bad) or a cooldown (0 is ready)."""
        self._kind = "cooldown" if self._kind == "level" else "level"
        self._refit()

    def suggested_name(self) -> str:
        """The gauge's own name when it is marked anew, else one that is free."""
        taken = {gauge.name for gauge in self.draft.gauges}
        numbered = (f"gauge{number}" for number in range(1, 100))
        return self._name or next(name for name in (*USUAL_NAMES, *numbered) if name not in taken)

    def keep(self, name: str) -> bool:
        """Put the fitted gauge into the draft; False, with the reason in ``said``, when it does not fit there."""
        if self.fit is None:
            self.said = "mark the bar first"
            return False
        try:
            self.draft.put_gauge(self.fit.gauge.model_copy(update={"name": name.strip()}), instead_of=self._name)
        except DraftError as problem:
            self.said = str(problem)
            return False
        self.forget()
        self.said = f"{name.strip()} is kept"
        return True

    def drop(self, name: str) -> None:
        self.draft.drop_gauge(name)
        self.said = f"{name} is dropped"

    def again(self, name: str) -> None:
        """Mark a gauge anew that is in the draft; kept, it takes the old one's place."""
        gauge = next((g for g in self.draft.gauges if g.name == name), None)
        if gauge is None or self.picture is None:
            return
        self.forget()
        self._name, self._kind = name, gauge.kind
        self.mark = box_of(gauge.region, self.picture)
        value = read_gauge(gauge, self.picture)
        self.fit = Fit(gauge, 0.0 if value is None else value)
        self.said = f"{name}: mark it anew, or change it"

    def readings(self, picture: Image) -> list[tuple[Gauge, float | None]]:
        """The draft's gauges, and the one that is being marked last, as they read in a picture."""
        gauges = [g for g in self.draft.gauges if g.name != self._name]
        if self.fit is not None:
            gauges.append(self.fit.gauge)
        return [(gauge, read_gauge(gauge, picture)) for gauge in gauges]

    def _refit(self) -> bool:
        if self.picture is None or self.mark is None:
            return False
        try:
            self.fit = fit_gauge(
                self.picture,
                self.mark,
                self.suggested_name(),
                less=self._less,
                colour=self._colour,
                direction=self._direction,
                kind=self._kind,
            )
        except FitError as problem:
            if self._less is None and self._colour is None:
                self.fit = None
            self.said = str(problem)
            return False
        self.said = self.fit.remark
        return True

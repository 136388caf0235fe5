"""Losses: the training and validation loss of the running, newest or chosen run, bucketed to the columns."""

from __future__ import annotations

import math
import time

from rich.text import Text

from engine.state import EngineState
from tui.charts import Chart, Series, draw, nice_number, smooth
from tui.panes.base import LinesPane, cut, wrapped
from tui.runs import Curves

SMOOTHINGS = (0.0, 0.6, 0.9)
REDRAW_S = 1.0


class LossesPane(LinesPane):
    """Redrawn at most once a second, and only when it is seen and something changed."""

    can_focus = True
    scope = "losses"

    def __init__(self, id: str, title: str = "") -> None:
        super().__init__(id, title)
        self.log_scale = False
        self.smoothing = 1
        self._drawn: tuple[object, ...] = ()
        self._drawn_s = 0.0

    def show(self, state: EngineState) -> None:
        watcher = self.face.runs
        key = (
            watcher.version,
            watcher.count,
            self.size,
            self.log_scale,
            self.smoothing,
            self.face.host.phase == "starting",
            state.sessions > 0,
        )
        now = time.monotonic()
        same_view = self._drawn[2:] == key[2:]
        if key == self._drawn or (same_view and now - self._drawn_s < REDRAW_S):
            return
        self._drawn, self._drawn_s = key, now
        curves = watcher.curves
        self.border_title = f"2 Losses  {curves.run}" if curves.run else "2 Losses"
        if not curves.run:
            self.set_lines(self._empty(state))
            return
        self.set_lines(self.compose_lines(curves, self.size.width, self.size.height))

    def _empty(self, state: EngineState) -> list[Text]:
        palette = self.look.palette
        step = (self.key("train_all"), " trains all three levels on what was recorded.")
        if not state.sessions:
            step = (self.key("record"), f" records play; {self.key('train_all')} then trains on it.")
        width = self.size.width
        return [
            *wrapped(Text("No training run yet. Its loss is drawn here while it learns.", palette.dim), width),
            *wrapped(Text.assemble((step[0], palette.accent), step[1]), width),
        ]

    def compose_lines(self, curves: Curves, width: int, height: int) -> list[Text]:
        """The legend on the first line, the chart under it."""
        glyphs = self.look.glyphs
        weight = SMOOTHINGS[self.smoothing]
        series = [
            Series("train", curves.train[0], smooth(curves.train[1], weight)),
            Series("val", curves.val[0], curves.val[1], dashed=len(curves.val[0]) > 1 and len(curves.train[0]) > 0),
        ]
        chart = draw(
            [s for s in series if len(s.xs)], width, height - 1, log_scale=self.log_scale, braille=glyphs.braille, axis=glyphs.axis
        )
        lines = [self._legend(curves, width)]
        if chart is None:
            lines.append(Text("nothing to draw yet" if not curves.train[0] else "too small for a chart: z", self.look.palette.dim))
            return lines
        names = [s.name for s in series if len(s.xs)]
        return lines + self._chart_lines(chart, names)

    def _legend(self, curves: Curves, width: int) -> Text:
        palette, glyphs = self.look.palette, self.look.glyphs
        line = Text(no_wrap=True)
        for name, values, sign, style in (
            ("train", curves.train[1], glyphs.solid, palette.train),
            ("val", curves.val[1], glyphs.dashed, palette.val),
        ):
            if values:
                line.append(f"{'  ' * bool(line)}{sign} {name} {values[-1]:.3f}", style)
                if len(values) > 1 and math.isfinite(values[-2]):
                    line.append(f" {glyphs.down}" if values[-1] < values[-2] else f" {glyphs.up}" if values[-1] > values[-2] else "", style)
        if (best := curves.best_val()) is not None and len(curves.val[0]) > 1:
            line.append(f"  best {best[1]:.3f} at {nice_number(best[0])}", palette.dim)
        if curves.bad_lines:
            line.append(f"  {glyphs.needs} {curves.bad_lines} unreadable lines", palette.warn)
        cut(line, width, self.look.glyphs.ellipsis)
        return line

    def _chart_lines(self, chart: Chart, names: list[str]) -> list[Text]:
        palette = self.look.palette
        styles = [palette.train if name == "train" else palette.val for name in names]
        out: list[Text] = []
        for label, cells in chart.rows:
            line = Text(label, palette.dim, no_wrap=True)
            row = Text()
            run, owner = "", -1
            for character, index in cells:
                if index != owner and run:
                    row.append(run, styles[owner] if owner >= 0 else "")
                    run = ""
                owner = index
                run += character
            row.append(run, styles[owner] if owner >= 0 else "")
            out.append(Text.assemble(line, row, no_wrap=True))
        out.append(Text(chart.x_axis, palette.dim, no_wrap=True))
        out.append(Text(chart.x_labels, palette.dim, no_wrap=True))
        return out

    def do_log_scale(self) -> None:
        self.log_scale = not self.log_scale
        self.show(self.face.newest)

    def do_smooth(self) -> None:
        self.smoothing = (self.smoothing + 1) % len(SMOOTHINGS)
        self.show(self.face.newest)

    def do_next_run(self) -> None:
        self.face.runs.shift(1)

    def do_previous_run(self) -> None:
        self.face.runs.shift(-1)

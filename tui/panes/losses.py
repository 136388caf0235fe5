"""Losses: what the running, newest or chosen training runs have reached, as lines over steps or time."""

from __future__ import annotations

from dataclasses import replace

from rich.text import Text
from textual import events

from engine.state import EngineState
from tui.chart_view import ChartView, Legend, Picture
from tui.charts import MARK, Chart
from tui.panes.base import LinesPane, cut, wrapped

SMOOTHINGS = (0.0, 0.6, 0.9)


class LossesPane(LinesPane):
    """The chart is drawn by ``tui.runs`` in a thread of its own, at most once a second unless the view changes; here it
    only gets its colours, and only when it is seen and another one."""

    can_focus = True
    scope = "losses"

    def __init__(self, id: str, title: str = "") -> None:
        super().__init__(id, title)
        self.chart = ChartView()
        self._shown: tuple[object, ...] = ()
        self._drag_x: int | None = None

    def on_mount(self) -> None:
        memory = self.face.memory
        self.chart = ChartView(
            smoothing=SMOOTHINGS[memory.number("losses_smoothing", 1, 0, len(SMOOTHINGS) - 1)],
            log_scale=memory.flag("losses_log"),
            by_time=memory.flag("losses_time"),
            braille=self.look.glyphs.braille,
            axis=self.look.glyphs.axis,
        )
        names = memory.text("losses_runs", "")
        if names:
            self.face.runs.choose(tuple(names.split(",")))

    def show(self, state: EngineState) -> None:
        if not self.size.width:
            return
        picture = self.face.runs.picture
        legend_rows = 1 if picture is None or len(picture.runs) < 2 else 2
        self.chart = replace(self.chart, width=self.size.width, height=self.size.height - legend_rows)
        self.face.runs.ask(self.chart)
        key = (picture, self.size, self.face.host.phase == "starting", state.sessions > 0, self.face.registry, self.look)
        if all(new is old or (i > 0 and new == old) for i, (new, old) in enumerate(zip(key, self._shown, strict=False))) and self._shown:
            return
        self._shown = key
        self._title()
        if picture is None:
            self.set_lines(self._empty(state))
        else:
            self.set_lines(self.compose_lines(picture, self.size.width, legend_rows))

    def _title(self) -> None:
        view, picture = self.chart, self.face.runs.picture
        parts = ["2 Losses"]
        if picture is not None:
            first, *others = picture.runs
            level = first.split("/")[0]
            newest = self.face.runs.levels.get(level)
            name = level if newest is not None and newest.name == first else first
            more = f" +{len(others)}" if others else ""
            parts.append(f"[{name}{more} {self.look.glyphs.down}]")
            parts.append(f"smooth {f'{view.smoothing}'[1:] if view.smoothing else 'off'}")
            parts.append(f"x {'time' if view.by_time else 'step'}")
            parts += ["log"] * view.log_scale + ["tail" if view.tail else "held"] * (view.span < 1.0)
            parts += [f"/{view.words}"] * bool(view.words)
        while len("  ".join(parts)) > self.size.width - 2 and len(parts) > 1:
            parts.pop()
        self.set_title("  ".join(parts))

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

    def compose_lines(self, picture: Picture, width: int, legend_rows: int) -> list[Text]:
        """The legend on the first lines, the chart under it."""
        if picture.chart is not None:
            return [*self._legend(picture, width, legend_rows), *self._chart_lines(picture.chart)]
        if not picture.legend and picture.view.words:
            text = f"No quantity named {picture.view.words!r}. There are: {', '.join(picture.names)}."
        elif not picture.legend:
            text = f"{picture.runs[0]} has written nothing yet: its first step is awaited."
        else:
            text = f"too small for a chart: {self.key('full')} shows this pane alone"
        return wrapped(Text(text, self.look.palette.dim), width)

    def _legend(self, picture: Picture, width: int, rows: int) -> list[Text]:
        lines = [Text(no_wrap=True)]
        items = [self._legend_item(i, item) for i, item in enumerate(picture.legend)]
        if picture.bad_lines:
            items.append(Text(f"{self.look.glyphs.needs} {picture.bad_lines} unreadable lines", self.look.palette.warn))
        for item in items:
            if lines[-1].cell_len and lines[-1].cell_len + 2 + item.cell_len > width and len(lines) < rows:
                lines.append(Text(no_wrap=True))
            if lines[-1].cell_len:
                lines[-1].append("  ")
            lines[-1].append_text(item)
        lines += [Text() for _ in range(rows - len(lines))]
        return [cut(line, width, self.look.glyphs.ellipsis) for line in lines]

    def _legend_item(self, index: int, item: Legend) -> Text:
        glyphs, style = self.look.glyphs, self._style(index)
        sign = glyphs.dashed if item.dashed else glyphs.solid
        if not glyphs.braille:
            sign = "*o+x#%"[index % 6]
        trend = {-1: f" {glyphs.down}", 0: "", 1: f" {glyphs.up}"}[item.trend]
        text = Text(f"{sign} {item.name} {item.value:.3g}{trend}", style)
        if item.best is not None:
            text.append(f"  {glyphs.best} best at {item.best[0]}", self.look.palette.dim)
        return text

    def _style(self, index: int) -> str:
        series = self.look.palette.series
        return series[index % len(series)]

    def _chart_lines(self, chart: Chart) -> list[Text]:
        palette = self.look.palette
        out: list[Text] = []
        for label, cells in chart.rows:
            line = Text(label, palette.dim, no_wrap=True)
            row = Text()
            run, owner = "", -1
            for character, index in cells:
                if index != owner and run:
                    row.append(run, self._style(owner) if owner >= 0 else "")
                    run = ""
                owner = index
                run += self.look.glyphs.best if character == MARK else character
            row.append(run, self._style(owner) if owner >= 0 else "")
            out.append(Text.assemble(line, row, no_wrap=True))
        out.append(Text(chart.x_axis, palette.dim, no_wrap=True))
        out.append(Text(chart.x_labels, palette.dim, no_wrap=True))
        return out

    def look_at(self, view: ChartView) -> None:
        """Another view; the picture of it comes from the thread that draws."""
        self.chart = view
        self._title()
        self.face.runs.ask(view)

    def do_log_scale(self) -> None:
        self.face.memory.keep(losses_log=not self.chart.log_scale)
        self.look_at(replace(self.chart, log_scale=not self.chart.log_scale))

    def do_smooth(self) -> None:
        index = (SMOOTHINGS.index(self.chart.smoothing) + 1) % len(SMOOTHINGS)
        self.face.memory.keep(losses_smoothing=index)
        self.look_at(replace(self.chart, smoothing=SMOOTHINGS[index]))

    def do_x_axis(self) -> None:
        self.face.memory.keep(losses_time=not self.chart.by_time)
        self.look_at(replace(self.chart, by_time=not self.chart.by_time))

    def do_zoom_in(self) -> None:
        self.look_at(self.chart.zoomed(0.5))

    def do_zoom_out(self) -> None:
        self.look_at(self.chart.zoomed(2.0))

    def do_pan_left(self) -> None:
        self.look_at(self.chart.panned(-0.25))

    def do_pan_right(self) -> None:
        self.look_at(self.chart.panned(0.25))

    def do_tail(self) -> None:
        self.look_at(replace(self.chart, tail=not self.chart.tail, end=1.0))

    def do_losses_filter(self) -> None:
        def chosen(words: str | None) -> None:
            if words is not None:
                self.look_at(replace(self.chart, words=words.strip()))

        picture = self.face.runs.picture
        known = ", ".join(picture.names) if picture is not None else ""
        self.face.ask_text("Show quantities with (empty: the losses)", self.chart.words, chosen, known)

    def do_choose_runs(self) -> None:
        from tui.screens.runs import RunsScreen

        self.face.open_screen(RunsScreen)

    def on_key(self, event: events.Key) -> None:
        share = {"left": -0.25, "right": 0.25}.get(event.key)
        if share is not None:
            event.stop()
            self.look_at(self.chart.panned(share))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.do_zoom_in()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.do_zoom_out()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._drag_x = event.screen_x
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag_x is None or event.screen_x == self._drag_x:
            return
        self.look_at(self.chart.panned((self._drag_x - event.screen_x) / max(1, self.size.width)))
        self._drag_x = event.screen_x

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._drag_x = None
        self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        if event.chain == 2:
            event.stop()
            self.do_choose_runs()

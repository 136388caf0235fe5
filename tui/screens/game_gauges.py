"""Pointing at gauges: a rectangle round a bar, and the reading beside it at once."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.text import Text
from textual import events
from textual.widget import Widget

from data.profile import WHOLE, Gauge, Region
from data.schema import Image
from engine.game_builder import Draft, colour_text
from engine.game_builder_gauges import box_of, region_of
from engine.game_builder_marking import Marking
from tui.panes.base import bar, face_of
from tui.screens.dialogs import AskText
from tui.screens.game_picture import PicturePane
from tui.screens.game_screen import MakeEye, PictureScreen, Side

BAR_COLUMNS: Final = 10


class GaugesScreen(PictureScreen):
    """Marks go into a ``Marking``; what is kept goes into its draft."""

    step = "gauges. Mark a bar with its empty part: drag, or two corners"
    keys: ClassVar[str] = (
        "+ - zoom  arrows move  space corner  enter keep or go on  2 second picture  d direction  c colour  k kind  "
        "n new picture  tab next gauge  x drop  esc back"
    )

    def __init__(self, draft: Draft, make_eye: MakeEye) -> None:
        super().__init__(make_eye, draft.part)
        self.marking = Marking(draft)

    def side(self) -> Widget:
        return Side("game-side", "Gauges")

    def take(self, image: Image) -> None:
        super().take(image)
        self.marking.take(image)
        self._show_marks()

    # ---- what a person does

    def on_picture_pane_marked(self, message: PicturePane.Marked) -> None:
        message.stop()
        self.marking.put_mark(message.box)
        self._after()

    def on_key(self, event: events.Key) -> None:
        marking, image = self.marking, self.newest()
        match event.key:
            case "escape":
                if marking.mark is None:
                    self.dismiss("back")
                else:
                    marking.forget()
            case "enter":
                if marking.fit is None:
                    self.dismiss("next")
                else:
                    face_of(self).push_screen(AskText("Name of this gauge", marking.suggested_name()), self._keep)
            case "2":
                if image is not None:
                    marking.take_less(image)
            case "n":
                if image is not None:
                    self.take(image)
            case "d":
                marking.turn()
            case "c":
                marking.pick(self.picture.view.x, self.picture.view.y)
            case "k":
                marking.change_kind()
            case "tab":
                self._next_gauge()
            case "x":
                name = marking.name
                marking.forget()
                if name:
                    marking.drop(name)
            case _:
                return
        event.stop()
        if self.is_attached:
            self._after()

    def _keep(self, name: str | None) -> None:
        if name is not None:
            self.marking.keep(name)
            self._after()

    def _next_gauge(self) -> None:
        names = [gauge.name for gauge in self.marking.draft.gauges]
        if names:
            now = names.index(self.marking.name) if self.marking.name in names else -1
            self.marking.again(names[(now + 1) % len(names)])

    def _after(self) -> None:
        marking = self.marking
        self.say(marking.said, bad=marking.mark is not None and marking.fit is None)
        self._show_marks()
        self.show_side()

    def _show_marks(self) -> None:
        picture, marking = self.picture, self.marking
        if picture.image is None:
            return
        palette = picture.look.palette
        boxes = [(box_of(g.region, picture.image), palette.dim) for g in marking.draft.gauges if g.name != marking.name]
        if marking.fit is not None:
            boxes.append((box_of(marking.fit.gauge.region, picture.image), palette.warn))
        elif marking.mark is not None:
            boxes.append((marking.mark, palette.bad))
        picture.boxes = tuple(boxes)
        picture.redraw()

    # ---- beside the picture

    def show_side(self) -> None:
        side, marking, image = self.query_one(Side), self.marking, self.newest()
        palette = side.look.palette
        out: list[Text] = []
        rows = [] if image is None else marking.readings(image)
        if not rows:
            out += [Text("none yet", palette.dim)]
        for gauge, value in rows:
            out.append(self._reading(side, gauge, value, marking.fit is not None and gauge is marking.fit.gauge))
        out.append(Text(""))
        if marking.fit is not None and marking.picture is not None:
            out += self._fit_lines(side)
        else:
            hints = ("Zoom in with + until the bar", "is a few rows high, then mark", "it. It is read here at once.")
            out += [Text(hint, palette.dim) for hint in hints]
        side.put(out)

    def _reading(self, side: Side, gauge: Gauge, value: float | None, marked: bool) -> Text:
        palette, glyphs = side.look.palette, side.look.glyphs
        line = Text(f"{gauge.name:<10.10} ", palette.warn if marked else "", no_wrap=True)
        if value is None:
            return line.append("not read", palette.warn)
        line.append(f"{value:4.2f} ", palette.strong)
        return line.append(bar(value, BAR_COLUMNS, glyphs.bar_full, glyphs.bar_empty), f"#{colour_text(gauge.colour)}")

    def _fit_lines(self, side: Side) -> list[Text]:
        palette, marking = side.look.palette, self.marking
        assert marking.fit is not None
        assert marking.picture is not None
        fit, gauge = marking.fit, marking.fit.gauge
        left, top, right, bottom = box_of(gauge.region, marking.picture)
        rows = [
            ("place", f"{left},{top}  {right - left}x{bottom - top} px"),
            ("colour", f"{colour_text(gauge.colour)} ±{gauge.tolerance}"),
            ("grows", gauge.direction),
            ("kind", f"{gauge.kind} (0 is {'ready' if gauge.kind == 'cooldown' else 'empty'})"),
            ("picture", f"{fit.value:.2f}" + ("" if fit.less_value is None else f", second {fit.less_value:.2f}")),
        ]
        out = [Text.assemble((f"{name:<8}", palette.dim), text, no_wrap=True) for name, text in rows]
        if fit.less_value is None:
            out += [Text(""), Text("Surer: let the bar fall, come", palette.dim), Text("back here and press 2.", palette.dim)]
        return out


class PartScreen(PictureScreen):
    """The part of the window that is the game's picture."""

    step = "its picture. The whole window, or mark the part that is the game"
    keys: ClassVar[str] = "+ - zoom  arrows move  space corner  w whole window  n new picture  enter go on  esc back"

    def __init__(self, draft: Draft, make_eye: MakeEye) -> None:
        super().__init__(make_eye, WHOLE)
        self.draft = draft
        self.part: Region = draft.part

    def side(self) -> Widget:
        return Side("game-side", "Picture")

    def on_picture_pane_marked(self, message: PicturePane.Marked) -> None:
        message.stop()
        if self.picture.image is not None:
            self.part = region_of(message.box, self.picture.image)
        self._show()

    def take(self, image: Image) -> None:
        super().take(image)
        self._show()

    def on_key(self, event: events.Key) -> None:
        image = self.newest()
        match event.key:
            case "escape":
                self.dismiss("back")
            case "enter":
                if self.picture.image is not None:
                    left, top, right, bottom = box_of(self.part, self.picture.image)
                    self.draft.part, self.draft.size = self.part, (right - left, bottom - top)
                    self.dismiss("next")
            case "w":
                self.part = WHOLE
                self._show()
            case "n" if image is not None:
                self.take(image)
            case _:
                return
        event.stop()

    def _show(self) -> None:
        picture = self.picture
        if picture.image is not None:
            picture.boxes = () if self.part == WHOLE else ((box_of(self.part, picture.image), picture.look.palette.warn),)
            picture.redraw()
        self.show_side()

    def show_side(self) -> None:
        side, image = self.query_one(Side), self.picture.image
        if image is None:
            return
        left, top, right, bottom = box_of(self.part, image)
        lines = [f"window  {image.shape[1]}x{image.shape[0]} px", f"picture {right - left}x{bottom - top} px"]
        if self.part == WHOLE:
            lines += ["", "The whole inside of the", "window. Mark a part when a", "frame or a bar of buttons", "stands round the game."]
        else:
            lines += [f"at      {left},{top}"]
        side.put([Text(line) for line in lines])

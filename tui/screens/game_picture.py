"""A picture in which a person marks rectangles, with the mouse or with arrow keys, zoomed in as far as single pixels."""

from __future__ import annotations

from typing import Final

from rich.text import Text
from textual import events
from textual.message import Message

from data.schema import Image
from engine.game_builder_gauges import Box
from engine.state import EngineState
from tui.halfblock import Place, depth_of, encode, placed
from tui.panes.base import LinesPane, wrapped
from tui.screens.game_view import PictureView, joined

_MOVES: Final = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
FAR: Final = 8
"""Steps of the pointer with shift."""


class PicturePane(LinesPane):
    """Shows ``image`` with the frames of ``boxes`` (the mark first). Enter or a click sets one corner and then the other;
    dragging sets both."""

    can_focus = True

    class Marked(Message):
        """A rectangle was marked, in px of the picture."""

        def __init__(self, box: Box) -> None:
            super().__init__()
            self.box = box

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.image: Image | None = None
        self.boxes: tuple[tuple[Box, str], ...] = ()
        self.view = PictureView((1, 1), 1, 1)
        self._corner: Box | None = None
        self._dragged = False
        self._due = False
        self._why = ""

    def put(self, image: Image | None, why: str = "") -> None:
        """Another picture; ``why`` there is none is told in its place."""
        self.image, self._why = image, why
        if image is not None and (image.shape[1], image.shape[0]) != self.view.size:
            self.view = PictureView((image.shape[1], image.shape[0]), self.size.width, self.size.height)
            self._corner = None
        self.redraw()

    @property
    def marking(self) -> bool:
        """Whether one corner is set and the other is not."""
        return self._corner is not None

    def give_up(self) -> None:
        self._corner = None
        self.redraw()

    def show(self, state: EngineState) -> None:
        self.redraw()

    def redraw(self) -> None:
        """Draw anew, once for all keys that have come by then."""
        if not self._due:
            self._due = True
            self.call_later(self._draw)

    def _draw(self) -> None:
        self._due = False
        width, height = self.size.width, self.size.height
        if not width or not height:
            return
        if self.image is None:
            why = Text(self._why or "waiting for a picture of the window", self.look.palette.warn)
            self.set_lines([Text(""), *wrapped(why, width - 1)])
            return
        view = self.view
        if (view.columns, view.rows) != (width, height):
            view.resize(width, height)
        depth = depth_of(self.face)
        lines = placed(encode(view.pixels(self.image), depth), Place(0, 0, width, height), height, depth)
        for box, style in self.boxes:
            self._draw_frame(lines, box, style)
        if self._corner is not None:
            self._draw_frame(lines, joined(self._corner, view.pointer_box()), self.look.palette.strong)
        column, row = view.px_to_cell(view.x, view.y)
        self._put(lines, column, row, "+", f"{self.look.palette.strong} {self.look.palette.selected}")
        self.set_lines(lines)

    def _draw_frame(self, lines: list[Text], box: Box, style: str) -> None:
        left, top, right, bottom = self.view.frame_of(box)
        corners = "┌┐└┘─│" if self.look.glyphs.braille else "++++-|"
        across = corners[4] * max(0, right - left - 1)
        self._put(lines, left, top, f"{corners[0]}{across}{corners[1]}", style)
        self._put(lines, left, bottom, f"{corners[2]}{across}{corners[3]}", style)
        for row in range(max(top + 1, 0), min(bottom, self.size.height)):
            self._put(lines, left, row, corners[5], style)
            self._put(lines, right, row, corners[5], style)

    def _put(self, lines: list[Text], column: int, row: int, signs: str, style: str) -> None:
        """Signs in the place of a row's cells; what would stand beside the view is left out."""
        signs = signs[max(0, -column) :]
        column = max(0, column)
        signs = signs[: max(0, self.size.width - column)]
        if not signs or not 0 <= row < len(lines):
            return
        line = lines[row]
        line.pad_right(max(0, column + len(signs) - len(line)))
        lines[row] = Text.assemble(line[:column], (signs, style), line[column + len(signs) :], no_wrap=True)

    # ---- pointing

    def set_corner(self) -> None:
        """One corner where the pointer is, or the other one."""
        if self.image is None:
            return
        here = self.view.pointer_box()
        if self._corner is None:
            self._corner = here
            self.redraw()
            return
        box, self._corner = joined(self._corner, here), None
        self.post_message(self.Marked(box))

    def on_key(self, event: events.Key) -> None:
        name = event.key.removeprefix("shift+")
        if name in _MOVES:
            steps = FAR if event.key.startswith("shift+") else 1
            self.view.move(_MOVES[name][0] * steps, _MOVES[name][1] * steps)
        elif event.key in ("plus", "equals_sign"):
            self.view.zoom(1)
        elif event.key in ("minus", "underscore"):
            self.view.zoom(-1)
        elif event.key in ("space", "enter") and (event.key == "space" or self.marking):
            self.set_corner()
        elif event.key == "escape" and self.marking:
            self.give_up()
        else:
            return
        event.stop()
        self.redraw()

    def _cell(self, event: events.MouseEvent) -> Box | None:
        offset = event.get_content_offset(self)
        return None if offset is None or self.image is None else self.view.cell_box(offset.x, offset.y)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        box = self._cell(event)
        if box is None or event.button != 1:
            return
        event.stop()
        self.capture_mouse()
        self.view.point(box[0], box[1])
        self._dragged = False
        if self._corner is None:
            self._corner = box
        self.redraw()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        box = self._cell(event)
        if box is None or self._corner is None:
            return
        if event.button == 1 and (box[0], box[1]) != (self._corner[0], self._corner[1]):
            self._dragged = True
        self.view.point(box[2] - 1, box[3] - 1)
        self.redraw()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()
        box, corner = self._cell(event), self._corner
        if corner is None:
            return
        event.stop()
        if box is not None and (self._dragged or (box[0], box[1]) != (corner[0], corner[1])):
            self._corner = None
            self.post_message(self.Marked(joined(corner, box)))
        self.redraw()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._zoom(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._zoom(event, -1)

    def _zoom(self, event: events.MouseEvent, by: int) -> None:
        box = self._cell(event)
        event.stop()
        if box is not None:
            self.view.zoom(by, (box[0], box[1]))
            self.redraw()

"""Pointing in a zoomed picture: every cell shows the pixels it says, and a bar of 4 px can be hit exactly."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.screens.game_view import PictureView, joined

SIZES = st.tuples(st.integers(16, 700), st.integers(16, 400))
CELLS = st.tuples(st.integers(8, 120), st.integers(4, 40))


@st.composite
def views(draw: st.DrawFn) -> PictureView:
    """A view after some zooming, moving and resizing."""
    view = PictureView(draw(SIZES), *draw(CELLS))
    for _ in range(draw(st.integers(0, 5))):
        match draw(st.sampled_from(["zoom", "move", "resize", "point"])):
            case "zoom":
                view.zoom(draw(st.integers(-3, 6)))
            case "move":
                view.move(draw(st.integers(-30, 30)), draw(st.integers(-30, 30)))
            case "resize":
                view.resize(*draw(CELLS))
            case _:
                view.point(draw(st.integers(-9, 900)), draw(st.integers(-9, 900)))
    return view


@settings(max_examples=200, deadline=None)
@given(views(), st.integers(0, 119), st.integers(0, 39))
def test_a_cell_shows_the_pixels_that_it_says(view: PictureView, column: int, row: int) -> None:
    box = view.cell_box(column, row)
    if box is None:
        return
    left, top, right, bottom = box
    assert 0 <= left < right <= view.size[0]
    assert 0 <= top < bottom <= view.size[1]
    back = view.px_to_cell(left, top)
    assert abs(back[0] - column) <= max(1, view.scale)  # a pixel takes so many columns
    assert abs(back[1] - row) <= max(1, view.scale / 2)
    if view.scale >= 1:
        assert right - left == 1


@settings(max_examples=100, deadline=None)
@given(views())
def test_what_is_drawn_is_the_picture(view: PictureView) -> None:
    width, height = view.size
    rows, columns = np.mgrid[0:height, 0:width]
    image = np.stack([columns % 256, rows % 256, columns // 256 + 16 * (rows // 256)], axis=-1).astype(np.uint8)
    seen = view.pixels(image)
    assert seen.shape == (2 * view.rows, view.columns, 3)
    if view.scale >= 1:  # whole pixels: each says which it is
        for column, row in ((0, 0), (view.columns - 1, view.rows - 1), (view.columns // 2, view.rows // 2)):
            box = view.cell_box(column, row)
            if box is not None:
                red, green, blue = (int(v) for v in seen[2 * row, column])
                assert (red + 256 * (blue % 16), green + 256 * (blue // 16)) == (box[0], box[1])


@settings(max_examples=100, deadline=None)
@given(views(), st.integers(1, 8))
def test_zooming_keeps_the_pointer_in_sight_and_ends_at_single_pixels(view: PictureView, steps: int) -> None:
    view.move(0, 0)  # wherever it was pointed to, the view follows
    view.zoom(steps)
    column, row = view.px_to_cell(view.x, view.y)
    assert 0 <= column < view.columns
    assert 0 <= row < view.rows
    view.zoom(99)
    assert view.pointer_box() == (view.x, view.y, view.x + 1, view.y + 1)
    view.zoom(-99)
    assert view.scale == min(view.columns / view.size[0], 2 * view.rows / view.size[1], 1.0)


def test_a_bar_of_four_pixels_is_eight_rows_high_at_a_scale_of_four_and_framed_outside() -> None:
    view = PictureView((640, 360), 80, 20)
    view.point(30, 28)
    view.zoom(4)
    assert view.scale == 4
    bar = (30, 28, 40, 32)
    left, top, right, bottom = view.frame_of(bar)
    assert (right - left - 1, bottom - top - 1) == (40, 8)
    inside = [view.cell_box(left + 1, top + 1), view.cell_box(right - 1, bottom - 1)]
    assert inside[0] is not None
    assert inside[1] is not None
    assert joined(inside[0], inside[1]) == bar

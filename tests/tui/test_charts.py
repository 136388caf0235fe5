import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.charts import Series, bucket, draw, nice_number, sparkline


def test_buckets_keep_extremes() -> None:
    ys = [0.0] * 1000
    ys[503] = 9.0
    cells = bucket(range(1000), ys, 0, 999, 20)
    assert max(cell[1] for cell in cells if cell) == 9.0
    assert bucket([1, 2], [math.nan, 3.0], 1, 2, 2) == [None, (3.0, 3.0, 3.0)]


def test_a_falling_line_falls() -> None:
    chart = draw([Series("train", range(40), [40.0 - i for i in range(40)])], 46, 12)
    assert chart is not None
    rows = ["".join(c for c, _ in cells) for _, cells in chart.rows]
    assert rows[0][0] != " "
    assert rows[-1][-1] != " "
    assert rows[-1][0] == " "
    assert chart.rows[0][0].endswith("40┤")
    assert len(chart.x_axis) == len(chart.x_labels) == 46


def test_ascii_has_no_braille() -> None:
    chart = draw(
        [Series("train", range(9), range(9)), Series("val", range(9), range(9, 0, -1), dashed=True)], 40, 10, braille=False, axis="|++-+"
    )
    assert chart is not None
    text = "".join(label + "".join(c for c, _ in cells) for label, cells in chart.rows) + chart.x_axis + chart.x_labels
    assert text.isascii()
    assert "*" in text
    assert "o" in text


def test_a_window_shows_its_part_and_scales_to_it() -> None:
    series = [Series("train", range(100), [100.0] * 50 + [1.0 + i / 50 for i in range(50)], mark=(75.0, 1.5))]
    chart = draw(series, 60, 12, window=(50, 99))
    assert chart is not None
    assert chart.rows[0][0].strip().startswith("1.98")
    marked = [c for _, cells in chart.rows for c, (cell, _) in enumerate(cells) if cell == "@"]
    assert len(marked) == 1
    assert abs(marked[0] / len(chart.rows[0][1]) - 0.5) < 0.05
    assert draw(series, 60, 12, window=(200, 300)) is None


def test_nothing_to_draw_is_none() -> None:
    assert draw([], 40, 10) is None
    assert draw([Series("a", [1.0], [math.nan])], 40, 10) is None
    assert draw([Series("a", [1.0], [2.0])], 40, 3) is None
    assert draw([Series("a", [1.0, 2.0], [-1.0, 0.0])], 40, 10, log_scale=True) is None


@given(
    st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(allow_nan=True, allow_infinity=True, width=32)), max_size=60),
    st.integers(1, 60),
    st.integers(1, 20),
    st.booleans(),
    st.booleans(),
)
def test_any_series_fits_its_room(points: list[tuple[float, float]], width: int, height: int, log_scale: bool, braille: bool) -> None:
    points.sort(key=lambda p: p[0])
    chart = draw([Series("a", [x for x, _ in points], [y for _, y in points])], width, height, log_scale=log_scale, braille=braille)
    if chart is not None:
        assert len(chart.rows) == height - 2
        for label, cells in chart.rows:
            assert len(label) + len(cells) == width


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.4123, "0.412"), (12345, "12.3k"), (2.5e6, "2.5M"), (3e-5, "3e-5"), (math.inf, "?")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert nice_number(value) == text


def test_sparkline() -> None:
    assert sparkline([0, 1, 2, 3], 10) == "▁▃▆█"
    assert sparkline([1], 10) == ""

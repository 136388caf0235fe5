import math

from harness import FULL
from test_pictures import PLAIN

from engine.scores import Interval
from tui.bars import cell_of, columns, figure, gain_bar, heat, interval_bar, share_bar


def bar(value: float, low: float, high: float, width: int = 10) -> str:
    return interval_bar(Interval(value, low, high, 20), width, FULL).plain


def test_a_score_lies_between_random_and_the_demonstrator() -> None:
    assert bar(0.55, 0.35, 0.75) == "███──●──░░"
    assert bar(0.05, 0.01, 0.12) == "●─░░░░░░░░"
    assert bar(0.99, 0.95, 0.999) == "█████████●"


def test_what_lies_beyond_an_end_is_an_arrow_there() -> None:
    assert bar(0.25, -0.2, 0.45) == "<─●──░░░░░"
    assert bar(-0.1, -0.2, 0.15) == "<─░░░░░░░░"
    assert bar(0.85, 0.65, 1.2) == "██████──●>"
    assert bar(1.1, 1.02, 1.2).endswith(">")
    assert bar(math.nan, math.nan, math.nan).strip() == "none"


def test_a_gain_stands_left_or_right_of_none() -> None:
    def gain(value: float, low: float, high: float) -> str:
        return gain_bar(Interval(value, low, high, 20), 11, 1.1, FULL).plain

    assert gain(0.6, 0.3, 1.0) == "     │ ─●──"
    assert gain(0.5, 0.2, 0.8).index("●") > 5
    assert gain(-0.5, -0.8, -0.3).index("●") < 5
    assert "│" in gain(0.3, -0.3, 0.9), "the line of no difference is seen through the interval"


def test_shares_columns_and_heat() -> None:
    assert share_bar(0.5, 10, FULL, [0.25]).plain == "██│██░░░░░"
    assert share_bar(math.nan, 4, FULL).plain == "░░░░"
    assert columns([0.0, 0.5, 1.0, math.nan], FULL).plain == "▁▄█·"
    assert columns([2.0], FULL, 2).plain == "██"
    assert heat(0.87, FULL).plain == "██ 87 "
    assert heat(0.0, FULL).plain == "     0 "[1:]
    assert len(heat(1.0, FULL).plain) == 6
    for line in (bar_of(PLAIN) for bar_of in (lambda look: share_bar(0.5, 8, look, [0.1]), lambda look: heat(0.4, look))):
        assert line.plain.isascii()
    assert interval_bar(Interval(0.5, 0.3, 0.7, 5), 12, PLAIN).plain.isascii()


def test_figures_and_cells() -> None:
    assert figure(0.814) == "0.81"
    assert figure(math.nan) == "none"
    assert [cell_of(v, 10) for v in (-1.0, 0.0, 0.05, 0.99, 1.0, 2.0)] == [0, 0, 0, 9, 9, 9]

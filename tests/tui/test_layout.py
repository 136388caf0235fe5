import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.layout import LEAST, Sizes, mode_of

ROOM = st.integers(100, 400), st.integers(30, 120)


def test_a_column_grows_and_shrinks_by_a_step() -> None:
    start = Sizes()
    assert start.resized("left", 1, 120, 36) == Sizes(32, 38, 8)
    assert start.resized("right", -1, 120, 36) == Sizes(30, 36, 8)
    assert start.resized("middle", 1, 120, 36) == Sizes(29, 37, 8)
    assert start.resized("log", 1, 120, 36) == Sizes(30, 38, 9)


@given(*ROOM, st.lists(st.tuples(st.sampled_from(["left", "middle", "right", "log"]), st.sampled_from([-1, 1])), max_size=80))
def test_no_column_ever_vanishes(columns: int, rows: int, presses: list[tuple[str, int]]) -> None:
    sizes = Sizes()
    for part, by in presses:
        sizes = sizes.resized(part, by, columns, rows)  # type: ignore[arg-type]
    seen = sizes.fitted(columns, rows)
    assert seen.left >= LEAST["left"]
    assert seen.right >= LEAST["right"]
    assert columns - seen.left - seen.right >= LEAST["middle"]
    assert LEAST["log"] <= seen.log <= max(LEAST["log"], rows // 2)


@given(st.integers(-5, 500), st.integers(-5, 500), st.integers(-5, 500), *ROOM)
def test_kept_sizes_of_another_terminal_are_made_to_fit(left: int, right: int, log: int, columns: int, rows: int) -> None:
    seen = Sizes(left, right, log).fitted(columns, rows)
    assert columns - seen.left - seen.right >= LEAST["middle"]
    assert seen == seen.fitted(columns, rows)


@pytest.mark.parametrize(
    ("columns", "rows", "full", "mode"),
    [(120, 36, False, "wide"), (120, 36, True, "single"), (100, 30, False, "wide"), (99, 30, False, "single"), (59, 40, True, "small")],
)
def test_the_size_decides_the_mode(columns: int, rows: int, full: bool, mode: str) -> None:
    assert mode_of(columns, rows, full) == mode

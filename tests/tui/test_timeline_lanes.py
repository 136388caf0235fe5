from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data.labels import ModeStretch, set_mode
from data.timeline import ActorStretch, Lane, Span, Timeline, read_timeline
from tests.support.sessions import write_session
from tui import timeline as lanes
from tui.moments import moment
from tui.timeline import ASCII_LOOKS, Looks, View

S = 1_000_000_000


def lane(name: str, *presses: tuple[float, float]) -> Lane:
    starts, ends = ([round(p[i] * S) for p in presses] for i in (0, 1))
    return Lane(name, np.array(starts, np.int64), np.array(ends, np.int64), np.zeros(len(presses), np.int8))


def made(**given: object) -> Timeline:
    """Ten seconds, nothing in them but what is given."""
    empty = Timeline(0, 10 * S, (), (), (), (), {}, (), (), (), np.zeros(0, np.int64))
    return replace(empty, **given)


def view(columns: int = 20) -> View:
    return View.whole(0, 10 * S, columns)


def test_the_height_of_a_key_is_the_share_of_the_column_it_was_down() -> None:
    timeline = made(keys=(lane("w", (0, 1), (2, 2.25), (5, 5.01)),))
    (_, row) = lanes.rows(timeline, view(), Looks())
    assert (row.name, row.text.rstrip()) == ("w", "██  ▄     ▁")
    assert lanes.rows(timeline, view(), ASCII_LOOKS)[1].text.rstrip() == "##  ;     ."


def test_what_holds_is_its_word_and_a_line_and_neighbours_are_told_apart() -> None:
    modes = (
        ModeStretch(0, 4 * S, "FIGHT", "human"),
        ModeStretch(4 * S, 6 * S, "FLEE", "human"),
        ModeStretch(6 * S, 10 * S, "LOOT", "rules"),
    )
    yours, rules = lanes.rows(made(modes=modes), view(), Looks())
    assert (yours.name, yours.text) == ("you", "FIGHT───FLEE        ")
    assert (rules.name, rules.text) == ("rules", "            LOOT────")
    assert yours.codes.tolist() == [0] * 8 + [2] * 4 + [-1] * 8


def test_a_stretch_shorter_than_a_column_is_seen_where_nothing_else_is() -> None:
    modes = (ModeStretch(round(3.6 * S), round(3.7 * S), "LOOT", "human"),)
    (row,) = lanes.rows(made(modes=modes), view(10), Looks())
    assert row.text == "   L      "


def test_gaps_actors_clicks_and_pictures_are_rows_and_the_busiest_key_comes_first() -> None:
    timeline = made(
        keys=(lane("q", (1, 2)), lane("space", (1, 2), (3, 4))),
        clicks=(lane("mouse_left", (0.1, 0.2), (0.3, 0.4), (0.45, 0.46), (7, 7.1)),),
        actors=(ActorStretch(0, 10 * S, "demonstrator", "expert"),),
        gaps=(Span(2 * S, 3 * S, "paused"),),
        frame_times_ns=np.arange(0, 5 * S, S // 10),
    )
    rows = lanes.rows(timeline, view(), Looks())
    assert [row.name for row in rows] == ["you", "actor", "gaps", "left click", "space", "q", "pictures"]
    by_name = {row.name: row.text.rstrip() for row in rows}
    assert by_name["actor"].startswith("expert──")
    assert by_name["gaps"] == "    pa"
    assert by_name["left click"] == "┃" + " " * 13 + "╷"
    assert by_name["pictures"] == "█" * 10


def test_coverage_counts_what_is_cut_by_the_edges() -> None:
    starts, ends = np.array([0, 15, 38]), np.array([5, 35, 50])
    share = lanes.covered(starts, ends, np.array([0, 10, 20, 30, 40]))
    assert share.tolist() == pytest.approx([0.5, 0.5, 1.0, 0.7])


def test_zooming_keeps_the_moment_in_its_column_and_never_leaves_the_session() -> None:
    whole = view(100)
    near = whole.zoomed(0.25, 5 * S)
    assert (near.span_ns, near.column(5 * S)) == (round(2.5 * S), whole.column(5 * S))
    assert near.panned(-1000).left_ns == 0
    assert near.panned(1000).left_ns + near.span_ns == 10 * S
    assert near.zoomed(100, 5 * S).span_ns == 10 * S
    odd = View.whole(1, 3_999_999_999, 97)
    assert [odd.column(odd.time_of(column)) for column in range(97)] == list(range(97))
    assert whole.zoomed(1e-9, 0).span_ns == lanes.SHORTEST_NS
    assert near.showing(0).column(0) >= 0
    assert near.showing(10 * S - 1).column(10 * S - 1) < 100


def test_the_ruler_counts_from_the_sessions_start() -> None:
    text = lanes.ruler(View.whole(7 * S, 17 * S, 60))
    assert text.index("|0:00") == 0
    assert text.index("|0:04") == 24
    assert len(text) == 60
    assert "|0:03.4" in lanes.ruler(replace(View.whole(0, 10 * S, 80), left_ns=3 * S, span_ns=S))


def test_moments() -> None:
    assert [moment(s) for s in (0, 12.44, 59.96, 3727.9)] == ["0:00.0", "0:12.4", "1:00.0", "1:02:07.9"]
    assert moment(125.4, fine=False) == "2:05"
    assert moment(125.9, fine=False) == "2:06"


def test_jumps_go_to_the_nearest_and_stay_when_there_is_none() -> None:
    starts = np.array([10, 20, 30])
    assert [lanes.next_start(starts, at, True) for at in (0, 10, 25, 30)] == [10, 20, 30, None]
    assert [lanes.next_start(starts, at, False) for at in (40, 30, 10)] == [30, 20, None]


def test_what_is_shown_after_a_label_is_what_is_read_back(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 90)
    before = read_timeline(folder)
    start, end = before.start_ns + S // 2, before.start_ns + 2 * S
    set_mode(folder, start, end, "FLEE")
    after = read_timeline(folder)
    assert lanes.with_mode(before.modes, start, end, "FLEE") == after.modes
    assert lanes.with_mode(after.modes, start, start + S, None) != after.modes
    assert all(stretch.source != "human" for stretch in lanes.with_mode(after.modes, start, end, None))

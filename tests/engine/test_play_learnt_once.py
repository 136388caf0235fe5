"""The same play never stands on both sides of the split: of two cuts of one recording that overlap one is left out, and said."""

from __future__ import annotations

from pathlib import Path

from data.copies import Origin, copies
from data.session_edit import cut, merge
from data.trash import trash
from engine.training import load_sessions, named_sessions
from tests.engine.test_sessions_to_learn_from import record


def test_of_two_cuts_that_overlap_the_longer_is_learnt_from(tmp_path: Path) -> None:
    original = record(tmp_path)
    longer, shorter = cut(tmp_path, original, 0.2, None).id, cut(tmp_path, original, 1.0, None).id
    found, told = named_sessions(tmp_path, "arena")
    assert list(found) == [original]
    assert sorted(told) == sorted(f"{name}: made from {original}, which is learnt from already" for name in (longer, shorter))
    trash(tmp_path, original)
    found, told = named_sessions(tmp_path, "arena")
    assert list(found) == [longer]
    assert told == [f"{shorter}: holds 1 s of the same play as {longer}, which is learnt from already"]


def test_cuts_that_do_not_overlap_are_both_learnt_from(tmp_path: Path) -> None:
    original = record(tmp_path)
    first, second = cut(tmp_path, original, 0.0, 0.9).id, cut(tmp_path, original, 0.9, None).id
    again = cut(tmp_path, second, 0.0, 0.5).id
    for name in (original, second):
        trash(tmp_path, name)
    sessions, told = load_sessions(tmp_path, "arena")
    assert (len(sessions), told) == (2, [])
    assert {first, again} == set(named_sessions(tmp_path, "arena")[0])


def test_where_times_were_moved_the_same_origin_is_enough(tmp_path: Path) -> None:
    original, other = record(tmp_path), record(tmp_path)
    piece = cut(tmp_path, original, 0.0, 0.5).id
    late = cut(tmp_path, original, 1.0, None).id
    joined = merge(tmp_path, [late, other]).id
    for name in (original, other, late):
        trash(tmp_path, name)
    found, told = named_sessions(tmp_path, "arena")
    assert list(found) == [joined]
    assert told == [f"{piece}: may hold the same play as {joined}, which is learnt from already"]


def test_replays_of_one_recording_are_the_same_play() -> None:
    replay = Origin(frozenset({"a"}), 0, 10, ("a replay's own",))
    again = Origin(frozenset({"a"}), 100, 109, ("a replay's own",))
    pieces = [Origin(frozenset({"a", "r"}), start, start + 4, ("replay r",)) for start in (0, 5)]
    assert list(copies({"r1": replay, "r2": again})) == ["r2"]
    assert copies({"p0": pieces[0], "p1": pieces[1]}) == {}

"""The same play never stands on both sides of the split: of two cuts of one recording that overlap one is left out, and said; so is a
plain copy, and what was joined when the rest of it is gone."""

from __future__ import annotations

import shutil
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


def test_a_plain_copy_of_a_session_is_learnt_from_once(tmp_path: Path) -> None:
    original, other = record(tmp_path), record(tmp_path)
    folder = tmp_path / "sessions" / original
    again = folder.with_name(f"{original} - copy")
    shutil.copytree(folder, again)
    found, told = named_sessions(tmp_path, "arena")
    assert list(found) == sorted([original, other])
    assert told == [f"{again.name}: the same play as {original}, which is learnt from already"]


def test_of_a_copy_and_what_others_know_by_name_the_latter_is_kept() -> None:
    """Else the play would be learnt from in the copy and in what was joined too."""
    sessions = {
        "a copy of b": Origin(frozenset(), 0, 60, fingerprint="play"),
        "b": Origin(frozenset(), 0, 60, fingerprint="play"),
        "m": Origin(frozenset({"a", "b"}), 0, 600, ("a", "b"), "both"),
    }
    assert list(copies(sessions)) == ["a copy of b", "b"]


def test_what_was_joined_is_no_copy_while_a_part_of_it_is_gone(tmp_path: Path) -> None:
    first, second = record(tmp_path), record(tmp_path)
    joined = merge(tmp_path, [first, second]).id
    found, told = named_sessions(tmp_path, "arena")
    assert list(found) == sorted([first, second])
    assert told == [f"{joined}: made from {', '.join(sorted([first, second]))}, which are learnt from already"]
    trash(tmp_path, first)
    found, told = named_sessions(tmp_path, "arena")
    assert list(found) == [joined]
    assert told == [f"{second}: holds 2 s of the same play as {joined}, which is learnt from already"]


def test_a_part_that_is_gone_may_be_there_through_what_it_was_made_of(tmp_path: Path) -> None:
    a, b, c = (record(tmp_path) for _ in range(3))
    joined = merge(tmp_path, [a, b]).id
    more = merge(tmp_path, [joined, c]).id
    trash(tmp_path, joined)
    assert list(named_sessions(tmp_path, "arena")[0]) == sorted([a, b, c])
    trash(tmp_path, a)
    assert list(named_sessions(tmp_path, "arena")[0]) == [more]


def test_a_cut_of_what_was_joined_is_a_copy_of_it_alone(tmp_path: Path) -> None:
    first, second = record(tmp_path), record(tmp_path)
    joined = merge(tmp_path, [first, second]).id
    piece = cut(tmp_path, joined, 0.0, 1.0).id
    for name in (first, second):
        trash(tmp_path, name)
    found, told = named_sessions(tmp_path, "arena")
    assert list(found) == [joined]
    assert told == [f"{piece}: holds 1 s of the same play as {joined}, which is learnt from already"]

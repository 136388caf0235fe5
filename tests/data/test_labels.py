"""The journal of labels: nothing is overwritten, a person has the last word."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from data.annotations import read as read_annotations
from data.catalog import list_sessions
from data.hindsight import label_modes, label_targets
from data.labels import (
    LABELS_NAME,
    Label,
    LabelSource,
    ModeStretch,
    Target,
    TargetStretch,
    append,
    find_target,
    mode_stretches,
    modes_at,
    read,
    say,
    set_mode,
    target_stretches,
    undo_last,
)
from data.schema import NO_TARGET, Tracks
from data.steps import NO_MODE, UNSAID_TARGET
from data.vocabulary import MODES, Mode
from engine.training import load_sessions
from tests.support.sessions import FRAME_NS, START_NS, write_session

BOX = (0.5, 0.5, 0.1, 0.1)


def test_what_is_appended_is_read_in_order(tmp_path: Path) -> None:
    first = Label(start_ns=0, end_ns=10, source="rules", mode="FIGHT")
    second = Label(
        start_ns=10, end_ns=20, source="vlm", target=Target(time_ns=12, class_name="drone", box=BOX), description="ほし 🎮", by="model"
    )
    append(tmp_path, [first])
    append(tmp_path, [second])
    assert read(tmp_path) == ([first, second], 0)
    assert read(tmp_path / "nowhere") == ([], 0)


def test_a_line_that_was_cut_off_costs_only_itself(tmp_path: Path) -> None:
    labels = [Label(start_ns=n, end_ns=n + 1, source="human", mode="LOOT") for n in range(3)]
    append(tmp_path, labels)
    path = tmp_path / LABELS_NAME
    path.write_bytes(path.read_bytes()[:-12])
    append(tmp_path, [labels[0]])
    assert read(tmp_path) == ([*labels[:2], labels[0]], 1)


def test_human_beats_vlm_beats_rules_and_each_thing_is_said_by_itself() -> None:
    target = Target(time_ns=5, class_name="drone", box=BOX)
    said = [
        Label(start_ns=0, end_ns=10, source="human", mode="FLEE"),
        Label(start_ns=0, end_ns=10, source="human", mode="LOOT"),
        Label(start_ns=0, end_ns=10, source="vlm", mode="FIGHT", description="chases a drone", target=target),
        Label(start_ns=0, end_ns=10, source="rules", mode="EXPLORE", no_target=True),
        Label(start_ns=20, end_ns=30, source="rules", mode="EXPLORE"),
    ]
    assert mode_stretches(said) == [ModeStretch(0, 10, "LOOT", "human"), ModeStretch(20, 30, "EXPLORE", "rules")]
    assert target_stretches(said) == [TargetStretch(0, 10, target, "vlm")]


def test_a_person_may_say_that_there_was_no_target() -> None:
    target = Target(time_ns=5, class_name="drone", box=BOX)
    vlm = Label(start_ns=0, end_ns=10, source="vlm", target=target)
    person = Label(start_ns=0, end_ns=10, source="human", no_target=True)
    assert target_stretches([vlm, person]) == [TargetStretch(0, 10, None, "human")]
    assert target_stretches([person.model_copy(update={"source": "rules"}), vlm]) == [TargetStretch(0, 10, target, "vlm")]


def test_a_target_is_found_by_class_and_overlap() -> None:
    tracks = Tracks(
        np.array([11, 12, 13], np.int32),
        np.array([0, 1, 1], np.int32),
        np.array([BOX, (0.52, 0.5, 0.1, 0.1), (0.8, 0.8, 0.1, 0.1)], np.float32),
        np.ones(3, np.float32),
        np.zeros((3, 2), np.float32),
        np.zeros(3, np.float32),
        np.zeros(3, np.float32),
    )
    assert find_target(Target(time_ns=0, class_name="raider", box=BOX), tracks, ("drone", "raider")) == 12
    assert find_target(Target(time_ns=0, class_name="loot", box=BOX), tracks, ("drone", "raider")) == NO_TARGET
    assert find_target(Target(time_ns=0, class_name="drone", box=(0.1, 0.1, 0.1, 0.1)), tracks, ("drone", "raider")) == NO_TARGET
    assert find_target(Target(time_ns=0, class_name="drone", box=BOX), Tracks.empty(), ("drone",)) == NO_TARGET


@pytest.mark.parametrize("change", [{"mode": "DANCE"}, {"source": "rumour"}, {"health": 2.0}, {"description": "x" * 3000}])
def test_what_is_out_of_bounds_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Label.model_validate({"start_ns": 0, "end_ns": 1, "source": "human", **change})


def label(start: int, end: int, mode: Mode | None, source: LabelSource = "human") -> Label:
    return Label(start_ns=start, end_ns=end, source=source, mode=mode, withdrawn=mode is None)


@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 12), st.sampled_from([*MODES, None]), st.sampled_from(["rules", "vlm", "human"])),
        max_size=9,
    )
)
def test_at_each_moment_the_latest_word_of_the_highest_source_holds(said: list[tuple[int, int, Mode | None, LabelSource]]) -> None:
    labels = [label(start, end, mode, source) for start, end, mode, source in said]
    stretches = mode_stretches(labels)
    found = modes_at(stretches, np.arange(13, dtype=np.int64))
    for moment in range(13):
        holding: dict[str, Mode | None] = {}
        for one in labels:
            if one.start_ns <= moment < one.end_ns:
                holding[one.source] = one.mode
        wanted = next((mode for source in ("human", "vlm", "rules") if (mode := holding.get(source)) is not None), None)
        assert found[moment] == (NO_MODE if wanted is None else MODES.index(wanted))
    for before, after in pairwise(stretches):
        assert before.end_ns <= after.start_ns
        assert before.end_ns < after.start_ns or (before.mode, before.source) != (after.mode, after.source)


def test_a_word_can_be_taken_back_and_the_journal_only_grows(tmp_path: Path) -> None:
    append(tmp_path, [label(0, 30, "EXPLORE", "vlm")])
    set_mode(tmp_path, 0, 10, "FIGHT")
    set_mode(tmp_path, 5, 20, "LOOT")
    before = (tmp_path / LABELS_NAME).read_bytes()

    def told() -> list[tuple[int, int, str]]:
        return [(s.start_ns, s.end_ns, s.mode) for s in mode_stretches(read(tmp_path)[0])]

    assert told() == [(0, 5, "FIGHT"), (5, 20, "LOOT"), (20, 30, "EXPLORE")]
    undone = undo_last(tmp_path)
    assert undone is not None
    assert (undone.window, undone.mode) == ((5, 20), "LOOT")
    assert told() == [(0, 10, "FIGHT"), (10, 30, "EXPLORE")]
    set_mode(tmp_path, 2, 4, None)  # nothing is said of this part any more
    assert told() == [(0, 2, "FIGHT"), (2, 4, "EXPLORE"), (4, 10, "FIGHT"), (10, 30, "EXPLORE")]
    assert [undo_last(tmp_path) is not None for _ in range(3)] == [True, True, False]  # a coach's word is not a person's to undo
    assert told() == [(0, 30, "EXPLORE")]
    assert (tmp_path / LABELS_NAME).read_bytes().startswith(before)
    with pytest.raises(ValueError, match="a label needs a stretch"):
        set_mode(tmp_path, 5, 5, "FIGHT")


def test_what_a_source_takes_back_of_a_window_is_not_its_word_any_more() -> None:
    assert mode_stretches([label(0, 10, "FIGHT", "vlm"), label(0, 10, "LOOT"), label(0, 10, None)]) == [ModeStretch(0, 10, "FIGHT", "vlm")]
    assert mode_stretches([label(0, 10, "LOOT"), label(0, 10, None)]) == []


def test_what_a_person_said_is_what_is_learnt(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 60)
    start_ns, end_ns = START_NS + 20 * FRAME_NS, START_NS + 40 * FRAME_NS
    (plain,), _ = load_sessions(tmp_path, "arena")
    ruled = label_modes(plain)
    append(folder, [label(start_ns, end_ns, "CAUTIOUS", "vlm")])
    set_mode(folder, start_ns, end_ns, "FLEE")
    (steps,), _ = load_sessions(tmp_path, "arena")
    learnt = label_modes(steps)
    said = (steps.time_ns >= start_ns) & (steps.time_ns < end_ns)
    assert said.sum() == 20
    assert (learnt[said] == MODES.index("FLEE")).all()
    assert (ruled[said] != MODES.index("FLEE")).all()
    np.testing.assert_array_equal(learnt[~said], ruled[~said])
    np.testing.assert_array_equal(label_modes(steps.slice(15, 45)), learnt[15:45])
    undo_last(folder)
    undone, _ = load_sessions(tmp_path, "arena")
    assert (label_modes(undone[0])[said] == MODES.index("CAUTIOUS")).all()


def test_mode_target_and_words_are_said_apart(tmp_path: Path) -> None:
    pointed = Target(time_ns=12, class_name="drone", box=BOX)
    append(tmp_path, [Label(start_ns=0, end_ns=40, source="vlm", target=Target(time_ns=1, class_name="loot", box=BOX))])
    say(tmp_path, 10, 20, target=pointed)
    say(tmp_path, 10, 20, mode="FIGHT")
    say(tmp_path, 15, 25, no_target=True, description="it let go")
    labels, _ = read(tmp_path)
    coach = labels[0].target
    assert target_stretches(labels) == [
        TargetStretch(0, 10, coach, "vlm"),
        TargetStretch(10, 15, pointed, "human"),
        TargetStretch(15, 25, None, "human"),
        TargetStretch(25, 40, coach, "vlm"),
    ]
    assert [(s.start_ns, s.end_ns, s.mode) for s in mode_stretches(labels)] == [(10, 20, "FIGHT")]
    set_mode(tmp_path, 12, 18, None)  # takes back mode and target alike
    labels, _ = read(tmp_path)
    assert [(s.start_ns, s.end_ns, s.source) for s in target_stretches(labels)] == [
        (0, 10, "vlm"),
        (10, 12, "human"),
        (12, 18, "vlm"),
        (18, 25, "human"),
        (25, 40, "vlm"),
    ]
    assert [(s.start_ns, s.end_ns) for s in mode_stretches(labels)] == [(10, 12), (18, 20)]
    with pytest.raises(ValueError, match="says nothing"):
        say(tmp_path, 0, 5)
    with pytest.raises(ValueError, match="not both"):
        say(tmp_path, 0, 5, target=pointed, no_target=True)
    with pytest.raises(ValueError, match="a label needs a stretch"):
        say(tmp_path, 5, 5, mode="FIGHT")
    for words, why in (("\x1b[31mred\a", "a control character"), ("\udcff", "no UTF-8 text")):
        with pytest.raises(ValueError, match=f"the description cannot be kept: it (has|is) {why}"):
            say(tmp_path, 0, 5, description=words)


def test_a_target_that_a_person_said_is_what_is_learnt_whatever_its_id(tmp_path: Path) -> None:
    """The session's things stand still, and every row gives them other ids."""
    folder = write_session(tmp_path, 60)
    (plain,), _ = load_sessions(tmp_path, "arena")
    assert plain.said_target is not None
    assert (plain.said_target == UNSAID_TARGET).all()
    time_ns = int(plain.time_ns[20])
    start_ns, end_ns = int(plain.time_ns[14]), int(plain.time_ns[40])
    drone = plain.profile.class_names()[1]
    say(folder, start_ns, end_ns, target=Target(time_ns=time_ns, class_name=drone, box=(0.25, 0.25, 0.25, 0.25)))
    say(folder, int(plain.time_ns[45]), int(plain.time_ns[50]), no_target=True)
    (steps,), _ = load_sessions(tmp_path, "arena")
    learnt = label_targets(steps)
    for row in range(14, 40):
        there = steps.tracks(row).ids.tolist()
        assert (learnt[row] in there) if there else learnt[row] == NO_TARGET
    assert (learnt[45:50] == NO_TARGET).all()
    np.testing.assert_array_equal(learnt[:14], label_targets(plain)[:14])
    np.testing.assert_array_equal(label_targets(steps.slice(10, 30)), learnt[10:30])


def test_a_target_that_is_nowhere_near_says_nothing(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 60)
    (plain,), _ = load_sessions(tmp_path, "arena")
    far = Target(time_ns=int(plain.time_ns[20]), class_name=plain.profile.class_names()[1], box=(0.9, 0.9, 0.05, 0.05))
    say(folder, int(plain.time_ns[14]), int(plain.time_ns[40]), target=far)
    (steps,), _ = load_sessions(tmp_path, "arena")
    assert steps.said_target is not None
    assert (steps.said_target == UNSAID_TARGET).all()
    np.testing.assert_array_equal(label_targets(steps), label_targets(plain))


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """Labels, tags and the list's index, changed in a loop by two processes: all is whole after it."""
    folder = write_session(tmp_path, 5)
    code = (
        "import sys; from pathlib import Path; from data import annotations, labels; from data.catalog import list_sessions\n"
        "folder, who = Path(sys.argv[1]), sys.argv[2]\n"
        "for n in range(60):\n"
        "    labels.set_mode(folder, n, n + 1, 'FIGHT')\n"
        "    annotations.update(folder, add=[f'{who}{n}'])\n"
        "    assert len(list_sessions(folder.parent.parent)) == 1\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, str(folder), who], cwd=Path(__file__).parents[2]) for who in "ab"]
    assert [process.wait(50) for process in both] == [0, 0]
    labels, bad = read(folder)
    assert (len(labels), bad) == (120, 0)
    assert set(read_annotations(folder).tags) == {f"{who}{n}" for who in "ab" for n in range(60)}
    (info,) = list_sessions(tmp_path)
    assert (info.labels, len(info.tags)) == (120, 120)
    assert not list(tmp_path.rglob("*.tmp"))

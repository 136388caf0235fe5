"""A step holds what was done between its tick and the next."""

from __future__ import annotations

from data.profile import ARENA_PROFILE
from data.schema import InputEvent, Observation, Status, Step, Tracks
from engine.step_assembler import StepAssembler

MS = 1_000_000


def seen(time_ms: int, cursor: tuple[float, float] | None = (0.5, 0.5)) -> Observation:
    return Observation(time_ms * MS, time_ms * MS - 5 * MS, time_ms // 50, Status(), Tracks.empty(), cursor)


def press(time_ms: int, name: str, actor: str = "human") -> InputEvent:
    return InputEvent(time_ms * MS, "press", name, 0.2, 0.3, actor=actor)  # pyright: ignore[reportArgumentType]


def release(time_ms: int, name: str) -> InputEvent:
    return InputEvent(time_ms * MS, "release", name, 0.2, 0.3)


def steps_of(join: StepAssembler, times_ms: range, flies: str = "human") -> list[Step]:
    return [step for t in times_ms for step in join.tick(seen(t), flies)]  # pyright: ignore[reportArgumentType]


def test_events_belong_to_the_tick_in_whose_time_they_happened() -> None:
    join = StepAssembler(ARENA_PROFILE, settle_ns=200 * MS)
    for event in (press(10, "mouse_left"), release(30, "mouse_left"), press(60, "space"), press(100, "q")):
        join.event(event)
    first, second, third = steps_of(join, range(0, 351, 50))[:3]
    assert [s.observation.time_ns for s in (first, second, third)] == [0, 50 * MS, 100 * MS]
    assert (first.action.onsets, first.action.held) == (("mouse_left",), frozenset())
    assert (second.action.onsets, second.action.held) == (("space",), frozenset({"space"}))
    assert (third.action.onsets, third.action.held) == (("q",), frozenset({"space", "q"}))
    assert (first.action.x, first.action.y) == (0.2, 0.3)


def test_a_step_waits_for_events_that_come_late_and_out_of_order() -> None:
    join = StepAssembler(ARENA_PROFILE, settle_ns=200 * MS)
    assert steps_of(join, range(0, 201, 50)) == []
    join.event(press(60, "q"))
    join.event(press(20, "space"))  # held back by the listener until it knew whose it was
    first, second = steps_of(join, range(250, 301, 50))
    assert first.action.onsets == ("space",)
    assert second.action.onsets == ("q",)


def test_auto_repeat_and_keys_held_at_the_start_are_no_onsets() -> None:
    join = StepAssembler(ARENA_PROFILE, settle_ns=200 * MS)
    join.event(InputEvent(5 * MS, "press", "e", note="held_at_start"))
    for t in (10, 20, 30):
        join.event(press(t, "space"))
    step = steps_of(join, range(0, 301, 50))[0]
    assert step.action.onsets == ("space",)
    assert step.action.held == {"space", "e"}


def test_a_person_who_touches_the_controls_owns_the_tick() -> None:
    join = StepAssembler(ARENA_PROFILE, settle_ns=200 * MS)
    join.tick(seen(0), "bot", "mine")
    join.event(press(10, "space", "bot"))
    join.intent("FIGHT", 7, 3)
    join.event(press(60, "e"))
    own, theirs = steps_of(join, range(50, 301, 50), "bot")[:2]
    assert (own.actor, own.actor_name, own.model_version, own.mode, own.target_id) == ("bot", "mine", 3, "FIGHT", 7)
    assert (theirs.actor, theirs.model_version) == ("human", 0)


def test_names_outside_the_vocabulary_never_enter_a_step() -> None:
    join = StepAssembler(ARENA_PROFILE, settle_ns=200 * MS)
    for name in ("f5", "other", "z"):
        join.event(press(10, name))
    step = steps_of(join, range(0, 301, 50))[0]
    assert (step.action.onsets, step.action.held) == ((), frozenset())


def test_a_gap_ends_the_finished_ticks_and_drops_the_open_one_and_everything_held() -> None:
    join = StepAssembler(ARENA_PROFILE, settle_ns=200 * MS)
    join.event(press(10, "space"))
    steps_of(join, range(0, 101, 50))
    before = join.gap()
    assert [s.observation.time_ns for s in before] == [0, 50 * MS]
    assert before[0].action.onsets == ("space",)
    after = steps_of(join, range(500, 801, 50))
    assert after[0].observation.time_ns == 500 * MS
    assert after[0].action.held == frozenset()

"""A step holds what was done between its tick and the next."""

from __future__ import annotations

from data.profile import ARENA_PROFILE
from data.schema import InputEvent, Observation, Status, Tracks
from engine.step_assembler import StepAssembler

MS = 1_000_000


def seen(time_ms: int, cursor: tuple[float, float] | None = (0.5, 0.5)) -> Observation:
    return Observation(time_ms * MS, time_ms * MS - 5 * MS, time_ms // 50, Status(), Tracks.empty(), cursor)


def press(time_ms: int, name: str, actor: str = "human") -> InputEvent:
    return InputEvent(time_ms * MS, "press", name, 0.2, 0.3, actor=actor)  # pyright: ignore[reportArgumentType]


def release(time_ms: int, name: str) -> InputEvent:
    return InputEvent(time_ms * MS, "release", name, 0.2, 0.3)


def test_events_belong_to_the_tick_in_whose_time_they_happened() -> None:
    join = StepAssembler(ARENA_PROFILE)
    for event in (press(10, "mouse_left"), release(30, "mouse_left"), press(60, "space"), press(100, "q")):
        join.event(event)
    assert join.tick(seen(0), "human") is None
    first, second, third = (join.tick(seen(t), "human") for t in (50, 100, 150))
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.action.onsets, first.action.held) == (("mouse_left",), frozenset())
    assert (second.action.onsets, second.action.held) == (("space",), frozenset({"space"}))
    assert (third.action.onsets, third.action.held) == (("q",), frozenset({"space", "q"}))
    assert (first.action.x, first.action.y) == (0.2, 0.3)


def test_auto_repeat_and_keys_held_at_the_start_are_no_onsets() -> None:
    join = StepAssembler(ARENA_PROFILE)
    join.event(InputEvent(5 * MS, "press", "e", note="held_at_start"))
    for t in (10, 20, 30):
        join.event(press(t, "space"))
    join.tick(seen(0), "human")
    step = join.tick(seen(50), "human")
    assert step is not None
    assert step.action.onsets == ("space",)
    assert step.action.held == {"space", "e"}


def test_a_person_who_touches_the_controls_owns_the_tick() -> None:
    join = StepAssembler(ARENA_PROFILE)
    join.tick(seen(0), "bot")
    join.event(press(10, "space", "bot"))
    join.intent("FIGHT", 7, 3)
    own = join.tick(seen(50), "bot")
    join.event(press(60, "e"))
    theirs = join.tick(seen(100), "bot")
    assert own is not None
    assert theirs is not None
    assert (own.actor, own.model_version, own.mode, own.target_id) == ("bot", 3, "FIGHT", 7)
    assert (theirs.actor, theirs.model_version) == ("human", 0)


def test_names_outside_the_vocabulary_never_enter_a_step() -> None:
    join = StepAssembler(ARENA_PROFILE)
    join.tick(seen(0), "human")
    for name in ("f5", "other", "z"):
        join.event(press(10, name))
    step = join.tick(seen(50), "human")
    assert step is not None
    assert (step.action.onsets, step.action.held) == ((), frozenset())


def test_a_gap_drops_the_open_step_and_everything_held() -> None:
    join = StepAssembler(ARENA_PROFILE)
    join.tick(seen(0), "human")
    join.event(press(10, "space"))
    join.gap()
    assert join.tick(seen(500), "human") is None
    step = join.tick(seen(550), "human")
    assert step is not None
    assert step.action.held == frozenset()

"""The recorder's keys as a pure state machine: a table of what each does, and what holds whatever is pressed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.recorder_machine import Begin, Command, Finish, Pause, RecorderMachine, Resume, Say, Settle


def machine_in(phase: str) -> RecorderMachine:
    machine = RecorderMachine()
    machine.set_waiting("", 0)
    if phase != "idle":
        machine.press("f5", 1)
        machine.captured()
    if phase == "unsaved":
        machine.press("f5", 2)
    assert machine.phase == phase
    return machine


@pytest.mark.parametrize(
    ("phase", "press", "expected", "after"),
    [
        ("idle", "f5", [Begin(9)], "recording"),
        ("idle", "f6", [], "idle"),
        ("idle", "f7", [], "idle"),
        ("recording", "f5", [Finish(9, "unsaved")], "unsaved"),
        ("recording", "f6", [Finish(9, "saved")], "idle"),
        ("recording", "f7", [Finish(9, "trash")], "idle"),
        ("unsaved", "f5", [Settle("saved", "the recording before was saved, since a new one begins"), Begin(9)], "recording"),
        ("unsaved", "f6", [Settle("saved")], "idle"),
        ("unsaved", "f7", [Settle("trash")], "idle"),
    ],
)
def test_every_key_in_every_state(phase: str, press: str, expected: list[Command], after: str) -> None:
    machine = machine_in(phase)
    commands = machine.press(press, 9)  # type: ignore[arg-type]
    assert [c for c in commands if not isinstance(c, Say)] == expected
    assert machine.phase == after
    assert expected or [c for c in commands if isinstance(c, Say)]  # a key is never answered by silence


@pytest.mark.parametrize(
    ("phase", "expected"), [("idle", []), ("recording", [Finish(9, "saved", "quit")]), ("unsaved", [Settle("saved", "quit")])]
)
def test_an_end_from_outside_saves(phase: str, expected: list[Command]) -> None:
    machine = machine_in(phase)
    assert machine.finish("quit", 9) == expected
    assert machine.phase == "idle"


def test_a_refusal_begins_nothing_but_still_saves_the_old() -> None:
    machine = machine_in("unsaved")
    settled, said = machine.press("f5", 9, refusal="/x: Permission denied")
    assert isinstance(settled, Settle)
    assert said == Say("error", "cannot record: /x: Permission denied", "failure")
    assert machine.phase == "idle"


ACTIONS: dict[str, Callable[[RecorderMachine, int], list[Command]]] = {
    "f5": lambda m, t: m.press("f5", t),
    "f5 refused": lambda m, t: m.press("f5", t, "no"),
    "f6": lambda m, t: m.press("f6", t),
    "f7": lambda m, t: m.press("f7", t),
    "hide": lambda m, t: m.set_waiting("hidden", t),
    "other reason": lambda m, t: m.set_waiting("not in focus", t),
    "show": lambda m, t: m.set_waiting("", t),
    "finish": lambda m, t: m.finish("quit", t),
    "fail": lambda m, t: m.failed("disk full", t),
}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*ACTIONS, "frame"]), max_size=40))
def test_whatever_is_pressed_the_commands_fit_together(names: list[str]) -> None:
    machine = RecorderMachine()
    opened = paused = unsaved = False
    frames = 0
    for time_ns, name in enumerate(names):
        if name == "frame":
            if machine.taking:
                machine.captured()
                frames += 1
            continue
        failed = name == "fail"
        for command in ACTIONS[name](machine, time_ns):
            if isinstance(command, Begin):
                assert not opened
                assert not unsaved
                opened, paused, frames = True, False, 0
            elif isinstance(command, Pause):
                assert opened
                assert not paused
                paused = True
            elif isinstance(command, Resume):
                assert opened
                assert paused
                paused = False
            elif isinstance(command, Finish):
                assert opened
                assert failed or (command.then == "nothing") == (frames == 0)
                opened, paused, unsaved = False, False, command.then == "unsaved"
            elif isinstance(command, Settle):
                assert unsaved
                unsaved = False
        if failed:
            unsaved = False
        assert (machine.phase == "recording") == opened
        assert (machine.phase == "unsaved") == unsaved
        assert machine.paused == (opened and paused)

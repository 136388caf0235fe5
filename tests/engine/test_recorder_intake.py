"""What a recording notices by itself: stalls, sleep, clocks that were set, a pinned pointer, keys that are not the game's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from data.catalog import list_sessions
from data.geometry import Rect
from data.locks import RecorderLock
from data.metadata import Source
from data.profile import ARENA_PROFILE
from data.schema import InputEvent
from data.session import open_session
from data.verify import verify
from engine.clock_watch import ClockWatch, Jump
from engine.input.pointer import CentreWatch
from engine.recorder_intake import Intake, RecordingSettings
from engine.recorder_machine import KeyNames, Pause, Resume
from tests.support.recording import MakeRig
from tests.support.sessions import FRAME_NS
from tests.support.x11 import wait_until

S = 1_000_000_000


class Clocks:
    """Three clocks that the test turns."""

    def __init__(self) -> None:
        self.wall, self.mono, self.boot = 1_700_000_000 * S, 50 * S, 60 * S
        self.watch = ClockWatch(lambda: self.wall, lambda: self.mono, lambda: self.boot)

    def on(self, s: float, asleep_s: float = 0.0, set_s: float = 0.0) -> Jump:
        self.mono += round(s * S)
        self.boot += round((s + asleep_s) * S)
        self.wall += round((s + asleep_s + set_s) * S)
        return self.watch.look()


def test_sleep_and_a_clock_that_was_set_are_told_apart() -> None:
    clocks = Clocks()
    assert clocks.on(0) == Jump()
    assert clocks.on(30, set_s=0.01) == Jump()  # slewing
    assert clocks.on(0.03, asleep_s=3600) == Jump(slept_s=3600.0)
    assert clocks.on(0.03, set_s=-7200) == Jump(wall_step_s=-7200.0)
    assert clocks.on(0.03, asleep_s=60, set_s=10) == Jump(60.0, 10.0)
    assert clocks.on(0.03) == Jump()
    clocks.watch.reset()
    assert clocks.on(5, asleep_s=5, set_s=5) == Jump()


def test_a_machine_that_slept_leaves_a_gap_although_its_monotonic_clock_stood_still() -> None:
    clocks = Clocks()
    intake = Intake(RecordingSettings(Path(), ARENA_PROFILE, Source()), clocks.watch)
    intake.begin(50 * S)
    clocks.on(0)
    assert intake.interruption(51 * S) == []
    clocks.mono, clocks.boot, clocks.wall = clocks.mono + FRAME_NS, clocks.boot + 12 * S, clocks.wall + 12 * S
    gap = intake.interruption(51 * S + FRAME_NS)
    assert gap == [Pause(51 * S, "the machine slept for 12.0 s"), Resume(51 * S + FRAME_NS)]
    clocks.wall -= 3600 * S
    clocks.mono, clocks.boot = clocks.mono + FRAME_NS, clocks.boot + FRAME_NS
    (remark,) = intake.interruption(51 * S + 2 * FRAME_NS)
    assert remark == "the wall clock was set back by 3600.0 s, 1.1 s after this stretch began"


def test_a_stall_becomes_a_gap_of_the_recording(rig: MakeRig) -> None:
    it = rig()
    it.press("f5")
    it.play(30)
    last = it.clock.now
    it.clock.now += 4 * S
    it.play(30)
    it.press("f6")
    folder = it.folders()[0]
    with open_session(folder) as session:
        (gap,) = session.metadata.gaps
        assert (gap.start_ns, gap.end_ns, gap.reason) == (last, last + 4 * S + FRAME_NS, "no picture came for 4.0 s")
        assert session.metadata.rates.measured_fps == pytest.approx(1 / 0.033, abs=0.01)
    assert [f for f in verify(folder) if f.severity != "info"] == []


def test_a_slow_source_is_no_stall(rig: MakeRig) -> None:
    it = rig(fps=1.0)
    it.press("f5")
    for _ in range(5):
        it.clock.now += S
        it.play(1)
    it.press("f6")
    assert open_session(it.folders()[0]).metadata.gaps == []


RECT = Rect(100, 50, 640, 360)
MIDDLE = (420, 230)


def test_a_pointer_that_is_put_back_into_the_middle_is_counted_and_told() -> None:
    looked_at = CentreWatch()  # nothing is known but its places, every 50 ms
    for n in range(40):
        looked_at.see(n * 50_000_000, MIDDLE[0] + (n % 2) * 9, MIDDLE[1], RECT)
    assert (looked_at.noticed, looked_at.count) == (True, 19)
    assert (
        looked_at.remark(19) == "the pointer was re-centred 19 times: its places say little, no relative motion is known on this platform"
    )
    for after_the_move in (0, 14):  # the game is quicker than the look at its place, or slower
        moved = CentreWatch()
        for n in range(40):
            moved.see(n * 30_000_000, MIDDLE[0] + after_the_move, MIDDLE[1] - 1, RECT, dx=14, dy=-1)
        assert moved.noticed
        assert moved.count >= 39
        assert moved.remark(39).endswith("dx and dy of its moves hold what the hand did")


@pytest.mark.parametrize(
    "places",
    [
        [(n * 400, 420 if n % 2 else 470) for n in range(40)],  # a hand that crosses the middle now and then
        [(n * 10, 420) for n in range(100)],  # one that rests there
        [(n * 10, 300 + n * 2) for n in range(100)],
    ],
)
def test_a_hand_near_the_middle_is_not_a_game_that_pins_it(places: list[tuple[int, int]]) -> None:
    watch = CentreWatch()
    for at_ms, x in places:
        watch.see(at_ms * 1_000_000, x, 230, RECT)
    assert not watch.noticed


def test_what_is_asked_at_the_end_is_in_the_metadata(rig: MakeRig) -> None:
    it = rig()
    said = ["the pointer was re-centred 30 times"]
    it.recorder.configure(RecordingSettings(it.workspace, ARENA_PROFILE, Source(), last_remarks=lambda: said))
    it.press("f5")
    it.play(2)
    it.press("f6")
    assert open_session(it.folders()[0]).metadata.notes == said


def test_remapped_control_keys_are_not_the_games_and_a_repeated_press_is_none(rig: MakeRig) -> None:
    it = rig()
    profile = ARENA_PROFILE.model_copy(update={"keys": (*ARENA_PROFILE.keys, "f9")})
    it.recorder.configure(RecordingSettings(it.workspace, profile, Source(), control_keys=frozenset({"f9", "f2", "f3", "f8"})))
    it.press("f5")
    it.play(2)
    for name in ("f9", "f2", "f8", "f5"):
        assert not it.key("press", name)
    assert it.key("press", "q")
    assert not it.key("press", "q")
    assert it.key("release", "q")
    it.press("f6")
    with open_session(it.folders()[0]) as session:
        assert [(e.kind, e.name) for e in session.events()] == [("press", "q"), ("release", "q")]
        assert session.metadata.counts.refused_events == 4


HOLDER = """
import sys
from pathlib import Path
from data.geometry import Rect
from data.locks import RecorderLock
RecorderLock(Path(sys.argv[1]))
print("holds", flush=True)
sys.stdin.read()
"""


def test_a_second_recorder_is_refused_with_the_first_ones_number_and_a_dead_one_is_not(rig: MakeRig, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], **pipes) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "holds\n"
        it = rig()
        it.press("f5")
        assert it.said[-1] == (
            f"error: cannot record: process {other.pid} is recording into {tmp_path} already; end that recording first "
            "(F6 or F7 there), or record into another workspace (--workspace)"
        )
        assert it.alerts == ["failure"]
        assert it.play(3) == 0
        other.kill()  # it leaves its lock behind
    assert (tmp_path / ".recorder.lock").exists()
    it.press("f5")
    assert it.play(3) == 3
    again = rig()
    again.press("f5")
    assert "is recording into" in again.said[-1]
    it.press("f6")
    assert not (tmp_path / ".recorder.lock").exists()
    again.press("f5")
    assert again.play(3) == 3
    again.press("f6")
    assert len(list_sessions(tmp_path)) == 2


def test_a_failed_recording_gives_the_workspace_free(rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = rig()
    it.press("f5")
    it.play(3)
    monkeypatch.setattr("engine.recorder_writer.free_bytes", lambda _: 1000)
    wait_until(lambda: it.recorder.state().phase == "idle", 3)
    assert it.recorder.wait()
    RecorderLock(tmp_path).release()
    assert it.alerts == ["start", "failure"]


def test_the_keys_are_called_what_the_settings_call_them(rig: MakeRig) -> None:
    it = rig(keys=KeyNames("F9", "F2", "F3"))
    it.press("f6", "f5")
    it.play(3)
    it.press("f5")
    assert it.said[0] == "info: nothing to save: F9 starts a recording"
    assert it.said[1] == "info: recording: F9 stops, F2 saves, F3 discards"
    assert it.said[2].endswith("F2 saves it, F3 discards it")


def test_every_end_is_an_alert_of_its_kind(rig: MakeRig) -> None:
    it = rig()
    for keys, kinds in ((("f5", "f5", "f6"), ["start", "stop", "save"]), (("f5", "f7"), ["start", "discard"])):
        it.alerts.clear()
        for key in keys:
            it.press(key)
            it.play(3)
        assert it.alerts == kinds
    it.alerts.clear()
    it.press("f5")
    it.recorder.set_focus(False)
    it.recorder.set_focus(True)
    it.press("f6")
    assert it.alerts == ["start", "pause", "resume", "failure"]  # nothing was captured


def test_events_that_come_late_behind_the_key_that_began_it_are_held_at_start(rig: MakeRig) -> None:
    it = rig()
    before_ns = it.clock.now - 20_000_000
    it.press("f5")
    begin_ns = it.clock.now
    for kind, name in (("press", "q"), ("press", "e"), ("release", "e"), ("release", "r"), ("move", "")):
        it.recorder.offer_event(InputEvent(before_ns, kind, name))  # type: ignore[arg-type]
    it.play(2)
    it.key("release", "q")
    it.press("f6")
    with open_session(it.folders()[0]) as session:
        assert [(e.kind, e.name, e.note, e.time_ns == begin_ns) for e in session.events()] == [
            ("press", "q", "held_at_start", True),
            ("press", "e", "held_at_start", True),
            ("release", "e", "", True),
            ("release", "q", "", False),
        ]

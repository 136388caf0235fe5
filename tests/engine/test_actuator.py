"""The actuator: its rules with a fake injector, then the process on a real screen."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from data.geometry import Rect
from data.profile import GameProfile
from engine.actuator.client import Actuator, ActuatorError, Intent
from engine.actuator.journal import Journal
from engine.actuator.protocol import Decoder, encode
from engine.actuator.rules import Refused, Rules
from engine.platforms.port import GateResult, Injected, RawInput, WindowInfo, place_in_window
from tests.support.x11 import Person, TargetWindow, wait_until

ROOT = Path(__file__).resolve().parents[2]
DRIVER = ROOT / "tests" / "support" / "bot_driver.py"
PROFILE = GameProfile(name="probe", keys=("w", "q", "space"), edge_margin_px=8, hold_ms=50)
MS = 1_000_000
W, Q, F8 = 25, 24, 74


class FakeInjector:
    """Remembers what is down, as a keyboard would."""

    def __init__(self) -> None:
        self.down: set[str] = set()
        self.gate: GateResult = "sent"
        self.done: list[tuple[str, str]] = []

    def inject(
        self,
        window_id: int,
        releases: Sequence[str],
        point: tuple[float, float] | None,
        presses: Sequence[str],
        margin_px: int,
        dry_run: bool = False,
    ) -> Injected:
        place = (None, None) if point is None else place_in_window(point, Rect(100, 50, 400, 300), margin_px)
        if self.gate != "sent" or dry_run:
            return Injected(self.gate, 0, 0, *place)
        self.release(releases)
        for name in presses:
            assert name not in self.down, f"{name} is pressed twice without a release"
            self.down.add(name)
            self.done.append(("press", name))
        return Injected("sent", 0, 0, *place)

    def release(self, names: Collection[str]) -> None:
        for name in names:
            self.down.discard(name)
            self.done.append(("release", name))

    def knows(self, name: str) -> bool:
        return name != "unheard_of"

    def focus(self, window_id: int) -> GateResult:
        return self.gate

    def close(self) -> None: ...


def armed_rules(**changes: Any) -> tuple[Rules, FakeInjector]:
    injector = FakeInjector()
    rules = Rules(injector)
    rules.arm({"window": 7, "title": "Game", "keys": ["w", "q", "space"], "margin_px": 8, "hold_ms": 50, **changes}, 0)
    return rules, injector


def intent(
    sequence: int, x: float | None = 0.5, y: float | None = 0.5, onsets: Sequence[str] = (), held: Collection[str] = ()
) -> dict[str, Any]:
    return Intent(sequence, 10**18, x, y, tuple(onsets), frozenset(held)).message()


def test_a_tap_lasts_the_hold_time_and_a_held_key_until_an_intent_says_otherwise() -> None:
    rules, injector = armed_rules()
    rules.intent(intent(1, onsets=["q"], held=["w"]), 0)
    assert injector.down == {"q", "w"}
    assert rules.poll(49 * MS) is not None
    assert injector.down == {"q", "w"}
    rules.poll(51 * MS)
    assert injector.down == {"w"}
    rules.intent(intent(2, held=["w"]), 60 * MS)
    rules.intent(intent(3), 110 * MS)
    assert injector.down == set()
    assert injector.done == [("press", "q"), ("press", "w"), ("release", "q"), ("release", "w")]


def test_an_onset_of_a_key_that_is_down_is_a_fresh_press() -> None:
    rules, injector = armed_rules()
    rules.intent(intent(1, held=["w"]), 0)
    rules.intent(intent(2, onsets=["w"], held=["w"]), 50 * MS)
    assert injector.done == [("press", "w"), ("release", "w"), ("press", "w")]


def test_without_intents_everything_is_let_go_after_250_ms() -> None:
    rules, injector = armed_rules()
    rules.intent(intent(1, held=["w", "mouse_left"]), 0)
    rules.poll(249 * MS)
    assert injector.down == {"w", "mouse_left"}
    rules.poll(250 * MS)
    assert injector.down == set()
    assert (rules.phase, rules.counts.lapses) == ("armed", 1)


@pytest.mark.parametrize(("x", "y"), [(math.nan, 0.5), (0.5, math.inf), (-0.01, 0.5), (0.5, 1.01), (None, 0.5), ("a", 0.5)])
def test_places_that_are_none_are_refused_and_do_not_keep_keys_down(x: Any, y: Any) -> None:
    rules, injector = armed_rules()
    rules.intent(intent(1, held=["w"]), 0)
    for step in range(1, 6):
        rules.intent(Intent(step + 1, 10**18, x, y, ("q",)).message(), step * 50 * MS)
        rules.poll(step * 50 * MS)
    assert rules.counts.refused == 5
    assert injector.done == [("press", "w"), ("release", "w")]


def test_expired_stale_foreign_and_control_keys_are_refused_or_dropped() -> None:
    rules, injector = armed_rules()
    rules.intent({**intent(1, onsets=["q"]), "expiry_ns": 5}, 6)
    assert (rules.counts.expired, rules.counts.sent) == (1, 0)
    rules.intent(intent(1, onsets=["q"]), 7)
    rules.intent(intent(2, onsets=["f8"]), 8)
    rules.intent(intent(3, onsets=["z"]), 9)
    rules.intent({"op": "intent"}, 10)
    assert (rules.counts.refused, rules.counts.sent) == (4, 0)
    assert injector.done == []


@pytest.mark.parametrize(
    ("change", "message"),
    [({"keys": ["w", "f6"]}, "f6 steer Secondseat"), ({"keys": ["unheard_of"]}, "no key named unheard_of"), ({"hold_ms": 5}, "hold_ms 5")],
)
def test_arming_with_impossible_keys_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        armed_rules(**change)


def test_nothing_passes_before_arming() -> None:
    injector = FakeInjector()
    rules = Rules(injector)
    rules.intent(intent(1, onsets=["q"]), 0)
    assert (injector.done, rules.counts.ignored) == ([], 1)


def test_lost_focus_pauses_releases_and_counts_then_goes_on() -> None:
    rules, injector = armed_rules()
    rules.intent(intent(1, held=["w"]), 0)
    injector.gate = "no_focus"
    rules.poll(60 * MS)
    assert (rules.phase, injector.down, rules.counts.focus_losses) == ("paused", set(), 1)
    rules.intent(intent(2, held=["w"]), 70 * MS)
    assert injector.down == set()
    injector.gate = "sent"
    rules.poll(130 * MS)
    rules.intent(intent(3, held=["w"]), 140 * MS)
    assert (rules.phase, injector.down) == ("armed", {"w"})
    injector.gate = "closed"
    rules.poll(200 * MS)
    assert (rules.phase, rules.reason, injector.down) == ("disarmed", "the window 'Game' is closed", set())


def test_a_covered_click_is_refused_but_still_lets_go() -> None:
    rules, injector = armed_rules()
    rules.intent(intent(1, held=["w"]), 0)
    injector.gate = "covered"
    rules.intent(intent(2, onsets=["mouse_left"]), 50 * MS)
    assert (rules.phase, rules.counts.refused, injector.done[-1]) == ("armed", 1, ("release", "w"))


def press(name: str, device: str = "USB keyboard", injected: bool = False) -> RawInput:
    return RawInput(0, "press", name, device=device, injected=injected)


@pytest.mark.parametrize(
    "event", [press("w"), press("x"), press("mouse_left", "USB mouse"), RawInput(0, "scroll", dy=1), press("w", "XTEST", True)]
)
def test_any_key_click_or_wheel_of_a_person_takes_over(event: RawInput) -> None:
    rules, injector = armed_rules()
    rules.intent(intent(1, held=["q"]), 0)
    rules.on_input(event, 10 * MS)
    assert (rules.phase, injector.down) == ("yielded", set())
    rules.intent(intent(2, held=["q"]), 50 * MS)
    assert injector.down == set()
    rules.resume(60 * MS)
    rules.intent(intent(3, held=["q"]), 70 * MS)
    assert injector.down == {"q"}


def test_own_echoes_releases_and_control_keys_do_not_take_over() -> None:
    rules, _ = armed_rules()
    rules.intent(intent(1, onsets=["q"]), 0)
    rules.on_input(press("q", "XTEST", True), MS)
    rules.on_input(press("f6"), MS)
    rules.on_input(RawInput(0, "release", "x", device="USB keyboard"), MS)
    assert rules.phase == "armed"
    rules.on_input(press("q", "XTEST", True), 2 * MS)  # the same press a second time was not ours
    assert rules.phase == "yielded"


def move(x: int, y: int, injected: bool = False) -> RawInput:
    return RawInput(0, "move", "", x, y, device="USB mouse", injected=injected)


def test_a_deliberate_mouse_move_takes_over_and_a_nudge_does_not() -> None:
    rules, _ = armed_rules()
    start = 2_000 * MS
    rules.intent(intent(1), start)
    rules.on_input(move(300, 200), start)
    for step in range(20):  # 2 px to and fro twice a second
        rules.on_input(move(300 + 2 * (step % 2), 200), start + step * 500 * MS)
    assert rules.phase == "armed"
    for step in range(5):
        rules.on_input(move(302 + 3 * step, 200), start + (20_000 + step * 10) * MS)
    assert rules.phase == "yielded"


def test_the_bots_own_path_is_no_persons_move_even_when_told_late() -> None:
    rules, _ = armed_rules()
    start = 2_000 * MS
    places: list[tuple[int, int]] = []
    for step in range(40):
        now = start + step * 50 * MS
        rules.intent(intent(step + 1, x=0.1 + step * 0.02), now)
        assert rules.place is not None
        places.append(rules.place)
        if len(places) > 2:
            rules.on_input(move(*places[-3], injected=True), now + MS)  # told two intents late
    assert rules.phase == "armed"


def test_the_stop_key_stops_from_any_state_and_says_so() -> None:
    rules, injector = armed_rules()
    rules.intent(intent(1, held=["w"]), 0)
    rules.on_input(press("f8"), MS)
    assert (rules.phase, injector.down, rules.notices[0]["ev"]) == ("stopped", set(), "stop_key")
    with pytest.raises(Refused, match="arm first"):
        rules.resume(2 * MS)


def test_a_dry_run_computes_places_and_presses_nothing() -> None:
    rules, injector = armed_rules(dry_run=True)
    rules.intent(intent(1, 0.5, 0.5, ["mouse_left"]), 0)
    assert injector.done == []
    assert [(e.kind, e.x, e.y, e.dry) for e in rules.journal] == [("move", 300, 200, True), ("press", 300, 200, True)]


def test_places_stay_inside_the_edge_margin() -> None:
    rect = Rect(-1920, -200, 640, 360)
    assert place_in_window((0.0, 0.0), rect, 8) == (-1912, -192)
    assert place_in_window((1.0, 1.0), rect, 8) == (-1920 + 631, -200 + 351)
    assert place_in_window((0.5, 0.5), Rect(0, 0, 1920, 1080), 8) == (960, 540)
    assert place_in_window((1.0, 0.0), Rect(5, 5, 3, 3), 8) == (6, 6)


def test_messages_survive_any_cutting_and_bad_ones_are_counted() -> None:
    stream = encode({"a": 1}) + b"\x00\x00\x00\x02[]" + b"\x00\x00\x00\x03{x}" + encode({"b": "ü" * 1000})
    decoder = Decoder()
    whole = [message for i in range(len(stream)) for message in decoder.feed(stream[i : i + 1])]
    assert whole == [{"a": 1}, {"b": "ü" * 1000}]
    assert decoder.bad_messages == 2
    with pytest.raises(ValueError, match="claims"):
        decoder.feed(b"\xff\xff\xff\xff")


def test_the_journal_accounts_for_each_press_once() -> None:
    journal = Journal()
    journal.add([[1, "press", "w", None, None, 100 * MS, 101 * MS, False], [1, "move", "", 10, 20, 100 * MS, 101 * MS, False]])
    journal.add([[2, "press", "q", None, None, 100 * MS, 101 * MS, True]])
    assert not journal.claim("press", "w", 60 * MS)
    assert not journal.claim("press", "w", 320 * MS)
    assert not journal.claim("press", "q", 100 * MS), "a dry run sends nothing"
    assert journal.claim("press", "w", 110 * MS)
    assert not journal.claim("press", "w", 110 * MS)
    assert journal.claim("move", "", 101 * MS, (11, 20))
    assert not journal.claim("move", "", 101 * MS, (30, 20))
    assert len(journal.entries()) == 3


@pytest.fixture
def actuator() -> Iterator[Callable[..., Actuator]]:
    started: list[Actuator] = []

    def start(**arguments: Any) -> Actuator:
        started.append(Actuator(**arguments).start())
        return started[-1]

    yield start
    for one in started:
        one.stop()


def soon(sequence: int, x: float = 0.5, y: float = 0.5, onsets: Sequence[str] = (), held: Collection[str] = ()) -> Intent:
    return Intent(sequence, time.monotonic_ns() + 2000 * MS, x, y, tuple(onsets), frozenset(held))


def test_the_process_without_a_screen_keeps_the_same_rules(actuator: Callable[..., Actuator], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    hands = actuator(backend="null")
    hands.arm(WindowInfo(0, "arena", Rect(0, 0, 1920, 1080)), PROFILE, dry_run=True)
    hands.send(soon(1, onsets=("mouse_left",)))
    hands.send(soon(2, x=math.nan))
    hands.send(Intent(3, time.monotonic_ns() - 1, 0.5, 0.5))
    wait_until(lambda: hands.status().expired == 1 and hands.status().refused == 1, 2)
    wait_until(lambda: len(hands.entries()) >= 2, 2)
    assert [(e.kind, e.x, e.y) for e in hands.entries()[:2]] == [("move", 960, 540), ("press", 960, 540)]
    assert all(e.dry for e in hands.entries())
    with pytest.raises(ActuatorError, match="nothing to resume"):
        hands.resume()


def test_no_display_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(ActuatorError, match=r"the actuator did not start: no display: DISPLAY is not set.*"):
        Actuator().start()
    monkeypatch.setenv("DISPLAY", ":4077")
    with pytest.raises(ActuatorError, match=r"display ':4077' cannot be reached"):
        Actuator().start()


def test_the_process_starts_quickly_and_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, engine.actuator.process; print(sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'torch', 'pydantic', 'cv2'}))"
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "__init__.py").write_text("raise SystemExit('the wrong package')")
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=20)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.x11
class TestOnAScreen:
    def held(self, person: Person) -> tuple[set[int], set[int]]:
        return person.held_codes(), person.held_buttons()

    def test_keys_clicks_and_places_arrive(
        self, x_display: str, window_manager: None, target_window: Callable[..., TargetWindow], actuator: Callable[..., Actuator]
    ) -> None:
        target = target_window(x=100, y=80)
        target.focus()
        hands = actuator()
        hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
        hands.send(soon(1, 0.25, 0.5, ("q", "mouse_left"), ("space",)))
        wait_until(lambda: len(target.events("key_release", "button_release")) >= 2, 3)
        hands.release_all()
        wait_until(lambda: not hands.status().held, 2)
        target.move(500, 300)
        hands.send(soon(2, 0.0, 0.0, ("mouse_right",)))
        wait_until(lambda: len(target.events("button_release")) == 2, 3)
        buttons = target.events("button_press")
        assert [(e["code"], e["x"], e["y"]) for e in buttons] == [(1, 100, 150), (3, 8, 8)]
        keys = [(e["kind"], e["code"]) for e in target.events("key_press", "key_release")]
        assert keys.count(("key_press", Q)) == 1
        assert keys.count(("key_press", 65)) == keys.count(("key_release", 65)) == 1
        q_times = {e["kind"]: e["time_ns"] for e in target.events("key_press", "key_release") if e["code"] == Q}
        assert 40 * MS < q_times["key_release"] - q_times["key_press"] < 200 * MS

    @pytest.mark.parametrize("ending", ["stop key", "ctrl-c", "terminate", "hangup", "exception", "kill", "hang", "hold"])
    def test_whatever_ends_the_engine_nothing_stays_down(
        self, ending: str, x_display: str, target_window: Callable[..., TargetWindow], person: Person, tmp_path: Path
    ) -> None:
        target = target_window()
        target.focus()
        person.move(200, 200)
        end_file = tmp_path / "end"
        engine = subprocess.Popen(
            [sys.executable, str(DRIVER), str(target.id), str(end_file)],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            assert engine.stdout is not None
            hands_pid = int(engine.stdout.readline().split()[1])
            assert engine.stdout.readline() == b"holding\n"
            wait_until(lambda: self.held(person) == ({W}, {1}), 3, "w and the left button are down")
            signals = {"ctrl-c": signal.SIGINT, "terminate": signal.SIGTERM, "hangup": signal.SIGHUP, "kill": signal.SIGKILL}
            if ending == "stop key":
                person.key(F8)
            elif ending in signals:
                os.killpg(engine.pid, signals[ending])
            else:
                end_file.write_text(ending)
            began = time.monotonic()
            wait_until(lambda: self.held(person) == (set(), set()), 1.0, f"everything released after {ending}")
            assert time.monotonic() - began < 1.0
            if ending == "stop key":
                time.sleep(0.15)  # the engine goes on asking; nothing may come of it
                assert self.held(person) == (set(), set())
            else:
                assert not [e for e in target.events("key_press") if e["code"] not in (W, F8)]
        finally:
            engine.kill()
            engine.wait(5)
            if engine.stdout is not None:
                engine.stdout.close()
        wait_until(lambda: not Path(f"/proc/{hands_pid}").exists(), 3, "the actuator has ended")

    def test_the_stop_key_works_from_another_focus_within_200_ms_while_the_engine_hangs(
        self,
        x_display: str,
        window_manager: None,
        target_window: Callable[..., TargetWindow],
        person: Person,
        actuator: Callable[..., Actuator],
    ) -> None:
        target, other = target_window("Target"), target_window("Other", x=700)
        target.focus()
        pressed = threading.Event()
        hands = actuator(on_stop_key=pressed.set)
        hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
        person.move(0, 0)  # the corner is a place like any other
        time.sleep(0.2)
        assert hands.status().condition == "yielded" or hands.status().condition == "armed"
        hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
        hands.send(soon(1, held=("w", "mouse_left")))
        wait_until(lambda: person.held_codes() == {W}, 2)
        # The engine "hangs": no further intent is sent, and the stop key is pressed well before the heartbeat ends.
        at_ns = person.key(F8)
        wait_until(lambda: not person.held_codes() and not person.held_buttons(), 0.5)
        assert time.monotonic_ns() - at_ns < 200 * MS
        assert pressed.wait(1)
        wait_until(lambda: hands.status().condition == "stopped", 1)
        hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
        other.focus()
        wait_until(lambda: hands.status().condition == "paused", 1)
        person.key(F8)
        wait_until(lambda: hands.status().condition == "stopped", 1)

    def test_no_key_reaches_another_window_while_the_focus_flips(
        self,
        x_display: str,
        target_window: Callable[..., TargetWindow],
        actuator: Callable[..., Actuator],
    ) -> None:
        target, other = target_window("Target"), target_window("Other", x=700)
        target.focus()
        hands = actuator()
        hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
        ends = threading.Event()

        def flip() -> None:
            from Xlib import X
            from Xlib.display import Display

            connection = Display(x_display)
            windows = [connection.create_resource_object("window", w.id) for w in (other, target)]
            turn = 0
            while not ends.is_set():
                windows[turn % 2].set_input_focus(X.RevertToParent, X.CurrentTime)
                connection.sync()
                turn += 1
                time.sleep(0.003)
            windows[1].set_input_focus(X.RevertToParent, X.CurrentTime)
            connection.sync()
            connection.close()

        flipper = threading.Thread(target=flip)
        flipper.start()
        try:
            for sequence in range(1, 401):
                hands.send(soon(sequence, 0.5, 0.5, ("q",)))
                time.sleep(0.004)
        finally:
            ends.set()
            flipper.join()
        status = wait_until(lambda: hands.status().condition == "armed" and hands.status(), 3)
        time.sleep(0.1)
        assert status.focus_losses > 3
        assert len(target.events("key_press")) >= 20
        # Releases are not gated: a key must come up wherever the focus is.
        assert other.events("key_press", "button_press") == []

    def test_a_window_over_the_place_gets_no_click(
        self, x_display: str, target_window: Callable[..., TargetWindow], actuator: Callable[..., Actuator]
    ) -> None:
        target = target_window("Target", x=100, y=80)
        cover = target_window("Cover", x=250, y=180, width=100, height=100)
        target.focus()
        hands = actuator()
        hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
        hands.send(soon(1, 0.5, 0.5, ("mouse_left",)))
        wait_until(lambda: hands.status().refused == 1, 2)
        hands.send(soon(2, 0.1, 0.1, ("mouse_left",)))
        wait_until(lambda: len(target.events("button_press")) == 1, 2)
        assert cover.events("button_press") == []

    def test_a_person_takes_over_at_once_and_resuming_is_explicit(
        self, nested_display: Any, target_window: Callable[..., TargetWindow], actuator: Callable[..., Actuator]
    ) -> None:
        target = target_window(display=nested_display.inner, x=50, y=50)
        target.focus()
        hands = actuator()
        window = WindowInfo(target.id, target.title, None)
        hands.arm(window, PROFILE)
        inside = Person(nested_display.inner)
        sequence = 0

        def fly(turns: int) -> None:
            nonlocal sequence
            for _ in range(turns):
                sequence += 1
                hands.send(soon(sequence, 0.3 + 0.4 * (sequence % 2), 0.5, ("q",) if sequence % 4 == 0 else (), ("w",)))
                time.sleep(0.03)

        try:
            fly(40)  # longer than the settling time after arming
            assert hands.status().condition == "armed", "its own moves and keys are not a person's"
            nested_display.person.key(38)  # "a"
            wait_until(lambda: hands.status().condition == "yielded", 1)
            assert inside.held_codes() == set()
            assert "Xephyr virtual keyboard" in hands.status().reason
            fly(3)
            assert inside.held_codes() == set()
            hands.resume()
            fly(40)
            assert hands.status().condition == "armed"
            for step in range(12):
                nested_display.person.move(300 + 3 * step, 250)
                time.sleep(0.01)
            wait_until(lambda: hands.status().condition == "yielded", 1)
            assert "moved the mouse" in hands.status().reason
            hands.resume()
            fly(2)
            nested_display.person.button(1)
            wait_until(lambda: hands.status().condition == "yielded", 1)
        finally:
            inside.close()

    @pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGSTOP])
    def test_a_dead_or_hung_actuator_is_noticed_and_a_fresh_one_lets_go(
        self,
        death: signal.Signals,
        x_display: str,
        target_window: Callable[..., TargetWindow],
        person: Person,
        actuator: Callable[..., Actuator],
    ) -> None:
        target = target_window()
        target.focus()
        person.move(200, 200)
        changes: list[str] = []
        hands = actuator(on_change=lambda status: changes.append(status.condition))
        hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
        hands.send(soon(1, held=("w", "mouse_left")))
        wait_until(lambda: self.held(person) == ({W}, {1}), 2)
        assert hands.pid is not None
        os.kill(hands.pid, death)
        began = time.monotonic()
        while time.monotonic() - began < 0.5:
            hands.send(soon(2))
            time.sleep(0.02)
        wait_until(lambda: hands.status().condition == "dead", 6)
        assert self.held(person) == (set(), set())
        assert changes[-1] == "dead"
        with pytest.raises(ActuatorError, match="not running"):
            hands.resume()
        hands.start()
        hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
        hands.send(soon(1, onsets=("q",)))
        wait_until(lambda: hands.status().sent == 1, 2)

    def test_of_a_game_without_keys_the_buttons_are_let_go_when_the_actuator_dies(
        self, x_display: str, target_window: Callable[..., TargetWindow], person: Person, actuator: Callable[..., Actuator]
    ) -> None:
        target = target_window()
        target.focus()
        person.move(200, 200)
        hands = actuator()
        hands.arm(WindowInfo(target.id, target.title, None), PROFILE.model_copy(update={"keys": ()}))
        hands.send(soon(1, held=("mouse_left",)))
        wait_until(lambda: self.held(person) == (set(), {1}), 2)
        assert hands.pid is not None
        os.kill(hands.pid, signal.SIGKILL)
        wait_until(lambda: hands.status().condition == "dead", 6)
        assert self.held(person) == (set(), set())

    def test_sending_never_holds_the_engine_up(
        self, x_display: str, target_window: Callable[..., TargetWindow], actuator: Callable[..., Actuator]
    ) -> None:
        target = target_window()
        target.focus()
        hands = actuator()
        hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
        assert hands.pid is not None
        os.kill(hands.pid, signal.SIGSTOP)
        took_ns: list[int] = []
        for sequence in range(1, 3001):
            began = time.monotonic_ns()
            hands.send(soon(sequence, held=("w",)))
            took_ns.append(time.monotonic_ns() - began)
        os.kill(hands.pid, signal.SIGCONT)
        assert sorted(took_ns)[2850] < 1 * MS
        assert hands.status().unsent > 0, "the pipe was full, and the surplus was dropped and counted"

    def test_stopping_releases_and_ends_within_its_deadline(
        self, x_display: str, target_window: Callable[..., TargetWindow], person: Person
    ) -> None:
        target = target_window()
        target.focus()
        person.move(200, 200)
        hands = Actuator().start()
        hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
        hands.send(soon(1, held=("w",)))
        wait_until(lambda: person.held_codes() == {W}, 2)
        pid = hands.pid
        began = time.monotonic()
        hands.stop()
        assert time.monotonic() - began < 2.5
        assert person.held_codes() == set()
        assert not Path(f"/proc/{pid}").exists()
        assert hands.status().condition == "off"

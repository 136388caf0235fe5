"""What only Windows has: scale, cloaked windows, scan codes, hooks that vanish, more rights. And the ports' common rules."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.geometry import Rect
from engine.actuator.rules import Refused, Rules
from engine.platforms import PlatformError, current_port
from engine.platforms import windows_types as w
from engine.platforms.held import MISSED_NS, Held
from engine.platforms.keys import LINUX_CODES, code_of_name
from engine.platforms.macos import KEY_CODES
from engine.platforms.port import Port, RawInput
from engine.platforms.windows import WindowsPort
from engine.platforms.windows_api import Api, HookEvent
from engine.platforms.windows_inject import SCAN_CODES, WindowsInjector, scan_code
from engine.platforms.windows_listen import HookTranslator, WindowsListener
from tests.support.win32 import HIGH, FakeWin32, Window
from tests.support.x11 import wait_until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def desk() -> FakeWin32:
    return FakeWin32()


@pytest.fixture
def port(desk: FakeWin32) -> Port:
    return WindowsPort(Api(desk.calls()))


@pytest.fixture
def game(desk: FakeWin32) -> Window:
    """On the monitor left of and above the first one, which is scaled to 150 %."""
    window = desk.open("Game – Ünï 🎮", Rect(-1900, -150, 640, 360), dpi=144)
    desk.focus(window)
    return window


@pytest.fixture
def heard(desk: FakeWin32) -> Iterator[list[RawInput]]:
    events: list[RawInput] = []
    listener = WindowsListener(Api(desk.calls()), events.append)
    listener.start()
    yield events
    listener.stop()


def test_the_structures_have_the_sizes_of_64_bit_windows() -> None:
    sizes = {kind.__name__: ctypes.sizeof(kind) for kind in (w.Input, w.MouseInput, w.KeyInput, w.KeyHook, w.MouseHook, w.Message)}
    assert sizes == {"Input": 40, "MouseInput": 32, "KeyInput": 24, "KeyHook": 24, "MouseHook": 32, "Message": 48}
    assert (ctypes.sizeof(w.MandatoryLabel), ctypes.sizeof(w.LastInput), w.PER_MONITOR_AWARE_V2) == (16, 8, 2**64 - 4)


def test_places_are_real_pixels_on_a_scaled_monitor_left_of_the_first(port: Port, game: Window) -> None:
    assert port.client_rect(game.handle) == Rect(-1900, -150, 640, 360)
    assert port.scale() == 1.5


def test_an_old_windows_is_made_aware_of_scaling_too(desk: FakeWin32, game: Window) -> None:
    port = WindowsPort(Api(desk.calls(without=("SetProcessDpiAwarenessContext", "GetDpiForWindow"))))
    assert port.client_rect(game.handle) == game.rect
    assert port.scale() == 1.0


def test_only_windows_that_a_person_knows_are_listed(port: Port, desk: FakeWin32, game: Window) -> None:
    desk.open("Settings", Rect(0, 0, 300, 200), cloaked=True)
    desk.open("", Rect(0, 0, 10, 10))
    desk.open("Helper", Rect(0, 0, 0, 0))
    desk.open("Old", Rect(0, 0, 300, 200), visible=False)
    notes = desk.open("Notes", Rect(100, 100, 400, 300), minimised=True)
    assert [(win.id, win.title, win.rect, win.minimised) for win in port.windows()] == [
        (notes.handle, "Notes", None, True),
        (game.handle, "Game – Ünï 🎮", game.rect, False),
    ]


@pytest.mark.parametrize("left", [-1920, 0])
def test_the_pointer_lands_on_the_very_pixel_across_all_monitors(port: Port, desk: FakeWin32, left: int) -> None:
    window = desk.open("Game", Rect(left, -200, 1920, 1000))
    desk.focus(window)
    injector = port.injector()
    for x in (0, 1, 7, 639, 960, 1001, 1918, 1919):
        done = injector.inject(window.handle, (), ((x + 0.2) / 1920, 0.3), (), 0)
        assert desk.place == (done.x, done.y) == (left + x, 100)


def test_keys_go_out_as_scan_codes_with_their_prefix_and_our_mark(port: Port, desk: FakeWin32, game: Window, heard: list[RawInput]) -> None:
    port.injector().inject(game.handle, (), None, ["w", "ctrl_right", "up", "shift_right", "num_lock"], 8)
    assert [what for _, what, _, _ in game.log] == ["key:0x11", "key:0xe01d", "key:0xe048", "key:0x36", "key:0x45"]
    wait_until(lambda: len(heard) == 5, 3)
    assert [(e.name, e.device, e.injected) for e in heard] == [
        (name, "Secondseat", True) for name in ("w", "ctrl_right", "up", "shift_right", "num_lock")
    ]


def test_swapped_buttons_are_swapped_back(port: Port, desk: FakeWin32, game: Window) -> None:
    desk.swapped = True
    port.injector().inject(game.handle, (), (0.5, 0.5), ["mouse_left"], 8)
    assert [what for _, what, _, _ in game.log] == ["button:0x201"], "the game gets a left click"
    assert port.pressed() == {"mouse_left"}


def test_what_slipped_into_another_window_is_let_go_at_once(port: Port, desk: FakeWin32, game: Window) -> None:
    notes = desk.open("Notes", Rect(0, 0, 300, 200))
    desk.on_send = lambda: desk.focus(notes)
    assert port.injector().inject(game.handle, (), (0.5, 0.5), ["w", "mouse_left"], 8).result == "no_focus"
    assert not port.pressed()


def test_a_window_with_more_rights_is_named_and_not_driven(port: Port, desk: FakeWin32, game: Window) -> None:
    for process, told in ((200, HIGH), (201, 0x2000)):
        desk.rights[process] = told
    desk.silent_processes.add(201)  # it does not even tell its rights
    for process in (200, 201):
        admin = desk.open("Admin game", Rect(0, 0, 300, 200), process=process)
        desk.focus(admin)
        assert port.injector().inject(admin.handle, (), (0.5, 0.5), ["w"], 8).result == "elevated"
        assert "as administrator" in port.obstacle(admin.handle)
        assert "as administrator" in port.obstacle(), "it has the focus"
        assert admin.log == []
        rules = Rules(port.injector())
        message = {"window": admin.handle, "title": "Admin game", "keys": ["w"], "margin_px": 8, "hold_ms": 60}
        with pytest.raises(Refused, match="'Admin game' cannot be driven: its program runs with more rights"):
            rules.arm(message, 0)
    assert port.obstacle(game.handle) == ""
    assert desk.open_tokens == 0, "every handle is closed"


def test_a_person_who_presses_what_the_bot_holds_is_heard(port: Port, desk: FakeWin32, game: Window, heard: list[RawInput]) -> None:
    """And is no auto-repeat of the bot's press: it is how controls are taken back."""
    port.injector().inject(game.handle, (), None, ["w"], 8)
    desk.key(0x11, True)
    desk.key(0x11, True)  # the keyboard's own repeat
    wait_until(lambda: len(heard) == 2, 3)
    assert [(e.kind, e.name, e.injected) for e in heard] == [("press", "w", True), ("press", "w", False)]


def test_events_of_devices_and_of_programs_are_told_apart(desk: FakeWin32, game: Window, heard: list[RawInput]) -> None:
    desk.key(0x11, True)
    desk.key(0x11, False)
    desk.key(0x4B, True, prefix=True, injected=True)
    desk.key(0x7B, True)  # a key without a name keeps its code
    desk.made_up_ctrl(True)
    desk.key(0x38, True, prefix=True)
    desk.move(-5, 9)
    desk.thumb_button(1)
    wait_until(lambda: len(heard) == 7, 3)
    assert [(e.kind, e.name, e.device, e.injected) for e in heard] == [
        ("press", "w", "device", False),
        ("release", "w", "device", False),
        ("press", "left", "another program", True),
        ("press", "key123", "device", False),
        ("press", "alt_right", "device", False),  # AltGr alone: the ctrl before it is Windows' own
        ("move", "", "device", False),
        ("press", "mouse_button8", "device", False),
    ]
    assert (heard[5].x, heard[5].y) == (-5, 9)


def test_fine_wheels_are_counted_in_whole_notches() -> None:
    translator = HookTranslator()
    turns = [40, 40, 40, -120, -60, -60, 240]
    steps = [translator.translate(HookEvent(True, w.WM_MOUSEWHEEL, 0, (t & 0xFFFF) << 16), 0) for t in turns]
    assert [0 if e is None else e.dy for e in steps] == [0, 0, 1, -1, 0, -1, 2]


def test_hooks_that_windows_took_out_are_put_in_again(desk: FakeWin32, caplog: pytest.LogCaptureFixture) -> None:
    events: list[RawInput] = []
    listener = WindowsListener(Api(desk.calls()), events.append)
    listener.start()
    desk.beat()
    desk.take_hooks_out()
    desk._last_input_ms += 2_000  # somebody types, and nothing is heard
    desk.beat()
    wait_until(lambda: listener.put_in_again == 1 and desk.hooks == 2, 3)
    desk.key(0x11, True)
    wait_until(lambda: [e.name for e in events] == ["w"], 3)
    assert listener.failure == ""
    assert "took the input hooks out" in caplog.text
    listener.stop()
    assert desk.hooks == 0


def test_what_a_window_with_more_rights_gets_is_no_lost_hook(desk: FakeWin32) -> None:
    desk.rights[200] = HIGH
    desk.focus(desk.open("Admin game", Rect(0, 0, 300, 200), process=200))
    listener = WindowsListener(Api(desk.calls()), lambda _event: None)
    listener.start()
    desk._last_input_ms += 5_000
    desk.beat()
    listener.stop()
    assert listener.put_in_again == 0


def test_refused_hooks_are_one_line(desk: FakeWin32, port: Port) -> None:
    desk.refuse_hooks = True
    with pytest.raises(PlatformError, match=r"Windows refused the input hooks \(error 5\)"):
        port.listener(lambda _event: None).start()


def test_a_release_that_nobody_told_does_not_silence_a_key() -> None:
    held: Held[str] = Held()
    assert held.changes("f5", True, 0)
    assert not held.changes("f5", True, 500_000_000)
    assert not held.changes("f5", True, 1_500_000_000), "it repeats: it is held"
    assert held.changes("f5", True, 1_500_000_000 + MISSED_NS + 1), "a silence: it was let go meanwhile"
    assert held.changes("f5", False, 0)
    assert held.changes("f5", True, 1)


def test_every_key_has_one_code_on_each_platform() -> None:
    assert scan_code("key99") == 99
    assert WindowsInjector(None).knows("w")  # type: ignore[arg-type]
    assert not WindowsInjector(None).knows("wheel")  # type: ignore[arg-type]
    for table in (SCAN_CODES, KEY_CODES):
        assert len(set(table.values())) == len(table)
        assert set(table) <= set(LINUX_CODES)
        assert set("abcdefghijklmnopqrstuvwxyz0123456789") | {"space", "ctrl", "shift", "left", "f8", "esc", "enter"} <= set(table)
    assert (code_of_name("key248"), code_of_name("w"), code_of_name("keyx")) == (248, None, None)


def test_a_missing_part_of_a_platform_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Quartz", None)
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(PlatformError, match="need pynput and Quartz, and Quartz is missing"):
        current_port()


def test_looking_for_a_port_loads_no_other_platforms_modules() -> None:
    code = (
        "import sys, engine.platforms, engine.platforms.port, engine.actuator.client, engine.sources.screen, engine.input.hotkeys;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'Xlib', 'pynput', 'mss', 'Quartz', 'keyboard', 'cv2', 'torch'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "[]", done.stderr

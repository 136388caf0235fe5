"""The Windows port against a fake of the system's calls, and the ports' common rules."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from data.geometry import Rect
from engine.platforms import PlatformError, current_port
from engine.platforms.keys import LINUX_CODES, code_of_name
from engine.platforms.macos import KEY_CODES
from engine.platforms.port import Port, RawInput, WindowInfo, describe_missing_window, find_windows
from engine.platforms.windows import SCAN_CODES, WindowsInjector, WindowsListener, WindowsPort, scan_code
from engine.platforms.windows_api import SIGNATURE, HookEvent, InputItem

ROOT = Path(__file__).resolve().parents[2]
GAME, OTHER, GHOST, TRAY = 10, 20, 30, 40


class FakeApi:
    """A desktop with a second monitor left of the first, a game on it, and windows that nobody sees."""

    def __init__(self) -> None:
        self.titles = {GAME: "Game – Ünï", OTHER: "Notes", GHOST: "Settings", TRAY: ""}
        self.rects = {GAME: Rect(-1900, -150, 640, 360), OTHER: Rect(100, 100, 400, 300), TRAY: Rect(0, 0, 0, 0)}
        self.minimised: set[int] = set()
        self.cloaked = {GHOST}
        self.front = GAME
        self.top_at: int = GAME
        self.sent: list[InputItem] = []
        self.steal_focus_on_send = False
        self.down: set[int] = set()
        self.refuse_hooks = False
        self.end = threading.Event()
        self.on_event: Callable[[HookEvent], None] = lambda _event: None

    def top_level_windows(self) -> list[int]:
        return list(self.titles)

    def title(self, window: int) -> str:
        return self.titles[window]

    def exists(self, window: int) -> bool:
        return window in self.titles

    def is_visible(self, window: int) -> bool:
        return window not in self.cloaked

    def is_minimised(self, window: int) -> bool:
        return window in self.minimised

    def client_rect(self, window: int) -> Rect | None:
        return Rect(-32000, -32000, 160, 28) if window in self.minimised else self.rects.get(window)

    def foreground(self) -> int:
        return self.front

    def window_at(self, x: int, y: int) -> int:
        return self.top_at

    def cursor(self) -> tuple[int, int]:
        return 5, 6

    def is_down(self, virtual_key: int) -> bool:
        return virtual_key in self.down

    def virtual_key(self, scan: int) -> int:
        return scan + 1000 if scan else 0

    def virtual_screen(self) -> Rect:
        return Rect(-1920, -200, 3840, 1280)

    def window_dpi(self, window: int) -> int:
        return 144

    def send(self, items: Sequence[InputItem]) -> int:
        self.sent += items
        if self.steal_focus_on_send:
            self.front = OTHER
        return len(items)

    def thread_id(self) -> int:
        return 1

    def run_hooks(self, on_event: Callable[[HookEvent], None], ready: Callable[[], None]) -> str:
        if self.refuse_hooks:
            return "Windows refused the input hooks (error 5)"
        self.on_event = on_event
        ready()
        self.end.wait(10)
        return ""

    def end_hooks(self, thread_id: int) -> None:
        self.end.set()


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def port(api: FakeApi) -> Port:
    return WindowsPort(api)  # type: ignore[arg-type]


def test_windows_that_a_person_knows_are_listed(port: Port, api: FakeApi) -> None:
    api.minimised.add(OTHER)
    assert port.windows() == [
        WindowInfo(GAME, "Game – Ünï", Rect(-1900, -150, 640, 360)),
        WindowInfo(OTHER, "Notes", None, visible=False, minimised=True),
    ]
    assert [w.id for w in find_windows(port, "GAME")] == [GAME]
    assert describe_missing_window("Tetris", port.windows()) == "window 'Tetris' not found, 2 candidates: 'Game – Ünï', 'Notes'"
    assert port.window(99) is None
    assert port.client_rect(OTHER) is None, "a minimised window's place is never used"
    assert (port.has_focus(GAME), port.has_focus(OTHER), port.focused_window(), port.scale()) == (True, False, GAME, 1.5)


def test_injection_moves_first_then_presses_scan_codes_in_one_call(port: Port, api: FakeApi) -> None:
    done = port.injector().inject(GAME, ["w"], (0.5, 0.5), ["ctrl_right", "mouse_left"], 8)
    assert (done.result, done.x, done.y) == ("sent", -1580, 30)
    release, move, key, click = api.sent
    assert release == InputItem(False, 0x8 | 0x2, 17)
    assert (move.mouse, move.flags) == (True, 0x1 | 0x8000 | 0x4000)
    assert (round(move.dx * 3839 / 65535) - 1920, round(move.dy * 1279 / 65535) - 200) == (-1580, 30)
    assert key == InputItem(False, 0x8 | 0x1, 0x1D)
    assert click == InputItem(True, 0x2)


@pytest.mark.parametrize(
    ("change", "result"),
    [
        ({"front": OTHER}, "no_focus"),
        ({"minimised": {GAME}}, "hidden"),
        ({"cloaked": {GAME}}, "hidden"),
        ({"titles": {OTHER: "Notes"}}, "closed"),
        ({"top_at": OTHER}, "covered"),
        ({"rects": {GAME: Rect(5000, 0, 640, 360)}}, "off_screen"),
    ],
)
def test_the_gate_lets_nothing_through(api: FakeApi, port: Port, change: dict[str, object], result: str) -> None:
    for name, value in change.items():
        setattr(api, name, value)
    assert port.injector().inject(GAME, (), (0.5, 0.5), ["mouse_left"], 8).result == result
    assert api.sent == []


def test_what_slipped_into_another_window_is_let_go_at_once(api: FakeApi, port: Port) -> None:
    api.steal_focus_on_send = True
    assert port.injector().inject(GAME, (), None, ["w", "mouse_left"], 8).result == "no_focus"
    assert api.sent[-2:] == [InputItem(False, 0x8 | 0x2, 17), InputItem(True, 0x4)]


def test_a_dry_run_sends_nothing(api: FakeApi, port: Port) -> None:
    done = port.injector().inject(GAME, (), (0.0, 1.0), ["mouse_left"], 8, dry_run=True)
    assert (done.result, done.x, done.y, api.sent) == ("sent", -1892, 201, [])


def heard(api: FakeApi, *events: HookEvent) -> list[RawInput]:
    listener = WindowsListener(api, lambda _raw: None)  # type: ignore[arg-type]
    return [raw for event in events if (raw := listener.translate(event, 7)) is not None]


def test_hook_events_become_names_places_and_sources(api: FakeApi) -> None:
    key_down, key_up = 0x100, 0x101
    events = heard(
        api,
        HookEvent(False, key_down, 0, 17),
        HookEvent(False, key_down, 0, 17),  # auto-repeat
        HookEvent(False, key_up, 0x80, 17),
        HookEvent(False, key_down, 0x01 | 0x10, 0x4B, extra=SIGNATURE),
        HookEvent(False, key_down, 0x10, 0x7B),
        HookEvent(False, key_down, 0x01, 0x36),
        HookEvent(True, 0x201, 0x01, 0, -5, 9),
        HookEvent(True, 0x200, 0, 0, 3, 4),
        HookEvent(True, 0x20A, 0, (-120 & 0xFFFF) << 16, 3, 4),
        HookEvent(True, 0x20E, 0, 120 << 16, 3, 4),
        HookEvent(True, 0x20B, 0, 1 << 16, 3, 4),
        HookEvent(True, 0x999, 0, 0, 3, 4),
    )
    assert [(e.kind, e.name, e.injected, e.device) for e in events[:6]] == [
        ("press", "w", False, "device"),
        ("release", "w", False, "device"),
        ("press", "left", True, "Secondseat"),
        ("press", "key123", True, "another program"),
        ("press", "shift_right", False, "device"),
        ("press", "mouse_left", True, "another program"),
    ]
    assert (events[5].x, events[5].y) == (-5, 9)
    assert [(e.kind, e.name, e.dx, e.dy) for e in events[6:]] == [
        ("move", "", 0, 0),
        ("scroll", "", 0, -1),
        ("scroll", "", 1, 0),
        ("press", "mouse_button8", 0, 0),
    ]


def test_the_listener_starts_tells_and_stops(api: FakeApi, port: Port) -> None:
    got: list[RawInput] = []
    listener = port.listener(got.append)
    listener.start()
    api.on_event(HookEvent(False, 0x100, 0, 17))
    assert [e.name for e in got] == ["w"]
    assert listener.failure == ""
    listener.stop()
    assert listener.failure == "stopped"
    api.refuse_hooks = True
    with pytest.raises(PlatformError, match="refused the input hooks"):
        port.listener(got.append).start()


def test_pressed_keys_are_read_by_scan_code(api: FakeApi, port: Port) -> None:
    api.down = {1000 + 17, 1000 + 0xE04B, 0x01}
    assert port.pressed() == {"w", "left", "mouse_left"}


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
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "[]", done.stderr

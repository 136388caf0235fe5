"""What a person (or the bot) does in the game, as events with their actor, filtered where they arrive.

Privacy is kept in the callback itself: keys pass only while the game's window has the focus, only those of the
profile by name (others as "other"), the control hotkeys never. Mouse events pass only inside the window.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final

from data.geometry import Rect
from data.profile import GameProfile
from data.schema import InputEvent
from data.vocabulary import CONTROL_HOTKEYS, MOUSE_BUTTONS, OTHER_KEY, ActorKind
from engine.actuator.journal import Journal
from engine.input.pointer import CentreWatch
from engine.platforms import current_port
from engine.platforms.keys import TWINS
from engine.platforms.port import Listener, PlatformError, Port, RawInput

log = logging.getLogger(__name__)

POLL_S: Final = 0.05
"""How often focus, window and pointer are looked at although no event comes."""
CHECK_HELD_S: Final = 0.5
"""How often what is held is compared with what is down."""
CLAIM_NS: Final = 300_000_000
"""How long an event that a program sent waits for the actuator's word that it was the bot."""


@dataclass(slots=True)
class _Waiting:
    """An event on its way. ``until_ns``: when it counts as a person's at the latest; None: it is decided."""

    event: InputEvent
    until_ns: int | None
    place: tuple[int, int] | None


class InputListener:
    """``on_event`` gets each event in order, from one thread at a time, and must return quickly.

    ``journal``: what the actuator sent; without one everything is a person's. ``bot_may_act``: whether it may have sent
    something just now; where it may not, nobody waits for its word. ``control_keys``: further keys that
    steer Secondseat in these settings. Where no window is followed, no key passes at all.
    """

    def __init__(
        self,
        profile: GameProfile,
        on_event: Callable[[InputEvent], None],
        journal: Journal | None = None,
        control_keys: Collection[str] = (),
        bot_may_act: Callable[[], bool] = lambda: True,
        make_port: Callable[[], Port] = current_port,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._profile, self._on_event, self._journal = profile, on_event, journal
        self._control = CONTROL_HOTKEYS | frozenset(control_keys)
        self._bot_may_act = bot_may_act
        self._make_port, self._clock_ns = make_port, clock_ns
        self._keys = frozenset(profile.keys)
        # The port is used by the callback and by the watch; the queue also by whoever asks for held keys.
        self._port_lock = threading.Lock()
        self._lock = threading.RLock()
        self._port: Port | None = None
        self._listener: Listener | None = None
        self._window_id: int | None = None
        self._rect: Rect | None = None
        self._focus = False
        self._cursor: tuple[float, float] | None = None
        self.centre = CentreWatch()
        self._gone: frozenset[str] = frozenset()  # held, but not down when last looked
        self._next_check_s = 0.0
        self._held: dict[str, str] = {}  # physical name -> recorded name
        self._pressed_by: dict[str, ActorKind] = {}
        self._waiting: deque[_Waiting] = deque()
        self._wake = threading.Condition(self._lock)
        self._stopping = False
        self._watch: threading.Thread | None = None
        self._obstacle = ""  # why this window cannot be heard

    @property
    def state(self) -> str:
        """Why nothing is heard; empty when all is well."""
        if self._listener is None:
            return "not listening"
        return self._listener.failure or self._obstacle

    @property
    def focus(self) -> bool:
        """Whether the game's window had the focus when last looked (at most 0.1 s ago)."""
        return self._focus

    @property
    def cursor(self) -> tuple[float, float] | None:
        """The pointer in 0..1 of the game's picture; None outside or unknown."""
        return self._cursor

    @property
    def held(self) -> tuple[str, ...]:
        """The recorded names of keys and buttons that are down in the game."""
        with self._lock:
            return tuple(dict.fromkeys(self._held.values()))

    def held_events(self, note: str = "held_at_start") -> list[InputEvent]:
        """A press for each thing that is down now: what a recording begins with."""
        now_ns = self._clock_ns()
        x, y = self._cursor or (None, None)
        with self._lock:
            return [InputEvent(now_ns, "press", n, x, y, actor=self._pressed_by.get(n, "human"), note=note) for n in self.held]

    def start(self, window_id: int | None, rect: Rect | None = None) -> None:
        """Listens for a window, or for the mouse alone inside a fixed region. Raises PlatformError."""
        if self._listener is not None:
            raise RuntimeError("the input listener runs already; stop it first")
        self._stopping = False
        port = self._make_port()
        try:
            listener = port.listener(self._on_raw)
            with self._port_lock:
                self._port, self._window_id, self._rect = port, window_id, rect
                self._obstacle = port.obstacle(window_id) if window_id is not None else ""
            self._look()
            listener.start()
        except PlatformError:
            self._port = None
            port.close()
            raise
        self._listener = listener
        self._note_held_at_start()
        self._watch = threading.Thread(target=self._run, name="input-watch", daemon=True)
        self._watch.start()

    def follow(self, window_id: int | None, rect: Rect | None = None) -> None:
        """From now on another window, or the same game's new one. What was held is released, flagged."""
        with self._port_lock:
            self._window_id, self._rect = window_id, rect
            self._obstacle = self._port.obstacle(window_id) if self._port is not None and window_id is not None else ""
        self._let_go()
        self._look()

    def stop(self) -> None:
        listener, watch, self._listener, self._watch = self._listener, self._watch, None, None
        if listener is not None:
            listener.stop()
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if watch is not None and watch is not threading.current_thread():
            watch.join(5)
        with self._lock:
            for waiting in self._waiting:
                waiting.until_ns = None if waiting.until_ns is None else 0
            self._flush()
            self._held.clear()
        with self._port_lock:
            port, self._port = self._port, None
        if port is not None:
            port.close()

    def _on_raw(self, raw: RawInput) -> None:
        """In the platform's thread: what is not for the recording ends here."""
        if raw.kind == "move":
            self._on_move(raw)
        elif raw.kind == "scroll":
            place = self._place_of(raw)
            if place is not None and self._may_pass(mouse=True):
                self._put(raw, "", place)
        elif raw.kind == "press":
            self._on_press(raw)
        else:
            self._on_release(raw)

    def _on_move(self, raw: RawInput) -> None:
        rect = self._rect
        place = _inside(raw, rect)
        self._cursor = place
        if place is not None and rect is not None and raw.x is not None and raw.y is not None:
            with self._lock:
                self.centre.see(raw.time_ns, raw.x, raw.y, rect, raw.dx, raw.dy)
        if place is not None and (self._focus or self._window_id is None):
            self._put(raw, "", place)

    def _on_press(self, raw: RawInput) -> None:
        button = raw.name.startswith("mouse_")
        if raw.name in self._control or raw.name in self._held:
            return
        place = self._place_of(raw) if button else self._cursor
        if (button and place is None) or not self._may_pass(mouse=button):
            return
        name = self._recorded_name(raw.name)
        with self._lock:
            already = name != OTHER_KEY and name in self._held.values()
            self._held[raw.name] = name
            if not already:
                self._put(raw, name, place)

    def _on_release(self, raw: RawInput) -> None:
        if raw.x is not None:
            self._place_of(raw)
        place = _clipped(raw, self._rect) if raw.x is not None else self._cursor
        with self._lock:
            name = self._held.pop(raw.name, None)
            if name is not None and (name == OTHER_KEY or name not in self._held.values()):
                self._put(raw, name, place)

    def _recorded_name(self, name: str) -> str:
        if name in self._keys or name in MOUSE_BUTTONS:
            return name
        twin = TWINS.get(name)
        return twin if twin in self._keys else OTHER_KEY

    def _put(self, raw: RawInput, name: str, place: tuple[float, float] | None, note: str = "") -> None:
        x, y = place or (None, None)
        event = InputEvent(raw.time_ns, raw.kind, name, x, y, raw.dx, raw.dy, device=raw.device, note=note)
        doubtful = raw.injected and self._journal is not None and not note and self._bot_may_act()
        pixel = None if raw.x is None or raw.y is None else (raw.x, raw.y)
        with self._wake:
            self._waiting.append(_Waiting(event, raw.time_ns + CLAIM_NS if doubtful else None, pixel))
            self._flush()
            if self._waiting:
                self._wake.notify_all()

    def _flush(self) -> None:
        """Hands on what is decided, in order. The lock is held."""
        now_ns = self._clock_ns()
        while self._waiting:
            head = self._waiting[0]
            event = head.event
            if head.until_ns is not None:
                claimed = self._journal is not None and self._journal.claim(event.kind, event.name, event.time_ns, head.place)
                if not claimed and now_ns < head.until_ns:
                    return
                event = replace(event, actor="bot" if claimed else "human")
            elif event.note == "forced_release":
                event = replace(event, actor=self._pressed_by.get(event.name, "human"))
            self._waiting.popleft()
            if event.kind == "press":
                self._pressed_by[event.name] = event.actor
            elif event.kind == "release":
                self._pressed_by.pop(event.name, None)
            self._on_event(event)

    def _may_pass(self, mouse: bool) -> bool:
        """Whether the game has the focus; asked anew, since a key typed elsewhere must not slip in."""
        with self._port_lock:
            port, window_id = self._port, self._window_id
            if window_id is None:
                return mouse
            return port is not None and port.has_focus(window_id)

    def _place_of(self, raw: RawInput) -> tuple[float, float] | None:
        """Where an event lies in the window as it stands now."""
        with self._port_lock:
            if self._port is not None and self._window_id is not None:
                self._rect = self._game_rect(self._port, self._window_id)
            return _inside(raw, self._rect)

    def _game_rect(self, port: Port, window_id: int) -> Rect | None:
        """Where the game's picture is now: the profile's part of the window."""
        rect = port.client_rect(window_id)
        return None if rect is None else rect.part(self._profile.window_part)

    def _look(self) -> None:
        """Focus, window and pointer as they are now; held keys end when the focus goes."""
        with self._port_lock:
            port, window_id = self._port, self._window_id
            if port is None:
                return
            if window_id is not None:
                self._rect = self._game_rect(port, window_id)
                focus = self._rect is not None and port.has_focus(window_id)
            else:
                focus = True
            x, y = port.pointer()
            self._cursor = _inside(RawInput(0, "move", "", x, y), self._rect)
            rect, seen = self._rect, focus and self._cursor is not None
        if seen and rect is not None:
            with self._lock:
                self.centre.see(self._clock_ns(), x, y, rect)
        lost = self._focus and not focus
        self._focus = focus
        if lost:
            self._let_go()
        elif window_id is not None and self._held and time.monotonic() >= self._next_check_s:
            self._next_check_s = time.monotonic() + CHECK_HELD_S
            self._check_held()

    def _let_go(self) -> None:
        with self._lock:
            names = list(dict.fromkeys(self._held.values()))
            self._held.clear()
            for name in names:
                self._put(RawInput(self._clock_ns(), "release", name), name, self._cursor, "forced_release")

    def _check_held(self) -> None:
        """A release that was missed (a locked screen, another program that grabbed it) does not hold a key for ever."""
        with self._port_lock:
            down = self._port.pressed() if self._port is not None else frozenset[str]()
        with self._lock:
            gone = frozenset(self._held) - down
            for physical in gone & self._gone:  # twice in a row: a release on its way is none that was missed
                name = self._held.pop(physical)
                if name not in self._held.values():
                    self._put(RawInput(self._clock_ns(), "release", physical), name, self._cursor, "forced_release")
            self._gone = gone

    def _note_held_at_start(self) -> None:
        with self._port_lock:
            pressed = self._port.pressed() if self._port is not None and self._focus and self._window_id is not None else frozenset[str]()
        for physical in sorted(pressed - self._control):
            name = self._recorded_name(physical)
            with self._lock:
                if physical not in self._held and name != OTHER_KEY:
                    self._held[physical] = name
                    self._put(RawInput(self._clock_ns(), "press", physical), name, self._cursor, "held_at_start")

    def _run(self) -> None:
        next_look_s = 0.0
        while True:
            with self._wake:
                if self._stopping:
                    return
                self._wake.wait(0.01 if self._waiting else POLL_S)
                if self._stopping:
                    return
                self._flush()
            if time.monotonic() >= next_look_s:
                next_look_s = time.monotonic() + POLL_S
                try:
                    self._look()
                except Exception as problem:
                    # The screen is gone, or a window in a state nobody thought of: no focus, then no key passes.
                    self._focus, self._cursor = False, None
                    log.debug("the window could not be looked at: %s", problem)
                    with contextlib.suppress(Exception):
                        self._let_go()


def _inside(raw: RawInput, rect: Rect | None) -> tuple[float, float] | None:
    """The place in 0..1 of a rectangle; None outside."""
    if rect is None or raw.x is None or raw.y is None:
        return None
    x, y = (raw.x - rect.left) / rect.width, (raw.y - rect.top) / rect.height
    return (x, y) if 0.0 <= x < 1.0 and 0.0 <= y < 1.0 else None


def _clipped(raw: RawInput, rect: Rect | None) -> tuple[float, float] | None:
    """As ``_inside``, with a place outside moved to the edge: a drag may end there."""
    if rect is None or raw.x is None or raw.y is None:
        return None
    x, y = (raw.x - rect.left) / rect.width, (raw.y - rect.top) / rect.height
    return min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)

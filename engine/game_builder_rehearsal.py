"""What a recording with a profile would hold, shown live and thrown away: nothing is written anywhere."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from data.profile import GameProfile
from data.schema import InputEvent, Status
from engine.game_builder_window import WindowEye
from engine.input.listener import InputListener
from engine.perception.gauges import GaugeReader
from engine.platforms.port import PlatformError

LAST_CLICKS: Final = 3
_OPEN_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """One look at it. ``keys``: presses by name, ``other`` for keys that are not in the profile; ``held``: what is down;
    ``clicks``: the newest ones as button, x, y in 0..1 of the picture; ``trouble``: why nothing would be recorded."""

    size: tuple[int, int]
    fps: float
    focus: bool
    keys: Mapping[str, int]
    held: tuple[str, ...]
    click_count: int
    clicks: tuple[tuple[str, float, float], ...]
    cursor: tuple[float, float] | None
    status: Status
    trouble: str = ""

    def to_json(self) -> dict[str, Any]:
        s = self.status
        return {
            "size": list(self.size),
            "fps": round(self.fps, 1),
            "focus": self.focus,
            "keys": dict(self.keys),
            "held": list(self.held),
            "click_count": self.click_count,
            "clicks": [{"button": button, "x": round(x, 4), "y": round(y, 4)} for button, x, y in self.clicks],
            "gauges": {**s.levels, **s.cooldowns, **s.flags, **s.choices},
            "trouble": self.trouble,
        }

    def lines(self, profile: GameProfile) -> list[str]:
        """The same as a person reads it, one line for each thing."""
        pictures = f"{self.size[0]}x{self.size[1]}, {self.fps:.0f} a second" if self.size[0] else "none"
        if self.trouble:
            pictures = self.trouble
        elif not self.focus:
            pictures += "; not recorded now: the window has no focus, click into it"
        counts = [f"{name} {count}" for name, count in sorted(self.keys.items(), key=lambda row: (row[0] == "other", row[0]))]
        clicks = [f"{button.removeprefix('mouse_')} at {x:.2f}, {y:.2f}" for button, x, y in self.clicks]
        lines = [
            f"pictures  {pictures}",
            f"keys      {', '.join(counts) or 'none pressed yet'}" + (f"; down now: {', '.join(self.held)}" if self.held else ""),
            f"clicks    {self.click_count}" + (f"; the last: {', '.join(clicks)}" if clicks else ""),
        ]
        values = [f"{name} {value_text(value)}" for name, value in readings(self.status)]
        if profile.gauges or profile.icons or profile.choices:
            lines.append(f"gauges    {', '.join(values)}")
        return lines


def readings(status: Status) -> list[tuple[str, float | bool | int | None]]:
    """Everything that a picture's gauges say, by name."""
    return [*status.levels.items(), *status.cooldowns.items(), *status.flags.items(), *status.choices.items()]


def value_text(value: float | bool | int | None) -> str:
    if value is None:
        return "?"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


class Tally:
    """Counts events as they would be recorded."""

    def __init__(self) -> None:
        self.keys: Counter[str] = Counter()
        self.click_count = 0
        self.clicks: deque[tuple[str, float, float]] = deque(maxlen=LAST_CLICKS)

    def event(self, event: InputEvent) -> None:
        if event.kind != "press":
            return
        if event.name.startswith("mouse_"):
            self.click_count += 1
            if event.x is not None and event.y is not None:
                self.clicks.append((event.name, event.x, event.y))
        else:
            self.keys[event.name] += 1


class Rehearsal:
    """Watches a profile's window as a recording would. ``look()`` may be called from one thread at a time."""

    def __init__(self, profile: GameProfile, fps: float, control_keys: Collection[str] = ()) -> None:
        self.profile = profile
        self._eye = WindowEye(profile.window_title, profile.window_part, fps)
        self._tally = Tally()
        self._lock = threading.Lock()
        self._listener = InputListener(profile, self._on_event, control_keys=control_keys)
        self._reader = GaugeReader(profile)
        self._listening_to: int | None = None
        self._deaf = ""

    def start(self) -> Rehearsal:
        """Raises PlatformError when the window cannot be seen; without keys to hear it goes on and says so."""
        self._eye.start()
        try:
            self._eye.wait(_OPEN_S)
        except PlatformError:
            self._eye.stop()
            raise
        self._listening_to = self._eye.window_id
        try:
            self._listener.start(self._listening_to)
        except PlatformError as problem:
            self._deaf = str(problem)
        return self

    def stop(self) -> None:
        self._listener.stop()
        self._eye.stop()

    def __enter__(self) -> Rehearsal:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def look(self) -> Rehearsed:
        eye, frame = self._eye, self._eye.frame
        if eye.window_id != self._listening_to and not self._deaf:  # closed and opened anew
            self._listening_to = eye.window_id
            self._listener.follow(self._listening_to)
        size = (0, 0) if frame is None else (frame.image.shape[1], frame.image.shape[0])
        status = self._reader.read(None if frame is None else frame.image)
        with self._lock:
            keys, clicks, count = dict(self._tally.keys), tuple(self._tally.clicks), self._tally.click_count
        trouble = eye.state or self._deaf or (self._listener.state if not self._deaf else "")
        focus = frame is not None and self._listener.focus
        return Rehearsed(size, eye.rate(), focus, keys, self._listener.held, count, clicks, self._listener.cursor, status, trouble)

    def _on_event(self, event: InputEvent) -> None:
        with self._lock:
            self._tally.event(event)

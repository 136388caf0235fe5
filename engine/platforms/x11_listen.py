"""Listening on X11: XInput2 raw events, which come whatever has the focus and whoever grabs the keyboard.

Announced as 2.1 or later: an older client is left out of raw motion while a game grabs the pointer.
"""

from __future__ import annotations

import logging
import os
import select
import struct
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from engine.platforms.held import Held
from engine.platforms.port import PlatformError, RawInput
from engine.platforms.x11_keys import SCROLL_STEPS, button_name, read_key_table
from engine.platforms.xlib import LOST, close_display, open_display

log = logging.getLogger(__name__)

_RAW_KEY_PRESS, _RAW_KEY_RELEASE, _RAW_BUTTON_PRESS, _RAW_BUTTON_RELEASE, _RAW_MOTION, _HIERARCHY = 13, 14, 15, 16, 17, 11
_ALL_DEVICES, _ALL_MASTERS = 0, 1
_MOVE_INTERVAL_NS: Final = 4_000_000
"""The pointer is asked for its place at most this often: mice report up to 8,000 times a second."""
_NOT_MOTION_PX: Final = 64
"""A mouse that moves by just the pointer's place is unheard of this far from the screen's corner."""


class RawMotion:
    """Sums up what the devices themselves report between two told moves, before acceleration.

    Some devices (tablets, virtual machines' and nested servers' mice, programs that place the pointer) report places and
    call them motion. They are known by reporting just where the pointer then is, and theirs counts for nothing.
    """

    def __init__(self) -> None:
        self._sum: dict[int, tuple[float, float]] = {}
        self._last: dict[int, tuple[float, float]] = {}
        self._places: set[int] = set()

    def add(self, source: int, data: bytes) -> None:
        """data: an XIRawEvent from its device id on."""
        values = _raw_axes(data)
        dx, dy = self._sum.get(source, (0.0, 0.0))
        self._sum[source] = (dx + values[0], dy + values[1])
        self._last[source] = values

    def take(self, source: int, x: int, y: int) -> tuple[int, int]:
        """The whole counts of ``source`` since the last call, the pointer being at ``x``, ``y`` now; the rest is kept."""
        dx, dy = self._sum.get(source, (0.0, 0.0))
        last = self._last.pop(source, (0.0, 0.0))
        if max(x, y) > _NOT_MOTION_PX and abs(last[0] - x) < 1.0 and abs(last[1] - y) < 1.0:
            self._places.add(source)
        if source in self._places:
            self._sum[source] = (0.0, 0.0)
            return 0, 0
        self._sum[source] = (dx - round(dx), dy - round(dy))
        return round(dx), round(dy)


def _raw_axes(data: bytes) -> tuple[float, float]:
    """The device's own values of its first two axes; 0 for one that did not change."""
    (words,) = struct.unpack_from("<H", data, 12)
    mask = data[22 : 22 + 4 * words]
    named = sum(byte.bit_count() for byte in mask)
    values = [0.0, 0.0]
    offset = 22 + 4 * words + 8 * named  # behind the accelerated values
    for axis in range(2):
        if mask and mask[0] >> axis & 1:
            whole, part = struct.unpack_from("<iI", data, offset)
            values[axis] = whole + part / 2**32
            offset += 8
    return values[0], values[1]


class X11EventReader:
    """Raw events of one connection, translated. Whoever owns it selects on ``fileno()`` and calls ``read``."""

    def __init__(self, connection: Any) -> None:
        if connection.query_extension("XInputExtension") is None:
            raise PlatformError(
                "this X server has no XInput extension, so that keys cannot be listened to; use a server with XInput 2.1 or later"
            )
        xinput: Any = import_module("Xlib.ext.xinput")
        version = xinput.XIQueryVersion(
            display=connection.display, opcode=connection.display.get_extension_major("XInputExtension"), major_version=2, minor_version=2
        )
        if (version.major_version, version.minor_version) < (2, 1):
            spoken = f"{version.major_version}.{version.minor_version}"
            raise PlatformError(f"this X server speaks XInput {spoken}; listening needs 2.1 or later: update the server")
        self._connection = connection
        self._root = connection.screen().root
        self._keys = read_key_table(connection)
        self._devices: dict[int, str] = {}
        self._held: Held[tuple[str, int, int]] = Held()
        self._move: tuple[int, int] | None = None  # source id and time of a motion not yet told
        self._motion = RawMotion()
        self._last_move_ns = 0
        self._offset_ns: int | None = None
        self.odd_events = 0
        raw = sum(1 << kind for kind in (_RAW_KEY_PRESS, _RAW_KEY_RELEASE, _RAW_BUTTON_PRESS, _RAW_BUTTON_RELEASE, _RAW_MOTION))
        self._root.xinput_select_events([(_ALL_MASTERS, raw), (_ALL_DEVICES, 1 << _HIERARCHY)])
        connection.sync()

    def fileno(self) -> int:
        return int(self._connection.fileno())

    def read(self) -> list[RawInput]:
        """All events that have come, without waiting. Raises one of LOST when the server is gone."""
        found: list[RawInput] = []
        while True:
            while self._connection.pending_events():
                self._read_one(found)
            self._tell_move(found, time.monotonic_ns())
            # Asking for the pointer's place may have taken events off the socket, where nobody would wait for them.
            if not self._connection.pending_events():
                return found

    def _read_one(self, found: list[RawInput]) -> None:
        event = self._connection.next_event()
        try:
            self._translate(event, found)
        except LOST:
            raise
        except Exception:
            self.odd_events += 1
            log.debug("an input event was not understood: %r", event, exc_info=True)

    def timeout_s(self) -> float | None:
        """When ``read`` should be called again although nothing came; None: only when something comes."""
        if self._move is None:
            return None
        return max(0.0, (self._last_move_ns + _MOVE_INTERVAL_NS - time.monotonic_ns()) / 1e9)

    def close(self) -> None:
        close_display(self._connection)

    def _translate(self, event: Any, found: list[RawInput]) -> None:
        kind = getattr(event, "evtype", None)
        if kind == _HIERARCHY:
            self._devices.clear()
            self._motion = RawMotion()
            return
        if kind is None or not _RAW_KEY_PRESS <= kind <= _RAW_MOTION:
            return
        _, server_ms, detail, source = struct.unpack_from("<HIIH", event.data)
        at_ns = self._time_ns(server_ms)
        if kind == _RAW_MOTION:
            self._motion.add(source, event.data)
            self._move = (source, at_ns)
            return
        self._tell_move(found, at_ns, at_once=True)
        device = self._device(source)
        injected = "XTEST" in device
        if kind in (_RAW_KEY_PRESS, _RAW_KEY_RELEASE):
            press, what = kind == _RAW_KEY_PRESS, ("key", source, detail)
            if not self._held.changes(what, press, at_ns):
                return
            found.append(RawInput(at_ns, "press" if press else "release", self._keys.name(detail), device=device, injected=injected))
            return
        press, place = kind == _RAW_BUTTON_PRESS, self._root.query_pointer()
        x, y = int(place.root_x), int(place.root_y)
        if detail in SCROLL_STEPS:
            if press:
                dx, dy = SCROLL_STEPS[detail]
                found.append(RawInput(at_ns, "scroll", "", x, y, dx, dy, device, injected))
        elif self._held.changes(("button", source, detail), press, at_ns):
            found.append(RawInput(at_ns, "press" if press else "release", button_name(detail), x, y, device=device, injected=injected))

    def _tell_move(self, found: list[RawInput], now_ns: int, at_once: bool = False) -> None:
        if self._move is None or not (at_once or now_ns - self._last_move_ns >= _MOVE_INTERVAL_NS):
            return
        source, at_ns = self._move
        self._move, self._last_move_ns = None, now_ns
        place, device = self._root.query_pointer(), self._device(source)
        x, y = int(place.root_x), int(place.root_y)
        dx, dy = self._motion.take(source, x, y)
        found.append(RawInput(at_ns, "move", "", x, y, dx, dy, device, "XTEST" in device))

    def _time_ns(self, server_ms: int) -> int:
        """The server's stamp on our monotonic clock: by the smallest delay seen, so that a busy reader does not blur times."""
        now_ns = time.monotonic_ns()
        offset_ns = now_ns - server_ms * 1_000_000
        if self._offset_ns is None or offset_ns < self._offset_ns or offset_ns - self._offset_ns > 10_000_000_000:
            self._offset_ns = offset_ns
        return min(now_ns, server_ms * 1_000_000 + self._offset_ns)

    def _device(self, source: int) -> str:
        if source not in self._devices:
            for device in self._connection.xinput_query_device(_ALL_DEVICES).devices:
                name = device.name
                self._devices[int(device.deviceid)] = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
        return self._devices.setdefault(source, f"device {source}")


class X11Listener:
    """Reads raw events in a thread of its own until stopped. An odd event is counted, never fatal."""

    def __init__(self, callback: Callable[[RawInput], None], display_name: str) -> None:
        self._callback, self._display_name = callback, display_name
        self._thread: threading.Thread | None = None
        self._wake: tuple[int, int] | None = None
        self._failure = "not started"

    @property
    def failure(self) -> str:
        return self._failure

    def start(self) -> None:
        if self._thread is not None:
            return
        reader = X11EventReader(open_display(self._display_name))
        self._wake = os.pipe()
        self._failure = ""
        self._thread = threading.Thread(target=self._run, args=(reader, self._wake[0]), name="x11-listener", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        thread, wake, self._thread, self._wake = self._thread, self._wake, None, None
        if thread is None or wake is None:
            return
        os.write(wake[1], b"x")
        if thread is not threading.current_thread():
            thread.join(5)
        os.close(wake[0])
        os.close(wake[1])
        self._failure = "stopped"

    def _run(self, reader: X11EventReader, wake: int) -> None:
        try:
            while True:
                for event in reader.read():
                    try:
                        self._callback(event)
                    except Exception:
                        log.exception("an input event was not handled: %s", event.kind)
                ready, _, _ = select.select([reader, wake], [], [], reader.timeout_s())
                if wake in ready:
                    return
        except LOST as problem:
            self._failure = f"the X server is gone ({problem})"
            log.warning("listening has ended: %s", self._failure)
        except Exception as problem:  # a thread that dies without a word would be a dead key
            self._failure = f"listening failed ({type(problem).__name__}: {problem})"
            log.exception("listening has ended")
        finally:
            reader.close()

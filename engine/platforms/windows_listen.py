"""Listening on Windows: low-level hooks, which come whatever has the focus.

The hooks only note what they are told: all the system's input waits for them. A second thread translates it and
calls back.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Final

from engine.platforms import windows_types as w
from engine.platforms.held import Held
from engine.platforms.keys import code_name
from engine.platforms.port import PlatformError, RawInput
from engine.platforms.windows_api import Api, HookEvent
from engine.platforms.windows_inject import EXTENDED, SCAN_CODES

log = logging.getLogger(__name__)

_NAMES: Final = {code: name for name, code in SCAN_CODES.items()} | {
    0x36 | EXTENDED: "shift_right",
    0x45 | EXTENDED: "num_lock",
    0x45: "pause",
}
"""The hooks mark the right shift and num lock as extended, though they have no E0 prefix."""
_ALT_GR_CTRL: Final = 0x21D
"""The left ctrl that Windows makes up before AltGr: nobody pressed it."""
_BUTTON_MESSAGES: Final = {
    0x201: ("press", "mouse_left"),
    0x202: ("release", "mouse_left"),
    0x204: ("press", "mouse_right"),
    0x205: ("release", "mouse_right"),
    0x207: ("press", "mouse_middle"),
    0x208: ("release", "mouse_middle"),
}
_WHEEL_NOTCH: Final = 120


class HookTranslator:
    """Hook events in the port's words. Used from one thread."""

    def __init__(self) -> None:
        self._held: Held[tuple[str, str]] = Held()
        self._turned = [0, 0]  # what wheels finer than one notch have turned so far

    def translate(self, event: HookEvent, time_ns: int) -> RawInput | None:
        """None for auto-repeat, for part of a wheel's notch, and for what nobody did."""
        injected = bool(event.flags & (w.HOOK_MOUSE_INJECTED if event.mouse else w.HOOK_KEY_INJECTED))
        device = "device" if not injected else "Secondseat" if event.extra == w.SIGNATURE else "another program"
        if not event.mouse:
            if event.data == _ALT_GR_CTRL:
                return None
            code = (event.data & 0xFF) | (EXTENDED if event.flags & w.HOOK_KEY_EXTENDED else 0)
            name, press = _NAMES.get(code) or code_name(code), not event.flags & w.HOOK_KEY_UP
            if not self._held.changes((device, name), press, time_ns):
                return None
            return RawInput(time_ns, "press" if press else "release", name, device=device, injected=injected)
        place = (event.x, event.y)
        if event.message == w.WM_MOUSEMOVE:
            return RawInput(time_ns, "move", "", *place, device=device, injected=injected)
        if event.message in (w.WM_MOUSEWHEEL, w.WM_MOUSEHWHEEL):
            sideways = event.message == w.WM_MOUSEHWHEEL
            step = self._notches(event.data, sideways)
            dx, dy = (step, 0) if sideways else (0, step)
            return RawInput(time_ns, "scroll", "", *place, dx, dy, device, injected) if step else None
        if event.message in (w.WM_XDOWN, w.WM_XUP):
            name, press = f"mouse_button{7 + (event.data >> 16)}", event.message == w.WM_XDOWN
        elif event.message in _BUTTON_MESSAGES:
            kind, name = _BUTTON_MESSAGES[event.message]
            press = kind == "press"
        else:
            return None
        if not self._held.changes((device, name), press, time_ns):
            return None
        return RawInput(time_ns, "press" if press else "release", name, *place, device=device, injected=injected)

    def _notches(self, data: int, sideways: bool) -> int:
        """Whole notches; a smooth wheel's parts of one are added up."""
        turned = self._turned[sideways] + (data >> 16 & 0xFFFF) - (0x10000 if data >> 31 & 1 else 0)
        steps = int(turned / _WHEEL_NOTCH)
        self._turned[sideways] = turned - steps * _WHEEL_NOTCH
        return steps


class WindowsListener:
    """Two threads: one serves the hooks, one calls back. An event that is not handled is told and forgotten."""

    def __init__(self, api: Api, callback: Callable[[RawInput], None]) -> None:
        self._api, self._callback = api, callback
        self._hooks: threading.Thread | None = None
        self._caller: threading.Thread | None = None
        self._thread_id = 0
        self._ready = threading.Event()
        self._failure = "not started"
        self._events: queue.SimpleQueue[tuple[HookEvent, int] | None] = queue.SimpleQueue()
        self.put_in_again = 0
        """How often Windows took the hooks out."""

    @property
    def failure(self) -> str:
        return self._failure

    def start(self) -> None:
        if self._hooks is not None:
            return
        self._failure = ""
        self._ready.clear()
        self._hooks = threading.Thread(target=self._serve, name="windows-hooks", daemon=True)
        self._caller = threading.Thread(target=self._call_back, name="windows-listener", daemon=True)
        self._hooks.start()
        self._caller.start()
        self._ready.wait(5)
        if self._failure:
            problem = self._failure
            self._end()
            raise PlatformError(problem)

    def stop(self) -> None:
        if self._hooks is not None:
            self._api.end_hooks(self._thread_id)
            self._end()
            self._failure = "stopped"

    def _end(self) -> None:
        hooks, caller, self._hooks, self._caller = self._hooks, self._caller, None, None
        for thread in (hooks, caller):
            if thread is not None and thread is not threading.current_thread():
                thread.join(5)

    def _serve(self) -> None:
        self._thread_id = self._api.thread_id()
        try:
            reason = self._api.run_hooks(self._note, self._ready.set, self._on_lost)
        except Exception as problem:  # a thread that dies without a word would be a dead key
            reason = f"the input hooks failed ({type(problem).__name__}: {problem})"
            log.exception("listening has ended")
        self._failure = reason or "stopped"
        self._ready.set()
        self._events.put(None)

    def _note(self, event: HookEvent) -> None:
        self._events.put((event, time.monotonic_ns()))

    def _call_back(self) -> None:
        translator = HookTranslator()
        while (noted := self._events.get()) is not None:
            try:
                raw = translator.translate(*noted)
                if raw is not None:
                    self._callback(raw)
            except Exception:
                log.exception("an input event was not handled: message %#x", noted[0].message)

    def _on_lost(self) -> None:
        if self._api.has_more_rights(self._api.foreground()):
            return  # nothing was taken out: what is done in such a window is not for us
        self.put_in_again += 1
        log.warning("Windows took the input hooks out (something kept them waiting); they are in again")

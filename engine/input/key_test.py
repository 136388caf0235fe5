"""The hotkeys' self-test: what was pressed, and which ears heard it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final

from engine.input.hotkeys import TERMINAL, Hotkeys
from engine.platforms import current_port
from engine.platforms.port import Port

SETTLE_S: Final = 0.4
"""After the key that ends the test was heard: the other ear may be a little later."""


@dataclass(slots=True)
class KeyTest:
    """``backend``: what listens globally, as the status line says it. ``heard``: key -> ears, in the order they heard it."""

    backend: str
    heard: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def globally(self) -> bool:
        """Whether any key was heard from any focus."""
        return any(ear != TERMINAL for ears in self.heard.values() for ear in ears)

    def to_json(self, wanted: str) -> dict[str, Any]:
        return {"backend": self.backend, "wanted": wanted, "heard": self.heard, "works": wanted in self.heard, "globally": self.globally}


def run_key_test(
    wanted: str,
    keys: Collection[str],
    wait_s: float,
    tell: Callable[[str], None],
    terminal: Callable[[], str] | None = None,
    make_port: Callable[[], Port] = current_port,
) -> KeyTest:
    """Listens until the key ``wanted`` was heard, or for ``wait_s``; ``tell`` gets a line for each ear that hears one.

    ``terminal`` waits up to a tenth of a second for a key of the terminal and returns its name, empty for none.
    Nothing is steered by the keys meanwhile.
    """
    lock, done = threading.Lock(), threading.Event()

    def note(name: str, ear: str) -> None:
        with lock:
            ears = test.heard.setdefault(name, [])
            if ear in ears:
                return
            ears.append(ear)
        tell(f"{name.upper()} heard: {ear}")
        if name == wanted:
            done.set()

    def on_hotkey(name: str) -> None:
        note(name, hotkeys.backend)

    hotkeys = Hotkeys(on_hotkey, keys, make_port=make_port)
    test = KeyTest(hotkeys.start())
    tell(f"global hotkeys: {test.backend}")
    until_s = time.monotonic() + wait_s
    try:
        while time.monotonic() < until_s:
            name = terminal() if terminal is not None else ""
            if name in keys:
                note(name, TERMINAL)
            if done.is_set():
                until_s = min(until_s, time.monotonic() + SETTLE_S)
                done.clear()
            if terminal is None:
                time.sleep(0.05)
    finally:
        hotkeys.stop()
    return test

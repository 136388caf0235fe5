"""Key codes of an X server and the physical names that they stand for."""

from __future__ import annotations

from typing import Any, Final

from engine.platforms.keys import LINUX_CODES, code_name, code_of_name

EVDEV_OFFSET: Final = 8

_BUTTON_NAMES: Final = {1: "mouse_left", 2: "mouse_middle", 3: "mouse_right"}
BUTTON_NUMBERS: Final = {name: number for number, name in _BUTTON_NAMES.items()}
SCROLL_STEPS: Final = {4: (0, 1), 5: (0, -1), 6: (-1, 0), 7: (1, 0)}
"""Wheel buttons -> (dx, dy), y up and away from the person."""

_PROBES: Final = {9: 0xFF1B, 111: 0xFF52, 113: 0xFF51, 114: 0xFF53}
"""Key codes and keysyms (Escape, Up, Left, Right) that hold in every layout with evdev rules and not with older ones."""

_KEYSYM_NAMES: Final = {
    0xFF1B: "esc", 0xFF08: "backspace", 0xFF09: "tab", 0xFF0D: "enter", 0xFFE3: "ctrl", 0xFFE4: "ctrl_right", 0xFFE1: "shift",
    0xFFE2: "shift_right", 0xFFE9: "alt", 0xFFEA: "alt_right", 0xFE03: "alt_right", 0xFFEB: "meta", 0xFFEC: "meta_right", 0x20: "space",
    0xFFE5: "caps_lock", 0xFF50: "home", 0xFF51: "left", 0xFF52: "up", 0xFF53: "right", 0xFF54: "down", 0xFF55: "page_up",
    0xFF56: "page_down", 0xFF57: "end", 0xFF63: "insert", 0xFFFF: "delete", 0xFF13: "pause", 0xFF67: "menu", 0xFF8D: "kp_enter",
    **{0xFFBE + i: f"f{i + 1}" for i in range(24)},
}  # fmt: skip
"""Used only on servers whose codes are not evdev's; there the letters are those that the layout prints."""


def button_name(number: int) -> str:
    return _BUTTON_NAMES.get(number, f"mouse_button{number}")


class KeyTable:
    """Names by code and codes by name for one server."""

    def __init__(self, names_by_code: dict[int, str]) -> None:
        self._names = names_by_code
        self._codes = {name: code for code, name in reversed(names_by_code.items())}

    def name(self, code: int) -> str:
        return self._names.get(code) or code_name(code)

    def code(self, name: str) -> int | None:
        """The code to press for a name; None when this keyboard has no such key."""
        known = self._codes.get(name)
        if known is not None:
            return known
        code = code_of_name(name)
        return code if code is not None and 8 <= code <= 255 else None


def read_key_table(connection: Any) -> KeyTable:
    """The table of a server: by evdev's fixed places, or by what the layout prints where the server is not evdev's."""
    if all(connection.keycode_to_keysym(code, 0) == keysym for code, keysym in _PROBES.items()):
        return KeyTable({code + EVDEV_OFFSET: name for name, code in LINUX_CODES.items()})
    names: dict[int, str] = {}
    for code in range(8, 256):
        keysym = int(connection.keycode_to_keysym(code, 0))
        name = _KEYSYM_NAMES.get(keysym) or (chr(keysym).lower() if 0x21 <= keysym <= 0x7E else "")
        if name and name not in names.values():
            names[code] = name
    return KeyTable(names)

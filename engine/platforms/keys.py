"""Physical keys: one name per place on the keyboard, whatever the layout prints on it.

The names stand in ``data.key_names``. Codes are Linux input codes; X11 servers with evdev rules count
8 more, and PC scan codes (set 1) are the same numbers up to 88.
"""

from __future__ import annotations

from typing import Final

from data.key_names import KEY_ROWS

LINUX_CODES: Final[dict[str, int]] = {name: first + i for first, names in KEY_ROWS for i, name in enumerate(names.split())}
"""Key name -> Linux input code."""

EXTENDED_SCAN_CODES: Final[dict[str, int]] = {
    "kp_enter": 0x1C,
    "ctrl_right": 0x1D,
    "kp_divide": 0x35,
    "print_screen": 0x37,
    "alt_right": 0x38,
    "home": 0x47,
    "up": 0x48,
    "page_up": 0x49,
    "left": 0x4B,
    "right": 0x4D,
    "end": 0x4F,
    "down": 0x50,
    "page_down": 0x51,
    "insert": 0x52,
    "delete": 0x53,
    "meta": 0x5B,
    "meta_right": 0x5C,
    "menu": 0x5D,
}
"""PC scan codes (set 1) of the keys that carry the E0 prefix."""

TWINS: Final[dict[str, str]] = {
    "ctrl_right": "ctrl",
    "shift_right": "shift",
    "alt_right": "alt",
    "meta_right": "meta",
    "kp_enter": "enter",
}
"""Right-hand keys and the one that stands for both where a profile names only that."""

MODIFIERS: Final[frozenset[str]] = frozenset({"ctrl", "ctrl_right", "shift", "shift_right", "alt", "alt_right", "meta", "meta_right"})


def code_name(code: int) -> str:
    """The stable name of a key that has none."""
    return f"key{code}"


def code_of_name(name: str) -> int | None:
    """The code in a name like ``key248``; None for other names."""
    digits = name.removeprefix("key")
    return int(digits) if digits != name and digits.isascii() and digits.isdigit() else None

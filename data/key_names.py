"""The names of physical keys: one per place on the keyboard, whatever the layout prints on it.

They are those of a US keyboard in lower case. A key that has no name keeps its code: ``key248``. Further mouse buttons
are ``mouse_button8`` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

KEY_ROWS: Final = (
    (1, "esc 1 2 3 4 5 6 7 8 9 0 - = backspace tab"),
    (16, "q w e r t y u i o p [ ] enter ctrl"),
    (30, "a s d f g h j k l ; ' ` shift \\"),
    (44, "z x c v b n m , . / shift_right kp_multiply alt space caps_lock"),
    (59, "f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 num_lock scroll_lock"),
    (71, "kp_7 kp_8 kp_9 kp_minus kp_4 kp_5 kp_6 kp_plus kp_1 kp_2 kp_3 kp_0 kp_decimal"),
    (86, "iso_less f11 f12"),
    (96, "kp_enter ctrl_right kp_divide print_screen alt_right"),
    (102, "home up page_up left right end down page_down insert delete"),
    (119, "pause"),
    (125, "meta meta_right menu"),
    (183, "f13 f14 f15 f16 f17 f18 f19 f20 f21 f22 f23 f24"),
)
"""The Linux input code of the first key of a row, and the names of the row's keys."""

KEY_NAMES: Final[tuple[str, ...]] = tuple(name for _, names in KEY_ROWS for name in names.split())
_NAMED: Final = frozenset(KEY_NAMES)
_CODED: Final = re.compile(r"key[1-9][0-9]{0,4}|mouse_button[0-9]{1,2}")


def is_key_name(name: str) -> bool:
    """Whether a profile can name a key so. Whether a machine's keyboard has the key is another matter."""
    return name in _NAMED or _CODED.fullmatch(name) is not None


def why_not_keys(names: Iterable[str]) -> str:
    """What is wrong with the names of some keys, and what was meant; empty when all of them are names."""
    wrong = [name for name in names if not is_key_name(name)]
    if not wrong:
        return ""
    near = [match for name in wrong for match in get_close_matches(name.lower(), KEY_NAMES, n=1)]
    meant = f"; did you mean {', '.join(near)}?" if near else ", such as w, space, ctrl, left, kp_7, or key248 for one without a name"
    return f"{', '.join(map(repr, wrong))} {'is not a key' if len(wrong) == 1 else 'are not keys'}{meant}"

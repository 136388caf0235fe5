"""Names of files and folders that hold on every system: a workspace can be carried from one to another whole."""

from __future__ import annotations

import re
from typing import Final

_DEVICES: Final = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
_FORBIDDEN: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
LONGEST: Final = 120
"""Windows counts 260 letters for a whole path."""


def name_refusal(name: str) -> str:
    """Why a file or folder could not keep this name everywhere; empty when it can."""
    if not name:
        return "a name is missing"
    if name.partition(".")[0].rstrip().casefold() in _DEVICES:
        return f"{name!r} is the name of a device on Windows; choose another"
    found = _FORBIDDEN.search(name)
    if found is not None:
        return f"{name!r}: {found[0]!r} cannot be in a name on Windows; leave it out"
    if name[-1] in ". ":
        return f"{name!r} ends with {name[-1]!r}, which Windows drops; leave it out"
    if len(name) > LONGEST:
        return f"the name {name[:20]!r}… has {len(name)} letters; use at most {LONGEST}"
    return ""

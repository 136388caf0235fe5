"""What a pickle would import, found by reading it as data. Nothing in it is executed."""

from __future__ import annotations

import pickletools
import zipfile
import zlib
from pathlib import Path
from typing import Final

_HARMLESS: Final = frozenset(
    {"collections.OrderedDict", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter", "torch.Size"}
)
_LONGEST_BYTES: Final = 64 * 2**20


def foreign_globals(path: Path) -> list[str]:
    """The names that loading ``path`` would import beyond what plain tensors need, in order of appearance.

    Empty for plain tensors, for files that are no pickles and for those that cannot be read.
    """
    try:
        content = _pickle_bytes(path)
        return _named(content) if content else []
    except (OSError, ValueError, zipfile.BadZipFile, KeyError, IndexError, EOFError, zlib.error, RuntimeError, NotImplementedError):
        return []


def _pickle_bytes(path: Path) -> bytes:
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as file:
            return file.read(_LONGEST_BYTES)
    with zipfile.ZipFile(path) as archive:
        inner = next((n for n in archive.namelist() if n.endswith("data.pkl")), None)
        if inner is None:
            return b""
        with archive.open(inner) as file:
            return file.read(_LONGEST_BYTES)


def _named(content: bytes) -> list[str]:
    """``module.name`` of every global. Newer pickles push both as strings, often through the memo."""
    found: list[str] = []
    memo: dict[int, str] = {}
    strings: list[str] = []
    for operation, argument, _ in pickletools.genops(content):
        name = operation.name
        if name in ("GLOBAL", "INST") and isinstance(argument, str):
            found.append(argument.replace(" ", "."))
        elif isinstance(argument, str) and "UNICODE" in name:
            strings.append(argument)
        elif name == "MEMOIZE" and strings:
            memo[len(memo)] = strings[-1]
        elif name in ("PUT", "BINPUT", "LONG_BINPUT") and isinstance(argument, int) and strings:
            memo[argument] = strings[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET") and isinstance(argument, int) and argument in memo:
            strings.append(memo[argument])
        elif name == "STACK_GLOBAL" and len(strings) >= 2:
            found.append(f"{strings[-2]}.{strings[-1]}")
    unknown = [n for n in found if n not in _HARMLESS and not (n.startswith("torch.") and n.endswith("Storage"))]
    return list(dict.fromkeys(unknown))

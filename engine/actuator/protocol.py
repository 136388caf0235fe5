"""What the engine and the actuator's process say to each other: JSON messages, each after its length in four bytes."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any, Final, cast

from data.files import from_json

_LENGTH: Final = struct.Struct(">I")

MAX_MESSAGE_BYTES: Final = 1 << 20
PIPE_ATOM_BYTES: Final = 4096
"""A pipe takes a message of at most this size whole or not at all."""

HEARTBEAT_NS: Final = 250_000_000
"""Without a valid intent for this long, everything is released."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What one tick wants done. Positions are 0..1 of the window's client area; None leaves the cursor where it is.

    ``sequence`` grows with each intent; after ``expiry_ns`` (monotonic) it is dropped. ``onsets`` are pressed anew,
    in order; those not in ``held`` are taps of the profile's hold time. ``held`` is all that is down at the tick's end.
    """

    sequence: int
    expiry_ns: int
    x: float | None
    y: float | None
    onsets: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()

    def message(self) -> dict[str, Any]:
        return {
            "op": "intent",
            "sequence": self.sequence,
            "expiry_ns": self.expiry_ns,
            "x": self.x,
            "y": self.y,
            "onsets": list(self.onsets),
            "held": sorted(self.held),
        }


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One thing that was sent: ``kind`` is press, release or move; ``x``, ``y`` screen pixels of moves and clicks.

    It reached the system between ``before_ns`` and ``after_ns`` (monotonic). ``dry``: it would have been sent.
    """

    sequence: int
    kind: str
    name: str
    x: int | None
    y: int | None
    before_ns: int
    after_ns: int
    dry: bool = False

    def row(self) -> list[Any]:
        return [self.sequence, self.kind, self.name, self.x, self.y, self.before_ns, self.after_ns, self.dry]


def encode(message: dict[str, Any]) -> bytes:
    """NaN and infinities pass (as JSON's usual extension): refusing and counting them is the actuator's work."""
    body = json.dumps(message, separators=(",", ":")).encode()
    if len(body) > MAX_MESSAGE_BYTES:
        raise ValueError(f"a message of {len(body)} bytes is too long; at most {MAX_MESSAGE_BYTES}")
    return _LENGTH.pack(len(body)) + body


class Decoder:
    """Puts messages together from whatever pieces arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.bad_messages = 0

    def feed(self, piece: bytes) -> list[dict[str, Any]]:
        """All messages that are whole now. A body that is no JSON object is counted and skipped.

        Raises ValueError when a length cannot be true: the stream cannot be followed any more.
        """
        self._buffer += piece
        messages: list[dict[str, Any]] = []
        while len(self._buffer) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._buffer)
            if size > MAX_MESSAGE_BYTES:
                raise ValueError(f"a message claims {size} bytes; at most {MAX_MESSAGE_BYTES}")
            if len(self._buffer) < _LENGTH.size + size:
                break
            body = bytes(self._buffer[_LENGTH.size : _LENGTH.size + size])
            del self._buffer[: _LENGTH.size + size]
            try:
                message: Any = from_json(body)
            except ValueError:
                self.bad_messages += 1
                continue
            if isinstance(message, dict):
                messages.append(cast("dict[str, Any]", message))
            else:
                self.bad_messages += 1
        return messages

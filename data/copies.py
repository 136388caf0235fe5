"""Which sessions hold play that others hold too: those made from others, and of two cut from the same recording the shorter.

Play is learnt from and counted once. Two cuts that do not overlap are two pieces of play.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from data.metadata import Metadata

_OWN_CLOCK = "a replay's own"


@dataclass(frozen=True, slots=True)
class Origin:
    """What a session was made from (``originals``: ids), and when its rows lie, first and last, by the clock that ``clock`` names."""

    originals: frozenset[str]
    first_ns: int
    last_ns: int
    clock: tuple[str, ...] = ()

    @staticmethod
    def of(metadata: Metadata, time_ns: NDArray[np.int64]) -> Origin:
        """A cut keeps its original's times, joined sessions are moved in time, a replay is recorded by a clock of its own."""
        cut: Any = metadata.details.get("cut_from")
        replayed = cast("dict[str, Any]", cut).get("session") if isinstance(cut, dict) else None
        joined = cast("list[Any]", metadata.details.get("merged_from") or [])
        replay = (f"replay {replayed}" if replayed else _OWN_CLOCK,) if metadata.source.kind == "video" else ()
        first, last = (int(time_ns[0]), int(time_ns[-1])) if len(time_ns) else (0, 0)
        return Origin(metadata.originals(), first, last, (*(str(name) for name in joined), *replay))

    def shared_s(self, other: Origin) -> float | None:
        """Seconds of play that both may hold, below 0: none; None when it can't be told, since their clocks differ."""
        if self.clock != other.clock or _OWN_CLOCK in self.clock:
            return None
        return (min(self.last_ns, other.last_ns) - max(self.first_ns, other.first_ns)) / 1e9


@dataclass(frozen=True, slots=True)
class Copy:
    """Which sessions hold the play of this one too. ``words``: how, to be followed by "which is …"."""

    of: tuple[str, ...]
    words: str

    def already(self, what: str) -> str:
        """What to say of it: "made from A, which is counted already"."""
        return f"{self.words}, which {'is' if len(self.of) == 1 else 'are'} {what} already"


def copies(sessions: Mapping[str, Origin]) -> dict[str, Copy]:
    """The sessions that hold play of others of these, by id; without them, all play is there once."""
    found = made_from_others({name: origin.originals for name, origin in sessions.items()})
    taken: list[str] = []
    for name in sorted((n for n in sessions if n not in found), key=lambda n: (sessions[n].first_ns - sessions[n].last_ns, n)):
        mine = sessions[name]
        for other in taken:
            if not mine.originals & sessions[other].originals:
                continue
            seconds = mine.shared_s(sessions[other])
            if seconds is None or seconds >= 0:
                how = "may hold the same play as" if seconds is None else f"holds {seconds:.0f} s of the same play as"
                found[name] = Copy((other,), f"{how} {other}")
                break
        else:
            taken.append(name)
    return {name: found[name] for name in sessions if name in found}


def made_from_others(originals: Mapping[str, frozenset[str]]) -> dict[str, Copy]:
    """Those made from others that are there too. originals: of each session what it was cut, merged or replayed from, and of theirs."""
    found = {name: tuple(sorted(made_of & originals.keys())) for name, made_of in originals.items()}
    return {name: Copy(there, f"made from {', '.join(there)}") for name, there in found.items() if there}

"""Which sessions hold play that others hold too: those made from others that are all there, those that lie there twice under two names,
and of two that share some of it (cut from the same recording, or joined from it) the shorter.

Play is learnt from and counted once. Two cuts that do not overlap are two pieces of play.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from data.metadata import Metadata
from data.steps import Steps

_OWN_CLOCK = "a replay's own"
SAME_PLAY: Final = "the same play as"
"""How the words of a copy begin that was made from nothing, but lies there twice."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a session was made from (``originals``: ids), and when its rows lie, first and last, by the clock that ``clock`` names.

    fingerprint: equal for the same play under whatever name; empty: not known.
    """

    originals: frozenset[str]
    first_ns: int
    last_ns: int
    clock: tuple[str, ...] = ()
    fingerprint: str = ""

    @staticmethod
    def of(metadata: Metadata, steps: Steps) -> Origin:
        """A cut keeps its original's times, joined sessions are moved in time, a replay is recorded by a clock of its own."""
        cut: Any = metadata.details.get("cut_from")
        replayed = cast("dict[str, Any]", cut).get("session") if isinstance(cut, dict) else None
        joined = cast("list[Any]", metadata.details.get("merged_from") or [])
        replay = (f"replay {replayed}" if replayed else _OWN_CLOCK,) if metadata.source.kind == "video" else ()
        first, last = (int(steps.time_ns[0]), int(steps.time_ns[-1])) if len(steps) else (0, 0)
        return Origin(metadata.originals(), first, last, (*(str(name) for name in joined), *replay), fingerprint(steps))

    @property
    def joined(self) -> frozenset[str]:
        """The sessions that were joined to it, or to what it was cut from."""
        return self.originals & frozenset(self.clock)

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


def fingerprint(steps: Steps) -> str:
    """Equal for the same play, wherever and under whatever name it lies; empty without rows."""
    if not len(steps):
        return ""
    digest = hashlib.sha256()
    since_ms = (steps.time_ns - steps.time_ns[0]) // 1_000_000
    for values in (since_ms, steps.action_xy, steps.onset_codes, steps.track_boxes):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


def copies(sessions: Mapping[str, Origin]) -> dict[str, Copy]:
    """The sessions that hold play of others of these, by id; without them, all play is there once."""
    found = made_from_others(sessions)
    found |= _twice({name: origin for name, origin in sessions.items() if name not in found}, sessions)
    taken: list[str] = []
    for name in sorted((n for n in sessions if n not in found), key=lambda n: (sessions[n].first_ns - sessions[n].last_ns, n)):
        mine = sessions[name]
        for other in taken:
            theirs = sessions[other]
            if not ({name} | mine.originals) & ({other} | theirs.originals):
                continue
            whole = name in theirs.joined == theirs.originals  # nothing of what was joined was cut off since
            seconds = (mine.last_ns - mine.first_ns) / 1e9 if whole else mine.shared_s(theirs)
            if seconds is None or seconds >= 0:
                how = "may hold the same play as" if seconds is None else f"holds {seconds:.0f} s of the same play as"
                found[name] = Copy((other,), f"{how} {other}")
                break
        else:
            taken.append(name)
    return {name: found[name] for name in sessions if name in found}


def made_from_others(sessions: Mapping[str, Origin]) -> dict[str, Copy]:
    """Those made from others whose play is all there: of a cut or a replay any of what it comes from, of joined sessions each one."""
    found: dict[str, Copy] = {}
    for name, mine in sessions.items():
        there = tuple(sorted(mine.originals & sessions.keys()))
        if there and _all_there(mine, sessions):
            found[name] = Copy(there, f"made from {', '.join(there)}")
    return found


def _all_there(mine: Origin, sessions: Mapping[str, Origin]) -> bool:
    """Whether what was joined is there: itself, or of a single one that is not, all that it was made of in turn. Where it can't be told
    it is not."""
    missing = mine.originals - sessions.keys()
    if not mine.joined & missing:
        return True
    others = mine.joined - missing
    its_own = mine.originals - mine.joined - frozenset(name for other in others for name in sessions[other].originals)
    return len(missing) == 1 and bool(its_own)


def _twice(rest: Mapping[str, Origin], sessions: Mapping[str, Origin]) -> dict[str, Copy]:
    """Those with the same play as another one. That from which others were made is kept, which know it by its name; else the earlier."""
    named = frozenset(name for origin in sessions.values() for name in origin.originals)
    first: dict[str, str] = {}
    found: dict[str, Copy] = {}
    for name in sorted((n for n in rest if rest[n].fingerprint), key=lambda n: (n not in named, n)):
        before = first.setdefault(rest[name].fingerprint, name)
        if before != name:
            found[name] = Copy((before,), f"{SAME_PLAY} {before}")
    return found

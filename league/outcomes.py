"""How matches ended: from ends of recordings, and from the manifests of live runs that name a stream by ``runtime_feedback``.

The rule is the league's: +1 for the first place, -1 for the last, linear between; a win, loss or draw of two is the same
rule. Paths in manifests are compared, never opened.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any, Final, TypeGuard

_WORDS: Final = {
    **dict.fromkeys(("win", "won", "victory", "w", "first"), 1.0),
    **dict.fromkeys(("loss", "lose", "lost", "defeat", "l", "last", "death", "dead"), -1.0),
    **dict.fromkeys(("draw", "tie", "d", "tied"), 0.0),
}
_WORD_KEYS: Final = ("outcome", "result", "match_result", "final_result")
_PLACE_KEYS: Final = ("placement", "place", "rank", "final_place", "final_rank")
_PLAYER_KEYS: Final = ("num_players", "player_count", "total_players", "ships", "players")
_MATCH_KEYS: Final = ("match_id", "episode_id", "episode", "match", "round_id", "game_id", "run_id", "session_id")


@dataclass(frozen=True, slots=True)
class MatchOutcome:
    """One manifest line with an outcome (-1..1). ``match``: its id, or ``""``. ``link``: the parts of ``runtime_feedback``."""

    match: str
    outcome: float
    link: tuple[str, ...]


def outcome_of(line: Mapping[str, Any], *, nested: bool = True) -> float | None:
    """-1..1 from an object's outcome, place or win, or None when it tells none that is plain."""
    place = next((v for k in _PLACE_KEYS if _is_number(v := line.get(k))), None)
    players = next((line[k] for k in _PLAYER_KEYS if line.get(k) is not None), None)
    players = len(players) if isinstance(players, list | dict) else players
    if place is not None and _is_number(players) and players >= 2 and 1 <= place <= players:
        return 1.0 - 2.0 * (place - 1) / (players - 1)
    for key in _WORD_KEYS:
        value = line.get(key)
        if isinstance(value, str) and value.strip().lower() in _WORDS:
            return _WORDS[value.strip().lower()]
        if _is_number(value) and -1 <= value <= 1:
            return float(value)
        if nested and isinstance(value, dict) and (inner := outcome_of(value, nested=False)) is not None:
            return inner
    won = next((line[k] for k in ("win", "won", "victory") if isinstance(line.get(k), bool)), None)
    if won is not None:
        return 1.0 if won else -1.0
    return 1.0 if place == 1 else None


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 and math.isfinite(value)


def read_outcome(line: Mapping[str, Any]) -> MatchOutcome | None:
    """A manifest line that has both an outcome and a link to a stream of feedback."""
    outcome, link = outcome_of(line), line.get("runtime_feedback")
    if isinstance(link, dict):
        link = next((link[k] for k in ("path", "file", "stream", "run_id", "id") if isinstance(link.get(k), str)), None)
    if outcome is None or not isinstance(link, str) or not link.strip():
        return None
    match = next((str(line[k]) for k in _MATCH_KEYS if isinstance(line.get(k), str | int)), "")
    return MatchOutcome(match, outcome, _parts(link))


def _parts(path: str) -> tuple[str, ...]:
    """Of either system's path; PureWindowsPath reads both kinds of slashes."""
    return tuple(p for p in PureWindowsPath(path.strip()).parts if p not in (".", "\\", "/") and not p.endswith((":", ":\\")))


def link_outcomes(streams: Sequence[Path], outcomes: Sequence[MatchOutcome]) -> tuple[dict[Path, list[MatchOutcome]], int]:
    """Outcomes of each stream that they name, and how many name none of them or several alike.

    A link fits by its folder and file name, or by its folder alone; of several streams the one with the longest common end.
    """
    linked: dict[Path, list[MatchOutcome]] = {}
    lost = 0
    for one in outcomes:
        strengths = [(_strength(stream, one.link), stream) for stream in streams]
        best = max((strength for strength, _ in strengths), default=0)
        fitting = [stream for strength, stream in strengths if strength == best]
        if best < 2 or len(fitting) != 1:
            lost += 1
        else:
            linked.setdefault(fitting[0], []).append(one)
    return linked, lost


def _strength(stream: Path, link: tuple[str, ...]) -> int:
    own = stream.resolve().parts
    if not link:
        return 0
    if link[-1] == own[-1]:
        return _ends_alike(own, link)
    folder = _ends_alike(own[:-1], link)
    return folder + 1 if folder else 0


def _ends_alike(a: Sequence[str], b: Sequence[str]) -> int:
    count = 0
    for x, y in zip(reversed(a), reversed(b), strict=False):
        if x != y:
            break
        count += 1
    return count

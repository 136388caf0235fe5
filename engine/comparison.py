"""Evaluations that were kept, and whether one policy is better than another: "not enough evidence" is an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from data.files import from_json
from data.profile import ARENA_PROFILE
from engine.scoreboard_figures import PlayKind
from engine.scores import Interval, difference_interval, episodes_needed

FOLDER: Final = Path("logs") / "evaluations"
USUAL_LOOK: Final = "classic"
PICTURES: Final = "pixels"
"""The rung that sees what is drawn."""
LEARNT_FROM: Final = "learnt from"
HELD_OUT: Final = "held out"
UNTOLD: Final = "not told"
"""Of play that was not kept by name."""
FEWEST: Final = 5
"""Episodes a side that a verdict takes: of fewer, the scatter that an interval rests on is itself hardly known."""


@dataclass(frozen=True, slots=True)
class KeptRung:
    """One rung of the ladder. ``scores``: an episode each, by seed from the evaluation's first. ``counters``: of an episode."""

    name: str
    score: Interval
    normalised: Interval
    scores: tuple[float, ...]
    counters: dict[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Kept:
    """One evaluation of the workspace. ``levels``: the scoreboard as JSON (``engine.kept_levels`` reads it), empty when none was
    made. ``episode_s`` and ``seconds`` (how long it took) are 0 where they were not kept. Where nothing was flown there are no
    ``rungs``, and None stands for all that only a flight has; only the arena has a ``rules_version``."""

    id: str
    policy: str
    rules_version: int | None
    episodes: int | None
    first_seed: int | None
    demonstrator: Interval | None
    random: Interval | None
    rungs: tuple[KeptRung, ...]
    levels: dict[str, Any]
    demonstrator_name: str = ""
    episode_s: float = 0.0
    seconds: float = 0.0
    look: str = ""
    """How the arena was drawn; empty where no rung saw pictures, or it was not kept."""
    game: str = ARENA_PROFILE.name

    @property
    def play(self) -> str:
        """What the levels were judged on; empty when they were not, or it was not kept."""
        return str(self.levels.get("play") or "")

    @property
    def known_play(self) -> str:
        """What the policy had of that play when it was trained: "learnt from", "held out", or nothing."""
        return next((words for words in (LEARNT_FROM, HELD_OUT) if f"({words})" in self.play), "")

    @property
    def play_kind(self) -> PlayKind:
        """The kind of that play. Evaluations of older versions do not tell it: recordings are named by their time there."""
        kind = self.levels.get("play_kind")
        if kind == "unseen" or kind == "recordings":
            return kind
        return "" if not self.play else "recordings" if self.play[:8].isdigit() else "unseen"

    @property
    def judged_on(self) -> str:
        """The kind of play, and what the policy had of it, in a word or two: ``play`` names it."""
        return self.known_play or {"recordings": "recordings", "unseen": "unseen play", "": UNTOLD}[self.play_kind]

    @property
    def unusual_look(self) -> str:
        """The look that it was flown in, where that is not the usual one; empty also where no rung saw pictures."""
        return "" if self.look == USUAL_LOOK else self.look

    @property
    def at(self) -> str:
        """When, as ``2026-11-28 14:05`` UTC."""
        stamp = self.id[:15]
        return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]}"

    @property
    def hardest(self) -> KeptRung | None:
        """The rung that counts: the last one."""
        return self.rungs[-1] if self.rungs else None

    def rung(self, name: str) -> KeptRung | None:
        return next((r for r in self.rungs if r.name == name), None)


@dataclass(frozen=True, slots=True)
class Difference:
    """How much the second policy is better on one rung, in normalised score. ``needed``: episodes a side to be sure of it."""

    rung: str
    gain: Interval
    paired: bool
    needed: int | None

    @property
    def verdict(self) -> str:
        if self.gain.n >= FEWEST and self.gain.low > 0:
            return "better"
        if self.gain.n >= FEWEST and self.gain.high < 0:
            return "worse"
        return "not enough evidence"

    @property
    def lacking(self) -> str:
        """What a verdict would take; empty with one, and where nobody can tell."""
        if self.gain.n < FEWEST:
            return f"{self.gain.n} episodes: too few for a verdict, which takes {FEWEST} a side"
        return f"about {self.needed:,} episodes a side would do" if self.needed else ""


def read_evaluations(workspace: Path) -> tuple[list[Kept], list[str]]:
    """All that were kept, newest first, and a line for each file that could not be read."""
    found: list[Kept] = []
    wrong: list[str] = []
    for path in sorted((workspace / FOLDER).glob("*.json"), reverse=True):
        try:
            found.append(_kept(path.stem, from_json(path.read_bytes())))
        except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
            wrong.append(f"{path.name}: cannot be read ({type(error).__name__}: {error})")
    return found, wrong


def refusal(first: Kept, second: Kept, names: tuple[str, str] = ("A", "B")) -> str:
    """Why the two cannot be compared, under these names; empty when they can."""
    if first.game != second.game:
        return f"{names[0]} plays {first.game}, {names[1]} {second.game}: they cannot be compared"
    if first.rules_version != second.rules_version:
        a, b = (f"rules {kept.rules_version}" for kept in (first, second))
        return f"{names[0]} was played by {a}, {names[1]} by {b}: they cannot be compared; evaluate both anew"
    return ""


def not_flown(first: Kept, second: Kept, names: tuple[str, str] = ("A", "B")) -> str:
    """That it cannot be said which of the two flies better, since one or both were not flown; empty when both were."""
    which = [name for name, kept in zip(names, (first, second), strict=True) if not kept.rungs]
    if not which:
        return ""
    return f"{' and '.join(which)} {'was' if len(which) == 1 else 'were'} not flown: nothing can be said of who flies better"


def other_look(first: Kept, second: Kept, names: tuple[str, str] = ("A", "B")) -> str:
    """That the rung of pictures cannot be compared, since the two saw the arena drawn differently; empty when it can, or one has none."""
    if first.rung(PICTURES) is None or second.rung(PICTURES) is None or first.unusual_look == second.unusual_look:
        return ""
    a, b = (kept.look or USUAL_LOOK for kept in (first, second))
    return f"{names[0]} saw the look {a}, {names[1]} {b}: from {PICTURES} they cannot be compared; fly both in one look"


def compare(first: Kept, second: Kept) -> list[Difference]:
    """By rung that both have, none where one was not flown, and none of pictures in two looks (``other_look``).

    The interval is Student's t (``engine.scores``): over pairs where episodes are of the same seeds, which scatters less, else Welch's.
    The scale, from random to the demonstrator, is taken as known: it moves both alike, so it cannot make a verdict.

    Raises ValueError when the two play different games, or were played by different rules.
    """
    if why := refusal(first, second, (first.id, second.id)):
        raise ValueError(why)
    if first.demonstrator is None or first.random is None or second.demonstrator is None or second.random is None:
        return []
    scale = (first.demonstrator.value - first.random.value + second.demonstrator.value - second.random.value) / 2
    found: list[Difference] = []
    for rung in first.rungs:
        other = second.rung(rung.name)
        if other is None or len(rung.scores) < 2 or len(other.scores) < 2 or scale <= 0:
            continue
        if rung.name == PICTURES and other_look(first, second):
            continue
        a, b = np.array(rung.scores) / scale, np.array(other.scores) / scale
        paired = first.first_seed == second.first_seed
        if paired:
            a, b = a[: min(len(a), len(b))], b[: min(len(a), len(b))]
        gain = difference_interval(a.tolist(), b.tolist(), paired)
        scatter = float((b - a).std(ddof=1)) / np.sqrt(2) if paired else float(np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
        undecided = gain.n >= FEWEST and gain.low <= 0 <= gain.high and abs(gain.value) > 1e-3
        needed = episodes_needed(abs(gain.value), scatter) if undecided else None
        found.append(Difference(rung.name, gain, paired, needed))
    return found


def _kept(name: str, value: Any) -> Kept:
    values = cast("dict[str, Any]", value)
    if "rungs" not in values and "levels" in values:
        return _judged(name, values)
    rungs = tuple(
        KeptRung(
            str(r["rung"]),
            _interval(r["score"]),
            _interval(r["normalised"]),
            tuple(float(s) for s in r["scores"]),
            {str(name): float(value) for name, value in dict(r.get("counters_per_episode") or {}).items()},
        )
        for r in cast("list[dict[str, Any]]", values["rungs"])
    )
    return Kept(
        id=name,
        policy=str(values["policy"]),
        rules_version=int(values["rules_version"]),
        episodes=int(values["episodes"]),
        first_seed=int(values["first_seed"]),
        demonstrator=_interval(values["demonstrator"]["score"]),
        random=_interval(values["random"]["score"]),
        rungs=rungs,
        levels=dict(values.get("levels") or {}),
        demonstrator_name=str(values["demonstrator"].get("pilot", "")),
        episode_s=float(values.get("episode_s") or 0.0),
        seconds=float(values.get("seconds") or 0.0),
        look=str(values.get("look") or ""),
    )


def _judged(name: str, values: dict[str, Any]) -> Kept:
    """What was kept where nothing was flown."""
    rules, levels = values.get("rules_version"), dict(values["levels"])
    if not levels:
        raise ValueError("neither flown nor judged")
    return Kept(
        id=name,
        policy=str(values["policy"]),
        rules_version=None if rules is None else int(rules),
        episodes=None,
        first_seed=None,
        demonstrator=None,
        random=None,
        rungs=(),
        levels=levels,
        seconds=float(values.get("seconds") or 0.0),
        game=str(values["game"]),
    )


def _interval(value: dict[str, Any]) -> Interval:
    found = Interval(float(value["value"]), float(value["low"]), float(value["high"]), int(value["n"]))
    if not math.isfinite(found.value) or math.isnan(found.low) or math.isnan(found.high):  # of one episode the ends are infinite
        raise ValueError(f"{found.value} [{found.low}, {found.high}] is no score")
    return found

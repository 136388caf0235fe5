"""A policy in flight: three levels on their own clocks (1, 5 and 20 Hz of observation time), one action a tick.

``load_policy`` reads a bundle and refuses one that does not fit; ``Policy.act`` is called once per tick, always from the
same thread. Nothing is remembered of past actions but when each input was last pressed, what was foretold for it since then
(``trainers.pressing``), and which tracks were last clicked (the Tactician's ``since_click``).
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from data.checkpoint import Checkpoint, CheckpointError, fit_tensors, load, refuse_mismatch
from data.features import (
    I64,
    LAGS_S,
    UNKNOWN_MODE,
    Feature,
    Normaliser,
    context_features,
    past_cursors,
    set_context_features,
    set_features,
    set_inputs,
    slot_features,
    slot_inputs,
    summary_features,
    summary_sequence,
    summary_vectors,
)
from data.models import LEVELS, read_policy
from data.profile import ARENA_PROFILE, GameProfile
from data.same_game import differences
from data.schema import NO_TARGET, Action, Observation
from data.steps import Steps, input_names
from data.track_lookup import ClickLog, under_point
from data.vocabulary import MODES, MOUSE_BUTTONS
from data.windows import GAP_S
from engine.motor import Motor
from engine.recent import Recent
from trainers.chunking import Chunk, Chunks
from trainers.networks.shape import CLICK_BUTTONS
from trainers.pressing import HELD_FROM, NEVER, Presser, PressRule

CLICKED: Final = MOUSE_BUTTONS[:CLICK_BUTTONS]
"""Buttons that are only pressed where the policy wants to click."""
STRATEGIST_S: Final = 1.0
TACTICIAN_S: Final = 0.2
STAGGER_NS: Final = 50_000_000
TARGET_EXPIRES_S: Final = 0.6
"""A target that has not been among the tracks for so long is dropped before the Tactician's next turn."""


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """What to do in this tick, and why. ``mode`` is empty when unknown. ``timings_ms`` by level, and "total"."""

    action: Action
    mode: str
    target_id: int
    timings_ms: dict[str, float]


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """What is tuned by play and not learnt. Distances in picture widths."""

    intent_threshold: float = 0.4
    click_tolerance: float = 0.012
    click_scale: float = 1.0
    """Multiplies the tuned click threshold; below 1 clicks sooner."""
    speed_widths_s: float = 2.4
    reach_s: float = 0.6
    """A reach once begun is carried on for so long, whatever seems likelier meanwhile; 0: the cursor follows every change."""
    click_pause_s: float = 0.25
    """After a click no new reach begins for so long: what it did must be seen first."""

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
                raise ValueError(f"play: {one.name} {value!r}; it is a number, 0 or more")


@dataclass(frozen=True, slots=True)
class _Reach:
    """Where the cursor is going: to a track (``point`` None) or to a place on the ground."""

    track_id: int
    point: tuple[float, float] | None
    since_ns: int


class Policy:
    """Three levels that fly. Not thread-safe."""

    def __init__(
        self,
        profile: GameProfile,
        levels: dict[str, Checkpoint],
        name: str = "",
        settings: PolicySettings | None = None,
    ) -> None:
        from trainers.flying import Brains

        self.profile, self.name = profile, name
        self.settings = settings if settings is not None else PolicySettings(**levels["executor"].card.get("play", {}))
        self.brains = Brains(profile, {level: (found.card, found.tensors) for level, found in levels.items()})
        card = levels["executor"].card
        self._names = input_names(profile)
        self.rules = {name: PressRule(**{k: float(v) for k, v in rule.items()}) for name, rule in card["thresholds"].items()}
        self.holds = frozenset(card.get("holds", ()))
        self._chunk = Chunk(**card.get("chunk", {}))
        self.normalisers = {level: _normalisers(level, found.card, profile) for level, found in levels.items()}
        self._past = Recent(profile, max(LAGS_S) + 0.2)
        self.reset()

    def reset(self) -> None:
        """Forget everything; the next observation begins a flight."""
        self._past.clear()
        self._seconds: list[tuple[int, Any]] = []
        self._due_ns = {"strategist": 0, "tactician": 0}
        self._mode = UNKNOWN_MODE
        self._target, self._target_seen_ns = NO_TARGET, 0
        self._clicks: deque[tuple[int, int]] = deque(maxlen=64)
        self._pressers = {name: Presser(self.rules.get(name, NEVER)) for name in self._names}
        self._motor = Motor(self.profile, self.settings.speed_widths_s)
        self._reach: _Reach | None = None
        self._clicked_ns = -(1 << 62)
        self._down: set[str] = set()
        self._chunks = self.new_chunks()

    def new_chunks(self) -> Chunks | None:
        """Empty, for a flight; None where the Executor foretells no chunks."""
        return Chunks(self._chunk) if self._chunk.ticks > 1 else None

    def act(self, observation: Observation) -> PolicyDecision:
        """One decision. Observations come in time order; one over ``GAP_S`` after the last starts anew, as training never bridges a gap."""
        began = time.perf_counter()
        now = observation.time_ns
        if len(self._past) and not 0 <= now - self._past.times_ns[-1] <= GAP_S * 1e9:
            self.reset()
        self._past.add(observation)
        steps, row = self._past.steps(), np.array([len(self._past) - 1])
        timings: dict[str, float] = {}
        present = observation.tracks.ids
        if self._target != NO_TARGET and bool((present == self._target).any()):
            self._target_seen_ns = now
        elif now - self._target_seen_ns > TARGET_EXPIRES_S * 1e9:
            self._target = NO_TARGET
        for level, think, period_s in (("strategist", self._strategist, STRATEGIST_S), ("tactician", self._tactician, TACTICIAN_S)):
            if now >= self._due_ns[level] - 1_000_000:
                at = time.perf_counter()
                think(observation, steps, row)
                timings[level] = (time.perf_counter() - at) * 1e3
                # A clock that fell behind starts again from now instead of catching up. After their first, common turn
                # the Strategist thinks a tick later than the Tactician, so that no tick carries all three.
                first, period = self._due_ns[level] == 0, round(period_s * 1e9)
                due = self._due_ns[level] + period
                late = STAGGER_NS if first and level == "strategist" else 0
                self._due_ns[level] = due if not first and due > now else now + period + late
        at = time.perf_counter()
        action = self._executor(observation, steps, row)
        timings["executor"] = (time.perf_counter() - at) * 1e3
        timings["total"] = (time.perf_counter() - began) * 1e3
        mode = MODES[self._mode] if self._mode < len(MODES) else ""
        return PolicyDecision(action, mode, self._target, timings)

    def _strategist(self, seen: Observation, steps: Steps, row: I64) -> None:
        if not self.brains.has_strategist:
            return
        self._seconds.append((seen.time_ns, summary_vectors(steps, row)[0]))
        del self._seconds[: -self.brains.history - 1]  # one more, from which the first one's changes are told
        times = np.array([t for t, _ in self._seconds], np.int64)
        vectors = summary_sequence(self.profile, np.stack([v for _, v in self._seconds]), times)[-self.brains.history :]
        likely = self.brains.modes(self.normalisers["strategist"]["summary"].apply(vectors))
        self._mode = int(self.brains.mode_of(likely))

    def _tactician(self, seen: Observation, steps: Steps, row: I64) -> None:
        if not self.brains.has_tactician:
            return
        log = ClickLog(np.array([i for i, _ in self._clicks], np.int64), np.array([t for _, t in self._clicks], np.int64))
        inputs = set_inputs(steps, row, log)
        norms = self.normalisers["tactician"]
        tracks, context = norms["tracks"].apply(inputs.tracks, inputs.present), norms["context"].apply(inputs.context)
        chosen = int(self.brains.targets(tracks, inputs.present, context, self._mode).argmax())
        self._target = int(inputs.ids[0, chosen]) if chosen < inputs.ids.shape[1] else NO_TARGET
        self._target_seen_ns = seen.time_ns

    def _executor(self, seen: Observation, steps: Steps, row: I64) -> Action:
        inputs = slot_inputs(steps, row)
        norms = self.normalisers["executor"]
        target = (inputs.ids == self._target) & inputs.present if self._target != NO_TARGET else np.zeros_like(inputs.present)
        cursor = seen.cursor
        out = self.brains.look(
            norms["slots"].apply(inputs.slots, inputs.present),
            inputs.present,
            inputs.boxes,
            norms["context"].apply(inputs.context),
            inputs.own,
            cursor,
            self._mode,
            target,
            self._going_on(inputs.ids[0], seen.time_ns),
            past_cursors(steps, row) if self.brains.sees_past_cursors else None,
        )
        if cursor is not None:
            self._motor.cursor = cursor
        point = (min(max(out.point[0], 0.0), 1.0), min(max(out.point[1], 0.0), 1.0))
        clicks, keys, way = out.clicks, out.keys, None
        if self._chunks is not None and out.plan is not None:
            now = self._chunks.tick(out.plan)
            keys, way = now.hazards[0].tolist(), now.path[0].tolist()
            clicks = keys[: len(clicks)]
            point = (float(now.point[0]), float(now.point[1]))
        onsets: list[str] = []
        # What is likely adds up and fades in every tick, as where the rules were tuned; a click is only made where the cursor has arrived.
        due = [(h, n) for h, n in zip(clicks, CLICKED, strict=True) if self._ready(n, h, seen.time_ns)]
        if due and self._motor.distance(point) <= self.settings.click_tolerance:
            onsets.append(self._click(max(due)[1], seen, point))
        if not onsets and out.intent >= self.settings.intent_threshold and self._rested(seen.time_ns):
            if self._reach is None and self.settings.reach_s > 0:
                on_track = out.choice < inputs.ids.shape[1]
                track_id = int(inputs.ids[0, out.choice]) if on_track else NO_TARGET
                self._reach = _Reach(track_id, None if on_track else point, seen.time_ns)
            self._motor.move(point if way is None else (way[0], way[1]), min(self._since_s(), 0.1), whole=way is not None)
        for i, name in enumerate(self._names):
            if name in CLICKED or name in self.holds:
                continue
            if self._fires(name, keys[i], seen.time_ns):
                onsets.append(name)
        wanted = {n for i, n in enumerate(self._names) if n in self.holds and out.held[i] > HELD_FROM}
        # A mouse button is never pressed but by a click: what was clicked may stay down.
        self._down = (self._down | set(onsets)) & wanted & set(CLICKED)
        held = (wanted - set(CLICKED)) | self._down
        x, y = self._motor.cursor
        return Action(x, y, tuple(onsets), frozenset(held | set(onsets)))

    def _rested(self, now: int) -> bool:
        return now - self._clicked_ns >= self.settings.click_pause_s * 1e9

    def _going_on(self, ids: Any, now: int) -> tuple[int, tuple[float, float] | None] | None:
        """The reach under way, as the Executor takes it; None when there is none, its track is gone or it took too long."""
        reach = self._reach
        if reach is None:
            return None
        slots = np.flatnonzero(ids == reach.track_id) if reach.point is None else np.array([len(ids)])
        if now - reach.since_ns > self.settings.reach_s * 1e9 or not len(slots):
            self._reach = None
            return None
        return int(slots[0]), reach.point

    def _click(self, name: str, seen: Observation, point: tuple[float, float]) -> str:
        """That button is pressed."""
        self._pressers[name].book(seen.time_ns)
        self._reach, self._clicked_ns = None, seen.time_ns
        if self._chunks is not None:
            self._chunks.forget()
        flat = under_point(self.profile, seen.tracks.classes, seen.tracks.boxes, *point)
        if flat >= 0:
            self._clicks.append((int(seen.tracks.ids[flat]), seen.time_ns))
        return name

    def _fires(self, name: str, hazard: float, now: int) -> bool:
        if not self._ready(name, hazard, now):
            return False
        self._pressers[name].book(now)
        return True

    def _ready(self, name: str, hazard: float, now: int) -> bool:
        scale = self.settings.click_scale if name == "mouse_left" else 1.0
        return self._pressers[name].tick(hazard, now, self._since_s(), scale)

    def _since_s(self) -> float:
        """Since the observation before; never over ``GAP_S``."""
        if len(self._past) < 2:
            return 0.05
        before, now = self._past.times_ns[-2:]
        return (now - before) / 1e9


def load_policy(path: Path | str, profile: GameProfile | None = None, settings: PolicySettings | None = None) -> Policy:
    """A policy from its bundle. Raises CheckpointError naming what is missing or does not fit, also of ``profile``, when the game that it
    is to fly or to be judged on is given: what sessions need to be learnt from together. Nothing is loaded in part."""
    folder = Path(path)
    _, own = read_policy(folder)
    if profile is not None and (why := differences(own, profile)):
        named = why if own.name == profile.name else why[:1]
        raise CheckpointError(
            f"{folder.name} was made for {own.name}; what is here does not fit it: {'; '.join(named)}; "
            f"choose a policy of this game, or train one: secondseat train all --game {profile.name}"
        )
    levels = {level: load(folder / level) for level in LEVELS}
    for level, found in levels.items():
        refuse_mismatch(found, own, level)
        _refuse_other_rules(found)
    try:
        return Policy(own, levels, folder.name, settings)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:  # making one only reads its cards
        raise CheckpointError(f"{folder}: what its cards say of how it flies cannot be read ({error!r}); train it again") from error


def load_arena_policy(path: Path) -> Policy:
    """A policy that is to play in the arena. Raises ValueError for one of another game, with what to do instead, and CheckpointError as
    ``load_policy``."""
    _, own = read_policy(path)
    if own.name != ARENA_PROFILE.name:
        raise ValueError(
            f"{path.name} plays {own.name}, not the arena: judge it on play that it has not learnt from: "
            f"secondseat evaluate --policy {path.name} --no-fly --session SESSION"
        )
    return load_policy(path, ARENA_PROFILE)


def _refuse_other_rules(found: Checkpoint) -> None:
    made = found.card.get("rules_version")
    if made is None:
        return
    from league.arena.skirmish import RULES_VERSION

    if made != RULES_VERSION:
        raise CheckpointError(f"{found.path}: learnt by arena rules {made}, here they are {RULES_VERSION}; record anew and train it again")


def _normalisers(level: str, card: dict[str, Any], profile: GameProfile) -> dict[str, Normaliser]:
    """Of a level's inputs. Raises ValueError for one that would make numbers of features that are none."""
    found = {name: Normaliser.from_json(values) for name, values in card["normaliser"].items()}
    for name, features in _INPUTS[level].items():
        one, wanted = found[name], len(features(profile))
        if one.mean.shape != (wanted,) or one.std.shape != (wanted,):
            raise ValueError(f"normaliser of {name}: {one.mean.shape} and {one.std.shape} for {wanted} features")
        if not np.isfinite(one.mean).all() or not np.isfinite(one.std).all() or not (one.std > 0).all():
            raise ValueError(f"normaliser of {name}: not finite, or a scale of 0")
    return found


_INPUTS: Final[dict[str, dict[str, Callable[[GameProfile], tuple[Feature, ...]]]]] = {
    "strategist": {"summary": summary_features},
    "tactician": {"tracks": set_features, "context": set_context_features},
    "executor": {"slots": slot_features, "context": context_features},
}
"""The features of each input of each level."""


__all__ = [
    "CheckpointError",
    "Policy",
    "PolicyDecision",
    "PolicySettings",
    "fit_tensors",
    "load_arena_policy",
    "load_policy",
]

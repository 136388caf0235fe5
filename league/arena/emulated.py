"""Perception without pixels: observations made straight from the world, exact or as faulty as a detector's.

``TruthObserver`` shows exactly what is visible. ``EmulatedObserver`` adds what a detector and tracker add: misses,
noise, latency, changed ids, false finds, velocities from a filter over noisy places, tracks that are followed for a while
unseen: by default what was measured on the shipped detector and tracker (``measured_settings``). Both follow one world; a world
that starts over (its tick went back) starts them over.
"""

from __future__ import annotations

import functools
import json
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data.profile import ARENA_PROFILE, GameProfile
from data.schema import Observation, Status, Tracks
from league.arena import sizes
from league.arena.truth import Objects, objects
from league.arena.world import WorldState

_PICTURE = np.array([sizes.MAP_WIDTH_PX, sizes.MAP_HEIGHT_PX], np.float32)
_SIX = np.concatenate([_PICTURE, _PICTURE, _PICTURE])
_ID, _CLASS, _HITS, _BORN, _SEEN, _SURE = range(6)
_SET_ANEW = np.array([name in ("lock", "mark") for name in sizes.CLASSES])
_STILL = np.array([name in ("loot", "cache", "rock", "portal", "mark") for name in sizes.CLASSES])
Cursor = tuple[float, float] | None


def exact_status(state: WorldState, i: int) -> Status:
    """The gauges, icons and cooldowns of seat 0 in world ``i``, without any reading error."""
    cooldowns = state.ship_cooldowns[i, 0].tolist()
    return Status(
        levels={
            "hp": float(state.ship_hp[i, 0]),
            "shield": float(state.ship_shield[i, 0]),
            "heavy_ammo": float(state.ship_heavy[i, 0]),
        },
        flags={"locked": bool(state.ship_lock[i, 0] >= 0), "firing": bool(state.ship_firing[i, 0])},
        choices={"ammo": int(state.ship_ammo[i, 0])},
        cooldowns={"repair": cooldowns[0], "boost": cooldowns[1], "jam": cooldowns[2]},
    )


def _check_profile(profile: GameProfile) -> None:
    if profile.class_names() != sizes.CLASSES:
        raise ValueError(f"games.{profile.name} classes: the arena shows {sizes.CLASSES}, the profile has {profile.class_names()}")


class TruthObserver:
    """Exact observations of one world."""

    def __init__(self, profile: GameProfile = ARENA_PROFILE) -> None:
        _check_profile(profile)
        self._born_ns: dict[int, int] = {}
        self._last_tick = -1
        self._frame_number = 0

    def observe(self, state: WorldState, i: int, time_ns: int, cursor: Cursor) -> Observation:
        """World ``i`` as it is now. ``cursor`` in 0..1, None when unknown."""
        if state.tick[i] < self._last_tick:
            self._born_ns.clear()
        self._last_tick = int(state.tick[i])
        seen = objects(state, i)
        ids = seen.ids.tolist()
        born = self._born_ns
        self._born_ns = born = {k: born.get(k, time_ns) for k in ids}
        ages = np.array([time_ns - born[k] for k in ids], np.float64) / 1e9
        count = len(ids)
        tracks = Tracks(
            ids=seen.ids,
            classes=seen.classes,
            boxes=seen.boxes(),
            confidences=np.ones(count, np.float32),
            velocities=seen.velocities(),
            ages_s=ages.astype(np.float32),
            unseen_s=np.zeros(count, np.float32),
        )
        self._frame_number += 1
        return Observation(time_ns, time_ns, self._frame_number - 1, exact_status(state, i), tracks, cursor)


@dataclass(frozen=True, slots=True)
class PerceptionSettings:
    """How faulty the emulated detector and tracker are. Shares are per object and observation. The defaults are those of a good
    detector; ``measured_settings`` are the shipped one's."""

    miss: dict[str, float] = field(
        default_factory=lambda: {
            "self": 0.012,
            "drone": 0.002,
            "raider": 0.002,
            "mender": 0.002,
            "bomber": 0.002,
            "hunter": 0.002,
            "loot": 0.011,
            "cache": 0.002,
            "rock": 0.002,
            "portal": 0.007,
            "shot": 0.29,
            "hostile_shot": 0.28,
            "lock": 0.002,
            "mark": 0.26,
        }
    )
    """Share of visible objects not found, by class; a class not named is always found."""
    centre_px: float = 0.6
    """Standard deviation of a box's centre, px at 1x."""
    size_px: float = 0.6
    """Standard deviation of a box's width and height, px at 1x."""
    latency_ticks: int = 1
    """Observations between a picture and the one it is seen in."""
    id_switch: float = 0.001
    """Share of followed objects that get a new id."""
    false_positives: float = 0.13
    """Expected number of things seen that are not there."""
    confirm_hits: int = 2
    """Detections before a track is shown."""
    sure: dict[str, float] = field(default_factory=dict[str, float])
    """Share of new things that the detector is so sure of that their tracks are shown at once, by class; of a class not named none."""
    coast_s: float = 0.3
    """A track not found is followed on along its velocity for so long, and found again has its id."""
    coasts_s: dict[str, float] = field(default_factory=lambda: {"shot": 0.06, "hostile_shot": 0.06, "lock": 0.2, "mark": 0.1})
    """The same for classes of which the tracker thinks otherwise."""
    shown_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys(sizes.CLASSES, 0.05) | {"self": 0.3})
    """For so long of that it is shown, by class; of a class not named only what was found is."""
    jump_px: float = 60.0
    """A thing that moved farther between observations is taken for a new one."""
    alpha: float = 0.6
    """Smallest gain of the tracker's filter on places."""
    beta: float = 0.35
    """Smallest gain on velocities of what moves, so that they are about as far off as the real tracker's
    (``benchmarks/tracking.py``)."""
    beta_still: float = 0.05
    """The same for loot, caches, rocks, portals and marks, which a tracker knows to stand still."""
    level_noise: float = 0.006
    """Standard deviation of gauge readings."""
    missing: float = 0.001
    """Share of readings that could not be read."""
    wrong_flag: float = 0.001
    """Share of flags and choices read wrong."""


@functools.cache
def measured_settings() -> PerceptionSettings:
    """What ``benchmarks/eyes.py --write-emulation`` measured on the shipped detector and tracker."""
    measured = json.loads((Path(__file__).parent / "assets" / "perception.json").read_text("utf-8"))["settings"]
    return PerceptionSettings(**measured)


class EmulatedObserver:
    """Faulty observations of one world, reproducible by ``seed``."""

    def __init__(self, settings: PerceptionSettings | None = None, seed: int = 0, profile: GameProfile = ARENA_PROFILE) -> None:
        _check_profile(profile)
        self.settings = settings if settings is not None else measured_settings()
        for name in ("miss", "sure", "coasts_s", "shown_s"):
            if unknown := sorted(set(getattr(self.settings, name)) - set(sizes.CLASSES)):
                raise ValueError(f"emulated perception, {name}: no class {', '.join(unknown)}; there are {', '.join(sizes.CLASSES)}")
        if self.settings.latency_ticks < 0:
            raise ValueError(f"emulated perception, latency_ticks: {self.settings.latency_ticks}; a picture is not seen before it is drawn")
        s = self.settings
        self._miss = np.array([s.miss.get(name, 0.0) for name in sizes.CLASSES], np.float32)
        self._sure = np.array([s.sure.get(name, 0.0) for name in sizes.CLASSES], np.float32)
        self._coast_ns = np.array([s.coasts_s.get(name, s.coast_s) * 1e9 for name in sizes.CLASSES])
        self._shown_ns = np.array([s.shown_s.get(name, 0.0) * 1e9 for name in sizes.CLASSES])
        self._rng = np.random.default_rng(seed)
        self._last_tick = -1
        self._frame_number = 0
        self._next_id = 1
        self._clear()

    def _clear(self) -> None:
        self._past: deque[tuple[Objects, Status, int]] = deque(maxlen=self.settings.latency_ticks + 1)
        self._true_ids = np.zeros(0, np.int64)  # sorted
        self._whole = np.zeros((0, 6), np.int64)  # columns ID, CLASS, HITS, BORN and SEEN in ns, SURE
        self._real = np.zeros((0, 6), np.float32)  # box px, velocity px/s
        self._filtered_ns = 0

    def observe(self, state: WorldState, i: int, time_ns: int, cursor: Cursor) -> Observation:
        """World ``i`` as the emulated eyes see it now. ``cursor`` in 0..1 is passed through."""
        if state.tick[i] < self._last_tick:
            self._clear()
        self._last_tick = int(state.tick[i])
        self._past.append((objects(state, i), exact_status(state, i), time_ns))
        seen, status, frame_time_ns = self._past[0]
        self._follow(seen, frame_time_ns)
        self._frame_number += 1
        return Observation(time_ns, frame_time_ns, self._frame_number - 1, self._read(status), self._tracks(frame_time_ns), cursor)

    def _follow(self, seen: Objects, now_ns: int) -> None:
        """One tracker update: predict, match by the true id, correct, begin and end tracks."""
        s, rng = self.settings, self._rng
        dt_s = max((now_ns - self._filtered_ns) / 1e9, 1e-3) if self._filtered_ns else 0.05
        self._filtered_ns = now_ns
        found = (rng.random(len(seen.ids), np.float32) >= self._miss[seen.classes]).nonzero()[0]
        found = found[np.argsort(seen.ids[found])]
        true_ids = seen.ids[found].astype(np.int64)
        measured = seen.boxes_px[found].copy()
        noise = rng.standard_normal((len(found), 4), np.float32)
        measured[:, :2] += noise[:, :2] * s.centre_px
        measured[:, 2:] = np.maximum(measured[:, 2:] + noise[:, 2:] * s.size_px, 2.0)

        self._real[:, :2] += self._real[:, 4:] * np.float32(dt_s)
        at = np.searchsorted(self._true_ids, true_ids)
        known = np.append(self._true_ids, -1)[at] == true_ids
        old, row = at[known], known.nonzero()[0]
        self._correct(old, measured[row], dt_s, now_ns)

        new = (~known).nonzero()[0]
        keep = (now_ns - self._whole[:, _SEEN]) <= self._coast_ns[self._whole[:, _CLASS]]
        if len(new) == 0 and keep.all():
            return
        whole = np.empty((len(new), 6), np.int64)
        whole[:, _ID], whole[:, _CLASS], whole[:, _HITS] = self._fresh(len(new)), seen.classes[found[new]], 1
        whole[:, _BORN] = whole[:, _SEEN] = now_ns
        whole[:, _SURE] = rng.random(len(new), np.float32) < self._sure[whole[:, _CLASS]]
        anew = whole[(whole[:, _SURE] > 0) & _SET_ANEW[whole[:, _CLASS]], _CLASS]
        if len(anew):  # set elsewhere: what is not seen any more was taken away
            keep &= ~np.isin(self._whole[:, _CLASS], anew) | (self._whole[:, _SEEN] == now_ns)
        real = np.zeros((len(new), 6), np.float32)
        real[:, :4] = measured[new]
        joined = np.concatenate([self._true_ids[keep], true_ids[new]])
        order = joined.argsort(kind="stable")
        self._true_ids = joined[order]
        self._whole = np.concatenate([self._whole[keep], whole])[order]
        self._real = np.concatenate([self._real[keep], real])[order]

    def _correct(self, old: NDArray[np.int64], measured: NDArray[np.float32], dt_s: float, now_ns: int) -> None:
        """Correct tracks ``old`` by what was measured; those that jumped, or whose id is lost, begin anew."""
        s = self.settings
        whole, real = self._whole[old], self._real[old]
        # What was missed for some pictures has gone on since it was last seen, not since the picture before.
        since_s = np.maximum((now_ns - whole[:, _SEEN]) / 1e9, dt_s).astype(np.float32)[:, None]
        whole[:, _HITS] += 1
        whole[:, _SEEN] = now_ns
        n = whole[:, _HITS].astype(np.float32)
        # Growing-memory gains (a straight line fitted to the first places), then a fading memory.
        gain = 2.0 / (n * (n + 1.0))
        alpha = np.maximum(gain * (2.0 * n - 1.0), s.alpha)[:, None]
        beta = np.maximum(gain * 3.0, np.where(_STILL[whole[:, _CLASS]], s.beta_still, s.beta))[:, None]
        residual = measured[:, :2] - real[:, :2]
        anew = (np.abs(residual).max(axis=1, initial=0.0) > s.jump_px) | (self._rng.random(len(old)) < s.id_switch)
        real[:, :2] += alpha * residual
        real[:, 2:4] += 0.5 * (measured[:, 2:] - real[:, 2:4])
        real[:, 4:] += beta * residual / since_s
        if anew.any():
            whole[anew, _ID] = self._fresh(int(anew.sum()))
            whole[anew, _HITS] = s.confirm_hits
            whole[anew, _BORN] = now_ns
            real[anew, :4] = measured[anew]
            real[anew, 4:] = 0.0
        self._whole[old], self._real[old] = whole, real

    def _fresh(self, count: int) -> NDArray[np.int64]:
        self._next_id += count
        return np.arange(self._next_id - count, self._next_id, dtype=np.int64)

    def _tracks(self, now_ns: int) -> Tracks:
        rng, s = self._rng, self.settings
        begun = (self._whole[:, _HITS] >= s.confirm_hits) | (self._whole[:, _SURE] > 0)
        shown = (begun & (now_ns - self._whole[:, _SEEN] <= self._shown_ns[self._whole[:, _CLASS]])).nonzero()[0]
        whole, real = self._whole[shown], self._real[shown]
        unseen_s = (now_ns - whole[:, _SEEN]) / 1e9
        confidences = np.minimum(np.maximum(0.88 + 0.06 * rng.standard_normal(len(shown)), 0.3), 0.99) * np.exp(-2.0 * unseen_s)
        ghosts = int(rng.poisson(s.false_positives))
        if ghosts:
            ghost_classes = rng.choice([sizes.DRONE, sizes.LOOT, sizes.SHOT, sizes.HOSTILE_SHOT], ghosts).astype(np.int32)
            sides = np.array([sizes.BOX_PX[sizes.CLASSES[c]] for c in ghost_classes], np.float32)
            places = rng.random((ghosts, 2), np.float32) * _PICTURE
            more = np.zeros((ghosts, 6), np.int64)
            more[:, _ID], more[:, _CLASS], more[:, _BORN] = self._fresh(ghosts), ghost_classes, now_ns
            whole = np.concatenate([whole, more])
            real = np.concatenate([real, np.column_stack([places, sides, sides, np.zeros((ghosts, 2), np.float32)])])
            unseen_s = np.concatenate([unseen_s, np.zeros(ghosts)])
            confidences = np.concatenate([confidences, rng.uniform(0.3, 0.6, ghosts)])
        shares = real / _SIX
        return Tracks(
            ids=whole[:, _ID].astype(np.int32),
            classes=whole[:, _CLASS].astype(np.int32),
            boxes=shares[:, :4].copy(),
            confidences=confidences.astype(np.float32),
            velocities=shares[:, 4:].copy(),
            ages_s=((now_ns - whole[:, _BORN]) / 1e9).astype(np.float32),
            unseen_s=unseen_s.astype(np.float32),
        )

    def _read(self, true: Status) -> Status:
        """The status with reading errors."""
        s = self.settings
        luck = iter(self._rng.random(24).tolist())
        noise = iter((self._rng.standard_normal(6) * s.level_noise).tolist())

        def read(value: float | None) -> float | None:
            error = next(noise)
            return None if value is None or next(luck) < s.missing else min(max(value + error, 0.0), 1.0)

        levels = {name: read(value) for name, value in true.levels.items()}
        cooldowns = {name: read(value) for name, value in true.cooldowns.items()}
        flags = {n: None if next(luck) < s.missing else v != (next(luck) < s.wrong_flag) for n, v in true.flags.items()}
        choices: dict[str, int | None] = {}
        for name, value in true.choices.items():
            wrong = value is not None and next(luck) < s.wrong_flag
            choices[name] = None if next(luck) < s.missing else (value % 3 + 1 if wrong and value else value)
        return Status(levels, flags, choices, cooldowns)

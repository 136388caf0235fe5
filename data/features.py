"""Features: what the three levels of a policy are given, by name, in order, with units and ranges.

One code path serves training and live flight: every function takes ``Steps`` and row numbers. In training the rows
are a session's; live, ``engine.policy`` puts the few observations that matter into ``Steps`` and asks for the last row.

Legend: R rows asked for, D features of a vector, P tracks of a row, K slots, L lags of the Executor's history.
Distances are in picture widths (y is scaled by the picture's height / width), so that a circle stays a circle.
Nothing here is a past action, but for ``since_click``, the Tactician's time since a track was last clicked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.class_tables import GOALS
from data.profile import GameProfile
from data.relations import Scene, bounded, codes, in_frame, low_hp, nearness, nearness_to, of_danger, of_loot, of_mark
from data.steps import Steps
from data.track_lookup import ClickLog, TrackIndex, lag_rows, pick_tracks, take
from data.vocabulary import MODES, ROLES

FEATURE_VERSION: Final = 4
"""Grows with any change of names, order, units or meaning below. A checkpoint of another version is refused."""

LAGS_S: Final = (0.0, 0.1, 0.2, 0.4, 0.8)
"""The moments of the Executor's history, before now."""
ANSWERED_S: Final = 0.2
"""What a person does now answers what stood in the picture so long ago: the Strategist sees both."""
SLOTS: Final = 12
"""Tracks the Executor sees, each in a slot of its own over the whole history."""
SET_TRACKS: Final = 32
"""Tracks the Tactician chooses from."""
UNKNOWN_MODE: Final = len(MODES)
"""The mode code the networks are given when no mode is known."""
_BEFORE_CLASSES: Final = 21
"""Features of a track that are not about its class or role."""
_LOW: Final = np.array([-2, -2, 0, -0.5, -0.5, -2, -2, -2, 0, 0, 0, -np.inf, 0], np.float32)
_HIGH: Final = np.array([2, 2, np.inf, 1.5, 1.5, 2, 2, 2, 1, 1, 1, np.inf, 2], np.float32)
"""Bounds of the first features of a track."""
HIDING_SCALE: Final = 1e9
"""A feature divided by this is no feature any more."""

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Feature:
    """One number: its name, unit and the range it is expected in (values are clipped to it where they are made)."""

    name: str
    unit: str = "1"
    low: float = 0.0
    high: float = 1.0


def status_features(profile: GameProfile) -> tuple[Feature, ...]:
    """Gauges, flags, choices (one-hot) and cooldowns; each followed by whether it could not be read."""
    found: list[Feature] = []
    for name in profile.level_names():
        found += [Feature(f"level.{name}"), Feature(f"level.{name}.missing")]
    for name in profile.flag_names():
        found += [Feature(f"flag.{name}"), Feature(f"flag.{name}.missing")]
    for name, size in profile.choice_sizes().items():
        found += [Feature(f"choice.{name}.{i + 1}") for i in range(size)] + [Feature(f"choice.{name}.missing")]
    for name in profile.cooldown_names():
        found += [Feature(f"cooldown.{name}"), Feature(f"cooldown.{name}.missing")]
    return tuple(found)


def summary_features(profile: GameProfile) -> tuple[Feature, ...]:
    """The Strategist's picture of one second: what there is now, what there was ``ANSWERED_S`` before, and how gauges changed."""
    now = _moment_features(profile)
    before = (Feature(f"{f.name}@{ANSWERED_S}s", f.unit, f.low, f.high) for f in now)
    return (*now, *before, *(Feature(f"change.{name}", "1/s", -1, 1) for name in profile.level_names()))


def _moment_features(profile: GameProfile) -> tuple[Feature, ...]:
    """What there is in one row of a summary."""
    found = list(status_features(profile))
    found += [Feature("self.x"), Feature("self.y"), Feature("self.missing")]
    found += [Feature("self.vx", "1/s", -1, 1), Feature("self.vy", "1/s", -1, 1)]
    for name in profile.class_names():
        found += [Feature(f"count.{name}", "tracks/8", 0, 4), Feature(f"near.{name}", "exp(-widths/0.25)")]
    found += [Feature("enemy.dx", "widths", -1, 1), Feature("enemy.dy", "widths", -1, 1), Feature("enemy.closing", "widths/s", -2, 2)]
    found += [Feature("enemy.threats", "tracks/4", 0, 4), Feature("lock.present"), Feature("lock.near", "exp(-widths/0.25)")]
    found += [Feature(f"lock.{c.name}") for c in profile.classes if c.role == "enemy"]
    found += [Feature(f"unlocked.{c.name}", "exp(-widths/0.25)") for c in profile.classes if c.role == "enemy"]
    found += [Feature("danger.near", "exp(-widths/0.25)"), Feature("danger.closing", "widths/s", -2, 2), Feature("danger.threat")]
    for c in profile.classes:
        if c.role == "loot":
            found += [Feature(f"{c.name}.with_lock", "exp(-widths/0.25)"), Feature(f"{c.name}.danger", "exp(-widths/0.25)")]
    found += [Feature("mark.dx", "widths", -1, 1), Feature("mark.dy", "widths", -1, 1), Feature("mark.away", "widths", -1, 1)]
    found += [Feature(f"mark.on.{c.name}") for c in profile.classes if c.role in GOALS]
    return (*found, Feature("low.hp"))


def track_features(profile: GameProfile) -> tuple[Feature, ...]:
    """One track as the Tactician sees it, and the part of a slot that is about now. ``along`` and ``across`` are in the frame
    that looks from the track to the ship: on which side the picture's middle lies, and which way the ship goes round it."""
    found = [
        Feature("dx", "widths", -2, 2),
        Feature("dy", "widths", -2, 2),
        Feature("near", "exp(-widths/0.25)"),
        Feature("x", "1", -0.5, 1.5),
        Feature("y", "1", -0.5, 1.5),
        Feature("vx", "widths/s", -2, 2),
        Feature("vy", "widths/s", -2, 2),
        Feature("closing", "widths/s", -2, 2),
        Feature("width"),
        Feature("height"),
        Feature("confidence"),
        Feature("age", "1 - exp(-s/2)"),
        Feature("unseen", "s", 0, 2),
        Feature("locked"),
        Feature("marked"),
        Feature("to_lock", "exp(-widths/0.25)"),
        Feature("to_danger", "exp(-widths/0.25)"),
        Feature("centre.along", "widths", -1, 1),
        Feature("centre.across", "widths", -1, 1),
        Feature("own.along", "widths/s", -1, 1),
        Feature("own.across", "widths/s", -1, 1),
    ]
    found += [Feature(f"class.{name}") for name in profile.class_names()]
    found += [Feature(f"role.{name}") for name in ROLES]
    return tuple(found)


def set_features(profile: GameProfile) -> tuple[Feature, ...]:
    """A track of the Tactician's set."""
    return (*track_features(profile), Feature("since_click", "exp(-s/2)"))


def slot_features(profile: GameProfile) -> tuple[Feature, ...]:
    """A slot of the Executor: the track now, then where it was at each earlier lag (from where the ship is now)."""
    found = list(track_features(profile))
    for lag in LAGS_S[1:]:
        found += [Feature(f"dx.{lag}s", "widths", -2, 2), Feature(f"dy.{lag}s", "widths", -2, 2), Feature(f"missing.{lag}s")]
    return tuple(found)


def context_features(profile: GameProfile) -> tuple[Feature, ...]:
    """What the Executor knows beside its slots: status at every lag, where the ship is, what there is in all."""
    found = [Feature(f"{f.name}@{lag}s", f.unit, f.low, f.high) for lag in LAGS_S for f in status_features(profile)]
    found += [Feature("self.x"), Feature("self.y"), Feature("self.missing")]
    return (*found, *(Feature(f"count.{name}", "tracks/8", 0, 4) for name in profile.class_names()))


def set_context_features(profile: GameProfile) -> tuple[Feature, ...]:
    """What the Tactician knows beside its set."""
    return (*status_features(profile), Feature("self.x"), Feature("self.y"), Feature("self.missing"))


def status_vectors(steps: Steps, rows: I64) -> F32:
    """[R, D] of ``status_features``; a row of -1 gives "all missing"."""
    gone = (rows < 0)[:, None]
    at = np.maximum(rows, 0)
    parts: list[NDArray[Any]] = [_with_missing(steps.levels[at], gone), _with_missing(steps.flags[at], gone)]
    for i, size in enumerate(steps.profile.choice_sizes().values()):
        values = steps.choices[at, i : i + 1]
        missing = np.isnan(values) | gone
        parts += [~missing & (values == np.arange(1, size + 1)), missing]
    parts.append(_with_missing(steps.cooldowns[at], gone))
    return np.concatenate(parts, axis=1, dtype=np.float32)


def _with_missing(values: F32, gone: Bool) -> F32:
    """[R, 2 N] each value in 0..1 followed by whether it is missing (then 0)."""
    missing = np.isnan(values) | gone
    found = np.empty((*values.shape, 2), np.float32)
    found[..., 0] = bounded(np.where(missing, np.float32(0), values), 1, 0)
    found[..., 1] = missing
    return found.reshape(len(values), -1)


def summary_vectors(steps: Steps, rows: I64) -> F32:
    """[R, D] of ``summary_features`` with the changes still 0; ``summary_sequence`` fills them in. Where nothing is known of the moment
    before, it was as it is now."""
    before = lag_rows(steps, rows, (ANSWERED_S,))[:, 0]
    both = _moment_vectors(steps, np.concatenate([rows, np.where(before >= 0, before, rows)]))
    changes = np.zeros((len(rows), len(steps.profile.level_names())), np.float32)
    return np.concatenate([both[: len(rows)], both[len(rows) :], changes], axis=1)


def _moment_vectors(steps: Steps, rows: I64) -> F32:
    """[R, D] of ``_moment_features``."""
    profile = steps.profile
    scene = Scene(steps, pick_tracks(steps, rows, None))
    distance, locked, count = scene.distance, scene.locked, len(rows)
    classes = np.where(scene.here, scene.classes, -1)
    # [R, C, P] which tracks are of which class.
    mine = classes[:, None] == np.arange(len(profile.classes))[:, None]
    nearest = np.where(mine, distance[:, None], np.inf).min(2, initial=np.inf)
    each = np.stack([np.minimum(mine.sum(2) / 8.0, 4.0), nearness(nearest)], axis=2).reshape(count, -1)
    parts: list[NDArray[Any]] = [
        status_vectors(steps, rows), scene.own, scene.own_missing[:, None], bounded(scene.own_velocity, 1), each,
    ]  # fmt: skip
    enemies = codes(profile, "enemy")
    enemy: Bool = mine[:, enemies].any(1)
    enemy_distance = np.where(enemy, distance, np.inf)
    if scene.near.shape[1]:
        any_enemy = np.asarray(enemy.any(1), np.bool_)
        pick = scene.rows, enemy_distance.argmin(1)
        direction = np.where(any_enemy[:, None], scene.relative[pick], 0.0)
        closing = np.where(any_enemy, scene.closing[pick], 0.0)
    else:
        direction, closing = np.zeros((count, 2)), np.zeros(count)
    threats = (enemy_distance < profile.threat_range).sum(1)
    lock_distance = np.where(locked, distance, np.inf).min(1, initial=np.inf)
    parts += [bounded(direction, 1), closing[:, None], np.minimum(threats / 4.0, 4.0)[:, None]]
    parts += [np.asarray(locked.any(1), np.bool_)[:, None], nearness(lock_distance)[:, None]]
    parts += [(locked[:, None] & mine[:, enemies]).any(2)]
    parts += [nearness(np.where(mine[:, enemies] & ~locked[:, None], distance[:, None], np.inf).min(2, initial=np.inf))]
    parts += [of_danger(scene)]
    parts += [of_loot(scene, mine[:, code]) for code in codes(profile, "loot")]
    parts += [of_mark(scene, enemy_distance), low_hp(steps, rows)]
    return np.concatenate([p.astype(np.float32) for p in parts], axis=1)


def summary_sequence(profile: GameProfile, vectors: F32, times_ns: I64) -> F32:
    """Fills the ``change.*`` features of summaries in time order (about one a second); 0 over a gap of 2.5 s or more."""
    done = vectors.copy()
    names = profile.level_names()
    if len(vectors) > 1 and names:
        seconds = np.diff(times_ns) / 1e9
        usable = (seconds > 0.05) & (seconds < 2.5)
        for i in range(len(names)):
            level, missing = vectors[:, 2 * i], vectors[:, 2 * i + 1] > 0
            known = usable & ~missing[1:] & ~missing[:-1]
            rate = np.where(known, np.diff(level) / np.maximum(seconds, 0.05), 0.0)
            done[1:, vectors.shape[1] - len(names) + i] = np.clip(rate, -1, 1)
    return done


@dataclass(frozen=True, slots=True)
class SetInputs:
    """The Tactician's inputs. tracks [R, 32, D], present [R, 32], ids int32 [R, 32] (-1 none), context [R, D]."""

    tracks: F32
    present: Bool
    ids: NDArray[np.int32]
    context: F32


def set_inputs(steps: Steps, rows: I64, clicks: ClickLog, limit: int = SET_TRACKS) -> SetInputs:
    """The tracks to choose from at each row. ``clicks`` holds the clicks made so far; only earlier ones count."""
    scene = Scene(steps, pick_tracks(steps, rows, limit))
    ids = _ids(scene)
    since = clicks.since(ids, steps.time_ns[rows])
    features = _now(scene, 1)
    features[..., -1] = np.where(scene.here, np.exp(-since / 2.0), 0.0)
    context = np.concatenate([status_vectors(steps, rows), scene.own, scene.own_missing[:, None]], axis=1)
    return SetInputs(features, scene.here, ids, context)


@dataclass(frozen=True, slots=True)
class SlotInputs:
    """The Executor's inputs. slots [R, K, D], present [R, K], ids int32 [R, K] (-1 none), boxes [R, K, 4] now,
    context [R, D], own [R, 2] the ship's position, cursor [R, 2] with NaN where it is unknown."""

    slots: F32
    present: Bool
    ids: NDArray[np.int32]
    boxes: F32
    context: F32
    own: F32
    cursor: F32


def slot_inputs(steps: Steps, rows: I64, index: TrackIndex | None = None, limit: int = SLOTS) -> SlotInputs:
    """The last 0.8 s of status and of the nearest tracks. Slots keep their track over the history, by its id."""
    index = index or TrackIndex(steps)
    scene = Scene(steps, pick_tracks(steps, rows, limit))
    here, ids, own, count = scene.here, _ids(scene), scene.own, len(rows)
    past = lag_rows(steps, rows, LAGS_S)
    lags = len(LAGS_S) - 1
    slots = _now(scene, 3 * lags)
    history = slots[..., slots.shape[2] - 3 * lags :].reshape(count, limit, lags, 3)
    then = index.find_at(past[:, 1:], ids)
    seen = then >= 0
    away = (take(steps.track_boxes, np.maximum(then, 0))[..., :2] - own[:, None, None, :]) * scene.tables.scale
    history[..., :2] = np.where(seen[..., None], bounded(away, 2), 0.0)
    history[..., 2] = ~seen & here[..., None]
    status = status_vectors(steps, past.ravel()).reshape(count, -1)
    context = np.concatenate([status, own, scene.own_missing[:, None], _counts(steps, rows)], axis=1)
    boxes = np.where(here[..., None], scene.boxes, np.float32(0.0))
    return SlotInputs(slots, here, ids, boxes, context, own, steps.cursor[rows])


def past_cursors(steps: Steps, rows: I64) -> F32:
    """[R, L - 1, 2] where the cursor was 0.1 to 0.8 s (``LAGS_S``) before each row, in 0..1; where it is now, when that is not known."""
    past = lag_rows(steps, rows, LAGS_S[1:])
    then, now = steps.cursor[np.maximum(past, 0)], steps.cursor[rows][:, None]
    return np.where((past >= 0)[..., None] & np.isfinite(then).all(-1, keepdims=True), then, now).astype(np.float32)


class Normaliser:
    """Mean and scale of each feature of one input, fitted on the training split only.

    A feature that never varies is centred and left unscaled, so it is never divided by (almost) zero. Features that
    are 0 or 1 by nature pass through the same rule.
    """

    def __init__(self, mean: Any, std: Any) -> None:
        self.mean = np.asarray(mean, np.float32)
        self.std = np.asarray(std, np.float32)

    @staticmethod
    def fit(values: F32, present: Bool | None = None) -> Normaliser:
        """From values [..., D]; only where ``present`` [...] when that is given."""
        rows = values[present] if present is not None else values.reshape(-1, values.shape[-1])
        if not len(rows):
            return Normaliser(np.zeros(values.shape[-1]), np.ones(values.shape[-1]))
        wide = np.asarray(rows, np.float64)
        mean = np.asarray(wide.mean(0), np.float64)
        std = np.asarray(wide.std(0), np.float64)
        return Normaliser(mean, np.where(std < 1e-4, 1.0, np.maximum(std, 0.05)))

    def hiding(self, hidden: Bool) -> Normaliser:
        """The same, with the features ``hidden`` [D] always (almost) 0, in flight as in training."""
        return Normaliser(self.mean, np.where(hidden, HIDING_SCALE, self.std))

    def apply(self, values: F32, present: Bool | None = None) -> F32:
        """Normalised, clipped to +-6; absent entries are 0."""
        done = values - self.mean
        done /= self.std
        np.minimum(np.maximum(done, np.float32(-6), out=done), np.float32(6), out=done)
        if present is not None:
            done *= present[..., None]
        return done.astype(np.float32, copy=False)

    def to_json(self) -> dict[str, list[float]]:
        return {"mean": [float(v) for v in self.mean], "std": [float(v) for v in self.std]}

    @staticmethod
    def from_json(values: dict[str, list[float]]) -> Normaliser:
        return Normaliser(np.array(values["mean"]), np.array(values["std"]))


def _counts(steps: Steps, rows: I64) -> F32:
    """[R, classes] how many tracks of each class a row has, in eighths, at most 4."""
    everything = pick_tracks(steps, rows, None)
    classes = np.where(everything >= 0, take(steps.track_classes, np.maximum(everything, 0)), -1)
    found = (classes[:, None] == np.arange(len(steps.profile.classes))[:, None]).sum(2)
    return np.minimum(found / 8.0, 4.0).astype(np.float32)


def _ids(scene: Scene) -> NDArray[np.int32]:
    return np.where(scene.here, take(scene.steps.track_ids, scene.flat), -1).astype(np.int32)


def _now(scene: Scene, more: int) -> F32:
    """``track_features`` of picked tracks [R, K, D + ``more``]; those of no track are 0, those to be filled in are not."""
    steps, flat, profile, relative, boxes = scene.steps, scene.flat, scene.profile, scene.relative, scene.boxes
    classes = len(profile.classes)
    size = _BEFORE_CLASSES + classes + len(ROLES)
    found = np.empty((*scene.near.shape, size + more), np.float32)
    features = found[..., :size]
    features[..., 0:2] = relative
    features[..., 2] = nearness(scene.distance)
    features[..., 3:5] = boxes[..., :2]
    features[..., 5:7] = scene.velocities * scene.tables.scale
    features[..., 7] = scene.closing
    features[..., 8:10] = boxes[..., 2:]
    features[..., 10] = take(steps.track_confidences, flat)
    features[..., 11] = 1 - np.exp(-take(steps.track_ages_s, flat) / 2)
    features[..., 12] = take(steps.track_unseen_s, flat)
    np.maximum(features[..., :13], _LOW, out=features[..., :13])
    np.minimum(features[..., :13], _HIGH, out=features[..., :13])
    features[..., 13] = scene.locked
    features[..., 14] = scene.marked
    features[..., 15] = nearness_to(relative, scene.locked)
    features[..., 16] = nearness_to(relative, scene.dangerous)
    features[..., 17:_BEFORE_CLASSES] = in_frame(scene)
    features[..., _BEFORE_CLASSES : _BEFORE_CLASSES + classes] = scene.classes[..., None] == np.arange(classes)
    features[..., _BEFORE_CLASSES + classes :] = scene.roles[..., None] == np.arange(len(ROLES))
    features *= scene.here[..., None]
    return found


def mirror(features: tuple[Feature, ...], axis: int) -> tuple[F32, F32]:
    """Scale and shift [D] that turn features of a picture into those of its mirror image (axis 0: left-right, 1: up-down)."""
    scale, shift = np.ones(len(features), np.float32), np.zeros(len(features), np.float32)
    letter = "xy"[axis]
    for i, feature in enumerate(features):
        first, _, last = feature.name.partition("@")[0].partition(".")
        name = last if first in ("self", "enemy", "mark") else first
        if name in (f"d{letter}", f"v{letter}") or last == "across":
            scale[i] = -1
        elif name == letter:
            scale[i], shift[i] = -1, 1
    return scale, shift

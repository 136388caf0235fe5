"""The honest scoreboard: how well each level says what the demonstrator did, on play that nobody learnt from.

No figure stands alone: beside it is what needs no skill (the commonest answer, the answer before, the nearest thing, the
cursor as it was, pressing at the same rate) and, where the demonstrator can play again, what its own second run with fresh
timing scores. Closed loop (``engine.evaluate``) decides; these figures say where it is lost.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.features import UNKNOWN_MODE
from data.hindsight import label_modes, label_targets
from data.schema import NO_TARGET
from data.steps import Steps, input_names
from data.track_lookup import click_rows, clicked_track
from data.vocabulary import MODES
from data.windows import stretches
from engine.policy import Policy
from engine.replay import Actions, held_modes, held_targets, replay_actions, replay_modes, replay_targets
from engine.runtime.progress import Progress, Report, ignore
from trainers import metrics

CROWD: Final = 5
"""A crowd is so many enemies or more."""
LAGS: Final = tuple(range(-4, 9))
"""Ticks by which the policy's onsets are moved back before they are compared, in the reaction-lag sweep."""
BINS: Final = 10
CURSOR_BEFORE_S: Final = 0.5
LEAST_ROWS: Final = 40

SecondRun = Callable[[Steps], list[tuple[str, ...]]]
"""Plays a stretch again with fresh timing: what was newly pressed at each of its rows."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Of the answers in each tenth of confidence: how sure, how often right, how many. ``error``: their mean distance."""

    confidence: tuple[float, ...]
    right: tuple[float, ...]
    count: tuple[int, ...]
    error: float


@dataclass(frozen=True, slots=True)
class ModeFigures:
    """The Strategist. ``confusion``: rows by the label, columns by the answer, in the order of ``MODES``."""

    seconds: int
    accuracy: float
    balanced_accuracy: float
    majority: float
    persistence: float
    recalls: dict[str, float]
    confusion: tuple[tuple[int, ...], ...]
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class TargetFigures:
    """The Tactician. ``on_target``: right among decisions with a target; ``crowds``: of those, with ``CROWD`` enemies or more."""

    decisions: int
    accuracy: float
    on_target: float
    crowds: float
    crowd_decisions: int
    nearest: float
    nearest_in_crowds: float
    persistence: float
    none_share: float
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class OnsetFigures:
    """F1 of new presses of one input within 2 ticks and in the very tick, beside pressing as often at even intervals and the
    demonstrator's second run (NaN without one). ``true``: presses of the demonstrator."""

    f1: float
    exact: float
    even: float
    second_run: float
    true: int
    predicted: int


@dataclass(frozen=True, slots=True)
class ActionFigures:
    """The Executor with one kind of target. Distances in px of the picture, at the ticks in which the demonstrator clicked."""

    point_px: float
    cursor_before_px: float
    lands: float
    onsets: dict[str, OnsetFigures]


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """``actions`` by what the Executor was told of the target: "predicted" (as in flight), "dropped", "true".

    ``lag_sweep``: F1 of left clicks in the very tick, by the ticks that the policy's are moved back. ``causality``: the share
    of points that move when the pictures are swapped and the cursor stays; near 0 for a copycat.
    """

    policy: str
    play: str
    minutes: float
    mode: ModeFigures | None = None
    target: TargetFigures | None = None
    actions: dict[str, ActionFigures] = field(default_factory=dict[str, ActionFigures])
    lag_sweep: dict[int, float] = field(default_factory=dict[int, float])
    causality: float = float("nan")

    @property
    def best_lag(self) -> int:
        """The ticks by which the policy acts later than the demonstrator; negative: sooner."""
        return max(self.lag_sweep, key=lambda lag: (self.lag_sweep[lag], -abs(lag)), default=0)

    def to_json(self) -> dict[str, Any]:
        return _plain(dataclasses.asdict(self) | {"best_lag": self.best_lag})


@dataclass(slots=True)
class _Said:
    """Everything of one stretch: labels and answers."""

    steps: Steps
    start: int
    stop: int
    modes: NDArray[np.int8]
    targets: NDArray[np.int32]
    mode_rows: NDArray[np.int64]
    mode_likely: NDArray[np.float32]
    target_rows: NDArray[np.int64]
    target_ids: NDArray[np.int32]
    target_likely: NDArray[np.float32]
    target_chosen: NDArray[np.int32]
    actions: dict[str, Actions]
    swapped: Actions
    again: list[tuple[str, ...]] | None


def judge(
    policy: Policy,
    sessions: Sequence[Steps],
    play: str,
    second_run: SecondRun | None = None,
    report: Report = ignore,
) -> Scoreboard:
    """Judge a policy on sessions it has not learnt from. Raises ValueError when there is nothing to judge on."""
    parts = [(i, a, b) for i, steps in enumerate(sessions) for a, b in stretches(steps) if b - a >= LEAST_ROWS]
    rows = sum(b - a for _, a, b in parts)
    if not rows:
        raise ValueError(f"nothing to judge on: no stretch of {LEAST_ROWS} learnable ticks in {len(sessions)} sessions")
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        report(Progress("judging", done / (4 * rows), message=f"{done // 4} of {rows} ticks"))

    said = [_replay(policy, sessions[i], a, b, second_run, count) for i, a, b in parts]
    swapped, predicted = (
        np.concatenate(points) for points in zip(*((s.swapped.point, s.actions["predicted"].point) for s in said), strict=True)
    )
    return Scoreboard(
        policy=policy.name,
        play=play,
        minutes=sum(float(s.steps.time_ns[s.stop - 1] - s.steps.time_ns[s.start]) for s in said) / 60e9,
        mode=_mode_figures(said) if policy.brains.has_strategist else None,
        target=_target_figures(said) if policy.brains.has_tactician else None,
        actions={told: _action_figures(policy, said, told) for told in said[0].actions},
        lag_sweep=_lag_sweep(policy, said),
        causality=metrics.causality(predicted, swapped),
    )


def _replay(
    policy: Policy,
    steps: Steps,
    start: int,
    stop: int,
    second_run: SecondRun | None,
    count: Callable[[int], None],
) -> _Said:
    length = stop - start
    modes, targets = label_modes(steps), label_targets(steps)
    silent = np.full(length, NO_TARGET, np.int32)
    mode_rows, mode_likely = np.zeros(0, np.int64), np.zeros((0, len(MODES)), np.float32)
    held, aim = np.full(length, UNKNOWN_MODE, np.int64), silent
    if policy.brains.has_strategist:
        said = replay_modes(policy, steps, start, stop)
        mode_rows, mode_likely, held = said.rows, said.likely, held_modes(said, start, stop)
    rows, ids, likely, chosen = np.zeros(0, np.int64), np.zeros((0, 1), np.int32), np.zeros((0, 2), np.float32), np.zeros(0, np.int32)
    if policy.brains.has_tactician:
        pointed = replay_targets(policy, steps, start, stop, held)
        rows, ids, likely, chosen, aim = pointed.rows, pointed.ids, pointed.likely, pointed.chosen(), held_targets(pointed, start, stop)
    told = {"predicted": aim, "dropped": silent, "true": targets[start:stop]}
    actions = {name: replay_actions(policy, steps, start, stop, held, given, on_rows=count) for name, given in told.items()}

    def elsewhere(rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return (rows - start + length // 2) % length + start

    swapped = replay_actions(policy, steps, start, stop, held, aim, elsewhere, count)
    again = second_run(steps.slice(start, stop)) if second_run is not None else None
    return _Said(steps, start, stop, modes, targets, mode_rows, mode_likely, rows, ids, likely, chosen, actions, swapped, again)


def _mode_figures(said: Sequence[_Said]) -> ModeFigures:
    known = np.concatenate([s.modes[s.mode_rows] for s in said]).astype(np.int64)
    likely = np.concatenate([s.mode_likely for s in said])
    answer = likely.argmax(1)
    labelled = known >= 0
    before = [np.concatenate([[-1], s.modes[s.mode_rows][:-1]]) for s in said]  # a stretch's first second has no answer before
    recalls = metrics.recalls(known, answer, len(MODES))
    confusion = np.zeros((len(MODES), len(MODES)), np.int64)
    np.add.at(confusion, (known[labelled], answer[labelled]), 1)
    return ModeFigures(
        seconds=int(labelled.sum()),
        accuracy=_share(answer[labelled] == known[labelled]),
        balanced_accuracy=metrics.balanced_accuracy(known, answer, len(MODES)),
        majority=metrics.majority_accuracy(known),
        persistence=_share((np.concatenate(before) == known)[labelled]),
        recalls={m: float(r) for m, r in zip(MODES, recalls, strict=True) if np.isfinite(r)},
        confusion=tuple(tuple(int(n) for n in row) for row in confusion),
        calibration=calibration(likely[labelled].max(1), answer[labelled] == known[labelled]),
    )


def _target_figures(said: Sequence[_Said]) -> TargetFigures:
    right: list[NDArray[np.bool_]] = []
    near: list[NDArray[np.bool_]] = []
    same: list[NDArray[np.bool_]] = []
    wanted: list[NDArray[np.bool_]] = []
    crowd: list[NDArray[np.bool_]] = []
    for s in said:
        true = s.targets[s.target_rows]
        right.append(s.target_chosen == true)
        near.append(_nearest_prey(s) == true)
        same.append(np.concatenate([[NO_TARGET], true[:-1]]) == true)
        wanted.append(true != NO_TARGET)
        crowd.append(_enemies(s) >= CROWD)
    hit, nearest, kept, has, many = (np.concatenate(parts) for parts in (right, near, same, wanted, crowd))
    likely = np.concatenate([s.target_likely.max(1) for s in said])
    return TargetFigures(
        decisions=len(hit),
        accuracy=_share(hit),
        on_target=_share(hit[has]),
        crowds=_share(hit[has & many]),
        crowd_decisions=int((has & many).sum()),
        nearest=_share(nearest[has]),
        nearest_in_crowds=_share(nearest[has & many]),
        persistence=_share(kept[has]),
        none_share=_share(~has),
        calibration=calibration(likely, hit),
    )


def _action_figures(policy: Policy, said: Sequence[_Said], told: str) -> ActionFigures:
    size = np.array(policy.profile.picture_size)
    errors: list[float] = []
    before: list[float] = []
    lands: list[bool] = []
    for s in said:
        actions = s.actions[told]
        clicks = click_rows(s.steps)
        for row in clicks[(clicks >= s.start) & (clicks < s.stop)].tolist():
            true = s.steps.action_xy[row]
            if np.isnan(true).any():
                continue
            errors.append(float(np.hypot(*((actions.point[row - s.start] - true) * size))))
            earlier = int(np.searchsorted(s.steps.time_ns, s.steps.time_ns[row] - round(CURSOR_BEFORE_S * 1e9)))
            before.append(float(np.hypot(*((s.steps.cursor[max(earlier, s.start)] - true) * size))))
            flat = clicked_track(s.steps, row, float(true[0]), float(true[1]))
            if flat >= 0:
                lands.append(bool(actions.chosen[row - s.start] == s.steps.track_ids[flat]))
    names = input_names(policy.profile)
    return ActionFigures(
        point_px=_median(errors),
        cursor_before_px=_median(before),
        lands=_share(np.array(lands, np.bool_)),
        onsets={name: found for i, name in enumerate(names) if (found := _onset_figures(policy, said, told, i, name)).true},
    )


def _onset_figures(policy: Policy, said: Sequence[_Said], told: str, place: int, name: str) -> OnsetFigures:
    true, fired, even, again = (list[NDArray[np.int64]]() for _ in range(4))
    offset = 0
    for s in said:
        mine = _onsets(s, place)
        true.append(mine + offset)
        fired.append(_fired(policy, s, told, place, name) + offset)
        even.append(np.linspace(0, s.stop - s.start, len(mine) + 2)[1:-1].astype(np.int64) + offset)
        again.append(np.array([i for i, pressed in enumerate(s.again or ()) if name in pressed], np.int64) + offset)
        offset += s.stop - s.start + 100  # presses of different stretches never meet
    known, ours, regular, second = (np.concatenate(parts) for parts in (true, fired, even, again))
    return OnsetFigures(
        f1=metrics.onset_score(ours, known, 2).f1,
        exact=metrics.onset_score(ours, known, 0).f1,
        even=metrics.onset_score(regular, known, 2).f1,
        second_run=metrics.onset_score(second, known, 2).f1 if said[0].again is not None else float("nan"),
        true=len(known),
        predicted=len(ours),
    )


def _lag_sweep(policy: Policy, said: Sequence[_Said]) -> dict[int, float]:
    names = input_names(policy.profile)
    place = names.index("mouse_left")
    pairs = [
        (_fired(policy, s, "predicted", place, "mouse_left") + 10_000_000 * i, _onsets(s, place) + 10_000_000 * i)
        for i, s in enumerate(said)
    ]
    ours, true = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return {lag: metrics.onset_score(ours - lag, true, 0).f1 for lag in LAGS}


def _onsets(s: _Said, place: int) -> NDArray[np.int64]:
    """Ticks of the stretch, from 0, in which an input was newly pressed."""
    codes = s.steps.onset_codes == place
    rows = np.repeat(np.arange(len(s.steps)), np.diff(s.steps.onset_offsets))[codes]
    return rows[(rows >= s.start) & (rows < s.stop)] - s.start


def _fired(policy: Policy, s: _Said, told: str, place: int, name: str) -> NDArray[np.int64]:
    """Ticks of the stretch, from 0, in which the policy would press an input, by its tuned threshold and refractory time."""
    threshold, refractory_s = policy.thresholds.get(name, (2.0, 0.0))
    if name == "mouse_left":
        threshold *= policy.settings.click_scale
    ticks_s = np.diff(s.steps.time_ns[s.start : s.stop]) / 1e9
    return metrics.fire(s.actions[told].hazards[:, place], threshold, round(refractory_s / float(np.median(ticks_s))))


def _nearest_prey(s: _Said) -> NDArray[np.int32]:
    """int32 [D] the track of the nearest enemy or loot (the set comes nearest first), or NO_TARGET."""
    roles = s.steps.profile.roles()
    found = np.full(len(s.target_rows), NO_TARGET, np.int32)
    for i, row in enumerate(s.target_rows.tolist()):
        tracks = s.steps.tracks(row)
        role = {int(track): roles[int(kind)] for track, kind in zip(tracks.ids, tracks.classes, strict=True)}
        found[i] = next((track for track in s.target_ids[i].tolist() if role.get(track) in ("enemy", "loot")), NO_TARGET)
    return found


def _enemies(s: _Said) -> NDArray[np.int64]:
    """[D] how many enemies there are."""
    enemy = np.array([role == "enemy" for role in s.steps.profile.roles()])[s.steps.track_classes]
    counted = np.concatenate([[0], np.cumsum(enemy)])[s.steps.track_offsets]
    return np.diff(counted)[s.target_rows]


def calibration(confidence: NDArray[np.floating[Any]], right: NDArray[np.bool_]) -> Calibration:
    """Expected calibration error (Naeini et al. 2015) over ten equal bins of confidence."""
    places = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(places, minlength=BINS)
    weights = np.maximum(count, 1)
    sure = np.bincount(places, confidence, minlength=BINS) / weights
    share = np.bincount(places, right, minlength=BINS) / weights
    error = float((np.abs(sure - share) * count).sum() / max(1, count.sum()))
    return Calibration(tuple(sure.tolist()), tuple(share.tolist()), tuple(int(n) for n in count), error)


def _share(hits: NDArray[np.bool_]) -> float:
    return float(hits.mean()) if len(hits) else float("nan")


def _median(values: list[float]) -> float:
    return float(np.median(values)) if values else float("nan")


def _plain(value: Any) -> Any:
    """JSON knows no NaN: what could not be measured is null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return None if isinstance(value, float) and not np.isfinite(value) else value

"""The honest scoreboard: how well each level says what the demonstrator did, on play that nobody learnt from.

No figure stands alone: beside it is what needs no skill (the commonest answer, the answer before, the nearest thing, the
cursor as it was, pressing at the same rate) and, where the demonstrator can play again, what its own second run with fresh
timing scores. Closed loop (``engine.evaluate``) decides; these figures say where it is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.bad_rows import without_bad_rows
from data.features import UNKNOWN_MODE
from data.hindsight import label_modes, label_targets
from data.labels import TARGET_ROLES
from data.schema import NO_TARGET
from data.steps import Steps, input_names
from data.track_lookup import click_rows, clicked_tracks, padded, scale, self_positions, take, under_point
from data.vocabulary import MODES, MOUSE_BUTTONS
from data.windows import stretches
from engine.policy import Policy
from engine.replay import held_modes, held_targets, replay_actions, replay_modes, replay_targets
from engine.runtime.progress import Progress, Report, ignore
from engine.scoreboard_figures import ActionFigures, Calibration, ModeFigures, OnsetFigures, Scoreboard, TargetFigures
from engine.scoreboard_parts import Again, Said, parts_of, with_intervals
from trainers import metrics
from trainers.networks.shape import CLICK_BUTTONS
from trainers.pressing import NEVER, begun_ticks, pressed_ticks

CROWD: Final = 5
"""A crowd is so many enemies or more."""
LAGS: Final = tuple(range(-4, 9))
"""Ticks by which the policy's onsets are moved back before they are compared, in the reaction-lag sweep."""
BINS: Final = 10
NEAR_TICKS: Final = 2
"""An onset so near to the demonstrator's is the same one."""
CURSOR_BEFORE_S: Final = 0.5
LEAST_ROWS: Final = 40
REPEAT_S: Final = 0.6
"""A click on the track that was clicked so shortly before is a repeat: the first one's effect was not seen yet."""


SecondRun = Callable[[int, int, int], list[Again]]
"""Plays rows ``start`` to ``stop`` of a session (by its number) again with fresh timing, row by row."""


def judge(
    policy: Policy,
    sessions: Sequence[Steps],
    play: str,
    second_run: SecondRun | None = None,
    report: Report = ignore,
) -> Scoreboard:
    """Judge a policy on sessions it has not learnt from: fresh play of a demonstrator, which can play it again (``second_run``), or
    recordings, which are seen by the policy's own profile. ``play``: what they are called. Rows in which something is not finite are left
    out, and that is noted. Raises ValueError when there is nothing to judge on."""
    sessions, notes = without_bad_rows([replace(steps, profile=policy.profile) for steps in sessions])
    for note in notes:
        report(Progress("note", 0.0, message=note))
    parts = [(i, a, b) for i, steps in enumerate(sessions) for a, b in stretches(steps) if b - a >= LEAST_ROWS]
    rows = sum(b - a for _, a, b in parts)
    if not rows:
        raise ValueError(f"nothing to judge on: no stretch of {LEAST_ROWS} learnable ticks in {len(sessions)} sessions")
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        report(Progress("judging", done / (4 * rows), message=f"{done // 4} of {rows} ticks"))

    said = [_replay(policy, sessions[i], a, b, second_run(i, a, b) if second_run else None, count) for i, a, b in parts]
    swapped, predicted = (
        np.concatenate(points) for points in zip(*((s.swapped.point, s.actions["predicted"].point) for s in said), strict=True)
    )
    pieces = parts_of(said)
    report(Progress("judging", 1.0, message="how far each figure is to be trusted"))
    return Scoreboard(
        policy=policy.name,
        play=play,
        minutes=sum(float(s.steps.time_ns[s.stop - 1] - s.steps.time_ns[s.start]) for s in said) / 60e9,
        play_kind="recordings" if second_run is None else "unseen",
        mode=with_intervals(_mode_figures, said, pieces) if policy.brains.has_strategist else None,
        target=with_intervals(_target_figures, said, pieces) if policy.brains.has_tactician else None,
        actions={told: with_intervals(partial(_action_figures, policy, told), said, pieces) for told in said[0].actions},
        lag_sweep=_lag_sweep(policy, said),
        causality=metrics.causality(predicted, swapped),
    )


def _replay(
    policy: Policy,
    steps: Steps,
    start: int,
    stop: int,
    again: list[Again] | None,
    count: Callable[[int], None],
) -> Said:
    length = stop - start
    modes, targets = label_modes(steps), label_targets(steps)
    silent = np.full(length, NO_TARGET, np.int32)
    mode_rows, mode_likely, mode_chosen = np.zeros(0, np.int64), np.zeros((0, len(MODES)), np.float32), np.zeros(0, np.int64)
    held, aim = np.full(length, UNKNOWN_MODE, np.int64), silent
    if policy.brains.has_strategist:
        said = replay_modes(policy, steps, start, stop)
        mode_rows, mode_likely, mode_chosen, held = said.rows, said.likely, said.chosen, held_modes(said, start, stop)
    rows, ids, likely, chosen = np.zeros(0, np.int64), np.zeros((0, 1), np.int32), np.zeros((0, 2), np.float32), np.zeros(0, np.int32)
    if policy.brains.has_tactician:
        pointed = replay_targets(policy, steps, start, stop, held)
        rows, ids, likely, chosen, aim = pointed.rows, pointed.ids, pointed.likely, pointed.chosen(), held_targets(pointed, start, stop)
    told = {"predicted": aim, "dropped": silent, "true": targets[start:stop]}
    actions = {name: replay_actions(policy, steps, start, stop, held, given, on_rows=count) for name, given in told.items()}

    def elsewhere(rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return (rows - start + length // 2) % length + start

    swapped = replay_actions(policy, steps, start, stop, held, aim, elsewhere, count)
    said_modes, said_targets = (mode_rows, mode_likely, mode_chosen), (rows, ids, likely, chosen)
    return Said(steps, start, stop, modes, targets, *said_modes, *said_targets, actions, told, swapped, again)


def _mode_figures(said: Sequence[Said]) -> ModeFigures:
    known = np.concatenate([s.modes[s.mode_rows] for s in said]).astype(np.int64)
    likely = np.concatenate([s.mode_likely for s in said])
    answer = np.concatenate([s.mode_chosen for s in said])
    labelled = known >= 0
    before = np.concatenate([[-1, *s.modes[s.mode_rows][:-1]] for s in said])
    followed = np.where(_not_first([len(s.mode_rows) for s in said]), known, -1)
    recalls = metrics.recalls(known, answer, len(MODES))
    confusion = np.zeros((len(MODES), len(MODES)), np.int64)
    np.add.at(confusion, (known[labelled], answer[labelled]), 1)
    again: list[NDArray[np.int64]] = []
    for s in said:
        if s.again is not None:
            meant = [one.mode for one in s.again]
            again.append(np.array(meant, np.int64)[s.mode_rows - s.start])
    second = np.concatenate(again) if len(again) == len(said) else None
    return ModeFigures(
        seconds=int(labelled.sum()),
        accuracy=_share(answer[labelled] == known[labelled]),
        balanced_accuracy=metrics.balanced_accuracy(known, answer, len(MODES)),
        majority=metrics.majority_accuracy(known),
        persistence=_share((before == followed)[followed >= 0]),
        persistence_balanced=metrics.balanced_accuracy(followed, before, len(MODES)),
        second_run=_share((second == known)[labelled]) if second is not None else float("nan"),
        second_run_balanced=metrics.balanced_accuracy(known, second, len(MODES)) if second is not None else float("nan"),
        recalls={m: float(r) for m, r in zip(MODES, recalls, strict=True) if np.isfinite(r)},
        confusion=tuple(tuple(int(n) for n in row) for row in confusion),
        calibration=calibration(likely[labelled, answer[labelled]], answer[labelled] == known[labelled]),
    )


def _target_figures(said: Sequence[Said]) -> TargetFigures:
    right: dict[str, list[NDArray[np.bool_]]] = {}
    wanted: list[NDArray[np.bool_]] = []
    crowd: list[NDArray[np.bool_]] = []
    for s in said:
        true = s.targets[s.target_rows]
        answers = {
            "policy": s.target_chosen,
            "nearest": _nearest(s.steps, s.target_rows, TARGET_ROLES),
            "enemy": _nearest(s.steps, s.target_rows, ("enemy",)),
            "before": np.concatenate([[NO_TARGET], true[:-1]]),
        }
        if s.again is not None:
            answers["again"] = np.array([one.target_id for one in s.again])[s.target_rows - s.start]
        for name, answer in answers.items():
            right.setdefault(name, []).append(answer == true)
        wanted.append(true != NO_TARGET)
        crowd.append(enemies_in(s.steps, s.target_rows) >= CROWD)
    has, many = np.concatenate(wanted), np.concatenate(crowd)
    later = _not_first([len(s.target_rows) for s in said])
    hits = {name: np.concatenate(parts) for name, parts in right.items()}
    unknown = np.zeros(0, np.bool_)

    def of(name: str, where: NDArray[np.bool_]) -> float:
        found = hits.get(name, unknown)
        return _share(found[where]) if len(found) == len(where) else float("nan")

    return TargetFigures(
        decisions=len(has),
        accuracy=_share(hits["policy"]),
        on_target=of("policy", has),
        crowds=of("policy", has & many),
        crowd_decisions=int((has & many).sum()),
        nearest=of("nearest", has),
        nearest_in_crowds=of("nearest", has & many),
        nearest_enemy=of("enemy", has),
        nearest_enemy_in_crowds=of("enemy", has & many),
        persistence=of("before", has & later),
        persistence_in_crowds=of("before", has & many & later),
        second_run=of("again", has),
        second_run_in_crowds=of("again", has & many),
        none_share=_share(~has),
        calibration=calibration(np.concatenate([s.target_likely.max(1) for s in said]), hits["policy"]),
    )


def _action_figures(policy: Policy, told: str, said: Sequence[Said]) -> ActionFigures:
    names = input_names(policy.profile)
    left = names.index("mouse_left")
    errors, before, again = list[float](), list[float](), list[float]()
    lands: dict[str, list[bool]] = {n: [] for n in ("policy", "chosen", "cursor", "again", "own", "first", "first again", "first told")}
    for s in said:
        size = np.array(s.steps.profile.picture_size)
        actions, times = s.actions[told], s.steps.time_ns
        clicks = click_rows(s.steps)
        clicks = clicks[(clicks >= s.start) & (clicks < s.stop) & ~np.isnan(s.steps.action_xy[clicks]).any(1)]
        clicked = clicked_targets(s.steps, clicks)
        again_soon = repeats(s.steps, clicks, clicked)
        for row, flat, repeat in zip(clicks.tolist(), clicked.tolist(), again_soon.tolist(), strict=True):
            true = s.steps.action_xy[row]
            errors.append(float(np.hypot(*((actions.point[row - s.start] - true) * size))))
            earlier = max(int(np.searchsorted(times, times[row] - round(CURSOR_BEFORE_S * 1e9))), s.start)
            before.append(float(np.hypot(*((s.steps.cursor[earlier] - true) * size))))
            repeated = _repeated_click(s, row)
            if repeated is not None:
                again.append(float(np.hypot(*((repeated[1] - true) * size))))
            if flat < 0:
                continue
            track = int(s.steps.track_ids[flat])
            lands["policy"].append(_lies_on(s.steps, row, actions.point[row - s.start], track))
            lands["chosen"].append(bool(actions.chosen[row - s.start] == track))
            if np.isfinite(s.steps.cursor[earlier]).all():
                lands["cursor"].append(_lies_on(s.steps, row, s.steps.cursor[earlier], track))
            if repeated is not None:
                lands["again"].append(_lies_on(s.steps, *repeated, track))
            if not repeat:
                lands["first"].append(lands["policy"][-1])
                lands["first told"].append(bool(s.told[told][row - s.start] == track))
                lands["first again"] += lands["again"][-1:] if repeated is not None else []
        on_tracks = clicks[clicked >= 0]
        for tick in _fired(policy, s, told, left, "mouse_left").tolist():
            near = np.flatnonzero(np.abs(on_tracks - (tick + s.start)) <= NEAR_TICKS)
            if len(near):
                track = int(s.steps.track_ids[clicked[clicked >= 0][near[np.abs(on_tracks[near] - (tick + s.start)).argmin()]]])
                lands["own"].append(_lies_on(s.steps, tick + s.start, actions.point[tick], track))
    shares = {name: _share(np.array(hits, np.bool_)) for name, hits in lands.items()}
    hazards = np.concatenate([s.actions[told].hazards[:, left] for s in said])
    pressed = np.concatenate([np.isin(np.arange(s.stop - s.start), _onsets(s, left)) for s in said])
    return ActionFigures(
        clicks=len(errors),
        point_px=_median(errors),
        cursor_before_px=_median([one for one in before if np.isfinite(one)]),
        second_run_px=_median(again),
        lands=shares["policy"],
        points_at=shares["chosen"],
        cursor_lands=shares["cursor"],
        second_run_lands=shares["again"],
        own_lands=shares["own"],
        own_clicks=len(lands["own"]),
        first_clicks=len(lands["first"]),
        first_lands=shares["first"],
        first_told=shares["first told"],
        second_run_first_lands=shares["first again"],
        onsets={name: found for i, name in enumerate(names) if (found := _onset_figures(policy, said, told, i, name)).true},
        calibration=calibration(np.clip(hazards, 0.0, 1.0), pressed),
    )


def clicked_targets(steps: Steps, clicks: NDArray[np.int64]) -> NDArray[np.int64]:
    """[C] flat index of the enemy or loot that each click fell on, or -1. What else lies under a click was not what it was for: a click
    on open ground falls on a portal by chance."""
    flat = clicked_tracks(steps, clicks)
    if not len(steps.track_ids):
        return flat
    meant = np.array([role in TARGET_ROLES for role in steps.profile.roles()])
    return np.where((flat >= 0) & meant[take(steps.track_classes, np.maximum(flat, 0))], flat, -1)


def _lies_on(steps: Steps, row: int, point: NDArray[Any], track: int) -> bool:
    """Does a click there hit the track, and no other that is nearer?"""
    tracks = steps.tracks(row)
    place = under_point(steps.profile, tracks.classes, tracks.boxes, float(point[0]), float(point[1]))
    return place >= 0 and int(tracks.ids[place]) == track


def repeats(steps: Steps, clicks: NDArray[np.int64], clicked: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[C] which clicks repeat the one before. ``clicks``: their rows; ``clicked``: flat indices of tracks, or -1."""
    if len(clicks) < 2:
        return np.zeros(len(clicks), np.bool_)
    ids = np.where(clicked >= 0, take(steps.track_ids, np.maximum(clicked, 0)), NO_TARGET)
    soon = np.diff(steps.time_ns[clicks]) <= REPEAT_S * 1e9
    return np.concatenate([[False], (ids[1:] == ids[:-1]) & (ids[1:] != NO_TARGET) & soon])


def _repeated_click(s: Said, row: int) -> tuple[int, NDArray[np.float64]] | None:
    """Row and place of the second run's click nearest in time to a click, within half a second; None when there is none."""
    if s.again is None:
        return None
    times = s.steps.time_ns
    first, last = np.searchsorted(times[s.start : s.stop], [times[row] - CURSOR_BEFORE_S * 1e9, times[row] + CURSOR_BEFORE_S * 1e9])
    ticks = [i for i in range(int(first), int(last)) if any(name in MOUSE_BUTTONS for name in s.again[i].onsets)]
    if not ticks:
        return None
    tick = min(ticks, key=lambda tick: abs(tick + s.start - row))
    return tick + s.start, np.array(s.again[tick].point)


def _onset_figures(policy: Policy, said: Sequence[Said], told: str, place: int, name: str) -> OnsetFigures:
    true, fired, even, again = (list[NDArray[np.int64]]() for _ in range(4))
    offset = 0
    for s in said:
        mine = _onsets(s, place)
        true.append(mine + offset)
        fired.append(_fired(policy, s, told, place, name) + offset)
        even.append(metrics.even_ticks(s.stop - s.start, len(mine)) + offset)
        again.append(np.array([i for i, one in enumerate(s.again or ()) if name in one.onsets], np.int64) + offset)
        offset += s.stop - s.start + 100  # presses of different stretches never meet
    known, ours, regular, second = (np.concatenate(parts) for parts in (true, fired, even, again))
    near = metrics.onset_score(ours, known, NEAR_TICKS)
    repeated = said[0].again is not None
    best = metrics.onset_score(second, known, NEAR_TICKS).f1 if repeated else float("nan")
    return OnsetFigures(
        f1=near.f1,
        of_second_run=near.f1 / best if best > 0 else float("nan"),
        exact=metrics.onset_score(ours, known, 0).f1,
        precision=near.precision,
        recall=near.recall,
        even=metrics.onset_score(regular, known, NEAR_TICKS).f1,
        second_run=best,
        second_run_exact=metrics.onset_score(second, known, 0).f1 if repeated else float("nan"),
        true=len(known),
        predicted=len(ours),
    )


def _lag_sweep(policy: Policy, said: Sequence[Said]) -> dict[int, float]:
    names = input_names(policy.profile)
    place = names.index("mouse_left")
    pairs = [
        (_fired(policy, s, "predicted", place, "mouse_left") + 10_000_000 * i, _onsets(s, place) + 10_000_000 * i)
        for i, s in enumerate(said)
    ]
    ours, true = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return {lag: metrics.onset_score(ours - lag, true, 0).f1 for lag in LAGS}


def _onsets(s: Said, place: int) -> NDArray[np.int64]:
    """Ticks of the stretch, from 0, in which an input was newly pressed."""
    codes = s.steps.onset_codes == place
    rows = np.repeat(np.arange(len(s.steps)), np.diff(s.steps.onset_offsets))[codes]
    return rows[(rows >= s.start) & (rows < s.stop)] - s.start


def _fired(policy: Policy, s: Said, told: str, place: int, name: str) -> NDArray[np.int64]:
    """Ticks of the stretch, from 0, in which the policy would press an input by its rule, or begin to hold one that it holds."""
    if (told, place) in s.fired:
        return s.fired[told, place]
    if name in policy.holds and place >= CLICK_BUTTONS:
        fired = begun_ticks(s.actions[told].held[:, place])
    else:
        tick_s = float(np.median(np.diff(s.steps.time_ns[s.start : s.stop]))) / 1e9
        scale = policy.settings.click_scale if name == "mouse_left" else 1.0
        fired = pressed_ticks(s.actions[told].hazards[:, place], policy.rules.get(name, NEVER), tick_s, scale)
    s.fired[told, place] = fired
    return fired


def _nearest(steps: Steps, rows: NDArray[np.int64], roles: tuple[str, ...]) -> NDArray[np.int32]:
    """int32 [D] the track of one of these roles that is nearest to the ship, or NO_TARGET."""
    near = padded(steps, rows)
    if not near.shape[1]:
        return np.full(len(rows), NO_TARGET, np.int32)
    own, _, _ = self_positions(steps, rows, near)
    flat = np.where(near >= 0, near, 0)
    meant = np.array([role in roles for role in steps.profile.roles()])
    away = (steps.track_boxes[flat, :2] - own[:, None, :]) * scale(steps.profile)
    distance = np.where((near >= 0) & meant[steps.track_classes[flat]], np.hypot(away[..., 0], away[..., 1]), np.inf)
    best = distance.argmin(1)
    places = np.arange(len(rows))
    return np.where(np.isfinite(distance[places, best]), steps.track_ids[flat[places, best]], NO_TARGET).astype(np.int32)


def enemies_in(steps: Steps, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """[D] how many enemies there are in each of the rows."""
    enemy = np.array([role == "enemy" for role in steps.profile.roles()] or [False])[steps.track_classes]
    counted = np.concatenate([[0], np.cumsum(enemy)])[steps.track_offsets]
    return np.diff(counted)[rows]


def calibration(confidence: NDArray[np.floating[Any]], right: NDArray[np.bool_]) -> Calibration:
    """Expected calibration error (Naeini et al. 2015) over ten equal bins of confidence."""
    places = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(places, minlength=BINS)
    weights = np.maximum(count, 1)
    sure = np.bincount(places, confidence, minlength=BINS) / weights
    share = np.bincount(places, right, minlength=BINS) / weights
    error = float((np.abs(sure - share) * count).sum() / max(1, count.sum()))
    return Calibration(tuple(sure.tolist()), tuple(share.tolist()), tuple(int(n) for n in count), error)


def _not_first(lengths: Sequence[int]) -> NDArray[np.bool_]:
    """Of all answers in a row, which are not the first of a stretch: before those nothing is known that could be said again."""
    return np.concatenate([np.arange(length) > 0 for length in lengths])


def _share(hits: NDArray[np.bool_]) -> float:
    return float(hits.mean()) if len(hits) else float("nan")


def _median(values: list[float]) -> float:
    return float(np.median(values)) if values else float("nan")

"""What a scoreboard holds: the figures of each level beside their baselines, as they are kept in JSON (``docs/scoreboard.md``).

No figure stands alone. Shares are 0..1; what could not be measured is NaN here and null in JSON.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

PlayKind = Literal["", "unseen", "recordings"]
"""What play was judged on: fresh play of a demonstrator, or what lies in the workspace; empty: it is not known."""
Intervals = dict[str, tuple[float, float]]
"""From where to where the shares of figures may lie, by their names: 95 % intervals (``engine.scoreboard_parts``), not of those for which
the play does not tell one."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Of the answers in each tenth of confidence: how sure, how often right, how many. ``error``: their mean distance."""

    confidence: tuple[float, ...]
    right: tuple[float, ...]
    count: tuple[int, ...]
    error: float


@dataclass(frozen=True, slots=True)
class ModeFigures:
    """The Strategist. ``confusion``: rows by the label, columns by the answer, in the order of ``MODES``. ``persistence``: the label
    of the second before. ``second_run``: what the demonstrator itself means when it plays again (NaN without one)."""

    seconds: int
    accuracy: float
    balanced_accuracy: float
    majority: float
    persistence: float
    persistence_balanced: float
    second_run: float
    second_run_balanced: float
    recalls: dict[str, float]
    confusion: tuple[tuple[int, ...], ...]
    calibration: Calibration
    intervals: Intervals = field(default_factory=dict[str, tuple[float, float]])


@dataclass(frozen=True, slots=True)
class TargetFigures:
    """The Tactician. ``on_target``: right among decisions with a target; ``crowds``: of those, with ``CROWD`` enemies or more, and so
    do all names ending in ``in_crowds``. ``nearest``: the nearest enemy or loot; ``persistence``: the label of the decision before."""

    decisions: int
    accuracy: float
    on_target: float
    crowds: float
    crowd_decisions: int
    nearest: float
    nearest_in_crowds: float
    nearest_enemy: float
    nearest_enemy_in_crowds: float
    persistence: float
    persistence_in_crowds: float
    second_run: float
    second_run_in_crowds: float
    none_share: float
    calibration: Calibration
    intervals: Intervals = field(default_factory=dict[str, tuple[float, float]])


@dataclass(frozen=True, slots=True)
class OnsetFigures:
    """F1 of new presses of one input within 2 ticks (with precision and recall; ``of_second_run``: as a share of what the second run
    gets) and in the very tick, beside pressing as often at even intervals and the demonstrator's second run (NaN without one).
    ``true``: presses of the demonstrator."""

    f1: float
    of_second_run: float
    exact: float
    precision: float
    recall: float
    even: float
    second_run: float
    second_run_exact: float
    true: int
    predicted: int
    intervals: Intervals = field(default_factory=dict[str, tuple[float, float]])


@dataclass(frozen=True, slots=True)
class ActionFigures:
    """The Executor with one kind of target, at the ticks in which the demonstrator clicked (``clicks``); distances in px of the
    picture, medians.

    ``lands``: of its clicks on a track that can be a target (an enemy or loot), those where the policy's point lies on that track;
    ``points_at``: those where its pointer chose it. ``cursor_before_px``, ``cursor_lands``: the cursor as it was half a second before.
    ``second_run_px``, ``second_run_lands``: the demonstrator's second run, where it too clicks within half a second. ``own_lands``: of the
    policy's own clicks (``own_clicks``) within 2 ticks of a click on a track, those that land on it. ``first_clicks``: its clicks on a
    track that are no repeat of a click just before, whose effect was not seen yet; ``first_lands``, ``second_run_first_lands`` as above for
    these, and ``first_told``: where that track was the target that the policy was told. ``calibration``: of the left click's hazard.
    """

    clicks: int
    point_px: float
    cursor_before_px: float
    second_run_px: float
    lands: float
    points_at: float
    cursor_lands: float
    second_run_lands: float
    own_lands: float
    own_clicks: int
    first_clicks: int
    first_lands: float
    first_told: float
    second_run_first_lands: float
    onsets: dict[str, OnsetFigures]
    calibration: Calibration
    intervals: Intervals = field(default_factory=dict[str, tuple[float, float]])


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """``play`` in words, ``play_kind``: of which kind it is. ``actions`` by what the Executor was told of the target: "predicted" (as
    in flight), "dropped", "true".

    ``lag_sweep``: F1 of left clicks in the very tick, by the ticks that the policy's are moved back. ``causality``: the share
    of points that move when the pictures are swapped and the cursor stays; near 0 for a copycat.
    """

    policy: str
    play: str
    minutes: float
    play_kind: PlayKind = ""
    mode: ModeFigures | None = None
    target: TargetFigures | None = None
    actions: dict[str, ActionFigures] = field(default_factory=dict[str, ActionFigures])
    lag_sweep: dict[int, float] = field(default_factory=dict[int, float])
    causality: float = float("nan")

    @property
    def best_lag(self) -> int | None:
        """As ``best_lag`` tells it of the sweep."""
        return best_lag(self.lag_sweep)

    def to_json(self) -> dict[str, Any]:
        return _plain(dataclasses.asdict(self) | {"best_lag": self.best_lag})


def best_lag(sweep: Mapping[int, float]) -> int | None:
    """The ticks by which the policy acts later than the demonstrator (negative: sooner), by its ``lag_sweep``; None where no click of
    the one met one of the other, or nothing was measured."""
    met = {lag: f1 for lag, f1 in sweep.items() if f1 > 0}
    return max(met, key=lambda lag: (met[lag], -abs(lag)), default=None)


def _plain(value: Any) -> Any:
    """JSON knows no NaN: what could not be measured is null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""From sessions to tensors: usable rows, bad rows dropped and named, folds and held predictions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from data.features import FEATURE_VERSION, Feature, Normaliser
from data.hindsight import HINDSIGHT_VERSION
from data.same_game import differences
from data.steps import Steps
from data.windows import Part, Split, play_s, split_sessions, stretches
from trainers.loop import TrainingError

I64 = NDArray[np.int64]
MIN_ROWS: Final = 40
"""Two seconds at 20 Hz: less than this is nothing to learn from."""


@dataclass(frozen=True, slots=True)
class Conditioning:
    """What the upper layers said at every row of each session: modes int64 [T, V] (``UNKNOWN_MODE`` when unknown), targets
    int32 [T, V] track ids (-1 none). V variants differ in the phase of the upper clocks."""

    modes: list[NDArray[np.int64]]
    targets: list[NDArray[np.int32]]


def check_sessions(sessions: Sequence[Steps]) -> None:
    """Raises TrainingError when there is nothing to learn from or the sessions are of different games."""
    if not sessions:
        raise TrainingError("no sessions: record some play first (secondseat record), or name another --data-dir")
    rows = sum(stop - start for steps in sessions for start, stop in stretches(steps))
    if rows < MIN_ROWS:
        total = sum(len(steps) for steps in sessions)
        raise TrainingError(
            f"{rows} usable rows of {total} (played by a person or demonstrator, window in focus): "
            f"at least {MIN_ROWS} are needed; record more play"
        )
    for i, steps in enumerate(sessions):
        if differing := differences(sessions[0].profile, steps.profile):
            raise TrainingError(f"session {i} does not fit the first: {'; '.join(differing)}; train them apart")


def usable_parts(steps: Steps, part: Part) -> list[tuple[int, int]]:
    """The stretches of a session that lie in a part, cut to it."""
    cut = [(max(a, part.start), min(b, part.stop)) for a, b in stretches(steps)]
    return [(a, b) for a, b in cut if b > a]


def split_note(sessions: Sequence[Steps], split: Split) -> str:
    """How much play is learnt from, and how much is kept apart to check on."""

    def minutes(parts: Sequence[Part]) -> float:
        times = [(sessions[p.session].time_ns, a, b) for p in parts for a, b in usable_parts(sessions[p.session], p)]
        return sum(float(of_session[b - 1] - of_session[a]) for of_session, a, b in times) / 60e9

    return f"learns from {minutes(split.train):.1f} min, checks on {minutes(split.validation):.1f} min"


def split_of(sessions: Sequence[Steps], seed: int) -> Split:
    """Which parts train and which validate: by the rows that are learnt from."""
    return split_sessions([len(s) for s in sessions], seed, learnt=[stretches(s) for s in sessions])


def labels_digest(labels: Sequence[NDArray[Any]]) -> str:
    """Tells the labels of one training from those of another, for the card: a run is only resumed with the same ones."""
    digest = hashlib.sha256()
    for values in labels:
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


def drop_bad_rows(
    inputs: dict[str, NDArray[Any]], what: str, notes: list[str], names: Mapping[str, Sequence[Feature]] | None = None
) -> NDArray[np.bool_]:
    """[R] which rows are finite in all inputs. The others are counted in ``notes``, with the features (``names``, by input) or
    columns that are not."""
    good = np.ones(len(next(iter(inputs.values()))), np.bool_)
    where: list[str] = []
    for name, values in inputs.items():
        if values.dtype.kind != "f":
            continue
        bad = ~np.isfinite(values)
        rows = bad.any(axis=tuple(range(1, bad.ndim)))
        if rows.any():
            columns = np.flatnonzero(bad.reshape(-1, values.shape[-1]).any(0)).tolist()
            told = ", ".join(names[name][c].name for c in columns[:8]) if names and name in names else f"columns {columns[:8]}"
            where.append(f"{name} {told} in {int(rows.sum())} rows (first: row {int(np.flatnonzero(rows)[0])})")
        good &= ~rows
    if where:
        notes.append(f"{what}: {int((~good).sum())} of {len(good)} rows dropped, not finite: {'; '.join(where)}")
    return good


def hide(inputs: Mapping[str, tuple[Sequence[Feature], Normaliser]], patterns: Sequence[str]) -> dict[str, Normaliser]:
    """The normalisers of a level's inputs, with all features hidden whose name matches a pattern (``fnmatch``): for ablations.

    Raises TrainingError on a pattern that matches none: a misspelt ablation would be told as one that makes no difference.
    """
    for pattern in patterns:
        if not any(fnmatchcase(f.name, pattern) for features, _ in inputs.values() for f in features):
            known = ", ".join(f.name for features, _ in inputs.values() for f in features)
            raise TrainingError(f"hidden: no feature is called {pattern!r}; there are {known}")
    found: dict[str, Normaliser] = {}
    for name, (features, normaliser) in inputs.items():
        matching = [any(fnmatchcase(f.name, pattern) for pattern in patterns) for f in features]
        found[name] = normaliser.hiding(np.array(matching, np.bool_)) if any(matching) else normaliser
    return found


def to_tensors(arrays: dict[str, NDArray[Any]], device: torch.device) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(values)).to(device) for name, values in arrays.items()}


def hold(times_ns: I64, rows: I64, values: NDArray[Any], before: Any) -> NDArray[Any]:
    """[T] the value decided at the last of ``rows`` at or before each row; ``before`` where none was decided yet."""
    at = np.searchsorted(rows, np.arange(len(times_ns)), side="right") - 1
    return np.where(at >= 0, values[np.maximum(at, 0)], before)


def recipe_of(settings: Any) -> dict[str, Any]:
    """A level's settings beside those of the loop, and the labelling rules' version, for the card: a run is only resumed with the
    same ones."""
    return {name: value for name, value in asdict(settings).items() if name != "loop"} | {"hindsight": HINDSIGHT_VERSION}


def common_card(sessions: Sequence[Steps], about: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What every level's card says of its data, and what whoever trains knows ``about`` it (the game's rules version)."""
    return {"features": FEATURE_VERSION, "sessions": len(sessions), "seconds": round(play_s(sessions), 1), **(about or {})}

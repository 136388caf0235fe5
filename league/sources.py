"""Play from files: recorder trajectories and streams of live feedback, with the outcomes that manifests tell of them.

    data/processed/*.jsonl.gz                          recorder trajectories (plain .jsonl too)
    reports/feedback_training/**/feedback_stream.jsonl live feedback, projected to the same 19 numbers
    reports/live/**/manifest.jsonl                     outcomes, linked by ``runtime_feedback``

Each seat of each episode becomes one sequence [T, 1]. The reward is the outcome, paid at the last step, and nothing else:
rewards of the recording are kept as ``extras["recorded_reward"]``. Where the outcome is not known the sequence is truncated,
with its last view standing for its successor. Rows left out in the middle of an episode let their neighbours meet.
Whoever recorded seldom said how likely the action was: the log-probability is then 0, and ``league.returns``' clipped ratios
take the action for certain. How rows are read: ``league.projection`` and ``league.source_rows``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.progress import Progress, Report, ignore
from league.codec import HEADS, OBSERVATION_SIZE
from league.data_report import DataReport, FileReport, data_report
from league.outcomes import MatchOutcome, link_outcomes, read_outcome
from league.projection import finish_actions, finish_observations
from league.source_rows import RawEpisode, RawFile, Row, lines_of, read_rows
from league.trajectories import TrajectorySequence

METRIC: Final = "metric/"
"""Extras of this prefix hold figures that came along, NaN where a row has none."""
_MOST_UNKNOWN: Final = 50


@dataclass(frozen=True, slots=True)
class LoadedPlay:
    """Sequences [T, 1] and what is to be said of them."""

    sequences: list[TrajectorySequence]
    report: DataReport


def load_play(
    data_dir: Path | None = None,
    feedback_dir: Path | None = None,
    live_dir: Path | None = None,
    metrics: Sequence[str] = (),
    report: Report = ignore,
    stop: Callable[[], bool] = lambda: False,
) -> LoadedPlay:
    """All play of these folders; None leaves one out. ``metrics``: names of figures to keep as extras.

    Nothing in the files raises: what cannot be used is counted and told, and folders that are missing or hold nothing are noted.
    """
    notes: list[str] = []
    recorded = _found(data_dir, ("*.jsonl.gz", "*.jsonl"), "recorder trajectories", notes)
    streams = _found(feedback_dir, ("**/feedback_stream.jsonl", "**/feedback_stream.jsonl.gz"), "feedback streams", notes)
    manifests = _found(live_dir, ("**/manifest.jsonl",), "manifests", notes)
    files = [_read_manifest(path, root) for path, root in manifests]
    outcomes = [one for _, found in files for one in found]
    linked, lost = link_outcomes([path for path, _ in streams], outcomes)
    if lost:
        notes.append(f"{lost} of {len(outcomes)} outcomes name no stream of feedback that is here")
    reports = [told for told, _ in files]
    sequences: list[TrajectorySequence] = []
    digests: dict[str, str] = {}
    work = [("recorder", *found) for found in recorded] + [("feedback", *found) for found in streams]
    for number, (kind, path, root) in enumerate(work):
        if stop():
            notes.append(f"stopped after {number} of {len(work)} files")
            break
        report(Progress(path.name, number / len(work)))
        told, found = _load_file(kind, path, root, linked.get(path, []), metrics, digests)
        reports.append(told)
        sequences += found
    if not sequences:
        notes.append("no play was found; record some, name other folders, or let the scripted pilots play")
    return LoadedPlay(sequences, data_report(sequences, reports, notes))


def _found(folder: Path | None, patterns: tuple[str, ...], what: str, notes: list[str]) -> list[tuple[Path, Path]]:
    if folder is None:
        return []
    if not folder.is_dir():
        notes.append(f"{folder}: no such folder, so no {what}")
        return []
    paths = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    if not paths:
        notes.append(f"{folder}: no {what} ({' or '.join(patterns)})")
    return [(path, folder) for path in paths]


def _read_manifest(path: Path, root: Path) -> tuple[FileReport, list[MatchOutcome]]:
    told = FileReport(path.relative_to(root).as_posix(), "manifest")
    dropped: Counter[str] = Counter()
    found: list[MatchOutcome] = []
    try:
        for line in lines_of(path, dropped, told.notes):
            outcome = read_outcome(line)
            if outcome is None:
                dropped["lines without an outcome linked by runtime_feedback"] += 1
            else:
                found.append(outcome)
    except OSError as error:
        told.notes.append(f"cannot be read: {error.strerror or error}")
    told.used, told.dropped = len(found), dict(dropped)
    return told, found


def _load_file(
    kind: str, path: Path, root: Path, outcomes: list[MatchOutcome], metrics: Sequence[str], digests: dict[str, str]
) -> tuple[FileReport, list[TrajectorySequence]]:
    told = FileReport(path.relative_to(root).as_posix(), kind)
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        twin = digests.setdefault(digest, told.name)
        if twin != told.name and path.stat().st_size:
            told.notes.append(f"the same bytes as {twin}: left out, so that training and validation cannot share it")
            return told, []
        raw = read_rows(path)
    except OSError as error:
        told.notes.append(f"cannot be read: {error.strerror or error}")
        return told, []
    _put_outcomes(raw, outcomes, told)
    sequences = _sequences(raw, f"{kind}/{told.name}", metrics, told)
    told.notes += raw.notes
    told.dropped = dict(raw.dropped)
    told.unknown = dict(raw.unknown.most_common(_MOST_UNKNOWN))
    if not sequences and not told.notes:
        told.notes.append("holds no row that can be used")
    return told, sequences


def _put_outcomes(raw: RawFile, outcomes: list[MatchOutcome], told: FileReport) -> None:
    """Outcomes by the match's name; without names, one by one when there are as many as episodes."""
    names = list(dict.fromkeys(e.episode for e in raw.episodes))
    by_name = {one.match: one.outcome for one in outcomes if one.match in names}
    if not by_name and outcomes and len(outcomes) == len(names):
        by_name = {name: one.outcome for name, one in zip(names, outcomes, strict=True)}
    seats = Counter(e.episode for e in raw.episodes)
    used = 0
    for episode in raw.episodes:
        if episode.episode in by_name and seats[episode.episode] == 1:
            episode.outcome = by_name[episode.episode]
            used += 1
    if used < len(outcomes):
        told.notes.append(f"{len(outcomes) - used} of {len(outcomes)} outcomes fit no episode of one seat here")


def _sequences(raw: RawFile, name: str, metrics: Sequence[str], told: FileReport) -> list[TrajectorySequence]:
    rows = [row for episode in raw.episodes for row in episode.rows]
    if not rows:
        return []
    observation, defaulted, clipped = finish_observations(np.stack([r.observation for r in rows]), raw.notes)
    action, known, wrong = finish_actions(np.stack([r.action for r in rows]), raw.notes)
    if wrong.any():
        raw.dropped["rows with an action out of range"] += int(wrong.sum())
    told.defaulted = dict(defaulted)
    for head, part in enumerate(HEADS):
        if not known[:, head].all():
            told.defaulted[f"action {part}"] = int((~known[:, head]).sum())
    if clipped:
        told.defaulted["an observation beyond its range, clipped"] = clipped
    silent = sum(r.log_prob is None for r in rows)
    if silent:
        told.defaulted["log-probability"] = silent
    found: list[TrajectorySequence] = []
    start = 0
    for episode in raw.episodes:
        index = start + np.flatnonzero(~wrong[start : start + len(episode.rows)])
        start += len(episode.rows)
        if len(index):
            kept = [rows[i] for i in index.tolist()]
            outcome = _outcome(episode, told)
            found.append(_sequence(observation[index], action[index], known[index], kept, f"{name}:{episode.episode}", outcome, metrics))
    told.used, told.sequences = sum(s.frames for s in found), len(found)
    return found


def _outcome(episode: RawEpisode, told: FileReport) -> float | None:
    """-1..1, or None. A recording that says nothing but pays at its end is taken at its word."""
    last = episode.rows[-1].reward
    if episode.outcome is None and episode.end == "terminated" and last and -1 <= last <= 1:
        told.defaulted["outcome: the last reward"] = told.defaulted.get("outcome: the last reward", 0) + 1
        return last
    return episode.outcome


def _sequence(
    observation: NDArray[np.float32],
    action: NDArray[np.int8],
    known: NDArray[np.bool_],
    rows: Sequence[Row],
    name: str,
    outcome: float | None,
    metrics: Sequence[str],
) -> TrajectorySequence:
    steps = len(rows)
    frame = (steps, 1)
    reward, terminated, truncated = np.zeros(frame, np.float32), np.zeros(frame, np.bool_), np.zeros(frame, np.bool_)
    (truncated if outcome is None else terminated)[-1] = True
    reward[-1] = outcome or 0.0
    nothing = np.zeros(len(HEADS), np.float32)
    log_prob = np.stack([nothing if r.log_prob is None else r.log_prob for r in rows])
    extras = {METRIC + m: np.array([[r.metrics.get(m, np.nan)] for r in rows], np.float32) for m in metrics}
    last = observation[-1:] if outcome is None else np.zeros((1, OBSERVATION_SIZE), np.float32)
    return TrajectorySequence(
        observation=observation[:, None],
        action=action[:, None],
        head_mask=known[:, None],
        behaviour_log_prob=np.where(known, log_prob, 0.0).astype(np.float32)[:, None],
        reward=reward,
        terminated=terminated,
        truncated=truncated,
        living=np.ones(frame, np.bool_),
        bootstrap_observation=last.copy(),
        episodes=(name,),
        extras={"recorded_reward": np.array([[r.reward] for r in rows], np.float32), **extras},
    )

"""Where the runs of a training lie: fresh folders, those that are gone on with, and those that a policy is made of.

A run counts by when its model was written, never by its name, and only for the game that it was made for.
"""

from __future__ import annotations

import contextlib
import filecmp
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from data.checkpoint import Checkpoint, CheckpointError, checkpoints, newest_whole, read_card, refuse_mismatch
from data.models import LEVELS, Level, check_name, list_policies, list_runs, models_dir, new_runs, write_policy
from data.profile import ARENA_PROFILE, GameProfile

if TYPE_CHECKING:
    from trainers.loop import LoopSettings, Result


def rules_of(profile: GameProfile) -> dict[str, int]:
    """The version of the embedded game's rules, for the card; another game's is its own affair."""
    if profile.name != ARENA_PROFILE.name:
        return {}
    from league.arena.skirmish import RULES_VERSION

    return {"rules_version": RULES_VERSION}


def run_dirs(
    target: Path, levels: Sequence[Level], profile: GameProfile, name: str = "", resume: bool = False
) -> tuple[dict[Level, Path], list[str]]:
    """A folder for the run of each level, and what is to be said of it.

    With ``resume``: the run of that name, else the newest of this game that can be gone on with; for all three levels, of the runs that
    were begun as one training the newest, and those that it had not begun when it was stopped are begun now, under its name. Raises
    CheckpointError for a run of another game, and for a name that is none.
    """
    if not resume:
        return new_runs(target, levels, name), []
    if name:
        check_name(name)
    known = [run for level in levels for run in _resumable(target, level, profile, len(levels))] if not name else []
    newest = name or max(((written, run.name) for written, run in known), default=(0, ""))[1]
    found: dict[Level, Path] = {}
    for level in levels:
        run = models_dir(target) / level / newest
        there = bool(newest) and run.is_dir()
        newest_card = _newest(run) if there else None
        wrong = _misfit(*newest_card, level, profile) if newest_card is not None else ""
        if wrong and name:
            raise CheckpointError(f"--resume --name {name}: {level}/{name} {wrong}; give another --name, or leave --resume out")
        if there and not wrong:
            found[level] = run
    missing: list[Level] = [level for level in levels if level not in found]
    notes = [f"goes on with {newest}"] if found and not name else []
    if not missing:
        return found, notes
    what = f"run {name}" if name else f"run of {profile.name}"
    notes += [f"{level}: there is no {what} to go on with; it is begun" if not found else f"{level}: begun anew" for level in missing]
    return found | new_runs(target, missing, newest), notes


def tidy(runs: Mapping[Level, Path]) -> None:
    """Remove the folders of runs into which nothing was written."""
    for run in runs.values():
        with contextlib.suppress(OSError):  # not empty, or not there
            run.rmdir()


def finished(run: Path, loop: LoopSettings) -> Result | None:
    """What a run gave that has nothing left to learn by these settings, and has its best model in full; None when it can go on, or was
    made with other settings, which whoever would go on with it refuses by name."""
    from trainers.loop import Result, changed_settings

    newest = _newest(run)
    if newest is None:
        return None
    best, last = run / "best_model", run / "last_model"
    try:
        state = cast("dict[str, Any]", newest[1]["state"])
        epoch, patience = int(state["epoch"]), loop.patience
        whole = read_card(last)["epoch"] == epoch and _written_ns(best) >= _written_ns(last)  # the best one is completed after the last
        figures = dict(read_card(best)["figures"])
        changed = changed_settings(newest[1]["settings"], loop)
        over = epoch >= loop.epochs or bool(patience and epoch - int(state["best_epoch"]) >= patience)
    except (CheckpointError, OSError, KeyError, TypeError, ValueError):
        return None
    return Result(run, best, epoch, figures) if whole and over and not changed else None


def learnt_from(runs: Iterable[Path], unsaid: Iterable[str]) -> set[str]:
    """The ids of the sessions that are in every one of ``runs``; ``unsaid`` for a run whose card names none."""
    found: set[str] | None = None
    for run in runs:
        newest = _newest(run)
        ids = set(cast("list[str]", newest[1].get("session_ids") or unsaid) if newest is not None else unsaid)
        found = ids if found is None else found & ids
    return found or set()


def reached(run: Path) -> tuple[Path, int] | None:
    """A run's newest checkpoint and when it was written (ns): after a stop it tells whether anything was learnt."""
    newest = _newest(run)
    return (newest[0], _written_ns(newest[0])) if newest is not None else None


def kept(run: Path) -> Result | None:
    """What a run has in its folder that was stopped before its trainer could say what it gave; None when it has no checkpoint."""
    from trainers.loop import Result

    newest = _newest(run)
    if newest is None:
        return None
    state = cast("dict[str, Any]", newest[1].get("state") or {})
    return Result(run, run / "best_model", int(newest[1].get("epoch") or 0), dict(state.get("best_figures") or {}), interrupted=True)


def policy_of(target: Path, models: Mapping[Level, Path]) -> Path | None:
    """The newest whole policy that holds these very models; None when there is none."""

    def holds(policy: Path) -> bool:
        pairs = [(policy / f"{level}.safetensors", path.with_name(f"{path.name}.safetensors")) for level, path in models.items()]
        return all(filecmp.cmp(mine, theirs, shallow=False) for mine, theirs in pairs)

    policies = sorted((p for p in list_policies(target) if not p.problem), key=lambda p: (p.created, p.name), reverse=True)
    return next((p.path for p in policies if holds(p.path)), None)


def bundle(
    target: Path, profile: GameProfile, trained: Mapping[Level, Path], detector: Sequence[Path] = (), name: str = ""
) -> tuple[Path | None, tuple[str, ...]]:
    """A policy of the models that were just ``trained`` and, of the other levels, the newest of this game; or None and the levels that
    have none. ``detector``: the files that travel with it. Raises CheckpointError."""
    chosen = dict(trained)
    for level in LEVELS:
        if level not in chosen:
            models = [run.path / "best_model" for run in reversed(list_runs(target, level)) if run.has_model]
            found, _ = newest_whole([path for path in models if not _misfit(path, read_card(path), level, profile)])
            if found is not None:
                chosen[level] = found.path
    if missing := tuple(level for level in LEVELS if level not in chosen):
        return None, missing
    return write_policy(policy_folder(target, name), chosen, profile, detector), ()


def policy_folder(target: Path, name: str = "") -> Path:
    """Where a new policy goes: by its name, else by the time."""
    base = models_dir(target) / "policies"
    wanted = name or time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return next(p for p in (base / wanted, *(base / f"{wanted}-{n}" for n in range(2, 1000))) if not p.exists())


def detector_files(profile: GameProfile, workspace: Path) -> list[Path]:
    """The detector that the policy will fly with travels with it."""
    if not profile.detector:
        return []
    from engine.perception.card import weights_path

    weights = weights_path(profile, workspace)
    return [p for p in (weights, weights.with_suffix(".json")) if p.is_file()] if weights is not None else []


def _resumable(target: Path, level: Level, profile: GameProfile, together: int) -> list[tuple[int, Path]]:
    """The runs of this game that have a checkpoint to go on from, and when it was written (ns). A run whose card says that fewer levels
    than ``together`` were begun with it is none."""
    base = models_dir(target) / level
    found: list[tuple[int, Path]] = []
    for run in base.iterdir() if base.is_dir() else ():
        newest = _newest(run)
        if newest is None or _misfit(*newest, level, profile):
            continue
        if len(cast("list[str]", newest[1].get("trained_together") or LEVELS)) >= together:
            found.append((_written_ns(newest[0]), run))
    return found


def _written_ns(path: Path) -> int:
    """When a checkpoint was written."""
    return path.with_name(f"{path.name}.safetensors").stat().st_mtime_ns


def _newest(run: Path) -> tuple[Path, dict[str, Any]] | None:
    """A run's newest checkpoint whose card can be read, with the card."""
    for path in checkpoints(run):
        with contextlib.suppress(CheckpointError):
            return path, read_card(path)
    return None


def _misfit(path: Path, card: dict[str, Any], level: Level, profile: GameProfile) -> str:
    """Why a checkpoint is none of this level of the game as it is now; empty when it is one."""
    theirs = cast("dict[str, Any]", card.get("profile") or {}).get("name")
    if theirs != profile.name:
        return f"is of {theirs}, not {profile.name}"
    try:
        refuse_mismatch(Checkpoint({}, card, path), profile, level)
    except CheckpointError as error:
        return f"is not of {profile.name} as it is now ({error})"
    made, today = card.get("rules_version"), rules_of(profile).get("rules_version")
    return f"learnt by rules {made}, here they are {today}" if made not in (None, today) else ""

"""Where a league policy lies that somebody names: a file, a policy of imitation or refinement, a snapshot of a league."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from league.players import SUFFIX, PlayerError
from league.runs import LEAGUES, MODELS, league_folders


def find_policy(workspace: Path, name: str, resolve: Callable[[str], Path]) -> Path:
    """The policy ``name`` means, without suffix: a path (``resolve`` says from where), else ``models/league/NAME`` (its run or
    ``RUN/pi_sup``), else a name of the newest run that has it, else a snapshot (``LEAGUE/ID``, or ``ID`` of the league that was
    played last of those that have it).

    Raises PlayerError that says what there is.
    """
    bare = name.removesuffix(SUFFIX)
    given = resolve(bare)
    candidates = [given, workspace / MODELS / bare]
    run, _, snapshot = bare.rpartition("/")
    if run:
        candidates.append(workspace / LEAGUES / run / "snapshots" / snapshot)
    for path in candidates:
        if _file(path).is_file():
            return path
    for folder in (given, workspace / MODELS / bare):
        found = _policies(folder)
        if len(found) == 1:
            return found[0]
    if not run:
        if (named := _newest([*workspace.glob(f"{MODELS}/*/{bare}{SUFFIX}")])) is not None:
            return named
        for league in reversed(league_folders(workspace)):
            if _file(snapshot := league / "snapshots" / bare).is_file():
                return snapshot
    raise PlayerError(f"{name}: neither a scripted pilot (expert, novice, random) nor a policy; {_told(workspace)}")


def _file(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX) if path.name else path


def _policies(folder: Path) -> list[Path]:
    """Policies of one run's folder: whatever is no checkpoint to resume from."""
    names = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    return [p.with_name(p.name.removesuffix(SUFFIX)) for p in names if not p.name.startswith("checkpoint_")]


def _newest(files: list[Path]) -> Path | None:
    newest = max(files, key=lambda p: (p.stat().st_mtime_ns, p), default=None)
    return newest and newest.with_name(newest.name.removesuffix(SUFFIX))


def _told(workspace: Path) -> str:
    runs = sorted(workspace.glob(f"{MODELS}/*"))
    there = [p.relative_to(workspace / MODELS).as_posix() for run in runs for p in _policies(run)]
    there += [f"{p.parent.parent.name}/{p.stem}" for p in sorted(workspace.glob(f"{LEAGUES}/*/snapshots/*{SUFFIX}"))]
    if not there:
        return "there is none yet: make one with secondseat league imitate"
    return f"there are {', '.join(there[-6:])}{'' if len(there) <= 6 else f' and {len(there) - 6} more'}"

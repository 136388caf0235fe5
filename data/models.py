"""The models of a workspace: training runs, policy bundles, and which policy flies.

``<workspace>/models/<level>/<run>/`` holds ``best_model``, ``last_model`` and ``checkpoint_epoch_N``. A policy is a
folder ``<workspace>/models/policies/<name>/`` with the three levels, the detector's files and the profile; it can be
moved anywhere. ``promoted.json`` names the policy that flies and those before it. Paths inside are relative.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, cast

from data.checkpoint import CheckpointError, checkpoints, load, read_card, refuse_mismatch, write_whole
from data.files import from_json, replace_path, set_aside
from data.names import name_refusal
from data.profile import GameProfile

Level = Literal["strategist", "tactician", "executor"]
LEVELS: Final[tuple[Level, ...]] = ("strategist", "tactician", "executor")
POLICY_CARD: Final = "policy.json"
PROMOTED: Final = "promoted.json"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One training run of one level. ``written_ns``: when its best model was, or its folder while it has none. ``unfinished``: how far it
    has come, while it is not at its end: it is at work, or was stopped; such a run may have a best model all the same."""

    level: str
    name: str
    path: Path
    epochs: int
    figures: dict[str, Any]
    problem: str = ""
    written_ns: int = 0
    unfinished: str = ""
    has_model: bool = True


@dataclass(frozen=True, slots=True)
class PolicyInfo:
    """One policy bundle. ``problem`` says why it could not be flown."""

    name: str
    path: Path
    profile: str
    created: str
    promoted: bool
    figures: dict[str, Any]
    problem: str = ""


def models_dir(workspace: Path) -> Path:
    return workspace / "models"


def new_run(workspace: Path, level: Level, name: str = "") -> Path:
    """A fresh folder for a training run, named by UTC time unless ``name`` is given."""
    return new_runs(workspace, (level,), name)[level]


def new_runs(workspace: Path, levels: Sequence[Level], name: str = "") -> dict[Level, Path]:
    """Fresh folders for the runs of one training, which have one name: the UTC time unless ``name`` is given."""
    base = models_dir(workspace)
    wanted = free = check_name(name) if name else datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    count = 1
    while any((base / level / free).exists() for level in levels):
        count += 1
        free = f"{wanted}-{count}"
    paths: dict[Level, Path] = {level: base / level / free for level in levels}
    for path in paths.values():
        path.mkdir(parents=True)
    return paths


def check_name(name: str) -> str:
    """A name that is a plain folder name. Raises CheckpointError otherwise."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", name):
        raise CheckpointError(f"model name {name!r}: use letters, digits, '.', '_' and '-', at most 80, beginning with a letter or digit")
    if refusal := name_refusal(name):
        raise CheckpointError(f"model name: {refusal}")
    return name


def _differs_in_case_only(folder: Path) -> bool:
    """On Windows and macOS such names are one."""
    return folder.parent.is_dir() and any(path.name.casefold() == folder.name.casefold() for path in folder.parent.iterdir())


def _as_listed(base: Path, name: str) -> str:
    """The name of a folder as it is spelt where it lies: Windows and macOS find it under any case of the letters."""
    names = [path.name for path in base.iterdir()]
    if name in names or not (base / name).is_dir():
        return name
    return next((one for one in names if one.casefold() == name.casefold()), name)


def _is_path(text: str) -> bool:
    """Whether what was said is a path; else it is a name, whatever lies in the present folder."""
    return text.startswith(".") or "/" in text or os.sep in text


def list_runs(workspace: Path, level: Level | None = None) -> list[RunInfo]:
    """All training runs by level, the one written last at the end of its level."""
    found: list[RunInfo] = []
    for one in LEVELS if level is None else (level,):
        base = models_dir(workspace) / one
        runs = [_run_info(one, path) for path in base.iterdir() if path.is_dir()] if base.is_dir() else []
        found += sorted(runs, key=lambda run: (run.written_ns, run.name))
    return found


def _run_info(level: Level, path: Path) -> RunInfo:
    best = path / "best_model"
    file = best.with_suffix(".safetensors")
    written_ns = (file if file.is_file() else path).stat().st_mtime_ns
    unfinished = _unfinished(path)
    if not file.is_file():
        return RunInfo(level, path.name, path, 0, {}, "", written_ns, unfinished or "no epoch was finished", has_model=False)
    try:
        card = read_card(best)
        figures, epoch = dict(card.get("figures") or {}), int(card.get("epoch", 0))
    except (CheckpointError, TypeError, ValueError, OverflowError) as error:
        problem = str(error) if isinstance(error, CheckpointError) else f"{file}: its card cannot be read ({error}); train it again"
        return RunInfo(level, path.name, path, 0, {}, problem, written_ns, unfinished, has_model=False)
    return RunInfo(level, path.name, path, epoch, figures, "", written_ns, unfinished)


def _unfinished(run: Path) -> str:
    """How far a run has come that is not at its end, by the card of its newest checkpoint; empty for one that came to its end."""
    for path in checkpoints(run):
        try:
            card = read_card(path)
            state, settings = cast("dict[str, Any]", card["state"]), cast("dict[str, Any]", card["settings"])
            epoch, epochs, patience = int(state["epoch"]), int(settings["epochs"]), int(settings["patience"])
            early = bool(patience) and epoch - int(state["best_epoch"]) >= patience
        except (CheckpointError, KeyError, TypeError, ValueError, OverflowError):
            continue
        return "" if epoch >= epochs or early else f"epoch {epoch} of {epochs} so far"
    return ""


def write_policy(folder: Path, levels: Mapping[Level, Path], profile: GameProfile, detector: Sequence[Path] = (), **more: Any) -> Path:
    """Make a bundle of three checkpoints (paths without suffix), the profile and the detector's files.

    It is put together beside its place and renamed, so that a half-made bundle is never seen. Raises CheckpointError when
    a level is missing or does not fit the profile, or the folder exists.
    """
    check_name(folder.name)
    if folder.exists() or _differs_in_case_only(folder):
        raise CheckpointError(f"{folder}: exists already; choose another name")
    missing = [level for level in LEVELS if level not in levels]
    if missing:
        raise CheckpointError(f"{folder}: a policy needs all three levels; missing {', '.join(missing)}")
    for level in LEVELS:
        refuse_mismatch(load(levels[level]), profile, level)
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for level in LEVELS:
        for suffix in (".safetensors", ".json"):
            shutil.copyfile(levels[level].with_name(levels[level].name + suffix), part / f"{level}{suffix}")
    for file in detector:
        shutil.copyfile(file, part / file.name)
    (part / "profile.json").write_text(profile.model_dump_json(indent=1), "utf-8")
    card: dict[str, Any] = {
        "version": 1,
        "profile": profile.name,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "detector": [file.name for file in detector],
        "figures": {},
        **more,
    }
    (part / POLICY_CARD).write_text(json.dumps(card, indent=1, allow_nan=False), "utf-8")
    replace_path(part, folder)
    return folder


def read_policy(folder: Path) -> tuple[dict[str, Any], GameProfile]:
    """A bundle's card and profile. Raises CheckpointError when it is not a whole bundle."""
    try:
        card = from_json((folder / POLICY_CARD).read_text("utf-8"))
        profile = GameProfile.model_validate_json((folder / "profile.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder}: not a policy bundle ({error}); train all three levels, or name another folder") from error
    if not isinstance(card, dict):
        raise CheckpointError(f"{folder / POLICY_CARD}: a card is a JSON object; train again, or name another folder")
    return cast("dict[str, Any]", card), profile


def list_policies(workspace: Path) -> list[PolicyInfo]:
    """All policy bundles of the workspace, by name."""
    base = models_dir(workspace) / "policies"
    if not base.is_dir():
        return []
    promoted = promoted_name(workspace)
    flying = promoted and _as_listed(base, promoted)
    return [_policy_info(p, p.name == flying) for p in sorted(base.iterdir()) if p.is_dir() and not p.name.startswith(".")]


def show_policy(folder: Path) -> dict[str, Any]:
    """Everything known of one bundle: its card, and the card of each level without the long lists."""
    card, profile = read_policy(folder)
    levels: dict[str, Any] = {}
    for level in LEVELS:
        found = read_card(folder / level)
        levels[level] = {k: v for k, v in found.items() if k not in ("normaliser", "split", "profile", "session_ids")}
    return {"name": folder.name, "profile_name": profile.name, **card, "levels": levels}


def trained_with(folder: Path) -> dict[str, bool]:
    """The sessions that a policy was trained with, by id: whether a level learnt from it, or it was only held out to choose by. Empty
    where the cards name none. Raises CheckpointError."""
    found: dict[str, bool] = {}
    for level in LEVELS:
        card = read_card(folder / level)
        try:
            names = [str(name) for name in cast("list[Any]", card.get("session_ids", []))]
            learnt = {int(part[0]) for part in card["split"]["train"]} if names else set[int]()
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise CheckpointError(
                f"{folder / level}: what it says of the sessions it was trained with cannot be read ({error!r}); train it again"
            ) from error
        for number, name in enumerate(names):
            found[name] = found.get(name, False) or number in learnt
    return found


def resolve_policy(workspace: Path, name: str = "") -> Path:
    """The folder of a policy: a name in the workspace, else a path to a bundle; the promoted one, which lies in the workspace, when
    ``name`` is empty."""
    promoted = "" if name else promoted_name(workspace)
    if wanted := name or promoted:
        as_path, inside = Path(wanted), models_dir(workspace) / "policies" / wanted
        if inside.is_dir() and not _is_path(wanted):
            return inside
        if not promoted and (as_path / POLICY_CARD).is_file():
            return as_path
        if inside.is_dir():
            return inside
        known = ", ".join(p.name for p in list_policies(workspace)) or "none yet"
        remedy = "; it is promoted and its folder is gone: promote another with secondseat models promote NAME" if promoted else ""
        raise CheckpointError(f"policy {wanted}: no such bundle; known: {known}{remedy}")
    policies = [p for p in list_policies(workspace) if not p.problem]
    if not policies:
        raise CheckpointError(f"{models_dir(workspace)}: no policy yet; record some play and run: secondseat train all")
    return max(policies, key=lambda p: (p.created, p.name)).path


@dataclass(frozen=True, slots=True)
class Flier:
    """The policy that flies when none is named (empty: none is there), and the newest that is newer than it (empty: it is). ``problem``:
    why the promoted one cannot fly; nothing flies then until another is promoted."""

    name: str = ""
    promoted: bool = False
    newer: str = ""
    problem: str = ""


def flier(workspace: Path) -> Flier:
    """Who would fly. Raises CheckpointError when the disk does not give what was promoted."""
    return flier_of(list_policies(workspace), promoted_name(workspace))


def flier_of(policies: Sequence[PolicyInfo], promoted: str = "") -> Flier:
    """Who of these would fly. promoted: its name, of which the bundle may be gone or broken: arming says what is wrong with it."""
    whole = [p for p in policies if not p.problem]
    newest = max(whole, key=lambda p: (p.created, p.name), default=None)
    chosen = next((p for p in policies if p.promoted), None)
    if chosen is None and not promoted:
        return Flier(newest.name) if newest is not None else Flier()
    name, created = (chosen.name, chosen.created) if chosen is not None else (promoted, "")
    newer = newest.name if newest is not None and newest.name != name and newest.created > created else ""
    return Flier(name, True, newer, "its folder is gone" if chosen is None else chosen.problem)


def promoted_name(workspace: Path) -> str:
    """The promoted policy's name, or empty. Raises CheckpointError when the disk does not give it."""
    history = _history(workspace)
    return history[-1] if history else ""


def promote(workspace: Path, name: str) -> str:
    """Let this policy, a name or a path, fly from now on. Raises CheckpointError when it is not a whole bundle of the workspace."""
    base = models_dir(workspace) / "policies"
    path = Path(name).resolve() if _is_path(name) and (Path(name) / POLICY_CARD).is_file() else None
    if path is not None and path.parent != base.resolve():
        raise CheckpointError(
            f"{name}: lies outside this workspace, where a promoted policy must lie; copy that folder into {base} and promote it by its "
            f"name, or let it fly from where it is: secondseat fly --policy {name}"
        )
    folder = base / check_name(path.name if path is not None else name)
    if not folder.is_dir():
        known = ", ".join(p.name for p in list_policies(workspace)) or "none yet"
        elsewhere = "one that lies elsewhere flies by its folder: secondseat fly --policy FOLDER"
        raise CheckpointError(f"policy {name}: there is none of that name in {base}; known: {known}; {elsewhere}")
    name = _as_listed(base, folder.name)
    info = _policy_info(base / name, False)
    if info.problem:
        raise CheckpointError(info.problem)
    history = _history(workspace)
    if not history or history[-1] != name:
        _write_history(workspace, [*history, name])
    return name


def rollback(workspace: Path) -> str:
    """Let the policy before the promoted one fly again, the last of which the folder is there; its name. Raises CheckpointError when there
    is none."""
    before = _history(workspace)[:-1]
    if not before:
        raise CheckpointError("models rollback: nothing was promoted before the present policy; promote another one by name")
    while before and not (models_dir(workspace) / "policies" / before[-1]).is_dir():
        before.pop()
    if not before:
        raise CheckpointError("models rollback: the folders of all that were promoted before are gone; promote another one by name")
    _write_history(workspace, before)
    return before[-1]


def _policy_info(folder: Path, promoted: bool) -> PolicyInfo:
    try:
        card, profile = read_policy(folder)
        for level in LEVELS:
            read_card(folder / level)
        figures = dict(card.get("figures") or {})
    except (CheckpointError, TypeError, ValueError) as error:
        problem = str(error) if isinstance(error, CheckpointError) else f"{folder / POLICY_CARD}: it cannot be read ({error}); train again"
        return PolicyInfo(folder.name, folder, "", "", promoted, {}, problem)
    return PolicyInfo(folder.name, folder, profile.name, str(card.get("created", "")), promoted, figures)


def _history(workspace: Path) -> list[str]:
    """The policies that were promoted, the newest last. A file that does not name them is set aside and told of: then none were."""
    file = models_dir(workspace) / PROMOTED
    try:
        names = from_json(file.read_text("utf-8"))["history"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
            raise TypeError("its history is no list of names")
        return cast("list[str]", names)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckpointError(f"{file}: {error.strerror or error}; see that it can be read") from error
    except (ValueError, LookupError, TypeError) as error:
        _set_history_aside(file, error)
        return []


def _set_history_aside(file: Path, problem: Exception) -> None:
    try:
        where = f"is kept as {set_aside(file).name}"
    except FileNotFoundError:  # another process was faster, and has told of it
        return
    except OSError as error:
        where = f"could not be set aside ({error.strerror or error})"
    log.warning("%s cannot be read (%s) and %s: no policy is promoted now; secondseat models promote NAME does it", file, problem, where)


def _write_history(workspace: Path, history: list[str]) -> None:
    write_whole(models_dir(workspace) / PROMOTED, json.dumps({"history": history[-50:]}, indent=1).encode())

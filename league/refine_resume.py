"""A refinement that goes on: from its own checkpoints, as it was begun, with the very policies that it was begun with, wherever they lie
by now."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from data.checkpoint import CheckpointError, checkpoints, load, newest_whole, read_card
from league.arena.last_standing_pilots import PILOTS
from league.losses import LossSettings, UpdateSettings
from league.players import SUFFIX
from league.refine_settings import SELF, SUPERVISED, RefineSettings
from league.runs import LEAGUES, MODELS
from league.store import weights_hash

_PLACES: Final = (f"{MODELS}/*/pi_*{SUFFIX}", f"{LEAGUES}/*/snapshots/*{SUFFIX}", f"*{SUFFIX}", f"{MODELS}/**/*{SUFFIX}")
"""Where policies lie, the likeliest first; a run's own checkpoints hold more than a policy."""
_BUILT_IN: Final = {SELF, SUPERVISED, *PILOTS}
ROLE: Final = "checkpoint of refinement"
"""In the card of a checkpoint."""
_STEM: Final = "checkpoint_iteration_"


def checkpoint_of(run_dir: Path, iteration: int) -> Path:
    """A refinement's checkpoint, without suffix. Its name is none of imitation's, which may lie in the same folder."""
    return run_dir / f"{_STEM}{iteration}"


def iteration_of(checkpoint: Path) -> str:
    """The number that its replay, worlds and best policy bear as well."""
    return checkpoint.name.rpartition("_")[2]


def refinements(run_dir: Path) -> list[Path]:
    """A refinement's checkpoints without suffix, newest first; those that earlier versions named as imitation's are, too."""
    named = [path.with_suffix("") for path in run_dir.glob(f"{_STEM}*.safetensors")]
    mine = [path for path in named if iteration_of(path).isdecimal()]
    mine += [path for path in checkpoints(run_dir) if _is_earlier(path, torn_is_one=not mine)]
    return sorted(mine, key=lambda path: int(iteration_of(path)), reverse=True)


def _is_earlier(path: Path, *, torn_is_one: bool) -> bool:
    """Whether ``checkpoint_epoch_N`` is a refinement's: by its card, and one that is torn by the worlds beside it."""
    try:
        return read_card(path).get("role") == ROLE
    except CheckpointError:
        return torn_is_one and path.with_name(f"runner_{iteration_of(path)}.npz").is_file()


def begun(
    run_dir: Path, workspace: Path, find: Callable[[str], Path], changed: Mapping[str, Any], supervised: Path | None = None
) -> tuple[RefineSettings, Path]:
    """Settings of the refinement in ``run_dir`` with some ``changed`` (fields of ``RefineSettings`` but for ``frozen``), and the policy
    that it is held near, which is ``supervised`` where that is given.

    How long it was to last, how often it is looked at and who plays are as before too; ``iterations`` without ``minutes`` ends the
    counting of minutes. Policies are known by their weights, whatever bears their name today; ``find`` says what a name means that was
    no opponent before. Raises CheckpointError when there is no whole checkpoint, when it says what is no settings, and when a policy
    that it needs is gone; RefineError and what ``find`` raises.
    """
    found, _ = newest_whole(refinements(run_dir))
    if found is None:
        raise CheckpointError(f"{run_dir}: no whole checkpoint to go on from; begin a new run")
    try:
        about: dict[str, Any] = found.card["about"]
        told: dict[str, Any] = {**about["settings"], **about.get("course", {})}
        hashes: dict[str, str] = told.pop("frozen")
        told |= {"opponents": tuple(told["opponents"]), "loss": LossSettings(**told["loss"]), "update": UpdateSettings(**told["update"])}
        known = {field.name for field in fields(RefineSettings)} - {"frozen"}
        if "iterations" in changed:
            told["minutes"] = 0.0
        if changed.get("runner", "ray") != "ray":
            told["address"] = ""
        told = {name: value for name, value in told.items() if name in known} | dict(changed)
        names = {*told["opponents"]} - _BUILT_IN
        frozen = {name: policy_with(run_dir, workspace, hashes[name], name) if name in hashes else find(name) for name in sorted(names)}
        near = supervised or policy_with(run_dir, workspace, str(found.card["reference"]), SUPERVISED)
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{found.path}: what it says of how it was begun cannot be read ({error!r}); begin a new run") from error
    return RefineSettings(**{**told, "frozen": frozen}), near


def policy_with(run_dir: Path, workspace: Path, wanted: str, name: str) -> Path:
    """The policy whose weights have that hash, without suffix, beside the run or where the workspace keeps any; ``name``: as it was called.

    Raises CheckpointError when it is gone.
    """
    beside = (file for file in run_dir.glob(f"*{SUFFIX}") if not file.name.startswith("checkpoint_"))
    seen: set[Path] = set()
    for file in (*beside, *(file for place in _PLACES for file in workspace.glob(place))):
        path = file.with_name(file.name.removesuffix(SUFFIX))
        if path in seen:
            continue
        seen.add(path)
        with contextlib.suppress(CheckpointError, OSError):
            if weights_hash(load(path).tensors) == wanted:
                return path
    named = " name it by --supervised-checkpoint," if name == SUPERVISED else ""
    raise CheckpointError(
        f"{name}: the policy that bore that name when this refinement was begun is no longer beside it or where the workspace keeps "
        f"policies; put it back,{named} or begin anew"
    )

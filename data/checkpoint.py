"""Checkpoint files: tensors as safetensors with a JSON card, written whole or not at all.

The card says what the tensors were made for (feature version, normaliser, vocabulary, classes, profile, split, rules,
settings). It stands in the safetensors file's own metadata, so that one rename replaces both at once; the ``.json``
beside it is a copy for people to read. Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from data.features import FEATURE_VERSION
from data.files import from_json, replace_path
from data.profile import GameProfile
from data.vocabulary import MODES

CARD_VERSION: Final = 1
NETWORK_VERSIONS: Final = {"executor": 2}
"""Of each level's network, 1 where it is not named: another one has other tensors, or reads them in another way."""
MAX_HEADER_BYTES: Final = 64 * 2**20
COMPILED_PREFIX: Final = "_orig_mod."
Arrays = dict[str, NDArray[Any]]


class CheckpointError(Exception):
    """A checkpoint that cannot be used; the text says which file, why and what to do."""


class TornCheckpoint(CheckpointError):
    """A file that was cut, half-written or mixed up with another."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Tensors by name, and the card."""

    tensors: Arrays
    card: dict[str, Any]
    path: Path


def make_card(level: str, profile: GameProfile, **more: Any) -> dict[str, Any]:
    """The card's fixed part (what is checked at load) and ``more`` (settings, split, normaliser, figures ...)."""
    return {
        "card_version": CARD_VERSION,
        "level": level,
        "feature_version": FEATURE_VERSION,
        "network_version": NETWORK_VERSIONS.get(level, 1),
        "modes": list(MODES),
        "keys": list(profile.keys),
        "classes": list(profile.class_names()),
        "profile": profile.model_dump(mode="json"),
        **more,
    }


def save(path: Path, tensors: Mapping[str, NDArray[Any]], card: Mapping[str, Any]) -> None:
    """Write ``<path>.safetensors`` (card inside) and ``<path>.json`` (a readable copy). Each is temp + rename."""
    from safetensors.numpy import save as to_bytes

    text = json.dumps(card, indent=1, allow_nan=False, default=_plain)
    write_whole(_tensors(path), to_bytes({k: np.ascontiguousarray(v) for k, v in tensors.items()}, {"card": text}))
    write_whole(_card(path), text.encode())


def load(path: Path) -> Checkpoint:
    """Read ``<path>.safetensors``. Raises TornCheckpoint when it is not whole, CheckpointError when absent or too new."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    card = read_card(path)
    try:
        return Checkpoint(from_bytes(_tensors(path).read_bytes()), card, path)
    except (SafetensorError, ValueError, KeyError) as error:
        raise TornCheckpoint(f"{_tensors(path)}: not a whole safetensors file ({error}); use an earlier checkpoint") from error


def read_card(path: Path) -> dict[str, Any]:
    """The card alone, from the head of ``<path>.safetensors``."""
    file = _tensors(path)
    if not file.is_file():
        raise CheckpointError(f"{file}: no such file; train this level first, or name another run")
    try:
        with open(file, "rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            if size > MAX_HEADER_BYTES:
                raise ValueError("its head is larger than any head can be")
            head = from_json(stream.read(size))
        values = from_json(head["__metadata__"]["card"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise TornCheckpoint(f"{file}: not a readable checkpoint ({error}); use an earlier checkpoint") from error
    if not isinstance(values, dict):
        raise TornCheckpoint(f"{file}: a card is a JSON object; use an earlier checkpoint")
    card = cast("dict[str, Any]", values)
    version = card.get("card_version", 0)
    if not isinstance(version, int):
        raise TornCheckpoint(f"{file}: its card_version is {version!r}, not a number; use an earlier checkpoint")
    if version > CARD_VERSION:
        raise CheckpointError(
            f"{file}: made by a newer version (card {card['card_version']}, this reads {CARD_VERSION}); update Secondseat"
        )
    return card


def checkpoints(run_dir: Path) -> list[Path]:
    """A run's ``checkpoint_epoch_N`` without suffix, newest first; what has no number in its name is none of them."""
    found = [p.with_suffix("") for p in run_dir.glob("checkpoint_epoch_*.safetensors")]
    numbered = [p for p in found if p.name.rsplit("_", 1)[1].isdecimal()]
    return sorted(numbered, key=lambda p: int(p.name.rsplit("_", 1)[1]), reverse=True)


def keep_newest(run_dir: Path, count: int) -> None:
    """Remove a run's checkpoints but for the newest ``count``."""
    for old in checkpoints(run_dir)[count:]:
        for suffix in (".safetensors", ".json"):
            old.with_name(old.name + suffix).unlink(missing_ok=True)


def newest_whole(paths: list[Path]) -> tuple[Checkpoint | None, list[str]]:
    """The first of ``paths`` (newest first) that loads, and a note for each that did not."""
    notes: list[str] = []
    for path in paths:
        try:
            return load(path), notes
        except TornCheckpoint as error:
            notes.append(f"{error}; falling back to the one before")
        except CheckpointError as error:
            notes.append(str(error))
    return None, notes


def refuse_mismatch(checkpoint: Checkpoint, profile: GameProfile | None = None, level: str | None = None) -> None:
    """Raise CheckpointError that names every difference between what the checkpoint was made for and what is here."""
    card, wrong = checkpoint.card, list[str]()
    expected: dict[str, Any] = {"feature_version": FEATURE_VERSION, "modes": list(MODES)}
    if level is not None:
        expected["level"] = level
    if profile is not None:
        expected |= {"keys": list(profile.keys), "classes": list(profile.class_names())}
        theirs = cast("dict[str, Any]", card.get("profile") or {})
        ours = profile.model_dump(mode="json")
        # What the features are made by: the same numbers mean something else where one of these is another.
        for name in ("name", "picture_size", "gauges", "icons", "choices", "threat_range", "low_hp"):
            if theirs.get(name) != ours[name]:
                wrong.append(f"profile.{name}: made with {theirs.get(name)}, here {ours[name]}")
        made, here = (_meanings(cast("list[dict[str, Any]]", one.get("classes") or [])) for one in (theirs, ours))
        if made != here:
            wrong.append(f"what classes mean: made with {made}, here {here}")
    wrong += [f"{key}: made with {card.get(key)}, here {value}" for key, value in expected.items() if card.get(key) != value]
    theirs, mine = card.get("network_version", 1), NETWORK_VERSIONS.get(level or str(card.get("level")), 1)
    wrong += [f"network_version: made with {theirs}, here {mine}"] if theirs != mine else []
    if wrong:
        raise CheckpointError(f"{checkpoint.path}: does not fit. {'; '.join(wrong)}. Train it again, or use the profile it was made with")


def _meanings(classes: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{c.get('name')} ({c.get('role')}{', dangerous' if c.get('dangerous') else ''})" for c in classes)


def fit_tensors(tensors: Mapping[str, NDArray[Any]], wanted: Mapping[str, tuple[int, ...]], where: Path | str) -> Arrays:
    """Tensors under the names that a network has (``wanted``: name -> shape), without a compiler's prefix.

    Raises CheckpointError naming every missing, unexpected and differently shaped tensor: never a partial load.
    """
    found = {name.removeprefix(COMPILED_PREFIX): values for name, values in tensors.items()}
    missing, extra = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    shapes = [
        f"{n} {tuple(found[n].shape)} instead of {wanted[n]}"
        for n in sorted(set(wanted) & set(found))
        if tuple(found[n].shape) != tuple(wanted[n])
    ]
    bad = [n for n, v in found.items() if v.dtype.kind == "f" and not np.isfinite(v).all()]
    problems = [
        f"{what}: {', '.join(names)}"
        for what, names in (("missing", missing), ("unexpected", extra), ("wrong shape", shapes), ("not finite", bad))
        if names
    ]
    if problems:
        raise CheckpointError(f"{where}: tensors do not fit the network. {'; '.join(problems)}. Nothing was loaded; train it again")
    return found


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by a uniquely named temporary one, fsync and rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        replace_path(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _tensors(path: Path) -> Path:
    return path.with_name(path.name + ".safetensors")


def _card(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _plain(value: Any) -> Any:
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return float(value) if isinstance(value, np.floating) else int(value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a card holds plain values; got {type(value).__name__}")

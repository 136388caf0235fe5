"""A league's folder: its state, its learners' files, its snapshots, and journals of what was played.

    league_state.json           the whole state, with a digest of itself and of every file it needs
    league_state.previous.json  the good one before it
    parts/<name>.<generation>/  a learner's tensors, its replay, its worlds: files that one state names
    snapshots/<id>.safetensors  frozen players; each is a policy like any other (``league.imitate.load_policy``)
    matches.jsonl               every finished match, a line each
    replays.jsonl               all moves of one match in 32 (``league.moves``)
    metrics.jsonl               every iteration's losses, a line each

A save writes new files beside the old ones and names them last, by one rename: a process killed at any moment leaves the
state before or the state after. Journals only grow; the state knows how long they were, and what a killed process wrote
beyond that is cut off on resuming, so that nothing is counted twice. A state that is torn, or that names a file which is
missing or altered, is passed over for the previous one, and said. Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from data import checkpoint
from data.checkpoint import CARD_VERSION, CheckpointError
from data.files import from_json, replace_path, set_aside, sync_folder, write_whole
from data.locks import only_one
from league.imitate import made_for

FORMAT_VERSION: Final = 1
STATE, PREVIOUS, SUMMARY = "league_state.json", "league_state.previous.json", "summary.json"
MATCHES, METRICS, REPLAYS = "matches.jsonl", "metrics.jsonl", "replays.jsonl"
EVALUATION, BEST_RESPONSE = "evaluation.jsonl", "best_response.json"
"""Written by ``league.evaluation``: matches in which nobody learns, and what a fresh exploiter could do."""
LARGEST_STATE_BYTES: Final = 256 * 2**20
_PARTS, _SNAPSHOTS, _LOCK = "parts", "snapshots", ".league.lock"
_NAME: Final = re.compile(r"[a-z][a-z_]*-[0-9]+(@[0-9]+)?")
Weights = Mapping[str, NDArray[Any]]
WritePart = Callable[[Path], None]
"""Writes files into the folder it is given."""


class StoreError(Exception):
    """A league's folder cannot be used; the text says which file, why and what to do."""


def weights_hash(weights: Weights) -> str:
    """SHA-256 (hex) of names, kinds, shapes and numbers, whatever file they stand in."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        values = np.ascontiguousarray(weights[name])
        digest.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


class Journal:
    """A file of JSON objects, a line each, that grows at its end."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def size(self) -> int:
        """Bytes; 0 when there is none."""
        return self.path.stat().st_size if self.path.exists() else 0

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write rows at the end; they survive this process. A last line that is torn is ended first, so that it takes none of them along.

        Raises OSError.
        """
        text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
        if text:
            with self.path.open("a+b") as file:
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                    text = text if file.read(1) == b"\n" else f"\n{text}"
                file.write(text.encode())

    def sync(self) -> None:
        """Make what was written survive the machine."""
        if self.path.exists():
            with self.path.open("rb+") as file:
                os.fsync(file.fileno())

    def cut(self, size: int) -> str:
        """Cut the file back to ``size`` bytes, what is cut off kept beside it; says what was found, or "" when it was as long as that."""
        now = self.size
        if now > size:
            with self.path.open("rb+") as file:
                file.seek(size)
                rest = file.read()
                kept = self.path.with_name(f"{self.path.name}.cut")
                with kept.open("ab") as aside:
                    aside.write(rest)
                file.truncate(size)
            rows = rest.count(b"\n")
            return f"{self.path.name}: cut back to the saved state; {rows} lines after it are played again (kept in {kept.name})"
        if now < size:
            return f"{self.path.name}: {size - now} bytes are missing; reports from it know less than the state"
        return ""


def read_journal(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of a journal, and a sentence on lines that are none. A last line without its end counts when it is whole; else it is torn, or
    is still being written.

    Raises StoreError when the file cannot be read.
    """
    rows: list[dict[str, Any]] = []
    bad: list[int] = []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror or error}); name the matches of a league") from error
    torn = False
    for number, line in enumerate(lines, 1):
        try:
            row = from_json(line, any_number=True)
        except ValueError:
            row = None
        if isinstance(row, dict):
            rows.append(row)
        elif line.strip() and number == len(lines):
            torn = True
        elif line.strip():
            bad.append(number)
    notes = [f"{path.name}: {len(bad)} lines are no JSON object and are left out, the first is line {bad[0]}"] if bad else []
    if torn:
        notes.append(f"{path.name}: its last line, {len(lines)}, is torn, or still being written, and is left out")
    return rows, notes


class Saved(NamedTuple):
    """A good state as it was found."""

    state: dict[str, Any]
    parts: dict[str, Path]
    """Folder of each part."""
    generation: int
    journals: dict[str, int]
    """Their lengths in bytes when it was saved."""
    notes: list[str]
    """What was wrong with a newer one."""


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_state(path: Path) -> dict[str, Any]:
    """A state file's whole content, its own digest checked. Raises StoreError when it is missing, torn, altered or too new."""
    try:
        if path.stat().st_size > LARGEST_STATE_BYTES:
            raise StoreError(f"{path.name}: larger than any league's state; it is none of ours")
        told = from_json(path.read_bytes())
    except OSError as error:
        raise StoreError(f"{path.name}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise StoreError(f"{path.name}: torn ({error})") from error
    if not isinstance(told, dict) or "format" not in told:
        raise StoreError(f"{path.name}: no league's state")
    if told["format"] != FORMAT_VERSION:
        raise StoreError(f"{path.name}: format {told['format']!r}, this reads {FORMAT_VERSION}; update Secondseat")
    try:
        same = told.get("digest") == _digest({key: value for key, value in told.items() if key != "digest"})
    except ValueError:  # a number that is none
        same = False
    if not same:
        raise StoreError(f"{path.name}: altered or torn; its digest is another")
    return told


@dataclass(slots=True)
class LeagueStore:
    """One league's folder. Reading changes nothing in it."""

    folder: Path
    generation: int = 0
    _parts: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """What the last state names: folder and hashes of each part."""
    _current_is_bad: bool = False

    @property
    def matches(self) -> Journal:
        return Journal(self.folder / MATCHES)

    @property
    def metrics(self) -> Journal:
        return Journal(self.folder / METRICS)

    @property
    def replays(self) -> Journal:
        """Only for looking at: no state depends on it, and of two lines of one match the last counts."""
        return Journal(self.folder / REPLAYS)

    @property
    def is_used(self) -> bool:
        """Whether a league is, or was, in the folder. First snapshots alone are what is left of a start that failed."""
        return self.has_state or self.matches.path.exists() or any((self.folder / _SNAPSHOTS).glob("*@[1-9]*"))

    @property
    def has_state(self) -> bool:
        """Whether there is a state that may be gone on from; whether it is good, ``load`` tells."""
        return any((self.folder / name).exists() for name in (STATE, PREVIOUS))

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Held by the one process that writes; the system frees it when that dies. Raises StoreError when another has it.

        When nothing came of it, no league and no part of one, the folder that was made for it is gone afterwards.
        """
        with only_one(self.folder / _LOCK) as alone:
            if not alone:
                raise StoreError(f"{self.folder}: another process is running this league; stop it, or name another folder")
            yield

    # state

    def load(self) -> Saved:
        """The newest good state. Raises StoreError when there is none; nothing is changed then either."""
        notes: list[str] = []
        for name in (STATE, PREVIOUS):
            try:
                told = read_state(self.folder / name)
                parts = self._check_parts(told, name)
            except StoreError as error:
                notes.append(str(error))
                continue
            self.generation, self._parts = int(told["generation"]), told["parts"]
            self._current_is_bad = name == PREVIOUS and (self.folder / STATE).exists()
            notes = [f"{note}: falling back to the previous good state" for note in notes]
            return Saved(told["state"], parts, self.generation, told["journals"], notes)
        raise StoreError(
            f"{self.folder}: no state to go on from. {'; '.join(notes)}. Put one back, or start a new league in another folder"
        )

    def _check_parts(self, told: Mapping[str, Any], name: str) -> dict[str, Path]:
        folders: dict[str, Path] = {}
        try:
            for part, about in told["parts"].items():
                folder = self.folder / _PARTS / Path(about["folder"]).name
                for file, wanted in about["files"].items():
                    path = folder / Path(file).name
                    if not path.is_file():
                        raise StoreError(f"{name}: its file {folder.name}/{file} is missing")
                    if _file_hash(path) != wanted:
                        raise StoreError(f"{name}: its file {folder.name}/{file} was altered")
                folders[part] = folder
        except (KeyError, TypeError, AttributeError, OSError) as error:
            raise StoreError(f"{name}: its list of files is broken ({error!r})") from error
        return folders

    def save(self, state: Mapping[str, Any], changed: Mapping[str, WritePart]) -> None:
        """Write the state and the parts that changed since the last one, whole or not at all; the state before it is kept.

        Raises OSError when the disk refuses; the last good state then stands.
        """
        parts_dir = self.folder / _PARTS
        parts_dir.mkdir(parents=True, exist_ok=True)
        generation = 1 + max([self.generation, *(int(p.suffix[1:]) for p in parts_dir.iterdir() if p.suffix[1:].isdecimal())])
        parts = dict(self._parts)
        for name, write in changed.items():
            _checked_name(name)
            folder = parts_dir / f"{name}.{generation:06d}"
            folder.mkdir()
            write(folder)
            sync_folder(folder)
            parts[name] = {"folder": folder.name, "files": {p.name: _file_hash(p) for p in sorted(folder.iterdir())}}
        sync_folder(parts_dir)
        self.matches.sync()
        self.metrics.sync()
        told: dict[str, Any] = {
            "format": FORMAT_VERSION,
            "generation": generation,
            "journals": {"matches": self.matches.size, "metrics": self.metrics.size},
            "parts": parts,
            "state": dict(state),
        }
        told = json.loads(json.dumps(told, allow_nan=False))  # the digest is of what will be read
        self._replace_state(json.dumps({**told, "digest": _digest(told)}).encode() + b"\n")
        self.generation, self._parts, self._current_is_bad = generation, parts, False
        self._prune()

    def amend(self, more: Mapping[str, Any]) -> None:
        """Change some of the newest state, its parts and journals being as they are; the state before it stays what can be fallen back to.

        Without a good newest state nothing is done: the next ``save`` tells. Raises OSError.
        """
        try:
            told = read_state(self.folder / STATE)
        except StoreError:
            return
        told = json.loads(json.dumps({**told, "state": {**told["state"], **more}}, allow_nan=False))
        digest = _digest({name: value for name, value in told.items() if name != "digest"})
        write_whole(self.folder / STATE, json.dumps({**told, "digest": digest}).encode() + b"\n")
        sync_folder(self.folder)

    def _replace_state(self, text: bytes) -> None:
        current = self.folder / STATE
        if self._current_is_bad and current.exists():
            set_aside(current)
        elif current.exists():
            write_whole(self.folder / PREVIOUS, current.read_bytes())
        write_whole(current, text)
        sync_folder(self.folder)

    def _prune(self) -> None:
        """Remove folders of parts that neither state names."""
        named = {about["folder"] for about in self._parts.values()}
        with contextlib.suppress(StoreError):
            named |= {about["folder"] for about in read_state(self.folder / PREVIOUS)["parts"].values()}
        for folder in (self.folder / _PARTS).iterdir():
            if folder.name not in named:
                shutil.rmtree(folder, ignore_errors=True)

    # snapshots

    def snapshot_path(self, snapshot: str) -> Path:
        """Without suffix. Raises StoreError for a name that no snapshot has."""
        return self.folder / _SNAPSHOTS / _checked_name(snapshot)

    def write_snapshot(self, snapshot: str, weights: Weights, about: Mapping[str, Any], *, first: bool = False) -> None:
        """Freeze weights. A file of that name with other weights (of a future that was cut off) is kept under another name, unless this is
        one of the ``first`` of a league that begins: then a start that failed left it."""
        path, wanted = self.snapshot_path(snapshot), weights_hash(weights)
        found = self._hash_at(path)
        if found == wanted:
            return
        if found is not None and not first:
            for suffix in (".safetensors", ".json"):
                with contextlib.suppress(FileNotFoundError):
                    replace_path(f"{path}{suffix}", f"{path}.other-{found[:8] or 'torn'}{suffix}")
        card = {
            "card_version": CARD_VERSION,
            **made_for(),
            "role": "snapshot",
            "hidden": len(weights["actor.0.bias"]),
            "snapshot": snapshot,
            "weights_hash": wanted,
            "about": dict(about),
        }
        checkpoint.save(path, weights, card)

    def read_snapshot(self, snapshot: str, wanted: str) -> dict[str, NDArray[Any]]:
        """Weights whose hash is ``wanted``. Raises StoreError when the file is missing, torn or has other weights."""
        path = self.snapshot_path(snapshot)
        try:
            tensors = checkpoint.load(path).tensors
        except CheckpointError as error:
            raise StoreError(f"snapshot {snapshot}: {error}") from error
        if weights_hash(tensors) != wanted:
            raise StoreError(f"snapshot {snapshot}: {path}.safetensors has other weights than those that were frozen; put the file back")
        return tensors

    def found_snapshots(self, snapshots: Iterable[str]) -> dict[str, str]:
        """Hash of the weights of each that is there; "" for a file that cannot be read."""
        return {name: found for name in snapshots if (found := self._hash_at(self.snapshot_path(name))) is not None}

    @staticmethod
    def _hash_at(path: Path) -> str | None:
        """Of a snapshot's weights; None without a file, "" when it is torn."""
        if not path.with_name(path.name + ".safetensors").is_file():
            return None
        try:
            return weights_hash(checkpoint.load(path).tensors)
        except CheckpointError:
            return ""


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise StoreError(f"player {name!r}: no name of a learner or snapshot of ours, like main-1 or main-1@3; the state was altered")
    return name

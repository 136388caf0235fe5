"""Recordings of the earlier scripts as sessions, so that training takes them in with all others.

The rows of a file become input events and are put together into steps by the same code as live play: at 20 Hz, whatever
rate they were taken at; objects are followed by the same tracker. There are no pictures: such a session can be learnt from
and judged, not watched or perceived anew.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from data.importers.old_recordings import OldFormatError, OldRecording, OldRow, read_old
from data.metadata import Source, write_metadata
from data.profile import GameProfile
from data.schema import InputEvent, Observation, Status, Step
from data.session import SessionWriter
from data.vocabulary import MODES, OTHER_KEY, Mode
from engine.perception.detections import Detections
from engine.perception.tracker import Tracker
from engine.runtime.progress import Progress, Report, ignore
from engine.step_assembler import StepAssembler

if TYPE_CHECKING:
    from data.labels import Label

TICK_HZ: Final = 20.0
START_NS: Final = 1_000_000_000
SUFFIXES: Final = (".json", ".jsonl", ".pkl", ".pickle", ".npz")
_ALIASES: Final[Mapping[str, str]] = {"health": "hp", "hitpoints": "hp", "shields": "shield", "armor": "shield"}
BY: Final = "imported"
"""Who said the labels that are made of the files' modes."""
_GAP_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """classes: names in the files -> classes of the profile. keep_modes: keep the modes that the files name, as labels; the
    earlier scripts made them from the very state that predicts them, so they are left out otherwise."""

    profile: GameProfile
    classes: Mapping[str, str] = field(default_factory=dict[str, str])
    picture_size: tuple[int, int] | None = None
    keep_modes: bool = False


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file. outcome: "imported", "already" (as ``session``), "not play" (corrections, labels), "refused".

    modes_left: how many modes it names that were not taken."""

    file: str
    outcome: str
    kind: str = ""
    session: str = ""
    rows: int = 0
    steps: int = 0
    seconds: float = 0.0
    used: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    reason: str = ""
    modes_left: int = 0

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def files_in(paths: Sequence[Path]) -> list[Path]:
    """The files to look at: those given, and in folders those whose name ends like a recording's. Raises OSError."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
        elif path.exists():
            found.append(path)
        else:
            raise FileNotFoundError(2, "no such file or folder", str(path))
    return list(dict.fromkeys(found))


def import_files(workspace: Path, files: Sequence[Path], options: ImportOptions, report: Report = ignore) -> list[FileReport]:
    """Import one file after the other; one that cannot be used is refused and the rest goes on."""
    known = _imported(workspace)
    done: list[FileReport] = []
    for number, path in enumerate(files):
        report(Progress("importing", number / len(files), message=f"{number + 1} of {len(files)}: {path.name}"))
        try:
            told = _import(workspace, path, options, known)
        except (OSError, ValueError, RuntimeError, ArithmeticError, MemoryError) as error:
            reason = " ".join(str(error).split()).removeprefix(f"{path.name}: ")
            if isinstance(error, MemoryError):
                reason = "it holds more than there is memory for"
            told = FileReport(path.name, "refused", reason=reason)
        done.append(told)
    return done


def _imported(workspace: Path) -> dict[str, str]:
    """Hashes of what was imported before -> the session that it became."""
    from data.catalog import session_folders
    from data.metadata import SessionError, read_metadata

    known: dict[str, str] = {}
    for folder in session_folders(workspace):
        try:
            details = read_metadata(folder).details
        except SessionError:
            continue
        known |= {str(details[key]): folder.name for key in ("file_sha256", "play_sha256") if details.get(key)}
    return known


def _import(workspace: Path, path: Path, options: ImportOptions, known: dict[str, str]) -> FileReport:
    with path.open("rb") as file:
        file_hash = hashlib.file_digest(file, "sha256").hexdigest()
    if file_hash in known and not options.keep_modes:
        return FileReport(path.name, "already", session=known[file_hash], reason="this file was imported before")
    old = read_old(path, options.picture_size)
    if not old.rows:
        what = {"corrections": "corrections are for fine-tuning", "labels": "labels without play"}[old.kind]
        return FileReport(path.name, "not play", old.kind, dropped=dict(old.dropped), reason=what)
    named = sum(bool(row.mode) for row in old.rows)
    play_hash = _fingerprint(old.rows)
    for known_hash, why in ((file_hash, "this file was imported before"), (play_hash, "the same play under another name")):
        if known_hash in known:
            session = known[known_hash]
            why = f"{why}; {_modes_later(workspace, session, old.rows)}" if options.keep_modes else why
            return FileReport(path.name, "already", old.kind, session, len(old.rows), reason=why)
    converter = _Converter(old, options)
    session, steps = converter.write(workspace, path.name, {"file_sha256": file_hash, "play_sha256": play_hash})
    known |= {file_hash: session, play_hash: session}
    return FileReport(
        path.name,
        "imported",
        old.kind,
        session,
        len(old.rows),
        steps,
        round(old.rows[-1].time_s - old.rows[0].time_s, 2),
        tuple(converter.used),
        tuple(old.defaulted),
        dict(old.dropped),
        modes_left=0 if options.keep_modes else named,
    )


def _modes_later(workspace: Path, session: str, rows: Sequence[OldRow]) -> str:
    """Add the modes to a session that was made without them; says what became of them."""
    from data.labels import append, read
    from data.workspace import Workspace

    labels = _mode_labels(rows)
    if not labels:
        return "it names no modes"
    folder = Workspace(workspace).sessions / session
    if any(label.by == BY for label in read(folder)[0]):
        return "its modes are labels already"
    append(folder, labels)
    return f"its {sum(bool(row.mode) for row in rows)} modes are labels now"


def _mode_labels(rows: Sequence[OldRow]) -> list[Label]:
    """The modes that the rows name as labels of stretches; of the rules, since the earlier scripts made them by rules."""
    from data.labels import Label

    labels: list[Label] = []
    for row, after in itertools.pairwise(rows):
        mode: Mode | None = next((m for m in MODES if m == row.mode), None)
        if mode is None:
            continue
        last = labels[-1] if labels else None
        if last is not None and last.mode == mode and last.end_ns == _ns(row):
            labels[-1] = last.model_copy(update={"end_ns": _ns(after)})
        else:
            labels.append(Label(start_ns=_ns(row), end_ns=_ns(after), source="rules", mode=mode, by=BY))
    return labels


def _fingerprint(rows: Sequence[OldRow]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        boxes = [(o.name, *(round(v, 4) for v in o.box)) for o in row.objects]
        point = None if row.point is None else tuple(round(v, 4) for v in row.point)
        digest.update(repr((round(row.time_s, 3), point, row.clicks, row.keys, boxes)).encode())
    return digest.hexdigest()


class _Converter:
    def __init__(self, old: OldRecording, options: ImportOptions) -> None:
        self._old, self._options, self._profile = old, options, options.profile
        ours = self._profile.class_names()
        self._class_of = {name.casefold(): i for i, name in enumerate(ours)}
        for theirs, mapped in options.classes.items():
            if mapped.casefold() not in self._class_of:
                raise ValueError(f"--map {theirs}={mapped}: {self._profile.name} has no class {mapped!r}; it has {', '.join(ours)}")
            self._class_of[theirs.casefold()] = self._class_of[mapped.casefold()]
        self.used: list[str] = []
        names = sorted({o.name for row in old.rows for o in row.objects})
        if names and not any(name.casefold() in self._class_of for name in names):
            raise OldFormatError(
                f"none of its classes ({', '.join(names)}) is one of {self._profile.name}'s ({', '.join(ours) or 'it has none'}); "
                f"say which is which with --map {names[0]}=CLASS, or name another --game"
            )

    def write(self, workspace: Path, name: str, hashes: Mapping[str, str]) -> tuple[str, int]:
        """The session's id and how many steps it has. Nothing is left behind when it fails."""
        rows, profile = self._old.rows, self._profile
        writer = SessionWriter.create(
            workspace,
            "shadow" if self._old.kind == "shadow" else "play",
            profile,
            Source(kind="import", description=f"{name}, an earlier script's {self._old.kind}"),
            TICK_HZ,
            profile.picture_size,
            tick_hz=TICK_HZ,
            start_ns=START_NS,
            details={"imported": name, **hashes},
        )
        count = 0
        try:
            for step in self._steps(writer):
                writer.write_step(step)
                count += 1
            writer.note("imported: there are no pictures")
            metadata = writer.close("saved")
        except BaseException:
            writer.remove()
            raise
        (writer.folder / "video.mkv").unlink()
        metadata.duration_s = round(rows[-1].time_s - rows[0].time_s, 3)
        write_metadata(writer.folder, metadata)
        if self._options.keep_modes:
            self._keep_modes(writer.folder)
        self.used.append(f"{count} steps at {TICK_HZ:g} Hz of {len(rows)} rows")
        return writer.id, count

    def _steps(self, writer: SessionWriter) -> Iterator[Step]:
        assembler = StepAssembler(self._profile, settle_ns=0)
        seen = self._observations()
        for event in self._events():
            writer.write_event(event)
            assembler.event(event)
        rows, period_ns = self._old.rows, round(1e9 / TICK_HZ)
        end_ns = _ns(rows[-1]) + period_ns
        following = next(seen, None)
        now: Observation | None = None
        time_ns = _ns(rows[0])
        while time_ns < end_ns + period_ns:
            while following is not None and following.time_ns <= time_ns:
                now, following = following, next(seen, None)
            if now is not None and time_ns - now.time_ns > _GAP_S * 1e9:  # nothing was taken in between: a gap, as in live play
                until_ns = following.time_ns if following is not None else end_ns + period_ns
                time_ns += -((time_ns - until_ns) // period_ns) * period_ns  # the first tick that has a row
                continue
            if now is not None:
                yield from assembler.tick(dataclasses.replace(now, time_ns=time_ns), "human")
            time_ns += period_ns

    def _observations(self) -> Iterator[Observation]:
        tracker = Tracker(self._profile.roles())
        width, height = self._profile.picture_size
        levels = self._profile.level_names()
        counted = dict.fromkeys(("objects", "levels"), 0)
        for row in self._old.rows:
            found = self._detections(row)
            tracks = tracker.update(found, _ns(row), height / width)
            known = {_ALIASES.get(name, name): value for name, value in row.levels.items()}
            status = Status({name: known.get(name) for name in levels})
            counted["objects"] += len(found)
            counted["levels"] += sum(value is not None for value in status.levels.values())
            yield Observation(_ns(row), _ns(row), -1, status, tracks, row.point, True)
        self.used += [f"{count} {what}" for what, count in counted.items() if count]

    def _detections(self, row: OldRow) -> Detections:
        known = [o for o in row.objects if o.name.casefold() in self._class_of]
        for o in row.objects:
            if o.name.casefold() not in self._class_of:
                self._old.dropped[f"objects of class {o.name!r}, which {self._profile.name} has not"] += 1
        if not known:
            return Detections.empty()
        known.sort(key=lambda o: -o.confidence)
        return Detections(
            np.array([o.box for o in known], np.float32),
            np.array([self._class_of[o.name.casefold()] for o in known], np.int32),
            np.array([o.confidence for o in known], np.float32),
        )

    def _events(self) -> Iterator[InputEvent]:
        """Moves, presses and releases that make the rows' points, clicks and keys."""
        down: set[str] = set()
        presses = 0
        rows = self._old.rows
        for i, row in enumerate(rows):
            time_ns = _ns(row)
            x, y = row.point if row.point is not None else (None, None)
            if row.point is not None:
                yield InputEvent(time_ns, "move", "", x, y, actor="human")
            wanted = {f"mouse_{button}" for button in row.clicks} | {self._key(key) for key in row.keys}
            for name in sorted(down - wanted):
                yield InputEvent(time_ns, "release", name, x, y, actor="human")
            for name in sorted(wanted - down):
                presses += 1
                yield InputEvent(time_ns, "press", name, x, y, actor="human")
            down = wanted
            if row.clicks[:2] == ("left", "left"):  # a double click is two presses
                until_ns = _ns(rows[i + 1]) if i + 1 < len(rows) else time_ns + 30_000_000
                for share, kind in ((1, "release"), (2, "press")):
                    presses += kind == "press"
                    yield InputEvent(time_ns + (until_ns - time_ns) * share // 3, kind, "mouse_left", x, y, actor="human")  # pyright: ignore
        for name in sorted(down):
            yield InputEvent(_ns(rows[-1]) + 1, "release", name, actor="human")
        self.used.append(f"{presses} presses")

    def _key(self, name: str) -> str:
        if name in self._profile.keys:
            return name
        self._old.dropped[f"key {name!r}, which {self._profile.name} has not (kept without its name)"] += 1
        return OTHER_KEY

    def _keep_modes(self, folder: Path) -> None:
        from data.labels import append

        rows = self._old.rows
        append(folder, _mode_labels(rows))
        self.used.append(f"{sum(bool(row.mode) for row in rows)} modes")


def _ns(row: OldRow) -> int:
    return START_NS + round(row.time_s * 1e9)

"""What an engine hands to the one after it: what is watched, and whether it was recording. The bot is never handed over."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from data.files import from_json, write_json
from engine.restore import restored
from engine.source_spec import SourceSpec


class DutiesError(Exception):
    """The file of a hand-over cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Duties:
    """``spec`` is None when nothing was watched."""

    spec: SourceSpec | None = None
    record: bool = False

    def write(self, path: Path) -> None:
        write_json(path, asdict(self))

    @staticmethod
    def take(path: Path) -> Duties:
        """Read the file and remove it: a hand-over happens once. Raises DutiesError."""
        try:
            duties = restored(Duties, from_json(path.read_text(encoding="utf-8")))
            path.unlink()
        except (OSError, ValueError) as error:
            raise DutiesError(f"{path}: no hand-over can be read from it ({error})") from error
        return duties

"""A detector's card: the JSON beside its weights that says what they find, how they were made and how good they are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from data.files import from_json, write_whole
from data.profile import GameProfile

ASSETS = Path(__file__).resolve().parents[1] / "assets"


class DetectorError(Exception):
    """A detector cannot be used; the text says which, why and what to do."""


@dataclass(frozen=True, slots=True)
class DetectorCard:
    """``size`` is width, height in px of the network's input. ``sha256`` is that of the ONNX file. ``figures`` were
    measured on pictures of seeds that training never saw. ``picture_version`` names the look of the game's pictures.
    ``box_scales``: by class, how many times too large the network's boxes are (1 where not named)."""

    game: str
    classes: tuple[str, ...]
    size: tuple[int, int]
    network: str
    width: float
    command: str
    seed: int
    sha256: str
    picture_version: str = ""
    box_scales: Mapping[str, float] = field(default_factory=dict[str, float])
    training: Mapping[str, Any] = field(default_factory=dict[str, Any])
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def write(self, path: Path) -> None:
        write_whole(path, (json.dumps(asdict(self), indent=1) + "\n").encode())


def read_card(path: Path) -> DetectorCard:
    """Read a card. Raises DetectorError when it is missing or damaged."""
    try:
        raw: Any = from_json(path.read_text(encoding="utf-8"))
        return DetectorCard(
            game=str(raw["game"]),
            classes=tuple(str(c) for c in raw["classes"]),
            size=(int(raw["size"][0]), int(raw["size"][1])),
            network=str(raw["network"]),
            width=float(raw["width"]),
            command=str(raw["command"]),
            seed=int(raw["seed"]),
            sha256=str(raw["sha256"]),
            picture_version=str(raw.get("picture_version", "")),
            box_scales={str(k): float(v) for k, v in raw.get("box_scales", {}).items()},
            training=dict(raw.get("training", {})),
            figures=dict(raw.get("figures", {})),
        )
    except FileNotFoundError as error:
        raise DetectorError(f"{path} is missing: a detector needs its card beside its weights") from error
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise DetectorError(f"{path} is not a detector's card ({type(error).__name__}: {error}); train the detector again") from error


def check_classes(profile: GameProfile, classes: tuple[str, ...], what: Path) -> None:
    """Raises DetectorError naming the first difference between a detector's classes and a profile's."""
    wanted = profile.class_names()
    if classes == wanted:
        return
    if len(classes) != len(wanted):
        difference = f"it finds {len(classes)} classes ({', '.join(classes)}), the profile has {len(wanted)} ({', '.join(wanted)})"
    else:
        k = next(i for i in range(len(wanted)) if classes[i] != wanted[i])
        difference = f"class {k} is {classes[k]!r} there and {wanted[k]!r} in the profile"
    raise DetectorError(f"detector {what.name} does not fit games.{profile.name}: {difference}; train one for this profile")


def file_sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def weights_path(profile: GameProfile, workspace: Path | None = None) -> Path | None:
    """The weights that a profile names: None when it names none, the shipped file for ``builtin:<name>``, else a path
    under the workspace. Raises DetectorError when the file is not there, with what to do."""
    named = profile.detector
    if not named:
        return None
    if named.startswith("builtin:"):
        path = ASSETS / f"{named.removeprefix('builtin:')}_detector.onnx"
        advice = "reinstall secondseat, or train it: secondseat train detector --source arena"
    else:
        path = Path(named).expanduser()
        if not path.is_absolute():
            path = (workspace or Path.cwd()) / path
        advice = f"put the file there, or set [games.{profile.name}] detector to one that exists (empty: none)"
    if not path.is_file():
        raise DetectorError(f"detector weights {named!r} of games.{profile.name}: no file {path}; {advice}")
    return path

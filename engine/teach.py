"""The folder in which a person teaches a detector to see a game: ``<workspace>/teach/<game>/``.

``pictures/<id>.png`` (or ``.jpg``) are the pictures, ``boxes/<id>.json`` what is known of each, ``state.json`` the rest.
Every file is replaced whole; one that is damaged is set aside and its picture is as new. Whoever saves boxes says
which revision they were drawn on, so that two windows never undo each other unseen.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from data.boxes import BY, MOST_BOXES, Box, BoxesError, clipped, picture_size
from data.files import from_json, set_aside, write_json, write_whole
from data.profile import GameProfile
from data.workspace import Workspace

State = Literal["new", "proposed", "confirmed", "skipped"]
STATES: Final[tuple[State, ...]] = get_args(State)
LARGEST_BOXES_BYTES: Final = 1_000_000
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class TeachError(Exception):
    """Teaching cannot go on; the text says why and what to do."""


class Stale(TeachError):
    """The boxes were saved by somebody else meanwhile."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What is known of one picture. ``session``: where it is from, empty for one from elsewhere; ``time_s``: when in it.

    ``unsure``: how unsure the newest model was of it, 0..1; None when no model has looked. ``revision`` counts the saves.
    """

    id: str
    width: int
    height: int
    session: str = ""
    time_s: float = 0.0
    state: State = "new"
    boxes: tuple[Box, ...] = ()
    unsure: float | None = None
    revision: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "id": self.id,
            "width": self.width,
            "height": self.height,
            "session": self.session,
            "time_s": self.time_s,
            "state": self.state,
            "unsure": self.unsure,
            "revision": self.revision,
            "boxes": [box.to_json() for box in self.boxes],
        }


class TeachProject:
    """The teach folder of one game. Safe for use by several threads of one process."""

    def __init__(self, workspace: Path, profile: GameProfile) -> None:
        if not profile.classes:
            raise TeachError(
                f"games.{profile.name} names no classes, so there is nothing to teach; add them:"
                f" secondseat games add {profile.name} --replace --class me=self --class foe=enemy --yes"
            )
        self.place: Final = Workspace(workspace)
        self.profile: Final = profile
        self.folder: Final = self.place.root / "teach" / profile.name
        self.notices: list[str] = []
        """What the person should know of damage that was found."""
        self.looks: dict[tuple[str, int], list[tuple[str, Any]]] = {}
        """Measured once: (picture, revision) -> the class and look of each of its boxes (``engine.teach_guesses``)."""
        self._lock = threading.RLock()
        self._pictures: dict[str, Picture] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.profile.class_names()

    # ---- pictures

    def pictures(self) -> list[Picture]:
        """All pictures, by session and time."""
        with self._lock:
            return sorted(self._read().values(), key=lambda p: (p.session == "", p.session, p.time_s, p.id))

    def get(self, id: str) -> Picture:
        """Raises TeachError when there is no such picture. An ``id`` is only ever looked up, never made into a path."""
        with self._lock:
            found = self._read().get(id)
        if found is None:
            raise TeachError(f"there is no picture {id!r}")
        return found

    def file(self, id: str) -> Path:
        """The picture's own file."""
        known = self.get(id).id
        return next(path for suffix in (".png", ".jpg", ".jpeg") if (path := self.folder / "pictures" / f"{known}{suffix}").is_file())

    def add(self, picture: Picture, content: bytes, suffix: str = ".png") -> None:
        """Take a picture in. Raises TeachError for a name that cannot be a file's, WorkspaceError, OSError."""
        if not _ID.fullmatch(picture.id):
            raise TeachError(f"{picture.id!r} cannot be a picture's name; use letters, digits, '.', '_' and '-'")
        with self._lock:
            known = self._read()
            write_whole(self.place.made(self.folder / "pictures") / f"{picture.id}{suffix}", content)
            write_json(self.place.made(self.folder / "boxes") / f"{picture.id}.json", picture.to_json())
            known[picture.id] = picture

    def save(self, id: str, boxes: Sequence[Box], state: State, revision: int | None = None, unsure: float | None = None) -> Picture:
        """Replace a picture's boxes. ``revision``: that which they were drawn on; None: whatever is there.

        Raises Stale, TeachError for boxes of unknown classes, OSError.
        """
        with self._lock:
            before = self.get(id)
            if revision is not None and revision != before.revision:
                raise Stale(f"{id} was saved elsewhere meanwhile (revision {before.revision}, not {revision}); load it again")
            if strange := sorted({b.name for b in boxes if b.name} - set(self.names)):
                raise TeachError(f"{', '.join(strange)}: no class of games.{self.profile.name}; there is {', '.join(self.names)}")
            if state == "confirmed" and any(not b.name for b in boxes):
                raise TeachError("a box has no class yet; give it one or delete it")
            told = unsure if unsure is not None else before.unsure
            after = replace(before, boxes=tuple(boxes), state=state, revision=before.revision + 1, unsure=told)
            write_json(self.folder / "boxes" / f"{id}.json", after.to_json())
            self._read()[id] = after
            return after

    def queue(self) -> list[Picture]:
        """Pictures in the order in which to look at them: those that nobody has looked at first, of these the ones that the
        model is least sure of."""
        open_ = [p for p in self.pictures() if p.state in ("new", "proposed")]
        open_.sort(key=lambda p: -(p.unsure if p.unsure is not None else -1.0))
        return [*open_, *(p for p in self.pictures() if p.state not in ("new", "proposed"))]

    def counts(self) -> dict[str, int]:
        """How many pictures are in each state, and how many boxes are confirmed by class (``boxes.<name>``)."""
        pictures = self.pictures()
        found = {state: sum(p.state == state for p in pictures) for state in STATES}
        confirmed = [b.name for p in pictures if p.state == "confirmed" for b in p.boxes]
        return {**found, **{f"boxes.{name}": confirmed.count(name) for name in self.names}}

    def _read(self) -> dict[str, Picture]:
        if self._pictures is None:
            self._pictures = {}
            folder = self.folder / "pictures"
            for path in sorted(folder.iterdir()) if folder.is_dir() else []:
                if path.suffix in (".png", ".jpg", ".jpeg") and _ID.fullmatch(path.stem) and path.is_file() and not path.is_symlink():
                    try:
                        self._pictures[path.stem] = self._read_boxes(path)
                    except BoxesError as error:
                        self.notices.append(str(error))
        return self._pictures

    def _read_boxes(self, picture: Path) -> Picture:
        path = self.folder / "boxes" / f"{picture.stem}.json"
        size = picture_size(picture)
        try:
            if path.stat().st_size > LARGEST_BOXES_BYTES:
                raise ValueError(f"it has more than {LARGEST_BOXES_BYTES} bytes")
            return picture_of_json(picture.stem, size, from_json(path.read_text("utf-8")), self.names)
        except FileNotFoundError:
            return Picture(picture.stem, *size)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            kept = set_aside(path)
            self.notices.append(f"{path.name} could not be read ({error}); it is kept as {kept.name}, and its picture is as new")
            return Picture(picture.stem, *size)

    # ---- what belongs to no picture

    def state(self) -> dict[str, Any]:
        """The newest model (``model``), the detectors before (``before``) and what was trained (``runs``)."""
        path = self.folder / "state.json"
        try:
            raw: Any = from_json(path.read_text("utf-8"))
            if not isinstance(raw, dict):
                raise TypeError("it is not an object")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError) as error:
            self.notices.append(f"{path.name} could not be read ({error}); it is kept as {set_aside(path).name}")
            return {}
        return cast("dict[str, Any]", raw)

    def remember(self, changes: Mapping[str, Any]) -> None:
        with self._lock:
            write_json(self.place.made(self.folder) / "state.json", {**self.state(), **changes})


def picture_of_json(id: str, size: tuple[int, int], raw: Mapping[str, Any], names: Sequence[str]) -> Picture:
    """A picture as it was written; boxes of classes that are gone lose their class. Raises ValueError, KeyError, TypeError."""
    state = raw["state"]
    if state not in STATES:
        raise ValueError(f"state {state!r} is none of {', '.join(STATES)}")
    boxes = boxes_of_json(raw["boxes"])
    kept = tuple(box if box.name in names else replace(box, name="") for box in boxes)
    if state == "confirmed" and any(not box.name for box in kept):
        state = "proposed"  # the profile's classes changed: a person has to look again
    unsure = raw.get("unsure")
    return Picture(
        id,
        *size,
        session=str(raw.get("session", "")),
        time_s=float(raw.get("time_s", 0.0)),
        state=state,
        boxes=kept,
        unsure=None if unsure is None else float(unsure),
        revision=int(raw.get("revision", 0)),
    )


def boxes_of_json(raw: Any) -> tuple[Box, ...]:
    """Boxes as the page and the files have them. Raises ValueError with what is wrong; numbers beyond the picture are cut."""
    if not isinstance(raw, list):
        raise TypeError("boxes are not a list")
    listed = cast("list[Any]", raw)
    if len(listed) > MOST_BOXES:
        raise ValueError(f"{len(listed)} boxes in one picture; at most {MOST_BOXES} are taken")
    return tuple(_box_of_json(number, one) for number, one in enumerate(listed, 1))


def _box_of_json(number: int, raw: Any) -> Box:
    try:
        left, top, right, bottom = (float(v) for v in raw["box"])
        name, by, score = raw["class"], raw.get("by", "person"), raw.get("score")
        if not isinstance(name, str) or by not in BY:
            raise ValueError("its class or who drew it is none")
        box = clipped(name, (left, top, right, bottom), by, None if score is None else min(max(float(score), 0.0), 1.0))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"box {number}: {error}") from error
    if box is None:
        raise ValueError(f"box {number} has no area inside the picture")
    return box

"""What ``metadata.json`` of a session says, and how older versions of it are read."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from data.files import from_json, write_json
from data.profile import GameProfile

METADATA_NAME: Final = "metadata.json"
SESSION_VERSION: Final = 1

SessionKind = Literal["play", "shadow", "bot"]
SessionState = Literal["recording", "unsaved", "saved", "recovered"]


class SessionError(ValueError):
    """A session that cannot be read; says which, why, and what to do."""


class Part(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Source(Part):
    """Where the pictures came from."""

    kind: str = Field(default="none", description="arena, screen or video")
    description: str = ""


class View(Part):
    """How the game stood on the screen from ``time_ns`` on."""

    time_ns: int
    left_px: int = 0
    top_px: int = 0
    width_px: int
    height_px: int
    scale: float = Field(default=1.0, gt=0, description="picture pixels per logical pixel of the screen")


class Clock(Part):
    """One wall time for one monotonic time. ``monotonic_ns`` is also the zero of the video's times."""

    monotonic_ns: int
    wall_s: float = Field(description="seconds since 1970 UTC")


class Rates(Part):
    """Asked and measured rates. Measured: intervals between neighbours, recorded gaps left out; 0 when unknown."""

    asked_fps: float = 0.0
    measured_fps: float = 0.0
    asked_hz: float = 0.0
    measured_hz: float = 0.0


class Counts(Part):
    frames: int = 0
    events: int = 0
    steps: int = 0
    dropped_frames: int = 0
    refused_events: int = 0


class Stretch(Part):
    """A stretch of time: a gap, a perturbation or something interesting. ``end_ns`` is None while it lasts."""

    start_ns: int
    end_ns: int | None = None
    reason: str = ""


class Recovery(Part):
    """What a repair did."""

    at: str
    lost_s: float
    message: str
    damaged: list[str] = []


class Metadata(Part):
    """Everything about a session that is not a row or a picture. Holds no absolute path."""

    version: int = SESSION_VERSION
    kind: SessionKind
    state: SessionState
    started_at: str = Field(description="UTC, ISO 8601")
    profile: GameProfile
    source: Source = Source()
    width_px: int = Field(description="the recorded pictures' size")
    height_px: int
    scale: float = 1.0
    views: list[View] = []
    clock: Clock
    pressed_ns: int | None = Field(default=None, description="when F5 was pressed, where the recording begins before it")
    rates: Rates = Rates()
    counts: Counts = Counts()
    duration_s: float = 0.0
    gaps: list[Stretch] = []
    perturbed: list[Stretch] = []
    interesting: list[Stretch] = []
    notes: list[str] = []
    details: dict[str, Any] = Field(default={}, description="of the source: rules version, pilot, seed, model, monitor")
    recovery: Recovery | None = None

    @property
    def game(self) -> str:
        return self.profile.name

    def originals(self) -> frozenset[str]:
        """The ids of the sessions that this one was cut, merged or replayed from, and of theirs: what happened in it
        happened in them."""
        named: list[Any] = [*_listed(self.details.get("made_of")), *([self.details.get("session")] if self.source.kind == "video" else [])]
        return frozenset(name for name in named if isinstance(name, str))


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def read_raw(folder: Path) -> dict[str, Any]:
    """``metadata.json`` as a dict of the present version, checked for version and shape of its outermost layer only.

    Raises SessionError: missing, not JSON, not an object, or made by a newer version.
    """
    path = folder / METADATA_NAME
    try:
        value: Any = from_json(path.read_bytes())
    except FileNotFoundError as error:
        raise SessionError(f"{folder.name}: has no {METADATA_NAME}") from error
    except OSError as error:
        raise SessionError(f"{folder.name}/{METADATA_NAME}: {error.strerror or error}") from error
    except ValueError as error:
        raise SessionError(f"{folder.name}/{METADATA_NAME}: is not whole JSON; run 'secondseat sessions recover'") from error
    if not isinstance(value, dict):
        raise SessionError(f"{folder.name}/{METADATA_NAME}: holds no JSON object; run 'secondseat sessions recover'")
    raw = cast("dict[str, Any]", value)
    version = raw.get("version", 0)
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise SessionError(f"{folder.name}/{METADATA_NAME}: version {version!r} is not a number")
    if version > SESSION_VERSION:
        raise SessionError(
            f"{folder.name}: made by a newer version of Secondseat (format {version}, this one reads up to {SESSION_VERSION}); update it"
        )
    return migrate(raw) if version < SESSION_VERSION else raw


def migrate(raw: dict[str, Any]) -> dict[str, Any]:
    """Version 0 (which knew no ``scale``) as the present version; says in ``notes`` what was assumed."""
    new = dict(raw)
    notes: Any = new.get("notes")
    said: list[Any] = list(cast("list[Any]", notes)) if isinstance(notes, list) else []
    if "scale" not in new:
        new["scale"] = 1.0
        said.append("made by version 0, which stored no scale: 1.0 assumed")
    new["notes"] = said
    new["version"] = SESSION_VERSION
    return new


def read_metadata(folder: Path) -> Metadata:
    """Reads and checks ``metadata.json``. Raises SessionError."""
    raw = read_raw(folder)
    try:
        return parse(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SessionError(f"{folder.name}/{METADATA_NAME}: {where}: {first['msg']}; run 'secondseat sessions verify'") from error


def parse(raw: dict[str, Any]) -> Metadata:
    """Metadata of the present version. What a profile of another version knows more is left out, and ``notes`` say so.

    Raises pydantic.ValidationError.
    """
    try:
        return Metadata.model_validate(raw)
    except ValidationError as error:
        strange = [detail["loc"] for detail in error.errors() if detail["type"] == "extra_forbidden"]
        if len(strange) < error.error_count():
            raise
    known: Any = copy.deepcopy(raw)
    for place in strange:
        part = known
        for step in place[:-1]:
            part = part[step]
        del part[place[-1]]
    metadata = Metadata.model_validate(known)
    names = ", ".join(".".join(str(step) for step in place) for place in strange)
    metadata.notes.append(f"left out what this version does not know: {names}")
    return metadata


def write_metadata(folder: Path, metadata: Metadata) -> None:
    """Replaces ``metadata.json`` whole. Raises OSError."""
    write_json(folder / METADATA_NAME, metadata.model_dump(mode="json"))

"""What the two ends of the socket agree on: the version of the talk, the greeting, and how a picture travels."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final, cast

from data.files import from_json
from engine.restore import restored
from engine.state import Picture

PROTOCOL: Final = 1
"""Raised when an older face or command could no longer understand an engine, or the other way round."""
VIEWER_HEADER: Final = "X-Secondseat-Viewer"
TOKEN_HEADER: Final = "X-Secondseat-Token"
LARGEST_REQUEST_BYTES: Final = 65_536


@cache
def own_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("secondseat")
    except PackageNotFoundError:  # run from a folder without installing
        return "unknown"


@dataclass(frozen=True, slots=True)
class Hello:
    """Who answers at an endpoint."""

    name: str
    version: str
    protocol: int
    pid: int
    started_s: float
    workspace: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: object) -> Hello:
        return restored(Hello, value)

    def refusal(self) -> str:
        """Why this program cannot talk to it; empty when it can."""
        if self.protocol == PROTOCOL:
            return ""
        return (
            f"the engine {self.name} is secondseat {self.version} (protocol {self.protocol}), "
            f"this is {own_version()} (protocol {PROTOCOL}); stop it with its own version and start it again, or use that version here"
        )

    def difference(self) -> str:
        """A word on another version that can be talked to; empty when it is the same."""
        if self.version == own_version():
            return ""
        return (
            f"the engine {self.name} is secondseat {self.version}, this face is {own_version()}; start the engine again to have one version"
        )


def picture_to_wire(picture: Picture) -> bytes:
    """One line of JSON about it, then the pixels."""
    about = {key: value for key, value in asdict(picture).items() if key != "rgb"}
    return json.dumps(about).encode("ascii") + b"\n" + picture.rgb


def picture_from_wire(data: bytes) -> Picture:
    """Raises ValueError when it is no picture."""
    about, _, rgb = data.partition(b"\n")
    fields: Any = from_json(about)
    try:
        picture = restored(Picture, {**cast("dict[str, Any]", fields), "rgb": rgb})
    except TypeError as error:
        raise ValueError("not a picture") from error
    if len(rgb) != picture.width_px * picture.height_px * 3:
        raise ValueError(f"a picture of {picture.width_px}x{picture.height_px} px with {len(rgb)} bytes")
    return picture

"""What is to be watched, as a value: chosen by the settings, the command line or the face."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from data.geometry import Rect
from data.profile import GameProfile
from data.settings import Settings
from data.vocabulary import LookName
from data.workspace import Workspace

SourceKind = Literal["arena", "arena_window", "screen", "video"]
SOURCE_KINDS: Final[tuple[str, ...]] = get_args(SourceKind)
LOOKS: Final[tuple[str, ...]] = get_args(LookName)
PILOTS: Final = ("expert", "novice", "random")
_NOWHERE: Final[dict[str, Any]] = {"window": "", "monitor": 0, "region": None}


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """``arena``: the embedded game in this process, flown by a scripted ``pilot`` or the bot. ``arena_window``: the
    embedded game in its own window, watched as a real screen; either is drawn in the ``look`` of that name. ``screen``:
    a window by title, a region or a monitor. ``video``: a recorded ``session`` (its id, the start of it, or "last"),
    played as if live; with ``loop`` for ever."""

    kind: SourceKind = "arena"
    pilot: str = ""
    seed: int = 0
    scale: int = 1
    window: str = ""
    monitor: int = 0
    region: Rect | None = None
    fps: int = 30
    session: str = ""
    loop: bool = False
    look: LookName = "classic"

    @staticmethod
    def from_settings(settings: Settings) -> SourceSpec:
        capture, region = settings.capture, settings.capture.region
        return SourceSpec(
            kind=capture.source,
            pilot="expert",
            seed=settings.arena.seed,
            look=settings.arena.look,
            window=capture.window or (settings.profile().window_title if capture.source == "screen" and not region else ""),
            monitor=0 if capture.window or region else capture.monitor,
            region=Rect(region.left, region.top, region.width, region.height) if region else None,
            fps=capture.fps,
        )

    def chosen(self, settings: Settings, **spec: Any) -> SourceSpec:
        """As ``changed``; the screen without a place is the place that the settings name, not the one named last."""
        if spec.get("kind") == "screen" and not any(spec.get(name) for name in _NOWHERE):
            own = SourceSpec.from_settings(settings)
            spec |= {"window": own.window, "monitor": own.monitor, "region": own.region}
        return self.changed(**spec)

    def changed(self, **spec: Any) -> SourceSpec:
        """A copy with some fields changed; a window, a monitor or a region that is named replaces the place before.

        Raises ValueError with what is allowed.
        """
        spec = {k: v for k, v in spec.items() if v is not None}
        known = {"kind", "pilot", "seed", "scale", "window", "monitor", "region", "fps", "session", "loop", "look"}
        if unknown := sorted(set(spec) - known):
            raise ValueError(f"source: there is no {', '.join(unknown)}; use {', '.join(sorted(known))}")
        if spec.get("kind", self.kind) not in SOURCE_KINDS:
            raise ValueError(f"source kind {spec['kind']!r}: use {', '.join(SOURCE_KINDS)}")
        if spec.get("pilot") not in (None, "", "none", *PILOTS):
            raise ValueError(f"pilot {spec['pilot']!r}: use {', '.join(PILOTS)}, or none")
        if spec.get("look", self.look) not in LOOKS:
            raise ValueError(f"look {spec['look']!r}: use {', '.join(LOOKS)}")
        if spec.get("kind", self.kind) == "arena_window":
            spec.setdefault("pilot", "none")  # the window is for a person, or for the bot
        if spec.get("kind", self.kind) == "video":
            spec.setdefault("pilot", "none")
            if not spec.get("session", self.session):
                raise ValueError("source kind 'video': say which session is to be played (its id, or last)")
        if spec.get("pilot") == "none":
            spec["pilot"] = ""
        if isinstance(spec.get("region"), str):
            spec["region"] = region_from_text(spec["region"])
        if any(spec.get(name) for name in _NOWHERE):
            spec = {**_NOWHERE, **spec}
        return replace(self, **spec)

    def describe(self) -> str:
        if self.kind == "arena":
            return f"the arena (seed {self.seed}, {self._drawn}{self.pilot or 'nobody'} flies)"
        if self.kind == "arena_window":
            return f"the arena's window (seed {self.seed}, {self._drawn}{self.scale}x)"
        if self.kind == "video":
            return f"session {self.session}, played{' again and again' if self.loop else ''}"
        if self.window:
            return f"the window {self.window!r}"
        if self.region is not None:
            r = self.region
            return f"the region {r.left},{r.top},{r.width},{r.height}"
        return f"monitor {self.monitor or 1}"

    @property
    def _drawn(self) -> str:
        return "" if self.look == "classic" else f"look {self.look}, "

    def folder(self, workspace: Workspace) -> Path:
        """Of ``video``: the session that is played. Raises SessionNotFound."""
        from data.catalog import find

        return find(workspace.root, self.session)

    def profile(self, settings: Settings, workspace: Workspace | None = None) -> GameProfile:
        """The profile of what is watched: the arena's own for the arena, a session's own, else the active game's.

        Raises SessionNotFound or SessionError for a session that is not there or cannot be read.
        """
        if self.kind == "video":
            from data.metadata import read_metadata

            return read_metadata(self.folder(workspace or settings.workspace())).profile
        from data.profile import ARENA_PROFILE

        return ARENA_PROFILE if self.kind in ("arena", "arena_window") else settings.profile()


def region_from_text(text: str) -> Rect:
    """``left,top,width,height`` in px; left and top may be negative."""
    try:
        left, top, width, height = (int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"region {text!r}: give left,top,width,height in px, such as -1920,0,640,360") from None
    if width < 16 or height < 16:
        raise ValueError(f"region {text!r}: {width}x{height} is too small; at least 16x16")
    return Rect(left, top, width, height)

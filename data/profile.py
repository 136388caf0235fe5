"""A game profile: everything particular to one game, in one place.

No other code knows a game by name. The arena's own profile is built in (``ARENA_PROFILE``); others stand in
``[games.<name>]`` of ``config.toml``. A session, a policy and a detector each carry the profile they were made with.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from data.key_names import why_not_keys
from data.vocabulary import CONTROL_HOTKEYS, Role

Unit = Annotated[float, Field(ge=0.0, le=1.0)]


def _has_area(region: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    left, top, right, bottom = region
    if left >= right or top >= bottom:
        raise ValueError(f"{list(region)} has no area; give left, top, right, bottom in 0..1, left before right and top before bottom")
    return region


Region = Annotated[tuple[Unit, Unit, Unit, Unit], AfterValidator(_has_area)]
"""left, top, right, bottom in 0..1 of the game picture."""
WHOLE: Region = (0.0, 0.0, 1.0, 1.0)
Pixels = Annotated[int, Field(ge=1, le=16_384)]
Colour = tuple[Annotated[int, Field(ge=0, le=255)], Annotated[int, Field(ge=0, le=255)], Annotated[int, Field(ge=0, le=255)]]
"""red, green, blue 0..255."""


class ProfileModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ObjectClass(ProfileModel):
    """One kind of object the detector finds."""

    name: str = Field(min_length=1, description="the detector's class name")
    role: Role = Field(description="what it means to a player")
    dangerous: bool = Field(default=False, description="an enemy to be fled whatever one's own health")


class Gauge(ProfileModel):
    """A bar read off the picture: the share of its length that has its colour, from one end."""

    name: str = Field(min_length=1)
    region: Region
    colour: Colour
    tolerance: int = Field(default=48, ge=1, le=255, description="largest difference of any channel")
    direction: Literal["right", "left", "up", "down"] = Field(default="right", description="where it grows to")
    kind: Literal["level", "cooldown"] = "level"


class Icon(ProfileModel):
    """A flag read off the picture: on when at least ``share`` of the region has the colour."""

    name: str = Field(min_length=1)
    region: Region
    colour: Colour
    tolerance: int = Field(default=48, ge=1, le=255)
    share: Unit = 0.2


class Choice(ProfileModel):
    """One of several icons that is lit, counted from 1 in the order of the regions."""

    name: str = Field(min_length=1)
    regions: tuple[Region, ...] = Field(min_length=2)
    colour: Colour
    tolerance: int = Field(default=48, ge=1, le=255)
    share: Unit = 0.1


class GameProfile(ProfileModel):
    """Everything Secondseat knows of one game."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")
    window_title: str = Field(default="", description="part of the window's title; empty: ask")
    window_part: Region = Field(default=WHOLE, description="the part of the window's inside that is the game's picture, in 0..1 of it")
    picture_size: tuple[Pixels, Pixels] = Field(default=(640, 360), description="width, height in px the detector is made for")
    keys: tuple[str, ...] = Field(default=(), description="the keys that are recorded, learnt and pressed, in order")
    classes: tuple[ObjectClass, ...] = ()
    gauges: tuple[Gauge, ...] = ()
    icons: tuple[Icon, ...] = ()
    choices: tuple[Choice, ...] = ()
    detector: str = Field(default="", description="weights: 'builtin:<name>' or a path under the workspace; empty: none")
    detector_size: tuple[int, int] = Field(default=(320, 192), description="width, height in px the detector runs at")
    edge_margin_px: int = Field(default=8, ge=0, le=200, description="injected positions stay this far inside the window")
    hold_ms: int = Field(default=50, ge=10, le=1000, description="how long a tapped key or button stays down")
    threat_range: float = Field(default=0.25, gt=0, le=1, description="an enemy nearer than this (in picture widths) is a threat")
    low_hp: Unit = 0.35
    mirrored: bool = Field(default=False, description="a mirrored picture would be as true: a map seen from above with no preferred side")

    @field_validator("keys")
    @classmethod
    def _keys_are_free(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        taken = sorted(CONTROL_HOTKEYS.intersection(keys))
        if taken:
            raise ValueError(f"{', '.join(taken)} steer Secondseat and cannot be game keys; remove them")
        if len(set(keys)) != len(keys):
            raise ValueError(f"a key is named twice: {', '.join(sorted({k for k in keys if keys.count(k) > 1}))}")
        if wrong := why_not_keys(keys):
            raise ValueError(wrong)
        return keys

    @model_validator(mode="after")
    def _names_are_unique(self) -> GameProfile:
        for what, names in (
            ("classes", [c.name for c in self.classes]),
            ("gauges, icons and choices", [g.name for g in (*self.gauges, *self.icons, *self.choices)]),
        ):
            if len(set(names)) != len(names):
                raise ValueError(f"{what}: a name is used twice: {', '.join(sorted({n for n in names if names.count(n) > 1}))}")
        return self

    def class_names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.classes)

    def roles(self) -> tuple[Role, ...]:
        return tuple(c.role for c in self.classes)

    def level_names(self) -> tuple[str, ...]:
        return tuple(g.name for g in self.gauges if g.kind == "level")

    def cooldown_names(self) -> tuple[str, ...]:
        return tuple(g.name for g in self.gauges if g.kind == "cooldown")

    def flag_names(self) -> tuple[str, ...]:
        return tuple(i.name for i in self.icons)

    def choice_sizes(self) -> dict[str, int]:
        return {c.name: len(c.regions) for c in self.choices}


def _px(left: int, top: int, right: int, bottom: int) -> Region:
    """A region of the arena's 640x360 picture, given in pixels."""
    return (left / 640, top / 360, right / 640, bottom / 360)


ARENA_PROFILE = GameProfile(
    name="arena",
    window_title="Secondseat Arena",
    picture_size=(640, 360),
    keys=("space", "ctrl", "1", "2", "3", "q", "e", "r"),
    classes=(
        ObjectClass(name="self", role="self"),
        ObjectClass(name="drone", role="enemy"),
        ObjectClass(name="raider", role="enemy"),
        ObjectClass(name="mender", role="enemy"),
        ObjectClass(name="bomber", role="enemy"),
        ObjectClass(name="hunter", role="enemy", dangerous=True),
        ObjectClass(name="loot", role="loot"),
        ObjectClass(name="cache", role="loot"),
        ObjectClass(name="rock", role="hazard"),
        ObjectClass(name="portal", role="portal"),
        ObjectClass(name="shot", role="shot"),
        ObjectClass(name="hostile_shot", role="shot"),
        ObjectClass(name="lock", role="lock"),
        ObjectClass(name="mark", role="mark"),
    ),
    gauges=(
        Gauge(name="hp", region=_px(30, 8, 130, 14), colour=(70, 210, 90)),
        Gauge(name="shield", region=_px(30, 18, 130, 24), colour=(80, 160, 255)),
        Gauge(name="heavy_ammo", region=_px(30, 28, 130, 32), colour=(240, 190, 60)),
        Gauge(name="repair", region=_px(256, 353, 286, 357), colour=(200, 200, 215), kind="cooldown"),
        Gauge(name="boost", region=_px(306, 353, 336, 357), colour=(200, 200, 215), kind="cooldown"),
        Gauge(name="jam", region=_px(356, 353, 386, 357), colour=(200, 200, 215), kind="cooldown"),
    ),
    icons=(
        Icon(name="locked", region=_px(140, 7, 180, 18), colour=(255, 220, 80), share=0.5),
        Icon(name="firing", region=_px(140, 22, 180, 33), colour=(255, 110, 60), share=0.5),
    ),
    choices=(
        Choice(
            name="ammo",
            regions=(_px(196, 345, 208, 357), _px(212, 345, 224, 357), _px(228, 345, 240, 357)),
            colour=(250, 250, 250),
            share=0.2,
        ),
    ),
    detector="builtin:arena",
    detector_size=(448, 256),
    threat_range=0.28,
    mirrored=True,
)
"""The embedded arena's profile. Regions are those that ``league.arena.render`` draws at 640x360."""


LAST_STANDING_PROFILE = GameProfile(
    name="last-standing",
    window_title="Secondseat league: last man standing",
    picture_size=(640, 360),
    keys=("w", "a", "s", "d", "e", "1", "2", "3"),
    classes=(
        ObjectClass(name="self", role="self"),
        ObjectClass(name="ship", role="enemy"),
        ObjectClass(name="heal", role="loot"),
        ObjectClass(name="shield", role="loot"),
        ObjectClass(name="power", role="loot"),
        ObjectClass(name="shot", role="shot"),
        ObjectClass(name="hostile_shot", role="shot"),
        ObjectClass(name="zone", role="other"),
    ),
    gauges=(
        Gauge(name="hp", region=_px(12, 19, 154, 24), colour=(250, 180, 180), tolerance=75),  # white, amber and red alike
        Gauge(name="shield", region=_px(12, 26, 154, 29), colour=(80, 160, 255)),
        Gauge(name="energy", region=_px(12, 31, 142, 34), colour=(240, 190, 60)),
        Gauge(name="ability", region=_px(145, 31, 154, 34), colour=(30, 35, 52), tolerance=8, direction="left", kind="cooldown"),
    ),
    icons=(Icon(name="jammed", region=_px(12, 31, 142, 34), colour=(206, 150, 255), share=0.02),),
)
"""The league's game, flown from the first of four cards (``league.arena.last_standing_board``). No detector was made for it. Not
``mirrored``: w a s d are directions, so that a mirrored picture would call for other keys."""

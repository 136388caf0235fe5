"""A game's profile as it grows under a person's answers. Nothing here touches the screen, the keyboard or a file.

The command line and the face ask the same questions in the same order (``STEPS``), give the answers to one ``Draft``,
and show the same words when an answer cannot be used.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

from pydantic import ValidationError

from data.key_names import why_not_keys
from data.profile import ARENA_PROFILE, LAST_STANDING_PROFILE, WHOLE, Colour, GameProfile, Gauge, ObjectClass, Region
from data.schema import Image
from data.vocabulary import ROLES, Role
from engine.game_builder_gauges import Direction, Kind, box_of, fit_gauge, read_gauge

Step = Literal["window", "title", "part", "keys", "gauges", "classes", "margin", "hold", "name", "file", "save"]
STEPS: Final[tuple[Step, ...]] = get_args(Step)

RESERVED: Final[Mapping[str, str]] = {
    ARENA_PROFILE.name: "the embedded game's own name",
    LAST_STANDING_PROFILE.name: "the name of the league's game",
}
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_GAUGE_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")
_COLOUR: Final = re.compile(r"#?([0-9a-fA-F]{6})")
_SPOKEN_KEYS: Final = {"comma": ",", "plus": "+", "minus": "-"}
"""Keys whose own names cannot stand in a list with commas."""

_ROLE_WORDS: Final[Mapping[Role, tuple[str, ...]]] = {
    "self": ("self", "player", "me", "own", "hero", "myship"),
    "enemy": ("enemy", "foe", "npc", "mob", "boss", "monster", "zombie", "alien", "raider", "drone", "opponent"),
    "loot": ("loot", "box", "chest", "coin", "item", "pickup", "crate", "bonus", "ammo", "medkit", "powerup"),
    "hazard": ("hazard", "rock", "mine", "wall", "lava", "obstacle", "spike", "asteroid", "bomb"),
    "portal": ("portal", "gate", "door", "exit", "teleporter"),
    "shot": ("shot", "bullet", "projectile", "laser", "rocket", "missile", "arrow"),
    "lock": ("lock", "crosshair"),
    "mark": ("mark", "marker", "waypoint", "destination"),
}


class DraftError(Exception):
    """An answer that cannot be used; the text says why and what is possible."""


@dataclass
class Draft:
    """What is known of the game so far. Setters take what a person typed and raise DraftError."""

    name: str = ""
    title: str = ""
    part: Region = WHOLE
    size: tuple[int, int] = (640, 360)
    keys: tuple[str, ...] = ()
    gauges: tuple[Gauge, ...] = ()
    classes: tuple[ObjectClass, ...] = ()
    detector: str = ""
    edge_margin_px: int = 8
    hold_ms: int = 50
    base: GameProfile | None = None
    """The profile that is replaced: what the questions do not touch (icons, choices, thresholds) stays as it was."""

    @staticmethod
    def of(profile: GameProfile) -> Draft:
        """A draft that begins where a profile ends."""
        return Draft(
            profile.name,
            profile.window_title,
            profile.window_part,
            profile.picture_size,
            profile.keys,
            profile.gauges,
            profile.classes,
            profile.detector,
            profile.edge_margin_px,
            profile.hold_ms,
            profile,
        )

    def set_title(self, text: str, whole: str = "") -> None:
        """The part of the window's title that stays. ``whole``: the title as it is now."""
        title = text.strip()
        if not title:
            raise DraftError("the window is found by its title: give the part of it that stays the same")
        if whole and title.casefold() not in whole.casefold():
            raise DraftError(f"{title!r} is not part of the window's title {whole!r}; give a part of it that stays the same")
        self.title = title

    def set_keys(self, keys: Iterable[str], control_keys: Collection[str] = ()) -> None:
        names = tuple(dict.fromkeys(keys))
        if wrong := why_not_keys(names):
            raise DraftError(wrong)
        if taken := [key for key in names if key in control_keys]:
            raise DraftError(f"{', '.join(taken)} steer Secondseat and cannot be game keys; leave them out, or move them in [keys]")
        self.keys = names

    def edit_keys(self, text: str, control_keys: Collection[str] = ()) -> None:
        """``+f`` adds, ``-q`` drops; keys without a sign are the whole list anew; several with spaces or commas."""
        words = [word for word in re.split(r"[\s,]+", text) if word]
        signed = [word for word in words if len(word) > 1 and word[0] in "+-"]
        if not signed:
            self.set_keys((_SPOKEN_KEYS.get(word, word) for word in words), control_keys)
            return
        if len(signed) < len(words):
            raise DraftError("give either +key and -key, or the whole list without signs")
        keys = list(self.keys)
        for sign, key in ((word[0], _SPOKEN_KEYS.get(word[1:], word[1:])) for word in words):
            if sign == "+":
                keys.append(key)
            elif key in keys:
                keys.remove(key)
            else:
                raise DraftError(f"{key} is not in the list ({' '.join(keys) or 'no key yet'})")
        self.set_keys(keys, control_keys)

    def put_gauge(self, gauge: Gauge, instead_of: str = "") -> None:
        """Add a gauge, or put it in the place of another one."""
        if not _GAUGE_NAME.fullmatch(gauge.name):
            raise DraftError(f"{gauge.name!r} cannot name a gauge; use small letters, digits and _, a letter first, such as hp")
        taken = {g.name for g in self.gauges if g.name != instead_of}
        if self.base is not None:
            taken |= {one.name for one in (*self.base.icons, *self.base.choices)}
        if gauge.name in taken:
            raise DraftError(f"there is a {gauge.name!r} already; give this one another name")
        if any(g.name == instead_of for g in self.gauges):
            self.gauges = tuple(gauge if g.name == instead_of else g for g in self.gauges)
        else:
            self.gauges = (*self.gauges, gauge)

    def drop_gauge(self, name: str) -> None:
        if name not in {g.name for g in self.gauges}:
            raise DraftError(f"there is no gauge {name!r}; there is {', '.join(g.name for g in self.gauges) or 'none'}")
        self.gauges = tuple(g for g in self.gauges if g.name != name)

    def profile(self) -> GameProfile:
        """The profile as it stands. Raises DraftError with the first thing that does not fit."""
        values = self.base.model_dump() if self.base is not None else {}
        values |= {
            "name": self.name,
            "window_title": self.title,
            "window_part": self.part,
            "picture_size": self.size,
            "keys": self.keys,
            "gauges": [g.model_dump() for g in self.gauges],
            "classes": [c.model_dump() for c in self.classes],
            "detector": self.detector,
            "edge_margin_px": self.edge_margin_px,
            "hold_ms": self.hold_ms,
        }
        try:
            return GameProfile.model_validate(values)
        except ValidationError as error:
            detail = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in detail["loc"])
            words = str(detail.get("ctx", {}).get("error", "")) or f"{detail['input']!r}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
            raise DraftError(f"{place}: {words}" if place else words) from error


def whole_number(text: str, low: int, high: int, what: str) -> int:
    """Raises DraftError with what is allowed."""
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise DraftError(f"{what}: {text!r} is not in range; use {low} to {high}")
    return value


def check_name(name: str) -> str:
    """A game's name as it can be written. Raises DraftError."""
    given = name.strip()
    if not _NAME.fullmatch(given):
        raise DraftError(
            f"{given!r} cannot name a game; use small letters, digits, - and _, a letter first, at most 32"
            + (f", such as {name_from(given)}" if name_from(given) else "")
        )
    if given in RESERVED:
        raise DraftError(f"{given!r} is {RESERVED[given]}; choose another one")
    return given


def name_from(title: str) -> str:
    """A name made from a window's title; empty when nothing is left of it."""
    words = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")
    words = re.sub(r"^[^a-z]+", "", words)[:32].strip("-")
    return "" if words in RESERVED else words


def region_of_text(text: str, what: str = "region") -> Region:
    """``left,top,right,bottom`` in 0..1, or with % in hundredths; ``whole`` is all of it. Raises DraftError."""
    if text.strip().lower() in ("", "whole", "all"):
        return WHOLE
    parts = [part.strip() for part in text.split(",")]
    try:
        values = [float(part[:-1]) / 100 if part.endswith("%") else float(part) for part in parts]
    except ValueError as error:
        raise DraftError(f"{what} {text!r}: give left,top,right,bottom in 0..1, such as 0.05,0.02,0.2,0.04") from error
    if len(values) != 4:
        raise DraftError(f"{what} {text!r} has {len(values)} numbers; give four: left,top,right,bottom in 0..1")
    if not all(0.0 <= value <= 1.0 for value in values):
        raise DraftError(f"{what} {text!r} reaches outside the picture; give left,top,right,bottom in 0..1")
    left, top, right, bottom = values
    if left >= right or top >= bottom:
        raise DraftError(f"{what} {text!r} has no area; left comes before right, top before bottom")
    return left, top, right, bottom


def size_of_text(text: str) -> tuple[int, int]:
    """``1280x720``. Raises DraftError."""
    found = re.fullmatch(r"\s*(\d{1,5})\s*[x×]\s*(\d{1,5})\s*", text)
    if found is None or not all(1 <= int(n) <= 16_384 for n in found.groups()):
        raise DraftError(f"{text!r} is not a picture's size; write it as 1280x720")
    return int(found[1]), int(found[2])


def colour_of_text(text: str) -> Colour:
    """``46d25a``, with or without #. Raises DraftError."""
    found = _COLOUR.fullmatch(text.strip())
    if found is None:
        raise DraftError(f"{text!r} is not a colour; write red, green, blue as six hexadecimal digits, such as 46d25a")
    red, green, blue = bytes.fromhex(found[1])
    return red, green, blue


def colour_text(colour: Colour) -> str:
    return "".join(f"{value:02x}" for value in colour)


@dataclass(frozen=True, slots=True)
class GaugeWords:
    """A gauge as it was typed; what was left out is fitted from the picture."""

    name: str
    region: Region
    colour: Colour | None = None
    direction: Direction | None = None
    kind: Kind = "level"


def gauge_of_text(text: str) -> GaugeWords:
    """``name=left,top,right,bottom[:RRGGBB][:right|left|up|down][:level|cooldown]``. Raises DraftError."""
    name, equals, rest = text.partition("=")
    region, *words = (part.strip() for part in rest.split(":"))
    if not equals or not name.strip():
        raise DraftError(f"gauge {text!r}: write it as name=left,top,right,bottom[:colour], such as hp=0.05,0.02,0.2,0.04:46d25a")
    if not _GAUGE_NAME.fullmatch(name.strip()):
        raise DraftError(f"{name.strip()!r} cannot name a gauge; use small letters, digits and _, a letter first, such as hp")
    colour: Colour | None = None
    direction: Direction | None = None
    kind: Kind = "level"
    for word in words:
        if word in get_args(Direction):
            direction = cast("Direction", word)
        elif word in get_args(Kind):
            kind = cast("Kind", word)
        else:
            colour = colour_of_text(word)
    return GaugeWords(name.strip(), region_of_text(region, f"gauge {name.strip()}: region"), colour, direction, kind)


def gauge_from_words(words: GaugeWords, image: Image | None) -> Gauge:
    """The gauge that was typed. Without a colour it is fitted to the picture, the region being the mark. Raises DraftError
    when there is no picture to fit it to, and FitError."""
    if words.colour is None:
        if image is None:
            raise DraftError(f"gauge {words.name}: there is no picture to take its colour from; give it, such as {words.name}=…:46d25a")
        mark = box_of(words.region, image)
        return fit_gauge(image, mark, words.name, direction=words.direction, kind=words.kind).gauge
    left, top, right, bottom = words.region
    height, width = (9, 16) if image is None else image.shape[:2]
    lies = (right - left) * width >= (bottom - top) * height
    direction = words.direction or ("right" if lies else "up")
    return Gauge(name=words.name, region=words.region, colour=words.colour, direction=direction, kind=words.kind)


def readings_of(gauges: Iterable[Gauge], image: Image | None) -> dict[str, float | None]:
    """The gauges' values in a picture."""
    return {gauge.name: None if image is None else read_gauge(gauge, image) for gauge in gauges}


def gauge_text(gauge: Gauge) -> str:
    """A gauge as ``--gauge`` takes it."""
    region = ",".join(f"{value:g}" for value in gauge.region)
    return f"{gauge.name}={region}:{colour_text(gauge.colour)}:{gauge.direction}" + (":cooldown" if gauge.kind == "cooldown" else "")


def classes_of_text(text: str) -> tuple[ObjectClass, ...]:
    """``foe=enemy, box=loot, me``: a class without a role gets the one that its name suggests. Raises DraftError."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    return classes_of_names(names)


def classes_of_names(names: Sequence[str]) -> tuple[ObjectClass, ...]:
    """Classes in a detector's own order, each ``name`` or ``name=role``. Raises DraftError."""
    found: list[ObjectClass] = []
    for text in names:
        name, equals, role = (part.strip() for part in text.partition("="))
        if equals and role not in ROLES:
            raise DraftError(f"class {name}: {role!r} is not a role; use {', '.join(ROLES)}")
        if not name:
            raise DraftError(f"class {text!r} has no name; write it as name=role, such as foe=enemy")
        if any(one.name == name for one in found):
            raise DraftError(f"the class {name!r} is named twice")
        found.append(ObjectClass(name=name, role=cast("Role", role) if equals else role_from(name)))
    return tuple(found)


def role_from(name: str) -> Role:
    """The role that a class's name suggests; ``other`` when it suggests none."""
    words = set(re.split(r"[^a-z]+", name.casefold()))
    for role, known in _ROLE_WORDS.items():
        if words & set(known):
            return role
    return "other"


def class_text(one: ObjectClass) -> str:
    return f"{one.name}={one.role}"


def classes_text(classes: Iterable[ObjectClass]) -> str:
    return ", ".join(map(class_text, classes))

"""Does a game's profile fit what is there? Each finding is ok, something to look at, or wrong, with what to do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from data.profile import Colour, GameProfile, Region
from data.schema import Image
from engine.game_builder_gauges import colour_share
from engine.game_builder_rehearsal import readings, value_text
from engine.game_builder_window import WindowEye
from engine.perception.card import DetectorError, weights_path
from engine.perception.gauges import GaugeReader
from engine.platforms import current_port
from engine.platforms.port import PlatformError, Port, WindowInfo, describe_missing_window, find_windows

State = Literal["ok", "look", "wrong"]
SAME_SHAPE: Final = 0.02
"""Width over height may differ by this share before gauges are taken to lie elsewhere."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``remedy`` is empty when nothing needs doing."""

    name: str
    state: State
    text: str
    remedy: str = ""

    def to_json(self) -> dict[str, str]:
        return {"name": self.name, "state": self.state, "text": self.text, "remedy": self.remedy}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What there is. ``trouble``: why the screen cannot be looked at. ``blind``: why there is no picture of the window.
    ``unknown_keys``: those that this machine's keyboard cannot press. ``detector``: why it cannot be used, empty when it can
    be; None when the profile names none."""

    windows: tuple[WindowInfo, ...] = ()
    image: Image | None = None
    trouble: str = ""
    blind: str = ""
    unknown_keys: tuple[str, ...] = ()
    detector: str | None = None


def check(profile: GameProfile, control_keys: Collection[str], there: Surroundings) -> list[Finding]:
    """Everything that can be said of a profile, in the order in which a person meets it."""
    findings = [*_window(profile, there), *_keys(profile, control_keys, there)]
    if there.image is not None:
        findings += [*_size(profile, there.image), *gauges_in(profile, there.image)]
    elif profile.gauges or profile.icons or profile.choices:
        findings.append(Finding("gauges", "look", "not looked at: there is no picture of the window", "show the game, then check again"))
    return [*findings, _detector(profile, there)]


def _window(profile: GameProfile, there: Surroundings) -> list[Finding]:
    title = profile.window_title
    if not title:
        return [Finding("window", "wrong", "no window title is set", f"set [games.{profile.name}] window_title to a part of it")]
    if there.trouble:
        what, _, remedy = there.trouble.partition("; ")
        return [Finding("window", "wrong", what, remedy or "see secondseat doctor")]
    if not there.windows:
        return [Finding("window", "wrong", there.blind or f"window {title!r} not found", "start the game, or correct window_title")]
    first = there.windows[0]
    where = f"{first.rect.width}x{first.rect.height} at {first.rect.left}, {first.rect.top}" if first.rect else "not on the screen now"
    found = [Finding("window", "ok", f"{first.title!r}, {where}")]
    if there.image is None:
        found = [Finding("window", "look", there.blind or f"{first.title!r} is {where}", "show the window, then check again")]
    if len(there.windows) > 1:
        titles = ", ".join(repr(w.title) for w in there.windows[:4])
        found.append(
            Finding("window", "look", f"{len(there.windows)} windows fit, the first is taken: {titles}", "give a longer window_title")
        )
    return found


def _size(profile: GameProfile, image: Image) -> list[Finding]:
    height, width = image.shape[:2]
    wide, high = profile.picture_size
    if (width, height) == (wide, high):
        return [Finding("size", "ok", f"{width}x{height}, as in the profile")]
    text = f"the picture is {width}x{height}, the profile was made for {wide}x{high}"
    if abs(width * high / (height * wide) - 1.0) <= SAME_SHAPE:
        return [Finding("size", "look", f"{text}: the same shape, so that gauges are found", f"set picture_size = [{width}, {height}]")]
    read_off = bool(profile.gauges or profile.icons or profile.choices)
    return [
        Finding(
            "size",
            "wrong" if read_off else "look",
            f"{text}: another shape" + (", gauges lie elsewhere" if read_off else ""),
            f"give the window its old size, or make the profile anew: secondseat games add {profile.name} --replace",
        )
    ]


def _keys(profile: GameProfile, control_keys: Collection[str], there: Surroundings) -> list[Finding]:
    found: list[Finding] = []
    if taken := [key for key in profile.keys if key in control_keys]:
        found.append(
            Finding("keys", "wrong", f"{', '.join(taken)} steer Secondseat", "choose other control keys in [keys], or drop them here")
        )
    if there.unknown_keys:
        found.append(
            Finding("keys", "wrong", f"this keyboard has no {', '.join(there.unknown_keys)}", f"drop them from [games.{profile.name}] keys")
        )
    if not profile.keys:
        found.append(Finding("keys", "look", "none: only the mouse is recorded", f"secondseat games add {profile.name} --replace"))
    return found or [Finding("keys", "ok", " ".join(profile.keys))]


def gauges_in(profile: GameProfile, image: Image) -> list[Finding]:
    """What each gauge, icon and choice says in a picture, or why it says nothing."""
    height, width = image.shape[:2]
    values = dict(readings(GaugeReader(profile).read(image)))
    places: list[tuple[str, Region, Colour, int, bool]] = [(g.name, g.region, g.colour, g.tolerance, True) for g in profile.gauges]
    places += [(i.name, i.region, i.colour, i.tolerance, False) for i in profile.icons]
    places += [(c.name, c.regions[0], c.colour, c.tolerance, False) for c in profile.choices]
    anew = f"mark it anew: secondseat games add {profile.name} --replace"
    cooldowns = set(profile.cooldown_names())
    found: list[Finding] = []
    for name, region, colour, tolerance, bar in places:
        value = values[name]
        if round(region[2] * width) <= round(region[0] * width) or round(region[3] * height) <= round(region[1] * height):
            found.append(Finding(name, "wrong", f"its region holds no pixel at {width}x{height}", anew))
        elif bar and value is None:
            live = f"look at it live: secondseat games check {profile.name} --watch 10s"
            found.append(Finding(name, "look", "cannot be read now: something covers it, or it lies elsewhere", live))
        elif bar and name not in cooldowns and colour_share(image, region, colour, tolerance) == 0.0:
            shown = "".join(f"{v:02x}" for v in colour)
            found.append(Finding(name, "look", f"{value:.2f}: its colour {shown} does not occur there now", f"if it is not empty, {anew}"))
        else:
            found.append(Finding(name, "ok", "none of them" if value is None else value_text(value)))
    return found


def why_not_seen(profile: GameProfile, image: Image) -> str:
    """Which gauge does not fit the picture at all, and why; empty when all of them do. A new profile is refused by it."""
    for finding in gauges_in(profile, image):
        if finding.state != "ok":
            return f"gauge {finding.name}: {finding.text}"
    return ""


def _detector(profile: GameProfile, there: Surroundings) -> Finding:
    if there.detector is None:
        return Finding("detector", "ok", "none: pictures, events and gauges are recorded, objects are not found")
    if there.detector:
        what, _, remedy = there.detector.partition("; ")
        return Finding("detector", "wrong", what, remedy or "train one for this profile, or leave it out")
    if not any(role == "enemy" for role in profile.roles()):
        return Finding("detector", "look", f"{profile.detector} fits, but no class has the role enemy", "give the classes their roles")
    return Finding("detector", "ok", f"{profile.detector} finds {', '.join(profile.class_names())}")


def look(profile: GameProfile, workspace: Path, timeout_s: float = 3.0) -> Surroundings:
    """Look at what is there for a profile. Never raises; what is missing is told."""
    detector = _try_detector(profile, workspace)
    try:
        port = current_port()
    except PlatformError as problem:
        return Surroundings(trouble=str(problem), detector=detector)
    try:
        every = port.windows()
        windows = tuple(find_windows(port, profile.window_title)) if profile.window_title else ()
        unknown = _unknown(port, profile)
    finally:
        port.close()
    if not windows:
        return Surroundings(blind=describe_missing_window(profile.window_title, every), unknown_keys=unknown, detector=detector)
    with WindowEye(profile.window_title, profile.window_part) as eye:
        try:
            image, blind = eye.wait(timeout_s).image, ""
        except PlatformError as problem:
            image, blind = None, str(problem)
    return Surroundings(windows, image, "", blind, unknown, detector)


def unknown_keys(profile: GameProfile) -> tuple[str, ...]:
    """The profile's keys that this machine cannot press; none where nothing can be pressed at all, which doctor tells."""
    try:
        port = current_port()
    except PlatformError:
        return ()
    try:
        return _unknown(port, profile)
    finally:
        port.close()


def why_not_here(profile: GameProfile, image: Image | None, unseen: bool = False) -> str:
    """Why a profile does not fit this machine or the picture of its window; empty when it does. A new one is refused by it."""
    if unknown := unknown_keys(profile):
        return f"keys: this keyboard has no {', '.join(unknown)}; leave them out"
    if image is None or unseen:
        return ""
    return why_not_seen(profile, image)


def _unknown(port: Port, profile: GameProfile) -> tuple[str, ...]:
    try:
        injector = port.injector()
    except PlatformError:
        return ()  # recording works all the same
    try:
        return tuple(key for key in profile.keys if not injector.knows(key))
    finally:
        injector.close()


def _try_detector(profile: GameProfile, workspace: Path) -> str | None:
    """None without a detector, else why it cannot be used; it is loaded for it."""
    try:
        if weights_path(profile, workspace) is None:
            return None
        from engine.perception.detector import load_detector

        load_detector(profile, "cpu", workspace)
    except DetectorError as error:
        return str(error)
    return ""

"""``secondseat games fit``: a gauge, an icon or a choice fitted to pictures of which a person says what they show."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tui.commands.invocation import UsageError, say, say_json, settings_of, table
from tui.commands.options import Json

if TYPE_CHECKING:
    from data.profile import GameProfile
    from data.schema import Image
    from data.workspace import Workspace
    from engine.game_builder_known import KnownFit


def fit(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="a game of one's own")],
    known: Annotated[
        list[str],
        typer.Option("--known", metavar="PICTURE=VALUE", help="a PNG or JPEG file, or SESSION@TIME such as last@12.5s, and what it shows"),
    ],
    gauge: Annotated[
        str, typer.Option("--gauge", metavar="NAME=L,T,R,B[:cooldown]", help="a bar; known: the share that is filled, 0..1")
    ] = "",
    icon: Annotated[str, typer.Option("--icon", metavar="NAME=L,T,R,B", help="a sign that lights up; known: on or off")] = "",
    choice: Annotated[
        str, typer.Option("--choice", metavar="NAME=L,T,R,B;L,T,R,B", help="one of several that is lit; known: which, from 1")
    ] = "",
    to: Annotated[str, typer.Option("--to", metavar="FILE", help="settings file to write; without: the one in force")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="save without asking")] = False,
    as_json: Json = False,
) -> None:
    """Fit one thing of the display to several pictures, show what is read beside what you said, and save it in the profile.

    Example: secondseat games fit mygame --gauge hp=0.05,0.02,0.2,0.04 --known full.png=1 --known last@12.5s=0.4
    """
    from data.settings_games import save_game
    from tui.commands.games import profile_of, settings_file
    from tui.commands.running import CommandError

    if sum(map(bool, (gauge, icon, choice))) != 1:
        raise UsageError("give one of --gauge, --icon and --choice")
    settings = settings_of(context)
    profile = profile_of(settings, name)
    pairs = [text.rpartition("=") for text in known]
    if bad := next((text for text, (picture, _, value) in zip(known, pairs, strict=True) if not picture or not value), ""):
        raise UsageError(f"--known {bad}: write it as PICTURE=VALUE, such as full.png=1 or last@12.5s=0.4")
    pictures = [picture_of(settings.workspace(), picture) for picture, _, _ in pairs]
    fitted = _fit(gauge, icon, choice, pictures, [value for _, _, value in pairs])
    rows = [
        (picture, _shown(reading.known, fitted), "nothing" if reading.read is None else _shown(reading.read, fitted))
        for (picture, _, _), reading in zip(pairs, fitted.readings, strict=True)
    ]
    told: dict[str, Any] = {"fitted": fitted.part.model_dump(mode="json"), "readings": [list(row) for row in rows]}
    if not as_json:
        say(table(("picture", "you say", "it reads"), rows))
    if not yes and not _agreed(f"save {fitted.part.name} in games.{name}?"):
        raise CommandError("nothing was saved; give --yes, or say y")
    change = save_game(settings_file(context, to), with_part(profile, fitted))
    if as_json:
        say_json(told | {"path": str(change.path)})
    else:
        say(change.sentence())


def with_part(profile: GameProfile, fitted: KnownFit) -> GameProfile:
    """The profile with what was fitted, in place of what had its name."""
    from data.profile import GameProfile, Gauge, Icon

    field = "gauges" if isinstance(fitted.part, Gauge) else "icons" if isinstance(fitted.part, Icon) else "choices"
    others = [one for one in getattr(profile, field) if one.name != fitted.part.name]
    return GameProfile.model_validate({**profile.model_dump(), field: [*(o.model_dump() for o in others), fitted.part.model_dump()]})


def picture_of(workspace: Workspace, text: str) -> Image:
    """A picture file, or a moment of a recording (``SESSION@TIME``). Raises UsageError, TeachError, SessionError."""
    from data.catalog import find
    from data.session import open_session
    from engine.teach_sampling import read_picture
    from tui.commands.options import seconds_of

    path = workspace.resolve(text, cwd=Path.cwd())
    session, at, moment = text.rpartition("@")
    if path.is_file() or not at:
        return read_picture(path)
    seconds = 0.0 if moment in ("0", "0s") else seconds_of(moment) or 0.0
    with open_session(find(workspace.root, session)) as opened:
        return opened.frame_at(opened.start_ns + round(seconds * 1e9)).image


def _fit(gauge: str, icon: str, choice: str, pictures: list[Image], values: list[str]) -> KnownFit:
    from engine.game_builder import gauge_of_text, region_of_text
    from engine.game_builder_known import fit_known_choice, fit_known_gauge, fit_known_icon

    if gauge:
        words = gauge_of_text(gauge)
        shares = [_number(value, 0.0, 1.0) for value in values]
        return fit_known_gauge(list(zip(pictures, shares, strict=True)), words.region, words.name, words.kind)
    what, equals, rest = (icon or choice).partition("=")
    if not equals or not what.strip().isidentifier():
        raise UsageError(f"{icon or choice!r}: write it as name=left,top,right,bottom in 0..1 of the picture")
    regions = tuple(region_of_text(part, what.strip()) for part in rest.split(";"))
    if choice:
        return fit_known_choice([(p, int(_number(v, 1, 99))) for p, v in zip(pictures, values, strict=True)], regions, what.strip())
    flags = {"on": True, "1": True, "yes": True, "off": False, "0": False, "no": False}
    if wrong := next((value for value in values if value.casefold() not in flags), ""):
        raise UsageError(f"{wrong!r}: an icon is on or off")
    return fit_known_icon([(p, flags[v.casefold()]) for p, v in zip(pictures, values, strict=True)], regions[0], what.strip())


def _number(text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a number") from error
    if not low <= value <= high:
        raise UsageError(f"{text} is not in {low:g}..{high:g}")
    return value


def _shown(value: float, fitted: KnownFit) -> str:
    from data.profile import Gauge, Icon

    if isinstance(fitted.part, Gauge):
        return f"{value:.2f}"
    return ("on" if value else "off") if isinstance(fitted.part, Icon) else f"{value:.0f}"


def _agreed(question: str) -> bool:
    from tui.commands.games_ask import Abandoned, Asker, Back

    if not sys.stdin.isatty():
        return False
    try:
        return Asker().yes(question, True)
    except (Back, Abandoned):
        return False

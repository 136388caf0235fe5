"""``secondseat games``: the games that Secondseat knows, and describing one of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tui.commands.games_fit import fit
from tui.commands.games_teach import teach
from tui.commands.invocation import invocation_of, new_app, say, say_error, say_json, say_notice, settings_of, table
from tui.commands.options import Json, seconds_of

if TYPE_CHECKING:
    from data.profile import GameProfile
    from data.settings import Settings
    from data.settings_games import Change

app = new_app("Games: the arena, and those of one's own. docs/games.md tells how to describe one.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="a game's name")]
To = Annotated[str, typer.Option("--to", metavar="FILE", help="settings file to write; without: the one in force, or your config folder's")]
app.command()(fit)
app.command()(teach)
_SIGNS: Final = {"ok": "ok   ", "look": "look ", "wrong": "WRONG"}


@app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="the game's name; without: made from the window's title")] = "",
    window: Annotated[str, typer.Option("--window", metavar="TITLE", help="a part of the window's title that stays the same")] = "",
    part: Annotated[str, typer.Option("--part", metavar="L,T,R,B", help="part of the window that is the picture, in 0..1")] = "",
    size: Annotated[str, typer.Option("--size", metavar="WxH", help="the picture's size, for a window that is not open now")] = "",
    keys: Annotated[str | None, typer.Option("--keys", metavar="K,K", help="the game's keys, such as w,a,s,d,space")] = None,
    watch: Annotated[str | None, typer.Option("--watch", metavar="TIME", help="count the keys used while you play, such as 60s")] = None,
    gauges: Annotated[
        list[str] | None,
        typer.Option("--gauge", metavar="NAME=L,T,R,B[:RRGGBB]", help="a bar; further words: right left up down cooldown"),
    ] = None,
    classes: Annotated[list[str] | None, typer.Option("--class", metavar="NAME=ROLE", help="an object class and its role")] = None,
    class_file: Annotated[str, typer.Option("--classes", metavar="FILE", help="a YOLO data.yaml, or names one a line")] = "",
    detector: Annotated[str, typer.Option("--detector", metavar="FILE", help="an .onnx detector, under the workspace")] = "",
    edge_margin: Annotated[str, typer.Option("--edge-margin", metavar="PX", help="the bot's cursor stays so far inside the window")] = "",
    hold: Annotated[str, typer.Option("--hold", metavar="MS", help="how long the bot holds a tapped key")] = "",
    to: To = "",
    use: Annotated[bool | None, typer.Option("--use/--no-use", help="make it the game that is watched")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="change a game that is there already")] = False,
    unseen: Annotated[bool, typer.Option("--unseen", help="take gauges that the picture does not show now")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="ask nothing: defaults for what is not given")] = False,
    as_json: Json = False,
) -> None:
    """Describe a game of one's own, by asking. What is given as an option is not asked.

    Example: secondseat games add mygame --window "My Game" --keys w,a,s,d --gauge hp=0.05,0.02,0.2,0.04 --yes
    """
    from tui.commands.games_add import Given, add_game

    given = Given(
        name=name,
        window=window,
        part=part,
        size=size,
        keys=keys,
        watch_s=seconds_of(watch),
        gauges=tuple(gauges or ()),
        classes=tuple(classes or ()),
        class_file=class_file,
        detector=detector,
        edge_margin=edge_margin,
        hold=hold,
        to=to,
        use=use,
        replace=replace,
        unseen=unseen,
    )
    try:
        done = add_game(settings_of(context), invocation_of(context), given, ask=not yes)
    except KeyboardInterrupt:
        say_error("interrupted; nothing was written")
        raise typer.Exit(130) from None
    if as_json:
        say_json(done.to_json())
        return
    say(done.change.sentence())
    if not done.used:
        say(f"watch it from now on: secondseat games use {done.profile.name}")


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """All games; the one that is watched is marked with *."""
    settings = settings_of(context)
    games = [settings.games[name] for name in sorted(settings.games, key=lambda n: (n != "arena", n))]
    if as_json:
        say_json([{**game.model_dump(mode="json"), "used": game.name == settings.game} for game in games])
        return
    rows = [
        (
            "*" if game.name == settings.game else "",
            game.name,
            game.window_title or "-",
            f"{game.picture_size[0]}x{game.picture_size[1]}",
            len(game.keys),
            len(game.gauges) + len(game.icons) + len(game.choices),
            len(game.classes),
            game.detector or "none",
        )
        for game in games
    ]
    say(table(("", "game", "window", "picture", "keys", "gauges", "classes", "detector"), rows))
    if len(games) == 1:
        say("describe one of your own: secondseat games add")


@app.command()
def show(context: typer.Context, name: Name, as_json: Json = False) -> None:
    """Everything that one game's profile says."""
    settings = settings_of(context)
    profile = profile_of(settings, name)
    if as_json:
        say_json({**profile.model_dump(mode="json"), "used": name == settings.game})
        return
    for line in profile_lines(profile):
        say(line)


def profile_lines(profile: GameProfile) -> list[str]:
    """A profile as a person reads it."""
    from data.profile import WHOLE
    from engine.game_builder import classes_text, gauge_text

    part = "the whole inside" if profile.window_part == WHOLE else "the part " + ", ".join(f"{v:g}" for v in profile.window_part)
    choices = (f"{choice.name} (1 to {len(choice.regions)})" for choice in profile.choices)
    icons = ", ".join([*(icon.name for icon in profile.icons), *choices])
    rows = [
        ("game", profile.name),
        ("window", f"{profile.window_title!r}, {part}, {profile.picture_size[0]}x{profile.picture_size[1]} px"),
        ("keys", " ".join(profile.keys) or "none: only the mouse is recorded"),
        *(("gauge", gauge_text(gauge)) for gauge in profile.gauges),
        *([("icons", icons)] if icons else []),
        ("classes", classes_text(profile.classes) or "none"),
        ("detector", profile.detector or "none"),
        ("edge", f"{profile.edge_margin_px} px; a tapped key is held for {profile.hold_ms} ms"),
    ]
    return [f"{heading:<9} {text}" for heading, text in rows]


@app.command()
def check(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="a game's name; without: the one that is watched")] = "",
    watch: Annotated[str | None, typer.Option("--watch", metavar="TIME", help="show live what would be recorded, such as 10s")] = None,
    as_json: Json = False,
) -> None:
    """Does a profile fit the game that is there? Window, size, keys, gauges, detector; nothing is written.

    The exit status is 1 when something is wrong.
    """
    from engine import game_builder_check as checks
    from engine.platforms.port import PlatformError
    from tui.commands.games_live import rehearse

    seconds = seconds_of(watch)
    settings = settings_of(context)
    profile = profile_of(settings, name or settings.game)
    findings = checks.check(profile, settings.control_keys(), checks.look(profile, settings.workspace().root))
    wrong = any(finding.state == "wrong" for finding in findings)
    if not as_json:
        width = max(len(finding.name) for finding in findings)
        for finding in findings:
            say(f"{_SIGNS[finding.state]}  {finding.name:<{width}}  {finding.text}")
            if finding.remedy:
                say(f"       {'':<{width}}  -> {finding.remedy}")
    told: dict[str, Any] = {"game": profile.name, "ok": not wrong, "findings": [finding.to_json() for finding in findings]}
    if seconds is not None:
        try:
            told["would_record"] = rehearse(profile, seconds, settings.capture.fps, settings.control_keys()).to_json()
        except PlatformError as problem:
            if not as_json:
                raise
            told["would_record"] = {"trouble": str(problem)}
    if as_json:
        say_json(told)
    raise typer.Exit(1 if wrong else 0)


@app.command()
def use(context: typer.Context, name: Name, to: To = "", as_json: Json = False) -> None:
    """Watch and play this game from now on. Sets `game` and `[capture] source` in the settings file."""
    from data.settings_games import use_game
    from engine.game_builder_check import why_not_here
    from tui.commands.running import CommandError

    settings = settings_of(context)
    profile = profile_of(settings, name)
    if why := why_not_here(profile, None):
        raise CommandError(f"games.{name} {why}")
    change = use_game(settings_file(context, to), name)
    if settings.capture.window and settings.capture.window != profile.window_title:
        say_notice(f"[capture] window = {settings.capture.window!r} goes before the game's own window; remove it to watch {name}")
    _tell(change, as_json)


@app.command()
def remove(
    context: typer.Context,
    name: Name,
    to: To = "",
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
    as_json: Json = False,
) -> None:
    """Take a game out of the settings file. Its recordings stay. `games undo` brings it back."""
    from data.settings_games import game_of_file, remove_game
    from tui.commands.games_ask import Abandoned, Asker, Back
    from tui.commands.running import CommandError

    profile_of(settings_of(context), name)
    path = settings_file(context, to)
    if game_of_file(path, name) and not yes:
        try:
            agreed = Asker().yes(f"take games.{name} out of {path}?", False)
        except (Back, Abandoned):
            agreed = False
        if not agreed:
            raise CommandError(f"games.{name} stays; say y, or give --yes")
    _tell(remove_game(path, name), as_json, "; back: secondseat games undo")


@app.command()
def undo(context: typer.Context, to: To = "", as_json: Json = False) -> None:
    """Take back the last change by `games`. The settings file is as it was before; a second time brings the change back."""
    from data.settings_games import undo as take_back

    _tell(take_back(settings_file(context, to)), as_json)


def _tell(change: Change, as_json: bool, more: str = "") -> None:
    if as_json:
        say_json({"path": str(change.path), "backup": str(change.backup) if change.backup else None, "text": change.text})
    else:
        say(change.sentence() + more)


def profile_of(settings: Settings, name: str) -> GameProfile:
    """The profile of a game by name. Raises CommandError with the names that there are."""
    from tui.commands.running import CommandError

    if name not in settings.games:
        raise CommandError(f"there is no game {name!r}; there is {', '.join(sorted(settings.games))}; add one: secondseat games add {name}")
    return settings.games[name]


def settings_file(context: typer.Context, to: str) -> Path:
    """The settings file to write: the one that was named, the one in force, or the one in the user's config folder."""
    from data.settings_io import settings_file_to_write

    if to:
        return Path(to).expanduser()
    config = invocation_of(context).config
    return settings_file_to_write(Path(config) if config else None)

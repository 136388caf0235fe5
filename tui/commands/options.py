"""Options that several commands take: what is watched, and for how long."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from data.vocabulary import LookName
from tui.commands.invocation import UsageError, duration_s

if TYPE_CHECKING:
    from data.settings import Settings
    from engine.source_spec import SourceSpec

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
PilotName = Literal["expert", "novice", "random", "none"]
Source = Annotated[
    Literal["arena", "screen", "video"] | None,
    typer.Option("--source", help="arena: the embedded game; screen: a window, region or monitor; video: a session, as if live"),
]
Window = Annotated[str | None, typer.Option("--window", metavar="TITLE", help="screen: part of the title of the window to follow")]
Monitor = Annotated[int | None, typer.Option("--monitor", metavar="N", min=1, help="screen: a whole monitor, from 1")]
Region = Annotated[str | None, typer.Option("--region", metavar="L,T,W,H", help="screen: a fixed region in px; L and T may be negative")]
Pilot = Annotated[PilotName | None, typer.Option("--pilot", help="arena: who flies")]
LARGEST_SEED: Final = 2**31 - 1
"""As the settings have it; what follows from a seed fits into 64 bits then."""
Seed = Annotated[int | None, typer.Option("--seed", min=0, max=LARGEST_SEED, help="arena: seed of the world")]
Look = Annotated[LookName | None, typer.Option("--look", help="arena: how it is drawn; without: as the settings say")]
Session = Annotated[str | None, typer.Option("--session", metavar="SESSION", help="video: which session; last: the newest")]
Loop = Annotated[bool, typer.Option("--loop", help="video: begin anew when it is over")]
Fps = Annotated[int | None, typer.Option("--fps", min=1, max=240, help="pictures per second")]
For = Annotated[str | None, typer.Option("--for", metavar="TIME", help="end after 90s, 1.5m, 2h or 1:30; without: until Ctrl-C")]
Policy = Annotated[str, typer.Option("--policy", metavar="POLICY", help="a policy's name or folder; without: the promoted or newest one")]
Headless = Annotated[bool, typer.Option("--headless", help="plain lines only, no line that is rewritten")]


def seconds_of(text: str | None) -> float | None:
    return None if text is None else duration_s(text)


def source_of(
    settings: Settings,
    source: str | None,
    window: str | None,
    monitor: int | None,
    region: str | None,
    pilot: str | None,
    seed: int | None,
    fps: int | None,
    session: str | None = None,
    loop: bool = False,
    look: LookName | None = None,
) -> SourceSpec:
    """What is to be watched: the settings, changed by the options. Raises UsageError when options contradict each other."""
    from engine.source_spec import SourceSpec

    screen = {"--window": window, "--monitor": monitor, "--region": region}
    given = [name for name, value in screen.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: choose one of them")
    played = "--session" if session is not None else "--loop" if loop else ""
    kind = source or ("screen" if given else "video" if played else settings.capture.source)
    if kind != "screen" and given:
        raise UsageError(f"{given[0]} needs --source screen")
    if kind != "video" and played:
        raise UsageError(f"{played} needs --source video")
    if kind != "arena" and seed is not None:
        raise UsageError("--seed needs --source arena")
    if kind != "arena" and look is not None:
        raise UsageError("--look needs --source arena")
    if kind == "video":
        if pilot not in (None, "none"):
            raise UsageError("--pilot needs --source arena; in a recorded session it is known who plays")
        spec = SourceSpec.from_settings(settings)
        return spec.changed(kind="video", session=session or "last", loop=loop, fps=fps)
    if kind == "screen" and pilot not in (None, "none"):
        raise UsageError("--pilot needs --source arena; on the screen a person or the bot plays")
    if kind != settings.capture.source:  # what the settings say of the screen holds for the screen
        capture = settings.capture.model_copy(update={"source": kind})
        settings = settings.model_copy(update={"capture": capture})
    spec = SourceSpec.from_settings(settings).changed(pilot="none" if kind == "screen" else pilot, seed=seed, fps=fps, look=look)
    try:
        if window is not None:
            return replace(spec, window=window, monitor=0, region=None)
        if monitor is not None:
            return replace(spec, window="", monitor=monitor, region=None)
        if region is not None:
            return replace(spec.changed(region=region), window="", monitor=0)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return spec

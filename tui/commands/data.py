"""``secondseat data``: what the recordings hold, and making more of it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tui.commands.invocation import UsageError, new_app, say, say_json, settings_of, shown_duration, table, workspace_of
from tui.commands.options import Json

if TYPE_CHECKING:
    from data.statistics import SessionStatistics, Statistics

app = new_app("What the recordings hold, and making more of it.")


@app.callback()
def group() -> None:
    """What the recordings hold, and making more of it."""


@app.command()
def perceive(
    context: typer.Context,
    sessions: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="sessions: id, unambiguous beginning, or last")] = None,
    all_: Annotated[bool, typer.Option("--all", help="every finished session of the active game")] = False,
    device: Annotated[Literal["auto", "cpu", "cuda"] | None, typer.Option("--device", help="without: [live] device")] = None,
    as_json: Json = False,
) -> None:
    """Look at recorded pictures anew with the present detector; what was done in them stays.

    Also for sessions recorded without a detector: their steps are built from the events. The exit status is 1 when a
    session could not be perceived; it is then as it was.
    """
    from data.catalog import find, list_sessions
    from engine.perceive_session import PerceivedSession, perceive_session
    from engine.perception.card import DetectorError
    from tui.commands.running import ProgressLine, StatusLine, TermAsInterrupt

    if bool(sessions) == all_:
        raise UsageError("data perceive: name sessions, or use --all")
    settings = settings_of(context)
    root = settings.workspace().root
    infos = list_sessions(root)
    folders = [find(root, name) for name in sessions or []]
    if all_:
        folders = [info.folder for info in infos if info.game == settings.game and info.state in ("saved", "recovered")]
    done: list[PerceivedSession] = []
    failed = 0
    line = StatusLine()
    with TermAsInterrupt():
        for folder in folders:
            game = next((info.game for info in infos if info.folder == folder), "")
            try:
                result = perceive_session(folder, settings.games.get(game), device or settings.live.device, ProgressLine(line))
            except (OSError, ValueError, RuntimeError, DetectorError) as error:
                if len(folders) == 1:
                    raise
                failed += 1
                line.say(f"secondseat: {folder.name}: {error}")
                continue
            done.append(result)
            line.end()
            if not as_json:
                say(str(result))
    if as_json:
        say_json([dataclasses.asdict(result) for result in done])
    elif not folders:
        say("no finished session of this game yet")
    raise typer.Exit(1 if failed else 0)


@app.command()
def stats(
    context: typer.Context,
    sessions: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="sessions; without: all of them")] = None,
    history: Annotated[
        int | None, typer.Option("--history", min=1, help="seconds of the Strategist's windows; without: those it is trained with")
    ] = None,
    as_json: Json = False,
) -> None:
    """Hours, ticks, windows, modes, keys, idle time, detections, gaps and actors of each session and of all, and what is odd.

    Windows are counted as the Strategist's trainer counts them: floor((T - H) / S) + 1 with T summaries (one a second), a
    history of H and a stride of S = H / 4; a stretch shorter than H gives one.

    The sums count play once: a session that was made from others that are counted too, or that holds the same play as another, is
    named a copy and left out of them.
    """
    from data.catalog import find, list_sessions
    from data.statistics_cache import StatisticsCache, countable, gather
    from data.windows import STRATEGIST_HISTORY
    from tui.commands.running import ProgressLine, StatusLine, TermAsInterrupt

    workspace = workspace_of(context)
    named = dict.fromkeys(find(workspace.root, name) for name in sessions or [])
    folders = list(named) or countable(list_sessions(workspace.root))
    line = StatusLine()
    with TermAsInterrupt():
        found = gather(folders, StatisticsCache(workspace.cache, history or STRATEGIST_HISTORY), ProgressLine(line))
    line.end()
    if as_json:
        say_json(found.to_json())
    elif folders:
        _print_statistics(found)
    else:
        say("no sessions yet; record some: secondseat record")


def _print_statistics(found: Statistics) -> None:
    from data.statistics import SAME_PLAY, copies

    total, twice = found.total(), copies(found.sessions)
    headings = ["session", "length", "ticks", "learnable", "windows", "idle", "objects", "gaps", "actors"]
    rows = [_statistics_row(s) for s in (*found.sessions, total)]
    if twice:
        headings.append("copy of")
        rows = [(*row, ", ".join(twice[s.id].of) if s.id in twice else "") for row, s in zip(rows, (*found.sessions, total), strict=True)]
    say(table(headings, rows))
    for what, counts in (("modes", total.modes), ("presses in learnable ticks", total.keys)):
        if counts:
            whole = sum(counts.values())
            say(f"{what:<8} {', '.join(f'{name} {n:,} ({n / whole:.0%})' for name, n in counts.items())}")
    if len(found.sessions) == 1:
        say(f"windows  {total.windows} = {found.sessions[0].windows_formula}")
    for line in total.suspicious:
        say(f"! {line}")
    for name, copy in twice.items():
        say(f"{'! ' if copy.words.startswith(SAME_PLAY) else ''}{name}: {copy.already('counted')}")
    for name, why in found.unreadable.items():
        say(f"! {name}: cannot be read: {why}")


def _statistics_row(s: SessionStatistics) -> tuple[object, ...]:
    return (
        s.id,
        shown_duration(s.hours * 3600),
        s.ticks,
        s.learnable_ticks,
        s.windows,
        f"{s.idle_share:.0%}",
        f"{s.detections_per_tick:.1f}",
        f"{s.gaps} ({s.gap_s:.0f} s)" if s.gaps else "none",
        " ".join(f"{name} {n / max(1, s.ticks):.0%}" for name, n in s.actors.items()) or "none",
    )

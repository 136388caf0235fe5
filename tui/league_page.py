"""The page of one league, refinement or imitation as lines of text, made from its files: by a thread, never by the drawing loop."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from rich.console import Console, RenderableType
from rich.style import Style
from rich.text import Text

from tui import league_view
from tui.charts import nice_number, sparkline
from tui.moments import moment

if TYPE_CHECKING:
    from league.live import Live
    from league.runs import Kind
    from tui.theme import Look

Part = Literal["players", "map", "losses"]
PARTS: Final[tuple[Part, ...]] = ("players", "map", "losses")
CURVE_BYTES: Final = 2 * 2**20
"""Of a refinement's metrics so much of the end is drawn: some thousand iterations."""
_TREND: Final = 32
_SCREENS: Final[Mapping[Part, Callable[..., RenderableType]]] = {
    "players": partial(league_view.league_screen, alone=False),
    "map": league_view.map_screen,
    "losses": league_view.notes_screen,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a pane shows: how large, which part, and how it looks."""

    width: int
    height: int
    part: Part
    look: Look


def page(kind: Kind, folder: Path, asked: Asked) -> tuple[Text, ...]:
    """The lines of a run's page; what cannot be read is said."""
    if kind == "league":
        return tuple(league_page(folder, asked))
    return tuple(refinement_page(folder, asked) if kind == "refinement" else imitation_page(folder, asked))


def league_page(folder: Path, asked: Asked) -> list[Text]:
    """The live picture; of a league without one, what its summary tells."""
    from league.live import read_live
    from league.runs import from_summary

    live = read_live(folder)
    signs = league_view.SIGNS if asked.look.glyphs.braille else league_view.ASCII_SIGNS
    if live is not None:
        head = "" if live.state == "running" else f"{ending(live)}  {_sums(live.progress)}"
        return lines_of(_SCREENS[asked.part](live.progress, asked.width, asked.height, signs, head), asked.width)
    progress, interrupted = from_summary(folder)
    if progress is None:
        return [Text(f"Nothing to see yet: its first iteration is still going on. ({folder})", asked.look.palette.dim)]
    head = f"{'stopped' if interrupted else 'done'}  {_sums(progress)}"
    return lines_of(_SCREENS[asked.part](progress, asked.width, asked.height, signs, head), asked.width)


def ending(live: Live) -> str:
    """How it ended, in words."""
    return {"cut off": "its process is gone; the last save stands", "failed": f"failed: {live.why}"}.get(live.state, live.state)


def _sums(progress: Any) -> str:
    return f"round {progress.round}/{progress.rounds}  {progress.frames:,} frames, {progress.matches:,} matches"


def lines_of(renderable: RenderableType, width: int) -> list[Text]:
    """What Rich would print, line by line."""
    console = Console(file=io.StringIO(), width=width, height=1000, force_terminal=True, color_system="truecolor", legacy_windows=False)
    lines: list[Text] = []
    for segments in console.render_lines(renderable, console.options.update(width=width), pad=False):
        line = Text(no_wrap=True, end="")
        for text, style, _ in segments:
            line.append(text, style or Style())
        line.rstrip()
        lines.append(line)
    return lines


def refinement_page(folder: Path, asked: Asked) -> list[Text]:
    """How it plays against the pilots by and by, then its losses with their trends."""
    from league.runs import METRICS, metrics_rows

    rows = metrics_rows(folder / METRICS, CURVE_BYTES)
    iterations = [row for row in rows if "losses" in row]
    evaluations = [row["evaluation"] for row in rows if "evaluation" in row]
    kept = next((row["kept"] for row in reversed(rows) if "kept" in row), None)
    palette = asked.look.palette
    if not iterations and not evaluations:
        return [Text(f"Nothing to see yet: it has not learnt from anything. ({folder})", palette.dim)]
    lines: list[Text] = []
    if iterations:
        last = iterations[-1]
        rate = f"{last['fresh_per_s']:,.0f} fresh and {last['consumed_per_s']:,.0f} consumed frames/s"
        spent = moment(last["seconds"], fine=False)
        head = f"iteration {last['iteration']:,}  {last['frames']:,} frames, {last['matches']:,} matches, {spent}"
        lines += [Text(head, palette.strong), Text(rate, palette.dim), Text()]
    lines += _evaluations(evaluations, kept, asked)
    return [*lines, *_trends(iterations, asked)]


def _evaluations(evaluations: Sequence[Mapping[str, Any]], kept: Mapping[str, Any] | None, asked: Asked) -> list[Text]:
    """The first, which is the policy it came from, and the newest ones, each beside all pilots; then, of a run that is through, the policy
    that it kept, in other worlds than those it was chosen in."""
    if not evaluations:
        return [Text("It has not been looked at beside the pilots yet.", asked.look.palette.dim), Text()]
    shown = [(f"at {one['iteration']:,}" if one["iteration"] else "before", one) for one in (evaluations[0], *evaluations[1:][-6:])]
    if kept:
        shown.append((f"kept {kept['iteration']:,}", kept))
    names = [str(one["opponent"]) for one in evaluations[-1]["versus"]]
    lines = [Text("ranks above" + "".join(f"   {name:<17}" for name in names), asked.look.palette.dim, no_wrap=True)]
    for words, told in shown:
        line = Text(f"{words:<11}", no_wrap=True)
        for one in told["versus"]:
            payoff = one["payoff"]
            style = asked.look.palette.good if payoff["low"] > 0.5 else asked.look.palette.bad if payoff["high"] < 0.5 else ""
            line.append(f"   {payoff['value']:.2f} ", style)
            line.append(f"{payoff['low']:.2f} to {payoff['high']:.2f}", asked.look.palette.dim)
        lines.append(line)
    return [*lines, Text("how often it ranks above one of them, 0.50 is parity; intervals of 95 %", asked.look.palette.dim), Text()]


def _trends(iterations: Sequence[Mapping[str, Any]], asked: Asked) -> list[Text]:
    names = [name for name in league_view.LOSSES if any(name in row["losses"] for row in iterations)]
    lines: list[Text] = []
    for name in names:
        values = [float(row["losses"][name]) for row in iterations if name in row["losses"]]
        trend = sparkline(values[-400:], min(_TREND, max(8, asked.width - 34)), asked.look.glyphs.blocks)
        line = Text(f"{league_view.LOSSES[name]:<10}", asked.look.palette.dim, no_wrap=True)
        lines.append(line.append(f"{nice_number(values[-1]):>10}  ", "").append(trend, asked.look.palette.learn))
    return lines


def imitation_page(folder: Path, asked: Asked) -> list[Text]:
    """Each choice's accuracy beside what costs nothing, and the loss epoch by epoch."""
    from league.runs import imitated

    epochs, card = imitated(folder)
    palette = asked.look.palette
    if not epochs:
        return [Text(f"Nothing to see yet: its first epoch is not whole. ({folder})", palette.dim)]
    split = card.get("split", {})
    told = f"epoch {len(epochs)}  {split.get('train_frames', 0):,} frames to learn from, {split.get('validation_frames', 0):,} to check on"
    lines = [Text(told, palette.strong), Text(), Text("epoch     training loss   validation loss", palette.dim)]
    lines += [Text(f"{e['epoch']:>5}{e['train_loss']:>18.3f}{e['validation_loss']:>18.3f}") for e in epochs[-6:]]
    lines += [Text(), Text(f"{'choice':<12}{'accuracy':>10}{'where it changes':>18}{'most frequent':>15}{'as before':>11}", palette.dim)]
    for name, head in epochs[-1].get("heads", {}).items():
        line = Text(f"{name.replace('_', ' '):<12}", no_wrap=True)
        for key, room in (("accuracy", 10), ("changes", 18), ("majority", 15), ("persistence", 11)):
            value = head.get(key)
            line.append((f"{value:.2f}" if isinstance(value, int | float) else "-").rjust(room), "" if key == "accuracy" else palette.dim)
        lines.append(line)
    return lines

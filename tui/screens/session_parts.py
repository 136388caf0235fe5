"""What a session's page is made of, as text: the facts, one lane, the line about the cursor. Pure: no widget, no disk."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.text import Text

from data.text import printable
from data.vocabulary import Mode
from tui.moments import moment
from tui.panes.base import cut, pairs, size
from tui.screens.data_rows import sign_of, when, word_of
from tui.theme import Look
from tui.timeline import Row, View

if TYPE_CHECKING:
    from data.catalog import SessionInfo
    from data.metadata import Metadata
    from data.timeline import Timeline

NAME_WIDTH: Final = 13
"""Cells before a lane's columns: a pointer, its name, a blank."""

MODE_ACTIONS: Final[dict[str, Mode]] = {
    "session_fight": "FIGHT",
    "session_loot": "LOOT",
    "session_flee": "FLEE",
    "session_explore": "EXPLORE",
    "session_cautious": "CAUTIOUS",
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """Everything that is read of a session for its page."""

    info: SessionInfo
    metadata: Metadata
    timeline: Timeline


def facts(loaded: Loaded, width: int, height: int, look: Look) -> list[Text]:
    """At most ``height`` lines; what needs attention goes before what is in order."""
    info, metadata, timeline = loaded.info, loaded.metadata, loaded.timeline
    palette, glyphs = look.palette, look.glyphs
    sign, style = sign_of(info, look)
    rates, counts = metadata.rates, metadata.counts
    title = Text(printable(info.title) or info.id, "bold", no_wrap=True)
    for tag in info.tags:
        title.append(f" #{tag}", palette.accent)
    end = time.strftime("%H:%M:%S", time.localtime(metadata.clock.wall_s + metadata.duration_s))
    urgent: list[tuple[str, Text | str]] = []
    problems = [info.reason, *timeline.problems, *([metadata.recovery.message] if metadata.recovery else [])]
    for problem in dict.fromkeys(p for p in problems if p):
        urgent.append((f"{glyphs.needs} look", Text(printable(problem), palette.warn)))
    if timeline.gaps:
        lost_s = sum(gap.end_ns - gap.start_ns for gap in timeline.gaps) / 1e9
        reasons = ", ".join(dict.fromkeys(gap.reason or "no reason given" for gap in timeline.gaps))
        urgent.append(("gaps", Text(f"{len(timeline.gaps)}, {moment(lost_s)} in all: {printable(reasons)}", palette.warn)))
    rows: list[tuple[str, Text | str]] = [
        ("state", Text.assemble((f"{sign} {word_of(info)}", style), f", {info.kind} of {printable(info.game)}")),
        ("when", f"{when(info)} to {end}"),
        ("length", f"{moment(metadata.duration_s, fine=False)}, {size(info.size_bytes)}"),
        *urgent,
        ("note", Text(printable(info.note)) if info.note else Text("none", palette.dim)),
        ("pictures", _rate(counts.frames, rates.measured_fps, rates.asked_fps, counts.dropped_frames, look)),
        ("steps", _rate(counts.steps, rates.measured_hz, rates.asked_hz, 0, look)),
        ("events", f"{counts.events:,}" + (f", {counts.refused_events:,} refused" if counts.refused_events else "")),
        ("labels", f"{info.labels:,} of yours and the coach's" if info.labels else Text("none yet", palette.dim)),
        ("source", printable(f"{metadata.source.kind} {metadata.source.description}, {metadata.width_px}x{metadata.height_px}")),
    ]
    if timeline.targets:
        rows.append(("targets", ", ".join(f"{printable(name)} {count:,}" for name, count in _largest(timeline.targets))))
    if metadata.notes:
        rows.append(("said", printable("; ".join(metadata.notes))))
    lines = [cut(title, width, glyphs.ellipsis), *pairs(rows, width, look, most=1 if height < 12 else 2)]
    return lines[:height]


def _largest(targets: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(targets.items(), key=lambda item: -item[1])


def _rate(count: int, measured: float, asked: float, dropped: int, look: Look) -> Text:
    text = Text(f"{count:,}")
    if asked:
        text.append(f", {measured:.1f} of {asked:.0f} a second", look.palette.warn if measured < 0.9 * asked else "")
    if dropped:
        text.append(f", {dropped:,} dropped", look.palette.warn)
    return text


def row_line(row: Row, chosen: bool, cursor: int, selected: tuple[int, int] | None, look: Look) -> Text:
    """One lane: its name, its columns; the cursor's column is reversed, the selected ones are underlined."""
    palette, glyphs = look.palette, look.glyphs
    name = f"{glyphs.pointer if chosen else ' '}{printable(row.name)[: NAME_WIDTH - 2]}".ljust(NAME_WIDTH)
    line = Text(name, palette.accent if chosen else palette.dim, no_wrap=True)
    line = Text.assemble(line)
    edges = [0, *(np.flatnonzero(np.diff(row.codes)) + 1).tolist(), len(row.codes)]
    for start, end in pairwise(edges):
        line.append(row.text[start:end], _style(row, int(row.codes[start]), look) if end > start else "")
    if selected is not None:
        line.stylize("underline", NAME_WIDTH + max(0, selected[0]), NAME_WIDTH + max(0, selected[1]))
    if 0 <= cursor < len(row.text):
        line.stylize("reverse", NAME_WIDTH + cursor, NAME_WIDTH + cursor + 1)
    return line


def _style(row: Row, code: int, look: Look) -> str:
    palette = look.palette
    if code < 0:
        return ""
    if row.kind == "mode":
        return (palette.warn, palette.accent, palette.learn, palette.good, "")[code]
    plain = {
        "press": palette.accent if code else palette.good,
        "gaps": palette.bad,
        "interesting": palette.learn,
        "perturbed": palette.warn,
    }
    return plain.get(row.kind, palette.dim)


def ruler_line(text: str, cursor: int, selected: tuple[int, int] | None, look: Look) -> Text:
    """The times; the selected stretch as brackets, the cursor as a pointer."""
    cells = list(text)
    if selected is not None:
        first, end = max(0, selected[0]), min(len(cells), max(selected[1], selected[0] + 1))
        for column in range(first, end):
            cells[column] = "="
        if first == selected[0] and first < len(cells):
            cells[first] = "["
        if 0 < end == selected[1]:
            cells[end - 1] = "]"
    if 0 <= cursor < len(cells):
        cells[cursor] = look.glyphs.down
    return Text.assemble((" " * NAME_WIDTH, ""), ("".join(cells), look.palette.dim), no_wrap=True)


def at_cursor(loaded: Loaded, cursor_ns: int, stretch: tuple[int, int] | None, width: int, look: Look) -> Text:
    """The moment, the mode that holds, who acts, what is down; and the selected stretch."""
    timeline, palette = loaded.timeline, look.palette
    line = Text(f" {moment((cursor_ns - timeline.start_ns) / 1e9)}", "bold", no_wrap=True)
    line = Text.assemble(line)
    if stretch is not None:
        a, b = ((t - timeline.start_ns) / 1e9 for t in stretch)
        line.append(f"  selected {moment(a)} to {moment(b)}, {b - a:.1f} s", palette.accent)
    for one in timeline.modes:
        if one.start_ns <= cursor_ns < one.end_ns:
            line.append(f"  {one.mode} ({ {'human': 'you', 'vlm': 'coach'}.get(one.source, one.source) })")
    down = held_at(timeline, cursor_ns)
    if down:
        line.append(f"  down: {' '.join(down)}")
    for name, spans in (("gap", timeline.gaps), ("perturbed", timeline.perturbed), ("interesting", timeline.interesting)):
        for span in spans:
            if span.start_ns <= cursor_ns < span.end_ns:
                line.append(f"  {name}{f': {printable(span.reason)}' if span.reason else ''}", palette.warn)
    for actor in timeline.actors:
        if actor.start_ns <= cursor_ns < actor.end_ns:
            line.append(f"  {printable(actor.name) or actor.actor}", palette.dim)
    return cut(line, width, look.glyphs.ellipsis)


def held_at(timeline: Timeline, time_ns: int) -> list[str]:
    """The keys and buttons that are down at a moment."""
    out: list[str] = []
    for lane in (*timeline.clicks, *timeline.keys):
        at = int(np.searchsorted(lane.starts_ns, time_ns, side="right")) - 1
        if at >= 0 and int(lane.ends_ns[at]) > time_ns:
            out.append(lane.name)
    return out


def columns_of(view: View, stretch: tuple[int, int] | None) -> tuple[int, int] | None:
    """The first column of a stretch and the one after its last; at least one wide."""
    if stretch is None:
        return None
    first = view.column(stretch[0])
    return first, max(first + 1, view.column(stretch[1]))

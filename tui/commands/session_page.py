"""``secondseat sessions show``: one session as a page of text, or as JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from data.annotations import read as read_annotations
from data.catalog import SessionInfo, describe
from data.labels import ModeStretch
from data.metadata import Metadata, read_metadata
from data.text import printable, printable_lines
from data.timeline import Lane, Timeline, read_timeline
from data.verify import Finding, verify
from data.vocabulary import ACTOR_KINDS
from tui.commands.invocation import shown_bytes, shown_duration
from tui.theme import Palette, locale_encoding, pick
from tui.timeline import ASCII_LOOKS, Looks, Row, View, rows, ruler

if TYPE_CHECKING:
    from collections.abc import Callable

WIDEST: Final = 160
NARROWEST: Final = 40
_NAME_WIDTH: Final = 12
_FACT_WIDTH: Final = 10
_SPEAKERS: Final[dict[str, str]] = {"human": "a person", "vlm": "a coach", "rules": "the rules"}


def page(folder: Path) -> None:
    """Prints the page: as wide as the terminal, 80 columns elsewhere. Raises SessionError."""
    info, metadata, timeline = describe(folder), read_metadata(folder), read_timeline(folder)
    look = pick(os.environ, locale_encoding(os.environ))
    width = min(WIDEST, max(NARROWEST, get_terminal_size().columns)) if sys.stdout.isatty() else 80
    console = Console(width=width, highlight=False, soft_wrap=False, emoji=False, markup=False)
    palette = look.palette
    heading = Text(printable(info.id), "bold")
    if info.title:
        heading.append(f"  {printable(info.title)}", palette.good)
    for tag in info.tags:
        heading.append(f" #{printable(tag)}", palette.accent)
    console.print(heading)
    _print_pairs(console, _facts(info, metadata, timeline), palette)
    console.print()
    _print_timeline(console, timeline, width, Looks() if look.glyphs.braille else ASCII_LOOKS, palette)
    console.print()
    _print_pairs(console, _sums(timeline), palette)
    for finding in _problems(folder):
        style = {"error": palette.bad, "warning": palette.warn}.get(finding.severity, palette.dim)
        console.print(Text(f"! {printable(str(finding))}", style))


def page_json(folder: Path) -> dict[str, Any]:
    """All that the page tells, as plain values; times in ns as in the session's files. Raises SessionError."""
    info, metadata, timeline = describe(folder), read_metadata(folder), read_timeline(folder)
    return {
        **info.to_json(),
        "annotations": read_annotations(folder).to_json(),
        "metadata": metadata.model_dump(mode="json"),
        "timeline": {
            "start_ns": timeline.start_ns,
            "end_ns": timeline.end_ns,
            "presses": {lane.name: {"count": len(lane), "held_s": _held_s(lane)} for lane in (*timeline.clicks, *timeline.keys)},
            "modes": [{"start_ns": s.start_ns, "end_ns": s.end_ns, "mode": s.mode, "source": s.source} for s in timeline.modes],
            "actors": [{"start_ns": s.start_ns, "end_ns": s.end_ns, "actor": s.actor, "name": s.name} for s in timeline.actors],
            "targets": timeline.targets,
        },
        "problems": [finding.to_json() for finding in _problems(folder)],
    }


def _problems(folder: Path) -> list[Finding]:
    return [finding for finding in verify(folder) if finding.severity != "info"]


def _facts(info: SessionInfo, metadata: Metadata, timeline: Timeline) -> list[tuple[str, str]]:
    rates, counts = metadata.rates, metadata.counts
    state = f"{'recording now' if info.live else info.state}{f' ({info.reason})' if info.reason else ''}"
    return [
        ("what", f"{info.kind} of {info.game}, {state}"),
        (
            "when",
            f"{metadata.started_at[:19].replace('T', ' ')} UTC, {shown_duration(timeline.duration_s)}, {shown_bytes(info.size_bytes)}",
        ),
        ("source", f"{metadata.source.kind}: {metadata.source.description}".rstrip(": ")),
        (
            "pictures",
            f"{counts.frames} of {metadata.width_px}x{metadata.height_px}, {rates.measured_fps:.1f} of {rates.asked_fps:.0f} a second, "
            f"{counts.dropped_frames} dropped",
        ),
        ("steps", f"{counts.steps}, {rates.measured_hz:.1f} of {rates.asked_hz:.0f} a second"),
        ("events", f"{counts.events}{f', {counts.refused_events} refused' if counts.refused_events else ''}"),
        ("labels", str(info.labels) if info.labels else ""),
        ("note", info.note),
        ("recovered", metadata.recovery.message if metadata.recovery else ""),
        ("notes", "; ".join(_notes(metadata))),
    ]


def _notes(metadata: Metadata) -> list[str]:
    """The remarks, without what a gap tells already."""
    closed = any(gap.reason.endswith("is closed") for gap in metadata.gaps)
    return [note for note in metadata.notes if not (closed and note == "window closed")]


def _print_pairs(console: Console, pairs: Sequence[tuple[str, str]], palette: Palette) -> None:
    """Names and what belongs to them; pairs without a text are left out."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=_FACT_WIDTH, style=palette.dim)
    grid.add_column(overflow="fold")
    for name, text in pairs:
        if text:
            grid.add_row(name, Text(printable_lines(text)))
    console.print(grid)


def _print_timeline(console: Console, timeline: Timeline, width: int, looks: Looks, palette: Palette) -> None:
    view = View.whole(timeline.start_ns, timeline.end_ns, width - _NAME_WIDTH - 1)
    style = _styles(palette)
    console.print(Text(" " * (_NAME_WIDTH + 1) + ruler(view), palette.dim, no_wrap=True, overflow="crop"))
    for row in rows(timeline, view, looks):
        if row.codes.max(initial=-1) >= 0:
            console.print(Text.assemble((f"{row.name[:_NAME_WIDTH]:<{_NAME_WIDTH}} ", palette.dim), (row.text, style(row)), no_wrap=True))


def _styles(palette: Palette) -> Callable[[Row], str]:
    styles: dict[str, str] = {"mode": palette.good, "actor": palette.learn, "gaps": palette.warn}
    styles |= {"interesting": palette.accent, "pictures": palette.dim}
    return lambda row: styles.get(row.kind, "")


def _sums(timeline: Timeline) -> list[tuple[str, str]]:
    lanes = (*timeline.clicks, *timeline.keys)
    return [
        ("presses", _joined((f"{lane.name} {len(lane)} ({_held_s(lane):.1f} s)", len(lane)) for lane in lanes)),
        ("modes", _shares(timeline.modes, lambda stretch: stretch.mode)),
        ("said by", _shares(timeline.modes, lambda stretch: _SPEAKERS[stretch.source])),
        ("actors", ", ".join(dict.fromkeys(f"{s.actor}{f' ({s.name})' if s.name else ''}" for s in timeline.actors))),
        ("who", _pressers(timeline)),
        ("targets", _joined((f"{name} {count}", count) for name, count in timeline.targets.items())),
        ("gaps", "; ".join(f"{(gap.end_ns - gap.start_ns) / 1e9:.1f} s {gap.reason}".rstrip() for gap in timeline.gaps)),
    ]


def _joined(words: Iterable[tuple[str, int]]) -> str:
    """The words, those with the largest count first."""
    return ", ".join(word for word, _ in sorted(words, key=lambda pair: -pair[1]))


def _held_s(lane: Lane) -> float:
    return round(float((lane.ends_ns - lane.starts_ns).sum()) / 1e9, 3)


def _shares(modes: Sequence[ModeStretch], word: Callable[[ModeStretch], str]) -> str:
    """How much of the time each word holds."""
    lengths: dict[str, int] = {}
    for stretch in modes:
        lengths[word(stretch)] = lengths.get(word(stretch), 0) + stretch.end_ns - stretch.start_ns
    total = sum(lengths.values())
    return _joined((f"{name} {length / total:.0%}", length) for name, length in lengths.items()) if total else ""


def _pressers(timeline: Timeline) -> str:
    """Who pressed how often, when it was not one alone."""
    counts: dict[str, int] = {}
    for lane in (*timeline.clicks, *timeline.keys):
        for code, kind in enumerate(ACTOR_KINDS):
            counts[kind] = counts.get(kind, 0) + int((lane.actors == code).sum())
    pressed = [(f"{name} pressed {count} times", count) for name, count in counts.items() if count]
    return _joined(pressed) if len(pressed) > 1 else ""

"""The statistics of sessions as rows and, of one or of all together, as histograms and facts. Pure: no widget, no disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from data.text import printable
from data.vocabulary import MODES
from tui.bars import beside, share_bar
from tui.moments import moment
from tui.panes.base import cut, wrapped
from tui.screens.data_rows import when
from tui.screens.table import Column
from tui.theme import Look

if TYPE_CHECKING:
    from data.catalog import SessionInfo
    from data.statistics import SessionStatistics

COLUMNS = (
    Column("state", 9, words="what looks odd first"),
    Column("when", 16, narrow=11, words="newest first"),
    Column("length", 8, right=True, narrow=7, words="longest first"),
    Column("ticks", 9, right=True, from_width=90, words="most ticks first"),
    Column("learnable", 9, right=True, narrow=9, words="most to learn from first"),
    Column("windows", 7, right=True, words="most windows first"),
    Column("idle", 5, right=True, words="most idle first"),
    Column("objects", 7, right=True, words="most objects first"),
    Column("gaps", 10, right=True, from_width=90, words="most gaps first"),
    Column("remarks", 0),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One session, or all together (``info`` is None). ``found`` is None while it waits or when it cannot be read.

    copy: what it was made from, when that is counted too."""

    name: str
    info: SessionInfo | None
    found: SessionStatistics | None
    problem: str = ""
    odd: tuple[str, ...] = ()
    copy: str = ""

    @property
    def word(self) -> str:
        if self.info is None:
            return "all"
        if self.problem:
            return "broken"
        return "waits" if self.found is None else "odd" if self.odd else "copy" if self.copy else "fine"


def haystack(row: Row) -> str:
    found, info = row.found, row.info
    text = f"{row.name} {row.word} {'suspicious' if row.odd else ''} {' '.join(row.odd)} {row.copy} {row.problem}"
    if info is not None:
        text += f" {info.kind} {info.game} {info.title} {' '.join(f'#{tag}' for tag in info.tags)}"
    return text + (f" {' '.join(found.actors)}" if found is not None else "")


def sort_key(row: Row, column: str) -> Any:
    """What orders a column; sessions without figures stand at its lower end."""
    need = {"broken": 5, "odd": 4, "copy": 3, "fine": 2, "waits": 1}.get(row.word, 0)
    if column == "state":
        return (need, len(row.odd), row.name)
    if column == "when":
        return (row.name,)
    if column == "length":
        return (row.info.duration_s if row.info is not None else 0.0, row.name)
    found = row.found
    if found is None:
        return (-1.0, row.name)
    value = {
        "ticks": found.ticks,
        "learnable": found.learnable_ticks,
        "windows": found.windows,
        "idle": found.idle_share,
        "objects": found.detections_per_tick,
        "gaps": found.gap_s,
    }[column]
    return (float(value), row.name)


def cell(row: Row, column: str, room: int, look: Look) -> Text:
    palette, glyphs = look.palette, look.glyphs
    found, info = row.found, row.info
    if column == "state":
        sign, style = {
            "broken": (glyphs.failed, palette.bad),
            "odd": (glyphs.needs, palette.warn),
            "copy": (glyphs.dot, palette.dim),
            "waits": (glyphs.waiting, palette.dim),
            "fine": (glyphs.good, palette.good),
        }.get(row.word, (glyphs.pointer, palette.strong))
        return Text(f"{sign} {row.word}", style)
    if column == "when":
        return Text(when(info)[-room:] if info is not None else row.name, "" if info is not None else palette.strong)
    if column == "remarks":
        return _remark(row, look)
    if found is None:
        known = column == "length" and info is not None and info.duration_s > 0
        return Text(moment(info.duration_s, fine=False) if known and info is not None else glyphs.dot, palette.dim)
    text = {
        "length": moment(found.hours * 3600, fine=False),
        "ticks": f"{found.ticks:,}",
        "learnable": f"{found.learnable_ticks:,}",
        "windows": f"{found.windows:,}",
        "idle": f"{found.idle_share * 100:.0f}%",
        "objects": f"{found.detections_per_tick:.1f}",
        "gaps": f"{found.gaps} ({found.gap_s:.0f} s)" if found.gaps else glyphs.dot,
    }[column]
    return Text(text, palette.strong if info is None else "")


def _remark(row: Row, look: Look) -> Text:
    if row.problem:
        return Text(printable(row.problem), look.palette.bad)
    if row.odd:
        first, *more = row.odd
        return Text(f"{printable(first)}{f' (+{len(more)})' if more else ''}", look.palette.warn)
    if row.found is None:
        return Text("not counted yet", look.palette.dim)
    return Text(printable(row.copy or actors(row.found)), look.palette.dim)


def actors(found: SessionStatistics) -> str:
    """Who played which share of it."""
    return ", ".join(f"{name} {n / max(1, found.ticks):.0%}" for name, n in found.actors.items()) or "nobody"


def histogram(title: str, shares: Mapping[str, int], rows: int, width: int, look: Look) -> list[Text]:
    """Counts as bars of their share, the first ``rows`` of them; what is left out is summed in the last line."""
    palette = look.palette
    whole = sum(shares.values())
    lines = [Text(title, palette.accent, no_wrap=True)]
    if not whole:
        return [*lines, Text("  none", palette.dim)]
    items = list(shares.items())
    if len(items) > rows:
        items = [*items[: rows - 1], (f"{len(items) - rows + 1} more", sum(n for _, n in items[rows - 1 :]))]
    bar = max(4, width - 19 - max(len(f"{n:,}") for _, n in items))
    for name, n in items:
        line = Text.assemble((f"  {name[:10]:<10} ", palette.dim), no_wrap=True)
        line.append_text(share_bar(n / whole, bar, look))
        line.append(f" {n / whole:>4.0%}")
        line.append(f" {n:,}", palette.dim)
        lines.append(cut(line, width, look.glyphs.ellipsis))
    return lines


def details(row: Row, width: int, height: int, look: Look) -> list[Text]:
    """What is to be said of one session, or of all, on so many lines: histograms, facts, what is odd."""
    palette, glyphs = look.palette, look.glyphs
    head = Text.assemble((row.name if row.info is not None else "All that are shown", "bold"), no_wrap=True)
    found = row.found
    if row.problem:
        return [head, *wrapped(Text(f"{glyphs.failed} cannot be read: {printable(row.problem)}", palette.bad), width)]
    if found is None:
        return [head, Text("Not counted yet.", palette.dim)]
    hours = f" ({found.hours:.2f} h)" if found.hours >= 0.05 else ""
    head.append(f"  {printable(found.kind)} of {printable(found.game)}  {moment(found.hours * 3600, fine=False)}{hours}", palette.dim)
    odd = [Text(f"{glyphs.needs} {printable(line)}", palette.warn, no_wrap=True) for line in row.odd]
    odd += [Text(f"{glyphs.dot} {printable(row.copy)}", palette.dim, no_wrap=True)] if row.copy else []
    windows = Text.assemble(("windows ", palette.dim), f"{found.windows:,} = {found.windows_formula}", no_wrap=True)
    wide, facts = width >= 112, _facts(found)
    room = max(2, height - (2 if wide else 3) - min(len(odd), 2 if wide else 1))
    modes = {mode.lower(): found.modes[mode] for mode in MODES if found.modes.get(mode)}
    column = 38 if wide else width // 2 - 1
    left, right = (
        histogram("Modes", modes, room - 1, column, look),
        histogram("Presses in learnable ticks", found.keys, room - 1, column, look),
    )
    if wide:
        block = [Text("Facts", palette.accent, no_wrap=True)]
        block += [Text.assemble((f"  {name:<10}", palette.dim), text, no_wrap=True) for name, text in facts]
        return [head, *beside(beside(left, right, 40), block, 80)[:room], windows, *odd]
    line = Text(", ".join(text if name in ("ticks", "actors") else f"{name} {text}" for name, text in facts[2:]), palette.dim, no_wrap=True)
    return [head, *beside(left, right, width // 2 + 1)[:room], line, windows, *odd]


def _facts(found: SessionStatistics) -> list[tuple[str, str]]:
    return [
        ("ticks", f"{found.ticks:,} ticks"),
        ("learnable", f"{found.learnable_ticks:,}"),
        ("idle", f"{found.idle_share:.0%}"),
        ("objects", f"{found.detections_per_tick:.1f} a tick, none in {found.empty_ticks:,}"),
        ("gaps", f"{found.gaps}, {found.gap_s:.0f} s" if found.gaps else "none"),
        ("actors", printable(actors(found))),
    ]

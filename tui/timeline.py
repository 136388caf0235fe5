"""A session's timeline as rows of characters: pure functions from what ``data.timeline`` reads and a view to text.

A row is one lane (a source of modes, who acts, a key); a column is a stretch of the view's time. What holds over time
is drawn as its word followed by a line, presses as blocks whose height is the share of the column they were down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.labels import ModeStretch
from data.text import printable
from data.vocabulary import MODES, Mode
from tui.moments import moment

if TYPE_CHECKING:
    from data.timeline import Lane, Span, Timeline

I64 = NDArray[np.int64]
Kind = Literal["mode", "actor", "press", "gaps", "interesting", "perturbed", "pictures"]

SHORTEST_NS: Final = 500_000_000
"""A view never shows less time than this."""
_STEPS_S: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
BLOCKS: Final = " ▁▂▃▄▅▆▇█"
ASCII_BLOCKS: Final = " .,:;+*%#"
_SOURCE_NAMES: Final = {"human": "you", "vlm": "coach", "rules": "rules"}


@dataclass(frozen=True, slots=True)
class View:
    """The part of a session from ``start_ns`` to ``end_ns`` that is drawn: ``columns`` from ``left_ns`` on."""

    start_ns: int
    end_ns: int
    left_ns: int
    span_ns: int
    columns: int

    @staticmethod
    def whole(start_ns: int, end_ns: int, columns: int) -> View:
        return View(start_ns, end_ns, start_ns, max(SHORTEST_NS, end_ns - start_ns), max(1, columns))

    def edges(self) -> I64:
        """int64 [columns + 1]: where the columns begin and end."""
        return np.linspace(self.left_ns, self.left_ns + self.span_ns, self.columns + 1).astype(np.int64)

    @property
    def column_ns(self) -> int:
        return max(1, self.span_ns // self.columns)

    def column(self, time_ns: int) -> int:
        """The column a moment falls into; may lie outside the view."""
        return (time_ns - self.left_ns) * self.columns // self.span_ns

    def time_of(self, column: int) -> int:
        """The first moment of a column."""
        return self.clamp(self.left_ns - (-column * self.span_ns // self.columns))

    def clamp(self, time_ns: int) -> int:
        return min(self.end_ns, max(self.start_ns, time_ns))

    def zoomed(self, factor: float, around_ns: int) -> View:
        """``factor`` below 1 comes nearer; the moment ``around_ns`` stays in its column."""
        longest = max(SHORTEST_NS, self.end_ns - self.start_ns)
        span = min(longest, max(SHORTEST_NS, round(self.span_ns * factor)))
        left = around_ns - round((around_ns - self.left_ns) * span / self.span_ns)
        return replace(self, left_ns=left, span_ns=span).within()

    def panned(self, columns: int) -> View:
        return replace(self, left_ns=self.left_ns + columns * self.column_ns).within()

    def showing(self, time_ns: int) -> View:
        """The same view, moved just far enough that ``time_ns`` is seen."""
        column = self.column(time_ns)
        if 0 <= column < self.columns:
            return self
        margin = self.columns // 8
        return self.panned(column - margin if column < 0 else column - self.columns + 1 + margin)

    def within(self) -> View:
        left = max(self.start_ns, min(self.left_ns, self.end_ns - self.span_ns))
        return replace(self, left_ns=left)


@dataclass(frozen=True, slots=True)
class Row:
    """One lane. ``text`` has one character a column; ``codes`` int [columns]: -1 nothing, else what is drawn there (a
    mode's index in MODES for modes). ``starts_ns``: where something of it begins, in order."""

    kind: Kind
    name: str
    text: str
    codes: NDArray[np.int64]
    starts_ns: I64


@dataclass(frozen=True, slots=True)
class Looks:
    """The characters that rows are drawn with."""

    line: str = "─"
    gap: str = "░"
    clicks: str = "╷│┃"
    blocks: str = BLOCKS


ASCII_LOOKS: Final = Looks("-", "x", "'|H", ASCII_BLOCKS)


def rows(timeline: Timeline, view: View, looks: Looks) -> list[Row]:
    """All lanes of the view: modes by source, who acts, what the recording tells, clicks, keys (busiest first), pictures."""
    out = [_modes(timeline.modes, source, view, looks) for source in ("human", "vlm", "rules") if _has(timeline.modes, source)]
    if timeline.actors:
        words = [stretch.name or stretch.actor for stretch in timeline.actors]
        out.append(_stretches("actor", "actor", [(s.start_ns, s.end_ns) for s in timeline.actors], words, view, looks.line))
    told: tuple[tuple[Kind, tuple[Span, ...], str], ...] = (
        ("gaps", timeline.gaps, looks.gap),
        ("interesting", timeline.interesting, looks.line),
        ("perturbed", timeline.perturbed, looks.line),
    )
    for kind, spans, fill in told:
        if spans:
            out.append(_stretches(kind, kind, [(s.start_ns, s.end_ns) for s in spans], [s.reason for s in spans], view, fill))
    out.extend(_clicks(lane, view, looks) for lane in timeline.clicks)
    out.extend(_presses(lane, view, looks) for lane in sorted(timeline.keys, key=lambda lane: (-len(lane), lane.name)))
    if len(timeline.frame_times_ns):
        out.append(_pictures(timeline.frame_times_ns, view, looks))
    return out


def _has(modes: Sequence[ModeStretch], source: str) -> bool:
    """A person's own row is always there: that is where the next label goes."""
    return source == "human" or any(stretch.source == source for stretch in modes)


def _modes(modes: Sequence[ModeStretch], source: str, view: View, looks: Looks) -> Row:
    mine = [stretch for stretch in modes if stretch.source == source]
    row = _stretches("mode", _SOURCE_NAMES[source], [(s.start_ns, s.end_ns) for s in mine], [s.mode for s in mine], view, looks.line)
    order = list(dict.fromkeys(s.mode for s in mine))
    table = np.array([*(MODES.index(mode) for mode in order), -1], np.int64)
    return replace(row, codes=table[row.codes])


def _stretches(kind: Kind, name: str, bounds: Sequence[tuple[int, int]], words: Sequence[str], view: View, fill: str) -> Row:
    """Stretches in order without overlap, each drawn as its word (as much as fits) and a line to its end."""
    texts = list(dict.fromkeys(words))
    if not bounds:
        return Row(kind, name, " " * view.columns, np.full(view.columns, -1), np.zeros(0, np.int64))
    starts, ends = np.array(bounds, np.int64).T
    which = np.array([texts.index(word) for word in words], np.int64)
    edges = view.edges()
    middles = (edges[:-1] + edges[1:]) // 2
    at = np.searchsorted(starts, middles, side="right") - 1
    held = (at >= 0) & (ends[np.maximum(at, 0)] > middles)
    codes = np.where(held, which[np.maximum(at, 0)], -1)
    at = np.where(held, at, -1)
    # What lies between two middles is shown too, where nothing else is.
    column = np.asarray(np.searchsorted(edges, starts, side="right") - 1, np.int64)
    for i in np.flatnonzero((column >= 0) & (column < view.columns)).tolist():
        if codes[column[i]] < 0:
            codes[column[i]], at[column[i]] = which[i], i
    cells = np.where(codes >= 0, fill, " ")
    firsts = np.flatnonzero((codes >= 0) & (np.diff(at, prepend=-1) != 0)).tolist()
    for first, end in zip(firsts, [*firsts[1:], view.columns], strict=True):
        length = min(end, first + int(np.argmax(np.append(codes[first:end] < 0, True)))) - first
        word = printable(texts[int(codes[first])])
        cells[first : first + min(length, len(word))] = list(word[:length])
    return Row(kind, name, "".join(cells.tolist()), codes, starts)


def covered(starts: I64, ends: I64, edges: I64) -> NDArray[np.float64]:
    """float [columns]: the share of each column that the intervals (in order, without overlap) cover."""
    if not len(starts):
        return np.zeros(len(edges) - 1)
    before = np.concatenate([[0], np.cumsum(ends - starts)])
    at = np.searchsorted(starts, edges, side="right")
    total = before[at] - np.maximum(0, ends[np.maximum(at - 1, 0)] - edges) * (at > 0)
    return np.diff(total) / np.maximum(1, np.diff(edges))


def counts(times: I64, edges: I64) -> I64:
    """int64 [columns]: how many of the times (in order) fall into each column."""
    return np.diff(np.searchsorted(times, edges, side="left"))


def _presses(lane: Lane, view: View, looks: Looks) -> Row:
    edges = view.edges()
    share = covered(lane.starts_ns, lane.ends_ns, edges)
    seen = (share > 0) | (counts(lane.starts_ns, edges) > 0)
    height = np.where(seen, np.clip(np.ceil(share * 8), 1, 8), 0).astype(np.int64)
    return Row("press", printable(lane.name), _drawn(height, looks.blocks), np.where(seen, 0, -1), lane.starts_ns)


def _clicks(lane: Lane, view: View, looks: Looks) -> Row:
    number = np.clip(counts(lane.starts_ns, view.edges()), 0, 3)
    name = printable(lane.name.replace("mouse_", "")) + " click"
    return Row("press", name, _drawn(number, f" {looks.clicks}"), np.where(number > 0, 1, -1), lane.starts_ns)


def _pictures(times: I64, view: View, looks: Looks) -> Row:
    """Pictures per column, against the column with the most."""
    number = counts(times, view.edges())
    height = np.where(number > 0, np.clip(np.round(number * 8 / max(1, int(number.max()))), 1, 8), 0).astype(np.int64)
    return Row("pictures", "pictures", _drawn(height, looks.blocks), np.where(number > 0, 0, -1), times)


def _drawn(levels: NDArray[np.int64], characters: str) -> str:
    return "".join(characters[level] for level in levels.tolist())


def ruler(view: View) -> str:
    """Times along the columns, counted from the session's start."""
    cells = [" "] * view.columns
    step_s = next((s for s in _STEPS_S if s * 1e9 >= 12 * view.column_ns), _STEPS_S[-1])
    step_ns = round(step_s * 1e9)
    first = -(-(view.left_ns - view.start_ns) // step_ns)
    last = (view.left_ns + view.span_ns - view.start_ns) // step_ns
    for number in range(first, last + 1):
        column = view.column(view.start_ns + number * step_ns)
        text = "|" + moment(number * step_s, fine=step_s < 1)
        if column >= 0 and column + len(text) <= view.columns:
            cells[column : column + len(text)] = text
    return "".join(cells)


def next_start(starts_ns: I64, from_ns: int, forward: bool) -> int | None:
    """The nearest of the times (in order) after or before a moment."""
    if forward:
        at = int(np.searchsorted(starts_ns, from_ns, side="right"))
        return int(starts_ns[at]) if at < len(starts_ns) else None
    at = int(np.searchsorted(starts_ns, from_ns, side="left")) - 1
    return int(starts_ns[at]) if at >= 0 else None


def with_mode(modes: Iterable[ModeStretch], start_ns: int, end_ns: int, mode: Mode | None) -> tuple[ModeStretch, ...]:
    """The stretches after a person said ``mode`` of one (None: took back what they had said of it)."""
    out: list[ModeStretch] = []
    for one in modes:
        if one.end_ns <= start_ns or one.start_ns >= end_ns or (mode is None and one.source != "human"):
            out.append(one)
            continue
        if one.start_ns < start_ns:
            out.append(replace(one, end_ns=start_ns))
        if one.end_ns > end_ns:
            out.append(replace(one, start_ns=end_ns))
    if mode is not None:
        out.append(ModeStretch(start_ns, end_ns, mode, "human"))
    return tuple(sorted(out, key=lambda stretch: stretch.start_ns))

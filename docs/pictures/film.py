"""Screens of a terminal as a film: an asciinema recording (version 2) and an SVG that moves by itself.

Both are made from the same frames, so that neither holds what was on the screen between them. A row that stands in
several frames is written once.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import escape

FONT: Final = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
FOREGROUND: Final = "d7dde6"
BACKGROUND: Final = "0f131a"
CELL_W: Final = 8.4
CELL_H: Final = 16.4
TOP: Final = 34.0
BOTTOM: Final = 40.0
SIDE: Final = 12.0
HALF: Final = "▀"
DOTS: Final = ("ff5f57", "febc2e", "28c840")
LAST_S: Final = 3.0
"""How long the last frame stays before the film begins anew."""

SIXTEEN: Final[Mapping[str, str]] = {
    "black": "1b2230",
    "red": "ff6b7a",
    "green": "6cc58a",
    "brown": "f0b952",
    "blue": "6cb6ff",
    "magenta": "c297ff",
    "cyan": "5cd0dd",
    "white": "d7dde6",
}


@dataclass(frozen=True, slots=True)
class Style:
    """Colours as six hexadecimal digits."""

    fg: str = FOREGROUND
    bg: str = BACKGROUND
    bold: bool = False
    italic: bool = False
    underline: bool = False

    def sgr(self, before: Style | None = None) -> str:
        """The escape sequence that switches to this style, from ``before`` or from any other."""
        marks = (("1", self.bold), ("3", self.italic), ("4", self.underline))
        anew = before is None or (before.bold, before.italic, before.underline) != (self.bold, self.italic, self.underline)
        old = Style() if before is None or anew else before
        words = ["0", *(word for word, on in marks if on)] if anew else []
        for code, colour, was, plain in (("3", self.fg, old.fg, FOREGROUND), ("4", self.bg, old.bg, BACKGROUND)):
            if colour != was:
                words.append(
                    f"{code}9" if colour == plain else f"{code}8;2;{';'.join(str(int(colour[at : at + 2], 16)) for at in (0, 2, 4))}"
                )
        return f"\x1b[{';'.join(words)}m" if words else ""


def _decimal(colour: str) -> str:
    return ";".join(str(int(colour[at : at + 2], 16)) for at in (0, 2, 4))


Cell = tuple[str, Style]
Row = tuple[tuple[str, Style], ...]
"""Pieces of one style, from left to right; together as wide as the screen."""


@dataclass(frozen=True, slots=True)
class Frame:
    at_s: float
    rows: tuple[Row, ...]
    caption: str


def row_of(cells: Mapping[int, Any], columns: int) -> Row:
    """One row of a ``pyte.Screen``'s buffer."""
    return _row([(cells[x].data, _style(cells[x])) for x in range(columns)])


def _row(cells: Sequence[Cell]) -> Row:
    return tuple(("".join(letter for letter, _ in run), style) for style, run in itertools.groupby(cells, key=lambda cell: cell[1]))


def _cells(row: Row) -> list[Cell]:
    return [(letter, style) for text, style in row for letter in text]


def _style(cell: Any) -> Style:
    fg, bg = _colour(cell.fg, FOREGROUND), _colour(cell.bg, BACKGROUND)
    if cell.data == HALF:  # two pixels of a picture: fewer colours make longer pieces
        fg, bg = _coarse(fg), _coarse(bg)
    return Style(*((bg, fg) if cell.reverse else (fg, bg)), cell.bold, cell.italics, cell.underscore)


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return SIXTEEN.get(name.removeprefix("bright"), name)


def _coarse(colour: str) -> str:
    """One of the sixteen steps that each part of the colour has here; three digits say it."""
    return "".join(2 * colour[at] for at in (0, 2, 4))


def text_of(row: Row) -> str:
    return "".join(text for text, _ in row)


def cast(frames: list[Frame], columns: int, title: str) -> Iterator[str]:
    """The lines of an asciinema file. Each frame rewrites the rows that changed; a new caption is a marker."""
    yield json.dumps({"version": 2, "width": columns, "height": len(frames[0].rows), "title": title, "env": {"TERM": "xterm-256color"}})
    before: tuple[Row, ...] = ()
    caption = ""
    for frame in frames:
        if frame.caption != caption:
            caption = frame.caption
            yield json.dumps([frame.at_s, "m", caption], ensure_ascii=False)
        out = "" if before else "\x1b[?25l\x1b[2J"
        for y, row in enumerate(frame.rows):
            if not before or row != before[y]:
                start, piece = _changed(row, before[y] if before else ())
                out += f"\x1b[{y + 1};{start + 1}H" + _drawn(piece)
        before = frame.rows
        if out:
            yield json.dumps([frame.at_s, "o", out + "\x1b[0m"], ensure_ascii=False)
    yield json.dumps([frames[-1].at_s + LAST_S, "o", "\x1b[?25h"])


def _drawn(row: Row) -> str:
    before = (None, *(style for _, style in row))
    return "".join(style.sgr(old) + text for (text, style), old in zip(row, before, strict=False))


def _changed(row: Row, old: Row) -> tuple[int, Row]:
    """Where the row begins to differ from what was there, and its pieces from there to the last difference."""
    new_cells, old_cells = _cells(row), _cells(old)
    if len(new_cells) != len(old_cells):
        return 0, row
    changed = [x for x, (new, was) in enumerate(zip(new_cells, old_cells, strict=True)) if new != was]
    return changed[0], _row(new_cells[changed[0] : changed[-1] + 1])


def svg(frames: list[Frame], columns: int, title: str) -> str:
    """A strip of all frames that one animation moves past a window. Readers who want no motion see the first frame.

    A single frame is a picture that stands still, without room for a caption.
    """
    shapes, step = _Shapes(), columns * CELL_W + SIDE
    width, height = columns * CELL_W, len(frames[0].rows) * CELL_H
    strip = "\n".join(
        f'<g transform="translate({index * step:g})">'
        + "".join(f'<use href="#{name}" y="{y * CELL_H:g}"/>' for y, row in enumerate(frame.rows) if (name := shapes.row(row)))
        + (f'<text class="c" y="{height + 26:g}">{escape(frame.caption)}</text></g>' if len(frames) > 1 else "</g>")
        for index, frame in enumerate(frames)
    )
    bottom = BOTTOM if len(frames) > 1 else SIDE
    full_w, full_h = width + 2 * SIDE, height + TOP + bottom
    dots = "".join(f'<circle cx="{22 + 20 * i}" cy="17" r="6" fill="#{colour}"/>' for i, colour in enumerate(DOTS))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full_w:g} {full_h:g}" role="img" aria-label="{escape(title)}">
<style>
text{{font:14px {FONT};white-space:pre;fill:#{FOREGROUND}}}
.t,.c{{font-family:system-ui,sans-serif}}.t{{fill:#8592a6;text-anchor:middle}}.c{{font-size:17px;fill:#5cd0dd}}
{shapes.styles()}
{_motion(frames, step) if len(frames) > 1 else ""}
</style>
<rect width="{full_w:g}" height="{full_h:g}" rx="9" fill="#{BACKGROUND}" stroke="#2a3342"/>
{dots}<text class="t" x="{full_w / 2:g}" y="22">{escape(title)}</text>
<defs>
{shapes.definitions()}
</defs>
<svg x="{SIDE:g}" y="{TOP:g}" width="{width:g}" height="{height + bottom:g}"><g id="film">
{strip}
</g></svg>
</svg>
"""


def _motion(frames: list[Frame], step: float) -> str:
    total_s = frames[-1].at_s + LAST_S
    moves = "".join(f"{100 * f.at_s / total_s:.3f}%{{transform:translateX({-i * step:g}px)}}" for i, f in enumerate(frames))
    return (
        f"#film{{animation:film {total_s:g}s steps(1,end) infinite}}\n@keyframes film{{{moves}}}\n"
        "@media (prefers-reduced-motion:reduce){#film{animation:none}}"
    )


class _Shapes:
    """Rows, and the parts of rows between the borders of panes, each drawn once and used by name."""

    def __init__(self) -> None:
        self._names: dict[Row, str] = {}
        self._drawn: list[str] = []
        self._classes: dict[tuple[str, bool, bool, bool], str] = {}

    def definitions(self) -> str:
        return "\n".join(self._drawn)

    def styles(self) -> str:
        return "".join(
            f".{name}{{fill:#{fg}{';font-weight:700' * bold}{';font-style:italic' * italic}{';text-decoration:underline' * underline}}}"
            for (fg, bold, italic, underline), name in self._classes.items()
        )

    def row(self, row: Row) -> str:
        """The name of a row's drawing; empty when nothing is to be seen in it."""
        if not _seen(row):
            return ""
        if row not in self._names:
            cells = _cells(row)
            cuts = [0, *(x + 1 for x, (letter, _) in enumerate(cells) if letter == "│" and 0 < x < len(cells) - 1), len(cells)]
            parts = [(start, _row(cells[start:end])) for start, end in itertools.pairwise(cuts)]
            uses = "".join(f'<use href="#{self._part(part)}" x="{x * CELL_W:.5g}"/>' for x, part in parts if _seen(part))
            self._names[row] = self._keep(uses)
        return self._names[row]

    def _keep(self, shape: str) -> str:
        name = f"p{len(self._drawn)}"
        self._drawn.append(f'<g id="{name}">{shape}</g>')
        return name

    def _part(self, row: Row) -> str:
        """Backgrounds below, then the text. Each piece is held to its width, whatever font the reader has."""
        if row in self._names:
            return self._names[row]
        boxes: dict[str, str] = defaultdict(str)
        texts, x = "", 0
        for text, style in row:
            for piece in re.split(f"({HALF}+)", text):
                shown = piece.strip()
                if piece.startswith(HALF):
                    boxes[style.fg] += _box(x, len(piece), 0, 1)
                    boxes[style.bg] += _box(x, len(piece), 1, 1)
                elif piece and style.bg != BACKGROUND:
                    boxes[style.bg] += _box(x, len(piece), 0, 2)
                if shown and shown[0] != HALF:
                    texts += self._text(x + len(piece) - len(piece.lstrip()), shown, style)
                x += len(piece)
        paths = "".join(f'<path fill="{_short(colour)}" d="{shape}"/>' for colour, shape in boxes.items())
        halves = f'<g transform="scale({CELL_W:g} {CELL_H / 2:g})" shape-rendering="crispEdges">{paths}</g>' if paths else ""
        self._names[row] = self._keep(halves + texts)
        return self._names[row]

    def _text(self, x: int, text: str, style: Style) -> str:
        key = (style.fg, style.bold, style.italic, style.underline)
        plain = key == (FOREGROUND, False, False, False)
        kind = "" if plain else f' class="{self._classes.setdefault(key, f"s{len(self._classes)}")}"'
        return f'<text{kind} x="{x * CELL_W:.5g}" y="12.6" textLength="{len(text) * CELL_W:.5g}">{escape(text)}</text>'


def _box(x: int, cells: int, top: int, halves: int) -> str:
    """A piece of a path, in cells and half rows. Pieces do not overlap: they are drawn by colour, not in order."""
    return f"M{x} {top}h{cells}v{halves}H{x}z"


def _short(colour: str) -> str:
    return f"#{colour[::2]}" if colour[::2] == colour[1::2] else f"#{colour}"


def _seen(row: Row) -> bool:
    return any(text.strip() or style.bg != BACKGROUND for text, style in row)

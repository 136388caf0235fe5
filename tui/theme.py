"""Signs and colours. Every state has a sign and a word beside its colour, so that it can be read without colours.

Good is blue and bad is red, never red against green. ``pick`` decides by the terminal: a terminal with many colours
gets our own theme, one with 16 or none uses its own colours; where the font or the locale cannot show more than
ASCII, the signs and lines are ASCII.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from textual.theme import Theme


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The signs. ``braille`` says whether charts may use braille dots; ``border`` is Textual's border type."""

    recording: str = "●"
    paused: str = "‖"
    learning: str = "◆"
    running: str = "▶"
    off: str = "■"
    needs: str = "!"
    failed: str = "×"
    good: str = "✓"
    waiting: str = "…"
    pointer: str = "▸"
    bar_full: str = "█"
    bar_empty: str = "░"
    blocks: str = "▁▂▃▄▅▆▇█"
    separator: str = "│"
    solid: str = "──"
    dashed: str = "╌╌"
    axis: str = "│┤└─┬"
    ellipsis: str = "…"
    dot: str = "·"
    up: str = "▲"
    down: str = "▼"
    best: str = "◇"
    braille: bool = True
    border: str = "round"


ASCII: Final = Glyphs(
    recording="*",
    paused="=",
    learning="+",
    running=">",
    off="-",
    needs="!",
    failed="x",
    good="ok",
    waiting="..",
    pointer=">",
    bar_full="#",
    bar_empty=".",
    blocks="_.-=*#",
    separator="|",
    solid="--",
    dashed=": ",
    axis="|++-+",
    ellipsis="~",
    dot="-",
    up="^",
    down="v",
    best="@",
    braille=False,
    border="ascii",
)


@dataclass(frozen=True, slots=True)
class Palette:
    """Rich styles by meaning."""

    good: str = "#6cb6ff"
    bad: str = "bold #ff6b7a"
    warn: str = "#f0b952"
    learn: str = "#c297ff"
    accent: str = "#5cd0dd"
    dim: str = "#8592a6"
    strong: str = "bold"
    selected: str = "reverse"
    series: tuple[str, ...] = ("#6cb6ff", "#f0b952", "#c297ff", "#5cd0dd", "#e8e8e8", "#b7935a")
    """The lines of a chart, in this order."""


SIXTEEN: Final = Palette(
    good="bright_blue",
    bad="bold bright_red",
    warn="bright_yellow",
    learn="bright_magenta",
    accent="bright_cyan",
    dim="default",
    series=("bright_blue", "bright_yellow", "bright_magenta", "bright_cyan", "default", "yellow"),
)
"""For terminals with 16 colours: their own, and no grey that could vanish."""


LIGHT: Final = Palette(
    good="#0b57a4",
    bad="bold #a8123a",
    warn="#7a4d00",
    learn="#6a35ab",
    accent="#00636f",
    dim="#565e6b",
    series=("#0b57a4", "#7a4d00", "#6a35ab", "#00636f", "#2f3640", "#8a4b1f"),
)
CONTRAST: Final = Palette(
    good="#8fd0ff",
    bad="bold #ff9aa5",
    warn="#ffd75f",
    learn="#dcbcff",
    accent="#7df0fa",
    dim="#d0d0d0",
    series=("#8fd0ff", "#ffd75f", "#dcbcff", "#7df0fa", "#ffffff", "#f0b890"),
)


@dataclass(frozen=True, slots=True)
class Look:
    theme: str
    glyphs: Glyphs
    palette: Palette


SECONDSEAT: Final = "secondseat"
SECONDSEAT_LIGHT: Final = "secondseat-light"
SECONDSEAT_CONTRAST: Final = "secondseat-contrast"
TERMINAL: Final = "ansi-dark"
TITLES: Final[Mapping[str, str]] = {
    SECONDSEAT: "dark",
    SECONDSEAT_LIGHT: "light",
    SECONDSEAT_CONTRAST: "high contrast",
    TERMINAL: "the terminal's own 16 colours",
}
"""The themes that are ours, with a word for each."""


def palette_of(name: str, dark: bool = True) -> Palette:
    """The styles that can be read on a theme; ``dark`` says what a theme that is not ours is."""
    ours = {SECONDSEAT_LIGHT: LIGHT, SECONDSEAT_CONTRAST: CONTRAST, TERMINAL: SIXTEEN, "ansi-light": SIXTEEN}
    return ours.get(name) or (Palette() if dark else LIGHT)


def pick(environ: Mapping[str, str], encoding: str = "utf-8") -> Look:
    """The look for a terminal described by its environment and the locale's encoding."""
    term = environ.get("TERM", "")
    utf8 = encoding.lower().replace("-", "").replace("_", "") == "utf8"
    plain_font = term in {"linux", "vt100", "vt102", "vt220", "ansi"} or not utf8
    many = ("256color" in term or environ.get("COLORTERM", "") in {"truecolor", "24bit"} or "kitty" in term) and "NO_COLOR" not in environ
    glyphs = ASCII if plain_font else Glyphs()
    name = SECONDSEAT if many else TERMINAL
    return Look(name, glyphs, palette_of(name))


def locale_encoding(environ: Mapping[str, str]) -> str:
    """The encoding that the locale names; "ascii" for C and POSIX, UTF-8 when nothing is said.

    For a locale that is not installed Python itself sets LC_CTYPE to a UTF-8 one, which says nothing of the terminal:
    then LANG is believed.
    """
    named = environ.get("LC_ALL") or environ.get("LC_CTYPE") or ""
    if not environ.get("LC_ALL") and named in {"", "C.UTF-8", "C.utf8", "UTF-8"}:
        named = environ.get("LANG") or named
    if "." in named:
        return named.split(".", 1)[1].split("@", 1)[0]
    return "ascii" if named in {"C", "POSIX"} else "utf-8"


def own_themes() -> list[Theme]:
    """Secondseat's own themes: dark, light, high contrast."""
    from textual.theme import Theme

    return [
        Theme(
            name=SECONDSEAT,
            dark=True,
            primary="#6cb6ff",
            secondary="#5cd0dd",
            accent="#c297ff",
            warning="#f0b952",
            error="#ff6b7a",
            success="#6cb6ff",
            foreground="#d6dde8",
            background="#0e131a",
            surface="#131a23",
            panel="#1b2430",
            boost="#1b2430",
            variables={"border": "#3b4a5e", "block-cursor-foreground": "#0e131a", "block-cursor-background": "#6cb6ff"},
        ),
        Theme(
            name=SECONDSEAT_LIGHT,
            dark=False,
            primary="#0b57a4",
            secondary="#00636f",
            accent="#6a35ab",
            warning="#7a4d00",
            error="#a8123a",
            success="#0b57a4",
            foreground="#1f2630",
            background="#fbfaf7",
            surface="#f3f1ec",
            panel="#e7e4dc",
            boost="#e7e4dc",
            variables={"border": "#9aa3b0", "block-cursor-foreground": "#fbfaf7", "block-cursor-background": "#0b57a4"},
        ),
        Theme(
            name=SECONDSEAT_CONTRAST,
            dark=True,
            primary="#8fd0ff",
            secondary="#7df0fa",
            accent="#dcbcff",
            warning="#ffd75f",
            error="#ff9aa5",
            success="#8fd0ff",
            foreground="#ffffff",
            background="#000000",
            surface="#000000",
            panel="#1a1a1a",
            boost="#1a1a1a",
            variables={"border": "#ffffff", "block-cursor-foreground": "#000000", "block-cursor-background": "#ffffff"},
        ),
    ]

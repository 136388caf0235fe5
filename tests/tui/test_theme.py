import pytest
from textual.theme import Theme

from tui import theme


@pytest.mark.parametrize(
    ("environ", "encoding"),
    [
        ({}, "utf-8"),
        ({"LANG": "de_DE.UTF-8"}, "UTF-8"),
        ({"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, "ascii"),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "en_US.ISO-8859-1"}, "ISO-8859-1"),
        ({"LC_CTYPE": "C.UTF-8"}, "UTF-8"),
        ({"LANG": "ja_JP.eucJP@x"}, "eucJP"),
    ],
)
def test_the_locale_names_the_encoding(environ: dict[str, str], encoding: str) -> None:
    assert theme.locale_encoding(environ) == encoding


@pytest.mark.parametrize(
    ("environ", "encoding", "own", "braille"),
    [
        ({"TERM": "xterm-256color"}, "utf-8", True, True),
        ({"TERM": "xterm-256color"}, "iso-8859-1", True, False),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "utf-8", True, True),
        ({"TERM": "xterm"}, "utf-8", False, True),
        ({"TERM": "linux"}, "utf-8", False, False),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "utf-8", False, True),
    ],
)
def test_the_terminal_decides_the_look(environ: dict[str, str], encoding: str, own: bool, braille: bool) -> None:
    look = theme.pick(environ, encoding)
    assert (look.theme == theme.SECONDSEAT, look.glyphs.braille) == (own, braille)


def test_ascii_signs_are_ascii_and_tell_states_apart() -> None:
    glyphs = theme.ASCII
    values = [getattr(glyphs, name) for name in theme.Glyphs.__dataclass_fields__ if isinstance(getattr(glyphs, name), str)]
    assert all(value.isascii() for value in values)
    assert len({glyphs.recording, glyphs.paused, glyphs.running, glyphs.off, glyphs.needs, glyphs.failed, glyphs.good}) == 7


def luminance(colour: str) -> float:
    parts = [int(colour.lstrip("#")[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("own", theme.own_themes(), ids=lambda own: own.name)
def test_every_word_can_be_read_on_its_theme(own: Theme) -> None:
    """WCAG: 4.5 for text, 7 where contrast is what the theme is for; and good is never told from bad by red and green."""
    palette = theme.palette_of(own.name)
    least = 7.0 if own.name == theme.SECONDSEAT_CONTRAST else 4.5
    words = [palette.good, palette.bad, palette.warn, palette.learn, palette.accent, palette.dim, *palette.series, own.foreground]
    for background in (own.background, own.surface, own.panel):
        for word in words:
            assert contrast(word.split()[-1], background) >= least, (word, background)
    good, bad = palette.good.lstrip("#"), palette.bad.split()[-1].lstrip("#")
    assert int(good[4:6], 16) > int(good[2:4], 16) - 40
    assert int(good[4:6], 16) > int(good[0:2], 16)
    assert int(bad[0:2], 16) > int(bad[4:6], 16)

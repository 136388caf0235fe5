import pytest

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

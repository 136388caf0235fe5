"""Text from elsewhere: what of it reaches a terminal, and what is kept."""

from __future__ import annotations

import pytest

from data.text import printable, printable_lines, text_refusal


@pytest.mark.parametrize("text", ["\x1b[2J", "a\x07", "a\rb", "\x9b31m", "\u202eabc", "a\nb", "\udcff", "\x00"])
def test_nothing_that_steers_a_terminal_is_left_in_a_line(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)


def test_what_can_be_read_stays_as_it_is() -> None:
    assert printable("Spiel – ほし 🚀") == "Spiel – ほし 🚀"
    assert printable_lines("one\ntwo\x1b[1m\n") == "one\ntwo [1m\n"


@pytest.mark.parametrize("text", ["", "Zwei\nZeilen 🎮\tund\r\nmehr", "👩‍🚀 \u00a0"])
def test_words_of_a_person_are_kept(text: str) -> None:
    assert text_refusal(text) == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\x1b[31m", "it has a control character ('\\x1b'); leave it out"),
        ("a\rb", "it has a control character ('\\r'); leave it out"),
        ("\x85", "it has a control character ('\\x85'); leave it out"),
        ("a\udcff", "it is no UTF-8 text ('\\udcff'); type it anew"),
    ],
)
def test_what_is_no_text_is_refused(text: str, told: str) -> None:
    assert text_refusal(text) == told

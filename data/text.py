"""Text from elsewhere: as it may be shown on a terminal, and whether it can be kept."""

from __future__ import annotations

from unicodedata import category


def printable(text: str) -> str:
    """One line without control characters: a text from elsewhere must not steer the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def printable_lines(text: str) -> str:
    """The same of a text that may have several lines."""
    return "\n".join(printable(line) for line in text.split("\n"))


def text_refusal(text: str) -> str:
    """Why a text of one or more lines cannot be kept; empty when it can."""
    for letter in text.replace("\r\n", "\n"):
        if category(letter) == "Cs":  # what the command line makes of bytes that are no UTF-8
            return f"it is no UTF-8 text ({letter!r}); type it anew"
        if category(letter) == "Cc" and letter not in "\n\t":
            return f"it has a control character ({letter!r}); leave it out"
    return ""

"""A question over the screen that is answered by one letter; what each letter does stands beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.app import SecondseatApp


def ask(
    app: SecondseatApp, title: str, lines: list[str], answers: list[tuple[str, str]], commands: Mapping[str, Callable[[], None]]
) -> None:
    """Ask unless a question is open already. ``answers``: letter and words; escape does nothing."""
    from tui.screens.dialogs import AskLetter

    def answered(letter: str | None) -> None:
        if letter:
            commands[letter]()

    if not isinstance(app.screen, AskLetter):
        app.push_screen(AskLetter(title, lines, answers), answered)

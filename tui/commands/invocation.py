"""What every command shares: the global options, the settings they lead to, and printing.

Imported at start-up: nothing heavy at the top.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from data.text import printable, printable_lines

if TYPE_CHECKING:
    import typer

    from data.settings import Settings
    from data.workspace import Workspace


class UsageError(Exception):
    """The command line itself is wrong; the exit status is 2."""


class Invocation(NamedTuple):
    """The options that stand before, between or behind any command's own."""

    config: str = ""
    overrides: tuple[str, ...] = ()
    workspace: str = ""
    debug: bool = False

    def settings(self) -> Settings:
        """The settings in force; a wrong value is an error, an unknown key a line on stderr.

        Raises SettingsError.
        """
        settings, notices = self.load(strict=True)
        for notice in notices:
            say_notice(notice)
        return settings

    def load(self, *, strict: bool) -> tuple[Settings, tuple[str, ...]]:
        """The settings and what is to be said of them (see ``data.settings_io.load_settings``)."""
        from pathlib import Path

        from data.settings_io import load_settings

        return load_settings(Path(self.config) if self.config else None, self.all_overrides(), strict=strict)

    def words(self) -> list[str]:
        """The same options as words of a command line, for a child of ours."""
        words = [
            word for option, value in (("--config", self.config), ("--workspace", self.workspace)) if value for word in (option, value)
        ]
        words += [word for value in self.overrides for word in ("--set", value)]
        return [*words, *(["--debug"] if self.debug else [])]

    def all_overrides(self) -> tuple[str, ...]:
        """``--set`` and ``--workspace`` in one; a relative workspace is meant from the present folder."""
        if not self.workspace:
            return self.overrides
        return (*self.overrides, f"paths.workspace={os.path.abspath(os.path.expanduser(self.workspace))}")


def invocation_of(context: typer.Context) -> Invocation:
    """The global options of the running command."""
    found = context.find_root().obj
    return found if isinstance(found, Invocation) else Invocation()


def settings_of(context: typer.Context) -> Settings:
    return invocation_of(context).settings()


def workspace_of(context: typer.Context) -> Workspace:
    return settings_of(context).workspace()


def new_app(help_text: str) -> typer.Typer:
    """A Typer app as all our commands are: plain text, no completion, errors left to ``tui.cli``."""
    import typer

    return typer.Typer(
        help=help_text,
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def say(text: str) -> None:
    """One or more lines on stdout. Like the other two it lets no control character through: names and words come from files too."""
    print(printable_lines(text))


def say_json(value: Any) -> None:
    """One JSON value, in ASCII, so that every terminal and pipe takes it."""
    import json

    print(json.dumps(value, indent=2, default=str))


def say_error(text: str) -> None:
    print(f"secondseat: {printable_lines(text)}", file=sys.stderr)


def say_notice(text: str) -> None:
    print(f"note: {printable_lines(text)}", file=sys.stderr)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Plain columns, numbers to the right; each row is one line, whatever its cells hold."""
    headings = [printable(heading) for heading in headings]
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    rights = [bool(cells) and all(_is_number(row[column]) for row in cells) for column in range(len(headings))]
    widths = [max(len(row[column]) for row in [headings, *cells]) for column in range(len(headings))]

    def line(row: Sequence[str]) -> str:
        shown = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in zip(row, widths, rights, strict=True))
        return "  ".join(shown).rstrip()

    return "\n".join([line(headings), *(line(row) for row in cells)])


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).replace(",", "").isdigit() or text in {"", "-"}


def duration_s(text: str) -> float:
    """Seconds of ``90``, ``90s``, ``1.5m``, ``2h`` or ``1:30``. Raises UsageError."""
    factors = {"s": 1.0, "m": 60.0, "h": 3600.0}
    given = text.strip().lower()
    try:
        if ":" in given:
            value = 0.0
            for part in given.split(":"):
                value = value * 60 + float(part)
        else:
            factor = factors.get(given[-1:], 0.0)
            value = float(given[:-1]) * factor if factor else float(given)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a time; write it as 90s, 1.5m, 2h or 1:30") from error
    if not 0 < value <= 7 * 24 * 3600:
        raise UsageError(f"{text!r} is not a time; use more than 0 s and at most 7 days")
    return value


def shown_duration(seconds: float) -> str:
    """``0:12``, ``12:41``, ``1:02:03``, as the face shows it."""
    from tui.moments import moment

    return moment(seconds, fine=False)


def shown_bytes(count: float) -> str:
    """``512 B``, ``1.2 MB``"""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"

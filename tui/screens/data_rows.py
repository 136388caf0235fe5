"""The sessions as rows: their columns, in which order, and each cell as text. Pure: no widget, no disk."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from data.text import printable
from tui.moments import moment
from tui.panes.base import size
from tui.screens.table import Column
from tui.theme import Look

if TYPE_CHECKING:
    from data.catalog import SessionInfo

COLUMNS: Final = (
    Column("state", 11, words="what needs you first"),
    Column("when", 16, narrow=11, words="newest first"),
    Column("length", 8, right=True, narrow=7, words="longest first"),
    Column("size", 8, right=True, narrow=7, words="largest first"),
    Column("labels", 8, right=True, narrow=6, words="most labels first"),
    Column("kind", 7, from_width=100),
    Column("game", 12, from_width=110),
    Column("pictures", 9, from_width=130, right=True),
    Column("events", 9, from_width=140, right=True),
    Column("title", 0, words="by title and tags", down=False),
    Column("id", 32, from_width=160),
)
ORDERS: Final = tuple(column for name in ("when", "length", "size", "labels", "state", "title") for column in COLUMNS if column.id == name)
"""The columns that order the list, in the order in which a key goes through them."""
_NEED: Final = {"corrupt": 5, "unsaved": 4, "recording": 3, "recovered": 2, "saved": 1}


def sort_key(session: SessionInfo, column: str) -> Any:
    """What the list is ordered by."""
    match column:
        case "title":
            return (not session.title, session.title.casefold(), session.tags, session.id)
        case "state":
            return _NEED.get(session.state, 0) + 10 * bool(session.reason)
        case "length":
            return session.duration_s
        case "size":
            return session.size_bytes
        case "labels":
            return session.labels
        case _:
            return session.id


def haystack(session: SessionInfo) -> str:
    """What the filter looks through."""
    tags = " ".join(f"#{tag}" for tag in session.tags)
    labelled = "labelled" if session.labels else "unlabelled"
    return f"{session.id} {session.kind} {session.game} {word_of(session)} {session.title} {tags} {session.note} {labelled}".casefold()


def word_of(session: SessionInfo) -> str:
    """Its state in a word."""
    if session.live:
        return "recording"
    return {"corrupt": "broken", "recording": "cut off"}.get(session.state, session.state)


def sign_of(session: SessionInfo, look: Look) -> tuple[str, str]:
    """The sign and the style of its state."""
    glyphs, palette = look.glyphs, look.palette
    if session.live:
        return glyphs.recording, palette.bad
    return {
        "unsaved": (glyphs.needs, palette.warn),
        "recording": (glyphs.needs, palette.warn),
        "recovered": (glyphs.good, palette.warn),
        "saved": (glyphs.good, palette.good),
    }.get(session.state, (glyphs.failed, palette.bad))


def when(session: SessionInfo) -> str:
    """When it began, in this machine's time, by what it says or else by its name; empty when neither tells."""
    for text, form in ((session.started_at, ""), (session.id[:15], "%Y%m%dT%H%M%S")):
        try:
            begun = datetime.strptime(text, form).replace(tzinfo=UTC) if form else datetime.fromisoformat(text)
            return time.strftime("%Y-%m-%d %H:%M", time.localtime(begun.timestamp()))
        except ValueError:
            continue
    return ""


def reason_of(session: SessionInfo) -> str:
    """Why it needs a look, without its own name and the command line's advice."""
    return printable(session.reason).removeprefix(f"{session.id}/").replace("; run 'secondseat sessions recover'", "")


def title_of(session: SessionInfo, look: Look) -> Text:
    """Title and tags; why it is broken; else its id."""
    palette = look.palette
    if session.reason and session.state == "corrupt":
        return Text(reason_of(session), palette.bad)
    text = Text(printable(session.title) or session.id, "" if session.title else palette.dim)
    for tag in session.tags:
        text.append(f" #{tag}", palette.accent)
    return text


def cell(session: SessionInfo, column: str, room: int, look: Look) -> Text:
    """What stands in a column of ``room`` cells."""
    palette, dot = look.palette, look.glyphs.dot
    match column:
        case "state":
            sign, style = sign_of(session, look)
            return Text(f"{sign} {word_of(session)}", style)
        case "when":
            return Text(when(session)[-room:])
        case "length":
            return Text(moment(session.duration_s, fine=False) if session.frames or session.duration_s else dot)
        case "labels":
            return Text(f"{session.labels:,}" if session.labels else dot, "" if session.labels else palette.dim)
        case "title":
            return title_of(session, look)
        case "size":
            return Text(size(session.size_bytes), palette.dim)
        case "pictures" | "events":
            return Text(f"{session.frames if column == 'pictures' else session.events:,}", palette.dim)
        case "game":
            return Text(printable(session.game), palette.dim)
        case _:
            return Text(session.kind if column == "kind" else session.id, palette.dim)

"""The sessions as rows: which are shown, in which order, and one row as text. Pure: no widget, no disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from tui.moments import moment
from tui.panes.base import cut, size
from tui.panes.log import printable
from tui.theme import Look

if TYPE_CHECKING:
    from data.catalog import SessionInfo

Key = Callable[["SessionInfo"], Any]


@dataclass(frozen=True, slots=True)
class Order:
    """``column`` is the id of the column it belongs to; ``down``: the largest first, when not reversed."""

    column: str
    words: str
    key: Key
    down: bool = True


ORDERS: Final = (
    Order("when", "newest first", lambda s: s.id),
    Order("length", "longest first", lambda s: s.duration_s),
    Order("size", "largest first", lambda s: s.size_bytes),
    Order("labels", "most labels first", lambda s: s.labels),
    Order("state", "what needs you first", lambda s: _NEED.get(s.state, 0) + 10 * bool(s.reason)),
    Order("title", "by title and tags", lambda s: (not s.title, s.title.casefold(), s.tags, s.id), down=False),
)
_NEED: Final = {"corrupt": 5, "unsaved": 4, "recording": 3, "recovered": 2, "saved": 1}


@dataclass(frozen=True, slots=True)
class Column:
    """A column is shown when the list is at least ``from_width`` wide; below ``WIDE`` it is ``narrow`` wide. The one
    without a width takes what is left."""

    id: str
    width: int
    from_width: int = 0
    right: bool = False
    narrow: int = 0


COLUMNS: Final = (
    Column("state", 11),
    Column("when", 16, narrow=11),
    Column("length", 8, right=True, narrow=7),
    Column("size", 8, right=True, narrow=7),
    Column("labels", 8, right=True, narrow=6),
    Column("kind", 7, 100),
    Column("game", 12, 110),
    Column("pictures", 9, 130, right=True),
    Column("events", 9, 140, right=True),
    Column("title", 0),
    Column("id", 32, 160),
)
MARK_WIDTH: Final = 2
WIDE: Final = 100


def shown_columns(width: int) -> list[tuple[Column, int]]:
    """The columns for a list of this width, with their widths."""
    columns = [column for column in COLUMNS if width >= column.from_width]
    rooms = [column.narrow if column.narrow and width < WIDE else column.width for column in columns]
    rest = width - MARK_WIDTH - sum(room + 1 for room in rooms) + 1
    return [(column, room or max(8, rest)) for column, room in zip(columns, rooms, strict=True)]


def chosen(sessions: Sequence[SessionInfo], haystacks: Sequence[str], words: str, order: Order, reverse: bool) -> list[SessionInfo]:
    """The sessions whose text holds all ``words`` (and none that begins with a minus), in order."""
    wanted = [word for word in words.casefold().split() if word != "-"]
    without = [word[1:] for word in wanted if word.startswith("-")]
    wanted = [word for word in wanted if not word.startswith("-")]
    found = [
        session
        for session, text in zip(sessions, haystacks, strict=True)
        if all(word in text for word in wanted) and not any(word in text for word in without)
    ]
    return sorted(found, key=order.key, reverse=order.down != reverse)


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


def header(width: int, order: Order, reverse: bool, look: Look) -> Text:
    """The columns' names; the one that orders carries an arrow."""
    down = order.down != reverse
    line = Text(" " * MARK_WIDTH, look.palette.dim, no_wrap=True)
    for column, room in shown_columns(width):
        name = column.id + (f" {look.glyphs.down if down else look.glyphs.up}" if column.id == order.column else "")
        line.append(name.rjust(room) if column.right else name.ljust(room), look.palette.accent if column.id == order.column else "")
        line.append(" ")
    return cut(line, width, "")


def column_at(x: int, width: int) -> str:
    """The id of the column at a cell of the header; empty beside all of them."""
    at = MARK_WIDTH
    for column, room in shown_columns(width):
        if at <= x < at + room:
            return column.id
        at += room + 1
    return ""


def row(session: SessionInfo, marked: bool, width: int, look: Look) -> Text:
    """One session as a line of ``width`` cells."""
    glyphs, palette = look.glyphs, look.palette
    sign, style = sign_of(session, look)
    line = Text(("*" if marked else " ").ljust(MARK_WIDTH), no_wrap=True)
    for column, room in shown_columns(width):
        part = {
            "state": lambda: Text(f"{sign} {word_of(session)}", style),
            "when": lambda room=room: Text(when(session)[-room:]),
            "length": lambda: Text(moment(session.duration_s, fine=False) if session.frames or session.duration_s else glyphs.dot),
            "size": lambda: Text(size(session.size_bytes), palette.dim),
            "labels": lambda: Text(f"{session.labels:,}" if session.labels else glyphs.dot, "" if session.labels else palette.dim),
            "kind": lambda: Text(session.kind, palette.dim),
            "game": lambda: Text(printable(session.game), palette.dim),
            "pictures": lambda: Text(f"{session.frames:,}", palette.dim),
            "events": lambda: Text(f"{session.events:,}", palette.dim),
            "title": lambda: title_of(session, look),
            "id": lambda: Text(session.id, palette.dim),
        }[column.id]()
        cut(part, room, glyphs.ellipsis)
        pad = " " * (room - part.cell_len)
        line.append_text(Text.assemble(pad, part) if column.right else Text.assemble(part, pad))
        line.append(" ")
    return cut(line, width, "")

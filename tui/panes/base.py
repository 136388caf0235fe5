"""The base of all panes: lines of text that are redrawn only where they changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from rich.text import Text
from textual.geometry import Region
from textual.message_pump import MessagePump
from textual.strip import Strip
from textual.widget import Widget

from engine.state import EngineState

if TYPE_CHECKING:
    from tui.app import SecondseatApp
    from tui.theme import Look


def face_of(node: MessagePump) -> SecondseatApp:
    """The app that a widget or screen belongs to, as what it is."""
    return cast("SecondseatApp", node.app)  # pyright: ignore[reportUnknownMemberType]  # Textual's App is generic


class LinesPane(Widget):
    """A widget that shows ``lines`` (rich Text), one per row. ``show`` is called by the app's timer while the pane is
    visible; ``set_lines`` refreshes just the rows that differ."""

    def __init__(self, id: str, title: str = "", keys: str = "") -> None:  # Textual's own name
        super().__init__(id=id)
        self.lines: tuple[Text, ...] = ()
        self.border_title = title
        self.border_subtitle = keys

    @property
    def face(self) -> SecondseatApp:
        return face_of(self)

    @property
    def look(self) -> Look:
        return self.face.look

    def show(self, state: EngineState) -> None:
        """Bring the pane up to date. The default shows nothing new."""

    def set_lines(self, lines: list[Text]) -> None:
        new = tuple(lines)
        old = self.lines
        if new == old:
            return
        self.lines = new
        width = self.size.width
        changed = [y for y in range(max(len(new), len(old))) if y >= len(new) or y >= len(old) or not same(new[y], old[y])]
        if width and changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def on_resize(self) -> None:
        self.show(self.face.newest)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        style = self.rich_style
        if y >= len(self.lines):
            return Strip.blank(width, style)
        text = self.lines[y]
        segments = list(Segment.apply_style(text.render(self.face.console, end=""), style))
        return Strip(segments).adjust_cell_length(width, style)

    def hotspot(self, action_id: str) -> str:
        """A style that runs an action when it is clicked."""
        return f"@click=app.act('{action_id}')"


def same(a: Text, b: Text) -> bool:
    """Whether two lines look the same (rich compares only text and spans)."""
    return a.plain == b.plain and a.spans == b.spans and a.style == b.style


def pairs(rows: list[tuple[str, Text | str]], width: int, dim: str) -> list[Text]:
    """Name and value on each line, the names dim and in one column."""
    column = max((len(name) for name, _ in rows), default=0) + 1
    out: list[Text] = []
    for name, value in rows:
        line = Text(name.ljust(column), style="", no_wrap=True)
        line.stylize(dim)
        line.append_text(value if isinstance(value, Text) else Text(value))
        line.truncate(max(1, width), overflow="ellipsis")
        out.append(line)
    return out


def clock(seconds: float) -> str:
    """00:12:41."""
    whole = max(0, int(seconds))
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def size(count: float) -> str:
    """Bytes as a person reads them: 412 MB, 1.2 GB."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.0f} {unit}" if count >= 100 * scale else f"{count / scale:.1f} {unit}"
    return f"{count:.0f} B"


def bar(share: float, width: int, full: str, empty: str) -> str:
    filled = round(max(0.0, min(1.0, share)) * width)
    return full * filled + empty * (width - filled)

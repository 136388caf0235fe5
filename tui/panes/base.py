"""The base of all panes: lines of text that are redrawn only where they changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from rich.markup import escape
from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.geometry import Region
from textual.message_pump import MessagePump
from textual.strip import Strip
from textual.widget import Widget

from engine.state import EngineState
from tui.registry import Scope

if TYPE_CHECKING:
    from tui.app import SecondseatApp
    from tui.theme import Look


def face_of(node: MessagePump) -> SecondseatApp:
    """The app that a widget or screen belongs to, as what it is."""
    return cast("SecondseatApp", node.app)  # pyright: ignore[reportUnknownMemberType]  # Textual's App is generic


class LinesPane(Widget):
    """A widget that shows ``lines`` (rich Text), one per row. ``show`` is called by the app's timer while the pane is
    visible; ``set_lines`` refreshes just the rows that differ."""

    scope: ClassVar[Scope] = "app"
    """Whose keys stand on the lower border, and in the footer while the pane has focus."""

    def __init__(self, id: str, title: str = "", keys: str = "") -> None:  # Textual's own name
        super().__init__(id=id)
        self.lines: tuple[Text, ...] = ()
        self._keys_text = keys
        self.border_title = title

    @property
    def face(self) -> SecondseatApp:
        return face_of(self)

    @property
    def look(self) -> Look:
        return self.face.look

    def key(self, action_id: str) -> str:
        """The first key of an action as it is mapped now, or its title where it has none."""
        action = self.face.registry[action_id]
        return action.first_key() or action.title

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

    def set_title(self, title: str) -> None:
        """The upper border's text, as it is: nothing in it is markup."""
        self.border_title = escape(title)

    def run_own_key(self, event: events.Key) -> bool:
        """Run the action of this pane's scope that the key belongs to; False when there is none or it steps aside.

        For ``on_key`` of panes that also move by keys: a binding would run later, after arrows that were pressed after it
        and came in the same packet.
        """
        for action in self.face.registry.in_scope(self.scope):
            if event.key in action.keys and (own := getattr(self, f"do_{action.id}", None)) is not None:
                try:
                    own()
                except SkipAction:
                    return False
                event.stop()
                return True
        return False

    def key_words(self) -> list[tuple[str, str]]:
        """Keys and words for the lower border, the most useful first."""
        return self.face.registry.key_words(self.scope) if self.scope != "app" else []

    def update_keys(self) -> None:
        """Write the keys onto the lower border; what does not fit is left out."""
        room = self.size.width - 2
        groups = self._keys_text.split("  ") if self._keys_text else [f"{key} {word}" for key, word in self.key_words()]
        while groups and len("  ".join(groups)) > room:
            groups.pop()
        self.border_subtitle = escape("  ".join(groups))

    def on_resize(self) -> None:
        self.update_keys()
        self.show(self.face.newest)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        style = self.rich_style
        if y >= len(self.lines):
            return Strip.blank(width, style)
        text = self.lines[y]
        console = self.face.console
        # Rich leaves a text's own style out when it has no spans.
        whole = style + console.get_style(text.style) if text.style else style
        segments = list(Segment.apply_style(text.render(console, end=""), whole))
        return Strip(segments).adjust_cell_length(width, style)

    def hotspot(self, action_id: str) -> str:
        """A style that runs an action when it is clicked."""
        return f"@click=app.act('{action_id}')"


def cut(line: Text, width: int, mark: str) -> Text:
    """Shorten a line to ``width`` cells in place, with a mark at its end where something is missing."""
    if line.cell_len > width > 0:
        line.truncate(max(0, width - len(mark)))
        line.append(mark)
    return line


def highlighted(line: Text, width: int, style: str) -> Text:
    """The line in one style over the whole width."""
    return Text(line.plain + " " * max(0, width - line.cell_len), style, no_wrap=True)


def same(a: Text, b: Text) -> bool:
    """Whether two lines look the same (rich compares only text and spans)."""
    return a.plain == b.plain and a.spans == b.spans and a.style == b.style


def pairs(rows: list[tuple[str, Text | str]], width: int, look: Look, most: int = 2) -> list[Text]:
    """Name and value on each line, the names dim and in one column. A long value goes on below, on ``most`` lines in all."""
    column = max((len(name) for name, _ in rows), default=0) + 1
    room = max(8, width - column)
    out: list[Text] = []
    for name, value in rows:
        text = value if isinstance(value, Text) else Text(value)
        parts = wrapped(text, room)
        if len(parts) > most:
            rest = text[sum(len(part.plain) + 1 for part in parts[: most - 1]) :]
            parts = [*parts[: most - 1], cut(rest, room, look.glyphs.ellipsis)]
        for i, part in enumerate(parts or [Text()]):
            line = Text((name if i == 0 else "").ljust(column), no_wrap=True)
            line.stylize(look.palette.dim)
            line.append_text(part)
            out.append(cut(line, width, look.glyphs.ellipsis))
    return out


def wrapped(text: Text, width: int) -> list[Text]:
    """The text on lines of at most ``width`` cells, broken between words. Its own spacing stays within a line."""
    if text.cell_len <= width or width < 2:
        return [text]
    plain, lines, start = text.plain, list[Text](), 0
    while len(plain) - start > width:
        at = plain.rfind(" ", start, start + width + 1)
        end = at if at > start else start + width
        lines.append(text[start:end])
        start = end + 1 if at > start else end
        while plain[start : start + 1] == " ":
            start += 1
    lines.append(text[start:])
    return lines


def clock(seconds: float) -> str:
    """00:12:41."""
    whole = max(0, int(seconds))
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def brief(seconds: float) -> str:
    """A time left: 40s, 2m, 1.5h."""
    if seconds < 60:
        return f"{max(0, seconds):.0f}s"
    return f"{seconds / 60:.0f}m" if seconds < 3600 else f"{seconds / 3600:.1f}h"


def size(count: float) -> str:
    """Bytes as a person reads them: 412 MB, 1.2 GB."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.0f} {unit}" if count >= 100 * scale else f"{count / scale:.1f} {unit}"
    return f"{count:.0f} B"


def bar(share: float, width: int, full: str, empty: str) -> str:
    filled = round(max(0.0, min(1.0, share)) * width)
    return full * filled + empty * (width - filled)

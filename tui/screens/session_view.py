"""A session's facts, picture and timeline in one pane, with a cursor, a view and a selected stretch.

``tui.screens.session`` adds what the keys do.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.text import Text
from textual import events

from engine.state import EngineState
from tui import timeline as lanes
from tui.halfblock import depth_of
from tui.panes.base import LinesPane, cut
from tui.pump import one_line
from tui.screens import session_deeds, session_parts
from tui.screens.session_parts import MODE_ACTIONS, NAME_WIDTH, Loaded
from tui.screens.session_pictures import Pictures, Wish

LEAST_FACTS: Final = 42
"""Cells of the facts beside the picture."""
LEAST_TOP: Final = 7
"""Lines of facts and picture above the timeline."""
MOST_TOP: Final = 22
ZOOM: Final = 0.5
LIVE_S: Final = 3.0
"""How often a session that is being recorded is read anew, at most."""
READING_SHARE: Final = 0.1
"""Reading it takes no more than this share of the time."""


def load(folder: Path) -> Loaded:
    """Read a session for its page. Raises SessionError, OSError."""
    from data.catalog import describe
    from data.metadata import read_metadata
    from data.timeline import read_timeline

    return Loaded(describe(folder), read_metadata(folder), read_timeline(folder))


class TimelinePane(LinesPane):
    can_focus = True
    scope = "session"

    def __init__(self, folder: Path) -> None:
        super().__init__("session", folder.name)
        self.folder = folder
        self.loaded: Loaded | None = None
        self.view: lanes.View | None = None
        self.cursor_ns = 0
        self.stretch: tuple[int, int] | None = None
        self.row = 0
        self.anchor_ns: int | None = None
        self.rows: list[lanes.Row] = []
        self._rows_of: tuple[object, ...] = ()
        self._top_row = 0
        self._problem = ""
        self._drawn: tuple[object, ...] = ()
        self._pictures: Pictures | None = None
        self._picture: list[Text] = []
        self._picture_of: Wish | None = None
        self._version = 0
        self._lanes_at = (0, 0)
        self._next_read_s = float("inf")
        """When a session that is being recorded is read anew."""

    # ---- reading

    def on_mount(self) -> None:
        self._pictures = Pictures(self.folder / "video.mkv", self._found)
        self.reload()

    async def on_unmount(self) -> None:
        if self._pictures is not None:
            await asyncio.to_thread(self._pictures.close)

    def reload(self) -> None:
        """Read everything anew; cursor and view stay."""

        begun_s = time.monotonic()
        self._next_read_s = float("inf")

        def taken(loaded: Loaded) -> None:
            now_s = time.monotonic()
            if loaded.info.live:
                self._next_read_s = now_s + max(LIVE_S, (now_s - begun_s) / READING_SHARE)
            self._take(loaded)

        def failed(error: Exception) -> None:
            self._problem = one_line(error)
            self.redraw()

        self.face.desk.quick(lambda: load(self.folder), taken, failed)

    def _take(self, loaded: Loaded) -> None:
        first = self.loaded is None
        if self.loaded is not None and self.view is not None and loaded.timeline.end_ns != self.view.end_ns:
            self._grow(self.view, self.loaded.timeline.end_ns, loaded.timeline.end_ns)
        self.loaded, self._problem = loaded, ""
        if first:
            self.cursor_ns = loaded.timeline.start_ns
        self.redraw()

    def _grow(self, view: lanes.View, before_ns: int, end_ns: int) -> None:
        """More was recorded: who sees all of it sees all of it still, and a cursor at the end stays there."""
        if view.span_ns >= view.end_ns - view.start_ns:
            self.view = lanes.View.whole(view.start_ns, end_ns, view.columns)
        else:
            self.view = replace(view, end_ns=end_ns)
        if self.cursor_ns >= before_ns and self.cursor_ns > view.start_ns:
            self.cursor_ns = end_ns
            self.view = self.view.showing(end_ns)

    def _found(self, wish: Wish, picture: list[Text], problem: str) -> None:
        """Called from the pictures' thread."""

        def take() -> None:
            self._picture_of = wish
            self._picture = picture or [Text(problem, self.look.palette.warn)]
            self.redraw()

        self.face.desk.post(take)

    def redraw(self) -> None:
        self._version += 1
        if self.is_attached:
            self.show(self.face.newest)

    # ---- drawing

    def show(self, state: EngineState) -> None:
        if time.monotonic() >= self._next_read_s:
            self.reload()
        width, height = self.size.width, self.size.height
        if width < NAME_WIDTH + 8 or height < 6:
            return
        busy = session_deeds.busy_line(self.face, width)
        key = (self._version, width, height, busy and busy.plain)
        if key == self._drawn:
            return
        self._drawn = key
        loaded = self.loaded
        if loaded is None:
            self.set_lines([self._without(width)])
            return
        columns = width - NAME_WIDTH
        if self.view is None:
            self.view = lanes.View.whole(loaded.timeline.start_ns, loaded.timeline.end_ns, columns)
        elif self.view.columns != columns:
            self.view = replace(self.view, columns=columns)
        rows = self._lanes(loaded)
        below = 3 + (busy is not None)
        top = max(LEAST_TOP, min(MOST_TOP, height - below - len(rows)))
        room = max(1, height - below - top)
        self._lanes_at = (top + 1, room)
        self.row = max(0, min(self.row, len(rows) - 1))
        self._top_row = max(0, min(max(self._top_row, self.row - room + 1), self.row, max(0, len(rows) - room)))
        cursor, selected = self.view.column(self.cursor_ns), session_parts.columns_of(self.view, self.stretch)
        lines = self._upper(loaded, width, top)
        lines.append(session_parts.ruler_line(lanes.ruler(self.view), cursor, selected, self.look))
        for number, row in list(enumerate(rows))[self._top_row : self._top_row + room]:
            lines.append(session_parts.row_line(row, number == self.row, cursor, selected, self.look))
        lines += [Text()] * (top + 1 + room - len(lines))
        lines.append(session_parts.at_cursor(loaded, self.cursor_ns, self.stretch, width, self.look))
        lines.append(self._keys_line(width))
        self.set_lines([*lines, *([busy] if busy is not None else [])])

    def _without(self, width: int) -> Text:
        if not self._problem:
            return Text("Reading the session.", self.look.palette.dim)
        key = self.face.registry["session_recover"].first_key()
        return cut(
            Text(f"{self.look.glyphs.failed} {self._problem}; {key} repairs it", self.look.palette.bad), width, self.look.glyphs.ellipsis
        )

    def _lanes(self, loaded: Loaded) -> list[lanes.Row]:
        """The lanes of the view; computed when one of the two changed."""
        assert self.view is not None
        key = (self.view, id(loaded.timeline))
        if key != self._rows_of:
            self._rows_of = key
            looks = lanes.Looks() if self.look.glyphs.braille else lanes.ASCII_LOOKS
            self.rows = lanes.rows(loaded.timeline, self.view, looks)
        return self.rows

    def _upper(self, loaded: Loaded, width: int, height: int) -> list[Text]:
        """The facts, and the picture beside them where there is room."""
        video = loaded.metadata
        columns = min(width - LEAST_FACTS - 2, round(2 * height * video.width_px / max(1, video.height_px)))
        wish = None
        if columns >= 16 and len(loaded.timeline.frame_times_ns):
            time_ms = self._picture_time_ms(loaded)
            wish = Wish(time_ms, columns, height, depth_of(self.face))
            if self._pictures is not None and wish != self._picture_of:
                self._pictures.want(wish)
        left = width - columns - 2 if wish is not None else width
        facts = session_parts.facts(loaded, left, height, self.look)
        facts += [Text()] * (height - len(facts))
        if wish is None:
            return facts
        seen = self._picture_of
        fits = seen is not None and (seen.columns, seen.rows) == (columns, height)
        picture = self._picture if fits else [Text("decoding", self.look.palette.dim)]
        picture = [*picture, *[Text()] * (height - len(picture))]
        return [
            Text.assemble(fact, " " * (left + 2 - fact.cell_len), part, no_wrap=True) for fact, part in zip(facts, picture, strict=True)
        ]

    def _picture_time_ms(self, loaded: Loaded) -> int:
        """The video's time of the picture on screen at the cursor."""
        times = loaded.timeline.frame_times_ns
        at = max(0, int(times.searchsorted(self.cursor_ns, side="right")) - 1)
        return (int(times[at]) - loaded.metadata.clock.monotonic_ns) // 1_000_000

    def _keys_line(self, width: int) -> Text:
        registry, palette = self.face.registry, self.look.palette
        line = Text(" ", no_wrap=True)
        if self.stretch is None:
            line.append(registry["session_select"].first_key(), palette.accent)
            line.append(" selects a stretch (or shift and arrows, or drag), then one key says what it was", palette.dim)
        else:
            for action_id, mode in MODE_ACTIONS.items():
                line.append(registry[action_id].first_key(), palette.accent)
                line.append(f" {mode.lower()}  ", palette.dim)
            for action_id, word in (("session_unlabel", "none"), ("session_cut", "new"), ("session_export", "clip")):
                line.append(registry[action_id].first_key(), palette.accent)
                line.append(f" {word}  ", palette.dim)
        return cut(line, width, self.look.glyphs.ellipsis)

    # ---- the cursor

    def go_to(self, time_ns: int, *, extend: bool = False) -> None:
        if self.loaded is None or self.view is None:
            return
        if extend and self.anchor_ns is None:
            self.anchor_ns = self.cursor_ns
        self.cursor_ns = self.view.clamp(time_ns)
        self.view = self.view.showing(self.cursor_ns)
        if self.anchor_ns is not None:
            a, b = sorted((self.anchor_ns, self.cursor_ns))
            self.stretch = (a, b) if b > a else None
        self.redraw()

    def on_key(self, event: events.Key) -> None:
        if self.run_own_key(event) or self.view is None:
            return
        steps = {"left": -1, "right": 1, "pageup": -self.view.columns // 2, "pagedown": self.view.columns // 2}
        bare = event.key.removeprefix("shift+")
        if bare in steps:
            self.go_to(self.view.time_of(self.view.column(self.cursor_ns) + steps[bare]), extend=bare != event.key)
        elif bare in ("home", "end"):
            self.go_to(self.view.start_ns if bare == "home" else self.view.end_ns, extend=bare != event.key)
        elif event.key in ("up", "down"):
            self.row += 1 if event.key == "down" else -1
            self.redraw()
        elif event.key == "escape" and (self.stretch is not None or self.anchor_ns is not None):
            self.stretch = self.anchor_ns = None
            self.redraw()
        else:
            return
        event.stop()

    def _time_at(self, event: events.MouseEvent) -> int | None:
        """The moment under the pointer; None beside the lanes."""
        at = event.get_content_offset(self)
        if at is None or self.view is None or at.x < NAME_WIDTH or not self._lanes_at[0] - 1 <= at.y < sum(self._lanes_at):
            return None
        return self.view.time_of(at.x - NAME_WIDTH)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        time_ns = self._time_at(event)
        if time_ns is None or event.button != 1:
            return
        at = event.get_content_offset(self)
        if at is not None and at.y >= self._lanes_at[0]:
            self.row = self._top_row + at.y - self._lanes_at[0]
        self.stretch = self.anchor_ns = None
        self.go_to(time_ns)
        self.anchor_ns = self.cursor_ns
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.face.mouse_captured is self and (time_ns := self._time_at(event)) is not None:
            self.go_to(time_ns)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self.face.mouse_captured is self:
            self.release_mouse()
            self.anchor_ns = None

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.zoom(ZOOM, self._time_at(event))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.zoom(1 / ZOOM, self._time_at(event))

    def zoom(self, factor: float, around_ns: int | None = None) -> None:
        if self.view is not None:
            self.view = self.view.zoomed(factor, self.cursor_ns if around_ns is None else around_ns)
            self.redraw()

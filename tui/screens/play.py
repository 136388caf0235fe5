"""A recording played back in the terminal, in half blocks."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.geometry import Region
from textual.strip import Strip

from data.text import printable
from engine.state import EngineState
from tui.halfblock import depth_of, runs
from tui.moments import moment
from tui.panes.base import LinesPane, bar, cut
from tui.pump import one_line
from tui.screens.lists import ListScreen
from tui.screens.play_marks import Marks, load_marks
from tui.screens.play_video import LOCAL_BYTES_S, SSH_BYTES_S, Player, Shown
from tui.screens.session_parts import held_at

SEEK_S: Final = 5.0
FAR_S: Final = 30.0
INFO_LINES: Final = 3


class PlayPane(LinesPane):
    """The picture, under it what is pressed, where playing has come to, and at which quality."""

    can_focus = True
    scope = "play"

    def __init__(self, folder: Path, start_s: float) -> None:
        super().__init__("play", folder.name)
        self.folder = folder
        self.player: Player | None = None
        self.marks: Marks | None = None
        self.marked = True
        self._start_s = start_s
        self._shown: Shown | None = None
        self._problem = ""
        self._ssh = bool(os.environ.get("SSH_CONNECTION"))

    def on_mount(self) -> None:
        self.face.desk.quick(lambda: load_marks(self.folder), self._begin, self._fail)

    def _begin(self, marks: Marks) -> None:
        if not self.is_attached:
            return
        self.marks = marks
        start_ms = round((marks.timeline.start_ns - marks.zero_ns) / 1e6 + self._start_s * 1000)
        post = self.face.desk.post
        self.player = Player(
            self.folder / "video.mkv",
            start_ms,
            depth_of(self.face),
            SSH_BYTES_S if self._ssh else LOCAL_BYTES_S,
            lambda shown: post(lambda: self._take(shown)),
            lambda reason: post(lambda: self._fail(ValueError(reason))),
        )
        self.player.marks = marks.draw
        self._fit()
        self.player.play(True)

    def _fail(self, error: Exception) -> None:
        self._problem = one_line(error)
        self.show(self.face.newest)

    async def on_unmount(self) -> None:
        if self.player is not None:
            await asyncio.to_thread(self.player.close)

    def on_resize(self) -> None:
        super().on_resize()
        self._fit()

    def _fit(self) -> None:
        self._shown = None
        self.refresh()
        if self.player is not None and self.size.height > INFO_LINES:
            self.player.fit(self.size.width, self.size.height - INFO_LINES)

    # ---- pictures

    def _take(self, shown: Shown) -> None:
        if not self.is_attached or self.player is None:
            return
        before, self._shown = self._shown, shown
        if before is None or (before.at, before.depth) != (shown.at, shown.depth):
            self.refresh()
        else:
            ends = shown.sent.sum(axis=1).tolist()
            lines = [Region(0, shown.at.top + y, shown.at.left + end, 1) for y, end in enumerate(ends) if end]
            if lines:  # without a region everything would be drawn
                self.refresh(*lines)
        if not self.player.playing:  # else the app's timer brings the lines under it up to date
            self.show(self.face.newest)
        self.call_after_refresh(self._acknowledge)

    def _acknowledge(self) -> None:
        """The next picture may come once the terminal has taken this one."""
        if self.player is None:
            return
        driver = getattr(self.face, "_driver", None)
        if getattr(driver, "waiting", 0) > 1:
            self.set_timer(0.05, self._acknowledge)
        else:
            self.player.drawn()

    def render_line(self, y: int) -> Strip:
        shown, rows = self._shown, self.size.height - INFO_LINES
        if y >= rows:
            return super().render_line(y - rows)
        blank = self.rich_style
        if shown is None or not shown.at.top <= y < shown.at.top + shown.at.rows:
            return Strip.blank(self.size.width, blank)
        row = shown.cells[y - shown.at.top]
        segments = [Segment(" " * shown.at.left, blank), *(Segment(text, style) for text, style in runs(row, shown.depth))]
        return Strip(segments).adjust_cell_length(self.size.width, blank)

    def set_lines(self, lines: list[Text]) -> None:
        """The lines under the picture."""
        if tuple(lines) != self.lines:
            self.lines = tuple(lines)
            top = self.size.height - INFO_LINES
            self.refresh(Region(0, max(0, top), self.size.width, INFO_LINES))

    # ---- the lines under it

    def show(self, state: EngineState) -> None:
        width, palette, glyphs = self.size.width, self.look.palette, self.look.glyphs
        player, marks = self.player, self.marks
        if self._problem:
            self.set_lines([cut(Text(f"{glyphs.failed} {self._problem}", palette.bad), width, glyphs.ellipsis)])
            return
        if player is None or marks is None:
            self.set_lines([Text("Reading the recording.", palette.dim)])
            return
        time_ns = marks.zero_ns + player.time_ms * 1_000_000
        begin_ms = (marks.timeline.start_ns - marks.zero_ns) / 1e6
        now_s, end_s = (max(0.0, (ms - begin_ms) / 1000) for ms in (player.time_ms, player.end_ms))
        sign = glyphs.running if player.playing and not player.at_end else glyphs.paused
        word = "at the end" if player.at_end else "playing" if player.playing else "paused"
        head = Text.assemble(
            (f"{sign} {word:<10} ", palette.good), (f"{moment(now_s)} of {moment(end_s)}", "bold"), f"  speed {player.speed:g}  "
        )
        room = max(4, width - head.cell_len)
        head.append(bar(now_s / end_s if end_s else 0.0, min(60, room), glyphs.bar_full, glyphs.bar_empty), palette.dim)
        self.set_lines(
            [
                cut(self._pressed(marks, time_ns), width, glyphs.ellipsis),
                cut(head, width, glyphs.ellipsis),
                cut(Text(self._quality(player), palette.dim), width, glyphs.ellipsis),
            ]
        )

    def _pressed(self, marks: Marks, time_ns: int) -> Text:
        palette, timeline = self.look.palette, marks.timeline
        line = Text("down: ", palette.dim, no_wrap=True)
        line = Text.assemble(line, (" ".join(held_at(timeline, time_ns)) or "nothing", "bold"))
        for stretch in timeline.modes:
            if stretch.start_ns <= time_ns < stretch.end_ns:
                line.append(f"   {stretch.mode}")
        for actor in timeline.actors:
            if actor.start_ns <= time_ns < actor.end_ns:
                line.append(f"   {printable(actor.name) or actor.actor}", palette.dim)
        return line

    def _quality(self, player: Player) -> str:
        shown = self._shown
        if shown is None:
            return ""
        colours = {24: "all colours", 8: "256 colours", 4: "16 colours", 0: "no colour"}[shown.depth]
        fps = round(player.fps)
        rate = f"{fps} picture{'s' * (fps != 1)} a second, " if player.playing and player.fps else ""
        limit = f"at most {player.bytes_s / 1000:.0f} kB/s to the terminal{' over SSH' if self._ssh else ''}"
        return f"{rate}{shown.at.columns}x{2 * shown.at.rows} pixels, {colours}; {limit}"

    # ---- what the keys do

    def on_key(self, event: events.Key) -> None:
        player = self.player
        if self.run_own_key(event) or player is None:
            return
        far = {"shift+left": -FAR_S, "shift+right": FAR_S, "pageup": -FAR_S, "pagedown": FAR_S}.get(event.key)
        if far is not None:
            self._seek(far)
        elif event.key in ("home", "end"):
            player.seek(0 if event.key == "home" else player.end_ms)
        else:
            return
        event.stop()
        self.show(self.face.newest)

    def on_click(self, event: events.Click) -> None:
        self.do_play_pause()

    def _seek(self, by_s: float) -> None:
        if self.player is not None:
            self.player.seek(self.player.time_ms + round(by_s * 1000))
            self.show(self.face.newest)

    def do_play_pause(self) -> None:
        if self.player is not None:
            self.player.play(not self.player.playing or self.player.at_end)
            self.show(self.face.newest)

    def do_play_back(self) -> None:
        self._seek(-SEEK_S)

    def do_play_forward(self) -> None:
        self._seek(SEEK_S)

    def _faster(self, by: int) -> None:
        if self.player is not None:
            self.player.faster(by)
            self.show(self.face.newest)

    def do_play_slower(self) -> None:
        self._faster(-1)

    def do_play_faster(self) -> None:
        self._faster(1)

    def _step(self, by: int) -> None:
        if self.player is not None:
            self.player.step(by)
            self.show(self.face.newest)

    def do_play_step(self) -> None:
        self._step(1)

    def do_play_step_back(self) -> None:
        self._step(-1)

    def do_play_marks(self) -> None:
        if self.player is not None and self.marks is not None:
            self.marked = not self.marked
            self.player.marks = self.marks.draw if self.marked else None
            self.player.draw_again()


class PlayScreen(ListScreen):
    def __init__(self, folder: Path, start_s: float) -> None:
        super().__init__()
        self._folder = folder
        self._start_s = start_s

    def body(self) -> LinesPane:
        pane = PlayPane(self._folder, self._start_s)
        pane.add_class("full-pane")
        return pane

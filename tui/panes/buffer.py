"""Capture and buffer: frames, ages, the session that is being written, the disk."""

from __future__ import annotations

from rich.text import Text
from textual.actions import SkipAction

from engine.state import EngineState
from tui.panes.base import LinesPane, clock, pairs, size
from tui.panes.preview import Preview


class BufferPane(LinesPane):
    scope = "buffer"

    def __init__(self, id: str, title: str = "") -> None:
        super().__init__(id, title)
        self.preview = Preview(self)

    def do_preview(self) -> None:
        """Where nothing is captured the key is the app's own, which this pane then names."""
        if self.face.newest.capture.source == "none" and not self.preview.on:
            raise SkipAction
        self.preview.toggle()
        self.show(self.face.newest)

    def show(self, state: EngineState) -> None:
        if self.preview.on:
            self.set_lines(self.preview.lines())
            return
        palette, glyphs = self.look.palette, self.look.glyphs
        capture, tick, recorder = state.capture, state.tick, state.recorder
        width = self.size.width
        if capture.source == "none":
            if self.face.host.phase == "starting":
                self.set_lines([Text("starting the engine", palette.dim)])
                return
            self.set_lines(
                [
                    Text("Nothing is captured.", palette.dim),
                    Text.assemble((f"{self.key('play')} ", palette.accent), "play in the arena"),
                    Text.assemble((f"{self.key('demo')} ", palette.accent), "let a pilot play"),
                    Text.assemble((f"{self.key('source')} ", palette.accent), "choose a window"),
                ]
            )
            return
        share = capture.dropped / max(1, capture.frames + capture.dropped)
        frames = Text(f"{capture.fps:.1f}/{capture.asked_fps:.0f} fps", palette.warn if capture.fps < 0.9 * capture.asked_fps else "")
        frames.append(f"  dropped {share * 100:.1f}%", palette.warn if share > 0.01 else palette.dim)
        rows: list[tuple[str, Text | str]] = [
            ("source", capture.detail or f"{capture.source} {capture.width_px}x{capture.height_px}"),
            ("focus", "in the game" if capture.focus else "elsewhere"),
            ("frames", frames),
            ("tick", f"{tick.hz:.1f}/{tick.asked_hz:.0f} Hz"),
            ("late", f"{tick.late:,}  skipped {tick.skipped:,}"),
            ("age", f"p50 {tick.age_p50_ms:.0f}  p99 {tick.age_p99_ms:.0f} ms"),
        ]
        if tick.stage_p50_ms:
            rows.extend(("stages" if i == 0 else "", line) for i, line in enumerate(_stages(tick.stage_p50_ms, width - 9)))
        rows.append(("", ""))
        if recorder.phase == "idle":
            rows.append(
                ("record", Text.assemble((f"{glyphs.off} off", palette.dim), "  ", (self.key("record"), palette.accent), " starts"))
            )
            if recorder.last_session:
                rows.append(("last", recorder.last_session))
        else:
            word = {
                "recording": f"{glyphs.recording} recording",
                "paused": f"{glyphs.paused} paused",
                "unsaved": f"{glyphs.needs} unsaved",
                "saving": f"{glyphs.waiting} saving",
            }[recorder.phase]
            rows.append(("record", Text(word, palette.bad if recorder.phase == "recording" else palette.warn)))
            rows.append(("session", f"{clock(recorder.duration_s)}  {size(recorder.size_bytes)}"))
            rows.append(("frames", f"{recorder.frames:,}"))
            rows.append(("rows", f"{recorder.events:,} events  {recorder.steps:,} steps"))
            if recorder.dropped_frames:
                rows.append(("dropped", Text(f"{recorder.dropped_frames:,} frames", palette.warn)))
        if recorder.prebuffer_s:
            held = f"{recorder.buffered_s:.0f} of {recorder.prebuffer_s:.0f} s before {self.key('record')}"
            rows.append(("buffer", Text(held, palette.warn if recorder.buffered_s else palette.dim)))
        if capture.notice:
            rows.append(("picture", Text(capture.notice, palette.warn)))
        if recorder.note:
            rows.append(("note", recorder.note))
        if recorder.disk_free_bytes:
            rows.append(("disk", self._disk(state)))
        rows.append(("saved", f"{state.sessions} session{'s' * (state.sessions != 1)}"))
        self.set_lines(pairs(rows, width, self.look))

    def _disk(self, state: EngineState) -> Text:
        """Free space, and how long a recording at the newest rate may last."""
        recorder = state.recorder
        text = Text(f"{size(recorder.disk_free_bytes)} free")
        if recorder.disk_left_s is not None:
            hours = recorder.disk_left_s / 3600
            text.append(f" = {hours:,.0f} h" if hours >= 1 else f" = {hours * 60:.0f} min", "" if hours >= 1 else self.look.palette.bad)
        return text


def _stages(stages: dict[str, float], width: int) -> list[str]:
    """The stages' times in ms, as many on a line as fit."""
    lines: list[str] = []
    for item in (f"{name} {ms:.1f}" for name, ms in stages.items()):
        if lines and len(lines[-1]) + 2 + len(item) <= width:
            lines[-1] += f"  {item}"
        else:
            lines.append(item)
    return lines

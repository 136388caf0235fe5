"""The status line: what is captured, is it recording, what is learning, who flies, is anything wrong."""

from __future__ import annotations

from rich.text import Text

from engine.state import EngineState, JobState
from tui.moments import moment
from tui.panes.base import LinesPane, clock, cut


class StatusLine(LinesPane):
    """One line at the top of every screen; it always survives, so it gives up words before it gives up states."""

    def show(self, state: EngineState) -> None:
        self.set_lines([self.compose_line(state, self.size.width or 80)])

    def compose_line(self, state: EngineState, width: int) -> Text:
        """The longest form that fits: parts have a long and a short text."""
        parts = [part for part in self._parts(state) if part is not None]
        order = sorted(range(len(parts)), key=lambda k: parts[k][3])
        separator = f" {self.look.glyphs.separator} "
        line = Text()
        for shorten in range(len(parts) + 1):
            line = Text(" ", no_wrap=True)
            for i, (long, short, style, _) in enumerate(parts):
                text = short if order.index(i) < shorten else long
                if text and line.cell_len > 1:
                    line.append(separator, self.look.palette.dim)
                line.append(text, style)
            if line.cell_len <= width:
                return line
        cut(line, width, self.look.glyphs.ellipsis)
        return line

    def _parts(self, state: EngineState) -> list[tuple[str, str, str, int] | None]:
        """Long text, short text, style, and what is shortened first (lowest first)."""
        if self.face.host.link:  # of an engine that does not answer, nothing else is known
            glyphs, palette = self.look.glyphs, self.look.palette
            gone = f"{glyphs.failed} {self.face.host.link}"
            return [("Secondseat", "", palette.strong, 0), (gone, f"{glyphs.failed} engine gone", palette.bad, 1)]
        return [
            ("Secondseat", "", self.look.palette.strong, 0),
            self._attached(state),
            self._recorder(state),
            self._buffer(state),
            self._source(state),
            self._learning(state),
            self._pilot(state),
            self._hotkey(state),
            self._wrong(state),
        ]

    def _attached(self, state: EngineState) -> tuple[str, str, str, int] | None:
        """Which engine this face looks at, when it is not its own, and how many others look too: they can command."""
        if not self.face.host.attached:
            count = state.viewers
            text = f"{count} face{'s' * (count > 1)} attached"
            return (text, f"+{count}", self.look.palette.accent, 0) if count else None
        others = f", {state.viewers} faces" if state.viewers > 1 else ""
        return (f"attached to {state.name or 'an engine'}{others}", "attached", self.look.palette.accent, 0)

    def _source(self, state: EngineState) -> tuple[str, str, str, int]:
        capture, palette = state.capture, self.look.palette
        if self.face.host.phase == "starting":
            return (f"{self.look.glyphs.waiting} starting", f"{self.look.glyphs.waiting} starting", palette.dim, 1)
        if capture.source == "none":
            return (f"{self.look.glyphs.off} no source", "no source", palette.dim, 1)
        name = f"{capture.game or capture.source} {self.look.glyphs.dot} {capture.detail}" if capture.detail else capture.source
        return (name, capture.game or capture.source, palette.accent, 1)

    def _recorder(self, state: EngineState) -> tuple[str, str, str, int]:
        recorder, glyphs, palette = state.recorder, self.look.glyphs, self.look.palette
        time = clock(recorder.duration_s)
        match recorder.phase:
            case "recording":
                return (
                    f"{glyphs.recording} REC {time}",
                    f"{glyphs.recording} REC {moment(recorder.duration_s, fine=False)}",
                    palette.bad,
                    5,
                )
            case "paused":
                return (f"{glyphs.paused} REC paused {time}", f"{glyphs.paused} paused", palette.warn, 5)
            case "unsaved":
                return (
                    f"{glyphs.needs} unsaved {time}: {self.key('save')} save, {self.key('discard')} discard",
                    f"{glyphs.needs} unsaved",
                    palette.warn,
                    5,
                )
            case "saving":
                return (f"{glyphs.waiting} saving", f"{glyphs.waiting} saving", palette.warn, 5)
            case "idle":
                return (f"{glyphs.off} not recording", f"{glyphs.off} rec off", palette.dim, 3)

    def _buffer(self, state: EngineState) -> tuple[str, str, str, int] | None:
        """Pictures are kept in memory, although nothing is recorded: that must be seen."""
        held_s = state.recorder.buffered_s
        if held_s <= 0:
            return None
        sign = f"{self.look.glyphs.recording} BUF"
        return (f"{sign} {held_s:.0f} s", sign, self.look.palette.warn, 5)

    def _learning(self, state: EngineState) -> tuple[str, str, str, int] | None:
        running = [job for job in state.jobs if job.phase in ("running", "queued")]
        if not running:
            return (f"{self.look.glyphs.off} not learning", f"{self.look.glyphs.off} learn off", self.look.palette.dim, 2)
        job = running[0]
        more = f" +{len(running) - 1}" if len(running) > 1 else ""
        sign = self.look.glyphs.learning if job.kind in ("train", "detector") else self.look.glyphs.running
        return (f"{sign} {job.title} {percent(job)}{more}", f"{sign} {job.kind} {percent(job)}{more}", self.look.palette.learn, 2)

    def _pilot(self, state: EngineState) -> tuple[str, str, str, int]:
        bot, glyphs, palette = state.bot, self.look.glyphs, self.look.palette
        dry = " (dry run)" if bot.dry_run else ""
        match bot.phase:
            case "flying" if bot.hint:
                return (f"{glyphs.needs} BOT flies, the game does not react", f"{glyphs.needs} no reaction", palette.warn, 4)
            case "flying":
                return (f"{glyphs.running} BOT flies{dry}", f"{glyphs.running} BOT", palette.bad, 4)
            case "armed":
                return (f"{glyphs.needs} BOT armed{dry}", f"{glyphs.needs} armed", palette.warn, 4)
            case "paused":
                return (f"{glyphs.paused} BOT paused: {bot.reason or 'no focus'}", f"{glyphs.paused} BOT paused", palette.warn, 4)
            case "yielded":
                return (f"{glyphs.paused} BOT yielded to you", f"{glyphs.paused} yielded", palette.warn, 4)
            case "stopped":
                return (f"{glyphs.failed} BOT stopped", f"{glyphs.failed} BOT stopped", palette.bad, 4)
            case "disarmed":
                who = f"{state.arena.pilot} flies" if state.arena.running and state.arena.pilot else "you fly"
                return (f"{glyphs.off} BOT disarmed, {who}", f"{glyphs.off} {who}", palette.dim, 4)

    def _hotkey(self, state: EngineState) -> tuple[str, str, str, int] | None:
        """The newest hotkey that counted, so that one sees that they are heard; the first to go where there is no room."""
        heard = state.system.last_hotkey
        return (f"heard {heard}", "", self.look.palette.dim, -1) if heard else None

    def _wrong(self, state: EngineState) -> tuple[str, str, str, int] | None:
        glyphs, palette = self.look.glyphs, self.look.palette
        if self.face.host.phase == "failed":
            return (f"{glyphs.failed} engine did not start", f"{glyphs.failed} engine", palette.bad, 6)
        if self.face.host.phase == "stopping":
            return (f"{glyphs.waiting} stopping: disarmed, saving", f"{glyphs.waiting} stopping", palette.warn, 6)
        failed = [service for service in state.services if service.health == "failed"]
        if failed:
            return (f"{glyphs.failed} {failed[0].name}: {failed[0].reason}"[:60], f"{glyphs.failed} {failed[0].name}"[:14], palette.bad, 6)
        if state.capture.notice:
            return (f"{glyphs.needs} {state.capture.notice}"[:60], f"{glyphs.needs} picture", palette.warn, 6)
        missing = [name for name, check, _ in state.checks if check == "missing"]
        if missing:
            count = f"{glyphs.needs} {len(missing)} check{'s' * (len(missing) > 1)}"
            return (f"{count}: {', '.join(missing)}", count, palette.warn, 3)
        return None


def percent(job: JobState) -> str:
    return "queued" if job.phase == "queued" else f"{job.done * 100:.0f}%"

"""Now: what flies and how the arena stands, jobs, and what each level has learnt beside what needs no learning."""

from __future__ import annotations

from rich.text import Text

from engine.state import EngineState, JobState
from tui.charts import sparkline
from tui.panes.base import LinesPane, bar, clock, cut, pairs
from tui.panes.status import percent
from tui.skills import Row, rows


class NowPane(LinesPane):
    scope = "now"

    def show(self, state: EngineState) -> None:
        palette, width = self.look.palette, self.size.width
        if not width:
            return
        happening = [*self._flying(state), *self._jobs(state)]
        table = rows(self.face.runs.levels)
        lines = pairs(happening, width, self.look)
        if len(lines) + len(table) > self.size.height:
            lines = pairs(happening, width, self.look, most=1)
        if table:
            lines += self._table(table, width, self.size.height - len(lines))
        if not lines:
            lines = [
                Text("Nothing flies and nothing learns.", palette.dim),
                Text.assemble((f"{self.key('arm')} ", palette.accent), "arm a policy and let it fly"),
                Text.assemble((f"{self.key('train_all')} ", palette.accent), "train on what was recorded"),
            ]
        self.set_lines(lines)

    def _flying(self, state: EngineState) -> list[tuple[str, Text | str]]:
        bot, arena = state.bot, state.arena
        out: list[tuple[str, Text | str]] = []
        if bot.phase != "disarmed":
            version = f" v{bot.model_version}" if bot.model_version else ""
            text = Text(f"{bot.policy or 'no policy'}{version}  mode {bot.mode or 'none'}  target {bot.target or 'none'}")
            if bot.reason:
                text = Text(bot.reason, self.look.palette.warn)
            out.append((bot.phase, text))
        if arena.running:
            out.append(
                ("arena", f"score {arena.score:.1f}  kills {arena.kills}  loot {arena.loot}  deaths {arena.deaths}  ep {arena.episode}")
            )
        return out

    def _jobs(self, state: EngineState) -> list[tuple[str, Text | str]]:
        """Jobs that run or wait, and those that failed since; of one title the newest counts."""
        newest = {job.title: job for job in state.jobs}
        return [(job.title, self._job(job)) for job in newest.values() if job.phase in ("running", "queued", "failed")]

    def _job(self, job: JobState) -> Text:
        glyphs, palette = self.look.glyphs, self.look.palette
        if job.phase == "failed":
            return Text(f"{glyphs.failed} {job.message or 'failed'}", palette.bad)
        if job.phase == "queued":
            return Text(f"{glyphs.waiting} waits for the job before it", palette.dim)
        text = Text(f"{bar(job.done, 8, glyphs.bar_full, glyphs.bar_empty)} {percent(job)}  {job.stage}", palette.learn)
        if job.eta_s is not None:
            text.append(f"  eta {clock(job.eta_s)}", palette.dim)
        if job.message:
            text.append(f"  {job.message}", palette.dim)
        return text

    def _table(self, table: list[Row], width: int, height: int) -> list[Text]:
        palette, glyphs = self.look.palette, self.look.glyphs
        trend_width = max(0, min(12, width - 44))
        head = Text(f"{'level':<8}{'metric':<19}{'now':>6}{'base':>7}{'  trend' if trend_width else ''}", palette.dim, no_wrap=True)
        lines = [cut(head, width, glyphs.ellipsis)]
        for row in table:
            line = Text(f"{row.skill.word:<8}", no_wrap=True)
            line.append(f"{row.skill.metric:<19.18}", palette.dim)
            line.append(f"{row.now:>6}", {True: palette.good, False: palette.warn, None: ""}[row.better])
            line.append(f"{row.base:>7}  ", palette.dim)
            line.append(sparkline(row.trend, trend_width, glyphs.blocks), palette.learn)
            lines.append(cut(line, width, glyphs.ellipsis))
        return lines[: max(0, height)] if height > 1 else []

    def do_now_details(self) -> None:
        from tui.screens.details import DetailsScreen

        self.face.open_screen(DetailsScreen)

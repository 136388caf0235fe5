"""Now: what flies, what it is doing, and how the arena's episode stands."""

from __future__ import annotations

from rich.text import Text

from engine.state import EngineState, JobState
from tui.panes.base import LinesPane, bar, clock, pairs
from tui.panes.status import percent


class NowPane(LinesPane):
    def show(self, state: EngineState) -> None:
        palette = self.look.palette
        bot, arena = state.bot, state.arena
        rows: list[tuple[str, Text | str]] = []
        if bot.phase != "disarmed":
            version = f" v{bot.model_version}" if bot.model_version else ""
            rows.append(("policy", f"{bot.policy or 'none'}{version} in {bot.window or 'no window'}"))
            rows.append(("decides", f"mode {bot.mode or 'none'}  target {bot.target or 'none'}"))
            rows.append(
                ("actions", f"{bot.actions:,} sent  {bot.refused:,} refused  {bot.expired:,} expired  {bot.focus_losses:,} without focus")
            )
            if bot.reason:
                rows.append(("because", Text(bot.reason, palette.warn)))
        if arena.running:
            rows.append(
                (
                    "arena",
                    f"score {arena.score:.2f}  kills {arena.kills}  loot {arena.loot}  deaths {arena.deaths}  episode {arena.episode}",
                )
            )
        rows.extend((job.title, self._job(job)) for job in state.jobs if job.phase in ("running", "queued", "failed"))
        curves = self.face.runs.curves
        if curves.figures and any(job.kind == "train" for job in state.jobs):
            shown = "  ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in curves.figures[:6])
            rows.append((curves.run.split("/")[0], shown))
        if not rows:
            self.set_lines(
                [
                    Text("Nothing flies and nothing learns.", palette.dim),
                    Text.assemble((f"{self.key('arm')} ", palette.accent), "arm a policy and let it fly"),
                    Text.assemble((f"{self.key('train_all')} ", palette.accent), "train on what was recorded"),
                ]
            )
            return
        self.set_lines(pairs(rows, self.size.width, self.look))

    def _job(self, job: JobState) -> Text:
        glyphs, palette = self.look.glyphs, self.look.palette
        if job.phase == "failed":
            return Text(f"{glyphs.failed} failed: {job.message}", palette.bad)
        if job.phase == "queued":
            return Text(f"{glyphs.waiting} queued", palette.dim)
        text = Text(bar(job.done, 12, glyphs.bar_full, glyphs.bar_empty), palette.learn)
        text.append(f" {percent(job)} {job.stage}")
        if job.eta_s is not None:
            text.append(f"  {clock(job.eta_s)} left", palette.dim)
        if job.message:
            text.append(f"  {job.message}", palette.dim)
        return text

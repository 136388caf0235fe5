"""Scoreboard: the evaluations that were kept, each rung as a bar with its interval between random and the demonstrator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from data.text import printable
from engine.comparison import LEARNT_FROM, Kept, other_look, read_evaluations, refusal
from engine.state import EngineState
from tui.bars import figure, interval_bar
from tui.panes.base import LinesPane
from tui.pump import one_line
from tui.screens import evaluation_deeds
from tui.screens.evaluation_parts import brief, drawn, played, summed_up, values
from tui.screens.table import Column, TablePane, TableScreen

LADDER = ("state", "emulated", "pixels")
_RUNGS = tuple(Column(rung, 0, words=f"best from {rung}" if rung != "emulated" else "best on the emulated rung") for rung in LADDER)
COLUMNS = (
    Column("policy", 18, narrow=12, words="by policy", down=False),
    Column("when", 16, narrow=11, words="newest first"),
    Column("rules", 8, narrow=7, words="newest rules first"),
    Column("n", 5, right=True, narrow=3, words="most episodes first"),
    *_RUNGS,
)


def load_evaluations(workspace: Path) -> tuple[list[Kept], list[str]]:
    return read_evaluations(workspace)


class EvaluationsPane(TablePane[Kept]):
    scope = "evaluations"
    wide = 104
    noun = "evaluations"

    def __init__(self) -> None:
        super().__init__("evaluations", "Evaluations")
        self.order = COLUMNS[1]
        self.wrong: list[str] = []
        self._loaded_for: tuple[object, ...] = ()

    # ---- its rows

    def columns(self) -> Sequence[Column]:
        return COLUMNS

    def name_of(self, row: Kept) -> str:
        return row.id

    def haystack(self, row: Kept) -> str:
        judged, flown = "judged" if row.levels else "unjudged", "flown" if row.rungs else "not flown"
        rules = f"rules{row.rules_version} rules {row.rules_version}" if row.rules_version is not None else ""
        return f"{row.id} {row.policy} {row.at} {rules} {judged} {flown} {row.game} {row.play} {row.demonstrator_name} {row.look}"

    def sort_key(self, row: Kept, column: str) -> object:
        if column == "policy":
            return (row.policy.casefold(), row.id)
        rung = row.rung(column)
        score = rung.normalised.value if rung is not None and math.isfinite(rung.normalised.value) else -math.inf
        rules, episodes = row.rules_version or 0, row.episodes or 0
        return {"when": (row.id,), "rules": (rules, row.id), "n": (episodes, row.id)}.get(column, (score, row.id))

    @property
    def newest_rules(self) -> int:
        return max((kept.rules_version or 0 for kept in self.all or ()), default=0)

    def _old(self, row: Kept) -> bool:
        return row.rules_version is not None and row.rules_version < self.newest_rules

    def cell(self, row: Kept, column: str, room: int) -> Text:
        palette, glyphs = self.look.palette, self.look.glyphs
        if column == "policy":
            return Text(printable(row.policy))
        if column == "when":
            return Text(row.at[-room:], palette.dim)
        if column == "rules":
            if row.rules_version is None:
                return Text("  -", palette.dim)
            old = self._old(row)
            return Text(f"{glyphs.needs if old else ' '} {row.rules_version}{' old' if old else ''}", palette.warn if old else palette.dim)
        if column == "n":
            return Text("-" if row.episodes is None else str(row.episodes), palette.dim)
        rung = row.rung(column)
        if rung is None:
            return Text("not flown", palette.dim)
        bar = interval_bar(rung.normalised, room - 6, self.look)
        return Text.assemble(bar, f" {figure(rung.normalised.value):>5}")

    def mark_of(self, row: Kept) -> str:
        return "AB"[self.marked.index(row.id)] if row.id in self.marked else " "

    def empty(self, width: int) -> list[Text]:
        palette = self.look.palette
        key = (self.key("evaluations_new"), palette.accent)
        if self.face.newest.policies:
            first = Text.assemble(
                "No evaluation yet: ", key, " lets a policy fly and scores it beside the demonstrator and random.", style=palette.dim
            )
        else:
            train = (self.key("train_all"), palette.accent)
            first = Text.assemble("No evaluation yet, and no policy: ", train, " trains one, ", key, " then scores it.", style=palette.dim)
        told = "Each one is kept here: its score from state to pixels, its levels, and how it compares with the others."
        return [first, Text(told, palette.dim), *self._wrong_lines()]

    def _wrong_lines(self) -> list[Text]:
        return [Text(f"{self.look.glyphs.failed} {printable(line)}", self.look.palette.bad) for line in self.wrong]

    detail_lines = 6

    def room_for_details(self, height: int) -> int:
        return self.detail_lines if height >= 14 else 2

    def details(self, width: int, height: int) -> list[Text]:
        kept, palette = self.chosen, self.look.palette
        if kept is None:
            return self._wrong_lines()
        if kept.random is None or kept.demonstrator is None:
            return [*self._judged(kept, width), *self._wrong_lines()]
        who = printable(kept.demonstrator_name) or "the demonstrator"
        levels = "levels judged" if kept.levels else "levels not judged"
        first = Text.assemble(
            (printable(kept.id), "bold"), (f"  {kept.episodes} episodes, {levels}{drawn(kept)}", palette.dim), no_wrap=True
        )
        lines = [first]
        for rung in kept.rungs:
            style = "bold" if rung is kept.hardest else ""
            line = Text(f"  {rung.name:<9}", palette.dim, no_wrap=True)
            line.append(f"{values(rung.normalised)}", style)
            line.append(
                f"  {rung.score.value:.1f} points; random {kept.random.value:.1f}, {who} {kept.demonstrator.value:.1f}", palette.dim
            )
            lines.append(line)
        if self._old(kept):
            lines.append(
                Text(
                    f"{self.look.glyphs.needs} played by older rules: it compares only with those of rules {kept.rules_version}",
                    palette.warn,
                )
            )
        glyphs = self.look.glyphs
        scale = f"  bars: 0 random to 1 {who}; {glyphs.recording} the score, {glyphs.solid[0]} its 95 % interval"
        return [*lines, Text(scale, palette.dim), *self._wrong_lines()]

    def _judged(self, kept: Kept, width: int) -> list[Text]:
        """What is said of one that was not flown: its levels."""
        palette = self.look.palette
        head = Text.assemble((printable(kept.id), "bold"), (f"  {summed_up(kept)}, levels judged", palette.dim), no_wrap=True)
        head.append(f": {LEARNT_FROM}" if kept.known_play == LEARNT_FROM else "", palette.warn)
        return [head, Text(f"  on {played(kept)}", palette.dim, no_wrap=True), *brief(kept, width, self.look)]

    def busy(self, width: int) -> Text | None:
        from tui.screens.session_deeds import busy_line

        return busy_line(self.face, width) or evaluation_deeds.job_line(self.face, self.face.newest, width)

    # ---- reading

    def show(self, state: EngineState) -> None:
        ended = tuple(job.id for job in state.jobs if job.kind == "evaluate" and job.phase in ("done", "cancelled"))
        if state.workspace and (state.workspace, ended) != self._loaded_for:
            self._loaded_for = (state.workspace, ended)
            self.reload()
        super().show(state)

    def reload(self) -> None:
        workspace = Path(self.face.newest.workspace)

        def done(read: tuple[list[Kept], list[str]]) -> None:
            found, self.wrong = read
            self.take(found)

        def failed(error: Exception) -> None:
            self.problem = f"the evaluations of {workspace} cannot be read: {one_line(error)}"
            self.redraw()

        self.face.desk.quick(lambda: load_evaluations(workspace), done, failed)

    # ---- what the keys do

    def open_chosen(self) -> None:
        self.do_evaluations_open()

    def do_evaluations_open(self) -> None:
        from tui.screens.evaluation import EvaluationScreen

        if self.chosen is not None:
            kept = self.chosen
            self.face.push_screen(EvaluationScreen(kept))

    def do_evaluations_mark(self) -> None:
        """At most two, A and B; a third takes the place of B."""
        if self.chosen is None:
            return
        name = self.chosen.id
        if name in self.marked:
            self.marked.remove(name)
        else:
            self.marked = [*self.marked[:1], name]
            self.move(1)
        self.redraw()

    def pair(self) -> tuple[Kept, Kept] | None:
        """The two that are marked, A and B; with fewer marks the chosen one as B, with an older one of the same game and rules, if there is
        one that was flown as it was."""
        by_id = {kept.id: kept for kept in self.all or ()}
        if len(self.marked) == 2:
            return by_id[self.marked[0]], by_id[self.marked[1]]
        second = self.chosen
        if second is None:
            return None
        if self.marked and self.marked[0] != second.id:
            return by_id[self.marked[0]], second
        older = [k for k in self.all or () if k.id < second.id and not refusal(k, second)]
        return (max(older, key=lambda k: (bool(k.rungs) == bool(second.rungs), not other_look(k, second), k.id)), second) if older else None

    def do_evaluations_compare(self) -> None:
        from tui.screens.evaluation import ComparisonScreen

        pair = self.pair()
        if pair is None:
            mark = self.key("evaluations_mark")
            self.face.tell("warning", f"two are compared: mark them with {mark}, or evaluate another policy first", log=False)
        elif why := refusal(*pair):
            self.face.tell("warning", why, log=False)
        else:
            self.face.push_screen(ComparisonScreen(*pair))

    def do_evaluations_new(self) -> None:
        evaluation_deeds.begin(self.face)

    def do_evaluations_stop(self) -> None:
        if not self.face.desk.cancel():
            evaluation_deeds.stop(self.face)

    def do_evaluations_job(self) -> None:
        evaluation_deeds.tell_job(self.face)

    def do_evaluations_plots(self) -> None:
        if self.chosen is not None:
            evaluation_deeds.save_page(self.face, self.chosen)

    def do_evaluations_plots_open(self) -> None:
        if self.chosen is not None:
            evaluation_deeds.open_page(self.face, self.chosen)

    def do_evaluations_sort(self) -> None:
        self.next_order()

    def do_evaluations_reverse(self) -> None:
        self.turn_round()

    def do_evaluations_filter(self) -> None:
        self.begin_filter()


class EvaluationsScreen(TableScreen):
    def body(self) -> LinesPane:
        pane = EvaluationsPane()
        pane.add_class("full-pane")
        return pane

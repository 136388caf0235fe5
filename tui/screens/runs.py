"""The training runs to choose from: enter shows one, space adds one to compare. Below them the policies, one of which flies."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events

from engine.state import EngineState
from tui.panes.base import LinesPane, cut
from tui.runs import MOST_COMPARED
from tui.screens.lists import ListPane, ListScreen

if TYPE_CHECKING:
    from data.models import PolicyInfo

NEWEST = "the running or the newest run"


class RunsPane(ListPane):
    """The first row follows whatever is newest; below it every run by age, then every policy by age."""

    scope = "runs"

    def __init__(self) -> None:
        super().__init__("runs", "Training runs and policies", choose=True)
        self._names: list[str] = []
        self._ages: dict[Path, str] = {}

    def key_words(self) -> list[tuple[str, str]]:
        return [("enter", "show"), *super().key_words(), ("esc", "back")]

    @property
    def _policies(self) -> tuple[PolicyInfo, ...]:
        return self.face.runs.policies

    def compose_all(self, state: EngineState) -> list[Text]:
        palette, glyphs = self.look.palette, self.look.glyphs
        runs = self.face.runs
        self._names = ["", *(f"{run.parent.name}/{run.name}" for run in runs.found)]
        if not runs.found and not self._policies:
            return [Text(f"No training run yet: {self.key('train_all')} trains on what was recorded.", palette.dim)]
        lines: list[Text] = []
        for name, path in zip(self._names, (None, *runs.found), strict=True):
            here = name in runs.chosen or (not name and not runs.chosen)
            line = Text(f" {glyphs.good if here else ' ':<2} ", palette.accent if here else "", no_wrap=True)
            line.append(f"{name or NEWEST:<44} ")
            if path is not None:
                line.append(self._age(path), palette.dim)
            lines.append(cut(line, max(1, self.size.width), glyphs.ellipsis))
        for policy in self._policies:
            line = Text(f" {glyphs.running if policy.promoted else ' ':<2} ", palette.good if policy.promoted else "", no_wrap=True)
            line.append(f"{f'policy {policy.name}':<44} ")
            line.append(f"{policy.created[:16].replace('T', ' '):<16}  ", palette.dim)
            line.append(*_standing(policy, palette.good, palette.bad, palette.dim))
            lines.append(cut(line, max(1, self.size.width), glyphs.ellipsis))
        return lines

    def _chosen_policy(self) -> PolicyInfo | None:
        """The policy of the chosen row; of a run's row the one of the same name."""
        row = self.selected - len(self._names)
        if 0 <= row < len(self._policies):
            return self._policies[row]
        name = self._names[self.selected].rpartition("/")[2] if 0 <= self.selected < len(self._names) else ""
        return next((policy for policy in self._policies if name and policy.name == name), None)

    def _is_policy(self) -> bool:
        """Whether the chosen row is a policy, which has no curves; says what can be done with it."""
        if self.selected < len(self._names):
            return False
        self.face.tell("info", f"a policy is made of three runs; {self.key('promote')} promotes it", log=False)
        return True

    def do_promote(self) -> None:
        """Let the policy of the chosen row fly from now on."""
        from tui.deeds import promote

        policy = self._chosen_policy()
        if policy is None:
            self.face.tell("warning", "this row is no policy: choose one of those at the end of the list", log=False)
        elif policy.promoted:
            self.face.tell("info", f"{policy.name} is promoted already: it flies", log=False)
        else:
            promote(self.face, policy.name)

    def _age(self, path: Path) -> str:
        """When the run was last written; looked up once while the list is open."""
        if path not in self._ages:
            try:
                self._ages[path] = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
            except OSError:
                self._ages[path] = "gone"
        return self._ages[path]

    def _take(self, names: tuple[str, ...]) -> None:
        self.face.runs.choose(names)
        self.face.memory.keep(losses_runs=",".join(names))
        self.show(self.face.newest)

    def choose_row(self) -> None:
        if self._is_policy():
            return
        name = self._names[min(self.selected, len(self._names) - 1)]
        self._take((name,) if name else ())
        self.screen.dismiss()

    def do_compare(self) -> None:
        """Add the run to those that are shown, or take it away."""
        if self._is_policy():
            return
        name = self._names[min(self.selected, len(self._names) - 1)]
        chosen = list(self.face.runs.chosen)
        if not name:
            chosen = []
        elif name in chosen:
            chosen.remove(name)
        elif len(chosen) == MOST_COMPARED:
            self.face.tell("warning", f"{MOST_COMPARED} runs at most are compared; take one away first", log=False)
        else:
            chosen.append(name)
        self._take(tuple(chosen))

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            self.choose_row()


def _standing(policy: PolicyInfo, good: str, bad: str, dim: str) -> tuple[str, str]:
    """What is to be said of a policy, and its style."""
    if policy.problem:
        return policy.problem, bad
    return ("promoted: it flies", good) if policy.promoted else (policy.profile, dim)


class RunsScreen(ListScreen):
    def body(self) -> LinesPane:
        pane = RunsPane()
        pane.add_class("full-pane")
        return pane

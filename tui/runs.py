"""The thread that finds training runs and policies in the workspace, follows what runs write, and draws the chart of those that are
looked at. The face only reads the newest ``Picture``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tui.chart_view import ChartView, Picture, make_picture
from tui.curves import METRICS_NAME, RunCurves, find_runs

if TYPE_CHECKING:
    from data.models import PolicyInfo

POLL_S: Final = 1.0
UNSEEN_S: Final = 3.0
"""A view that was not asked for since is not drawn."""
MOST_COMPARED: Final = 3


class RunWatcher:
    """``models`` and ``running`` are asked each time: where runs lie, and which run is being written. ``changed`` is
    called from the thread when a new picture was asked for and is there."""

    def __init__(
        self, models: Callable[[], Path | None], running: Callable[[], Path | None], changed: Callable[[], object] = lambda: None
    ) -> None:
        self._models = models
        self._running = running
        self._changed = changed
        self._wake = threading.Event()
        self._ending = False
        self._readers: dict[Path, RunCurves] = {}
        self._chosen: tuple[str, ...] = ()
        self._view = ChartView()
        self._asked_s = -UNSEEN_S
        self._drawn: tuple[object, ...] = ()
        self.found: tuple[Path, ...] = ()
        """All runs, the running one first, then by age."""
        self.levels: dict[str, RunCurves] = {}
        """The newest run of each level."""
        self.policies: tuple[PolicyInfo, ...] = ()
        """All policies, the newest first."""
        self.promoted = ""
        """The name of the policy that was promoted, though its bundle be gone; empty: none was, or it cannot be read."""
        self._policies_seen: tuple[object, ...] = ()
        self.picture: Picture | None = None
        self.version = 0
        self._thread = threading.Thread(target=self._run, name="secondseat-runs", daemon=True)

    @property
    def trained(self) -> bool:
        return bool(self.found)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The runs that were picked, as ``level/name``; empty: the running or the newest one."""
        return self._chosen

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ending = True
        self._wake.set()

    def ask(self, view: ChartView) -> None:
        """Say what is seen now; a picture of it follows."""
        self._asked_s = time.monotonic()
        if view != self._view:
            self._view = view
            self._wake.set()

    def choose(self, names: tuple[str, ...]) -> None:
        """Look at these runs instead; none of them: at the running or the newest one."""
        self._chosen = names[:MOST_COMPARED]
        self._wake.set()

    def _run(self) -> None:
        next_poll_s = 0.0
        while not self._ending:
            if time.monotonic() >= next_poll_s:
                self.poll()
                next_poll_s = time.monotonic() + POLL_S
            if time.monotonic() - self._asked_s < UNSEEN_S and self.draw():
                self._changed()
            self._wake.wait(max(0.0, next_poll_s - time.monotonic()))
            self._wake.clear()

    def poll(self) -> None:
        """Look for runs and read what is new in those that matter."""
        models = self._models()
        runs = find_runs(models) if models is not None else []
        running = self._running()
        if running is not None and (running / METRICS_NAME).is_file():
            runs = [running, *(run for run in runs if run != running)]
        newest: dict[str, Path] = {}
        for run in runs:
            newest.setdefault(run.parent.name, run)
        followed = {*newest.values(), *self._shown(runs)}
        self._readers = {run: self._readers.get(run) or RunCurves(run) for run in followed}
        new = [reader.read() for reader in self._readers.values()]
        if any(new) or tuple(runs) != self.found:
            self.version += 1
        self.levels = {level: self._readers[run] for level, run in newest.items()}
        self.found = tuple(runs)
        self._look_for_policies(models)

    def _look_for_policies(self, models: Path | None) -> None:
        """Read the policies' cards when one was added or taken away, or another one promoted."""
        if models is None:
            return
        seen = tuple(_changed_ns(path) for path in (models / "policies", models / "promoted.json"))
        if seen == self._policies_seen:
            return
        self._policies_seen = seen
        if seen[0] is None:
            self.policies, self.promoted = (), ""
            return
        from data.checkpoint import CheckpointError
        from data.models import list_policies, promoted_name

        try:
            found, self.promoted = list_policies(models.parent), promoted_name(models.parent)
        except (CheckpointError, OSError):  # arming says what is wrong with it
            found, self.promoted = [], ""
        self.policies = tuple(sorted(found, key=lambda policy: (policy.created, policy.name), reverse=True))

    def draw(self) -> bool:
        """Make the picture of the view that was asked for, when it or the data changed since the last one."""
        shown = self._shown(list(self.found))
        key = (self._view, self.version, tuple(shown))
        if key == self._drawn:
            return False
        readers = [self._readers[run] for run in shown if run in self._readers]
        if len(readers) < len(shown):  # chosen a moment ago: read at the next poll
            self.poll()
            readers = [self._readers[run] for run in shown if run in self._readers]
            key = (self._view, self.version, tuple(shown))
        self._drawn = key
        self.picture = make_picture(self._view, readers) if readers else None
        return True

    def _shown(self, runs: list[Path]) -> list[Path]:
        by_name = {f"{run.parent.name}/{run.name}": run for run in runs}
        picked = [by_name[name] for name in self._chosen if name in by_name]
        return picked or runs[:1]


def _changed_ns(path: Path) -> int | None:
    """When a file or a folder was changed; None where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None

"""Data statistics: what the recordings hold, session by session and in all, and which look odd. Counted by a thread and
kept, so that the next look takes no time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from engine.state import EngineState
from tui.desk import Cancelled
from tui.panes.base import LinesPane
from tui.pump import one_line
from tui.screens import session_deeds, statistics_rows
from tui.screens.statistics_rows import COLUMNS, Row
from tui.screens.table import Column, TablePane, TableScreen

if TYPE_CHECKING:
    from data.catalog import SessionInfo
    from data.progress import Report
    from data.statistics import SessionStatistics, Statistics

TITLE: Final = "counting sessions"
TAKE_S: Final = 1.0
"""What was counted meanwhile is put among the rows so often: thousands are ordered anew each time."""
Known = tuple[list["SessionInfo"], dict[str, "SessionStatistics"]]


def load_known(workspace: Path) -> Known:
    """The sessions, and the figures of those that were counted before and have not changed."""
    from data.catalog import list_sessions
    from data.statistics_cache import StatisticsCache
    from data.workspace import Workspace

    cache = StatisticsCache(Workspace(workspace).cache)
    sessions = [info for info in list_sessions(workspace) if not info.live]
    found = {info.id: known for info in sessions if (known := cache.known(info.folder)) is not None}
    return sessions, found


class StatisticsPane(TablePane[Row]):
    scope = "statistics"
    noun = "sessions"

    def __init__(self) -> None:
        super().__init__("statistics", "Data statistics")
        self.order = COLUMNS[1]
        self._sessions: dict[str, SessionInfo] = {}
        self._found: dict[str, SessionStatistics] = {}
        self._unreadable: dict[str, str] = {}
        self._fresh: list[SessionStatistics] = []
        """Counted by the thread, not shown yet."""
        self._next_take_s = 0.0
        self._waiting = False
        self._anew = False
        self._loaded_for: tuple[object, ...] = ()

    # ---- its rows

    def columns(self) -> Sequence[Column]:
        return COLUMNS

    def name_of(self, row: Row) -> str:
        return row.name

    def haystack(self, row: Row) -> str:
        return statistics_rows.haystack(row)

    def sort_key(self, row: Row, column: str) -> Any:
        return statistics_rows.sort_key(row, column)

    def cell(self, row: Row, column: str, room: int) -> Text:
        return statistics_rows.cell(row, column, room, self.look)

    def pinned(self, found: Sequence[Row]) -> Sequence[Row]:
        """The sum of what is shown."""
        from data.statistics import Statistics, copies, copies_text

        counted = [row.found for row in found if row.found is not None]
        if not counted:
            return ()
        twice = len(copies(counted))
        odd = sum(bool(row.odd) for row in found)
        words = (f"{odd} of {len(counted)} look odd: order by state shows them first",) if odd else ()
        words += (f"without {copies_text(twice)} of what is shown: play counts once",) if twice else ()
        return [Row("all shown", None, Statistics(tuple(counted)).total(), odd=words)]

    def title_word(self) -> str:
        counted, every = len(self._found) + len(self._unreadable), len(self._sessions)
        return f"{counted:,} of {every:,} counted" if counted < every else ""

    def empty(self, width: int) -> list[Text]:
        palette = self.look.palette
        keys = {name: (self.key(name), palette.accent) for name in ("record", "save", "demo")}
        return [
            Text.assemble("No sessions to count yet: ", keys["record"], " records, ", keys["save"], " saves.", style=palette.dim),
            Text.assemble("To see one being made: ", keys["demo"], " lets a pilot play in the arena.", style=palette.dim),
        ]

    def room_for_details(self, height: int) -> int:
        return 11 if height >= 26 else 10 if height >= 18 else 3

    def details(self, width: int, height: int) -> list[Text]:
        return statistics_rows.details(self.chosen, width, height, self.look) if self.chosen is not None else []

    def busy(self, width: int) -> Text | None:
        return session_deeds.busy_line(self.face, width)

    # ---- reading and counting

    def show(self, state: EngineState) -> None:
        wanted = (state.workspace, state.sessions)
        if state.workspace and wanted != self._loaded_for:
            self._loaded_for = wanted
            self.reload()
        if self._fresh and time.monotonic() >= self._next_take_s:
            self._take_fresh()
            self._next_take_s = time.monotonic() + TAKE_S
        if self._waiting and self.face.desk.doing is None:
            self._count()
        super().show(state)

    def on_unmount(self) -> None:
        doing = self.face.desk.doing
        if doing is not None and doing.title == TITLE:
            self.face.desk.cancel()

    def reload(self) -> None:
        workspace = Path(self.face.newest.workspace)

        def done(read: Known) -> None:
            sessions, found = read
            self._sessions = {info.id: info for info in sessions}
            self._found = {} if self._anew else found
            self._unreadable = {}
            self._waiting = bool(self._sessions.keys() - self._found.keys())
            self._rebuild()

        def failed(error: Exception) -> None:
            self.problem = f"the sessions of {workspace} cannot be read: {one_line(error)}"
            self.redraw()

        self.face.desk.quick(lambda: load_known(workspace), done, failed)

    def _count(self) -> None:
        """Count what is missing, the newest first; what is counted is kept when it is stopped."""
        from data.statistics_cache import StatisticsCache, gather
        from data.workspace import Workspace

        missing = [self._sessions[name].folder for name in sorted(self._sessions.keys() - self._found.keys(), reverse=True)]
        cache_folder, anew = Workspace(Path(self.face.newest.workspace)).cache, self._anew
        self._waiting = self._anew = False

        def work(report: Report) -> Statistics:
            cache = StatisticsCache(cache_folder)
            if anew:
                cache.forget()
            return gather(missing, cache, report, self._fresh.append)

        def done(counted: Statistics) -> None:
            self._unreadable = dict(counted.unreadable)
            self._take_fresh()

        def failed(error: Exception) -> None:
            self._take_fresh()
            again = self.key("statistics_again")
            if not isinstance(error, Cancelled):
                self.face.tell("error", f"{TITLE}: {one_line(error)}")
            elif self.is_attached:
                self.face.tell("warning", f"{TITLE}: stopped; what was counted stays, {again} looks again")

        if not self.face.desk.long(TITLE, work, done, failed):
            self._waiting, self._anew = True, anew

    def _take_fresh(self) -> None:
        while self._fresh:
            found = self._fresh.pop(0)
            self._found[found.id] = found
        self._rebuild()

    def _rebuild(self) -> None:
        """The rows anew, copies of other sessions among them named."""
        from data.statistics import SAME_PLAY, copies

        twice = copies([self._found[name] for name in sorted(self._found)])
        rows: list[Row] = []
        for name, info in self._sessions.items():
            found = self._found.get(name)
            odd = found.suspicious if found is not None else ()
            copy = twice.get(name)
            same = copy is not None and copy.words.startswith(SAME_PLAY)
            odd += (copy.words,) if copy is not None and same else ()
            problem = self._unreadable.get(name, "").removeprefix(f"{name}/").replace("; run 'secondseat sessions recover'", "")
            key = self.face.registry["sessions"].first_key()
            problem = f"{problem}; the list of sessions ({key}) repairs it" if problem else ""
            rows.append(Row(name, info, found, problem, odd, "" if copy is None or same else f"{copy.words}, counted there"))
        if self.is_attached:
            self.take(rows)

    # ---- what the keys do

    def open_chosen(self) -> None:
        self.do_statistics_open()

    def do_statistics_open(self) -> None:
        row = self.chosen
        if row is None:
            return
        if row.info is None:
            self.face.tell("info", "this line is all sessions together; choose one below it to open its page", log=False)
        else:
            session_deeds.open_page(self.face, row.info)

    def do_statistics_filter(self) -> None:
        self.begin_filter()

    def do_statistics_sort(self) -> None:
        self.next_order()

    def do_statistics_reverse(self) -> None:
        self.turn_round()

    def do_statistics_again(self) -> None:
        if self.face.desk.doing is not None:
            session_deeds.busy_said(self.face)
            return
        self._anew = True
        self.reload()

    def do_statistics_stop(self) -> None:
        session_deeds.cancel(self.face)


class StatisticsScreen(TableScreen):
    placeholder = "words of the session, odd, fine, copy, broken; -word leaves out"

    def body(self) -> LinesPane:
        pane = StatisticsPane()
        pane.add_class("full-pane")
        return pane

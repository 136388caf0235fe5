"""One session's page: what it is, its timeline, the picture at the cursor; a mode for a stretch with one key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from data.vocabulary import Mode
from tui import timeline as lanes
from tui.moments import moment
from tui.panes.base import LinesPane
from tui.screens import session_deeds
from tui.screens.lists import ListScreen
from tui.screens.session_view import ZOOM, TimelinePane


class SessionPane(TimelinePane):
    """The timeline with what its keys do."""

    def _set_mode(self, mode: Mode | None) -> None:
        from data.labels import set_mode

        loaded, stretch = self.loaded, self.stretch
        if loaded is None:
            return
        if stretch is None:
            key = self.face.registry["session_select"].first_key()
            self.face.tell("warning", f"select a stretch first: {key} at its begin, then the arrows", log=False)
            return
        self.anchor_ns = None
        start, end = ((t - loaded.timeline.start_ns) / 1e9 for t in stretch)
        where = f"{moment(start)} to {moment(end)}"
        undo = self.face.registry["session_undo"].first_key()

        def done(_: object) -> None:
            self.face.tell("info", f"{where} is {mode}; {undo} undoes" if mode else f"{where}: your label is gone; {undo} undoes")
            self.reload()

        # Shown at once; reading it back takes a while for a long session.
        self.loaded = replace(loaded, timeline=replace(loaded.timeline, modes=lanes.with_mode(loaded.timeline.modes, *stretch, mode)))
        self.redraw()
        tell = session_deeds.say(self.face, "label")

        def failed(error: Exception) -> None:
            tell(error)
            self.reload()  # what was shown at once is not so

        self.face.desk.quick(lambda: set_mode(self.folder, *stretch, mode), done, failed)

    def do_session_fight(self) -> None:
        self._set_mode("FIGHT")

    def do_session_loot(self) -> None:
        self._set_mode("LOOT")

    def do_session_flee(self) -> None:
        self._set_mode("FLEE")

    def do_session_explore(self) -> None:
        self._set_mode("EXPLORE")

    def do_session_cautious(self) -> None:
        self._set_mode("CAUTIOUS")

    def do_session_unlabel(self) -> None:
        self._set_mode(None)

    def do_session_undo(self) -> None:
        from data.labels import Label, undo_last

        def done(label: Label | None) -> None:
            if label is None:
                self.face.tell("info", "there is no label of yours to undo", log=False)
            else:
                self.face.tell("info", f"undone: {label.mode or 'a label taken away'}")
            self.reload()

        self.face.desk.quick(lambda: undo_last(self.folder), done, session_deeds.say(self.face, "undo"))

    def do_session_select(self) -> None:
        if self.anchor_ns is None:
            self.stretch, self.anchor_ns = None, self.cursor_ns
        else:
            self.anchor_ns = None
        self.redraw()

    def _jump(self, forward: bool) -> None:
        if not 0 <= self.row < len(self.rows):
            return
        row = self.rows[self.row]
        found = lanes.next_start(row.starts_ns, self.cursor_ns, forward)
        if found is None:
            self.face.tell("info", f"{row.name}: none {'after' if forward else 'before'} the cursor", log=False)
        else:
            self.go_to(found)

    def do_session_next(self) -> None:
        self._jump(True)

    def do_session_previous(self) -> None:
        self._jump(False)

    def do_session_zoom_in(self) -> None:
        self.zoom(ZOOM)

    def do_session_zoom_out(self) -> None:
        self.zoom(1 / ZOOM)

    def do_session_whole(self) -> None:
        self.zoom(1e9)

    def _pan(self, by: int) -> None:
        if self.view is not None:
            self.view = self.view.panned(by * self.view.columns // 4)
            self.redraw()

    def do_session_pan_left(self) -> None:
        self._pan(-1)

    def do_session_pan_right(self) -> None:
        self._pan(1)

    # ---- the session as a whole

    def stretch_s(self) -> tuple[float, float] | None:
        """The selected stretch, in seconds from the session's start; None without one."""
        if self.loaded is None or self.stretch is None:
            return None
        start, end = ((t - self.loaded.timeline.start_ns) / 1e9 for t in self.stretch)
        return start, end

    def do_session_play(self) -> None:
        if self.loaded is not None:
            session_deeds.play(self.face, self.folder, (self.cursor_ns - self.loaded.timeline.start_ns) / 1e9)

    def do_session_cut(self) -> None:
        stretch = self.stretch_s()
        if stretch is None:
            self.face.tell("warning", "select the stretch that becomes a new session first", log=False)
        else:
            session_deeds.cut_out(self.face, self.folder, *stretch, self.reload)

    def do_session_export(self) -> None:
        if self.loaded is not None:
            stretch = self.stretch_s()
            whole = 0.0, self.loaded.timeline.duration_s
            session_deeds.export(self.face, self.folder, *(stretch or whole), whole=stretch is None)

    def do_session_note(self) -> None:
        session_deeds.write_note(self.face, self.folder, self.reload)

    def do_session_tag(self) -> None:
        session_deeds.write_tags(self.face, [self.folder], self.reload)

    def do_session_verify(self) -> None:
        session_deeds.verify(self.face, [self.folder], self.reload)

    def do_session_recover(self) -> None:
        session_deeds.recover(self.face, [self.folder], self.reload)

    def do_session_use(self) -> None:
        session_deeds.use_as_source(self.face, self.folder.name)

    def do_session_cancel(self) -> None:
        session_deeds.cancel(self.face)


class SessionScreen(ListScreen):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def body(self) -> LinesPane:
        pane = SessionPane(self._folder)
        pane.add_class("full-pane")
        return pane

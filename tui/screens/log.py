"""The full log on a screen of its own."""

from __future__ import annotations

from tui.panes.base import LinesPane
from tui.panes.log_file import LogFilePane
from tui.screens.lists import ListScreen


class FullLogScreen(ListScreen):
    def body(self) -> LinesPane:
        pane = LogFilePane("log")
        pane.add_class("full-pane")
        return pane

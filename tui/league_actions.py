"""The rows of the registry that belong to leagues: their list, and the page of one."""

from __future__ import annotations

from typing import Final

from tui.registry import Action

LEAGUE_ACTIONS: Final[tuple[Action, ...]] = (
    Action("league_run", "Start a league", (), "main agents and exploiters learn from each other", "league", form="league"),
    Action("league_imitate", "Make the league's first policy", (), "it plays as those did whose play it saw", "imitate", form="imitate"),
    Action("league_refine", "Refine the first policy", (), "it goes on learning by playing", "refine", form="refine"),
    Action("leagues_open", "Open the run", ("enter",), "its live picture, or what it came to", scope="leagues", footer="open"),
    Action("leagues_run", "Start a league", ("n",), "asks how; it runs as a job", scope="leagues", footer="league"),
    Action("leagues_imitate", "Make a first policy", ("i",), "by imitation; asks how", scope="leagues", footer="imitate"),
    Action("leagues_refine", "Refine it", ("f",), "the newest first policy goes on by playing; asks how", scope="leagues", footer="refine"),
    Action("leagues_resume", "Go on", ("R",), "with the chosen run, as it was begun; asks how far", scope="leagues", footer="go on"),
    Action("leagues_stop", "Stop", ("K",), "the chosen run, else the one that goes on; asks", scope="leagues", footer="stop"),
    Action("leagues_report", "Open the report", ("V",), "its page, in the desktop's own program", scope="leagues", footer="report"),
    Action("leagues_filter", "Filter", ("slash",), "words of kind, name, state; -word leaves out", scope="leagues", footer="filter"),
    Action("leagues_sort", "Order by the next column", ("o",), "when, kind, name, frames, matches", scope="leagues", footer="order"),
    Action("leagues_reverse", "The other way round", ("O",), "reverse the order", scope="leagues"),
    Action("leagues_job", "Details of the job", ("d",), "how it goes, or why it failed", scope="leagues", footer="details"),
    Action("league_part", "The next part", ("space", "v"), "players; the map alone; losses and notes", scope="league", footer="part"),
    Action("league_resume", "Go on", ("R",), "as it was begun; asks how far", scope="league", footer="go on"),
    Action("league_stop", "Stop", ("K",), "it ends after the present step and can go on; asks", scope="league", footer="stop"),
    Action("league_report", "Open the report", ("V",), "its page, in the desktop's own program", scope="league", footer="report"),
    Action("league_job", "Details of the job", ("d",), "how it goes, or why it failed", scope="league", footer="details"),
)

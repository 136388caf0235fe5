"""What a person can do on the screens that judge: evaluations, their pages, data statistics; and in the trash.

A part of the table in ``tui.actions``.
"""

from __future__ import annotations

from typing import Final

from tui.registry import Action

EVALUATION_ACTIONS: Final[tuple[Action, ...]] = (
    Action(
        "evaluations_open", "Open the evaluation", ("enter",), "each level beside what needs no skill", scope="evaluations", footer="open"
    ),
    Action(
        "evaluations_new",
        "Evaluate a policy",
        ("n",),
        "asks which, and how many episodes; it runs as a job",
        scope="evaluations",
        footer="new",
    ),
    Action("evaluations_mark", "Mark to compare", ("space",), "A, which is compared with, then B", scope="evaluations", footer="mark"),
    Action(
        "evaluations_compare",
        "Compare two",
        ("c",),
        "is B better than A; without marks: this one with the one before it",
        scope="evaluations",
        footer="compare",
    ),
    Action("evaluations_plots", "Save the page of plots", ("P",), "as SVG, PNG or PDF", scope="evaluations", footer="plots"),
    Action(
        "evaluations_plots_open", "Open the page of plots", ("V",), "in the desktop's own program", scope="evaluations", footer="view plots"
    ),
    Action(
        "evaluations_filter", "Filter", ("slash",), "words of policy, date, rules; -word leaves out", scope="evaluations", footer="filter"
    ),
    Action(
        "evaluations_sort",
        "Order by the next column",
        ("o",),
        "when, rules, episodes, each rung, policy",
        scope="evaluations",
        footer="order",
    ),
    Action("evaluations_reverse", "The other way round", ("O",), "reverse the order", scope="evaluations"),
    Action("evaluations_job", "Details of the job", ("d",), "how the newest evaluation goes, or why it failed", scope="evaluations"),
    Action("evaluations_stop", "Stop this work", ("K",), "the evaluation that runs (asks), or the drawing of plots", scope="evaluations"),
    Action("evaluation_plots", "Save the page of plots", ("P",), "as SVG, PNG or PDF", scope="evaluation", footer="plots"),
    Action(
        "evaluation_plots_open", "Open the page of plots", ("V",), "in the desktop's own program", scope="evaluation", footer="view plots"
    ),
    Action("evaluation_stop", "Stop this work", ("K",), "the drawing of plots", scope="evaluation"),
    Action("comparison_swap", "The other way round", ("O",), "A becomes B", scope="comparison", footer="swap A and B"),
)

STATISTICS_ACTIONS: Final[tuple[Action, ...]] = (
    Action("statistics_open", "Open the session", ("enter",), "its page: times, notes, timeline", scope="statistics", footer="open"),
    Action(
        "statistics_filter", "Filter", ("slash",), "words of the session, suspicious; -word leaves out", scope="statistics", footer="filter"
    ),
    Action(
        "statistics_sort",
        "Order by the next column",
        ("o",),
        "when, length, ticks, windows, idle and so on",
        scope="statistics",
        footer="order",
    ),
    Action("statistics_reverse", "The other way round", ("O",), "reverse the order", scope="statistics"),
    Action("statistics_again", "Look again", ("R",), "read every session anew", scope="statistics", footer="look again"),
    Action("statistics_stop", "Stop this work", ("K",), "what has been counted stays", scope="statistics"),
)

TRASH_ACTIONS: Final[tuple[Action, ...]] = (
    Action("trash_restore", "Bring it back", ("u", "enter"), "the marked ones, or this one", scope="trash", footer="bring back"),
    Action("trash_mark", "Mark", ("space",), "mark or unmark, and go on to the next", scope="trash", footer="mark"),
    Action("trash_empty", "Empty the trash", ("E",), "deletes for good all that is in it; asks", scope="trash", footer="empty"),
    Action("trash_filter", "Filter", ("slash",), "words; -word leaves out", scope="trash", footer="filter"),
    Action(
        "trash_sort",
        "Order by the next column",
        ("o",),
        "when it was trashed, state, when it was recorded, length, size, title",
        scope="trash",
        footer="order",
    ),
    Action("trash_reverse", "The other way round", ("O",), "reverse the order", scope="trash"),
)

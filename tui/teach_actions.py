"""The rows of the registry that belong to teaching a detector."""

from __future__ import annotations

from typing import Final

from tui.registry import Action

TEACH_ACTIONS: Final[tuple[Action, ...]] = (
    Action(
        "teach_page",
        "Open the page for boxes",
        ("enter",),
        "takes pictures first when there are none; serves the page on this machine alone",
        scope="teach",
        footer="page",
    ),
    Action("teach_more", "More pictures", ("n",), "30 more, of the recordings, unlike those that are there", scope="teach", footer="more"),
    Action(
        "teach_train",
        "Train",
        ("t",),
        "on the confirmed pictures, as a job; asks how",
        "teach",
        form="teach",
        scope="teach",
        footer="train",
    ),
    Action(
        "teach_put",
        "Put it into the profile",
        ("p",),
        "the newest detector, in place of the present one; asks",
        scope="teach",
        footer="put",
    ),
    Action("teach_undo", "The detector before", ("u",), "goes back into the profile", scope="teach", footer="undo"),
    Action("teach_browser", "Show the page", ("o",), "in the desktop's browser", scope="teach", footer="browser"),
    Action("teach_copy", "Copy the address", ("c",), "to the terminal's clipboard (OSC 52)", scope="teach", footer="copy"),
    Action("teach_stop", "Stop", ("K",), "taking pictures, the training (asks), or the page", scope="teach", footer="stop"),
    Action("teach_job", "Details of the training", ("d",), "how it goes, or why it failed", scope="teach", footer="details"),
    Action("teach_game", "The next game", ("G",), "where there are several of one's own", scope="teach"),
    Action("teach_again", "Look again", ("R",), "when another program changed the pictures or the profile", scope="teach"),
)

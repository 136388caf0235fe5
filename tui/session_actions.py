"""What a person can do with recorded sessions: in their list, on one session's page, while it plays, in the preview.

A part of the table in ``tui.actions``. Keys of the app that these shadow there harm nothing; X is a capital, so that a
hand that reaches for F7's letter does not trash what is in the list.
"""

from __future__ import annotations

from typing import Final

from tui.registry import Action

SESSION_ACTIONS: Final[tuple[Action, ...]] = (
    Action("sessions_open", "Open the session", ("enter",), "its page: times, notes, timeline", scope="sessions", footer="open"),
    Action("sessions_filter", "Filter", ("slash",), "words, #tags, states; -word leaves out", scope="sessions", footer="filter"),
    Action(
        "sessions_sort", "Order by the next column", ("o",), "when, length, size, labels, state, title", scope="sessions", footer="order"
    ),
    Action("sessions_reverse", "The other way round", ("O",), "reverse the order", scope="sessions"),
    Action("sessions_mark", "Mark", ("space",), "mark or unmark, and go on to the next", scope="sessions", footer="mark"),
    Action("sessions_mark_all", "Mark all that are shown", ("A",), "again: none", scope="sessions"),
    Action(
        "sessions_trash",
        "To the trash",
        ("X", "delete"),
        "the marked ones, or this one; u brings it back",
        scope="sessions",
        footer="trash",
    ),
    Action("sessions_undo", "Bring it back", ("u",), "undo the last move to the trash here", scope="sessions", footer="undo"),
    Action("sessions_note", "Title and note", ("n",), "what you want to remember of it", scope="sessions", footer="note"),
    Action("sessions_tag", "Tags", ("T",), "of the marked ones, or of this one; -tag takes one away", scope="sessions", footer="tags"),
    Action("sessions_play", "Play it back", ("P",), "in the terminal, at its own pace", scope="sessions", footer="play back"),
    Action("sessions_use", "Capture from it", ("C",), "the recording as the source, as if it were live", scope="sessions"),
    Action("sessions_export", "Export a clip", ("E",), "the whole recording as an MP4", scope="sessions"),
    Action("sessions_merge", "Merge the marked ones", ("M",), "a new session from them in the order of time; they stay", scope="sessions"),
    Action("sessions_verify", "Verify", ("V",), "check it against itself; nothing is changed", scope="sessions", footer="verify"),
    Action(
        "sessions_recover", "Repair", ("R",), "when its recording was cut off; what is damaged is kept", scope="sessions", footer="repair"
    ),
    Action("sessions_cancel", "Stop this work", ("K",), "what is being verified, merged, exported", scope="sessions"),
    Action("session_fight", "Label FIGHT", ("f",), "the selected stretch", scope="session"),
    Action("session_loot", "Label LOOT", ("l",), "the selected stretch", scope="session"),
    Action("session_flee", "Label FLEE", ("e",), "the selected stretch", scope="session"),
    Action("session_explore", "Label EXPLORE", ("o",), "the selected stretch", scope="session"),
    Action("session_cautious", "Label CAUTIOUS", ("c",), "the selected stretch", scope="session"),
    Action("session_unlabel", "Take your label away", ("backspace",), "from the selected stretch", scope="session"),
    Action("session_undo", "Undo the label", ("u",), "the newest label of yours; may be repeated", scope="session", footer="undo"),
    Action(
        "session_select",
        "Select a stretch",
        ("space",),
        "begin at the cursor; arrows extend it; again: end",
        scope="session",
        footer="select",
    ),
    Action(
        "session_next",
        "To the next of this row",
        ("full_stop",),
        "label, click, key, gap: up and down choose the row",
        scope="session",
        footer="next",
    ),
    Action("session_previous", "To the one before", ("comma",), "of the chosen row", scope="session", footer="before"),
    Action("session_zoom_in", "Zoom in", ("plus", "equals_sign"), "around the cursor", scope="session", footer="zoom"),
    Action("session_zoom_out", "Zoom out", ("minus",), "around the cursor", scope="session"),
    Action("session_whole", "The whole session", ("0",), "zoom out as far as it goes", scope="session", footer="whole"),
    Action("session_pan_left", "Earlier", ("left_square_bracket",), "move the view, not the cursor", scope="session"),
    Action("session_pan_right", "Later", ("right_square_bracket",), "move the view, not the cursor", scope="session"),
    Action("session_play", "Play from the cursor", ("enter", "P"), "in the terminal, at its own pace", scope="session", footer="play"),
    Action(
        "session_cut",
        "Cut the stretch out",
        ("N",),
        "a new session of the selected stretch; this one stays",
        scope="session",
        footer="new from it",
    ),
    Action("session_export", "Export a clip", ("E",), "the selected stretch, or all, as an MP4", scope="session", footer="clip"),
    Action("session_note", "Title and note", ("n",), "what you want to remember of it", scope="session", footer="note"),
    Action("session_tag", "Tags", ("T",), "words to find it by", scope="session"),
    Action("session_verify", "Verify", ("V",), "check it against itself; nothing is changed", scope="session"),
    Action("session_recover", "Repair", ("R",), "when its recording was cut off", scope="session"),
    Action("session_use", "Capture from it", ("C",), "the recording as the source, as if it were live", scope="session"),
    Action("session_cancel", "Stop this work", ("K",), "what is being verified, cut, exported", scope="session"),
    Action("play_pause", "Pause, go on", ("space",), "at the end: from the beginning", scope="play", footer="pause"),
    Action("play_back", "5 s back", ("left",), "with shift 30 s", scope="play", footer="back"),
    Action("play_forward", "5 s on", ("right",), "with shift 30 s", scope="play", footer="on"),
    Action("play_slower", "Slower", ("minus", "down"), "down to an eighth", scope="play", footer="slower"),
    Action("play_faster", "Faster", ("plus", "up", "equals_sign"), "up to eight times", scope="play", footer="faster"),
    Action("play_step", "One picture on", ("full_stop",), "pauses", scope="play", footer="step"),
    Action("play_step_back", "One picture back", ("comma",), "pauses", scope="play"),
    Action("play_marks", "Cursor and clicks", ("o",), "on the picture, or not", scope="play", footer="marks"),
    Action("preview", "Preview", ("p",), "the newest picture with what was found on it; again: off", scope="buffer", footer="preview"),
)

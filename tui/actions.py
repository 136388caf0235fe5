"""One registry of everything a person can do here.

Key bindings, the footer, the command palette, the launcher's rows, the edit forms and the help page are made from
it. An action either is a command of the engine (``command``) or a method of the app (``do_<id>``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

Scope = Literal["app", "losses", "log", "sessions"]
"""Where the keys of an action work: everywhere, or while the pane or screen of that name has focus."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person can do.

    ``keys`` are Textual's names; function keys work from every screen and while typing, letters never while typing.
    ``form`` names a model of ``tui.parameters`` whose values go with the command; ``fixed`` are values that cannot
    be edited. ``launcher`` is the text of its row in the Actions pane (empty: no row), ``group`` the row's heading.
    """

    id: str
    title: str
    keys: tuple[str, ...] = ()
    help: str = ""
    command: str = ""
    fixed: Mapping[str, object] = field(default_factory=dict[str, object])
    form: str = ""
    group: str = ""
    launcher: str = ""
    footer: str = ""
    scope: Scope = "app"

    def key_text(self) -> str:
        """The keys as a person reads them: ``F5 / r``."""
        return " / ".join(key_name(key) for key in self.keys)


_NAMES: Final[Mapping[str, str]] = {
    "exclamation_mark": "!",
    "question_mark": "?",
    "colon": ":",
    "slash": "/",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "plus": "+",
    "minus": "-",
}
_TO_TEXTUAL: Final[Mapping[str, str]] = {shown: name for name, shown in _NAMES.items()}


def key_name(key: str) -> str:
    """Textual's name of a key as a person reads it."""
    if key in _NAMES:
        return _NAMES[key]
    return key.upper() if is_function_key(key) else key.replace("ctrl+", "^")


def textual_key(key: str) -> str:
    """A key of ``[keys.face]`` as Textual names it."""
    return _TO_TEXTUAL.get(key, key)


def is_function_key(key: str) -> bool:
    return len(key) > 1 and key[0] == "f" and key[1:].isdigit()


PANES: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("1", "actions", "Actions", "Act"),
    ("2", "losses", "Losses", "Loss"),
    ("3", "now", "Now", "Now"),
    ("4", "buffer", "Capture and buffer", "Buf"),
    ("6", "system", "System", "Sys"),
    ("7", "log", "Log", "Log"),
)
"""The panes: key, id, title, short title. Five is kept for the coach."""

_ACTIONS: Final[tuple[Action, ...]] = (
    Action(
        "record",
        "Record",
        ("f5", "r"),
        "start recording, pause it, go on",
        "record_toggle",
        group="Play",
        launcher="Record",
        footer="record",
    ),
    Action("save", "Save the recording", ("f6", "v"), "stop and save", "record_save", group="Play", launcher="Save", footer="save"),
    Action(
        "discard",
        "Discard the recording",
        ("f7", "x"),
        "stop and put it into the trash; never asks, u brings it back",
        "record_discard",
        group="Play",
        launcher="Discard",
        footer="discard",
    ),
    Action("undo", "Bring the discarded recording back", ("u",), "undo the last discard", "record_undo"),
    Action(
        "play",
        "Play in the arena",
        ("p",),
        "open the arena's window and fly yourself",
        "arena_window",
        group="Play",
        launcher="Play in the arena",
    ),
    Action(
        "demo",
        "Demo: watch a pilot play",
        ("y",),
        "a scripted pilot plays the arena; record it with F5",
        "source",
        fixed={"kind": "arena"},
        form="demo",
        group="Play",
        launcher="Demo: a pilot plays",
    ),
    Action(
        "source",
        "Choose what is captured",
        ("c",),
        "the arena, or a window of the screen",
        "source",
        form="source",
        group="Play",
        launcher="Source",
    ),
    Action(
        "arm",
        "Arm and fly",
        ("a",),
        "hand over the controls; asks, and names the window",
        form="arm",
        group="Fly",
        launcher="Fly",
        footer="fly",
    ),
    Action(
        "train_all",
        "Train all three levels",
        ("t",),
        "strategist, tactician, executor, one after the other",
        "train",
        fixed={"level": "all"},
        form="train",
        group="Train",
        launcher="All three levels",
    ),
    Action(
        "train_strategist",
        "Train the Strategist",
        (),
        "which mode, once a second",
        "train",
        fixed={"level": "strategist"},
        form="train",
        group="Train",
        launcher="Strategist",
    ),
    Action(
        "train_tactician",
        "Train the Tactician",
        (),
        "which target, 5 times a second",
        "train",
        fixed={"level": "tactician"},
        form="train",
        group="Train",
        launcher="Tactician",
    ),
    Action(
        "train_executor",
        "Train the Executor",
        (),
        "which action, 20 times a second",
        "train",
        fixed={"level": "executor"},
        form="train",
        group="Train",
        launcher="Executor",
    ),
    Action(
        "train_detector",
        "Train the detector",
        (),
        "finding objects, on pictures of the arena",
        "train",
        fixed={"level": "detector"},
        form="detector",
        group="Train",
        launcher="Detector",
    ),
    Action(
        "evaluate",
        "Evaluate a policy",
        (),
        "let a policy play and score it beside the demonstrator and random",
        "evaluate",
        form="evaluate",
        group="Train",
        launcher="Evaluate",
    ),
    Action("stop_job", "Stop a job", ("K",), "end the chosen training or evaluation; asks"),
    Action(
        "stop_all",
        "STOP ALL",
        ("f8", "exclamation_mark"),
        "the bot lets go of every key, the recording is saved; never asks",
        "stop_all",
        footer="STOP ALL",
    ),
    Action("edit", "Edit an action's parameters", ("e",), "a form for the chosen row; a right-click opens it too", footer="edit"),
    Action("sessions", "Sessions", ("s",), "what has been recorded", group="Look", launcher="Sessions"),
    Action("doctor", "Checks", ("d",), "what works on this machine and what to do about the rest", group="Look", launcher="Checks"),
    Action("full_log", "Full log", ("g",), "notices and everything that libraries printed", group="Look", launcher="Full log"),
    Action("full", "One pane, full size", ("z",), "the focused pane alone; again: all of them"),
    Action("keys", "Keys", ("question_mark", "f1"), "this page", footer="keys"),
    Action("palette", "Commands", ("ctrl+p", "colon"), "find any action by its name", footer="commands"),
    Action("redraw", "Redraw the screen", ("ctrl+l",), "when something else wrote onto the terminal"),
    Action("quit", "Quit", ("q", "ctrl+c"), "asks when something runs; ctrl+c twice within 2 s leaves at once, safely", footer="quit"),
    Action("log_scale", "Logarithmic scale", ("l",), scope="losses"),
    Action("smooth", "Smoothing", ("m",), "none, 0.6, 0.9", scope="losses"),
    Action("next_run", "Next run", ("right_square_bracket",), "an older or newer training run", scope="losses"),
    Action("previous_run", "Previous run", ("left_square_bracket",), "an older or newer training run", scope="losses"),
    Action("log_filter", "Filter", ("slash",), "show only lines with these words", scope="log"),
    Action("log_level", "Level", ("L",), "from which level on lines are shown", scope="log"),
    Action("log_follow", "Follow", ("f",), "stay at the newest line, or stop", scope="log"),
)


class Registry:
    """The actions with the keys this person uses."""

    def __init__(self, actions: tuple[Action, ...] = _ACTIONS) -> None:
        self.actions = actions
        self._by_id = {action.id: action for action in actions}

    def __getitem__(self, action_id: str) -> Action:
        return self._by_id[action_id]

    def __contains__(self, action_id: str) -> bool:
        return action_id in self._by_id

    def in_scope(self, scope: Scope) -> tuple[Action, ...]:
        return tuple(action for action in self.actions if action.scope == scope)

    def launcher(self) -> tuple[Action, ...]:
        """The rows of the Actions pane, grouped."""
        return tuple(action for action in self.actions if action.launcher)

    def with_keys(self, given: Mapping[str, str]) -> tuple[Registry, tuple[str, ...]]:
        """The registry with remapped keys, and a line for every entry that cannot be used.

        ``given`` maps an action's id to one key or several with commas. A key given to two actions stays with the
        first; the emergency stop always keeps F8 or whatever function key it has.
        """
        wrong: list[str] = []
        actions = dict(self._by_id)
        for action_id, text in given.items():
            if action_id not in actions:
                wrong.append(f"[keys.face] {action_id}: no such action; the ? page lists them")
                continue
            keys = tuple(textual_key(part.strip()) for part in text.split(",") if part.strip())
            old = actions[action_id]
            if action_id == "stop_all" and not any(is_function_key(key) for key in keys):
                keys = (*(key for key in old.keys if is_function_key(key)), *keys)
            actions[action_id] = replace(old, keys=keys)
        taken: dict[tuple[Scope, str], str] = {}
        for action_id in (*(a for a in given if a in actions), *(a for a in actions if a not in given)):
            action = actions[action_id]
            free: list[str] = []
            for key in action.keys:
                owner = taken.setdefault((action.scope, key), action_id)
                if owner == action_id:
                    free.append(key)
                else:
                    wrong.append(f"key {key_name(key)} of {action_id} is taken by {owner}")
            actions[action_id] = replace(action, keys=tuple(free))
        return Registry(tuple(actions.values())), tuple(wrong)


REGISTRY: Final = Registry()

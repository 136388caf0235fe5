"""What an action is, and the registry that holds all of them with the keys this person uses.

``tui.actions`` is the table itself. Key bindings, the footer, the palette, the launcher's rows, the forms, the help
page and ``docs/keys.md`` are made from it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

Scope = Literal[
    "app",
    "actions",
    "losses",
    "now",
    "buffer",
    "log",
    "sessions",
    "session",
    "play",
    "trash",
    "statistics",
    "evaluations",
    "evaluation",
    "comparison",
    "teach",
    "leagues",
    "league",
    "runs",
    "themes",
    "keys",
]
"""Where the keys of an action work: everywhere, or while the pane or screen of that name has focus. There a key of
its own goes before the same key of the app."""

SCOPE_TITLES: Final[Mapping[Scope, str]] = {
    "app": "Everywhere (letters not while typing)",
    "actions": "In the actions",
    "losses": "In the losses pane",
    "now": "In the pane Now",
    "buffer": "In the capture pane",
    "log": "In the log",
    "sessions": "In the list of sessions",
    "session": "On a session's page",
    "play": "While a session plays",
    "trash": "In the trash",
    "statistics": "In the data statistics",
    "evaluations": "In the list of evaluations",
    "evaluation": "On an evaluation's page",
    "comparison": "Where two evaluations are compared",
    "teach": "Where a detector is taught",
    "leagues": "In the list of leagues",
    "league": "On a league's page",
    "runs": "In the list of runs",
    "themes": "In the list of themes",
    "keys": "On the page of keys",
}


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person can do.

    ``keys`` are Textual's names; function keys work from every screen and while typing, letters never while typing.
    ``form`` names a model of ``tui.parameters`` whose values go with the command; ``fixed`` are values that cannot
    be edited, ``about`` what the form says above its fields beside ``help``.
    ``launcher`` is the text of its row in the Actions pane (empty: no row), ``group`` the row's heading.
    ``footer`` is its word in the footer (empty: not there). ``when`` restricts it to a face that is attached to an
    engine elsewhere, or to one that hosts its own.
    """

    id: str
    title: str
    keys: tuple[str, ...] = ()
    help: str = ""
    command: str = ""
    fixed: Mapping[str, object] = field(default_factory=dict[str, object])
    form: str = ""
    about: str = ""
    group: str = ""
    launcher: str = ""
    footer: str = ""
    scope: Scope = "app"
    when: Literal["always", "attached"] = "always"

    def key_text(self) -> str:
        """The keys as a person reads them: ``F5 / r``."""
        return " / ".join(key_name(key) for key in self.keys)

    def first_key(self) -> str:
        """One key as a person reads it, where there is room for one; empty when it has none."""
        return key_name(self.keys[0]) if self.keys else ""


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
    "equals_sign": "=",
    "full_stop": ".",
    "comma": ",",
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


ALWAYS: Final = ("record", "save", "discard", "stop_all", "detach", "keys", "quit")
"""What the footer shows at any width that the face can be used at."""
ROOMY: Final = 98
"""From so many cells on the footer shows the second key of these, too."""


class Registry:
    """The actions with the keys this person uses. ``reserved`` keys belong to something that is no action, by name."""

    def __init__(self, actions: tuple[Action, ...], reserved: Mapping[str, str] | None = None) -> None:
        self.actions = actions
        self.reserved: Mapping[str, str] = reserved or {}
        self._by_id = {action.id: action for action in actions}

    def __getitem__(self, action_id: str) -> Action:
        return self._by_id[action_id]

    def __contains__(self, action_id: str) -> bool:
        return action_id in self._by_id

    def present(self, *, attached: bool) -> Registry:
        """What exists in a face that is attached to an engine elsewhere, or in one that hosts its own."""
        return Registry(tuple(a for a in self.actions if a.when == "always" or attached), self.reserved)

    def in_scope(self, scope: Scope) -> tuple[Action, ...]:
        return tuple(action for action in self.actions if action.scope == scope)

    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that have actions, in the order of ``SCOPE_TITLES``."""
        used = {action.scope for action in self.actions}
        return tuple(scope for scope in SCOPE_TITLES if scope in used)

    def key_words(self, scope: Scope) -> list[tuple[str, str]]:
        """Keys and words of a scope's actions for footers; neighbours with one word are one: ``+ - zoom``."""
        out: list[tuple[str, str]] = []
        for action in self.in_scope(scope):
            if not (action.footer and action.keys):
                continue
            if out and out[-1][1] == action.footer:
                out[-1] = (f"{out[-1][0]} {action.first_key()}", action.footer)
            else:
                out.append((action.first_key(), action.footer))
        return out

    def footer(self, scope: Scope, width: int) -> list[tuple[str, str]]:
        """Keys and words for the footer, at most ``width`` cells with two blanks between them; leaving stands last.

        What does not fit is left out: first the app's other keys, then the pane's own, never the emergency stop.
        """
        app = [action for action in self.in_scope("app") if action.footer and action.keys]
        always = [a for a in app if a.id in ALWAYS]
        others = [(action.first_key(), action.footer) for action in app if action.id not in ALWAYS]
        wide = width >= ROOMY

        def shown(action: Action) -> tuple[str, str]:
            return (action.key_text().replace(" / ", "/") if wide else action.first_key(), action.footer)

        last = [shown(action) for action in always if action.id == "quit"]
        first = [shown(action) for action in always if action.id != "quit"]
        room = width - sum(len(key) + len(word) + 3 for key, word in (*first, *last))
        kept: list[tuple[str, str]] = []
        for key, word in (*(self.key_words(scope) if scope != "app" else ()), *others):
            if len(key) + len(word) + 3 <= room:
                kept.append((key, word))
                room -= len(key) + len(word) + 3
        return [*first, *kept, *last]

    def launcher(self) -> tuple[Action, ...]:
        """The rows of the Actions pane, grouped."""
        return tuple(action for action in self.actions if action.launcher)

    def with_keys(self, given: Mapping[str, str]) -> tuple[Registry, tuple[str, ...]]:
        """The registry with remapped keys, and a line for every entry that cannot be used.

        ``given`` maps an action's id to one key or several with commas. A key that two actions want stays with the one
        that was given it; the emergency stop always keeps its function key, and leaving always keeps ctrl+c.
        """
        wrong: list[str] = []
        actions = dict(self._by_id)
        for action_id, text in given.items():
            if action_id not in actions:
                near = difflib.get_close_matches(action_id, actions, 1)
                hint = f"did you mean {near[0]}? there are: " if near else "there are: "
                wrong.append(f"[keys.face] {action_id}: no such action; {hint}{', '.join(sorted(actions))}")
                continue
            keys = tuple(textual_key(part.strip()) for part in text.split(",") if part.strip())
            old = actions[action_id]
            if action_id == "stop_all" and not any(is_function_key(key) for key in keys):
                keys = (*(key for key in old.keys if is_function_key(key)), *keys)
            if action_id == "quit":
                keys = (*keys, *(key for key in ("ctrl+c",) if key not in keys))
            actions[action_id] = replace(old, keys=keys)
        taken: dict[tuple[Scope, str], str] = {("app", textual_key(key)): name for key, name in self.reserved.items()}
        for action_id in (*(a for a in given if a in actions), *(a for a in actions if a not in given)):
            action = actions[action_id]
            free: list[str] = []
            for key in action.keys:
                owner = taken.setdefault((action.scope, key), action_id)
                if owner == action_id:
                    free.append(key)
                else:
                    wrong.append(f"key {key_name(key)} of {action_id} is taken by {owner}; give one of them another key in [keys.face]")
            actions[action_id] = replace(action, keys=tuple(free))
        return Registry(tuple(actions.values()), self.reserved), tuple(wrong)

"""The keys: those of the place one came from first, then all others; searchable. Made from the registry."""

from __future__ import annotations

from typing import Final

from rich.text import Text
from textual import events

from engine.state import EngineState
from tui.panes.base import LinesPane, cut
from tui.registry import SCOPE_TITLES, Action, Scope
from tui.screens.lists import ListPane, ListScreen

ALWAYS_WORK: Final = ("keys", "keys_filter", "stop_all", "palette", "quit", "detach")
"""What its keys do on this page too."""
MOVES: Final = ("j", "k")


class KeysPane(ListPane):
    scope = "keys"

    def __init__(self, here: Scope) -> None:
        super().__init__("keys", "Keys")
        self._here = here
        self._words = ""

    def key_words(self) -> list[tuple[str, str]]:
        return [*super().key_words(), ("up down", "scroll"), ("esc", "back")]

    def on_key(self, event: events.Key) -> None:
        """A letter that is tried here is to be looked up, not to be done; what must always work does."""
        letter = event.character is not None and event.character.isalpha() and event.key not in MOVES
        if not letter or any(event.key in self.face.registry[name].keys for name in ALWAYS_WORK if name in self.face.registry):
            super().on_key(event)
            return
        event.stop()
        found = [action for action in self.face.registry.actions if event.key in action.keys and action.scope in (self._here, "app")]
        if found:
            does = next((action for action in found if action.scope == self._here), found[0])
            self.face.tell("info", f"{event.key}: {does.title}. Here keys are only looked up: esc goes back, then it works", log=False)

    def compose_all(self, state: EngineState) -> list[Text]:
        palette, registry = self.look.palette, self.face.registry
        scopes = sorted(registry.scopes(), key=lambda scope: scope != self._here)
        out: list[Text] = []
        for scope in scopes:
            actions = [action for action in registry.in_scope(scope) if self._wanted(action)]
            if actions:
                here = "  (here)" if scope == self._here and scope != "app" else ""
                out += [Text(SCOPE_TITLES[scope] + here, palette.strong), *(self._line(action) for action in actions), Text()]
        if self._words and not out:
            return [Text(f"No key or action with {self._words!r}; {self.key('keys_filter')} searches anew.", palette.dim)]
        panes = "-".join((min(registry.reserved), max(registry.reserved))) if registry.reserved else ""
        out.append(Text(f"{panes} choose a pane, tab goes to the next, enter runs a row, esc goes back.", palette.dim))
        out.append(Text('Other keys: in config.toml [keys] face = { id = "keys" }; docs/keys.md lists the ids.', palette.dim))
        return out

    def _wanted(self, action: Action) -> bool:
        said = f"{action.key_text()} {action.title} {action.help} {action.id}".lower()
        return all(word in said for word in self._words.lower().split())

    def _line(self, action: Action) -> Text:
        palette = self.look.palette
        line = Text(no_wrap=True)
        line.append(f"  {action.key_text() or 'enter on its row':<18}", palette.accent if action.keys else palette.dim)
        line.append(f"{action.title:<35.35} " if self.size.width >= 100 else f"{action.title}  ", palette.strong)
        if self.size.width >= 100:
            line.append(f"{action.id:<18} ", palette.dim)
        line.append(action.help)
        return cut(line, max(1, self.size.width), self.look.glyphs.ellipsis)

    def do_keys_filter(self) -> None:
        def typed(words: str | None) -> None:
            if words is not None:
                self._words = words
                self.set_title(f"Keys  /{words}" if words else "Keys")
                self.show(self.face.newest)

        self.face.ask_text("Find keys and actions with", self._words, typed)


class KeysScreen(ListScreen):
    """``here`` is the scope of what had the focus."""

    def __init__(self, here: Scope = "app") -> None:
        super().__init__()
        self._here: Scope = here

    def body(self) -> LinesPane:
        pane = KeysPane(self._here)
        pane.add_class("full-pane")
        return pane

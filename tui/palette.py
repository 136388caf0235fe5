"""The command palette's entries, from the registry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tui.panes.base import LinesPane
from tui.screens.live import PANE_IDS, LiveScreen

if TYPE_CHECKING:
    from tui.app import SecondseatApp
    from tui.registry import Action, Scope


class RegistryCommands(Provider):
    """Every action that can be done from here: everywhere's, those of the focused place, and those of the panes."""

    @property
    def _face(self) -> SecondseatApp:
        return cast("SecondseatApp", self.app)

    def _scopes(self) -> list[Scope]:
        focused = self.screen.focused
        own: list[Scope] = [focused.scope] if isinstance(focused, LinesPane) else []
        panes: list[Scope] = [scope for scope in self._face.registry.scopes() if scope in PANE_IDS and isinstance(self.screen, LiveScreen)]
        scopes: list[Scope] = [*own, "app", *panes]
        return list(dict.fromkeys(scopes))

    def _actions(self) -> list[Action]:
        return [action for scope in self._scopes() for action in self._face.registry.in_scope(scope) if action.id != "palette"]

    def _run(self, action: Action) -> None:
        """An action of a pane is done there: the pane gets the focus first."""
        if action.scope in PANE_IDS and isinstance(self.screen, LiveScreen):
            self.screen.focus_pane(action.scope)
        self._face.call_later(self._face.run_action, f"app.act('{action.id}')")

    def _title(self, action: Action) -> str:
        return action.title if action.scope == "app" else f"{action.scope.capitalize()}: {action.title}"

    def _help(self, action: Action) -> str:
        return "  ".join(part for part in (action.key_text(), action.help) if part)

    async def discover(self) -> Hits:
        for action in self._actions():
            yield DiscoveryHit(self._title(action), partial(self._run, action), help=self._help(action))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action in self._actions():
            title = self._title(action)
            score = matcher.match(f"{title} {action.help} {action.key_text()}")
            if score > 0:
                yield Hit(score, matcher.highlight(title), partial(self._run, action), help=self._help(action))

"""The command palette's entries, from the registry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

if TYPE_CHECKING:
    from tui.app import SecondseatApp
    from tui.registry import Action


class RegistryCommands(Provider):
    """Every action that works everywhere."""

    def _actions(self) -> list[Action]:
        face = cast("SecondseatApp", self.app)
        return [action for action in face.registry.in_scope("app") if action.id != "palette"]

    def _run(self, action_id: str) -> None:
        cast("SecondseatApp", self.app).run_action_id(action_id)

    def _help(self, action: Action) -> str:
        return "  ".join(part for part in (action.key_text(), action.help) if part)

    async def discover(self) -> Hits:
        for action in self._actions():
            yield DiscoveryHit(action.title, partial(self._run, action.id), help=self._help(action))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action in self._actions():
            score = matcher.match(f"{action.title} {action.help}")
            if score > 0:
                yield Hit(score, matcher.highlight(action.title), partial(self._run, action.id), help=self._help(action))

"""Watching a game's window from the command line: the keys that are used, and what a recording would hold."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tui.commands.games_ask import LiveLines, moments
from tui.commands.invocation import shown_duration

if TYPE_CHECKING:
    from data.profile import GameProfile
    from engine.game_builder_rehearsal import Rehearsed


def watch_keys(window_id: int, title: str, seconds: float, control_keys: Collection[str]) -> tuple[list[tuple[str, int]], int]:
    """Keys with their presses, the most used first, and the number of clicks. Raises PlatformError."""
    from engine.game_builder_keys import KeyWatch

    watch, lines = KeyWatch(window_id, control_keys), LiveLines()
    watch.start()
    try:
        for left in moments(seconds):
            focus = f"in {title!r}: counting" if watch.focus() else f"{title!r} has no focus: click into it and play"
            lines.show([f"{shown_duration(left)} left, {focus}; Enter ends it", f"  {counts_text(watch.counts(), watch.clicks)}"])
        return watch.counts(), watch.clicks
    finally:
        watch.stop()
        lines.end()


def counts_text(counts: list[tuple[str, int]], clicks: int) -> str:
    keys = "  ".join(f"{name} {count}" for name, count in counts) or "no key yet"
    return f"{keys}   ({clicks} click{'' if clicks == 1 else 's'})"


def rehearse(profile: GameProfile, seconds: float, fps: float, control_keys: Collection[str]) -> Rehearsed:
    """Show for some seconds what would be recorded; nothing is written. Raises PlatformError."""
    from engine.game_builder_rehearsal import Rehearsal

    lines = LiveLines()
    try:
        with Rehearsal(profile, fps, control_keys) as rehearsal:
            for left in moments(seconds):
                head = f"what would be recorded of {profile.name} ({shown_duration(left)} left, nothing is written, Enter ends it)"
                lines.show([head, *(f"  {line}" for line in rehearsal.look().lines(profile))])
            return rehearsal.look()
    finally:
        lines.end()

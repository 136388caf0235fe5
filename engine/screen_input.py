"""The input into what is watched on the screen: which window it is of, what is held in it, and what is odd about it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from data.geometry import Rect
from data.profile import GameProfile
from data.schema import InputEvent
from engine.actuator.journal import Journal
from engine.bot import Bot
from engine.recorder import Recorder

if TYPE_CHECKING:
    from engine.input.listener import InputListener

log = logging.getLogger("engine.rig")

BOT_LETS_GO_S: Final = 1.0
"""What the bot lets go of may come so long after it was disarmed."""


class ScreenInput:
    """``follow`` and ``stop`` are called one after the other; ``turn`` by the capture thread, the rest by any.

    titled: whether a window is looked for by its title (else all of a monitor or a region is watched, with no focus to
    go by); what: how that is called.
    """

    def __init__(
        self,
        profile: GameProfile,
        control_keys: Collection[str],
        journal: Journal,
        titled: bool,
        what: str,
        on_event: Callable[[InputEvent], None],
        recorder: Recorder,
        bot: Bot,
    ) -> None:
        self._profile, self._control_keys, self._journal = profile, control_keys, journal
        self._titled, self._what = titled, what
        self._on_event, self._recorder, self._bot = on_event, recorder, bot
        self._listener: InputListener | None = None
        self._recentred = 0  # by the game, before the recording that runs
        self._told_recentred = False
        self._deaf = ""
        self._bot_acted_s = -BOT_LETS_GO_S
        self.window_id: int | None = None
        """The window that is listened to."""

    @property
    def cursor(self) -> tuple[float, float] | None:
        return self._listener.cursor if self._listener is not None else None

    @property
    def focus(self) -> bool:
        return self._listener.focus if self._listener is not None and self.window_id is not None else not self._titled

    @property
    def text(self) -> str:
        """For the system's state: "listening", or why not."""
        return (self._listener.state or "listening") if self._listener is not None else "off"

    def follow(self, window_id: int | None, rect: Rect | None) -> None:
        """Listen to the window that is followed now, or to the mouse inside a fixed region. Raises PlatformError."""
        from engine.input.listener import InputListener

        if self._listener is not None:
            self._listener.follow(window_id, rect)
        elif window_id is not None or not self._titled:
            listener = InputListener(self._profile, self._on_event, self._journal, self._control_keys, self._bot_may_act)
            listener.start(window_id, rect)
            self._listener = listener
            if not self._titled:
                log.warning(
                    "%s has no focus to go by: the mouse is recorded, keys are not; name the game's window to record keys", self._what
                )
        self.window_id = window_id

    def stop(self) -> None:
        if self._listener is not None:
            self._listener.stop()

    def begin_recording(self) -> None:
        """What is held down as a recording begins is part of it."""
        if self._listener is not None:
            self._recentred = self._listener.centre.count
            self.offer_held()

    def offer_held(self) -> None:
        """Also what was pressed a moment before the recorder was told of the focus."""
        if self._listener is not None:
            for event in self._listener.held_events():
                self._recorder.offer_event(event)

    def turn(self) -> None:
        """With each picture."""
        self._bot_may_act()

    def _bot_may_act(self) -> bool:
        """Whether the bot has its hands on the controls, or had until a moment ago."""
        if self._bot.phase not in ("disarmed", "stopped"):
            self._bot_acted_s = time.monotonic()
        return time.monotonic() - self._bot_acted_s < BOT_LETS_GO_S

    def look_at_pointer(self) -> None:
        """Now and then: tells, once, that the game re-centres the pointer."""
        if self._listener is not None and self._listener.centre.noticed and not self._told_recentred:
            self._told_recentred = True
            log.warning("the game puts the pointer back into the middle: its places say little, its relative motion is recorded")

    def look_at_listener(self) -> None:
        """Now and then: tells, once, that what is pressed in the game cannot be heard, and why."""
        deaf = self._listener.state if self._listener is not None else ""
        if deaf and deaf != self._deaf:
            log.warning("what is pressed in the game is not heard: %s", deaf)
            self._recorder.note(f"input not heard: {deaf}")
        self._deaf = deaf

    def last_remarks(self) -> list[str]:
        """What is known of a recording only when it ends."""
        centre = self._listener.centre if self._listener is not None else None
        return [centre.remark(centre.count - self._recentred)] if centre is not None and centre.noticed else []

"""Sessions of last man standing in which a league's policy, or a scripted pilot, is the demonstrator.

It plays through a person's keys and mouse (``Fingers``), so that what is recorded is what acted. Pictures are what a person in that
seat would see; the steps are exact tracks and gauges, not perceived from pixels, since no detector was made for this game. The
picture of a tick is two world steps (33 ms) old, as in the arena's own recordings. Everything is in lockstep, faster than real time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from data.profile import LAST_STANDING_PROFILE
from data.progress import Progress, Report, ignore
from data.schema import Frame, Step

if TYPE_CHECKING:
    from data.session import SessionWriter
    from league.players import Player

SEATS: Final = 4
"""The profile's gauges are where a match of four shows them."""
SEAT: Final = 0
"""The demonstrator's, whose card is the first."""


@dataclass(frozen=True, slots=True)
class RecordedMatches:
    """A finished session."""

    session: str
    demonstrator: str
    duration_s: float
    places: tuple[float, ...]
    """The demonstrator's, of each match that was not cut short by the session's end."""


def record_matches(
    workspace: Path,
    names: Sequence[str],
    players: Sequence[Player],
    seed: int,
    duration_s: float,
    look: str = "classic",
    report: Report = ignore,
    stop: Callable[[], bool] = lambda: False,
) -> RecordedMatches:
    """Record ``duration_s`` of play of the first player, match after match; each ends for it when its ship is lost.

    Stopped, what was recorded is saved. Raises ValueError for another number of players than four or an unknown look, OSError.
    """
    from data.metadata import Source
    from data.session import SessionWriter
    from league.arena.last_standing_rules import RULES_VERSION
    from league.arena.looks import look_named
    from league.arena.world import TICK_HZ

    if len(names) != SEATS or len(players) != SEATS:
        raise ValueError(f"recording: {len(names)} players; a recorded match has {SEATS}, the first is the demonstrator")
    drawn, start_ns = look_named(look), time.monotonic_ns()
    writer = SessionWriter.create(
        workspace,
        "play",
        LAST_STANDING_PROFILE,
        Source(kind="arena", description=f"last man standing 640x360, off screen, {names[0]} flies, faster than real time"),
        float(TICK_HZ),
        LAST_STANDING_PROFILE.picture_size,
        tick_hz=float(TICK_HZ),
        start_ns=start_ns,
        details={
            "rules_version": RULES_VERSION,
            "pilot": names[0],
            "opponents": list(names[1:]),
            "seed": seed,
            "look": look,
            "perception": "exact, in lockstep; the demonstrator sees the world as it is, without a reaction time",
        },
    )
    total = max(1, round(duration_s * TICK_HZ))
    recording = _Recording(writer, tuple(names), tuple(players), drawn, start_ns)
    places: list[float] = []
    try:
        while recording.ticks < total and not stop():
            place = recording.match(seed + recording.matches, total, report, stop)
            places += [place] if place is not None else []
        writer.metadata.details["places"] = places
    except BaseException:
        writer.close("unsaved")
        raise
    writer.close("saved")
    return RecordedMatches(writer.id, names[0], recording.ticks / TICK_HZ, tuple(places))


class _Recording:
    """One session being written."""

    def __init__(self, writer: SessionWriter, names: tuple[str, ...], players: tuple[Player, ...], look: Any, start_ns: int) -> None:
        from league.arena.flight import Controls
        from league.arena.last_standing_truth import LastStandingObserver

        self._writer, self._names, self._players, self._look, self._start_ns = writer, names, players, look, start_ns
        self._controls = Controls("demonstrator", names[0])
        self._observer = LastStandingObserver()
        self.ticks = self.matches = 0

    def match(self, seed: int, total: int, report: Report, stop: Callable[[], bool]) -> float | None:
        """One match, up to ``total`` ticks of the session; the demonstrator's place, None when it was not settled."""
        from league.arena import last_standing as game
        from league.arena.last_standing_board import Flyer, flyers
        from league.arena.last_standing_match import Fingers, Hand
        from league.arena.last_standing_view import Renderer
        from league.arena.world import TICK_HZ

        self.matches += 1
        for k, player in enumerate(self._players):
            player.reset(np.ones(1, np.bool_), np.array([seed + k], np.int64))
        state = game.new_worlds(1, [seed], SEATS)
        renderer = Renderer((Flyer("you", 0, True), *flyers(self._names)[1:]), 1, self._look)
        self._observer.begin()
        fingers, hand = Fingers(cursor_px=(self._controls.cursor[0] * 640, self._controls.cursor[1] * 360)), Hand()
        world = _World(state, renderer, hand)
        while self.ticks < total and not stop() and not game.decided(state)[0, SEAT]:
            self._tick(world, fingers)
            if self.ticks % TICK_HZ == 0:
                report(Progress("recording", self.ticks / total, message=f"match {self.matches}, {self.ticks // TICK_HZ} s"))
        for event in self._controls.release_all(self._time_ns(self.ticks - 1) + 1):  # a new world: nothing stays held
            self._writer.write_event(event)
        return float(game.placements(state)[0, SEAT]) if game.decided(state)[0, SEAT] else None

    def _time_ns(self, tick: int) -> int:
        from league.arena.episode import TICK_NS

        return self._start_ns + (tick + 1) * TICK_NS

    def _tick(self, world: _World, fingers: Any) -> None:
        from league.arena import last_standing as game
        from league.arena.flight import STEP_NS
        from league.codec import decode

        state, number, time_ns = world.state, self.ticks, self._time_ns(self.ticks)
        frame_ns = time_ns - world.picture_age_steps * STEP_NS
        self._writer.write_frame(Frame(number, frame_ns, world.picture))
        seen = self._observer.observe(world.pictured, 0, SEAT, (time_ns, frame_ns), number, self._controls.cursor)
        all_seen = game.build_observation(state)
        actions = np.stack([decode(player.act(all_seen[:, k : k + 1]))[0, 0] for k, player in enumerate(self._players)])[None]
        action = fingers.act(actions[0, SEAT], state.ship_pos[0, SEAT].tolist())
        for event in self._controls.act(action, time_ns):
            self._writer.write_event(event)
            world.take(event)
        self._writer.write_step(Step(seen, action, "demonstrator", self._names[0]))
        world.advance(actions)
        self.ticks += 1


class _World:
    """A match with the picture that the next tick goes by."""

    def __init__(self, state: Any, renderer: Any, hand: Any) -> None:
        self.state, self._renderer, self._hand = state, renderer, hand
        self.pictured = state.world(0)
        self.picture = renderer.picture(state)
        self.picture_age_steps = 0

    def take(self, event: Any) -> None:
        """The demonstrator's hand does what the event says."""
        self._hand.aim_px = (event.x * 640, event.y * 360)
        if event.kind in ("press", "release"):
            self._hand.press(event.name, event.kind == "press")

    def advance(self, actions: Any) -> None:
        """One action of all ships; the demonstrator's is its hand's."""
        from league.arena import last_standing as game
        from league.arena.last_standing_rules import STEPS_PER_ACTION

        actions[0, SEAT] = self._hand.action(self.state.ship_pos[0, SEAT].tolist())
        for step in range(STEPS_PER_ACTION):
            game.advance(self.state, actions, 1)
            self._renderer.notice(self.state)
            if step == 0:
                self.pictured, self.picture = self.state.world(0), self._renderer.picture(self.state)
        self.picture_age_steps = STEPS_PER_ACTION - 1

"""Scripted demonstrators: expert, novice and random.

A pilot gets only observations, the same a learner gets, and acts on one some ticks old: its reaction time. It moves
the cursor with a human-like hand and clicks where the cursor has arrived. It knows its own mode and target, so that
labels, learners and coaches can be judged against them.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from data.schema import NO_TARGET, Action, Observation
from data.vocabulary import Mode
from league.arena.hands import Hand
from league.arena.sizes import MAP_HEIGHT_PX, MAP_WIDTH_PX
from league.arena.skirmish import KEYS
from league.arena.tactics import Skill, View, Wish, decide

PilotName = Literal["expert", "novice", "random"]
PILOTS: Final[tuple[PilotName, ...]] = ("expert", "novice", "random")


@dataclass(frozen=True, slots=True)
class PilotDecision:
    """What a pilot does in one tick, and why: its mode, and the track id it is after (``NO_TARGET`` for none)."""

    action: Action
    mode: Mode
    target_id: int = NO_TARGET


class Pilot(Protocol):
    """Whoever flies one world. ``name`` is stored as the actor's name."""

    name: str

    def reset(self, seed: int) -> None:
        """Forget everything; the next observation begins an episode."""
        ...

    def act(self, observation: Observation) -> PilotDecision:
        """One decision per 20 Hz tick."""
        ...


@dataclass(frozen=True, slots=True)
class Temper:
    """How quick and steady a pilot is. Times in ticks of 1/20 s."""

    reaction: tuple[int, int]
    """Least and most ticks between what is there and what the pilot goes by."""
    pause: int
    """Between a click and the next thought of one, beyond the reaction time."""
    key_pause: int
    aim_px: float
    ticks_per_px: float
    lapses: float = 0.0
    """Share of intentions that come to nothing for a while."""


EXPERT: Final = (Skill(), Temper(reaction=(3, 4), pause=3, key_pause=10, aim_px=2.0, ticks_per_px=1 / 110))
NOVICE: Final = (
    Skill(abilities=False, picks_ammo=False, picks_target=False, keeps_range=False, loot_px=90.0, cache_px=200.0, hunter_px=150.0),
    Temper(reaction=(6, 8), pause=10, key_pause=24, aim_px=7.0, ticks_per_px=1 / 70, lapses=0.2),
)


class ScriptedPilot:
    """Tactics behind a reaction time and a hand."""

    def __init__(self, name: PilotName, skill: Skill, temper: Temper, seed: int) -> None:
        self.name: str = name
        self._skill = skill
        self._temper = temper
        self.reset(seed)

    def reset(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._hand = Hand(self._rng, self._temper.aim_px, self._temper.ticks_per_px)
        self._past: deque[Observation] = deque(maxlen=self._temper.reaction[1] + 1)
        self._reaction = self._rng.randint(*self._temper.reaction)
        self._wish = Wish("EXPLORE")
        self._follow = NO_TARGET
        self._click_wait = 0
        self._key_wait = 0

    def act(self, observation: Observation) -> PilotDecision:
        self._past.append(observation)
        self._click_wait -= 1
        self._key_wait -= 1
        if len(self._past) > self._reaction:
            self._think(View(self._past[-1 - self._reaction]))
        action = self._hand.tick(observation.cursor)
        if action.click != "none":
            # What a click did is seen only after the reaction time.
            self._click_wait = self._reaction + self._temper.pause
            self._reaction = self._rng.randint(*self._temper.reaction)
        return PilotDecision(action, self._wish.mode, self._wish.target_id)

    def _think(self, view: View) -> None:
        if self._hand.busy:
            self._keep_reaching(view)
            return
        wish = decide(view, self._skill)
        self._wish = wish
        if wish.key is not None and self._key_wait <= 0:
            self._key_wait = self._reaction + self._temper.key_pause
            if not self._lapses():
                self._hand.press(wish.key)
        if wish.point is not None and self._click_wait <= 0:
            if self._lapses():
                self._click_wait = self._temper.pause
                return
            self._follow = wish.follow
            self._hand.click_at(*self._ahead(view, wish.point), wish.button)

    def _lapses(self) -> bool:
        return self._rng.random() < self._temper.lapses

    def _keep_reaching(self, view: View) -> None:
        """Follow the thing reached for; let go when it is gone."""
        if self._follow == NO_TARGET:
            return
        thing = view.by_id.get(self._follow)
        if thing is None:
            self._hand.give_up()
        else:
            self._hand.aim_at(*self._ahead(view, (thing.x, thing.y)))

    def _ahead(self, view: View, point: tuple[float, float]) -> tuple[float, float]:
        """Where a moving thing will be once seen: people make up for their own delay."""
        thing = view.by_id.get(self._follow)
        if thing is None:
            return point
        lag_s = (self._reaction + 1) / 20.0
        return thing.x + thing.vx * lag_s, thing.y + thing.vy * lag_s


class RandomPilot:
    """Clicks and presses at a plausible rate, whatever it sees."""

    def __init__(self, seed: int) -> None:
        self.name: str = "random"
        self.reset(seed)

    def reset(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._hand = Hand(self._rng, 2.0, 1 / 110)

    def act(self, observation: Observation) -> PilotDecision:
        rng = self._rng
        if not self._hand.busy and rng.random() < 0.08:
            button = "mouse_left" if rng.random() < 0.9 else "mouse_right"
            self._hand.click_at(rng.uniform(0.02, 0.98) * MAP_WIDTH_PX, rng.uniform(0.02, 0.98) * MAP_HEIGHT_PX, button)
        if rng.random() < 0.04:
            self._hand.press(rng.choice(KEYS))
        return PilotDecision(self._hand.tick(observation.cursor), "EXPLORE")


def make_pilot(name: str, seed: int) -> Pilot:
    """A demonstrator by name. Raises ValueError for a name that is none of ``PILOTS``."""
    if name == "expert":
        return ScriptedPilot("expert", *EXPERT, seed)
    if name == "novice":
        return ScriptedPilot("novice", *NOVICE, seed)
    if name == "random":
        return RandomPilot(seed)
    raise ValueError(f"arena pilot: none is called {name!r}; use one of {', '.join(PILOTS)}")

"""Last man standing behind two common doors: Gymnasium for one learning seat, PettingZoo's parallel API for all of them.

Both step one world and cost Python's price for it; whoever learns at speed uses ``last_standing`` itself, with many worlds
at once. Observations are the 19 numbers of ``league.codec``. Actions are bin indices (``MultiDiscrete``, in the order of
``HEADS``) or, with ``continuous=True``, a dictionary with the parts of a ``ShipAction``. The only reward is the outcome
(+1 first place, -1 last), paid in the step that decides it. An episode that the limit cuts pays nothing, since its value is
that of what would have come; ``place`` tells how it stood. Gymnasium and PettingZoo are imported here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from league import codec
from league.arena import last_standing as game
from league.arena.last_standing_pilots import LastStandingPilot, make_pilot

F32 = NDArray[np.float32]
Choice = NDArray[np.int64] | dict[str, Any]
"""An action: int64 [7], or ``move`` [2], ``aim`` [2], ``fire``, ``ability`` and ``interact``."""


def observation_space() -> spaces.Space[Any]:
    return spaces.Box(codec.OBSERVATION_LOW, codec.OBSERVATION_HIGH, dtype=np.float32)


def action_space(continuous: bool) -> spaces.Space[Any]:
    if not continuous:
        return spaces.MultiDiscrete(codec.BINS.astype(np.int64))
    return spaces.Dict(
        {
            "move": spaces.Box(-1.0, 1.0, (2,), np.float32),
            "aim": spaces.Box(-1.0, 1.0, (2,), np.float32),
            "fire": spaces.Discrete(2),
            "ability": spaces.Discrete(codec.HEADS["ability"]),
            "interact": spaces.Discrete(2),
        }
    )


def action_numbers(action: Choice) -> F32:
    """float32 [7] of one action of either kind."""
    if not isinstance(action, dict):
        return codec.decode(np.asarray(action))
    parts = (action["move"], action["aim"], [action["fire"], action["ability"], action["interact"]])
    return np.concatenate([np.asarray(part, np.float32) for part in parts])


class BotGameEnv(gymnasium.Env[F32, Choice]):
    """One learning seat against scripted pilots. The episode ends for it when its ship is lost or the world is over.

    opponents: names of ``last_standing_pilots``, 1 to 7. The seat is drawn for each episode. ``info`` holds ``head_mask``
    (bool [7], which parts of the next action can have an effect), ``place`` (0 while undecided) and ``seat``.
    Raises ValueError for unknown pilots or a wrong number of them.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "render_fps": 20}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        opponents: Sequence[str] = ("novice", "novice", "novice"),
        episode_steps: int = game.EPISODE_STEPS,
        continuous: bool = False,
    ) -> None:
        self.observation_space = observation_space()
        self.action_space = action_space(continuous)
        self._opponents = tuple(opponents)
        self._episode_steps = episode_steps
        self._begin(0, 0)

    def _begin(self, seed: int, seat: int) -> None:
        """A new world, so that what does not fit is refused when the environment is made."""
        ships = len(self._opponents) + 1
        self._state = game.new_worlds(1, [seed], ships, self._episode_steps)
        self._seat = seat
        self._pilots: list[tuple[int, LastStandingPilot]] = [
            ((seat + 1 + k) % ships, make_pilot(name, [seed + 1 + k])) for k, name in enumerate(self._opponents)
        ]

    def _info(self) -> dict[str, Any]:
        decided = bool(game.decided(self._state)[0, self._seat])
        return {
            "head_mask": game.action_masks(self._state)[0, self._seat],
            "place": float(game.placements(self._state)[0, self._seat]) if decided else 0.0,
            "seat": self._seat,
        }

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[F32, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._begin(int(self.np_random.integers(2**62)), int(self.np_random.integers(self._state.ships)))
        return game.build_observation(self._state)[0, self._seat], self._info()

    def step(self, action: Choice) -> tuple[F32, float, bool, bool, dict[str, Any]]:
        state, seat = self._state, self._seat
        seen = game.build_observation(state)
        actions = np.zeros((1, state.ships, len(codec.HEADS)), np.float32)
        actions[0, seat] = action_numbers(action)
        for k, pilot in self._pilots:
            actions[:, k] = codec.decode(pilot.act(seen[:, k : k + 1]))[:, 0]
        game.step(state, actions)
        truncated = bool(state.truncated[0] and state.ship_alive[0, seat])
        terminated = bool(game.decided(state)[0, seat]) and not truncated
        reward = 0.0 if truncated else float(game.outcomes(state)[0, seat])
        return game.build_observation(state)[0, seat], reward, terminated, truncated, self._info()


class LastStandingParallelEnv(ParallelEnv[str, F32, Choice]):
    """All seats of one world; agents are ``ship_0`` and so on, and leave when their ship is lost.

    ``infos`` hold ``head_mask`` and ``place`` as in ``BotGameEnv``. Raises ValueError for fewer than 2 or more than 8 ships.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "name": f"last_standing_v{game.RULES_VERSION}",
        "render_modes": [],
        "is_parallelizable": True,
    }
    render_mode = None

    def __init__(self, ships: int = 4, episode_steps: int = game.EPISODE_STEPS, continuous: bool = False) -> None:
        self._state = game.new_worlds(1, [0], ships, episode_steps)
        self._episode_steps = episode_steps
        self._random = np.random.default_rng()
        self.possible_agents = [f"ship_{i}" for i in range(ships)]
        self.agents: list[str] = []
        self.observation_spaces = {agent: observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: action_space(continuous) for agent in self.possible_agents}
        self._index: Final = {agent: i for i, agent in enumerate(self.possible_agents)}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def _told(self) -> tuple[dict[str, F32], dict[str, dict[str, Any]]]:
        """Observations and infos of the agents."""
        seen, masks = game.build_observation(self._state)[0], game.action_masks(self._state)[0]
        places, settled = game.placements(self._state)[0], game.decided(self._state)[0]
        rows = [(agent, self._index[agent]) for agent in self.agents]
        infos = {agent: {"head_mask": masks[i], "place": float(places[i]) if settled[i] else 0.0} for agent, i in rows}
        return {agent: seen[i] for agent, i in rows}, infos

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, F32], dict[str, dict[str, Any]]]:
        if seed is not None:
            self._random = np.random.default_rng(seed)
        key = int(self._random.integers(2**62))
        self._state = game.new_worlds(1, [key], len(self.possible_agents), self._episode_steps)
        self.agents = self.possible_agents[:]
        return self._told()

    def step(
        self, actions: dict[str, Choice]
    ) -> tuple[dict[str, F32], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        numbers = np.zeros((1, len(self.possible_agents), len(codec.HEADS)), np.float32)
        for agent in self.agents:
            numbers[0, self._index[agent]] = action_numbers(actions[agent])
        game.step(self._state, numbers)
        outcome, settled, alive = game.outcomes(self._state)[0], game.decided(self._state)[0], self._state.ship_alive[0]
        rows = [(agent, self._index[agent]) for agent in self.agents]
        truncated = {agent: bool(self._state.truncated[0] and alive[i]) for agent, i in rows}
        terminated = {agent: bool(settled[i]) and not truncated[agent] for agent, i in rows}
        seen, infos = self._told()
        self.agents = [agent for agent, i in rows if not settled[i]]
        return seen, {agent: 0.0 if truncated[agent] else float(outcome[i]) for agent, i in rows}, terminated, truncated, infos

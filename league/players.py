"""Who flies a ship of last man standing: a scripted pilot, a policy from a file, or a person; and how good a policy is against pilots.

A player is named by a word: ``expert``, ``novice`` or ``random`` is a script, ``person`` is whoever sits at the keyboard, anything
else is a policy. All but a person decide for many worlds and seats at once. Legend: N worlds, K seats that a player flies in each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from data.progress import Progress, Report, ignore
from league.arena import last_standing as game
from league.arena.last_standing_pilots import PILOTS, LastStandingPilot, make_pilot, seats_of
from league.codec import HEADS
from league.ratings import Interval, wilson

if TYPE_CHECKING:
    from league.network import ActorCritic

PERSON: Final = "person"
SUFFIX: Final = ".safetensors"
_HELD_OUT: Final = 7_000_000_000
"""Worlds that policies are judged in begin here: far from those they learn from."""
_ANEW: Final = 2**60
"""And here those in which what was chosen by such judgements is judged once more, whatever seed and number of matches they had."""
_WORLDS_AT_ONCE: Final = 512


class PlayerError(ValueError):
    """A player cannot be had; the text says which, why and what to do."""


class Player(Protocol):
    """Decides for the seats it flies."""

    def act(self, observation: NDArray[np.float32]) -> NDArray[np.int8]:
        """Bin indices int8 [N, K, 7] for observations float32 [N, K, 19]."""
        ...

    def reset(self, which: NDArray[np.bool_], seeds: NDArray[Any] | None = None) -> None:
        """New episodes begin in the worlds of ``which`` (bool [N])."""
        ...


class PolicyPlayer:
    """A policy: it draws from what it thinks likely, or with ``greedy`` always takes the likeliest."""

    def __init__(self, network: ActorCritic, seed: int = 0, greedy: bool = False) -> None:
        import torch

        self._network, self._greedy = network, greedy
        self._generator = torch.Generator().manual_seed(seed % 2**63)

    def act(self, observation: NDArray[np.float32]) -> NDArray[np.int8]:
        import torch

        seen = torch.from_numpy(np.ascontiguousarray(observation))
        return self._network.act(seen, generator=self._generator, greedy=self._greedy).action.numpy()

    def reset(self, which: NDArray[np.bool_], seeds: NDArray[Any] | None = None) -> None:
        """Nothing is remembered between decisions."""


def load_player(name: str, worlds: int = 1, seed: int = 0, *, greedy: bool = False, find: Callable[[str], Path] = Path) -> Player:
    """The player of that name for ``worlds`` worlds; ``find`` gives the file of a policy's name.

    Raises PlayerError for a person (who is no program) and when no policy lies there, CheckpointError when it does not fit.
    """
    if name in PILOTS:
        return make_pilot(name, np.arange(worlds, dtype=np.int64) + seed)
    if name == PERSON:
        raise PlayerError("a person can only sit in a window; name a scripted pilot or a policy here")
    from league.imitate import load_policy

    path = find(name)
    path = path.with_name(path.name.removesuffix(SUFFIX))
    if not path.with_name(path.name + SUFFIX).is_file():
        raise PlayerError(f"{name}: neither a scripted pilot ({', '.join(PILOTS)}) nor a policy's file: there is no {path.name}{SUFFIX}")
    network, _ = load_policy(path)
    return PolicyPlayer(network, seed, greedy)


@dataclass(frozen=True, slots=True)
class Versus:
    """How a policy did alone among pilots of one kind."""

    opponent: str
    opponents: int
    """Ships of that kind in each match."""
    matches: int
    payoff: Interval
    """P[the policy ranks above one of them], a tie counting one half: 0.5 is parity. 95 %, each match counted once."""
    first: Interval
    """Share of matches in which it came first, alone or not; parity is one over the ships."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "payoff": self.payoff._asdict(), "first": self.first._asdict()}

    def text(self) -> str:
        """One line."""
        low, high = self.payoff.low, self.payoff.high
        return (
            f"against {self.opponents} {self.opponent}: ranks above one of them {self.payoff.value:.3f} ({low:.3f} to {high:.3f}), "
            f"first in {self.first.value:.3f} of {self.matches} matches"
        )


def judge(
    network: ActorCritic,
    opponents: Sequence[str] = tuple(PILOTS),
    matches: int = 400,
    ships: int = 4,
    seed: int = 0,
    report: Report = ignore,
    stop: Callable[[], bool] = lambda: False,
    anew: bool = False,
) -> list[Versus]:
    """``matches`` matches of the policy among ``ships - 1`` pilots of each kind, in worlds that nothing is learnt from.

    All kinds are met in the same worlds, and so are all policies judged with one ``seed``; ``anew``: in worlds that no judgement without
    it has. ``stop`` ends it: kinds that are not through are left out. Raises PlayerError for an unknown pilot or fewer than one match.
    """
    unknown = sorted(set(opponents) - set(PILOTS))
    if unknown or matches < 1:
        raise PlayerError(f"judging: {matches} matches against {', '.join(opponents)}; use 1 or more, against {', '.join(PILOTS)}")
    found: list[Versus] = []
    first_world = (_ANEW if anew else _HELD_OUT) + seed * matches
    for number, name in enumerate(opponents):
        scores: list[NDArray[Any]] = []
        firsts: list[NDArray[Any]] = []
        for start in range(0, matches, _WORLDS_AT_ONCE):
            if stop():
                return found
            count = min(_WORLDS_AT_ONCE, matches - start)
            report(Progress("plays the pilots", (number + start / matches) / len(opponents), message=name))
            score, first = _play(PolicyPlayer(network, seed * 97 + number + start), name, first_world + start, count, ships)
            scores.append(score)
            firsts.append(first)
        above, won = float(np.concatenate(scores).mean()), float(np.concatenate(firsts).mean())
        found.append(Versus(name, ships - 1, matches, wilson(above * matches, matches), wilson(won * matches, matches)))
    return found


def _play(player: Player, pilot_name: str, first_seed: int, worlds: int, ships: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """[worlds] share of the pilots that the player ranks above, and whether it came first. Seats rotate."""
    seeds = np.arange(first_seed, first_seed + worlds, dtype=np.int64)
    state = game.new_worlds(worlds, seeds, ships)
    seats, rows = seats_of(worlds, ships), np.arange(worlds)[:, None]
    groups: list[tuple[Player, NDArray[np.int64]]] = [(player, seats[:, :1]), (make_pilot(pilot_name, seeds), seats[:, 1:])]
    actions = np.zeros((worlds, ships, len(HEADS)), np.int8)
    while not state.over.all():
        seen = game.build_observation(state)
        for one, taken in groups:
            actions[rows, taken] = one.act(seen[rows, taken])
        game.step(state, actions)
    above = game.payoff(state)[rows, seats[:, :1], seats[:, 1:]].mean(1)
    return above, game.placements(state)[rows, seats[:, :1]][:, 0] < 2


__all__ = ["PERSON", "LastStandingPilot", "Player", "PlayerError", "PolicyPlayer", "Versus", "judge", "load_player"]

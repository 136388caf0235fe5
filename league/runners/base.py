"""The interface of all runners, and what they share.

A runner has a number of actors, each with worlds of its own (``league.rollout.Actor``). It is told weights by player and asked for
rollouts; where a world is free it asks back for matches, in the order of actors and worlds, so that all runners play the same list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from league.network import ActorCritic, shapes_of
from league.rollout import Chunk, Match, Policy, RolloutSettings

Weights = Mapping[str, NDArray[Any]]
"""State dict of an ``ActorCritic`` as numpy arrays."""
NextMatches = Callable[[int], Sequence[Match]]
"""``matches(n)``: the next n matches (fewer: some worlds stay idle)."""


class RunnerError(RuntimeError):
    """Actors cannot go on; the text says which, why and what to do."""


class RunnerState(NamedTuple):
    """What a runner goes on from: ``league.trajectories.write_arrays`` writes it. Weights are not part of it."""

    arrays: dict[str, NDArray[Any]]
    head: dict[str, Any]
    """Plain values."""


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """Raises ValueError naming the field that is out of range."""

    rollout: RolloutSettings = field(default_factory=RolloutSettings)
    """Of each actor."""
    actors: int = 1
    unroll: int = 64
    """Steps of a rollout at most."""
    stagger: int = 1
    """A rollout begins matches in at most one of so many worlds of an actor, rounded up; 1: in all that are free. Above 1 it keeps
    matches from beginning, and so from being paid, all at once: some 8 suits matches that last 10 rollouts."""
    ahead: bool = False
    """Not in one process: the next rollout begins before ``collect`` returns, so that actors play while the learner learns. Their weights
    are then one ``collect`` older."""
    patience_s: float = 300.0
    """Not in one process: an actor that is silent for so long is stopped and started anew."""
    cores: float = 1.0
    """Ray only: what an actor asks for; less than 1 where several runners take turns."""

    def __post_init__(self) -> None:
        ranges = {"actors": (1, 1024), "unroll": (1, 100_000), "stagger": (1, 65_536), "patience_s": (0.1, 1e6), "cores": (0.0, 1.0)}
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"runner settings: {name} {getattr(self, name)}; use {low} to {high}")

    def to_begin(self, idle: list[int]) -> list[int]:
        """Those of an actor's free worlds in which the next rollout begins a match."""
        return idle[: -(-self.rollout.worlds // self.stagger)]


class Runner(Protocol):
    """Plays matches. Not safe to use from several threads."""

    def set_weights(self, player: str, weights: Weights, version: int) -> None:
        """Weights that ``player`` flies with from the next rollout on (copied). Raises ValueError when they fit no network."""
        ...

    def set_reference(self, weights: Weights | None) -> None:
        """The supervised policy, whose logits actors then store with what is learnt from; None: none are stored."""
        ...

    def collect(self, matches: NextMatches, unroll: int) -> list[Chunk]:
        """One rollout of every actor, in their order; each chunk is the caller's own.

        A match that is not over stays in its world for the next collect. Raises KeyError for a player without weights, ValueError
        for a match or weights that are no good, RunnerError when actors cannot be kept running.
        """
        ...

    def drop(self) -> list[Match]:
        """Forget all running matches (a learner was reset); says which, in the order of actors and worlds."""
        ...

    def state(self) -> RunnerState:
        """Everything but the weights."""
        ...

    def restore(self, state: RunnerState) -> None:
        """Go on from a state of a runner with the same settings. Raises ValueError when it does not fit."""
        ...

    def close(self) -> None:
        """End the actors. Does nothing the second time."""
        ...


def checked_weights(weights: Weights) -> dict[str, NDArray[np.float32]]:
    """Copies. Raises ValueError when they are not those of an ``ActorCritic``."""
    width = hidden_of(weights)
    wanted = shapes_of(width)
    found = {name: tuple(values.shape) for name, values in weights.items()}
    if not width or found != wanted:
        raise ValueError(f"weights: {found or 'none'}; the state dict of an ActorCritic is needed: {wanted}")
    return {name: np.array(values, np.float32) for name, values in weights.items()}


def hidden_of(weights: Weights) -> int:
    """Width of the network whose weights these are; 0 when they are none's."""
    bias = weights.get("actor.0.bias")
    return len(bias) if bias is not None and bias.ndim == 1 else 0


def network_of(weights: Weights, network: ActorCritic | None = None) -> ActorCritic:
    """A network with copies of ``weights``; ``network`` itself where it is as wide. Raises ValueError when they fit none."""
    checked = checked_weights(weights)
    width = hidden_of(checked)
    if network is None or network.hidden != width:
        with torch.random.fork_rng(devices=[]):  # first weights are drawn and thrown away: the caller's random stream is left alone
            network = ActorCritic(width).requires_grad_(False).eval()
    network.load_state_dict({name: torch.from_numpy(values) for name, values in checked.items()})
    return network


def weights_of(network: ActorCritic) -> dict[str, NDArray[Any]]:
    """Copies of a network's weights."""
    return {name: values.detach().cpu().numpy().copy() for name, values in network.state_dict().items()}


class Policies:
    """Networks by player, and the reference."""

    def __init__(self) -> None:
        self.by_player: dict[str, Policy] = {}
        self.reference: ActorCritic | None = None

    def set(self, player: str, weights: Weights, version: int) -> None:
        held = self.by_player.get(player)
        self.by_player[player] = Policy(network_of(weights, held and held.network), version)

    def set_reference(self, weights: Weights | None) -> None:
        self.reference = None if weights is None else network_of(weights)


def share_out(idle: Sequence[Sequence[int]], matches: NextMatches) -> list[dict[int, Match]]:
    """Matches for the idle worlds of each actor, asked for at once. Raises ValueError when more are given than were asked for."""
    wanted = sum(map(len, idle))
    given = list(matches(wanted)) if wanted else []
    if len(given) > wanted:
        raise ValueError(f"runner: {len(given)} matches given, {wanted} asked for; give at most as many")
    places = [(actor, world) for actor, worlds in enumerate(idle) for world in worlds]
    shared: list[dict[int, Match]] = [{} for _ in idle]
    for (actor, world), match in zip(places, given, strict=False):
        shared[actor][world] = match
    return shared


def match_to_json(match: Match | None) -> list[Any] | None:
    """Plain values."""
    return None if match is None else [match.number, list(match.players), list(match.learning)]


def match_from_json(told: Any) -> Match | None:
    """What ``match_to_json`` told. Raises ValueError when it is something else."""
    if told is None:
        return None
    try:
        number, players, learning = told
        return Match(int(number), tuple(str(p) for p in players), tuple(bool(learns) for learns in learning))
    except (TypeError, ValueError) as error:
        raise ValueError(f"runner state: {told!r} is no match ({error}); use an earlier state") from error


def state_of(
    settings: RunnerSettings,
    worlds: Sequence[Mapping[str, NDArray[Any]]],
    matches: Sequence[Sequence[Match | None]],
    begun: Sequence[Mapping[int, Match] | None],
) -> RunnerState:
    """A runner's state from each actor's worlds, the matches in them, and the matches by world of a rollout that was begun and is not
    over."""
    arrays = {f"{i}/{name}": values.copy() for i, actor in enumerate(worlds) for name, values in actor.items()}
    head = {
        "rollout": asdict(settings.rollout),
        "matches": [[match_to_json(m) for m in actor] for actor in matches],
        "begun": [None if actor is None else [[w, match_to_json(m)] for w, m in actor.items()] for actor in begun],
    }
    return RunnerState(arrays, head)


def from_state(settings: RunnerSettings, state: RunnerState) -> list[tuple[dict[str, NDArray[Any]], list[Match | None]]]:
    """Worlds and matches of each actor. Raises ValueError when the state is of other settings or broken."""
    theirs, mine = state.head.get("rollout"), asdict(settings.rollout)
    if theirs != mine:
        raise ValueError(f"runner state: made with {theirs}, here {mine}; resume with the same settings")
    actors = state.head.get("matches")
    if not isinstance(actors, list) or len(actors) != settings.actors:
        found = len(actors) if isinstance(actors, list) else "no"
        raise ValueError(f"runner state: {found} actors, here {settings.actors}; resume with as many")
    return [
        (
            {name.partition("/")[2]: values for name, values in state.arrays.items() if name.partition("/")[0] == str(i)},
            [match_from_json(told) for told in told_of_actor],
        )
        for i, told_of_actor in enumerate(actors)
    ]


def begun_from_state(settings: RunnerSettings, state: RunnerState) -> list[dict[int, Match] | None]:
    """New matches by world of each actor's rollout that was begun and is not over; None where there was none.

    Raises ValueError when they are broken.
    """
    told = state.head.get("begun") or [None] * settings.actors
    try:
        found = [mine if mine is None else {int(w): match_from_json(match) for w, match in mine} for mine in told]
    except (TypeError, ValueError) as error:
        raise ValueError(f"runner state: matches that were begun are broken ({error}); use an earlier state") from error
    if len(found) != settings.actors:
        raise ValueError(f"runner state: begun matches of {len(found)} actors, here {settings.actors}; resume with as many")
    return [mine if mine is None else {w: match for w, match in mine.items() if match is not None} for mine in found]

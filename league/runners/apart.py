"""What runners have in common whose actors play somewhere else: in other processes, or on other machines.

With ``ahead`` the actors play the next rollout while the learner learns from the last one; weights are then one ``collect`` older.
Nothing depends on which actor is faster: matches are handed out when all are back, in the order of actors and worlds, so that the
same run gives the same numbers as in one process.

An actor that dies, or is silent for too long, is started anew from its worlds as they were before the rollout and plays that
rollout again with the same weights: nothing is lost, and nothing is counted twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from numpy.typing import NDArray

from league.rollout import Actor, Chunk, Match, checked_match
from league.runners.base import (
    NextMatches,
    Policies,
    RunnerError,
    RunnerSettings,
    RunnerState,
    Weights,
    begun_from_state,
    checked_weights,
    from_state,
    share_out,
    state_of,
)

MOST_RESTARTS: Final = 3
"""Times that one rollout is begun anew before the runner gives up."""
_TOLD: Final = "told"
"""Of a state: weights of a rollout that was begun."""
START_S: Final = 120.0
"""What an actor may need until its first answer."""


class Told(NamedTuple):
    """Weights as they were when a rollout was posted; replaced, never changed."""

    players: Mapping[str, tuple[Any, int]]
    """Weights, in the form in which the runner hands them on, and their version."""
    reference: Any


class Begun(NamedTuple):
    """A rollout that was begun before, and has to be begun once more: after a restored state, or when it failed."""

    matches: dict[int, Match]
    """Those that are new in it, by world."""
    told: Told | None
    """None: it is played with what is told now."""


class Posted(NamedTuple):
    """A rollout that an actor is playing."""

    matches: dict[int, Match]
    unroll: int
    told: Told


class Failed(NamedTuple):
    """An actor's word on what its caller has to mend."""

    kind: str
    """``KeyError`` or ``ValueError``."""
    text: str


def play(actor: Actor, policies: Policies, matches: Mapping[int, Match], unroll: int) -> Chunk | Failed:
    """One rollout, on the actor's side. After a failure its worlds are worth nothing."""
    try:
        actor.begin(matches)
        return actor.rollout(policies.by_player, unroll, policies.reference)
    except (KeyError, ValueError) as error:
        return Failed(type(error).__name__, str(error.args[0] if error.args else error))


class Link(Protocol):
    """The way to one actor, which may be dead at any time; only ``answer`` says so."""

    def send(self, posted: Posted, serial: int, before: Sequence[Match | None] | None) -> None:
        """Begin rollout ``serial``. ``before``: the actor first goes back to the worlds that rollout ``serial - 1`` left, with these
        matches in them; None: it is there already."""
        ...

    def answer(self) -> Chunk | Failed | None:
        """What the rollout gave; None: the actor is dead, or was silent for too long."""
        ...

    def begin_anew(self) -> None:
        """Another actor in its place."""
        ...

    def why_dead(self) -> str:
        """For people, after ``answer`` was None."""
        ...

    def worlds(self, serial: int) -> Mapping[str, NDArray[Any]]:
        """As rollout ``serial``, the last that came back, left them."""
        ...

    def keep(self, serial: int, worlds: Mapping[str, NDArray[Any]]) -> None:
        """Put others in their place."""
        ...

    def close(self, busy: bool) -> None:
        """End the actor, in kindness unless it is busy."""
        ...


class ActorApart:
    """One actor, from this side."""

    def __init__(self, number: int, link: Link, settings: RunnerSettings) -> None:
        self.number, self.link, self._settings = number, link, settings
        self.matches: list[Match | None] = [None] * settings.rollout.worlds
        """As of the last rollout that came back."""
        self.posted: Posted | None = None
        self.begun: Begun | None = None
        self.restarts = 0
        self._serial = 0
        """Of the last rollout that came back."""
        self._astray = True
        """The actor is not where that rollout ended."""
        self.clear()

    @property
    def idle(self) -> list[int]:
        return [w for w, match in enumerate(self.matches) if match is None]

    def post(self, posted: Posted) -> None:
        """Begin a rollout; what goes wrong is noticed when it is waited for."""
        self.posted = posted
        before, self._astray = self.matches if self._astray else None, False
        self.link.send(posted, self._serial + 1, before)

    def result(self) -> Chunk:
        """What the posted rollout gave; a dead actor is started anew meanwhile."""
        died = 0
        while (answer := self.link.answer()) is None:
            died += 1
            if died > MOST_RESTARTS:
                raise RunnerError(
                    f"actor {self.number}: died {died} times in one rollout ({self.link.why_dead()}); free memory or ask for fewer worlds"
                )
            self._begin_anew()
        if isinstance(answer, Failed):
            self._fail(answer)
        assert isinstance(answer, Chunk)
        return self._take(answer)

    def _fail(self, failed: Failed) -> None:
        if self.posted is not None:
            self.begun, self.posted = Begun(self.posted.matches, None), None
        self._astray = True
        raise {"KeyError": KeyError, "ValueError": ValueError}[failed.kind](failed.text)

    def _take(self, chunk: Chunk) -> Chunk:
        posted = self.posted
        assert posted is not None
        for world, match in posted.matches.items():
            self.matches[world] = match
        over = {one.match.number for one in chunk.played}
        self.matches = [None if m is not None and m.number in over else m for m in self.matches]
        self._serial, self.posted = self._serial + 1, None
        return chunk

    def _begin_anew(self) -> None:
        """Start it anew where the last rollout that came back ended; what is posted is played again."""
        self.restarts += 1
        self.link.begin_anew()
        self._astray = True
        if self.posted is not None:
            self.post(self.posted)

    @property
    def worlds(self) -> Mapping[str, NDArray[Any]]:
        """As the last rollout that came back left them."""
        return self.link.worlds(self._serial)

    def load(self, worlds: Mapping[str, NDArray[Any]], matches: list[Match | None]) -> None:
        """Go on from other worlds."""
        self.link.keep(self._serial, worlds)
        self.matches, self._astray = matches, True

    @property
    def under_way(self) -> Begun | None:
        """The rollout that has not come back."""
        return Begun(self.posted.matches, self.posted.told) if self.posted else self.begun

    @property
    def running(self) -> list[Match]:
        """Matches that are not over, in the order of worlds."""
        begun = self.under_way
        found = {w: m for w, m in enumerate(self.matches) if m is not None} | (begun.matches if begun else {})
        return [found[w] for w in sorted(found)]

    def clear(self) -> None:
        """Forget all matches, and what was in the worlds."""
        self.link.keep(self._serial, Actor(self._settings.rollout).arrays())
        self.matches, self.begun, self._astray = [None] * len(self.matches), None, True

    def close(self) -> None:
        """End the actor."""
        self.link.close(self.posted is not None)


class RunnerApart:
    """See ``league.runners.base.Runner``. ``state`` is that of the last rollout that was collected. A rollout that was begun since is
    part of it, with the weights that it was begun with: going on, it is played again as it was."""

    def __init__(self, settings: RunnerSettings, links: Sequence[Link]) -> None:
        self.settings = settings
        self._told = Told({}, None)
        self._actors = [ActorApart(i, link, settings) for i, link in enumerate(links)]

    @property
    def restarts(self) -> int:
        """How often actors were started anew."""
        return sum(actor.restarts for actor in self._actors)

    def _handed_on(self, weights: Weights) -> Any:
        """Weights in the form in which ``Link.send`` gets them."""
        return weights

    def _weights_of(self, handed_on: Any) -> Weights:
        """What ``_handed_on`` was given."""
        return handed_on

    def set_weights(self, player: str, weights: Weights, version: int) -> None:
        told = self._handed_on(checked_weights(weights)), version
        self._told = self._told._replace(players={**self._told.players, player: told})

    def set_reference(self, weights: Weights | None) -> None:
        self._told = self._told._replace(reference=None if weights is None else self._handed_on(checked_weights(weights)))

    def collect(self, matches: NextMatches, unroll: int) -> list[Chunk]:
        """See ``Runner``. With ``ahead``, ``unroll`` is that of the next rollout."""
        self._post(matches, unroll)
        chunks = [actor.result() for actor in self._actors]
        if self.settings.ahead:
            self._post(matches, unroll)
        return chunks

    def _post(self, matches: NextMatches, unroll: int) -> None:
        """Begin a rollout in all actors that have none."""
        free = [actor for actor in self._actors if actor.posted is None]
        if not free:
            return
        if not 1 <= unroll <= self.settings.unroll:
            raise ValueError(f"runner: unroll {unroll}; its memory holds 1 to {self.settings.unroll} steps")
        shared = share_out([[] if actor.begun else self.settings.to_begin(actor.idle) for actor in free], matches)
        now = self._told
        for mine in shared:
            for match in mine.values():
                checked_match(match, self.settings.rollout.ships)
        for actor, mine in zip(free, shared, strict=True):
            begun, actor.begun = actor.begun or Begun(mine, None), None
            told = begun.told._replace(reference=now.reference) if begun.told else now
            actor.post(Posted(begun.matches, unroll, told))

    def drop(self) -> list[Match]:
        """See ``Runner``. A rollout that is being played is thrown away, and its matches are told as dropped."""
        forgotten: list[Match] = []
        for actor in self._actors:
            forgotten += actor.running
            if actor.posted:
                with contextlib.suppress(KeyError, ValueError):  # it is thrown away, broken or not
                    actor.result()
            actor.clear()
        return forgotten

    def state(self) -> RunnerState:
        actors = self._actors
        begun = [actor.under_way for actor in actors]
        worlds, matches = [actor.worlds for actor in actors], [actor.matches for actor in actors]
        arrays, head = state_of(self.settings, worlds, matches, [one.matches if one else None for one in begun])
        told = next((one.told for one in begun if one and one.told), None)
        flying = {player for actor in actors for match in actor.running for player in match.players}
        kept = {player: told.players[player] for player in sorted(flying & told.players.keys())} if told else {}
        for number, (held, _) in enumerate(kept.values()):
            arrays |= {f"{_TOLD}/{number}/{name}": values for name, values in self._weights_of(held).items()}
        return RunnerState(dict(sorted(arrays.items())), {**head, _TOLD: [[player, version] for player, (_, version) in kept.items()]})

    def restore(self, state: RunnerState) -> None:
        found, begun, told = from_state(self.settings, state), begun_from_state(self.settings, state), self._told_from(state)
        self.drop()
        for actor, (worlds, matches), mine in zip(self._actors, found, begun, strict=True):
            actor.load(worlds, matches)
            actor.begun = None if mine is None else Begun(mine, told)

    def _told_from(self, state: RunnerState) -> Told | None:
        """Weights that the rollout which was begun is played with; None: none were kept. Raises ValueError when they fit no network."""
        players = {str(player): int(version) for player, version in state.head.get(_TOLD) or []}
        by_number = [
            {name.split("/", 2)[2]: values for name, values in state.arrays.items() if name.startswith(f"{_TOLD}/{number}/")}
            for number in range(len(players))
        ]
        held = [self._handed_on(checked_weights(weights)) for weights in by_number]
        return (
            Told({player: (mine, version) for (player, version), mine in zip(players.items(), held, strict=True)}, None) if held else None
        )

    def close(self) -> None:
        for actor in self._actors:
            actor.close()
        self._actors = []

"""Batched actors on last man standing: N worlds in lockstep, whose seats are flown by different players' networks or by scripts.

An actor plays ``unroll`` steps at a time. A match begins only at the beginning of a rollout and stays in its world until it is
over, over as many rollouts as that takes; a world whose match ends waits for the next rollout. So a rollout holds for each seat
at most one stretch of living frames, from its first step on. Notable choices:

- All seats of one player, in whatever worlds, are one batch: one forward pass for each network and step.
- Only living seats are computed. What learns is packed into as few columns as possible: a stretch that ended early shares its
  column with others, which changes no target since every one of them but a column's last ends there (``pack``).
- A ship's reward is the outcome of the match, paid in the step that settles its place. A match that the limit cuts pays its
  living ships nothing; they are truncated, and what they saw last is kept for the value of what would have come.
- The value is told more than the ship sees (``league.privileged``), of the seats that learn.
- Log-probabilities are those of the very logits that were sampled, 0 where a head could have no effect.
- Random numbers follow from (seed, match, seat, step): a match goes the same way in whatever actor or world it is played with the
  same weights. A player moves on by one seat from match to match.
- Weights change while a match is played, so that it cannot be played again from them. Of some matches all moves are kept
  (``league.moves``): with those and the world's seed they can be shown exactly as they were.

Legend: N worlds, S ships (seats), T steps of a rollout, M = living seats of one player in one step, B packed columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.arena import last_standing as game
from league.arena.last_standing_pilots import PILOTS, Dice, View
from league.arena.last_standing_rules import EPISODE_STEPS, FEWEST_SHIPS, MOST_SHIPS, STEPS_PER_ACTION
from league.arena.world import kernels
from league.codec import HEADS, OBSERVATION_SIZE
from league.forward import Forward, answers
from league.losses import REFERENCE_LOGITS
from league.moves import KEPT_EVERY, pack_moves
from league.packing import Frames, pack
from league.privileged import TOLD_SIZE
from league.trajectories import TrajectorySequence

if TYPE_CHECKING:
    from league.network import ActorCritic

_WORLD, _POLICY, _SCRIPT = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_64: Final = 2**64 - 1


class Match(NamedTuple):
    """What one world plays until it is over."""

    number: int
    """Counts matches of the run, from 0; also names its random stream."""
    players: tuple[str, ...]
    """One for each seat: names of policies, or of scripted pilots. Player k sits in seat (k + number) % ships."""
    learning: tuple[bool, ...]
    """Players whose frames are learnt from."""


@dataclass(frozen=True, slots=True)
class Played:
    """A finished match."""

    match: Match
    placements: tuple[float, ...]
    """By player, 1 is best; ties share the mean of their places."""
    steps: int
    truncated: bool
    moves: bytes = field(default=b"", compare=False, repr=False)
    """``pack_moves`` of one match in ``KEPT_EVERY``, by seat; empty where the actor did not see its beginning (it was restored)."""


class Chunk(NamedTuple):
    """One rollout of one actor."""

    sequence: TrajectorySequence | None
    """[T, B], packed columns of the learning seats, behaviour log-probs as sampled; None when nobody learnt."""
    played: tuple[Played, ...]
    frames: int
    """Living seats that learn, for one step each."""
    steps: int
    """Agent-steps of all seats."""


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """Of one actor. Raises ValueError naming the field that is out of range."""

    worlds: int = 64
    ships: int = 4
    episode_steps: int = EPISODE_STEPS
    seed: int = 0
    pseudo_reward_scale: float = 0.0
    """Paid in each step for 100 hit points of damage dealt (and taken off for damage suffered); 0: the outcome alone counts."""
    draw_reward: float = 0.0
    """Paid to all when all were lost within the same action."""

    def __post_init__(self) -> None:
        ranges = {
            "worlds": (1, 65_536),
            "ships": (FEWEST_SHIPS, MOST_SHIPS),
            "episode_steps": (1, 1_000_000),
            "seed": (0, 2**63 - 1),
            "pseudo_reward_scale": (0.0, 1e3),
            "draw_reward": (-1.0, 1.0),
        }
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"rollout settings: {name} {getattr(self, name)}; use {low} to {high}")


class Policy(NamedTuple):
    """A network that flies, and the version of its weights."""

    network: ActorCritic
    version: int


def stream(seed: int, number: int, use: int) -> int:
    """A 64-bit key for one use of one match (SplitMix64's finaliser; Steele, Lea, Flood 2014)."""
    z = (seed * 0xD1B54A32D192ED03 + (number + 1) * use) & _64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _64
    return z ^ (z >> 31)


def world_seed(seed: int, number: int) -> int:
    """Of the world that match ``number`` of a run with ``seed`` is played in."""
    return stream(seed, number, _WORLD)


def checked_match(match: Match, ships: int) -> Match:
    """Itself. Raises ValueError when it is not for ``ships`` ships."""
    if len(match.players) != ships or len(match.learning) != ships:
        raise ValueError(
            f"match {match.number}: {len(match.players)} players, {len(match.learning)} learning flags; worlds have {ships} ships"
        )
    scripts = [p for p, learns in zip(match.players, match.learning, strict=True) if learns and p in PILOTS]
    if scripts:
        raise ValueError(f"match {match.number}: {scripts[0]} is a script and cannot learn; mark policies as learning")
    return match


@dataclass(slots=True)
class Actor:
    """N worlds and what is played in them. ``rollout`` is the only thing that moves them."""

    settings: RolloutSettings
    kept_every: int = KEPT_EVERY
    """Moves are kept of matches whose number is a multiple of this."""
    matches: list[Match | None] = field(init=False)
    state: game.LastStandingState = field(init=False)
    _blank: game.LastStandingState = field(init=False)
    """One world."""
    _streams: NDArray[np.uint64] = field(init=False)
    _scripts: NDArray[np.uint64] = field(init=False)
    _buffers: dict[str, NDArray[Any]] = field(init=False, default_factory=dict)
    _moves: dict[int, list[NDArray[np.int8]]] = field(init=False, default_factory=dict)
    """By world, a part [T, S, 7] for each rollout so far."""

    def __post_init__(self) -> None:
        n, ships = self.settings.worlds, self.settings.ships
        self.state = game.new_worlds(n, np.zeros(n, np.int64), ships, self.settings.episode_steps)
        self._blank = game.new_worlds(1, np.zeros(1, np.int64), ships, self.settings.episode_steps)
        self.matches = [None] * n
        self._streams, self._scripts = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
        self.clear()

    @property
    def idle(self) -> list[int]:
        """Worlds without a match."""
        return [w for w, match in enumerate(self.matches) if match is None]

    def begin(self, matches: Mapping[int, Match]) -> None:
        """Begin matches in worlds, by number of the world. Raises ValueError when a world is taken or a match does not fit."""
        for w, match in matches.items():
            if self.matches[w] is not None:
                raise ValueError(f"world {w}: match {self.matches[w]} is not over; begin match {match.number} in another world")
            self._bind(w, checked_match(match, self.settings.ships))
            if match.number % self.kept_every == 0:
                self._moves[w] = []
        which = np.zeros(len(self.state), np.bool_)
        which[list(matches)] = True
        self._wipe(which)
        keys = [world_seed(self.settings.seed, matches[w].number) for w in np.flatnonzero(which).tolist()]
        game.reset(self.state, which, np.array(keys, np.uint64))

    def _wipe(self, which: NDArray[np.bool_]) -> None:
        """Nothing is left of what was played there: a world is the same, to the last bit, whoever played in it before."""
        for name, values in self.arrays().items():
            values[which] = getattr(self._blank, name)[0]

    def _bind(self, w: int, match: Match) -> None:
        self.matches[w] = match
        self._streams[w] = stream(self.settings.seed, match.number, _POLICY)
        self._scripts[w] = stream(self.settings.seed, match.number, _SCRIPT)

    def clear(self) -> list[Match]:
        """Forget all matches; says which."""
        running = [match for match in self.matches if match is not None]
        self.matches = [None] * len(self.matches)
        self._moves.clear()
        self._wipe(np.ones(len(self.matches), np.bool_))
        self.state.over[:] = True
        self.state.ship_alive[:] = False
        return running

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The worlds as they are; with ``matches`` that is all there is to know."""
        return {name: getattr(self.state, name) for name in game.FIELD_NAMES}

    def restore(self, arrays: Mapping[str, NDArray[Any]], matches: Sequence[Match | None]) -> None:
        """Go on from ``arrays`` and ``matches`` of such an actor. Raises ValueError when they do not fit."""
        if len(matches) != len(self.matches):
            raise ValueError(f"actor: {len(matches)} worlds are saved, here are {len(self.matches)}; use the run's own settings")
        for name, mine in self.arrays().items():
            theirs = arrays.get(name)
            if theirs is None or theirs.shape != mine.shape or theirs.dtype != mine.dtype:
                told = "missing" if theirs is None else f"{theirs.dtype} {theirs.shape}"
                raise ValueError(f"actor: saved {name} is {told}, {mine.dtype} {mine.shape} is needed; use the run's own settings")
        self.clear()
        for name, mine in self.arrays().items():
            mine[...] = arrays[name]
        free = [w for w, match in enumerate(matches) if match is None]
        self.state.over[free], self.state.ship_alive[free] = True, False
        for w, match in enumerate(matches):
            if match is not None:
                self._bind(w, checked_match(match, self.settings.ships))

    # one rollout

    def rollout(self, policies: Mapping[str, Policy], unroll: int, reference: ActorCritic | None = None) -> Chunk:
        """``unroll`` steps of all worlds. ``policies`` by player; with ``reference`` its logits go into the sequence's extras.

        Raises KeyError for a player that is neither known nor a script, ValueError when a network's numbers are not finite.
        """
        frames = self._frames(unroll)
        seats = _Seats.of(self.matches, self.settings.ships, policies)
        steps = 0
        networks = [Forward(policies[name].network) for name in seats.flown]
        for t in range(unroll):
            live = self.state.ship_alive & ~self.state.over[:, None]
            frames.living[t] = live & seats.learning
            count = self._step(t, frames, live, seats, networks)
            steps += count
            if not count:
                frames.living[t:] = False
                break
        for w, parts in self._moves.items():
            parts.append(frames.action[:, w].copy())
        game.build_told(self.state, seats.learning, frames.observation[unroll])
        sequence = pack(frames, seats.version(self.matches, policies))
        if sequence is not None and reference is not None:
            sequence.extras[REFERENCE_LOGITS] = Forward(reference).own(sequence.seen)
        return Chunk(sequence, self._finished(), 0 if sequence is None else sequence.frames, steps)

    def _frames(self, unroll: int) -> Frames:
        n, ships = self.settings.worlds, self.settings.ships
        if self._buffers.get("reward", np.zeros(0)).shape[:1] != (unroll,):
            self._buffers = {
                "observation": np.zeros((unroll + 1, n, ships, TOLD_SIZE), np.float32),
                "action": np.zeros((unroll, n, ships, len(HEADS)), np.int8),
                "head_mask": np.zeros((unroll, n, ships, len(HEADS)), np.bool_),
                "log_prob": np.zeros((unroll, n, ships, len(HEADS)), np.float32),
                "reward": np.zeros((unroll, n, ships), np.float32),
                "terminated": np.zeros((unroll, n, ships), np.bool_),
                "truncated": np.zeros((unroll, n, ships), np.bool_),
                "living": np.zeros((unroll, n, ships), np.bool_),
            }
        return Frames(**self._buffers)

    def _step(self, t: int, frames: Frames, live: NDArray[np.bool_], seats: _Seats, networks: Sequence[Forward]) -> int:
        """One action of every living seat; how many there were."""
        state = self.state
        game.build_told(state, frames.living[t], frames.observation[t])
        frames.head_mask[t] = game.action_masks(state)
        rows, ends = seats.by_player(live)
        ages = state.tick // STEPS_PER_ACTION
        flown = ends[len(networks)]
        if flown:
            self._fly(networks, seats.flown, t, frames, rows[:flown], ends, ages)
        for k, name in enumerate(seats.scripted, len(networks)):
            if ends[k + 1] > ends[k]:
                self._script(name, t, frames, rows[ends[k] : ends[k + 1]], ages)
        dealt, taken = state.damage_dealt.copy(), state.damage_taken.copy()
        game.step(state, frames.action[t])
        self._settle(t, frames, live, dealt, taken)
        return len(rows)

    def _fly(
        self,
        networks: Sequence[Forward],
        names: Sequence[str],
        t: int,
        frames: Frames,
        rows: NDArray[np.int64],
        ends: Sequence[int],
        ages: NDArray[np.int64],
    ) -> None:
        """``rows`` from ``ends[k]`` to ``ends[k + 1]`` are network k's; all but the networks themselves is done for all rows at once: a
        league has hundreds of players, each with a handful of seats."""
        logits = answers(networks, frames.observation[t].reshape(-1, TOLD_SIZE)[rows, :OBSERVATION_SIZE], ends)
        flat = (-1, len(HEADS))
        mask, action, log_prob = (a[t].reshape(flat) for a in (frames.head_mask, frames.action, frames.log_prob))
        if not _sampling().sample(logits, mask, rows, self.settings.ships, self._streams, ages, action, log_prob):
            broken = [name for k, name in enumerate(names) if not np.isfinite(logits[ends[k] : ends[k + 1]]).all()]
            raise ValueError(
                f"player {', '.join(broken)}: its logits are not finite numbers; its weights are broken, go back to earlier ones"
            )

    def _script(self, name: str, t: int, frames: Frames, rows: NDArray[np.int64], ages: NDArray[np.int64]) -> None:
        world, seat = rows // self.settings.ships, rows % self.settings.ships
        keys = self._scripts[world] + seat.astype(np.uint64)
        seen = frames.observation[t].reshape(-1, TOLD_SIZE)[rows, :OBSERVATION_SIZE]
        frames.action[t].reshape(-1, len(HEADS))[rows] = PILOTS[name](View(seen), Dice(keys, ages[world], 1))

    def _settle(self, t: int, frames: Frames, live: NDArray[np.bool_], dealt: NDArray[Any], taken: NDArray[Any]) -> None:
        """Rewards and ends of step ``t``."""
        state, settings = self.state, self.settings
        settled = live & game.decided(state)
        reward = np.zeros(live.shape, np.float32)
        cut = np.zeros(live.shape, np.bool_)
        if settled.any():
            cut = settled & state.truncated[:, None] & state.ship_alive
            outcome = game.outcomes(state)
            drawn = state.over & ~state.truncated & (outcome == 0).all(1)
            outcome[drawn] = settings.draw_reward
            reward = np.where(settled & ~cut, outcome, np.float32(0.0))
        if settings.pseudo_reward_scale:
            gained = (state.damage_dealt - dealt) - (state.damage_taken - taken)
            reward = reward + np.float32(settings.pseudo_reward_scale) * np.where(live, gained, np.float32(0.0))
        frames.reward[t], frames.truncated[t], frames.terminated[t] = reward, cut, settled & ~cut

    def _finished(self) -> tuple[Played, ...]:
        """Matches that are over; their worlds are free then."""
        found: list[Played] = []
        places = game.placements(self.state)
        for w in np.flatnonzero(self.state.over).tolist():
            match = self.matches[w]
            if match is None:
                continue
            ships = self.settings.ships
            by_player = tuple(float(places[w, (k + match.number) % ships]) for k in range(ships))
            steps = int(self.state.tick[w]) // STEPS_PER_ACTION
            parts = self._moves.pop(w, None)
            moves = pack_moves(np.concatenate(parts)[:steps], self.state.death_step[w]) if parts else b""
            found.append(Played(match, by_player, steps, bool(self.state.truncated[w]), moves))
            self.matches[w], self.state.ship_alive[w] = None, False  # as ``restore`` leaves it
        return tuple(found)


class _Seats(NamedTuple):
    """Who sits where in one rollout."""

    flown: list[str]
    """Players that are policies,"""
    scripted: list[str]
    """and those that are scripts."""
    player: NDArray[np.int64]
    """[N, S] index into both together, -1 where there is no match."""
    learning: NDArray[np.bool_]

    @classmethod
    def of(cls, matches: Sequence[Match | None], ships: int, policies: Mapping[str, Policy]) -> _Seats:
        names = list(dict.fromkeys(name for match in matches if match is not None for name in match.players))
        flown, scripted = [x for x in names if x in policies], [x for x in names if x not in policies]
        unknown = sorted(name for name in scripted if name not in PILOTS)
        if unknown:
            raise KeyError(f"players {', '.join(unknown)}: no weights are set and no script has that name; set_weights first")
        numbers = {name: number for number, name in enumerate((*flown, *scripted))}
        player = np.full((len(matches), ships), -1, np.int64)
        learning = np.zeros((len(matches), ships), np.bool_)
        for w, match in enumerate(matches):
            if match is None:
                continue
            seats = [(k + match.number) % ships for k in range(ships)]
            player[w, seats] = [numbers[name] for name in match.players]
            learning[w, seats] = match.learning
        return cls(flown, scripted, player, learning)

    def by_player(self, live: NDArray[np.bool_]) -> tuple[NDArray[np.int64], list[int]]:
        """Living seats (of N * S) ordered by player, and where each player's begin; one more tells the end."""
        rows = np.flatnonzero(live)
        players = self.player.ravel()[rows]
        order = np.argsort(players, kind="stable")
        count = len(self.flown) + len(self.scripted)
        return rows[order], np.searchsorted(players[order], np.arange(count + 1)).tolist()

    def version(self, matches: Sequence[Match | None], policies: Mapping[str, Policy]) -> int:
        """The oldest version among those who learn."""
        learners = {p for m in matches if m is not None for p, learns in zip(m.players, m.learning, strict=True) if learns}
        return min((policies[p].version for p in learners), default=0)


def _sampling() -> Any:
    kernels("last_standing_kernel")  # names the folder of compiled code first
    from league import sampling_kernel

    return sampling_kernel

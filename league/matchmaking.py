"""Who plays whom, and when a learner is frozen or starts anew: prioritised fictitious self-play with three roles.

After AlphaStar (Vinyals et al., Nature 2019, methods and supplementary pseudocode), with two corrections: a learner's
snapshot is taken *before* it is reset (the published pseudocode resets first), and payoffs say "ranks above", so that 0.5
is parity in a free for all too.

- A main plays itself, past players by PFSP, and forgotten mains and past main exploiters. It is frozen every so many
  frames and never starts anew.
- A main exploiter plays the current mains; where it loses too much, half of the time snapshots made by mains. It is frozen
  when it beats all mains, or in time, and then starts anew from the supervised policy.
- A league exploiter plays past players by PFSP. It is frozen when it beats them all, or in time, and then sometimes starts
  anew.

Branches are drawn by a low-discrepancy sequence instead of coins: the mix asked for is met within a few matches, not only in
the long run. Everything here is a state machine without input or output; its whole state, the random one included, goes
into JSON and comes back exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.payoff import PayoffSettings, PayoffTable

Role = Literal["main", "main_exploiter", "league_exploiter"]
Weighting = Literal["hard", "var", "capped"]
ROLES: Final[tuple[Role, ...]] = ("main", "main_exploiter", "league_exploiter")
SELF_PLAY, PFSP, FORGOTTEN, CURRENT_MAIN, MAIN_SNAPSHOTS = "self_play", "pfsp", "forgotten", "current_main", "main_snapshots"
_GOLDEN: Final = (5**0.5 - 1) / 2
_FORMAT: Final = 1


def pfsp_weights(
    payoffs: Sequence[float] | NDArray[np.floating[Any]], weighting: Weighting = "hard", power: float = 2.0
) -> NDArray[np.float64]:
    """Chances [n] of meeting players against which one's payoffs [n] are x.

    ``hard`` (1 - x)^power, ``var`` x (1 - x), ``capped`` min(1/2, 1 - x); normalised. Equal chances when all weights
    together are below 1e-10; empty for no players. Raises ValueError on a payoff outside 0..1 or an unknown weighting.
    """
    x = np.asarray(payoffs, np.float64)
    if x.ndim != 1 or not ((x >= 0) & (x <= 1)).all():
        raise ValueError(f"payoffs: {x.tolist()}; a list of numbers within 0..1 is needed")
    if weighting == "hard":
        weights = (1 - x) ** power
    elif weighting == "var":
        weights = x * (1 - x)
    elif weighting == "capped":
        weights = np.minimum(0.5, 1 - x)
    else:
        raise ValueError(f"PFSP weighting: {weighting!r}; use 'hard', 'var' or 'capped'")
    total = weights.sum()
    return weights / total if total >= 1e-10 else np.full(x.shape, 1 / max(1, x.size))


@dataclass(frozen=True, slots=True)
class LeagueSettings:
    """Roles and their rules. Raises ValueError naming the field that is out of range."""

    mains: int = 1
    """Learners of each role; at least one main."""
    main_exploiters: int = 1
    league_exploiters: int = 1
    pfsp_power: float = 2.0
    """p of f_hard(x) = (1 - x)^p: how much the hardest opponents are preferred."""
    main_self_play: float = 0.35
    """Share against itself of what a main learns from; the three shares are 1 together. All seats of such a match learn, one of any other:
    with four it is 12 % of the matches."""
    main_pfsp: float = 0.5
    """Share against all past players by f_hard."""
    main_forgotten: float = 0.15
    """Share against forgotten mains and past main exploiters by f_hard; self-play when there are none."""
    forgotten_below: float = 0.5
    """A past main is forgotten when the payoff against it is below this."""
    struggling_below: float = 0.2
    """Payoff against a main below which a main exploiter turns to snapshots made by mains."""
    struggling_share: float = 0.5
    """How often it does then; by f_var."""
    one_opponent_share: float = 0.75
    """Share of the matches against past players in which one of them flies all other seats, as it does where a main is judged; in the rest
    each seat is drawn for itself. Of two seats there is but one opponent anyway."""
    main_snapshot_frames: int = 5_000_000
    """Frames (agent-steps that count) between two snapshots of a main."""
    exploiter_least_frames: int = 1_000_000
    """Frames after which an exploiter's snapshot is taken at the earliest."""
    exploiter_most_frames: int = 4_000_000
    """Frames after which it is taken in any case: the time-out."""
    exploiter_beats: float = 0.7
    """Payoff above which an exploiter has beaten an opponent."""
    main_reset_share: float = 0.0
    """How often a learner of the role goes back to the supervised policy after a snapshot, 0..1."""
    main_exploiter_reset_share: float = 1.0
    league_exploiter_reset_share: float = 0.25
    payoff: PayoffSettings = field(default_factory=PayoffSettings)

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            share = isinstance(f.default, float) and f.name != "pfsp_power"
            if isinstance(value, (int, float)) and not (0 <= value <= 1 if share else 0 <= value < float("inf")):
                raise ValueError(f"league settings: {f.name} {value}; use {'0 to 1' if share else 'a number that is not negative'}")
        if self.mains < 1:
            raise ValueError("league settings: mains 0; a league needs at least one main")
        shares = self.main_self_play + self.main_pfsp + self.main_forgotten
        if abs(shares - 1) > 1e-9:
            raise ValueError(f"league settings: main_self_play, main_pfsp and main_forgotten are {shares:g} together; they must be 1")
        if min(self.main_snapshot_frames, self.exploiter_most_frames) < 1 or self.exploiter_least_frames > self.exploiter_most_frames:
            raise ValueError(
                f"league settings: snapshots after {self.main_snapshot_frames}, and {self.exploiter_least_frames} to "
                f"{self.exploiter_most_frames} frames; use 1 or more, the least not above the most"
            )


@dataclass(slots=True)
class Learner:
    """One that learns. Its id stays over resets; what it is worth does not."""

    id: str
    role: Role
    frames: int = 0
    """Learnt from in all."""
    frames_at_snapshot: int = 0
    snapshots: int = 0
    reset_pending: bool = False
    resets: int = 0
    phase: float = 0.0
    """Where its sequence of branches stands, 0..1."""
    asked: dict[str, float] = field(default_factory=dict[str, float])
    """Matches asked for, by branch: sums of shares."""
    seen: dict[str, int] = field(default_factory=dict[str, int])
    """Matches as they were dealt, by branch."""


@dataclass(slots=True)
class Snapshot:
    """A frozen player."""

    id: str
    role: Role
    """Of the learner that made it."""
    parent: str
    number: int
    """0 is the supervised policy at the start."""
    frames: int
    """Its maker's, when it was taken."""
    weights_hash: str
    reason: str
    benched: str = ""
    """Why it may not play; empty when it may."""


class Choice(NamedTuple):
    """Opponents of one match."""

    learner: str
    opponents: tuple[str, ...]
    branch: str
    """How they were chosen in the end."""
    asked: str
    """The branch that was drawn; another one than ``branch`` when it had nobody to offer."""


class MixRow(NamedTuple):
    """How one learner's matches were spread, asked and seen, as shares of 1."""

    learner: str
    branch: str
    asked: float
    seen: float
    matches: int


class Matchmaker:
    """The league's rules and memory."""

    def __init__(self, settings: LeagueSettings | None = None, seed: int = 0) -> None:
        self.settings = settings or LeagueSettings()
        self.table = PayoffTable(self.settings.payoff)
        self.learners: dict[str, Learner] = {}
        self.snapshots: dict[str, Snapshot] = {}
        self._random = np.random.Generator(np.random.PCG64(seed))

    @classmethod
    def new(cls, settings: LeagueSettings, seed: int, weights_hash: str) -> Matchmaker:
        """A new league: its learners, and the supervised policy (``weights_hash``) as each main's snapshot 0."""
        league = cls(settings, seed)
        for role, count in zip(ROLES, (settings.mains, settings.main_exploiters, settings.league_exploiters), strict=True):
            for number in range(1, count + 1):
                learner = Learner(f"{role}-{number}", role, phase=float(league._random.random()))
                league.learners[learner.id] = learner
                league.table.add(learner.id)
                if role == "main":
                    league._freeze(learner, weights_hash, "start")
        return league

    def learner(self, learner: str) -> Learner:
        """Raises KeyError naming those there are."""
        if learner not in self.learners:
            raise KeyError(f"league: no learner {learner!r}; there are {', '.join(self.learners)}")
        return self.learners[learner]

    def past(self, role: Role | None = None) -> list[str]:
        """Snapshots that may play, oldest first; those of one role's learners, or all."""
        return [s.id for s in self.snapshots.values() if not s.benched and role in (None, s.role)]

    def _mains(self) -> list[str]:
        return [learner.id for learner in self.learners.values() if learner.role == "main"]

    # who plays whom

    def choose(self, learner: str, opponents: int = 1) -> Choice:
        """Opponents for a match that ``learner`` learns from: all of one branch, one for all seats or each drawn for itself.

        In self-play they are the learner itself. Raises KeyError on an unknown learner, ValueError below one opponent.
        """
        me = self.learner(learner)
        if opponents < 1:
            raise ValueError(f"match of {learner}: {opponents} opponents; at least one is needed")
        branches, rival = self._branches(me, opponents + 1)
        asked = self._draw(me, branches)
        branch, players, weights = self._offer(me, asked, rival)
        share = self.settings.one_opponent_share if min(opponents, len(players)) > 1 else 0.0
        alone = share > 0 and bool(self._random.random() < share)
        drawn = self._random.choice(len(players), size=1 if alone else opponents, p=weights).tolist()
        for name, share in branches.items():
            me.asked[name] = me.asked.get(name, 0.0) + share
        me.seen[branch] = me.seen.get(branch, 0) + 1
        return Choice(learner, tuple(players[i] for i in (drawn * opponents)[:opponents]), branch, asked)

    def _branches(self, me: Learner, seats: int) -> tuple[dict[str, float], str]:
        """Shares of the branches in a learner's matches just now, and the current main that an exploiter of mains is set on."""
        s = self.settings
        if me.role == "main":
            learning = {SELF_PLAY: seats, PFSP: 1, FORGOTTEN: 1 if self._forgotten(me.id) else seats}  # without any it is self-play too
            learnt = {SELF_PLAY: s.main_self_play, PFSP: s.main_pfsp, FORGOTTEN: s.main_forgotten}
            matches = {branch: share / learning[branch] for branch, share in learnt.items()}
            return {branch: share / sum(matches.values()) for branch, share in matches.items()}, me.id
        rival = str(self._random.choice(self._mains()))
        if me.role == "league_exploiter":
            return {PFSP: 1.0}, rival
        if self.table.payoff(me.id, rival) < s.struggling_below:
            return {CURRENT_MAIN: 1 - s.struggling_share, MAIN_SNAPSHOTS: s.struggling_share}, rival
        return {CURRENT_MAIN: 1.0}, rival

    @staticmethod
    def _draw(me: Learner, branches: Mapping[str, float]) -> str:
        """The next branch: steps of the golden ratio around a circle cut into the shares."""
        me.phase = (me.phase + _GOLDEN) % 1.0
        ends = np.cumsum(list(branches.values()))
        return list(branches)[min(int(np.searchsorted(ends, me.phase, side="right")), len(branches) - 1)]

    def _offer(self, me: Learner, asked: str, rival: str) -> tuple[str, list[str], NDArray[np.float64]]:
        """The branch, its players and their chances; what takes its place when it has nobody."""
        weighting: Weighting = "var" if asked == MAIN_SNAPSHOTS else "hard"
        sets: dict[str, Callable[[], list[str]]] = {
            PFSP: self.past,
            FORGOTTEN: lambda: self._forgotten(me.id),
            MAIN_SNAPSHOTS: lambda: self.past("main"),
        }
        players = sets[asked]() if asked in sets else []
        if players:
            return asked, players, pfsp_weights(self.table.payoffs(me.id, players), weighting, self.settings.pfsp_power)
        return (SELF_PLAY if me.role == "main" else CURRENT_MAIN), [rival], np.ones(1)

    def _forgotten(self, main: str) -> list[str]:
        """Past mains that beat ``main`` again, and past main exploiters."""
        mains = [p for p in self.past("main") if self.table.payoff(main, p) < self.settings.forgotten_below]
        return mains + self.past("main_exploiter")

    def mix(self) -> list[MixRow]:
        """Opponents seen beside those asked for, for each learner that has played."""
        rows: list[MixRow] = []
        for me in self.learners.values():
            matches = sum(me.seen.values())
            for branch in sorted(me.asked.keys() | me.seen.keys()) if matches else ():
                rows.append(MixRow(me.id, branch, me.asked.get(branch, 0.0) / matches, me.seen.get(branch, 0) / matches, matches))
        return rows

    # when a learner is frozen, when it starts anew

    def learnt(self, learner: str, frames: int) -> None:
        """Count ``frames`` that ``learner`` has learnt from."""
        if frames < 0:
            raise ValueError(f"{learner}: learnt from {frames} frames; that cannot be less than 0")
        self.learner(learner).frames += frames

    def due(self, learner: str) -> str:
        """Why a snapshot of ``learner`` is due now; empty when it is not."""
        me, s = self.learner(learner), self.settings
        since = me.frames - me.frames_at_snapshot
        if me.role == "main":
            return f"{since} frames since the last" if since >= s.main_snapshot_frames else ""
        if since >= s.exploiter_most_frames:
            return f"time-out after {since} frames"
        rivals = self._mains() if me.role == "main_exploiter" else self.past()
        beaten = bool(rivals) and bool((self.table.payoffs(me.id, rivals) > s.exploiter_beats).all())
        return f"beats all {len(rivals)} above {s.exploiter_beats:g}" if beaten and since >= s.exploiter_least_frames else ""

    def take_snapshot(self, learner: str, weights_hash: str) -> Snapshot:
        """Freeze ``learner`` as a player of its own; then ``reset_pending`` of the learner says whether it starts anew.

        Raises ValueError when a reset is still pending: those weights have been frozen already.
        """
        me = self.learner(learner)
        if me.reset_pending:
            raise ValueError(f"{learner}: its snapshot is taken and its reset is due; reset it first")
        snapshot = self._freeze(me, weights_hash, self.due(learner) or "asked for")
        share: float = getattr(self.settings, f"{me.role}_reset_share")
        me.reset_pending = bool(self._random.random() < share)
        return snapshot

    def _freeze(self, me: Learner, weights_hash: str, reason: str) -> Snapshot:
        if not weights_hash:
            raise ValueError(f"{me.id}: a snapshot needs the hash of its weights")
        number = me.snapshots if reason == "start" else me.snapshots + 1
        snapshot = Snapshot(f"{me.id}@{number}", me.role, me.id, number, me.frames, weights_hash, reason)
        self.table.add(snapshot.id)
        self.snapshots[snapshot.id] = snapshot
        me.snapshots, me.frames_at_snapshot = number, me.frames
        return snapshot

    def reset(self, learner: str) -> None:
        """Note that ``learner`` starts anew from the supervised policy: its results are forgotten, its settings stay.

        Raises ValueError unless a snapshot has just been taken that calls for it: a reset never loses weights.
        """
        me = self.learner(learner)
        if not me.reset_pending:
            raise ValueError(f"{learner}: no reset is due; take its snapshot first")
        self.table.reset(learner)
        me.reset_pending = False
        me.resets += 1

    def check_snapshots(self, found: Mapping[str, str]) -> list[str]:
        """Bench snapshots that are missing in ``found`` (id to hash of its file) or have other weights; the rest may play (again).

        Returns one sentence for each that is benched.
        """
        told: list[str] = []
        for snapshot in self.snapshots.values():
            hash_found = found.get(snapshot.id)
            snapshot.benched = (
                ""
                if hash_found == snapshot.weights_hash
                else ("its file is missing" if hash_found is None else "its file has other weights")
            )
            if snapshot.benched:
                told.append(f"{snapshot.id} does not play: {snapshot.benched}; put the file back and start again")
        return told

    # on disk

    def to_json(self) -> dict[str, Any]:
        """The whole state but the settings, as JSON holds it exactly."""
        return {
            "format": _FORMAT,
            "learners": [asdict(learner) for learner in self.learners.values()],
            "snapshots": [asdict(snapshot) for snapshot in self.snapshots.values()],
            "table": self.table.to_json(),
            "random": self._random.bit_generator.state,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any], settings: LeagueSettings) -> Matchmaker:
        """The league that ``to_json`` told. Raises ValueError saying what is wrong."""
        league = cls(settings)
        try:
            if told["format"] != _FORMAT:
                raise ValueError(f"its format is {told['format']!r}, not {_FORMAT}")
            for learner in (Learner(**row) for row in told["learners"]):
                league.learners[learner.id] = learner
            for snapshot in (Snapshot(**row) for row in told["snapshots"]):
                league.snapshots[snapshot.id] = snapshot
            league.table = PayoffTable.from_json(told["table"], settings.payoff)
            league._random.bit_generator.state = told["random"]
            missing = (league.learners.keys() | league.snapshots.keys()) - set(league.table.players)
            if missing or not league._mains() or not all(learner.role in ROLES for learner in league.learners.values()):
                raise ValueError(f"players without a row: {sorted(missing)}; mains: {league._mains()}")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"league state: broken ({error}); take the previous good state") from error
        return league

"""How a policy is refined, and what came of it: plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from league.arena.last_standing_pilots import PILOTS
from league.arena.last_standing_rules import EPISODE_STEPS
from league.losses import LossSettings, UpdateSettings
from league.players import Versus
from league.replay import ReplaySettings
from league.rollout import Match, RolloutSettings
from league.runners.base import RunnerSettings
from league.runners.choose import RunnerName, check_runner

LEARNER: Final = "learner"
"""Who learns."""
SUPERVISED: Final = "pi_sup"
"""Name of the supervised policy among the opponents."""
SELF: Final = "self"
"""A match of the learner with itself, in which all seats learn."""


COURSE: Final = ("iterations", "minutes", "evaluate_every", "evaluate_matches", "runner", "address")
"""Settings that may be others when a run goes on; without being asked they are as before."""


class RefineError(ValueError):
    """Settings or files do not fit; the text says which, why and what to do."""


@dataclass(frozen=True, slots=True)
class RefineSettings:
    """Raises RefineError (or the ValueError of a part) naming the field that is out of range."""

    iterations: int = 10
    """Of ``actor_rollouts`` rollouts and what is learnt from them."""
    minutes: float = 0.0
    """Above 0: as many iterations as fit into so many minutes, those before a resume included; ``iterations`` is not looked at."""
    actor_rollouts: int = 2
    """Rollouts of every actor in one iteration; after each the learner learns."""
    learner_updates: int = 1
    """Times that the learner goes through what it was brought, each with ``update.replay_reuse``."""
    opponents: tuple[str, ...] = (SELF, "expert", "expert", "expert")
    """Matches take turns between these: ``self`` (all seats learn), scripted pilots, ``pi_sup`` or a name of ``frozen``, who then fly all
    other seats and do not learn. (In self-play alone a payoff of 0.45 against experts fell back to 0.38.)"""
    frozen: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Further policies that may be opponents, by name; files without suffix."""
    ships: int = 4
    worlds: int = 256
    """Of each actor."""
    actors: int = 1
    stagger: int = 8
    """A rollout begins matches in at most one of so many worlds, so that they do not all end together."""
    runner: RunnerName = "processes"
    address: str = ""
    """Of a Ray cluster, for runner ray; without: one of this machine alone."""
    episode_steps: int = EPISODE_STEPS
    pseudo_reward_scale: float = 0.0
    draw_reward: float = 0.0
    loss: LossSettings = field(default_factory=LossSettings)
    update: UpdateSettings = field(default_factory=lambda: UpdateSettings(learning_rate_end=1e-5, decay_frames=80_000_000))
    """The learning rate falls to a fiftieth: with a fifth a policy that had 0.79 against experts wandered off and came down to 0.72."""
    evaluate_every: int = 100
    """Iterations between two evaluations against the scripted pilots; also before the first and after the last. 0: never."""
    evaluate_matches: int = 200
    """Matches against each kind of pilot: the same worlds every time."""
    checkpoint_every: int = 20
    """Iterations between two checkpoints; one is written at the end and when it is stopped as well."""
    seed: int = 0

    def __post_init__(self) -> None:
        ranges = {
            "iterations": (1, 10**9),
            "minutes": (0.0, 1e6),
            "actor_rollouts": (1, 10_000),
            "learner_updates": (1, 1000),
            "evaluate_every": (0, 10**9),
            "evaluate_matches": (1, 100_000),
            "checkpoint_every": (1, 10**9),
        }
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise RefineError(f"refine settings: {name} {getattr(self, name)}; use {low} to {high}")
        try:
            check_runner(self.runner, self.address)
        except ValueError as error:
            raise RefineError(f"refine settings: {error}") from error
        known = {SELF, SUPERVISED, *PILOTS, *self.frozen}
        unknown = sorted(set(self.opponents) - known)
        if unknown or not self.opponents:
            raise RefineError(f"refine settings: opponents {', '.join(unknown) or 'none'}; use some of {', '.join(sorted(known))}")
        taken = sorted(set(self.frozen) & {SELF, SUPERVISED, LEARNER, *PILOTS})
        if taken:
            raise RefineError(f"refine settings: frozen {', '.join(taken)}; that name is taken, give the policy another one")
        self.runner_settings()

    def runner_settings(self) -> RunnerSettings:
        """Of the runner."""
        rollout = RolloutSettings(self.worlds, self.ships, self.episode_steps, self.seed, self.pseudo_reward_scale, self.draw_reward)
        return RunnerSettings(rollout, self.actors, self.update.unroll_steps, self.stagger, ahead=self.runner != "in-process")

    def replay_settings(self) -> ReplaySettings:
        """Of the replay: room for all that one rollout brings and for what is left of the one before."""
        columns = self.actors * self.worlds * self.ships + 2 * self.update.sequences
        return ReplaySettings(columns, self.update.sequences, self.update.replay_reuse * self.learner_updates, self.seed)

    def match(self, number: int) -> Match:
        """The run's match of that number."""
        opponent = self.opponents[number % len(self.opponents)]
        if opponent == SELF:
            return Match(number, (LEARNER,) * self.ships, (True,) * self.ships)
        others = self.ships - 1
        return Match(number, (LEARNER, *(opponent,) * others), (True, *(False,) * others))

    def fixed(self) -> dict[str, Any]:
        """What a resumed run must have alike, as plain values: all but how long, how often it tells and where files are."""
        free = {*COURSE, "checkpoint_every", "frozen"}
        told = {name: value for name, value in asdict(self).items() if name not in free}
        return {**told, "opponents": list(self.opponents), "frozen": sorted(self.frozen)}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Against the scripted pilots, after so many iterations; 0: the supervised policy."""

    iteration: int
    frames: int
    """Fresh frames learnt from until then."""
    seconds: float
    versus: tuple[Versus, ...]

    @property
    def score(self) -> float:
        """By which looks are compared, 0..1: the mean of the payoffs."""
        return sum(one.payoff.value for one in self.versus) / len(self.versus)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        told = [one.to_json() for one in self.versus]
        return {"iteration": self.iteration, "frames": self.frames, "seconds": self.seconds, "versus": told}


@dataclass(frozen=True, slots=True)
class RefineResult:
    """``path``: of the policy, without suffix. ``interrupted``: it was stopped; it can be resumed."""

    path: Path
    iterations: int
    frames: int
    """Fresh: living, learning seats for one step each."""
    consumed: int
    """Frames learnt from, each as often as it was."""
    matches: int
    seconds: float
    evaluations: tuple[Evaluation, ...]
    interrupted: bool
    notes: tuple[str, ...] = ()
    kept: Evaluation | None = None
    """The policy at ``path``, that of the best evaluation, played anew in worlds that it was not chosen in; None without evaluations (then
    it is the last), and when it was stopped before."""
    given: int = 0
    """Iteration of the policy at ``path``."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        rest = {name: getattr(self, name) for name in ("iterations", "frames", "consumed", "matches", "seconds", "interrupted", "given")}
        kept = self.kept.to_json() if self.kept else None
        evaluations = [one.to_json() for one in self.evaluations]
        return {"policy": str(self.path), **rest, "evaluations": evaluations, "kept": kept, "notes": list(self.notes)}

    def text(self) -> str:
        """Lines for people: what was done, and how it went against the pilots, first and last."""
        rate = self.frames / self.seconds if self.seconds else 0.0
        lines = [f"{self.iterations} iterations, {self.matches} matches, {self.frames} frames ({rate:.0f}/s), {self.consumed} learnt from"]
        for one in dict.fromkeys((*self.evaluations[:1], *self.evaluations[-1:])):
            lines += [f"after {one.iteration} iterations:", *(f"  {versus.text()}" for versus in one.versus)]
        if self.kept:
            looks = sum(one.iteration > 0 for one in self.evaluations)
            lines.append(f"kept, the best of {looks} looks: iteration {self.kept.iteration}; anew, in other worlds:")
            lines += [f"  {versus.text()}" for versus in self.kept.versus]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, f"policy: {self.path}.safetensors (of iteration {self.given})"])

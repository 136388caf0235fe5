"""Refining a supervised policy by playing: actors play, a replay keeps it for two uses, V-trace corrects for what has changed since.

The learner starts from ``pi_sup`` and is held near it by a KL whose weight falls (``league.losses``). Matches take turns between
self-play, in which all seats learn, and play against scripts or frozen policies. The reward is the outcome unless pseudo-rewards
are asked for. Every so often the policy plays the scripted pilots, always in the same worlds. Learning goes up and down, so that the
policy of the best of these looks is the one that is given out; at the end it plays anew, in worlds that it was not chosen in.

Files of a run: ``<name>`` (the policy), ``metrics.jsonl`` (a line an iteration), and ``checkpoint_iteration_N`` with ``replay_N.npz``,
``runner_N.npz`` and, once it was looked at, ``best_N.npz``, all of one iteration; those of an imitation may lie beside them. A run that
is resumed goes on bit for bit as if it had never stopped, with actors in processes too: a rollout begun ahead is kept with the weights
that it is played with.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from data.checkpoint import CheckpointError, read_card, save
from data.locks import only_one
from data.progress import Progress, Report, ignore
from league import replay as replays
from league.arena.last_standing_pilots import PILOTS
from league.imitate import load_policy
from league.learner import LeagueLearner
from league.network import ActorCritic
from league.players import SUFFIX, Versus, judge
from league.ratings import Interval
from league.refine_resume import ROLE, checkpoint_of, iteration_of, refinements
from league.refine_settings import COURSE, LEARNER, SUPERVISED, Evaluation, RefineError, RefineResult, RefineSettings
from league.replay import Replay
from league.rollout import Match
from league.runners.base import Runner, RunnerState, network_of, weights_of
from league.runners.choose import make_runner
from league.store import Journal, LeagueStore, Weights, weights_hash
from league.trajectories import TrajectoryError, read_arrays, write_arrays
from league.warm_up import warm_up

KEPT_CHECKPOINTS: Final = 2
METRICS: Final = "metrics.jsonl"
_LOCK: Final = ".refine.lock"
_ROLE: Final = "pi_rl"
"""In the card of the policy."""
_REPORT_S: Final = 0.5

__all__ = ["Evaluation", "RefineError", "RefineResult", "RefineSettings", "refine"]


@dataclass(slots=True)
class _Counters:
    """What a checkpoint keeps beside learner, replay and runner."""

    iteration: int = 0
    next_match: int = 0
    matches: int = 0
    """Finished."""
    frames: int = 0
    """Fresh."""
    agent_steps: int = 0
    seconds: float = 0.0
    """Playing and learning, evaluations left out; of earlier parts as well."""
    metrics_bytes: int = 0
    evaluations: list[Evaluation] = field(default_factory=list[Evaluation])


class _Best(NamedTuple):
    """The policy of the best look so far; the one from before anything was learnt does not count."""

    iteration: int
    weights: Weights


def refine(
    supervised: Path,
    settings: RefineSettings | None = None,
    run_dir: Path = Path(),
    report: Report = ignore,
    stop: Callable[[], bool] = lambda: False,
    resume: bool = False,
    name: str = "pi_rl",
) -> RefineResult:
    """Refine the policy ``supervised`` (a file without suffix) and write it to ``run_dir/name``.

    Written is the policy of the best evaluation (``RefineResult.kept``), or without evaluations the last. ``stop`` is asked
    between iterations and while it is looked at; what was learnt is kept then, and a look that was cut short is due again. Ctrl-C ends at
    once: the last checkpoint is kept. Raises CheckpointError when a policy does not fit or a resumed run had other settings, RefineError
    when there is a run already and ``resume`` is not asked for, another process is at work there or another policy bears the name,
    RunnerError when actors keep dying, OSError.
    """
    settings = settings or RefineSettings()
    if not resume and refinements(run_dir):
        raise RefineError(f"{run_dir}: there is a run already; go on with it by --resume, or name another folder")
    if LeagueStore(run_dir).has_state:
        raise RefineError(f"{run_dir}: a league lies there, whose {METRICS} this would write into; name another folder")
    _refuse_other(run_dir / name)
    load_policy(supervised)  # one that does not fit is told before anything is compiled
    warm_up(report)
    with only_one(run_dir / _LOCK) as alone:
        if not alone:
            raise RefineError(f"{run_dir}: another process is refining there; stop it, or name another folder")
        run = _Run(supervised, settings, run_dir, name)
        try:
            if resume:
                run.resume()
            else:
                run._forget_metrics()
            interrupted = run.work(report, stop)
            return run.result(interrupted)
        finally:
            run.runner.close()


def _refuse_other(path: Path) -> None:
    """Raise RefineError when refinement would write over a policy of something else: over the one it comes from, say."""
    role = _ROLE
    with contextlib.suppress(CheckpointError):  # absent, or torn
        role = read_card(path).get("role")
    if role != _ROLE:
        raise RefineError(f"{path}{SUFFIX}: is there already and is no refinement's ({role}); name another --output")


class _Run:
    def __init__(self, supervised: Path, settings: RefineSettings, run_dir: Path, name: str) -> None:
        self.settings, self.run_dir, self.name = settings, run_dir, name
        network, _ = load_policy(supervised)
        reference, _ = load_policy(supervised)
        paid = settings.pseudo_reward_scale > 0
        self.replay = Replay(settings.replay_settings())
        reuse = settings.replay_settings().reuse
        self.learner = LeagueLearner(network, reference, settings.loss, settings.update, pseudo_rewards=paid, reuse=reuse)
        self.frozen = {other: weights_of(load_policy(path)[0]) for other, path in settings.frozen.items()}
        self.fixed = {**settings.fixed(), "frozen": {other: weights_hash(weights) for other, weights in self.frozen.items()}}
        self.counters = _Counters()
        self.journal = Journal(run_dir / METRICS)
        self.notes: list[str] = []
        self.saved = -1
        """Iteration of the last checkpoint."""
        self._saved_evaluations = 0
        self.best: _Best | None = None
        self.kept: Evaluation | None = None
        self._told_s = 0.0
        self.runner: Runner = make_runner(settings.runner, settings.runner_settings(), settings.address)
        self._set_fixed_weights(reference)

    def _set_fixed_weights(self, reference: ActorCritic) -> None:
        weights = weights_of(reference)
        if self.settings.loss.kl_weight or self.settings.loss.kl_weight_end:
            self.runner.set_reference(weights)
        self.runner.set_weights(SUPERVISED, weights, 0)
        for other, frozen in self.frozen.items():
            self.runner.set_weights(other, frozen, 0)

    # the loop

    def work(self, report: Report, stop: Callable[[], bool]) -> bool:
        """Iterations until it is done, or stopped (True). A look that was stopped half-way is due again when the run goes on."""
        self.run_dir.mkdir(parents=True, exist_ok=True)
        counters = self.counters
        try:
            while True:
                share = self._share_done()
                if self._look_is_due(at_end=share >= 1) and not self._evaluate(report, stop):
                    self._checkpoint()
                    return True
                if share >= 1:
                    break
                if counters.iteration and counters.iteration % self.settings.checkpoint_every == 0:
                    self._checkpoint()
                if stop():
                    self._checkpoint()
                    return True
                self._tell(report, share)
                self._iterate()
            self._checkpoint()
            if not self._judge_best(report, stop):
                return True
        except KeyboardInterrupt:
            kept = f"what was learnt until iteration {self.saved} is kept" if self.saved >= 0 else "nothing was kept yet"
            self.notes.append(f"interrupted in iteration {counters.iteration + 1}; {kept}")
            return True
        report(Progress("done", 1.0, 0.0, run_dir=str(self.run_dir)))
        return False

    def _look_is_due(self, *, at_end: bool) -> bool:
        """Before the first iteration, every so often and at the end, once each."""
        every, iteration, looks = self.settings.evaluate_every, self.counters.iteration, self.counters.evaluations
        return bool(every) and (not looks or ((at_end or iteration % every == 0) and looks[-1].iteration != iteration))

    def _share_done(self) -> float:
        if self.settings.minutes:
            return min(1.0, self.counters.seconds / (60 * self.settings.minutes))
        return min(1.0, self.counters.iteration / self.settings.iterations)

    def _tell(self, report: Report, share: float) -> None:
        now_s, counters = time.monotonic(), self.counters
        if now_s - self._told_s < _REPORT_S:
            return
        self._told_s = now_s
        left_s = counters.seconds / share * (1 - share) if share > 0 else None
        rate = counters.frames / counters.seconds if counters.seconds else 0.0
        text = f"{counters.frames} frames, {rate:.0f}/s, {counters.matches} matches"
        if counters.evaluations:
            first = counters.evaluations[-1].versus[0]
            text += f", {first.payoff.value:.2f} against {first.opponent}"
        report(Progress(f"iteration {counters.iteration + 1}", share, left_s, text, str(self.run_dir)))

    def _iterate(self) -> None:
        began_s, counters = time.monotonic(), self.counters
        fresh, consumed = counters.frames, self.learner.frames
        parts: list[dict[str, float]] = []
        for _ in range(self.settings.actor_rollouts):
            self.runner.set_weights(LEARNER, self.learner.weights(), self.learner.version)
            for chunk in self.runner.collect(self._next_matches, self.settings.update.unroll_steps):
                counters.frames += chunk.frames
                counters.agent_steps += chunk.steps
                counters.matches += len(chunk.played)
                if chunk.sequence is not None:
                    self.replay.add(chunk.sequence)
            while (batch := self.replay.draw(self.learner.version)) is not None:
                parts.append(self.learner.update(batch.sequence))
        spent_s = time.monotonic() - began_s
        counters.iteration += 1
        counters.seconds += spent_s
        self._write_metrics(parts, spent_s, counters.frames - fresh, self.learner.frames - consumed)

    def _next_matches(self, count: int) -> Sequence[Match]:
        first = self.counters.next_match
        self.counters.next_match += count
        return [self.settings.match(number) for number in range(first, first + count)]

    def _write_metrics(self, parts: list[dict[str, float]], spent_s: float, fresh: int, consumed: int) -> None:
        counters, lag = self.counters, self.replay.lag
        row: dict[str, Any] = {
            "iteration": counters.iteration,
            "seconds": counters.seconds,
            "frames": counters.frames,
            "consumed": self.learner.frames,
            "matches": counters.matches,
            "updates": self.learner.version,
            "fresh_per_s": fresh / spent_s,
            "consumed_per_s": consumed / spent_s,
            "lag_mean": lag.mean,
            "pushed_out": self.replay.counts.pushed_out,
        }
        row["losses"] = {key: float(np.mean([p[key] for p in parts])) for key in (parts[0] if parts else ())}
        self.journal.append([row])

    def _evaluate(self, report: Report, stop: Callable[[], bool]) -> bool:
        """Against the pilots; False when it was stopped half-way, and is forgotten."""
        counters, settings = self.counters, self.settings
        told = Progress(f"evaluates after iteration {counters.iteration}", self._share_done(), run_dir=str(self.run_dir))
        report(told)
        versus = judge(self.learner.network, matches=settings.evaluate_matches, ships=settings.ships, seed=settings.seed, stop=stop)
        found = Evaluation(counters.iteration, counters.frames, counters.seconds, tuple(versus))
        if len(versus) < len(PILOTS):
            return False
        if counters.iteration and found.score > max((one.score for one in counters.evaluations if one.iteration), default=-1.0):
            self.best = _Best(counters.iteration, self.learner.weights())
        counters.evaluations.append(found)
        self.journal.append([{"evaluation": found.to_json()}])
        return True

    def _judge_best(self, report: Report, stop: Callable[[], bool]) -> bool:
        """Anew, in other worlds: the best of many looks had luck in those it was chosen by. False when it was stopped."""
        if self.best is None:
            return True
        settings, iteration = self.settings, self.best.iteration
        report(Progress(f"plays anew what iteration {iteration} had learnt", 1.0, run_dir=str(self.run_dir)))
        best, matches, ships = network_of(self.best.weights), settings.evaluate_matches, settings.ships
        versus = judge(best, matches=matches, ships=ships, seed=settings.seed, stop=stop, anew=True)
        if len(versus) < len(PILOTS):
            self.notes.append("stopped while it played anew; --resume does that again")
            return False
        chosen = next(one for one in self.counters.evaluations if one.iteration == iteration)
        self.kept = Evaluation(iteration, chosen.frames, chosen.seconds, tuple(versus))
        self.journal.append([{"kept": self.kept.to_json()}])  # behind the last checkpoint: cut off when the run goes on
        return True

    # what is kept

    def _about(self) -> dict[str, Any]:
        counters = self.counters
        told = {name: getattr(counters, name) for name in ("iteration", "next_match", "matches", "frames", "agent_steps", "seconds")}
        evaluations = [one.to_json() for one in counters.evaluations]
        return {
            "settings": self.fixed,
            "course": {name: getattr(self.settings, name) for name in COURSE},
            **told,
            "metrics_bytes": self.journal.size,
            "evaluations": evaluations,
            "best": self.best.iteration if self.best else 0,
        }

    def _checkpoint(self) -> None:
        """Replay and worlds first, the checkpoint that names them last; then the policy, and older ones go."""
        number = self.counters.iteration
        if (self.saved, self._saved_evaluations) == (number, len(self.counters.evaluations)):
            return
        self.replay.save(self.run_dir / f"replay_{number}.npz")
        state = self.runner.state()
        write_arrays(self.run_dir / f"runner_{number}.npz", state.arrays, state.head)
        about = self._about()
        if self.best:
            write_arrays(self.run_dir / f"best_{number}.npz", self.best.weights, {"iteration": self.best.iteration})
        self.learner.save(checkpoint_of(self.run_dir, number), about, ROLE)
        self._give_out(about)
        self.saved, self._saved_evaluations = number, len(self.counters.evaluations)
        self._keep_newest()

    def _keep_newest(self) -> None:
        """Remove older checkpoints of this run, and what belongs to them."""
        found = refinements(self.run_dir)
        for old in found[KEPT_CHECKPOINTS:]:
            for suffix in (SUFFIX, ".json"):
                old.with_name(old.name + suffix).unlink(missing_ok=True)
        kept = {iteration_of(path) for path in found[:KEPT_CHECKPOINTS]}
        for part in ("replay", "runner", "best"):
            for old in self.run_dir.glob(f"{part}_*.npz"):
                if iteration_of(old.with_suffix("")) not in kept:
                    old.unlink(missing_ok=True)

    def _give_out(self, about: dict[str, Any]) -> None:
        save(self.run_dir / self.name, self.best.weights if self.best else self.learner.weights(), self.learner.card(_ROLE, about))

    def resume(self) -> None:
        """Go on from the newest checkpoint that is whole, with its replay and worlds."""
        found = refinements(self.run_dir)
        for path in found:
            number = iteration_of(path)
            try:
                replay = replays.restore(self.run_dir / f"replay_{number}.npz")
                state = RunnerState(*read_arrays(self.run_dir / f"runner_{number}.npz"))
                about = self.learner.restore(path)
                best = self._best(number, about) if about.get("best") else None
            except (TrajectoryError, CheckpointError, OSError) as error:
                if isinstance(error, CheckpointError) and "made with" in str(error):
                    raise
                self.notes.append(f"{error}; falling back to the checkpoint before")
                continue
            self._restore(path, about, replay, state)
            self.best = best
            self._give_out(about)  # it was killed before it came to that, or the policy is to lie elsewhere now
            return
        if found:
            raise CheckpointError(f"{self.run_dir}: none of {len(found)} checkpoints is whole; start a new run in another folder")
        self.notes.append(f"{self.run_dir}: no checkpoint to go on from; starting anew")
        self._forget_metrics()

    def _forget_metrics(self) -> None:
        """Of a run that was killed before its first checkpoint: what it did is done again."""
        if note := self.journal.cut(0):
            self.notes.append(note)

    def _best(self, number: str, about: dict[str, Any]) -> _Best:
        path = self.run_dir / f"best_{number}.npz"
        weights, head = read_arrays(path)
        if head.get("iteration") != about["best"]:
            raise TrajectoryError(f"{path.name}: is of iteration {head.get('iteration')}, not {about['best']}; use an earlier one")
        return _Best(about["best"], weights)

    def _restore(self, path: Path, about: dict[str, Any], replay: Replay, state: RunnerState) -> None:
        theirs, mine = about.get("settings", {}), _plain(self.fixed)
        changed = [f"{key}: made with {theirs.get(key)}, here {value}" for key, value in mine.items() if theirs.get(key) != value]
        if changed:
            raise CheckpointError(f"{path}: {'; '.join(changed)}. Resume with the same settings, or start a new run")
        self.runner.restore(state)
        self.replay = replay
        told = {key: about[key] for key in ("iteration", "next_match", "matches", "frames", "agent_steps", "seconds", "metrics_bytes")}
        self.counters = _Counters(**told, evaluations=[_evaluation(one) for one in about["evaluations"]])
        ended = self._ended()
        note = self.journal.cut(self.counters.metrics_bytes)
        if ended:
            note = ""  # only how the policy it kept played anew: that is told again
        self.notes += [f"resumed after iteration {self.counters.iteration}", *([note] if note else [])]
        course = about.get("course", {})
        for name in ("evaluate_every", "evaluate_matches"):
            if (before := course.get(name)) not in (None, now := getattr(self.settings, name)):
                self.notes.append(f"{name} is {now} from here on, {before} before")
        self.saved, self._saved_evaluations = self.counters.iteration, len(self.counters.evaluations)

    def _ended(self) -> bool:
        """Nothing was written since the checkpoint but the row of ``_judge_best``."""
        if self.journal.size <= self.counters.metrics_bytes:
            return False
        with self.journal.path.open("rb") as file:
            file.seek(self.counters.metrics_bytes)
            rest = file.read()
        return rest.startswith(b'{"kept":') and rest.count(b"\n") == 1

    def result(self, interrupted: bool) -> RefineResult:
        counters = self.counters
        if interrupted and self.saved >= 0:
            self.notes.append(f"stopped after iteration {self.saved}; go on with --resume")
        return RefineResult(
            self.run_dir / self.name,
            counters.iteration,
            counters.frames,
            self.learner.frames,
            counters.matches,
            counters.seconds,
            tuple(counters.evaluations),
            interrupted,
            tuple(self.notes),
            self.kept,
            self.best.iteration if self.best else max(self.saved, 0),
        )


def _plain(value: Any) -> Any:
    import json

    return json.loads(json.dumps(value))


def _evaluation(told: dict[str, Any]) -> Evaluation:
    versus = tuple(
        Versus(v["opponent"], v["opponents"], v["matches"], Interval(**v["payoff"]), Interval(**v["first"])) for v in told["versus"]
    )
    return Evaluation(told["iteration"], told["frames"], told["seconds"], versus)

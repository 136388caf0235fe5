"""The league: learners take turns, meet each other and their frozen past, are frozen themselves, and some start anew.

A round gives every learner some iterations; an iteration is some rollouts of all its worlds, after each of which it learns.
Each learner has worlds of its own, so that a match which is not over waits for its learner's next turn. Who plays is drawn
when a world begins a match, and bound then (``league.payoff.Ticket``): when one of its players is reset before the end, the
result is dropped. A learner is frozen first, and reset afterwards.

All of it hangs on the seed and on nothing else: neither on time, nor on when it is saved or stopped. Saves are made between
iterations; a run that was killed goes on from the last one, and plays the same matches to the same weights as one that never
stopped, with actors in processes too: a rollout begun ahead is saved with the weights that it is played with. ``league.store``
says how states, snapshots and journals survive.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

from data.files import write_json
from league.arena.last_standing_rules import RULES_VERSION
from league.imitate import load_policy
from league.league_run import LeagueError, LeagueProgress, LeagueResult, LeagueRun, Meter, live_table, views_of
from league.matchmaking import Matchmaker
from league.moves import KeptMatch
from league.payoff import EARLIER_ROW, Ticket, pair_scores
from league.ratings import Elo
from league.report import make_report, summary_of
from league.rollout import Match, Played, world_seed
from league.runners.base import Runner, weights_of
from league.runners.choose import make_runner
from league.store import SUMMARY, LeagueStore, StoreError, weights_hash
from league.trainee import MakeRunner, Trainee, Weights

_REPORT_S: Final = 0.5
_MOST_NOTES: Final = 200


def runner_of(run: LeagueRun) -> Runner:
    """The runner that the run names."""
    return make_runner(run.runner, run.runner_settings(), run.address)


class _Open(NamedTuple):
    """A match that is being played."""

    learner: str
    branch: str
    asked: str
    ticket: Ticket


Report = Callable[[LeagueProgress], None]


def run_league(
    run: LeagueRun,
    output_dir: Path,
    report: Report = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
    resume: bool = False,
    runner_for: MakeRunner = runner_of,
) -> LeagueResult:
    """Play the league in ``output_dir`` until its last round is over, or ``stop`` says so (asked after each iteration), or Ctrl-C.

    ``resume`` goes on with the league that is there, and begins one when the folder is empty. Raises LeagueError for settings
    that do not fit, StoreError when the folder holds another league or none that can be read, CheckpointError when ``pi_sup``
    does not fit, OSError when the disk refuses; what was saved stands.
    """
    store = LeagueStore(output_dir)
    if store.is_used and not resume:
        raise StoreError(f"{output_dir}: a league is there already; go on with it by --resume, or name another folder")
    if not store.is_used and (store.metrics.path.exists() or any(output_dir.glob("checkpoint_iteration_*"))):
        raise StoreError(f"{output_dir}: a policy was refined there, whose files this would write into; name another folder")
    with store.writing():
        league = _League(run, store, runner_for)
        try:
            if resume and store.is_used:
                league.resume()
            else:
                league.begin()
                league.notes += ["there was no league to go on with; a new one began"] if resume else []
            interrupted = league.play(report, stop)
        finally:
            league.close()
    return league.result(interrupted)


class _League:
    def __init__(self, run: LeagueRun, store: LeagueStore, runner_for: MakeRunner) -> None:
        self.run, self.store, self.runner_for = run, store, runner_for
        self.elo = Elo(run.elo)
        self.makers = Matchmaker(run.league, run.seed)
        self.trainees: dict[str, Trainee] = {}
        self.frozen: dict[str, Weights] = {}
        """Weights of all snapshots that may play."""
        self.open: dict[int, _Open] = {}
        self.iterations = 0
        """Of all learners, since the league began."""
        self.number = 0
        """Of the next match."""
        self.matches = 0
        """That are over."""
        self.notes: list[str] = []
        self._lasting_notes = 0
        """So many, of how it began or went on, are never dropped."""
        self._first = 0
        """Iterations that were over when this run began."""
        self._dirty: set[str] = set()
        self._saved_s = time.monotonic()

    # beginning and going on

    def begin(self) -> None:
        if self.run.supervised is None:
            raise LeagueError("league run: no supervised policy; make one with: secondseat league imitate, and name it")
        network, _ = load_policy(self.run.supervised)
        weights = weights_of(network)
        self.makers = Matchmaker.new(self.run.league, self.run.seed, weights_hash(weights))
        self._hire(weights)  # before anything is written: a runner that cannot be had leaves no league behind
        for snapshot in self.makers.snapshots.values():
            self.store.write_snapshot(snapshot.id, weights, asdict(snapshot), first=True)
            self.frozen[snapshot.id] = weights
        self._save()

    def resume(self) -> None:
        saved = self.store.load()
        self.notes += saved.notes
        state = saved.state
        self.run.refuse_other(state["settings"])
        try:
            self.makers = Matchmaker.from_json(state["matchmaker"], self.run.league)
            self.elo = Elo.from_json(state["elo"], self.run.elo)
            self.iterations, self.number, self.matches = (int(state[key]) for key in ("iterations", "number", "matches"))
            self.open = {int(n): _Open(*row[:3], Ticket(tuple(row[3]), tuple(row[4]))) for n, row in state["open"].items()}
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{self.store.folder}: its state is broken ({error}); put league_state.previous.json in its place") from error
        self._thaw()
        self._hire(self._supervised())
        for name, me in self.trainees.items():
            mine = {number for number, match in self.open.items() if match.learner == name}
            players = {player for number in mine for player in self.open[number].ticket.players}
            gone = sorted(players - self.frozen.keys() - self.trainees.keys())
            me.restore(saved.parts[name], worlds=not gone)
            if gone:
                self.open = {number: match for number, match in self.open.items() if number not in mine}
                self.notes.append(
                    f"{name}: {len(mine)} matches were under way, some with {', '.join(gone)}; they are not played to the end"
                )
        for journal, name in ((self.store.matches, "matches"), (self.store.metrics, "metrics")):
            self.notes += [note] if (note := journal.cut(int(saved.journals[name]))) else []
        if state.get("course") != self.run.course():  # what is asked for now counts, even if this run is killed before it saves
            self.store.amend({"course": self.run.course()})
        if any(len(row) == EARLIER_ROW for row in state["matchmaker"]["table"]["pairs"]):
            self.notes.append(
                "begun by an earlier version: the live ratings take its matches as won, drawn or lost; the report counts them anew"
            )
        self.notes.append(f"goes on after {self.iterations} iterations and {self.matches} matches")

    def _thaw(self) -> None:
        """Weights of all snapshots; those that are missing or altered do not play, and that is said."""
        self.notes += self.makers.check_snapshots(self.store.found_snapshots(self.makers.snapshots))
        for snapshot in self.makers.snapshots.values():
            if not snapshot.benched:
                self.frozen[snapshot.id] = self.store.read_snapshot(snapshot.id, snapshot.weights_hash)

    def _supervised(self) -> Weights:
        """The policy that resets go back to: the league's own copy, or the file that is named, if it is the same."""
        first = next(s for s in self.makers.snapshots.values() if s.number == 0)
        if first.id in self.frozen:
            return self.frozen[first.id]
        if self.run.supervised is not None:
            weights = weights_of(load_policy(self.run.supervised)[0])
            if weights_hash(weights) == first.weights_hash:
                return weights
        raise StoreError(
            f"{self.store.folder}: the supervised policy of this league is missing (snapshot {first.id}); put it back, or name it with "
            "--supervised-checkpoint"
        )

    def _hire(self, supervised: Weights) -> None:
        for name in self.makers.learners:  # one by one: those that are there are closed when the next cannot be had
            self.trainees[name] = Trainee(name, supervised, self.run, self.runner_for)
        self._dirty = set(self.trainees)

    def close(self) -> None:
        for me in self.trainees.values():
            me.runner.close()

    # playing

    @property
    def round(self) -> int:
        """Rounds that are over."""
        return self.iterations // (self.run.rl_iterations_per_round * len(self.trainees))

    def play(self, report: Report, stop: Callable[[], bool]) -> bool:
        """Whether it was stopped before the end."""
        of_round = self.run.rl_iterations_per_round * len(self.trainees)
        total = self.run.rounds * of_round
        first, told_s, meter = self.iterations, 0.0, Meter()
        self._first, self._lasting_notes = first, len(self.notes)
        names = list(self.trainees)
        try:
            while self.iterations < total:
                if stop():
                    break
                name = names[self.iterations % of_round // self.run.rl_iterations_per_round]
                meter.add(self._iterate(self.trainees[name]))
                now_s = time.monotonic()
                if now_s - self._saved_s >= self.run.save_every_s:
                    self._save()
                if now_s - told_s >= _REPORT_S or self.iterations == total:
                    told_s = now_s
                    report(self._progress(name, meter, first / total))
        except KeyboardInterrupt:  # in the middle of an iteration nothing fits together: the last save stands
            self.notes.append("interrupted; what was played since the last save is played again when it goes on")
            return True
        if self._dirty:
            self._save()
        return self.iterations < total

    def _iterate(self, me: Trainee) -> int:
        """One iteration of a learner; frames that it gave."""
        self._dirty.add(me.name)
        frames = 0
        rows: list[dict[str, Any]] = []
        kept: list[dict[str, Any]] = []
        for _ in range(self.run.actor_rollouts):
            self._show_weights(me)
            for chunk in me.collect(lambda count: self._deal(me.name, count)):
                frames += chunk.frames
                mine = [played for played in chunk.played if played.match.number in self.open]
                kept += [self._kept(played) for played in mine if played.moves]
                rows += [self._end(played) for played in mine]
            me.learn()
        self.makers.learnt(me.name, frames)
        self.iterations += 1
        self.store.replays.append(kept)
        self.store.matches.append(rows)
        about = {"iteration": self.iterations, "learner": me.name, "learner_frames": self.makers.learner(me.name).frames, "frames": frames}
        self.store.metrics.append([{**about, "version": me.version, "matches": self.matches, "losses": me.losses}])
        if reason := self.makers.due(me.name):
            self._freeze(me, reason)
        return frames

    def _show_weights(self, me: Trainee) -> None:
        """Give the learner's worlds the newest weights of everyone whom it may meet."""
        for name, other in self.trainees.items():
            me.show(name, other.weights, other.version)
        for name, weights in self.frozen.items():
            me.show(name, lambda weights=weights: weights, 0)

    def _deal(self, learner: str, count: int) -> Sequence[Match]:
        """The next matches of a learner. In self-play all seats learn; seats rotate with the match's number (``league.rollout``)."""
        matches: list[Match] = []
        for _ in range(count):
            choice = self.makers.choose(learner, self.run.ships - 1)
            players = (learner, *choice.opponents)
            self.open[self.number] = _Open(learner, choice.branch, choice.asked, self.makers.table.bind(players))
            matches.append(Match(self.number, players, tuple(player == learner for player in players)))
            self.number += 1
        return matches

    def _end(self, played: Played) -> dict[str, Any]:
        """Count a finished match; its line."""
        mine = self.open.pop(played.match.number)
        counted = self.makers.table.record(mine.ticket, played.placements, played.match.players)
        scores = pair_scores(mine.ticket.players, played.placements) if counted else {}
        if scores:
            self.elo.record(scores)
        self.matches += 1
        return {
            "match": played.match.number,
            "round": self.round + 1,
            "learner": mine.learner,
            "branch": mine.branch,
            "asked": mine.asked,
            "players": list(mine.ticket.players),
            "lives": list(mine.ticket.lives),
            "placements": [float(place) for place in played.placements],
            "steps": int(played.steps),
            "truncated": bool(played.truncated),
            "counted": counted,
        }

    def _kept(self, played: Played) -> dict[str, Any]:
        """A finished match's moves, as a line."""
        match = played.match
        world = world_seed(self.run.seed, match.number)
        return KeptMatch(
            match.number, match.players, played.placements, world, self.run.episode_steps, RULES_VERSION, played.moves
        ).to_json()

    def _freeze(self, me: Trainee, reason: str) -> None:
        """Snapshot, then reset where the role calls for it: results of the old life go, and so do its matches under way."""
        weights = me.weights()
        snapshot = self.makers.take_snapshot(me.name, weights_hash(weights))
        self.store.write_snapshot(snapshot.id, weights, asdict(snapshot))
        self.frozen[snapshot.id] = weights
        self.notes.append(f"{snapshot.id} frozen after {snapshot.frames} frames: {reason}")
        if self.makers.learner(me.name).reset_pending:
            self.makers.reset(me.name)
            for match in me.restart():
                self.open.pop(match.number, None)
            life = self.makers.learner(me.name).resets + 1
            self.notes.append(f"{me.name} starts anew from the supervised policy (life {life})")
        del self.notes[self._lasting_notes : -_MOST_NOTES]

    # telling and keeping

    def _save(self) -> None:
        state = {
            "settings": self.run.recipe(),
            "course": self.run.course(),
            "iterations": self.iterations,
            "round": self.round,
            "number": self.number,
            "matches": self.matches,
            "matchmaker": self.makers.to_json(),
            "elo": self.elo.to_json(),
            "open": {str(n): [m.learner, m.branch, m.asked, list(m.ticket.players), list(m.ticket.lives)] for n, m in self.open.items()},
        }
        self.store.save(state, {name: self.trainees[name].save for name in sorted(self._dirty)})
        self._dirty.clear()
        self._saved_s = time.monotonic()

    @property
    def frames(self) -> int:
        return sum(learner.frames for learner in self.makers.learners.values())

    def _progress(self, name: str, meter: Meter, first: float) -> LeagueProgress:
        turn, of_turn = self.iterations - 1, self.run.rl_iterations_per_round
        done = self.iterations / (self.run.rounds * of_turn * len(self.trainees))
        payoffs, games = live_table(self.makers)
        return LeagueProgress(
            round=turn // (of_turn * len(self.trainees)) + 1,
            rounds=self.run.rounds,
            learner=name,
            iteration=turn % of_turn + 1,
            iterations=of_turn,
            done=done,
            eta_s=meter.left_s(done, first),
            frames=self.frames,
            frames_per_s=meter.frames_per_s,
            matches=self.matches,
            players=views_of(self.makers),
            payoffs=payoffs,
            games=games,
            ratings=meter.ratings(self.makers),
            elo={player: self.elo.rating(player) for player in self.makers.table.players},
            mix=tuple(self.makers.mix()),
            losses={name: dict(me.losses) for name, me in self.trainees.items() if me.losses},
            notes=tuple(self.notes),
        )

    def result(self, interrupted: bool) -> LeagueResult:
        """Of what was saved; ``summary.json`` tells it too."""
        report = make_report(self.store.folder)
        summary = {**summary_of(report), "interrupted": interrupted, "notes": [*self.notes, *report.notes]}
        write_json(self.store.folder / SUMMARY, summary)
        snapshots = sum(player.frozen for player in report.players)
        idle = not interrupted and self.iterations == self._first
        notes = tuple(self.notes)
        return LeagueResult(self.store.folder, report.rounds, report.frames, report.matches, snapshots, interrupted, notes, summary, idle)


__all__ = ["LeagueProgress", "LeagueResult", "LeagueRun", "run_league"]

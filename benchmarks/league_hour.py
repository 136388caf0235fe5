"""What is a league worth beside plain self-play? An hour of each from the same policy, then everybody meets with frozen weights.

    python -m benchmarks.league_hour --minutes 60 --keep build/league_hour

``pi_sup`` imitates experts as in ``benchmarks.league_learning`` (or is named with ``--supervised``). From it a league with the
default settings (one main, one exploiter of mains, one of the league) and plain self-play (one learner that meets only itself,
frozen as often) run for ``--minutes`` each by the clock, saving and compiling included; one that was stopped goes on where it was,
and its time is counted on. Then, in worlds that nobody learnt in:

- the exploitability proxy of each main: its least payoff against frozen players of its own past that are at least two snapshots
  old, ``--matches`` a pair, newer ones apart; 0.5 is parity, and the least of many pairs lies below what any one of them would show;
- the same against what the *other* one froze, which no main has learnt from;
- both mains against each other in both casts, and against scripted experts, 2,000 matches each;
- a fresh exploiter from ``pi_sup`` that learns for ``--best-response`` frames against each main alone.

Prints lines, writes a dated file under ``benchmarks/results/``. What is finished lies in ``--keep``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.league_learning import first
from data.files import write_json
from data.progress import Progress
from league import threads
from league.evaluation import Frozen, best_response, duels, evaluate, frozen_league, payoff_of
from league.league import LeagueProgress, run_league
from league.league_run import LeagueRun
from league.matchmaking import LeagueSettings
from league.players import judge
from league.ratings import Interval
from league.report import Report, by_age, make_report
from league.runners.base import network_of
from league.store import EVALUATION, LeagueStore
from league.warm_up import warm_up

RESULTS = Path(__file__).parent / "results"
MAIN: Final = "main-1"
TELL_EVERY_S: Final = 60.0
ROUNDS: Final = 10**6
"""More than fit into any hour: the clock ends it."""
HEAD_TO_HEAD: Final = 2000
UNSEEN: Final = 2000
"""Seed of the worlds in which the scripted experts are met."""
SETTINGS: Final = {
    "league": LeagueSettings(),
    "self-play": LeagueSettings(main_exploiters=0, league_exploiters=0, main_self_play=1.0, main_pfsp=0.0, main_forgotten=0.0),
}
Say = Callable[[str], None]


def grow(kind: str, supervised: Path, asked: argparse.Namespace, say: Say) -> float:
    """Run ``kind`` until its minutes are over; seconds spent on it, those of earlier runs included. Raises KeyboardInterrupt."""
    folder, told = asked.keep / kind, asked.keep / f"{kind}.json"
    before_s = float(json.loads(told.read_text("utf-8"))["seconds"]) if told.exists() else 0.0
    run = LeagueRun(supervised=supervised, rounds=ROUNDS, seed=asked.seed, league=SETTINGS[kind])
    began_s = told_s = time.monotonic()

    def spent_s() -> float:
        return before_s + time.monotonic() - began_s

    def report(progress: LeagueProgress) -> None:
        nonlocal told_s
        write_json(told, {"seconds": spent_s()})
        if time.monotonic() - told_s > TELL_EVERY_S:
            told_s = time.monotonic()
            main = next(player for player in progress.players if player.id == MAIN)
            frozen = sum(player.frozen for player in progress.players)
            frames = f"{progress.frames / 1e6:.1f} M frames, {main.frames / 1e6:.1f} M of the main, {progress.frames_per_s / 1e3:.0f} k/s"
            say(f"{kind}: {spent_s() / 60:.0f} of {asked.minutes:g} min; {frames}, {frozen} frozen")

    if before_s < 60 * asked.minutes:
        result = run_league(run, folder, report, lambda: spent_s() >= 60 * asked.minutes, resume=LeagueStore(folder).is_used)
        write_json(told, {"seconds": spent_s()})
        if spent_s() < 60 * asked.minutes:
            raise KeyboardInterrupt
        say(f"{kind}: {result.frames / 1e6:.1f} M frames, {result.matches} matches, {result.snapshots} frozen, {spent_s() / 60:.1f} min")
    return spent_s() if before_s < 60 * asked.minutes else before_s


def judged(kind: str, asked: argparse.Namespace, say: Say) -> Report:
    """The report of ``kind`` with an evaluation of its main as it is now, and with a best response when one is asked for."""
    folder = asked.keep / kind
    report = _teller(kind, say)
    if _stale(folder, asked.matches):
        for note in evaluate(folder, asked.matches, report):
            say(f"{kind}: {note}")
    found = make_report(folder)
    if asked.best_response and found.best_responses.get(MAIN, {}).get("budget") != asked.best_response:
        best_response(folder, MAIN, asked.best_response, asked.matches, report)
        found = make_report(folder)
    return found


def _stale(folder: Path, matches: int) -> bool:
    """Whether the main has learnt since it was evaluated, or was evaluated with another number of matches."""
    path = folder / EVALUATION
    if not path.exists():
        return True
    with path.open("r", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    makers = frozen_league(folder).makers
    return len(rows) != matches * len(makers.past()) or rows[0]["frames"] != makers.learner(MAIN).frames


def _teller(kind: str, say: Say) -> Callable[[Progress], None]:
    told_s = 0.0

    def report(progress: Progress) -> None:
        nonlocal told_s
        if time.monotonic() - told_s > TELL_EVERY_S:
            told_s = time.monotonic()
            say(f"{kind}: {progress.stage} {progress.done:.0%} {progress.message}")

    return report


def past_of(report: Report) -> list[str]:
    """Frozen players that are at least two snapshots of the main old, oldest first."""
    return by_age(report.players, next(player for player in report.players if player.id == MAIN))[0]


def against_others(mine: Frozen, theirs: Frozen, past: Sequence[str], matches: int) -> dict[str, Interval]:
    """Payoffs of my main against every player of the other's past."""
    found: dict[str, Interval] = {}
    for name in past:
        played = duels(mine.run, MAIN, "other", {MAIN: mine.weights[MAIN], "other": theirs.weights[name]}, matches)
        found[name] = payoff_of(played or [])
    return found


def told_of(kind: str, spent_s: float, report: Report, league: Frozen) -> dict[str, Any]:
    """Of one kind alone."""
    (proxy,) = report.proxies
    (experts,) = judge(network_of(league.weights[MAIN]), ("expert",), matches=HEAD_TO_HEAD, seed=UNSEEN)
    makers = league.makers
    return {
        "kind": kind,
        "minutes": spent_s / 60,
        "frames": report.frames,
        "main_frames": makers.learner(MAIN).frames,
        "frozen": len(makers.past()),
        "old": len(past_of(report)),
        "least_old": {"against": proxy.found.worst, "games": proxy.found.games, **proxy.found.payoff._asdict()},
        "least_new": {"against": proxy.found.newest_worst, **proxy.found.newest._asdict()},
        "experts": experts.to_json(),
        "best_response": report.best_responses.get(MAIN),
        "mix": [row._asdict() for row in report.mix],
    }


def compared(leagues: Mapping[str, Frozen], reports: Mapping[str, Report], matches: int, say: Say) -> dict[str, Any]:
    """Everything in which the two meet."""
    found: dict[str, Any] = {}
    for mine, theirs in (("league", "self-play"), ("self-play", "league")):
        payoffs = against_others(leagues[mine], leagues[theirs], past_of(reports[theirs]), matches)
        worst = min(payoffs, key=lambda name: payoffs[name].value, default="")
        pair = {MAIN: leagues[mine].weights[MAIN], "other": leagues[theirs].weights[MAIN]}
        alone = payoff_of(duels(leagues[mine].run, MAIN, "other", pair, HEAD_TO_HEAD) or [])
        found[mine] = {
            "least_of_the_others_past": {"against": worst, **payoffs[worst]._asdict()} if worst else None,
            "alone_among_the_others_main": alone._asdict(),
        }
        if worst:
            say(f"{mine}: least against the past of {theirs}: {worst} {share(payoffs[worst])}")
        say(f"{mine}: its main alone among three of {theirs}'s: {share(alone)}")
    return found


def share(payoff: Interval) -> str:
    return f"{payoff.value:.3f} [{payoff.low:.3f}, {payoff.high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="of each kind")
    parser.add_argument("--kinds", default="league,self-play", help="which of them, with a comma between")
    parser.add_argument("--supervised", type=Path, help="pi_sup, without suffix; without: imitated as in benchmarks.league_learning")
    parser.add_argument("--matches", type=int, default=400, help="of each pair")
    parser.add_argument("--best-response", type=int, default=4_000_000, help="frames of a fresh exploiter; 0: none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("build") / "league_hour", help="what is finished is kept here")
    asked = parser.parse_args()
    kinds = asked.kinds.split(",")
    if unknown := sorted(set(kinds) - SETTINGS.keys()):
        parser.error(f"--kinds: {', '.join(unknown)}; use some of {', '.join(SETTINGS)}")
    asked.keep.mkdir(parents=True, exist_ok=True)
    threads.one_thread()
    began_s = time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - began_s:7.0f} s  {text}\n")
        sys.stdout.flush()

    warm_up()
    supervised = asked.supervised
    if supervised is None:
        supervised = asked.keep / "pi_sup"
        how = argparse.Namespace(sequences=20_000, epochs=8, batch_size=512, matches=asked.matches)
        first(how, asked.seed, asked.keep, say)
    found: dict[str, Any] = {}
    leagues: dict[str, Frozen] = {}
    reports: dict[str, Report] = {}
    for kind in kinds:
        spent_s = grow(kind, supervised, asked, say)
        report = reports[kind] = judged(kind, asked, say)
        leagues[kind] = frozen_league(asked.keep / kind)
        one = found[kind] = told_of(kind, spent_s, report, leagues[kind])
        old, new = (Interval(*(one[key][end] for end in Interval._fields)) for key in ("least_old", "least_new"))
        experts = Interval(**one["experts"]["payoff"])
        say(f"{kind}: least of {one['old']} old players: {one['least_old']['against']} {share(old)}; of newer: {share(new)}")
        say(f"{kind}: among three experts {share(experts)}")
        if one["best_response"]:
            say(f"{kind}: a fresh exploiter gets {share(Interval(**one['best_response']['after']))}")
    if len(leagues) == len(SETTINGS):
        found["together"] = compared(leagues, reports, asked.matches, say)
    now = datetime.now(UTC)
    path = RESULTS / f"league_hour_{now:%Y-%m-%d_%H%M}.json"
    RESULTS.mkdir(exist_ok=True)
    settings = {key: str(value) for key, value in vars(asked).items() if key not in ("keep", "supervised")}
    machine = {"python": platform.python_version(), "system": platform.system(), "cpus": os.cpu_count()}
    told = {"what": "league hour", "time": now.isoformat(timespec="seconds"), "machine": machine, "settings": settings, "found": found}
    write_json(path, told)
    say(f"written: {path.name}")


if __name__ == "__main__":
    main()

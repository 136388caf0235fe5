"""The league's report, from ``matches.jsonl`` and the state, where it is there: who beats whom, how sure that is, who is exploitable.

Everything is counted again from the matches; where the state tells the live table, the two are compared and a difference is
said. Without a state (matches from elsewhere) the players are those of the matches. No games, only wins and draws are all fine:
ratings have a prior, shares have Wilson intervals, and what cannot be said is left out and told.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.files import write_json, write_whole
from league.league_run import LeagueRun, run_of
from league.matchmaking import Matchmaker, MixRow
from league.ratings import Counts, Elo, EloSettings, Exploitability, Interval, NashAverage, exploitability, nash_average, wilson
from league.results import Results, against, count_matches, match_of, rated, read_best_responses
from league.skill import Skill, skills
from league.store import BEST_RESPONSE, EVALUATION, MATCHES, METRICS, LeagueStore, StoreError, read_journal

if TYPE_CHECKING:
    from league.report_matches import ShownMatch

AGREES_WITHIN: Final = 1e-6


class PlayerRow(NamedTuple):
    """One player."""

    id: str
    kind: str
    """``main``, ``main_exploiter``, ``league_exploiter``; ``""`` when no state tells it."""
    frozen: bool
    frames: int
    """Learnt from, by it or by its maker until it was frozen."""
    resets: int
    benched: str
    """Why it may not play; empty when it may."""
    games: int
    """Counted matches since its last reset, once for each opponent met in them."""


class PairRow(NamedTuple):
    """One pair, seen from ``a``."""

    a: str
    b: str
    wins: int
    """Matches in which ``a`` ranked above most of the seats of ``b``."""
    draws: int
    losses: int
    payoff: Interval
    """P[a ranks above b], each seat of ``b`` compared, ties as halves, with Wilson's interval."""


class Proxy(NamedTuple):
    """How exploitable one player is."""

    player: str
    source: str
    """``matches`` of the league (the player learnt while they were played) or ``evaluation`` (it did not)."""
    found: Exploitability


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of a league. Players are in the order they came (without a state: by name); pairs are told once."""

    players: tuple[PlayerRow, ...]
    pairs: tuple[PairRow, ...]
    anchor: str
    """Whose rating is 0; "" without games."""
    ratings: dict[str, Interval]
    """Bradley-Terry in Elo points, bootstrap intervals of 95 %."""
    skills: dict[str, Skill]
    """Plackett-Luce from full placements; empty without openskill."""
    elo: dict[str, float]
    """The live figure, counted again match by match."""
    elo_mean: float
    nash: NashAverage | None
    """None with fewer than two players that met."""
    unplayed_pairs: int
    """Pairs that Nash averaging takes as even, since they never met."""
    proxies: tuple[Proxy, ...]
    best_responses: Mapping[str, Mapping[str, Any]]
    """``league.evaluation.BestResponse`` as it was last made; None when it was not."""
    mix: tuple[MixRow, ...]
    placements: dict[str, dict[str, int]]
    matches: int
    counted: int
    self_play: int
    dropped: int
    truncated: int
    rounds: int
    frames: int
    notes: tuple[str, ...]
    metrics: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    """Lines of ``metrics.jsonl``; for the plots, not part of the JSON."""
    shown: tuple[ShownMatch, ...] = field(default=(), repr=False)
    """Chosen matches, filmed (``league.report_matches``)."""

    def payoffs(self) -> tuple[list[str], NDArray[np.float64]]:
        """Players that met somebody, and [n, n] P[row ranks above column]; NaN where they never met or are the same."""
        return _payoff_matrix([p.id for p in self.players if p.games], self.pairs)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        told = {name: getattr(self, name) for name in ("anchor", "elo", "elo_mean", "unplayed_pairs", "placements")}
        told |= {name: getattr(self, name) for name in ("matches", "counted", "self_play", "dropped", "truncated", "rounds", "frames")}
        return {
            **told,
            "players": [row._asdict() for row in self.players],
            "pairs": [{**row._asdict(), "payoff": row.payoff._asdict()} for row in self.pairs],
            "ratings": {player: rating._asdict() for player, rating in self.ratings.items()},
            "skills": {player: {**skill._asdict(), **skill.interval._asdict()} for player, skill in self.skills.items()},
            "nash": None if self.nash is None else self.nash._asdict(),
            "exploitability": [_proxy_json(proxy) for proxy in self.proxies],
            "best_responses": dict(self.best_responses),
            "mix": [row._asdict() for row in self.mix],
            "shown": [match.to_json() for match in self.shown],
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """For a terminal."""
        from league.report_text import report_text

        return report_text(self)

    def write(self, folder: Path) -> list[Path]:
        """``report.json``, a CSV for players, pairs and mix, and ``report.html`` with its plots as SVG beside it. Raises OSError."""
        from league.report_plots import write_page

        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "report.json", self.to_json())
        tables = {"players.csv": self._player_table(), "pairs.csv": self._pair_table(), "mix.csv": [MixRow._fields, *self.mix]}
        for name, rows in tables.items():
            write_whole(folder / name, _csv(rows))
        return [folder / "report.json", *(folder / name for name in tables), *write_page(folder, self)]

    def _player_table(self) -> list[Sequence[Any]]:
        nash = self.nash.weights if self.nash else {}
        rows: list[Sequence[Any]] = [(*PlayerRow._fields, "rating", "rating_low", "rating_high", "elo", "nash_weight", "mu", "sigma")]
        for player in self.players:
            rating = self.ratings.get(player.id, ("", "", ""))
            mu, sigma = self.skills[player.id][:2] if player.id in self.skills else ("", "")
            rows.append((*player, *rating, self.elo.get(player.id, ""), nash.get(player.id, ""), mu, sigma))
        return rows

    def _pair_table(self) -> list[Sequence[Any]]:
        rows: list[Sequence[Any]] = [("a", "b", "wins", "draws", "losses", "payoff", "payoff_low", "payoff_high")]
        rows += [(*row[:5], *row.payoff) for row in self.pairs]
        return rows


def _proxy_json(proxy: Proxy) -> dict[str, Any]:
    found = proxy.found
    told = {"payoff": found.payoff._asdict(), "newest": found.newest._asdict(), "unplayed": list(found.unplayed)}
    return {"player": proxy.player, "source": proxy.source, **found._asdict(), **told}


def _csv(rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def make_report(
    league: Path | None,
    matches: Path | None = None,
    *,
    elo: EloSettings | None = None,
    samples: int = 200,
) -> Report:
    """The report of a league's folder or state file; ``matches`` names another file of matches, and ``league`` None has those alone
    (and what lies beside them).

    ``elo``: without, the state's settings, or the defaults. Raises StoreError when there is neither a state nor matches to read.
    """
    folder = None if league is None else league if league.is_dir() else league.parent
    notes: list[str] = []
    told = _state_of(folder, notes) if folder is not None else None
    path = matches or (folder / MATCHES if folder is not None else None)
    if path is None:
        raise StoreError("report: neither a league nor matches are named; give the folder of a league, or its matches.jsonl")
    if told is None and not path.is_file():
        raise StoreError(f"{path}: no such file; name the folder of a league that has run, or its {MATCHES}")
    rows, more = read_journal(path) if path.is_file() else ([], [f"{path.name}: there is none"])
    notes += more
    try:
        run = run_of(told["settings"]) if told else LeagueRun()
        makers = Matchmaker.from_json(told["matchmaker"], run.league) if told else None
        live = Elo.from_json(told["elo"]) if told else Elo()
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{folder}: its state is of another version ({error!r}); name its {MATCHES} alone") from error
    found = count_matches(rows, run.league.payoff, elo or run.elo, makers.table.lives if makers else None)
    notes += found.notes
    if makers and elo in (None, run.elo):
        _compare(found, makers, live, notes)
    beside = folder or path.parent
    metrics = _metrics_of(beside / METRICS, notes)
    judged = _Judged(_evaluated(beside / EVALUATION, makers, notes), _best_responses(beside / BEST_RESPONSE, makers, notes))
    return _report(found, makers, told, notes, metrics, judged, samples)


def _state_of(folder: Path, notes: list[str]) -> dict[str, Any] | None:
    """The newest good state, or None (told) when the folder has none but its matches can be read."""
    try:
        saved = LeagueStore(folder).load()
    except StoreError as error:
        if not (folder / MATCHES).is_file():
            raise
        notes.append(f"{error}. The report is of the matches alone")
        return None
    notes += saved.notes
    return saved.state


def _metrics_of(path: Path, notes: list[str]) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    rows, more = read_journal(path)
    notes += more
    return rows


class _Judged(NamedTuple):
    """What ``league.evaluation`` left."""

    counts: dict[tuple[str, str], Counts]
    best_responses: dict[str, dict[str, Any]]


def _evaluated(path: Path, makers: Matchmaker | None, notes: list[str]) -> dict[tuple[str, str], Counts]:
    """Results of matches that nobody learnt from; what the players have learnt since is told."""
    if not path.is_file():
        return {}
    rows, more = read_journal(path)
    found = count_matches(rows)
    notes += [*more, *found.notes]
    made = {row["players"][0]: row["frames"] for row in rows if isinstance(row.get("frames"), int) and match_of(row)}
    for learner in makers.learners.values() if makers else ():
        if made.get(learner.id, learner.frames) != learner.frames:
            notes.append(f"{learner.id} was evaluated after {made[learner.id]} frames and has {learner.frames} by now; evaluate it again")
    return found.counts


def _best_responses(path: Path, makers: Matchmaker | None, notes: list[str]) -> dict[str, dict[str, Any]]:
    """By main; what it has learnt since is told."""
    try:
        found = read_best_responses(path)
    except (OSError, ValueError) as error:
        notes.append(f"{path.name}: cannot be read ({error}); make it again")
        return {}
    for learner in makers.learners.values() if makers else ():
        if learner.id in found and found[learner.id]["main_frames"] != learner.frames:
            notes.append(
                f"the best response to {learner.id} is to what it was after {found[learner.id]['main_frames']} frames, and it has "
                f"{learner.frames} by now; make it again"
            )
    return found


def _compare(found: Results, makers: Matchmaker, elo: Elo, notes: list[str]) -> None:
    """Say where the matches tell something else than the live table, if they do."""
    mine, live = found.table.pairs(), makers.table.pairs()
    none = [0] * 5  # whole scores are left out: states of earlier versions do not tell them
    wrong = [pair for pair in sorted(mine.keys() | live.keys()) if not np.allclose(mine.get(pair, none)[:5], live.get(pair, none)[:5])]
    if wrong:
        a, b = wrong[0]
        notes.append(
            f"the live table differs from the matches in {len(wrong)} pairs, first {a} against {b}: matches were played since, or lost"
        )
    moved = [p for p in elo.ratings if abs(found.elo.rating(p) - elo.rating(p)) > AGREES_WITHIN]
    if moved and not wrong:
        notes.append(f"the live Elo of {len(moved)} players differs from that of the matches, first {moved[0]}")


def _report(
    found: Results,
    makers: Matchmaker | None,
    told: Mapping[str, Any] | None,
    notes: list[str],
    metrics: Sequence[Mapping[str, Any]],
    judged: _Judged,
    samples: int,
) -> Report:
    counts = found.counts
    games: dict[str, int] = {}
    for pair, record in counts.items():
        for player in pair:
            games[player] = games.get(player, 0) + int(record.games)
    players = _players(makers, found.table.players, games)
    order = [p.id for p in players]
    pairs = tuple(_pair_row(pair, record) for pair, record in sorted(counts.items()) if record.games)
    anchor, ratings = rated(counts, order, samples)
    nash, unplayed = _nash([p.id for p in players if p.games], pairs)
    if not pairs:
        notes.append("no games of different players: no ratings, no Nash average")
    elo = {player: found.elo.rating(player) for player in order}
    placed, told_of_skills = skills(found.rankings)
    notes += [told_of_skills] if told_of_skills else []
    return Report(
        players=players,
        pairs=pairs,
        anchor=anchor,
        ratings=ratings,
        skills={player: placed[player] for player in order if player in placed},
        elo=elo,
        elo_mean=float(np.mean(list(elo.values()))) if elo else found.elo.settings.start,
        nash=nash,
        unplayed_pairs=unplayed,
        proxies=_proxies(players, counts, judged.counts),
        best_responses=judged.best_responses,
        mix=tuple(makers.mix()) if makers else tuple(_mix_of(found)),
        placements={player: counted for player in found.table.players if (counted := found.table.placements(player))},
        matches=found.matches,
        counted=found.counted,
        self_play=found.self_play,
        dropped=found.dropped,
        truncated=found.truncated,
        rounds=int(told["round"]) if told else 0,
        frames=sum(p.frames for p in players if not p.frozen),
        notes=tuple(notes),
        metrics=tuple(metrics),
    )


def _players(makers: Matchmaker | None, names: Sequence[str], games: Mapping[str, int]) -> tuple[PlayerRow, ...]:
    rows: list[PlayerRow] = []
    if makers is not None:
        rows += [PlayerRow(x.id, x.role, False, x.frames, x.resets, "", games.get(x.id, 0)) for x in makers.learners.values()]
        rows += [PlayerRow(x.id, x.role, True, x.frames, 0, x.benched, games.get(x.id, 0)) for x in makers.snapshots.values()]
    known = {row.id for row in rows}
    others = sorted((name for name in names if name not in known), key=_by_number)
    rows += [PlayerRow(name, "", "@" in name, 0, 0, "", games.get(name, 0)) for name in others]
    return tuple(rows)


def _by_number(name: str) -> tuple[bool, str, int, str]:
    """Learners, then their snapshots by number."""
    maker, frozen, number = name.rpartition("@")
    return (bool(frozen), maker, int(number), name) if number.isdecimal() and len(number) < 10 else (bool(frozen), name, 0, name)


def _pair_row(pair: tuple[str, str], record: Counts) -> PairRow:
    return PairRow(*pair, int(record.wins), int(record.draws), int(record.losses), wilson(record.score, record.games))


def _payoff_matrix(names: list[str], pairs: Sequence[PairRow]) -> tuple[list[str], NDArray[np.float64]]:
    index = {name: i for i, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    for row in pairs:
        i, j = index[row.a], index[row.b]
        matrix[i, j], matrix[j, i] = row.payoff.value, 1 - row.payoff.value
    return names, matrix


def _nash(names: list[str], pairs: Sequence[PairRow]) -> tuple[NashAverage | None, int]:
    """Nash averaging over players that met somebody, and how many pairs of them never met."""
    if len(names) < 2:
        return None, 0
    _, matrix = _payoff_matrix(names, pairs)
    unplayed = (int(np.isnan(matrix).sum()) - len(names)) // 2
    return nash_average(names, np.where(np.isnan(matrix), 0.5, matrix)), unplayed


def _proxies(
    players: Sequence[PlayerRow], counts: Mapping[tuple[str, str], Counts], evaluated: Mapping[tuple[str, str], Counts]
) -> tuple[Proxy, ...]:
    """Of every main that learns."""
    proxies: list[Proxy] = []
    for main in (p for p in players if not p.frozen and (p.kind or p.id.rsplit("-", 1)[0]) == "main"):
        judged = against(evaluated, main.id)
        source = "evaluation" if judged else "matches"
        proxies.append(Proxy(main.id, source, exploitability(main.id, *by_age(players, main), judged or against(counts, main.id))))
    return tuple(proxies)


def by_age(players: Sequence[PlayerRow], main: PlayerRow) -> tuple[list[str], list[str]]:
    """Frozen players that are at least two snapshots of ``main`` old, and those that are newer.

    Without a state nobody knows when the others were frozen: then only its own newest snapshot is new.
    """
    frozen = [p.id for p in players if p.frozen]
    own = [name for name in frozen if name.startswith(f"{main.id}@")]
    if not main.kind:
        return [name for name in frozen if name not in own[-1:]], own[-1:]
    old = frozen.index(own[-2]) + 1 if len(own) > 1 else 0
    return frozen[:old], frozen[old:]


def _mix_of(found: Results) -> list[MixRow]:
    """Branches as they were drawn and played; the shares that were asked for are told by the state alone."""
    rows: list[MixRow] = []
    for learner, seen in found.seen.items():
        asked, total = found.asked[learner], sum(seen.values())
        rows += [MixRow(learner, branch, asked[branch] / total, seen[branch] / total, total) for branch in sorted(seen | asked)]
    return rows


def summary_of(report: Report) -> dict[str, Any]:
    """``summary.json``: the report's figures without its tables of pairs."""
    told = report.to_json()
    return {key: told[key] for key in told if key not in ("pairs", "placements", "shown")}

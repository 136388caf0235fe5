"""How strong are the league's players? Bradley-Terry, Elo, Nash averaging, intervals, and how exploitable one is.

Results are pairs of counts (wins, draws, losses of the first); a draw is half a win, and a match in which a player has several seats
counts by the share of them that the first ranks above. Ratings are told on Elo's scale: 400
points are odds of ten to one. Pure numpy: fits are Newton's, and the Nash average is a barrier method of thirty lines,
since scipy is nowhere else needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
POINTS: Final = 400 / math.log(10)
"""Elo points for each unit of log-odds."""
Z95: Final = 1.959963984540054
"""Deviations of a two-sided interval of 95 %."""


class Counts(NamedTuple):
    """Results of one pair, seen from its first player."""

    wins: float
    draws: float
    losses: float
    points: float | None = None
    """Sum of the matches' scores 0..1 where those are more than won, drawn or lost (``league.payoff.pair_scores``)."""

    @property
    def games(self) -> float:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """``points``, or wins and half of the draws."""
        return self.wins + 0.5 * self.draws if self.points is None else self.points

    @property
    def weighed(self) -> tuple[float, float, float]:
        """Wins, draws and losses that have this score: a match won by two comparisons of three is two thirds of a win."""
        return max(0.0, self.score - 0.5 * self.draws), self.draws, max(0.0, self.games - self.score - 0.5 * self.draws)

    @property
    def mirrored(self) -> Counts:
        """The same, seen from the second player."""
        return Counts(self.losses, self.draws, self.wins, None if self.points is None else self.games - self.points)


class Interval(NamedTuple):
    """A figure and the ends of its interval."""

    value: float
    low: float
    high: float


def wilson(score: float, games: float, z: float = Z95) -> Interval:
    """Wilson's score interval of a share: ``score`` (a sum of numbers 0..1) of ``games``.

    As if each game were won or lost: draws and shares of a win make it somewhat wide. Without games: 0.5, from 0 to 1. Raises
    ValueError on a score that ``games`` cannot hold.
    """
    if not (0 <= score <= games and math.isfinite(games)):
        raise ValueError(f"score {score} of {games} games: a score is within 0 and the number of games")
    if not games:
        return Interval(0.5, 0.0, 1.0)
    share, zz = score / games, z * z / games
    middle = (share + zz / 2) / (1 + zz)
    half = z * math.sqrt(share * (1 - share) / games + zz / (4 * games)) / (1 + zz)
    return Interval(share, max(0.0, middle - half), min(1.0, middle + half))


def _sorted_results(results: Mapping[tuple[str, str], Counts | Sequence[float]]) -> tuple[list[str], NDArray[np.int64], Floats]:
    """Players, pairs [P, 2] of their indices, counts [P, 3]; pairs without games are left out, their players are not."""
    names: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    counts: list[Sequence[float]] = []
    for (a, b), record in results.items():
        numbers = record.weighed if isinstance(record, Counts) else tuple(record)
        if a == b:
            raise ValueError(f"results: {a} against itself; self-play is not rated")
        if len(numbers) != 3 or not all(math.isfinite(n) and n >= 0 for n in numbers):
            raise ValueError(f"results of {a} and {b}: {numbers}; wins, draws and losses are three numbers that are not negative")
        for name in (a, b):
            names.setdefault(name, len(names))
        if sum(numbers) > 0:
            pairs.append((names[a], names[b]))
            counts.append(numbers)
    if not pairs:
        raise ValueError(f"results: no games among {', '.join(names) or 'nobody'}; play some matches first")
    return list(names), np.array(pairs), np.array(counts, np.float64)


def _fit(pairs: NDArray[np.int64], scores: Floats, games: Floats, players: int, prior: float) -> Floats:
    """Log-odds ratings [R, players] of R sets of results: scores and games [R, P] of ``pairs`` [P, 2]. Newton's method."""
    sets = len(scores)
    ratings = np.zeros((sets, players))
    first, second = pairs.T
    rows = np.arange(players)
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(ratings[:, first] - ratings[:, second], -500, 500)))
        gradient, hessian = -prior * ratings, np.zeros((sets, players, players))
        for r in range(sets):
            surplus, curve = scores[r] - games[r] * chance[r], games[r] * chance[r] * (1 - chance[r])
            gradient[r] += np.bincount(first, surplus, players) - np.bincount(second, surplus, players)
            np.add.at(hessian[r], (first, second), -curve)
            np.add.at(hessian[r], (second, first), -curve)
        hessian[:, rows, rows] = -hessian.sum(2) + prior
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        ratings += np.clip(step, -2, 2)  # far from the optimum the curve is flat and a whole step overshoots
        if np.abs(step).max() < 1e-10:
            break
    return ratings


def bradley_terry(
    results: Mapping[tuple[str, str], Counts | Sequence[float]],
    anchor: str,
    *,
    anchor_rating: float = 0.0,
    prior: float = 0.1,
    samples: int = 200,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, Interval]:
    """Ratings in Elo points by maximum likelihood (Bradley and Terry, 1952), with bootstrap intervals; ``anchor`` is fixed.

    ``prior`` is the weight of the L2 penalty, prior / 2 times the sum of squared log-odds, which keeps a player that won or
    lost everything finite and draws players that never met together. The bootstrap is Bayesian: each pair's shares of wins,
    draws and losses are drawn from Dirichlet(counts), with half a win and half a loss more for a pair without wins or
    without losses, so that it has a width as well. ``samples`` 0 gives intervals without width. Raises ValueError when
    there are no games, the anchor is unknown, or a number is out of range.
    """
    names, pairs, counts = _sorted_results(results)
    if anchor not in names:
        raise ValueError(f"ratings: the anchor {anchor!r} has no results; use one of {', '.join(names)}")
    if not (prior > 0 and samples >= 0 and 0 < confidence < 1):
        raise ValueError(f"ratings: prior {prior}, samples {samples}, confidence {confidence}; above 0, not negative, and within 0..1")
    games = counts.sum(1)
    drawn = [counts]
    unseen = np.where((counts[:, [0, 2]] == 0).any(1, keepdims=True), np.array([0.5, 0.0, 0.5]), 0.0)
    random = np.random.default_rng(seed)
    for _ in range(samples):
        shares = random.standard_gamma(counts + unseen)
        drawn.append(shares / shares.sum(1, keepdims=True) * games[:, None])
    scores = np.array([some @ np.array([1.0, 0.5, 0.0]) for some in drawn])
    fitted = _fit(pairs, scores, np.broadcast_to(games, scores.shape), len(names), prior) * POINTS
    fitted += anchor_rating - fitted[:, [names.index(anchor)]]
    low, high = np.quantile(fitted[1:] if samples else fitted, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    low, high = np.minimum(low, fitted[0]), np.maximum(high, fitted[0])
    return {name: Interval(float(fitted[0, i]), float(low[i]), float(high[i])) for i, name in enumerate(names)}


def expected_score(difference: float) -> float:
    """Elo's expected score 0..1 of a player that is ``difference`` points stronger."""
    return 1 / (1 + 10 ** (-difference / 400))


@dataclass(frozen=True, slots=True)
class EloSettings:
    """Raises ValueError naming the field that is out of range."""

    k: float = 16.0
    """Points that a match can move at most; a win among equals moves half of it."""
    start: float = 1000.0
    """Rating of a new player, and so the mean of all."""

    def __post_init__(self) -> None:
        if not (0 < self.k < math.inf and math.isfinite(self.start)):
            raise ValueError(f"Elo settings: k {self.k}, start {self.start}; k is above 0, both are finite")


class Elo:
    """Ratings moved match by match: a live figure, not the report's. What one wins another loses, so the mean stays."""

    def __init__(self, settings: EloSettings | None = None) -> None:
        self.settings = settings or EloSettings()
        self.ratings: dict[str, float] = {}

    def rating(self, player: str) -> float:
        return self.ratings.get(player, self.settings.start)

    def record(self, scores: Mapping[tuple[str, str], float]) -> dict[str, float]:
        """Count one match by the scores 0..1 of its pairs (``league.payoff.pair_scores``); returns by how much each moved.

        With more than two players each pair moves K / (players - 1), all from the ratings before the match. No pairs
        (self-play) move nothing. Raises ValueError on a score out of range or a player against itself.
        """
        players = {player for pair in scores for player in pair}
        moved = dict.fromkeys(sorted(players), 0.0)
        for (a, b), score in scores.items():
            if a == b or not 0 <= score <= 1:
                raise ValueError(f"Elo: {a} against {b} scored {score}; two players and a score within 0..1 are needed")
            change = self.settings.k / (len(players) - 1) * (score - expected_score(self.rating(a) - self.rating(b)))
            moved[a] += change
            moved[b] -= change
        for player, change in moved.items():
            self.ratings[player] = self.rating(player) + change
        return moved

    def to_json(self) -> dict[str, Any]:
        """The ratings, as JSON holds them exactly."""
        return {"ratings": dict(self.ratings)}

    @classmethod
    def from_json(cls, told: Mapping[str, Any], settings: EloSettings | None = None) -> Elo:
        """Raises ValueError when a rating is missing or not a finite number."""
        elo = cls(settings)
        try:
            elo.ratings = {str(player): float(rating) for player, rating in told["ratings"].items()}
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"Elo ratings: broken ({error!r}); take the previous good state, or count them anew from the matches"
            ) from error
        if not all(math.isfinite(rating) for rating in elo.ratings.values()):
            raise ValueError(f"Elo ratings: not all are finite: {elo.ratings}; count them anew from the matches")
        return elo


class NashAverage(NamedTuple):
    """What is left of a league when nobody plays a strategy that can be beaten."""

    weights: dict[str, float]
    """Chances of the maximum-entropy equilibrium, 1 together."""
    ratings: dict[str, float]
    """Elo points of each against that mixture; 0 for those in it, below 0 for those that it beats."""


def nash_average(players: Sequence[str], payoffs: NDArray[np.floating[Any]] | Sequence[Sequence[float]]) -> NashAverage:
    """Nash averaging (Balduzzi et al., 2018) of payoffs [n, n]: the chance 0..1 that the row's player ranks above the column's.

    The game is the antisymmetric log-odds matrix; payoffs are cut to 0.001..0.999 and ``p[i, j]`` with ``1 - p[j, i]``
    averaged; the diagonal does not count. The equilibrium with most entropy is unique, and copies of a player share its
    weight. Raises ValueError on a shape that does not fit or numbers that are not within 0..1.
    """
    p = np.array(payoffs, np.float64)
    n = len(players)
    if n < 1 or p.shape != (n, n):
        raise ValueError(f"payoffs: shape {p.shape} for {n} players; a square with a row for each is needed")
    np.fill_diagonal(p, 0.5)
    if not ((p >= 0) & (p <= 1)).all():
        i, j = np.argwhere(~((p >= 0) & (p <= 1)))[0]
        raise ValueError(f"payoffs: {players[i]} against {players[j]} is {p[i, j]}; chances are within 0..1")
    p = np.clip((p + 1 - p.T) / 2, 1e-3, 1 - 1e-3)
    game = np.log(p) - np.log1p(-p)
    weights = max_entropy_equilibrium(game)
    return NashAverage(
        dict(zip(players, weights.tolist(), strict=True)), dict(zip(players, (game @ weights * POINTS).tolist(), strict=True))
    )


def max_entropy_equilibrium(game: Floats, slack: float = 1e-6) -> Floats:
    """Chances [n] of the symmetric zero-sum ``game`` [n, n] (antisymmetric) that nobody can beat, with the most entropy.

    Maximises the entropy of p subject to game @ p <= slack (in units of the game's largest number; it gives every game an
    interior) by a barrier method on the dual: p = softmax(-game^T y), and y >= 0 minimises log sum exp(-game^T y) + slack sum y.
    Chances below 1e-3 of an equal share come out as 0. Raises RuntimeError if it does not converge, which no game has been
    seen to do.
    """
    n = len(game)
    a = game / (float(np.abs(game).max()) or 1.0)
    y = np.ones(n)
    for sharpness in 10.0 ** np.arange(10):
        room = max(slack, 1 / sharpness)  # as if more were allowed at first: y keeps its size
        for _ in range(200):
            p, beaten_by = _mixture(a, y)
            gradient = (sharpness * (room - beaten_by)) * y - 1
            # in units of y the Hessian is 1 + m m^T; its decomposition keeps the digits that a sum would lose
            m = math.sqrt(sharpness) * y[:, None] * (a * np.sqrt(p) - np.outer(beaten_by, np.sqrt(p)))
            u, singular, _ = np.linalg.svd(m)
            step = -(u @ ((u.T @ gradient) / (1 + singular**2)))
            slope = float(gradient @ step)
            if slope > -1e-6:
                break
            length = min(1.0, 0.95 / max(1e-9, -float(step.min())))
            before = _barrier(a, y, sharpness, room)
            while _barrier(a, y * (1 + length * step), sharpness, room) > before + 1e-4 * length * slope + 1e-7 and length > 1e-6:
                length /= 2
            y = y * (1 + length * step)
        else:
            raise RuntimeError(f"Nash average: no equilibrium found for a game of {n} players; please report its payoffs")
    p, _ = _mixture(a, y)
    p = np.where(p < 1e-3 / n, 0.0, p)
    return p / p.sum()


def _mixture(a: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The chances that belong to prices ``y``, and how much each player wins against them."""
    exponent = -(a.T @ y)
    p = np.exp(exponent - exponent.max())
    p /= p.sum()
    return p, a @ p


def _barrier(a: Floats, y: Floats, sharpness: float, room: float) -> float:
    exponent = -(a.T @ y)
    top = exponent.max()
    return float(sharpness * (top + np.log(np.exp(exponent - top).sum()) + room * y.sum()) - np.log(y).sum())


class Exploitability(NamedTuple):
    """The past player that does best against a player, among those old enough; and among the newest ones, apart."""

    worst: str
    """Empty when there is none that counts."""
    payoff: Interval
    """Of the player against it, with Wilson's interval; 0.5, 0 to 1 when there is none."""
    games: float
    newest_worst: str
    """Empty when there is none."""
    newest: Interval
    """The same against ``newest_worst``, one of those that are too new."""
    unplayed: tuple[str, ...]
    """Past players that were never met; they are not judged."""


def exploitability(player: str, old: Sequence[str], new: Sequence[str], results: Mapping[str, Counts], z: float = Z95) -> Exploitability:
    """The proxy of exploitability: the least payoff of ``player`` against frozen past players.

    ``old``: those at least two snapshots old; ``new``: the others, hardly other players than itself or made since, told apart;
    ``results``: counts of ``player`` against each that it met. The player itself is left out. At true parity the lower end is about
    0.40 for 100 games a pair and 0.45 for 400; the least of many pairs lies lower still.
    """
    met = {name for name, counts in results.items() if counts.games > 0}
    unplayed = tuple(name for name in (*old, *new) if name != player and name not in met)

    def least(names: Sequence[str]) -> tuple[str, Interval]:
        judged = {name: wilson(results[name].score, results[name].games, z) for name in names if name in met and name != player}
        worst = min(judged, key=lambda name: judged[name].value, default="")
        return worst, judged[worst] if worst else wilson(0, 0, z)

    worst, payoff = least(old)
    return Exploitability(worst, payoff, results[worst].games if worst else 0, *least(new), unplayed)

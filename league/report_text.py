"""The league's report for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from league.ratings import Z95, Interval

if TYPE_CHECKING:
    from league.report import Proxy, Report

_MOST_PAIRS: Final = 40
_MOST_UNPLAYED: Final = 5


def report_text(report: Report) -> str:
    """Players by rating, pairs, exploitability, mix, and what is to be known about them."""
    lines = [
        f"{report.matches} matches: {report.counted} counted, {report.self_play} self-play, {report.dropped} dropped after a reset, "
        f"{report.truncated} cut by the limit; {report.rounds} rounds, {report.frames} frames learnt from"
    ]
    lines += _players(report)
    lines += _pairs(report)
    lines += [_proxy(proxy) for proxy in report.proxies]
    lines += [best_response_text(told) for told in report.best_responses.values()]
    lines += _mix(report)
    lines += [f"match {match.match}, {match.why}: {match.told}{f'; {match.video}' if match.video else ''}" for match in report.shown]
    lines += [f"note: {note}" for note in report.notes]
    return "\n".join(lines)


def _players(report: Report) -> list[str]:
    if not report.players:
        return []
    width = max(len(p.id) for p in report.players) + 2
    lines = [f"{'player':<{width}}{'rating':>8}{'from':>8}{'to':>8}{'elo':>8}{'skill':>14}{'nash':>7}{'games':>8}{'frames':>12}"]
    ranked = sorted(report.players, key=lambda p: -report.ratings[p.id].value if p.id in report.ratings else float("inf"))
    for player in ranked:
        rating = report.ratings.get(player.id)
        told = [f"{v:.0f}" for v in rating] if rating else ["-"] * 3
        nash = report.nash.weights.get(player.id) if report.nash else None
        row = f"{player.id:<{width}}{told[0]:>8}{told[1]:>8}{told[2]:>8}{report.elo[player.id]:>8.0f}"
        skill = report.skills.get(player.id)
        row += f"{'-' if skill is None else f'{skill.mu:.1f} ±{Z95 * skill.sigma:.1f}':>14}"
        row += f"{'-' if nash is None else f'{nash:.2f}':>7}{player.games:>8}{player.frames:>12}"
        lines.append(row + (f"  does not play: {player.benched}" if player.benched else ""))
    if report.anchor:
        lines.append(f"ratings in Elo points, {report.anchor} is 0; intervals of 95 %; the live Elo's mean is {report.elo_mean:.3f}")
    if report.skills:
        lines.append("skill: Plackett-Luce of full placements, a newcomer has 25.0 ±16.3")
    return lines


def _pairs(report: Report) -> list[str]:
    lines: list[str] = []
    for row in report.pairs[:_MOST_PAIRS]:
        lines.append(f"{row.a} against {row.b}: {row.wins} won, {row.draws} drawn, {row.losses} lost; {_share(row.payoff)}")
    if len(report.pairs) > _MOST_PAIRS:
        lines.append(f"... and {len(report.pairs) - _MOST_PAIRS} pairs more, in pairs.csv")
    return lines


def _share(payoff: Interval) -> str:
    return f"ranks above in {payoff.value:.3f} ({payoff.low:.3f} to {payoff.high:.3f})"


def _proxy(proxy: Proxy) -> str:
    found = proxy.found
    told = f"exploitability of {proxy.player}: "
    if found.worst:
        told += f"least against {found.worst}, {_share(found.payoff)} of {found.games:g} games ({proxy.source})"
    else:
        told += "no snapshot at least two old has met it"
    if found.newest_worst:
        told += f"; of the newest, apart, against {found.newest_worst}: {_share(found.newest)}"
    left = len(found.unplayed) - _MOST_UNPLAYED
    more = f" and {left} more" if left > 0 else ""
    return told + (f"; never met: {', '.join(found.unplayed[:_MOST_UNPLAYED])}{more}" if found.unplayed else "")


def best_response_text(told: Mapping[str, Any]) -> str:
    """One line on a ``league.evaluation.BestResponse``."""
    after, before = Interval(**told["after"]), Interval(**told["before"])
    return f"best response to {told['main']}: a fresh exploiter {_share(after)} after {told['frames']} frames, from {before.value:.3f}"


def _mix(report: Report) -> list[str]:
    return [f"{row.learner} {row.branch}: {row.seen:.1%} of {row.matches} matches, {row.asked:.1%} asked" for row in report.mix]

"""The league's report as one page: tables and plots (strength by frames, payoffs, ratings, opponent mix, losses), drawn by matplotlib.

The plots are SVG, each a file of its own and inside the page as well, so that the page can be sent alone. Every name on the
page comes from a file that may be anyone's, and is escaped.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from data.files import write_whole
from league.ratings import Z95
from league.report_text import best_response_text

if TYPE_CHECKING:
    from league.ratings import Interval
    from league.report import PlayerRow, Report

PAGE: Final = "report.html"
LOSSES: Final = ("value", "policy", "kl", "entropy")
"""Lines of ``metrics.jsonl`` that are drawn."""
_OURS, _BASE, _FROZEN = "#2f6fb0", "#c8c8c8", "#8a8a8a"
_COLOURS: Final = ("#2f6fb0", "#e2a03f", "#4f9d69", "#b5532a", "#7a5ba6", "#5b8a8a")
_MOST_NAMES: Final = 40
"""Players whose names fit beside the heat map."""
_MOST_DIGITS: Final = 30
_FEWEST_GAMES: Final = 5
"""Of a pair that a map without digits shows: what one or two tell is only noise there."""
_MOST_RATED: Final = 60
"""Rows of the plot of ratings."""
_BAD_TO_GOOD: Final = ("#b22234", "#e89aa0", "#f4f4f4", "#8fb4e6", "#2468be")
"""Red, grey, blue: told apart by those who cannot tell red from green."""
_DARK: Final = 0.38
"""So far from even a cell is dark, and its digits are white."""
_STYLE: Final = """body{font:14px/1.4 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0}td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}svg,video,img{max-width:100%;height:auto}
figure{margin:1em 0}.note{color:#8a4b00}"""


def write_page(folder: Path, report: Report) -> list[Path]:
    """Write the plots and the page that holds them; the files' paths. Raises OSError."""
    plots = draw_plots(report)
    for name, svg in plots.items():
        write_whole(folder / f"{name}.svg", svg.encode())
    write_whole(folder / PAGE, page(report, plots).encode())
    return [*(folder / f"{name}.svg" for name in plots), folder / PAGE]


def draw_plots(report: Report) -> dict[str, str]:
    """SVG of each plot that there is something to draw for."""
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = import_module("matplotlib.pyplot")
    rated = min(len(report.ratings), _MOST_RATED)
    wanted: dict[str, tuple[Callable[[Any, Report], None], bool, tuple[float, float]]] = {
        "growth": (_growth, bool(_grown(report)), (9.0, 4.5)),
        "payoffs": (_payoffs, bool(report.pairs), _map_size(sum(p.games > 0 for p in report.players))),
        "ratings": (_ratings, bool(report.ratings), (9.0, 1.2 + 0.28 * rated)),
        "mix": (_mix, bool(report.mix), (9.0, 1.2 + 0.3 * len(report.mix))),
        "losses": (_losses, any(_loss(row, part) is not None for row in report.metrics for part in LOSSES), (9.0, 6.0)),
    }
    style = {"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "secondseat", "text.parse_math": False}
    found: dict[str, str] = {}
    with pyplot.rc_context(style):
        for name, (draw, there, size) in wanted.items():
            if there:
                figure = pyplot.figure(figsize=size, layout="constrained")
                draw(figure, report)
                text = io.StringIO()
                figure.savefig(text, format="svg", metadata={"Date": None})
                pyplot.close(figure)
                found[name] = text.getvalue()
    return found


def _map_size(players: int) -> tuple[float, float]:
    """Inches of the heat map: cells that hold two digits, and room for names."""
    side = min(9.0, 2.1 + 0.33 * min(players, _MOST_NAMES))
    return max(6.2, side), side


def _grown(report: Report) -> dict[str, list[PlayerRow]]:
    """Frozen players that have a rating, by the learner that they were: of learners with two and more."""
    found: dict[str, list[PlayerRow]] = {}
    for player in report.players:
        if player.frozen and player.kind and player.id in report.ratings:
            found.setdefault(player.id.rpartition("@")[0], []).append(player)
    return {learner: snapshots for learner, snapshots in found.items() if len(snapshots) > 1}


def _growth(figure: Any, report: Report) -> None:
    """Strength of frozen players by what their learner had learnt from: a line where a life is one, dots for those who start anew."""
    axis = figure.subplots()
    axis.set_title(f"strength of frozen players (Bradley-Terry, Elo points, 95 %; {report.anchor} is 0)", loc="left")
    for number, (learner, snapshots) in enumerate(_grown(report).items()):
        frames, told = [p.frames for p in snapshots], [report.ratings[p.id] for p in snapshots]
        colour, values = _COLOURS[number % len(_COLOURS)], [rating.value for rating in told]
        if snapshots[0].kind == "main":
            axis.plot(frames, values, color=colour, label=learner)
            axis.fill_between(frames, [r.low for r in told], [r.high for r in told], color=colour, alpha=0.2, linewidth=0)
        else:
            error = [[r.value - r.low for r in told], [r.high - r.value for r in told]]
            axis.errorbar(frames, values, yerr=error, fmt="o", color=colour, markersize=3, linewidth=0.7, label=learner)
    axis.xaxis.set_major_formatter(_short())
    axis.set_xlabel("frames the learner has learnt from")
    axis.grid(color="#eeeeee")
    axis.legend(fontsize=7)


def _short() -> Any:
    """Frames as 2M."""
    return import_module("matplotlib.ticker").EngFormatter(sep="")


def _payoffs(figure: Any, report: Report) -> None:
    """Players by rating, so that strength runs down the diagonal; digits where they can be read."""
    names, matrix = report.payoffs()
    grey = "never met"
    if len(names) > _MOST_DIGITS:
        grey = f"met fewer than {_FEWEST_GAMES} times"
        place = {name: k for k, name in enumerate(names)}
        for row in report.pairs:
            if row.wins + row.draws + row.losses < _FEWEST_GAMES:
                i, j = place[row.a], place[row.b]
                matrix[i, j] = matrix[j, i] = np.nan
    order = sorted(range(len(names)), key=lambda k: -report.ratings[names[k]].value if names[k] in report.ratings else 0.0)
    names, matrix = [names[k] for k in order], matrix[np.ix_(order, order)]
    axis = figure.subplots()
    axis.set_title(f"Row ranks above column, %;\nstrongest first; grey: {grey}", loc="left")
    colours: Any = import_module("matplotlib.colors").LinearSegmentedColormap.from_list("payoff", _BAD_TO_GOOD).with_extremes(bad="#e4e4e4")
    image = axis.imshow(100 * matrix, cmap=colours, vmin=0, vmax=100)
    figure.colorbar(image, ax=axis, shrink=0.6, label="%")
    if len(names) > _MOST_NAMES:
        axis.set_xlabel(f"{len(names)} players, strongest first")
        return
    axis.set_xticks(range(len(names)), names, rotation=90)
    axis.set_yticks(range(len(names)), names)
    if len(names) <= _MOST_DIGITS:
        for (i, j), share in np.ndenumerate(matrix):
            if np.isfinite(share):
                colour = "white" if abs(share - 0.5) > _DARK else "black"
                axis.text(j, i, f"{100 * share:.0f}", ha="center", va="center", color=colour, fontsize=8 if len(names) <= 20 else 6)


def _ratings(figure: Any, report: Report) -> None:
    """Bradley-Terry from pairs; beside it, where there is one, Plackett-Luce from placements. Both with intervals."""
    ranked = sorted(report.ratings, key=lambda name: report.ratings[name].value)[-_MOST_RATED:]
    axes = figure.subplots(1, 2 if report.skills else 1, sharey=True, squeeze=False)[0]
    few = f"; the {len(ranked)} strongest of {len(report.ratings)}" if len(ranked) < len(report.ratings) else ""
    axes[0].set_title(f"Bradley-Terry, Elo points, 95 %; {report.anchor} is 0{few}", loc="left")
    _intervals(axes[0], report, [report.ratings[name] for name in ranked], ranked)
    axes[0].axvline(0, color=_BASE, linewidth=1, zorder=0)
    axes[0].set_yticks(range(len(ranked)), ranked)
    axes[0].set_ylim(-0.7, len(ranked) - 0.3)
    if report.skills:
        axes[1].set_title("Plackett-Luce, mu and 95 %; a newcomer has 25", loc="left")
        _intervals(axes[1], report, [report.skills[name].interval if name in report.skills else None for name in ranked], ranked)
        axes[1].axvline(25, color=_BASE, linewidth=1, zorder=0)


def _intervals(axis: Any, report: Report, values: Sequence[Interval | None], names: Sequence[str]) -> None:
    frozen = {p.id for p in report.players if p.frozen}
    for place, (name, told) in enumerate(zip(names, values, strict=True)):
        if told is not None:
            colour, xerr = _FROZEN if name in frozen else _OURS, [[told.value - told.low], [told.high - told.value]]
            axis.errorbar([told.value], [place], xerr=xerr, fmt="o", color=colour, capsize=3)
    axis.grid(axis="x", color="#eeeeee")


def _mix(figure: Any, report: Report) -> None:
    axis = figure.subplots()
    axis.set_title("opponents: seen (bar) and asked (line), share of a learner's matches", loc="left")
    rows = report.mix[::-1]
    axis.barh(range(len(rows)), [100 * row.seen for row in rows], color=_OURS, height=0.6)
    for place, row in enumerate(rows):
        axis.plot([100 * row.asked] * 2, [place - 0.4, place + 0.4], color="black")
    axis.set_yticks(range(len(rows)), [f"{row.learner}: {row.branch.replace('_', ' ')} ({row.matches:,})" for row in rows])
    axis.set_ylim(-0.7, len(rows) - 0.3)
    axis.set_xlim(0, 100)
    axis.set_xlabel("%; in brackets: matches")


def _losses(figure: Any, report: Report) -> None:
    axes = figure.subplots(2, 2, sharex=True).ravel()
    learners = list(dict.fromkeys(str(row.get("learner")) for row in report.metrics))
    for axis, part in zip(axes, LOSSES, strict=True):
        axis.set_title({"kl": "KL to the supervised policy, nats", "entropy": "entropy, nats"}.get(part, f"{part} loss"))
        for number, learner in enumerate(learners):
            points = [(row.get("learner_frames"), _loss(row, part)) for row in report.metrics if row.get("learner") == learner]
            known = [(x, y) for x, y in points if isinstance(x, int | float) and y is not None]
            if known:
                axis.plot(*zip(*known, strict=True), color=_COLOURS[number % len(_COLOURS)], linewidth=1, label=learner)
        axis.grid(color="#eeeeee")
    for axis in axes[2:]:
        axis.set_xlabel("frames the learner has learnt from")
        axis.xaxis.set_major_formatter(_short())
    if axes[0].get_legend_handles_labels()[0]:
        axes[0].legend(fontsize=7)


def _loss(row: Mapping[str, Any], part: str) -> float | None:
    losses = row.get("losses")
    value = losses.get(part) if isinstance(losses, dict) else None
    return value if isinstance(value, int | float) else None


def page(report: Report, plots: dict[str, str]) -> str:
    """The page, whole: no file beside it is needed."""
    body = [f"<h1>League: {report.rounds} rounds, {report.matches:,} matches, {report.frames:,} frames</h1>"]
    counted = f"{report.counted:,} counted, {report.self_play} self-play, {report.dropped} dropped after a reset"
    body.append(f"<p>{counted}, {report.truncated} cut by the limit. Live Elo's mean: {report.elo_mean:.3f}.</p>")
    body += [f'<p class="note">{escape(note)}</p>' for note in report.notes]
    body += [_inline(svg) for svg in plots.values()]
    body += ["<h2>Matches</h2>", *(match.html() for match in report.shown)] if report.shown else []
    benched = ["benched"] if any(p.benched for p in report.players) else []
    players = [_player(report, p.id, [f"{p.games:,}", f"{p.frames:,}", *([p.benched] if benched else [])]) for p in _by_rating(report)]
    body += _table("Players", ("player", "rating", "from", "to", "Elo", "skill", "Nash", "games", "frames", *benched), players)
    body += (
        ["<p>rating: Bradley-Terry, Elo points, 95 %; skill: Plackett-Luce, mu ± 95 %, a newcomer has 25 ± 16.</p>"]
        if report.skills
        else []
    )
    proxies = [
        [
            x.player,
            *(x.found.worst, *(f"{v:.3f}" if x.found.worst else "" for v in x.found.payoff), f"{x.found.games:g}" if x.found.worst else ""),
            *(x.found.newest_worst, *(f"{v:.3f}" if x.found.newest_worst else "" for v in x.found.newest), x.source),
        ]
        for x in report.proxies
    ]
    heads = ("player", "least against", "payoff", "from", "to", "games", "of the newest", "payoff", "from", "to", "source")
    body += _table("Exploitability: least payoff against snapshots at least two old", heads, proxies)
    body += [f"<p>{escape(best_response_text(told))}</p>" for told in report.best_responses.values()]
    pairs = [[row.a, row.b, row.wins, row.draws, row.losses, *(f"{v:.3f}" for v in row.payoff)] for row in report.pairs]
    body += _table("Pairs", ("player", "against", "won", "drawn", "lost", "payoff", "from", "to"), pairs)
    head = f'<meta charset="utf-8"><title>League report</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _by_rating(report: Report) -> list[PlayerRow]:
    """Strongest first; those who met nobody last."""
    return sorted(report.players, key=lambda p: -report.ratings[p.id].value if p.id in report.ratings else math.inf)


def _player(report: Report, player: str, rest: list[str]) -> list[str]:
    rating, skill = report.ratings.get(player), report.skills.get(player)
    nash = report.nash.weights.get(player) if report.nash else None
    told = [f"{value:.0f}" for value in rating] if rating else [""] * 3
    told += [f"{report.elo[player]:.0f}", "" if skill is None else f"{skill.mu:.1f} ± {Z95 * skill.sigma:.1f}"]
    return [player, *told, "" if nash is None else f"{nash:.2f}", *rest]


def _inline(svg: str) -> str:
    return svg[svg.index("<svg") :]


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    cells = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
    head = "".join(f"<th>{name}</th>" for name in heads)
    return [f"<h2>{title}</h2><table><tr>{head}</tr>", *(f"<tr>{row}</tr>" for row in cells), "</table>"] if cells else []

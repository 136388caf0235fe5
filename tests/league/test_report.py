"""The report: counted again from the matches, with intervals; nothing, only wins, draws and foreign lines are all told."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from league.payoff import PayoffSettings
from league.ratings import Counts, EloSettings, wilson
from league.report import make_report, summary_of
from league.report_plots import draw_plots, page
from league.results import count_matches
from league.store import StoreError

Rows = Sequence[dict[str, Any]]


def match(a: str, b: str, score: float, **more: Any) -> dict[str, Any]:
    return {"players": [a, b], "placements": {1.0: [1, 2], 0.5: [1.5, 1.5], 0.0: [2, 1]}[score], **more}


def matches_file(folder: Path, rows: Rows, text: str = "") -> Path:
    path = folder / "matches.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + text)
    return path


def rock_paper_scissors(games: int = 100) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for a, b in (("rock@1", "scissors@1"), ("scissors@1", "paper@1"), ("paper@1", "rock@1")):
        rows += [match(a, b, 1.0)] * (games * 9 // 10) + [match(a, b, 0.0)] * (games // 10)
    return rows


def test_a_win_a_draw_and_a_loss_among_equals() -> None:
    rows = [match("a", "b", 1.0), match("a", "b", 0.5), match("a", "b", 0.0)]
    first = count_matches(rows[:1], elo=EloSettings(k=44))
    assert (first.elo.rating("a"), first.elo.rating("b")) == (1022.0, 978.0)
    assert count_matches(rows[1:2], elo=EloSettings(k=44)).elo.rating("a") == 1000.0
    found = count_matches(rows, elo=EloSettings(k=44))
    assert found.counts["a", "b"] == Counts(1, 1, 1)
    assert found.against("b")["a"] == Counts(1, 1, 1)
    assert found.elo.rating("a") + found.elo.rating("b") == pytest.approx(2000, abs=1e-9)


def test_the_report_of_matches_alone(tmp_path: Path) -> None:
    report = make_report(None, matches_file(tmp_path, [match("a@1", "b", 1.0)] * 30 + [match("a@1", "b", 0.0)] * 10))
    (pair,) = report.pairs
    assert (pair.wins, pair.draws, pair.losses) == (30, 0, 10)
    assert pair.payoff.value == 0.75
    assert 0.59 < pair.payoff.low < 0.61
    assert report.anchor == "a@1"
    assert report.ratings["a@1"].value == 0
    assert report.ratings["b"].low < report.ratings["b"].value < report.ratings["b"].high < 0
    assert "a@1 against b: 30 won, 0 drawn, 10 lost" in report.text()


def test_rock_paper_scissors_is_even(tmp_path: Path) -> None:
    report = make_report(None, matches_file(tmp_path, rock_paper_scissors()))
    assert report.nash is not None
    assert report.nash.weights == pytest.approx(dict.fromkeys(("rock@1", "scissors@1", "paper@1"), 1 / 3), abs=1e-6)
    assert [r.value for r in report.ratings.values()] == pytest.approx([0, 0, 0], abs=1e-6)
    assert min(min(p.payoff.value, 1 - p.payoff.value) for p in report.pairs) == pytest.approx(0.1)
    names, matrix = report.payoffs()
    assert matrix[names.index("rock@1"), names.index("scissors@1")] == 0.9
    assert matrix[names.index("scissors@1"), names.index("rock@1")] == pytest.approx(0.1)


def test_no_games_at_all(tmp_path: Path) -> None:
    report = make_report(None, matches_file(tmp_path, []))
    assert (report.matches, report.pairs, report.ratings, report.nash, report.anchor) == (0, (), {}, None, "")
    assert any("no games" in note for note in report.notes)
    files = report.write(tmp_path / "out")
    assert all(path.stat().st_size for path in files)
    assert "no games" in (tmp_path / "out" / "report.html").read_text()
    assert report.elo_mean == 1000


def test_all_won_and_all_drawn_stay_finite(tmp_path: Path) -> None:
    won = make_report(None, matches_file(tmp_path, [match("a", "b", 1.0)] * 50))
    assert won.ratings["a"].value == 0
    assert -3000 < won.ratings["b"].low <= won.ratings["b"].value < -200
    assert won.pairs[0].payoff.low < 0.95
    assert won.pairs[0].payoff.high == 1.0
    drawn = make_report(None, matches_file(tmp_path, [match("a", "b", 0.5)] * 50))
    assert (drawn.pairs[0].draws, drawn.pairs[0].payoff.value) == (50, 0.5)
    assert drawn.ratings["b"].value == pytest.approx(0, abs=1e-6)
    assert drawn.elo == {"a": 1000.0, "b": 1000.0}


def test_a_free_for_all_counts_each_pair_once() -> None:
    found = count_matches([{"players": ["a", "b", "b", "c"], "placements": [2, 1, 3, 4]}])
    assert found.counts["a", "b"] == Counts(0, 1, 0)
    assert found.counts["b", "c"] == Counts(1, 0, 0)
    assert found.counted == 1


def test_self_play_counts_nowhere(tmp_path: Path) -> None:
    report = make_report(None, matches_file(tmp_path, [match("a", "a", 1.0)] * 3))
    assert (report.matches, report.self_play, report.counted, report.pairs) == (3, 3, 0, ())
    assert report.elo == {"a": 1000.0}


def test_what_a_player_did_before_its_reset_is_forgotten() -> None:
    old = [match("a", "b", 1.0, lives=[0, 0])] * 5
    new = [match("a", "b", 0.0, lives=[1, 0])] * 2
    late = match("a", "b", 1.0, lives=[0, 0])
    found = count_matches([*old, *new, late])
    assert found.counts["a", "b"] == Counts(0, 0, 2)
    assert found.dropped == 1
    assert count_matches(old, lives={"a": 1}).counts == {}
    assert count_matches([*old, match("a", "b", 1.0, lives=[0, 0], counted=False)]).counts["a", "b"].wins == 5


def test_bad_lines_and_matches_told_twice_are_left_out_and_said(tmp_path: Path) -> None:
    rows: list[Any] = [
        match("a", "b", 1.0, match=1),
        match("a", "b", 1.0, match=1),
        {"players": ["a"], "placements": [1]},
        {"players": ["a", "b"], "placements": [1, float("inf")]},
        {"players": ["a", 3], "placements": [1, 2]},
        {"players": ["a", "b"], "placements": [1, True]},
        {"players": ["a", "b"], "placements": [0, 2]},
        {"players": ["a", "b"], "placements": [1, 2], "lives": [10**9, 0]},
        {"players": ["a\n", "b"], "placements": [1, 2]},
        {"hello": 1},
        ["no object"],
    ]
    path = matches_file(tmp_path, rows, text='not json\n{"players": ["a", "b"], "placem')
    report = make_report(None, path)
    assert report.matches == report.counted == 1
    told = " ".join(report.notes)
    assert "2 lines are no JSON object" in told
    assert "8 lines are no match" in told
    assert "1 matches are told twice and counted once: 1" in told
    with pytest.raises(StoreError, match="no such file"):
        make_report(None, tmp_path / "absent.jsonl")
    with pytest.raises(StoreError, match="neither a league nor matches"):
        make_report(None)


def test_the_page_holds_its_plots_and_escapes_names(tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>$x_$"
    rows = [match(bad, "main-1@1", 1.0, learner=bad, branch="pfsp")] * 5 + rock_paper_scissors(10)
    matches_file(tmp_path, rows)
    metrics = [{"learner": bad, "learner_frames": n, "losses": {"kl": 0.1 * n, "value": 1.0}} for n in range(5)] + [{"losses": 3}]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in metrics))
    report = make_report(None, tmp_path / "matches.jsonl")
    files = report.write(tmp_path / "out")
    names = {path.name for path in files}
    assert {"report.json", "players.csv", "pairs.csv", "mix.csv", "report.html"} < names
    assert {"payoffs.svg", "ratings.svg", "mix.svg", "losses.svg"} < names
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script" not in page
    assert page.count("<svg") == 4
    assert "src=" not in page
    told = json.loads((tmp_path / "out" / "report.json").read_text())
    assert told["matches"] == len(rows)
    with (tmp_path / "out" / "pairs.csv").open() as file:
        pairs = list(csv.DictReader(file))
    assert len(pairs) == 4
    assert {row["a"] for row in pairs} >= {"paper@1"}
    assert "pairs" not in summary_of(report)


def test_a_payoff_is_the_share_of_seats_that_one_ranks_above(tmp_path: Path) -> None:
    """Not the share of matches in which it ranks above most of them."""
    players = ["main-1", *["main-1@0"] * 3]
    second = {"players": players, "placements": [2, 1, 3, 4]}
    report = make_report(None, matches_file(tmp_path, [second] * 100))
    (row,) = report.pairs
    assert (row.wins, row.draws, row.losses) == (100, 0, 0)
    assert row.payoff.value == pytest.approx(2 / 3)
    assert 0.55 < row.payoff.low < row.payoff.high < 0.76
    assert report.ratings["main-1"].value == pytest.approx(400 * math.log10(2), abs=3)  # odds of two to one
    rows = [{"players": players, "placements": [1, 2, 3, 4]}] * 50 + [{"players": players, "placements": [3, 1, 2, 4]}] * 50
    (row,) = make_report(None, matches_file(tmp_path, rows)).pairs
    assert (row.wins, row.losses) == (50, 50)
    assert row.payoff.value == pytest.approx(2 / 3)


def test_four_experts_are_even(tmp_path: Path) -> None:
    rows = [{"players": ["me", *["it"] * 3], "placements": [place, *sorted({1, 2, 3, 4} - {place})]} for place in (1, 2, 3, 4) * 50]
    (row,) = make_report(None, matches_file(tmp_path, rows)).pairs
    assert row.payoff.value == pytest.approx(0.5)
    assert row.payoff.low == pytest.approx(wilson(100, 200).low)


@pytest.mark.parametrize("place", [0, 3, 10**31, 1e400, float("nan"), True, "1"])
def test_places_that_are_none_are_left_out_and_told(tmp_path: Path, place: Any) -> None:
    rows = [match("a", "b", 1.0), {"players": ["a", "b"], "placements": [1, place]}]
    report = make_report(None, matches_file(tmp_path, rows))
    assert report.matches == 1
    assert "1 lines are no match and are left out: 2" in report.text()


@pytest.mark.parametrize("players", [{"0": "a"}, 3, "ab", [["a"], "b"]])
def test_an_altered_evaluation_is_told(tmp_path: Path, players: Any) -> None:
    path = matches_file(tmp_path, [match("main-1", "main-1@0", 1.0)])
    rows = [{"players": players, "placements": [1, 2], "frames": 5}, {**match("main-1", "main-1@0", 1.0), "frames": 5}]
    (tmp_path / "evaluation.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "1 lines are no match and are left out: 1" in make_report(None, path).text()


@pytest.mark.parametrize("figures", [{"value": "0.5", "low": 0, "high": 1}, {"value": 0.5, "low": None, "high": 1}, {"value": 0.5}, 3])
def test_an_altered_best_response_is_told_and_left_out(tmp_path: Path, figures: Any) -> None:
    path = matches_file(tmp_path, [match("main-1", "main-1@0", 1.0)])
    good = {"value": 0.5, "low": 0.4, "high": 0.6}
    told = {"main": "main-1", "main_frames": 1, "budget": 1, "frames": 1, "matches": 1, "before": good, "after": figures}
    (tmp_path / "best_response.json").write_text(json.dumps({"main-1": told}))
    report = make_report(None, path)
    assert not report.best_responses
    assert "best_response.json: cannot be read" in report.text()


def test_strength_is_drawn_by_what_a_learner_had_learnt_from(tmp_path: Path) -> None:
    rows = [match("main-1@1", "main-1@0", 1.0)] * 60 + [match("main-1@1", "main-1@0", 0.0)] * 20
    alone = make_report(None, matches_file(tmp_path, rows))
    assert "growth" not in draw_plots(alone)  # nobody knows their frames
    frozen = tuple(p._replace(kind="main", frames=1_000_000 * int(p.id[-1])) for p in alone.players)
    drawn = draw_plots(dataclasses.replace(alone, players=frozen))["growth"]
    assert "1M" in drawn
    assert "main-1@0 is 0" in drawn


def test_exploitability_leaves_the_newest_snapshot_apart(tmp_path: Path) -> None:
    rows = [match("main-1", "main-1@0", 1.0)] * 300 + [match("main-1", "main-1@0", 0.0)] * 100
    rows += [match("main-1", "main_exploiter-1@1", 1.0)] * 180 + [match("main-1", "main_exploiter-1@1", 0.0)] * 220
    rows += [match("main-1", "main-1@1", 0.0)] * 400
    report = make_report(None, matches_file(tmp_path, rows))
    (proxy,) = report.proxies
    assert proxy.player == "main-1"
    assert proxy.found.worst == "main_exploiter-1@1"
    assert proxy.found.payoff.value == 0.45
    assert proxy.found.newest.value == 0.0
    assert proxy.source == "matches"
    evaluated = [match("main-1", "main-1@0", 1.0)] * 200 + [match("main-1", "main-1@0", 0.0)] * 200
    (tmp_path / "evaluation.jsonl").write_text("".join(json.dumps(row) + "\n" for row in evaluated))
    (judged,) = make_report(None, tmp_path / "matches.jsonl").proxies
    assert judged.source == "evaluation"
    assert judged.found.worst == "main-1@0"
    assert judged.found.payoff.low == pytest.approx(0.451, abs=1e-3)
    assert judged.found.unplayed == ("main_exploiter-1@1", "main-1@1")
    many = dataclasses.replace(report, proxies=(proxy._replace(found=proxy.found._replace(unplayed=tuple("abcdefgh"))),))
    assert "never met: a, b, c, d, e and 3 more" in many.text()


def test_where_nobody_is_old_enough_the_newest_are_told_all_the_same(tmp_path: Path) -> None:
    report = make_report(None, matches_file(tmp_path, [match("main-1", "main-1@0", 1.0)] * 300 + [match("main-1", "main-1@0", 0.0)] * 100))
    (proxy,) = report.proxies
    assert not proxy.found.worst
    line = next(line for line in report.text().splitlines() if "exploitability of main-1" in line)
    assert line.startswith("exploitability of main-1: no snapshot at least two old has met it; of the newest, apart, against main-1@0: ")
    row = page(report, {}).split("Exploitability")[1].split("</tr>")[1]
    assert "<td>0.500</td>" not in row
    assert "<td>main-1@0</td><td>0.750</td>" in row


def test_what_was_judged_lies_beside_the_league_wherever_its_matches_are(tmp_path: Path) -> None:
    played = [match("main-1", f"main-1@{k}", 1.0) for k in range(4)]
    for place, games in (("home", 4), ("elsewhere", 8)):
        (tmp_path / place).mkdir()
        matches_file(tmp_path / place, played)
        evaluated = [match("main-1", "main-1@0", 0.0)] * games
        (tmp_path / place / "evaluation.jsonl").write_text("".join(json.dumps(row) + "\n" for row in evaluated))
    foreign = tmp_path / "elsewhere" / "matches.jsonl"
    (of_league,), (alone,) = make_report(tmp_path / "home", foreign).proxies, make_report(None, foreign).proxies
    assert [(one.source, one.found.games) for one in (of_league, alone)] == [("evaluation", 4), ("evaluation", 8)]


def test_payoffs_forget_as_the_live_ones_do() -> None:
    rows = [match("a", "b", 1.0)] * 30 + [match("a", "b", 0.0)] * 30
    settings = PayoffSettings(decay=0.9, prior_games=1)
    assert count_matches(rows, settings).table.payoff("a", "b") < 0.1
    assert count_matches(rows, settings).counts["a", "b"] == Counts(30, 0, 30)

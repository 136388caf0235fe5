"""Ratings from full placements: who came where is counted once a match, and a reset player is a newcomer again."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from league.report import make_report
from league.results import count_matches
from league.skill import MISSING, MOST_MATCHES, Ranking, ranking_of, skills


def row(players: list[str], places: list[float], **more: Any) -> dict[str, Any]:
    return {"players": players, "placements": places, **more}


def test_several_seats_of_a_player_are_one_with_their_mean_place() -> None:
    assert ranking_of(["a", "b", "b", "c"], [0, 0, 0, 2], [1, 2, 4, 3]) == Ranking((("a", 0), ("b", 0), ("c", 2)), (1.0, 3.0, 3.0))
    assert ranking_of(["a", "a"], [0, 0], [1, 2]) is None


def test_the_rankings_are_those_of_counted_matches() -> None:
    rows = [row(["a", "b", "c"], [1, 2, 3]), row(["a", "a", "a"], [1, 2, 3]), row(["a", "b", "c"], [3, 2, 1], counted=False)]
    assert count_matches(rows).rankings == [Ranking((("a", 0), ("b", 0), ("c", 0)), (1.0, 2.0, 3.0))]


def test_who_comes_in_first_is_rated_above_who_comes_in_last() -> None:
    pytest.importorskip("openskill")
    found, told = skills([Ranking((("a", 0), ("b", 0), ("c", 0)), (1.0, 2.0, 3.0))] * 20)
    assert told == ""
    assert found["a"].mu > found["b"].mu > found["c"].mu
    assert found["a"].matches == 20
    assert found["a"].sigma < 25 / 3
    low, high = found["a"].interval[1:]
    assert low < found["a"].mu < high
    tied, _ = skills([Ranking((("a", 0), ("b", 0)), (1.5, 1.5))])
    assert tied["a"].mu == pytest.approx(tied["b"].mu) == pytest.approx(25)


def test_the_published_update_of_four_newcomers() -> None:
    """Weng and Lin (2011), algorithm 4, by hand: beta 25/6, sigma 25/3, no drift within one match but tau 25/300."""
    pytest.importorskip("openskill")
    found, _ = skills([Ranking(tuple((name, 0) for name in "abcd"), (1.0, 2.0, 3.0, 4.0))])
    variance, beta = (25 / 3) ** 2 + (25 / 300) ** 2, 25 / 6
    c = (4 * (variance + beta**2)) ** 0.5
    gains = [1 - 1 / 4, 1 - 1 / 4 - 1 / 3, 1 - 1 / 4 - 1 / 3 - 1 / 2, -(1 / 4 + 1 / 3 + 1 / 2)]
    for name, gain in zip("abcd", gains, strict=True):
        assert found[name].mu == pytest.approx(25 + variance / c * gain, abs=0.01)


def test_a_reset_player_begins_anew() -> None:
    pytest.importorskip("openskill")
    old, new = Ranking((("a", 0), ("b", 0)), (1.0, 2.0)), Ranking((("a", 1), ("b", 0)), (2.0, 1.0))
    found, _ = skills([*[old] * 30, new])
    assert found["a"].matches == 1
    assert found["a"].mu < 25
    assert found["b"].matches == 31


def test_of_very_many_matches_the_newest_are_rated() -> None:
    pytest.importorskip("openskill")
    old, new = Ranking((("a", 0), ("gone", 0)), (1.0, 2.0)), Ranking((("a", 0), ("b", 0)), (1.0, 2.0))
    found, told = skills([*[old] * 7, *[new] * MOST_MATCHES])
    assert set(found) == {"a", "b"}
    assert "7 older ones" in told


def test_the_report_tells_them_in_every_form(tmp_path: Path) -> None:
    pytest.importorskip("openskill")
    path = tmp_path / "matches.jsonl"
    path.write_text("".join(json.dumps(row(["a", "b@1", "c@1"], [1, 2, 3])) + "\n" for _ in range(30)))
    report = make_report(None, path)
    report.write(tmp_path / "out")
    told = json.loads((tmp_path / "out" / "report.json").read_text())["skills"]
    assert told["a"]["mu"] > told["b@1"]["mu"] > told["c@1"]["mu"]
    assert told["a"]["low"] < told["a"]["mu"] < told["a"]["high"]
    with (tmp_path / "out" / "players.csv").open() as file:
        players = {line["id"]: line for line in csv.DictReader(file)}
    assert float(players["a"]["mu"]) == told["a"]["mu"]
    assert f"{told['a']['mu']:.1f} ± " in (tmp_path / "out" / "report.html").read_text()
    assert "Plackett-Luce" in (tmp_path / "out" / "ratings.svg").read_text()
    assert f"{told['a']['mu']:.1f} ±" in report.text()


def test_without_the_package_the_report_says_so_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openskill", None)
    monkeypatch.setitem(sys.modules, "openskill.models", None)
    path = tmp_path / "matches.jsonl"
    path.write_text("".join(json.dumps(row(["a", "b@1", "c@1"], [1, 2, 3])) + "\n" for _ in range(30)))
    report = make_report(None, path)
    report.write(tmp_path / "out")
    assert MISSING in report.notes
    assert MISSING.replace("'", "&#x27;") in (tmp_path / "out" / "report.html").read_text()
    assert report.skills == {}
    assert report.ratings["a"].value > 0
    assert "Plackett-Luce" not in (tmp_path / "out" / "ratings.svg").read_text()

"""The page of a league that was begun by a face: it shows chosen matches, as that of the command does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.league_work import Stopped, imitate, league
from tests.engine.test_league_work import SMALL, folder_of, stopping_at

pytestmark = pytest.mark.timeout(240)  # the first import of torch alone takes a minute on a machine with much else to do


def shown_on(folder: str) -> int:
    page = (Path(folder) / "report" / "report.html").read_text()
    shown = len(json.loads((Path(folder) / "report" / "report.json").read_text())["shown"])
    assert page.count("data:image/jpeg;base64,") == shown
    return shown


def test_the_page_shows_chosen_matches(tmp_path: Path) -> None:
    imitate(
        lambda progress: None, str(tmp_path), folder_of(tmp_path, "models/league/a"), pilot_matches=2, judge_matches=0, epochs=1, hidden=16
    )
    asked = {**SMALL, "rounds": 1, "rl_iterations_per_round": 3, "league_exploiters": 0}
    whole, stopped = folder_of(tmp_path, "league/whole"), folder_of(tmp_path, "league/stopped")
    league(lambda progress: None, str(tmp_path), whole, **asked)
    assert shown_on(whole) > 0
    with pytest.raises(Stopped):
        league(stopping_at(4), str(tmp_path), stopped, **{**asked, "rounds": 50})
    assert shown_on(stopped) > 0

"""Matches looked at again: exact where their moves were kept, said to be others where not, refused where something is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from league.arena import last_standing as game
from league.league import run_league
from league.league_run import LeagueRun
from league.losses import UpdateSettings
from league.matchmaking import LeagueSettings
from league.moves import KEPT_EVERY, KeptMatch, MovesError, pack_moves, unpack_moves
from league.network import ActorCritic
from league.report import make_report
from league.report_matches import show_matches, with_matches
from league.rewatch import Chosen, Rewatch, RewatchError
from league.rollout import Actor, Match, RolloutSettings, world_seed
from league.runners.base import weights_of
from league.store import LeagueStore, read_journal

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some hundred short matches, with snapshots; every 32nd kept."""
    store = LeagueStore(tmp_path_factory.mktemp("supervised"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        store.write_snapshot("main-1@0", weights_of(ActorCritic(16)), {})
    run = LeagueRun(
        supervised=store.snapshot_path("main-1@0"),
        rounds=2,
        rl_iterations_per_round=2,
        ships=3,
        worlds=8,
        stagger=1,
        runner="in-process",
        episode_steps=60,
        seed=5,
        updates=UpdateSettings(unroll_steps=16, sequences=4),
        league=LeagueSettings(main_snapshot_frames=200, exploiter_least_frames=100, exploiter_most_frames=100_000),
    )
    folder = tmp_path_factory.mktemp("league") / "small"
    run_league(run, folder)
    return folder


def changed(league: Path, to: Path, change: Callable[[list[dict[str, Any]]], None], name: str = "replays.jsonl") -> Rewatch:
    """The league with other lines in one of its journals."""
    shutil.copytree(league, to)
    rows, _ = read_journal(to / name)
    change(rows)
    (to / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Rewatch(to)


def test_moves_are_packed_and_what_a_lost_ship_held_is_left_out() -> None:
    dice = np.random.default_rng(1)
    moves = dice.integers(0, 2, (50, 3, 7)).astype(np.int8)
    packed = pack_moves(moves, np.array([0, 20, 0], np.int32))
    back = unpack_moves(packed, 3)
    assert (back[:, [0, 2]] == moves[:, [0, 2]]).all()
    assert (back[:20, 1] == moves[:20, 1]).all()
    assert not back[20:, 1].any()
    for torn in (
        packed[:-9],
        b"",
        b"nothing",
        pack_moves(moves[:, :2], np.zeros(2, np.int32)),
        pack_moves(moves + 9, np.zeros(3, np.int32)),
    ):
        with pytest.raises(MovesError, match=r"torn|altered"):
            unpack_moves(torn, 3)


def test_one_match_in_32_is_kept_and_is_shown_move_by_move(league: Path) -> None:
    found = Rewatch(league)
    kept = [number for number in found.rows if found.is_kept(number)]
    assert kept == [number for number in found.rows if number % KEPT_EVERY == 0]
    assert len(kept) >= 2
    for number in kept:
        replay = found.replay(number)
        assert (replay.exact, replay.told) == (True, "the match itself, move by move")
        matches, row = replay.matches(), found.rows[number]
        for _ in range(2):  # the next one is the same once more
            while not matches.over:
                matches.advance()
            by_player = [matches.results[-1].places[(k + number) % 3] for k in range(3)]
            assert by_player == row["placements"]
            assert matches.results[-1].seconds == pytest.approx(row["steps"] / 20)
            matches.restart()
        assert [replay.names[(k + number) % 3] for k in range(3)] == row["players"]


def test_a_match_that_was_not_kept_is_another_and_that_is_said(league: Path) -> None:
    found = Rewatch(league)
    number = next(n for n in found.rows if n % KEPT_EVERY and len(set(found.rows[n]["players"])) > 1)
    replay, again = found.replay(number), found.replay(number)
    assert not replay.exact
    assert "not the match itself" in replay.told
    assert "by now" in replay.told
    assert "not as it was" in replay.line
    assert (replay.moves == again.moves).all()
    with pytest.raises(RewatchError, match=r"match 99999: .* has no such match"):
        found.replay(99_999)


def test_frozen_players_alone_play_the_same_match_again(league: Path, tmp_path: Path) -> None:
    """Random streams hang on the match's number: with the same weights it is the same match, whoever plays it."""
    matches = [Match(n, ("expert", "novice", "random"), (False,) * 3) for n in (7, 32)]
    actor = Actor(RolloutSettings(2, 3, 60, 5), kept_every=1)
    actor.begin(dict(enumerate(matches)))
    played = [one for _ in range(4) for one in actor.rollout({}, 16).played]
    row = {"match": 7, "players": list(matches[0].players), "placements": list(played[0].placements), "steps": played[0].steps}
    found = changed(league, tmp_path / "x", lambda rows: rows.append(row), "matches.jsonl")
    found.rows[7] = row
    replay = found.replay(7)
    assert (replay.moves == unpack_moves(played[0].moves, 3)).all()
    assert "ended in the same places" in replay.told


def test_what_is_missing_altered_or_of_other_rules_is_refused(league: Path, tmp_path: Path) -> None:
    rows = Rewatch(league).rows
    snapshot = next(p for n in rows if n % KEPT_EVERY for p in rows[n]["players"] if "@" in p)
    number = next(n for n in rows if n % KEPT_EVERY and snapshot in rows[n]["players"])

    shutil.copytree(league, tmp_path / "altered")
    store = LeagueStore(tmp_path / "altered")
    weights = weights_of(ActorCritic(16))
    other = tmp_path / "altered" / "snapshots" / f"{snapshot}.safetensors"
    store.write_snapshot("main-9@9", weights, {})
    shutil.copyfile(store.snapshot_path("main-9@9").with_name("main-9@9.safetensors"), other)
    shutil.copyfile(store.snapshot_path("main-9@9").with_name("main-9@9.json"), other.with_suffix(".json"))
    with pytest.raises(RewatchError, match=f"match {number} cannot be shown: .*{snapshot} was altered"):
        Rewatch(tmp_path / "altered").replay(number)
    other.unlink()
    with pytest.raises(RewatchError, match=f"match {number} cannot be shown: .*{snapshot}"):
        Rewatch(tmp_path / "altered").replay(number)

    def other_rules(kept: list[dict[str, Any]]) -> None:
        kept[0]["rules_version"] += 1

    with pytest.raises(RewatchError, match=r"match 0 cannot be shown: .*rules 2, these are 1"):
        changed(league, tmp_path / "rules", other_rules).replay(0)

    def other_moves(kept: list[dict[str, Any]]) -> None:
        mine = KeptMatch.from_json(kept[0])
        moves = np.zeros_like(unpack_moves(mine.moves, 3))
        kept[0] = KeptMatch(
            mine.match, mine.players, mine.placements, mine.world, 40, 1, pack_moves(moves, np.zeros(3, np.int32))
        ).to_json()

    with pytest.raises(RewatchError, match="one of the two was altered"):
        changed(league, tmp_path / "moves", other_moves).replay(0)

    def torn(kept: list[dict[str, Any]]) -> None:
        kept[0]["moves"] = kept[0]["moves"][:40]

    with pytest.raises(RewatchError, match="torn"):
        changed(league, tmp_path / "torn", torn).replay(0)


def test_kept_moves_of_a_future_that_was_cut_off_are_not_taken_for_this_one(league: Path, tmp_path: Path) -> None:
    def other_end(rows: list[dict[str, Any]]) -> None:
        rows[0]["placements"] = rows[0]["placements"][::-1] if rows[0]["placements"][0] != rows[0]["placements"][-1] else [1.0, 2.0, 3.0]

    found = changed(league, tmp_path / "cut", other_end, "matches.jsonl")
    number = next(iter(found.rows))
    assert found.rows[number] != Rewatch(league).rows[number]
    assert not found.is_kept(number)
    assert not found.replay(number).exact


def test_the_chosen_matches(league: Path) -> None:
    found = Rewatch(league)
    names = sorted({p for row in found.rows.values() for p in row["players"]})
    ratings = {name: 100.0 * k for k, name in enumerate(names)}
    latest = found.choose("latest", ratings)
    assert latest is not None
    assert latest.number == [n for n in found.rows if found.is_kept(n) and found.rows[n]["learner"] == "main-1"][-1]
    closest = found.choose("closest", ratings)
    assert closest is not None
    assert closest.why.startswith("the closest: ")
    for pick in ("closest", "upset", "latest"):
        chosen = found.choose(pick, ratings)
        assert chosen is None or found.is_kept(chosen.number)
    found.kept.clear()
    for row in found.rows.values():
        row["placements"] = [2.0, 1.0, 3.0]
    upset = found.choose("upset", ratings)
    assert upset is not None
    row = found.rows[upset.number]
    winner = row["players"][row["placements"].index(min(row["placements"]))]
    assert ratings[winner] < np.mean([ratings[p] for p in row["players"] if p != winner])
    assert winner in upset.why
    longest = found.choose("closest", ratings)
    assert longest is not None
    assert longest.why.startswith("the longest: ")
    row = next(iter(found.rows.values()))
    row["placements"] = [1.5, 1.5, 3.0]
    assert found.choose("closest", ratings) == Chosen(int(row["match"]), f"a draw: {row['steps'] / 20:.0f} s")
    found.rows.clear()
    assert [found.choose(pick, ratings) for pick in ("closest", "upset", "latest")] == [None] * 3


def test_a_shared_first_place_is_the_closest_of_all_and_called_a_draw(league: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("league.rewatch._left_of_winners", lambda kept: {k.match: -1.0 if i else 0.3 for i, k in enumerate(kept)})
    chosen = Rewatch(league).choose("closest", {})
    assert chosen is not None
    assert chosen.why == "the closest: a draw"


def test_a_whole_match_of_pilots_needs_no_state_and_its_moves_are_small(tmp_path: Path) -> None:
    players = ("expert", "expert", "expert", "novice")
    actor = Actor(RolloutSettings(1, 4, game.EPISODE_STEPS, 1), kept_every=1)
    actor.begin({0: Match(3, players, (False,) * 4)})
    played = ()
    while not played:
        played = actor.rollout({}, 64).played
    (one,) = played
    assert sorted(one.placements) == [1, 2, 3, 4]
    assert len(one.moves) < 8000
    kept = KeptMatch(3, players, one.placements, world_seed(1, 3), game.EPISODE_STEPS, game.RULES_VERSION, one.moves)
    row = {"match": 3, "players": list(players), "placements": list(one.placements), "steps": one.steps}
    LeagueStore(tmp_path).matches.append([row])
    LeagueStore(tmp_path).replays.append([kept.to_json()])
    matches = Rewatch(tmp_path).replay(3).matches()
    while not matches.over:
        matches.advance()
    assert [matches.results[0].places[(k + 3) % 4] for k in range(4)] == row["placements"]
    assert matches.names == ("expert", "expert", "novice", "expert")


def test_chosen_matches_stand_on_the_page(league: Path, tmp_path: Path) -> None:
    """Stills are in the page itself; on demand there are videos beside it, and what cannot be shown is told."""
    folder = tmp_path / "league"
    shutil.copytree(league, folder)
    found = make_report(folder)
    shown, notes = show_matches(folder, tmp_path / "page", {}, picks=("closest", "latest"))
    assert notes == []
    assert [one.exact for one in shown] == [True] * len(shown)
    assert all(one.still.startswith(b"\xff\xd8") and not one.video for one in shown)
    assert not (tmp_path / "page").exists()
    replace(found, shown=tuple(shown)).write(tmp_path / "page")
    page = (tmp_path / "page" / "report.html").read_text()
    assert page.count("data:image/jpeg;base64,") == len(shown)
    assert "the match itself, move by move" in page
    assert json.loads((tmp_path / "page" / "report.json").read_text())["shown"][0]["match"] == shown[0].match

    filmed, _ = show_matches(folder, tmp_path / "page", {}, picks=("latest",), videos=True)
    assert (tmp_path / "page" / filmed[0].video).stat().st_size > 10_000
    assert f'src="{filmed[0].video}"' in filmed[0].html()

    (folder / "replays.jsonl").unlink()
    for state in folder.glob("league_state*"):
        state.unlink()
    assert show_matches(folder, tmp_path / "page", {}, picks=("latest",))[0] == []
    (note,) = show_matches(folder, tmp_path / "page", {}, picks=("latest",))[1]
    assert "cannot be shown" in note


def test_lines_that_make_no_sense_are_left_out_and_told(league: Path, tmp_path: Path) -> None:
    wrong = [
        {"steps": "z"},
        {"steps": 10**400},
        {"steps": None},
        {"placements": ["first", "second", "third"]},
        {"placements": [0, 1, 2]},
        {"placements": [1.0, 2.0]},
        {"placements": [True, 2, 3]},
        {"players": [1, 2, 3]},
        {"players": ["", "", ""]},
        {"match": -1},
        {"match": True},
        {"match": "7"},
    ]

    def spoil(rows: list[dict[str, Any]]) -> None:
        good = rows[-1]
        rows[:] = [{**good, "match": 10_000 + number, **one} for number, one in enumerate(wrong)] + rows

    found = changed(league, tmp_path / "league", spoil, "matches.jsonl")
    assert found.rows == Rewatch(league).rows
    assert found.notes == ["matches.jsonl: 12 lines cannot be shown; a match has a number, players, placements from 1 and steps"]
    found.kept.clear()
    ratings = {name: 0.0 for row in found.rows.values() for name in row["players"]}
    for pick in ("closest", "upset", "latest"):
        found.choose(pick, ratings)
    report = with_matches(make_report(tmp_path / "league", samples=0), tmp_path / "league", tmp_path / "page")
    assert set(found.notes) <= set(report.notes)
    assert report.shown
    assert Rewatch(league).notes == []


@pytest.mark.parametrize("wrong", [{"episode_steps": 10**40}, {"episode_steps": float("inf")}, {"world": float("inf")}, {"world": "z"}])
def test_kept_moves_with_numbers_of_no_match_are_not_shown(league: Path, tmp_path: Path, wrong: dict[str, Any]) -> None:
    found = changed(league, tmp_path / "league", lambda kept: kept[0].update(wrong))
    assert found.is_kept(0)
    with pytest.raises(RewatchError, match=r"match 0 cannot be shown: .*line of kept moves is broken"):
        found.replay(0)
    ratings = {name: 0.0 for row in found.rows.values() for name in row["players"]}
    chosen = found.choose("closest", ratings)
    assert chosen is None or chosen.number > 0


def test_a_report_gets_its_chosen_matches(league: Path, tmp_path: Path) -> None:
    found = make_report(league, samples=0)
    report = with_matches(found, league, tmp_path)
    ratings = {player: rating.value for player, rating in found.ratings.items()}
    assert report.shown == tuple(show_matches(league, tmp_path, ratings)[0])
    assert len(report.shown) > 0
    assert replace(report, shown=()) == found
    (tmp_path / "none").mkdir()
    assert with_matches(found, tmp_path / "none", tmp_path).shown == ()

"""Scripted pilots: they see late, click where the cursor is, and differ in skill."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from data.schema import NO_TARGET, Observation, Status, Tracks
from league.arena import sizes
from league.arena.emulated import EmulatedObserver, TruthObserver
from league.arena.episode import TICK_NS, apply_action, fly
from league.arena.pilots import EXPERT, NOVICE, PILOTS, PilotDecision, make_pilot
from league.arena.skirmish import new_worlds
from league.arena.tactics import Skill, View, decide

Flight = list[tuple[Observation, PilotDecision]]


def recorded(name: str, seed: int = 3, ticks: int = 600) -> Flight:
    rows: Flight = []
    fly(make_pilot(name, seed), seed, ticks, on_tick=lambda o, d: rows.append((o, d)))
    return rows


@pytest.fixture(scope="module")
def flights() -> dict[str, Flight]:
    return {name: recorded(name) for name in PILOTS}


def test_expert_beats_novice_beats_random() -> None:
    seeds = range(50, 54)
    mean = {name: np.mean([fly(make_pilot(name, s), s)[0] for s in seeds]) for name in PILOTS}
    assert mean["expert"] > mean["novice"] + 6
    assert mean["novice"] > mean["random"] + 2


def test_a_pilot_is_reproducible_by_seed(flights: dict[str, Flight]) -> None:
    for name in PILOTS:
        again = recorded(name)
        assert [d for _, d in again] == [d for _, d in flights[name]]
    assert [d for _, d in recorded("expert", seed=4)] != [d for _, d in flights["expert"]]


@pytest.mark.parametrize(("name", "temper"), [("expert", EXPERT[1]), ("novice", NOVICE[1])])
def test_what_is_newer_than_the_reaction_time_has_no_influence(flights: dict[str, Flight], name: str, temper) -> None:
    blank = Tracks.empty()
    rows = flights[name][:400]
    for cut in (100, 237, 399):
        pilot = make_pilot(name, 3)
        for tick, (observation, decision) in enumerate(rows[: cut + 1]):
            if tick > cut - temper.reaction[0]:
                observation = dataclasses.replace(observation, tracks=blank, status=Status())
            assert pilot.act(observation) == decision


def test_what_is_older_has_influence(flights: dict[str, Flight]) -> None:
    pilot = make_pilot("expert", 3)
    same = [pilot.act(dataclasses.replace(o, tracks=Tracks.empty(), status=Status())) == d for o, d in flights["expert"][:200]]
    assert not all(same)


def test_a_click_is_where_the_cursor_already_is(flights: dict[str, Flight]) -> None:
    for rows in flights.values():
        clicks = 0
        for observation, decision in rows:
            if decision.action.click != "none":
                clicks += 1
                assert observation.cursor == (decision.action.x, decision.action.y)
        assert clicks > 5


def test_presses_are_released_in_the_next_tick(flights: dict[str, Flight]) -> None:
    for rows in flights.values():
        for (_, a), (_, b) in itertools.pairwise(rows):
            assert a.action.held == frozenset(a.action.onsets)
            assert not set(a.action.onsets) & set(b.action.onsets)


def test_the_cursor_moves_at_human_speed_and_stays_inside(flights: dict[str, Flight]) -> None:
    for name, rows in flights.items():
        xy = np.array([(d.action.x * 640, d.action.y * 360) for _, d in rows])
        assert (xy >= 0).all()
        assert (xy[:, 0] <= 640).all()
        assert (xy[:, 1] <= 360).all()
        jump = np.linalg.norm(np.diff(xy, axis=0), axis=1)
        assert jump.max() < 300
        assert 0 < np.mean(jump > 0) < 0.7, name


def test_clicks_come_at_a_human_rate(flights: dict[str, Flight]) -> None:
    for name, (low, high) in {"expert": (0.6, 2.0), "novice": (0.1, 1.0), "random": (0.5, 2.0)}.items():
        rate = sum(d.action.click != "none" for _, d in flights[name]) / 30.0
        assert low < rate < high, name


def test_targets_are_tracks_that_were_in_sight(flights: dict[str, Flight]) -> None:
    known: set[int] = set()
    targets = 0
    for observation, decision in flights["expert"]:
        known |= set(observation.tracks.ids.tolist())
        if decision.target_id != NO_TARGET:
            targets += 1
            assert decision.target_id in known
    assert targets > 200


def test_a_displaced_cursor_is_taken_up_from_where_it_is() -> None:
    pilot, state, observer = make_pilot("expert", 5), new_worlds(1, [5]), TruthObserver()
    rng = np.random.default_rng(0)
    cursor = (0.5, 0.5)
    for tick in range(400):
        if rng.random() < 0.05:
            cursor = (float(rng.uniform(0.1, 0.9)), float(rng.uniform(0.1, 0.9)))
        decision = pilot.act(observer.observe(state, 0, tick * TICK_NS, cursor))
        if decision.action.click != "none":
            assert cursor == pytest.approx((decision.action.x, decision.action.y))
        cursor = (decision.action.x, decision.action.y)
        apply_action(state, decision.action)
    assert state.damage_dealt[0, 0] > 0


def test_the_expert_flies_well_on_faulty_perception() -> None:
    scores = [fly(make_pilot("expert", s), s, 800, EmulatedObserver(seed=s))[0] for s in range(60, 63)]
    assert np.mean(scores) > 2


def seen(things: list[tuple[int, float, float]], **status: object) -> View:
    """A view of things (class, x px, y px) with ids 1, 2, ..."""
    boxes = np.array([[x / 640, y / 360, 20 / 640, 20 / 360] for _, x, y in things], np.float32).reshape(-1, 4)
    n = len(things)
    zeros = np.zeros(n, np.float32)
    tracks = Tracks(
        np.arange(1, n + 1, dtype=np.int32),
        np.array([k for k, _, _ in things], np.int32),
        boxes,
        zeros + 1,
        np.zeros((n, 2), np.float32),
        zeros,
        zeros,
    )
    levels = {"hp": 1.0, "shield": 1.0, "heavy_ammo": 0.5, **status.pop("levels", {})}  # type: ignore[dict-item]
    cooldowns = dict.fromkeys(("repair", "boost", "jam"), 0.0)
    flags = {"locked": False, "firing": False, **status}
    return View(Observation(0, 0, 0, Status(levels, flags, {"ammo": 1}, cooldowns), tracks, (0.5, 0.5)))  # type: ignore[arg-type]


def test_tactics_lock_then_engage_then_choose_ammo() -> None:
    things = [(sizes.SELF, 300.0, 200.0), (sizes.RAIDER, 380.0, 200.0)]
    wish = decide(seen(things), Skill())
    assert (wish.mode, wish.target_id, wish.follow, wish.key) == ("FIGHT", 2, 2, None)
    things.append((sizes.LOCK, 380.0, 200.0))
    wish = decide(seen(things, locked=True), Skill())
    assert (wish.mode, wish.target_id, wish.key, wish.point) == ("FIGHT", 2, "space", None)
    assert decide(seen(things, locked=True, firing=True), Skill()).key == "2"
    assert decide(seen(things, locked=True, firing=True, levels={"heavy_ammo": 0.0}), Skill()).key == "3"


def test_tactics_flee_away_when_hurt() -> None:
    things = [(sizes.SELF, 300.0, 200.0), (sizes.RAIDER, 380.0, 200.0), (sizes.DRONE, 390.0, 210.0)]
    wish = decide(seen(things, levels={"hp": 0.2, "shield": 0.0}), Skill())
    assert wish.mode == "FLEE"
    assert wish.key == "e"
    assert wish.point is not None
    assert wish.point[0] < 200
    things.append((sizes.LOCK, 380.0, 200.0))
    assert decide(seen(things, locked=True, levels={"hp": 0.2, "shield": 0.0}), Skill()).button == "mouse_right"


def test_tactics_fetch_loot_and_do_not_click_twice() -> None:
    things = [(sizes.SELF, 300.0, 200.0), (sizes.LOOT, 380.0, 200.0)]
    wish = decide(seen(things), Skill())
    assert (wish.mode, wish.target_id, wish.point) == ("LOOT", 2, pytest.approx((380.0, 200.0), abs=0.01))
    things.append((sizes.MARK, 380.0, 200.0))
    wish = decide(seen(things), Skill())
    assert (wish.mode, wish.point) == ("LOOT", None)


def test_tactics_repair_a_low_shield_under_threat() -> None:
    things = [(sizes.SELF, 300.0, 200.0), (sizes.DRONE, 380.0, 200.0)]
    assert decide(seen(things, levels={"shield": 0.3}), Skill()).key == "q"
    assert decide(seen(things, levels={"shield": 0.9}), Skill()).key is None
    assert decide(seen(things, levels={"shield": 0.3}), NOVICE[0]).key is None


def test_a_dead_pilot_wants_nothing() -> None:
    wish = decide(seen([(sizes.DRONE, 380.0, 200.0)]), Skill())
    assert (wish.mode, wish.point, wish.key) == ("EXPLORE", None, None)


def test_an_unknown_pilot_is_refused() -> None:
    with pytest.raises(ValueError, match="'ace'; use one of expert, novice, random"):
        make_pilot("ace", 0)

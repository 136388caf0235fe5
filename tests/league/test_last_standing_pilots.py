"""Pilots of last man standing: they see 19 numbers, answer in bins, and differ in skill in duels and free-for-alls."""

from __future__ import annotations

import numpy as np
import pytest

from league import codec
from league.arena import last_standing as game
from league.arena import last_standing_rules as rules
from league.arena.last_standing_pilots import AIM_BINS, MOVE_BINS, PILOTS, direction_bins, make_pilot, play, seats_of

WORLDS = 50
Z_95 = 1.96


def above(players: list[str], better: str, worse: str, worlds: int = WORLDS, seed: int = 0) -> tuple[float, float]:
    """P[better ranks above worse] (ties 0.5) and the half-width of its 95 % interval; worlds are the independent draws."""
    state = play(players, np.arange(worlds) + seed)
    seats, won = seats_of(worlds, len(players)), game.payoff(state)
    pairs = [(i, j) for i, a in enumerate(players) for j, b in enumerate(players) if (a, b) == (better, worse)]
    values = np.mean([won[np.arange(worlds), seats[:, i], seats[:, j]] for i, j in pairs], axis=0)
    return float(values.mean()), float(Z_95 * values.std() / np.sqrt(worlds))


@pytest.mark.parametrize(
    ("players", "better", "worse", "least"),
    [
        (["expert", "novice"], "expert", "novice", 0.7),
        (["novice", "random"], "novice", "random", 0.7),
        (["expert", "novice", "novice", "novice"], "expert", "novice", 0.65),
        (["novice", "random", "random", "random"], "novice", "random", 0.65),
    ],
)
def test_expert_is_above_novice_is_above_random(players: list[str], better: str, worse: str, least: float) -> None:
    mean, half = above(players, better, worse)
    assert mean - half > least


def test_no_seat_has_an_advantage() -> None:
    state = play(["expert"] * 4, np.arange(200))
    outcomes = game.outcomes(state)
    error = outcomes.std() / np.sqrt(len(outcomes))
    assert (np.abs(outcomes.mean(axis=0)) < 3.5 * error).all()
    assert state.tick.mean() / 60 > 25
    assert not state.truncated.any()


def test_a_pilots_game_is_the_same_whatever_the_number_of_worlds() -> None:
    players = ["expert", "novice", "random"]
    together = play(players, [5, 6, 7], steps=200)
    # Seats move on by world, so the first world alone sits as it did.
    alone = play(players, [5], steps=200)
    for one, many in zip(alone.arrays(), together.arrays(), strict=True):
        assert np.array_equal(one[0], many[0])


def test_answers_are_bins_and_stateless_but_for_noise() -> None:
    state = game.new_worlds(16, np.arange(16))
    pilots = {name: make_pilot(name, np.arange(16)) for name in PILOTS}
    for _ in range(50):
        seen = game.build_observation(state)
        answers = {name: pilot.act(seen) for name, pilot in pilots.items()}
        for answer in answers.values():
            assert answer.dtype == np.int8
            assert ((answer >= 0) & (answer < codec.BINS)).all()
        game.step(state, answers["expert"])
    again = make_pilot("expert", np.arange(16))
    again.steps[:] = 49
    assert np.array_equal(again.act(seen), answers["expert"])


def test_random_uses_every_bin_evenly() -> None:
    pilot = make_pilot("random", np.arange(500))
    rows = np.concatenate([pilot.act(np.zeros((500, 1, 19), np.float32)) for _ in range(60)])
    for head, bins in enumerate(codec.HEADS.values()):
        counts = np.bincount(rows[:, 0, head], minlength=bins)
        assert counts.min() > 0.85 * counts.sum() / bins


def test_a_reset_draws_other_noise() -> None:
    pilot, same = make_pilot("random", [1, 2]), make_pilot("random", [1, 2])
    seen = np.zeros((2, 3, 19), np.float32)
    first = pilot.act(seen)
    pilot.reset(np.array([False, True]))
    pilot.steps[:] = same.steps[:] = 0
    assert np.array_equal(pilot.act(seen)[0], first[0])
    assert not np.array_equal(make_pilot("random", pilot.seeds).act(seen)[1], first[1])
    pilot.reset(np.array([True, True]), [1, 2])
    assert np.array_equal(pilot.act(seen), first)


@pytest.mark.parametrize(("table", "bins", "most_deg"), [(AIM_BINS, 11, 6.0), (MOVE_BINS, 3, 22.8)])
def test_directions_go_to_the_nearest_bins(table: np.ndarray, bins: int, most_deg: float) -> None:
    angle = np.linspace(-np.pi, np.pi, 5000, dtype=np.float32)
    values = np.linspace(-1, 1, bins)[direction_bins(np.cos(angle), np.sin(angle), table)]
    apart = (np.arctan2(values[:, 1], values[:, 0]) - angle + np.pi) % (2 * np.pi) - np.pi
    assert np.degrees(np.abs(apart)).max() < most_deg


def seen_by(**numbers: float) -> np.ndarray:
    """One observation: whole, in the middle of a wide zone, one enemy far to the right; ``numbers`` say otherwise."""
    usual = {
        "self_hp": 1,
        "self_shield": 1,
        "self_energy": 1,
        "zone_radius": 0.8,
        "enemy_dx": 0.9,
        "enemy_health": 1,
        "enemies_alive": 1 / 7,
    }
    out = np.zeros((1, 1, 19), np.float32)
    for name, value in {**usual, **numbers}.items():
        out[0, 0, codec.FIELD[name]] = value
    return out


def answer(name: str = "expert", **numbers: float) -> codec.ShipAction:
    return codec.decode_action(make_pilot(name, [0]).act(seen_by(**numbers))[0, 0])


def test_the_expert_leads_its_aim_and_holds_fire_out_of_range() -> None:
    near = answer(enemy_dx=0.35, enemy_vy=0.5)
    assert near.fire
    assert near.aim_x > 0
    assert near.aim_y > 0.2
    assert not answer(enemy_dx=0.9).fire
    assert not answer("novice", enemy_dx=0.9).fire


def test_the_expert_goes_inside_takes_items_and_uses_abilities() -> None:
    outside = answer(zone_dx=-0.6, zone_radius=0.4)
    assert outside.move_x == -1
    assert outside.ability == rules.BOOST
    assert answer(zone_dx=-0.6, zone_radius=0.4, self_cooldown=0.5).ability == rules.NO_ABILITY
    assert answer(self_hp=0.3, item_dy=-0.2, item_kind=1 / 3).move_y == -1
    assert answer(item_dy=-0.02, item_kind=1 / 3).interact
    assert not answer(item_dy=-0.2, item_kind=1 / 3).interact
    assert answer(enemy_dx=0.3, enemy_aim=1.0).ability == rules.JAM
    assert answer(enemy_dx=0.3, enemy_aim=1.0, self_shield=0.2).ability == rules.BURST


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_pilot("ace", [0]), "'ace'; use one of expert, novice, random"),
        (lambda: make_pilot("expert", [0]).act(np.zeros((1, 19), np.float32)), "shape"),
        (lambda: make_pilot("expert", [0]).act(np.zeros((2, 1, 19), np.float32)), "shape"),
    ],
)
def test_what_does_not_fit_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_seats_go_round() -> None:
    assert seats_of(3, 3).tolist() == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    assert all(len(set(row)) == 4 for row in seats_of(9, 4).tolist())

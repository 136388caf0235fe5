"""The rules of skirmish, one at a time, in worlds arranged for each."""

from __future__ import annotations

import numpy as np
import pytest

from league.arena import skirmish_rules as rules
from league.arena.score import WEIGHTS, counters, score, seeds
from league.arena.skirmish import KEYS, advance, new_worlds, step
from league.arena.world import WorldState

Place = tuple[float, float]


def quiet_world(me: Place = (300.0, 200.0)) -> WorldState:
    """One world with the player at ``me``, no NPC for a long time, no loot, no rock or portal in the way."""
    state = new_worlds(1, [11])
    state.ship_alive[0, 1:] = False
    state.wave_wait_s[:] = 1e6
    state.hunter_wait_s[:] = 1e6
    state.loot_alive[:] = False
    state.loot_respawn_s[:] = 1e6
    state.rock_pos[:] = -1000.0
    state.portal_pos[:] = -1000.0
    state.ship_pos[0, 0] = me
    return state


def put_enemy(state: WorldState, at: Place, kind: int = 1, slot: int = 1) -> None:
    state.ship_alive[0, slot] = True
    state.ship_kind[0, slot] = kind
    state.ship_pos[0, slot] = at
    state.ship_vel[0, slot] = 0.0
    state.ship_hp[0, slot] = 1.0
    state.ship_shield[0, slot] = 1.0 if rules.SHIELD[kind] > 0 else 0.0


def click(state: WorldState, at: Place, button: int = 1) -> None:
    advance(state, np.array([button]), np.array([[at[0] / 640, at[1] / 360]]), None, 0)


def press(state: WorldState, key: str) -> None:
    advance(state, None, None, np.array([KEYS.index(key)]), 0)


def test_a_click_on_ground_flies_there() -> None:
    state = quiet_world()
    click(state, (450.0, 120.0))
    assert state.ship_has_dest[0, 0]
    step(state, None, None, None, ticks=60)
    assert np.linalg.norm(state.ship_pos[0, 0] - (450, 120)) < 4
    assert not state.ship_has_dest[0, 0]
    assert np.linalg.norm(state.ship_vel[0, 0]) < 30


def test_crossing_the_map_takes_about_five_seconds() -> None:
    state = quiet_world((20.0, 200.0))
    click(state, (620.0, 200.0))
    ticks = 0
    while state.ship_has_dest[0, 0]:
        step(state, None, None, None)
        ticks += 1
    assert 4.0 < ticks / 20 < 5.5


def test_a_click_near_an_npc_locks_it_and_keeps_the_course() -> None:
    state = quiet_world()
    put_enemy(state, (400.0, 200.0))
    click(state, (300.0, 100.0))
    click(state, (400.0 + 14.0, 200.0))
    assert state.ship_lock[0, 0] == 1
    assert state.ship_has_dest[0, 0]
    assert state.ship_dest[0, 0].tolist() == pytest.approx([300.0, 100.0], abs=1e-3)
    assert not state.ship_firing[0, 0]


def test_a_click_beside_an_npc_flies() -> None:
    state = quiet_world()
    put_enemy(state, (400.0, 200.0))
    click(state, (400.0 + 17.0, 200.0))
    assert state.ship_lock[0, 0] == -1
    assert state.ship_has_dest[0, 0]


def test_engaging_is_idempotent_and_needs_a_lock() -> None:
    state = quiet_world()
    put_enemy(state, (400.0, 200.0), kind=2)
    press(state, "space")
    assert not state.ship_firing[0, 0]
    click(state, (400.0, 200.0))
    press(state, "space")
    once = state.copy()
    press(state, "space")
    press(state, "ctrl")
    assert all((a == b).all() for a, b in zip(once.arrays(), state.arrays(), strict=True))
    step(state, None, None, None, ticks=20)
    assert state.damage_dealt[0, 0] > 0


def test_locking_again_keeps_firing_and_locking_another_stops_it() -> None:
    state = quiet_world()
    put_enemy(state, (400.0, 200.0), slot=1)
    put_enemy(state, (200.0, 200.0), slot=2)
    click(state, (400.0, 200.0))
    press(state, "space")
    ring = int(state.ship_lock_serial[0, 0])
    click(state, (400.0, 200.0))
    assert state.ship_firing[0, 0]
    assert state.ship_lock_serial[0, 0] == ring
    click(state, (200.0, 200.0))
    assert state.ship_lock[0, 0] == 2
    assert not state.ship_firing[0, 0]
    assert state.ship_lock_serial[0, 0] != ring


def test_a_right_click_drops_the_lock() -> None:
    state = quiet_world()
    put_enemy(state, (400.0, 200.0))
    click(state, (400.0, 200.0))
    press(state, "space")
    click(state, (10.0, 10.0), button=2)
    assert state.ship_lock[0, 0] == -1
    assert not state.ship_firing[0, 0]


def test_nothing_is_fired_out_of_range() -> None:
    state = quiet_world((50.0, 200.0))
    put_enemy(state, (500.0, 200.0))
    click(state, (500.0, 200.0))
    press(state, "space")
    step(state, None, None, None, ticks=10)
    assert state.ship_firing[0, 0]
    assert not state.shot_alive.any()


@pytest.mark.parametrize(
    ("kind", "counter"), [(1, "kills_drone"), (2, "kills_raider"), (3, "kills_mender"), (4, "kills_bomber"), (5, "kills_hunter")]
)
def test_a_kill_counts_scores_and_ends_the_lock(kind: int, counter: str) -> None:
    state = quiet_world()
    put_enemy(state, (400.0, 200.0), kind)
    click(state, (400.0, 200.0))
    press(state, "space")
    state.ship_hp[0, 1] = 0.05
    state.ship_shield[0, 1] = 0.0
    serial = int(state.ship_serial[0, 1])
    step(state, None, None, None, ticks=20)
    assert counters(state, 0)[counter] == counters(state, 0)["kills"] == 1
    assert not state.ship_alive[0, 1]
    assert state.ship_lock[0, 0] == -1
    assert not state.ship_firing[0, 0]
    assert score(state)[0] == pytest.approx(WEIGHTS[counter] + WEIGHTS["damage_taken"] * state.damage_taken[0, 0])
    state.wave_wait_s[:] = 1.0
    step(state, None, None, None, ticks=20 * 2)
    assert state.ship_alive[0, 1]
    assert state.ship_serial[0, 1] > serial


def damage_by(ammo: str, kind: int = 2) -> tuple[float, WorldState]:
    state = quiet_world()
    put_enemy(state, (380.0, 200.0), kind)
    click(state, (380.0, 200.0))
    press(state, ammo)
    press(state, "space")
    state.ship_jammed_s[0, 1] = 60.0
    step(state, None, None, None, ticks=20)
    return float(state.damage_dealt[0, 0]), state


def test_standard_ammo_does_half_to_a_shield_and_heavy_twice_its_number() -> None:
    standard, plain = damage_by("1")
    heavy, state = damage_by("2")
    assert heavy == pytest.approx(4 * standard, rel=1e-5)
    assert plain.ship_heavy[0, 0] == pytest.approx(0.5)
    assert 0.5 - 3 * rules.HEAVY_SHOT <= state.ship_heavy[0, 0] < 0.5
    state.ship_heavy[0, 0] = rules.HEAVY_SHOT
    step(state, None, None, None, ticks=15)
    assert state.ship_ammo[0, 0] == 1
    press(state, "2")
    assert state.ship_ammo[0, 0] == 1


def test_piercing_ammo_goes_past_the_shield() -> None:
    dealt, state = damage_by("3")
    assert state.ship_shield[0, 1] == 1.0
    assert state.ship_hp[0, 1] == pytest.approx(1.0 - dealt * 100 / rules.HP[2], abs=1e-4)


def test_rocks_block_shots() -> None:
    state = quiet_world()
    put_enemy(state, (420.0, 200.0))
    state.ship_jammed_s[0, 1] = 60.0
    state.rock_pos[0, 0] = (360.0, 200.0)
    state.rock_radius[0, 0] = 20.0
    click(state, (420.0, 200.0))
    press(state, "space")
    step(state, None, None, None, ticks=6)
    assert state.damage_dealt[0, 0] == 0.0


def test_rocks_stop_and_scratch_ships_but_do_not_hold_them() -> None:
    state = quiet_world()
    state.rock_pos[0, 0] = (360.0, 200.0)
    state.rock_radius[0, 0] = 20.0
    click(state, (450.0, 200.0))
    nearest = 1e9
    for _ in range(100):
        step(state, None, None, None)
        nearest = min(nearest, float(np.linalg.norm(state.ship_pos[0, 0] - (360, 200))))
    assert nearest > 30.5
    assert state.damage_taken[0, 0] > 0
    assert np.linalg.norm(state.ship_pos[0, 0] - (450, 200)) < 4


def test_loot_is_taken_by_touch_and_comes_back() -> None:
    state = quiet_world()
    state.loot_alive[0, 0] = True
    state.loot_pos[0, 0] = (400.0, 200.0)
    state.loot_serial[0, 0] = 900
    state.ship_shield[0, 0] = 0.2
    click(state, (405.0, 205.0))
    assert state.ship_dest[0, 0].tolist() == pytest.approx([400.0, 200.0], abs=1e-3)
    step(state, None, None, None, ticks=30)
    assert state.looted[0, 0] == 1
    assert not state.loot_alive[0, 0]
    assert state.ship_heavy[0, 0] == pytest.approx(0.5 + rules.LOOT_HEAVY)
    assert state.ship_shield[0, 0] >= 0.2 + rules.LOOT_SHIELD
    assert score(state)[0] == pytest.approx(WEIGHTS["looted"])
    step(state, None, None, None, ticks=20 * 13)
    assert state.loot_alive[0, 0]
    assert state.loot_serial[0, 0] != 900


def test_a_portal_leads_to_the_other_and_not_straight_back() -> None:
    state = quiet_world()
    state.portal_pos[0, 0] = (360.0, 200.0)
    state.portal_pos[0, 1] = (100.0, 100.0)
    click(state, (360.0, 200.0))
    step(state, None, None, None, ticks=20)
    assert np.linalg.norm(state.ship_pos[0, 0] - (100, 100)) < 1
    step(state, None, None, None, ticks=100)
    assert np.linalg.norm(state.ship_pos[0, 0] - (100, 100)) < 1


def test_death_and_return() -> None:
    state = quiet_world()
    put_enemy(state, (380.0, 200.0), kind=2)
    click(state, (380.0, 200.0))
    state.ship_hp[0, 0] = 0.01
    state.ship_shield[0, 0] = 0.0
    serial = int(state.ship_serial[0, 0])
    waited = 0
    while state.ship_alive[0, 0]:
        step(state, None, None, None)
        waited += 1
        assert waited < 200
    assert state.deaths[0, 0] == 1
    assert state.ship_lock[0, 0] == -1
    click(state, (380.0, 200.0))
    assert state.ship_lock[0, 0] == -1, "a dead ship takes no commands"
    step(state, None, None, None, ticks=58)
    assert not state.ship_alive[0, 0]
    step(state, None, None, None, ticks=3)
    assert state.ship_alive[0, 0]
    assert state.ship_hp[0, 0] > 0.9
    assert state.ship_serial[0, 0] > serial
    assert score(state)[0] == pytest.approx(WEIGHTS["deaths"] + WEIGHTS["damage_taken"] * state.damage_taken[0, 0])


def test_repair_boost_and_jam_work_once_per_cooldown() -> None:
    state = quiet_world()
    put_enemy(state, (380.0, 200.0), slot=1)
    put_enemy(state, (600.0, 200.0), slot=2)
    state.ship_shield[0, 0] = 0.1
    press(state, "q")
    press(state, "q")
    assert state.ship_shield[0, 0] == pytest.approx(0.5)
    press(state, "r")
    assert state.ship_jammed_s[0, 1] == rules.JAM_S
    assert state.ship_jammed_s[0, 2] == 0.0
    press(state, "e")
    click(state, (60.0, 200.0))
    step(state, None, None, None, ticks=14)
    assert np.linalg.norm(state.ship_vel[0, 0]) == pytest.approx(rules.SPEED[0] * rules.BOOST_FACTOR, rel=0.02)
    assert state.ship_cooldowns[0, 0].tolist() == pytest.approx([1 - 0.7 / c for c in rules.COOLDOWN_S], abs=1e-4)


def test_jammed_enemies_hold_fire() -> None:
    state = quiet_world()
    put_enemy(state, (380.0, 200.0), kind=2)
    press(state, "r")
    step(state, None, None, None, ticks=55)
    assert state.damage_taken[0, 0] == 0.0
    step(state, None, None, None, ticks=100)
    assert state.damage_taken[0, 0] > 0.0


def test_npcs_notice_hunt_and_lose_interest() -> None:
    state = quiet_world((100.0, 200.0))
    put_enemy(state, (600.0, 300.0), kind=2)
    step(state, None, None, None)
    assert not state.npc_angry[0, 1]
    state.ship_pos[0, 1] = (240.0, 200.0)
    step(state, None, None, None)
    assert state.npc_angry[0, 1]
    state.ship_pos[0, 1] = (600.0, 300.0)
    step(state, None, None, None)
    assert not state.npc_angry[0, 1]


def test_shield_comes_back_when_calm_and_hp_slowly() -> None:
    state = quiet_world()
    state.ship_hp[0, 0] = state.ship_shield[0, 0] = 0.2
    step(state, None, None, None, ticks=50)
    assert state.ship_shield[0, 0] == pytest.approx(0.2)
    step(state, None, None, None, ticks=110)
    assert state.ship_shield[0, 0] == pytest.approx(0.7, abs=0.02)
    assert 0.2 < state.ship_hp[0, 0] < 0.3


def test_wrong_commands_are_refused() -> None:
    state = new_worlds(2, [1, 2])
    with pytest.raises(ValueError, match="commands must be for 2 worlds"):
        step(state, np.zeros(3), np.zeros((2, 2)), None)
    with pytest.raises(ValueError, match="a click is"):
        step(state, np.array([0, 3]), np.zeros((2, 2)), None)
    with pytest.raises(ValueError, match="a click is"):
        step(state, None, None, np.array([0, 8]))
    with pytest.raises(ValueError, match="needs a place"):
        step(state, np.array([1, 0]), np.array([[np.nan, 0], [0, 0]]), None)
    with pytest.raises(ValueError, match="backwards"):
        advance(state, None, None, None, -1)


def test_seed_lists_are_apart() -> None:
    lists = [set(seeds(name, 5000).tolist()) for name in ("train", "validation", "test")]
    assert not lists[0] & lists[1]
    assert not lists[0] & lists[2]
    assert not lists[1] & lists[2]
    assert seeds("test", 3, start=2).tolist() == seeds("test", 5).tolist()[2:]
    with pytest.raises(ValueError, match="no list is called"):
        seeds("tests", 1)
    with pytest.raises(ValueError, match="outside the list"):
        seeds("train", 2, start=999_999)

"""Who comes, when and why: waves, menders, bombers, the hunter, caches, and what the picture is told of it."""

from __future__ import annotations

import numpy as np
import pytest

from data.profile import ARENA_PROFILE
from league.arena import sizes
from league.arena import skirmish_rules as rules
from league.arena.episode import fly
from league.arena.pilots import make_pilot
from league.arena.score import WEIGHTS, counters, score
from league.arena.skirmish import KEYS, LAYOUT, advance, new_worlds, step
from league.arena.truth import objects
from league.arena.world import WorldState
from tests.league.test_skirmish import click, press, put_enemy, quiet_world

TICKS_A_SECOND = 20
LAST = LAYOUT["ships"] - 1


def ordinary(state: WorldState) -> np.ndarray:
    """How many NPCs of a wave each world has."""
    return state.ship_alive[:, 1:LAST].sum(axis=1)


def test_the_profile_shows_what_the_arena_shows() -> None:
    assert ARENA_PROFILE.class_names() == sizes.CLASSES
    assert [c.name for c in ARENA_PROFILE.classes if c.dangerous] == ["hunter"]


def test_a_wave_comes_in_together_after_a_lull() -> None:
    state = new_worlds(40, np.arange(40))
    first = ordinary(state)
    assert ((first >= rules.WAVE_SIZE[0]) & (first <= rules.WAVE_SIZE[1])).all()
    assert set(first.tolist()) == set(range(rules.WAVE_SIZE[0], rules.WAVE_SIZE[1] + 1))
    state.ship_alive[:, 1:] = False
    lull_ticks = np.zeros(40)
    for _ in range(round((rules.WAVE_LULL_S[1] + 1) * TICKS_A_SECOND)):
        lull_ticks += ordinary(state) == 0
        step(state, None, None, None)
    assert (ordinary(state) >= rules.WAVE_SIZE[0]).all()
    assert (lull_ticks / TICKS_A_SECOND >= rules.WAVE_LULL_S[0] - 0.1).all()
    assert (lull_ticks / TICKS_A_SECOND <= rules.WAVE_LULL_S[1] + 0.1).all()


def test_a_wave_enters_at_one_border_and_mixes_kinds() -> None:
    sides, kinds, many = 0, np.zeros(6), new_worlds(200, np.arange(200))
    many.ship_alive[:, 1:] = False
    many.hunter_wait_s[:] = 1e6
    many.wave_wait_s[:] = 0.01
    advance(many, None, None, None, 1)
    for w in range(200):
        places = many.ship_pos[w][many.ship_alive[w] & (np.arange(LAST + 1) > 0)]
        left, top, right, bottom = sizes.PLAY_AREA_PX
        gaps = np.stack([places[:, 0] - left, right - places[:, 0], places[:, 1] - top, bottom - places[:, 1]])
        sides += bool((gaps.max(axis=1) < 20).any())
        kinds += np.bincount(many.ship_kind[w][many.ship_alive[w]][1:], minlength=6)
    assert sides == 200
    assert (kinds[1:5] > 0.08 * kinds.sum()).all()
    assert kinds[rules.HUNTER] == 0


def test_nobody_comes_while_two_of_a_wave_are_left() -> None:
    state = quiet_world()
    state.wave_wait_s[:] = 0.5
    put_enemy(state, (600.0, 60.0), slot=1)
    put_enemy(state, (600.0, 320.0), slot=2)
    step(state, None, None, None, ticks=100)
    assert ordinary(state)[0] == 2
    state.ship_alive[0, 2] = False
    step(state, None, None, None, ticks=20)
    assert ordinary(state)[0] > 2


def test_a_mender_makes_the_hurt_whole_unless_it_is_jammed() -> None:
    for jammed in (False, True):
        state = quiet_world((60.0, 300.0))
        put_enemy(state, (500.0, 100.0), rules.RAIDER, slot=1)
        put_enemy(state, (530.0, 100.0), rules.MENDER, slot=2)
        state.ship_hp[0, 1] = 0.4
        if jammed:
            state.ship_jammed_s[0, 2] = 1e3
        step(state, None, None, None, ticks=40)
        gained = float(state.ship_hp[0, 1]) - 0.4
        assert gained == pytest.approx(0.0 if jammed else 2 * rules.MEND_S / rules.HP[rules.RAIDER], abs=0.02)
        assert (rules.FX_MEND in state.fx_kind[0].tolist()) == (not jammed)


def test_a_mender_goes_to_the_hurt_and_runs_from_the_player() -> None:
    state = quiet_world((60.0, 300.0))
    put_enemy(state, (550.0, 100.0), rules.RAIDER, slot=1)
    put_enemy(state, (350.0, 100.0), rules.MENDER, slot=2)
    state.ship_hp[0, 1] = 0.1
    step(state, None, None, None, ticks=60)
    assert np.linalg.norm(state.ship_pos[0, 2] - state.ship_pos[0, 1]) < rules.MEND_REACH
    state = quiet_world((300.0, 200.0))
    put_enemy(state, (360.0, 200.0), rules.MENDER)
    step(state, None, None, None, ticks=30)
    assert np.linalg.norm(state.ship_pos[0, 1] - state.ship_pos[0, 0]) > 110


def test_a_bomber_rushes_in_and_bursts() -> None:
    state = quiet_world()
    put_enemy(state, (400.0, 200.0), rules.BOMBER)
    put_enemy(state, (318.0, 225.0), rules.DRONE, slot=2)
    state.ship_jammed_s[0, 2] = 1e3  # it shoots nobody
    hp_before = float(state.ship_hp[0, 2])
    for _ in range(40):
        state.ship_pos[0, 2] = (318.0, 225.0)
        step(state, None, None, None)
        if not state.ship_alive[0, 1]:
            break
    assert not state.ship_alive[0, 1]
    assert state.damage_taken[0, 0] == pytest.approx(rules.BLAST_DAMAGE / 100)
    assert state.ship_hp[0, 2] < hp_before  # its own are hurt, too
    assert counters(state, 0)["kills"] == 0
    assert (state.fx_kind[0] == rules.FX_BLAST).any()


def test_a_bomber_shot_down_far_away_hurts_only_its_own() -> None:
    state = quiet_world()
    put_enemy(state, (430.0, 200.0), rules.BOMBER)
    put_enemy(state, (452.0, 200.0), rules.RAIDER, slot=2)
    state.ship_jammed_s[0, 1:3] = 1e3
    click(state, (430.0, 200.0))
    press(state, "2")
    press(state, "space")
    step(state, None, None, None, ticks=20)
    assert counters(state, 0)["kills_bomber"] == 1
    assert state.damage_taken[0, 0] == 0
    assert state.damage_taken[0, 2] == pytest.approx(rules.BLAST_DAMAGE / 200)


def test_a_jammed_bomber_stands_still() -> None:
    state = quiet_world()
    put_enemy(state, (400.0, 200.0), rules.BOMBER)
    press(state, "r")
    step(state, None, None, None, ticks=40)
    assert np.linalg.norm(state.ship_pos[0, 1] - (400, 200)) < 3


def test_a_hunter_comes_hunts_and_goes() -> None:
    state = quiet_world()
    state.hunter_wait_s[:] = 0.1
    step(state, None, None, None, ticks=4)
    assert state.ship_alive[0, LAST]
    assert state.ship_kind[0, LAST] == rules.HUNTER
    start = float(np.linalg.norm(state.ship_pos[0, LAST] - state.ship_pos[0, 0]))
    assert start > 150
    step(state, None, None, None, ticks=60)
    assert np.linalg.norm(state.ship_pos[0, LAST] - state.ship_pos[0, 0]) < start - 50
    state.npc_leave_s[0, LAST] = 0.0
    for _ in range(100):
        step(state, None, None, None)
        if not state.ship_alive[0, LAST]:
            break
    assert not state.ship_alive[0, LAST]
    assert state.deaths[0, LAST] == 0
    assert state.hunter_wait_s[0] > 5


def test_a_hunter_is_slower_than_the_player_and_too_strong_for_it() -> None:
    assert rules.SPEED[rules.HUNTER] < rules.SPEED[rules.PLAYER]
    seconds_to_kill = (rules.HP[rules.HUNTER] + rules.SHIELD[rules.HUNTER]) / (rules.AMMO_DAMAGE[rules.HEAVY] / rules.RELOAD_S[0])
    assert seconds_to_kill * rules.HEAVY_SHOT / rules.RELOAD_S[0] > 1  # more heavy ammo than a ship can carry


def test_a_lock_on_a_hunter_ends_when_it_leaves() -> None:
    state = quiet_world()
    put_enemy(state, (620.0, 200.0), rules.HUNTER, slot=LAST)
    click(state, (620.0, 200.0))
    assert state.ship_lock[0, 0] == LAST
    step(state, None, None, None, ticks=40)
    assert not state.ship_alive[0, LAST]
    assert state.ship_lock[0, 0] == -1


def test_a_cache_is_there_for_a_while_and_worth_the_way() -> None:
    state = quiet_world()
    slot = LAYOUT["loot"] - 1
    state.loot_respawn_s[0, slot] = 0.01
    step(state, None, None, None)
    assert state.loot_alive[0, slot]
    assert np.linalg.norm(state.loot_pos[0, slot] - state.ship_pos[0, 0]) > rules.CACHE_AWAY
    assert sizes.CACHE in objects(state, 0).classes
    left = state.copy()
    step(left, None, None, None, ticks=round(rules.CACHE_LIFE_S * 20) + 1)
    assert not left.loot_alive[0, slot]
    assert score(left)[0] == 0
    state.ship_hp[0, 0] = 0.5
    state.ship_pos[0, 0] = state.loot_pos[0, slot]
    step(state, None, None, None)
    assert score(state)[0] == WEIGHTS["caches"]
    assert state.ship_hp[0, 0] == pytest.approx(0.5 + rules.CACHE_HP, abs=1e-3)
    assert state.fx_value[0][state.fx_kind[0] == rules.FX_PICKUP].tolist() == [rules.POINTS_CACHE]


def test_effects_grow_old_and_end() -> None:
    state = quiet_world()
    put_enemy(state, (400.0, 200.0))
    click(state, (400.0, 200.0))
    press(state, "space")
    step(state, None, None, None, ticks=8)
    numbers = state.fx_value[0][state.fx_kind[0] == rules.FX_HIT]
    assert numbers.tolist() == [rules.AMMO_DAMAGE[1]] * len(numbers)
    assert len(numbers)
    state.ship_alive[0, 1] = False
    state.shot_alive[:] = False
    step(state, None, None, None, ticks=round(rules.FX_S * 20) + 1)
    assert not state.fx_kind.any()


def test_effects_never_touch_the_game() -> None:
    a, b = new_worlds(1, [4]), new_worlds(1, [4])
    dice = np.random.default_rng(0)
    for _ in range(300):
        command = (np.array([1]), dice.random((1, 2), np.float32), np.array([dice.integers(-1, len(KEYS))]))
        step(a, *command)
        b.fx_kind[:] = rules.FX_BLAST
        b.fx_age_s[:] = 0.0
        step(b, *command)
    for name in ("ship_pos", "ship_hp", "rng", "kills", "loot_pos"):
        assert (getattr(a, name) == getattr(b, name)).all(), name


def test_both_maps_can_be_played_and_skill_pays_on_both() -> None:
    scores: dict[tuple[int, str], list[float]] = {}
    for seed in range(10):
        for name in ("expert", "random"):
            total, state = fly(make_pilot(name, seed), seed, ticks=600)
            scores.setdefault((int(state.map_kind[0]), name), []).append(total)
    for kind in (0, 1):
        assert np.mean(scores[kind, "expert"]) > np.mean(scores[kind, "random"]) + 5

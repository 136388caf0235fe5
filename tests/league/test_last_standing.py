"""Last man standing: the rules one by one, independence of N, of the process and of the seat, observations within range."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from league import codec
from league.arena import last_standing as game
from league.arena import last_standing_rules as rules
from league.arena import sizes, world

LEFT, TOP, RIGHT, BOTTOM = sizes.PLAY_AREA_PX
MIDDLE = ((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2)
F = codec.FIELD


def any_actions(rng: np.random.Generator, n: int, ships: int) -> np.ndarray:
    return np.stack([rng.integers(0, bins, (n, ships)) for bins in codec.HEADS.values()], axis=-1).astype(np.int8)


def digest(state: game.LastStandingState) -> str:
    return hashlib.sha256(b"".join(a.tobytes() for a in state.arrays())).hexdigest()


def duel(apart: float = 100.0, ships: int = 2) -> game.LastStandingState:
    """Ships in a row around the middle of one quiet world, ``apart`` px from each other, guns to the right, no items."""
    state = game.new_worlds(1, [1], ships)
    state.zone_middle[:] = MIDDLE
    state.ship_pos[0, :, 0] = MIDDLE[0] + (np.arange(ships) - (ships - 1) / 2) * apart
    state.ship_pos[0, :, 1] = MIDDLE[1]
    state.ship_gun[0] = (1.0, 0.0)
    state.item_alive[:] = False
    state.item_back[:] = 10**6
    return state


def order(state: game.LastStandingState, **parts: dict[int, float]) -> np.ndarray:
    """Actions [1, S, 7] that are zero but for ``head={ship: value}``."""
    actions = np.zeros((1, state.ships, 7), np.float32)
    for head, values in parts.items():
        for ship, value in values.items():
            actions[0, ship, list(codec.HEADS).index(head)] = value
    return actions


def test_parameters_follow_the_fields() -> None:
    kernel = world.kernels("last_standing_kernel")
    for function in (kernel._reset, kernel._advance):
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        assert names[: len(names) - 2] == game.FIELD_NAMES
    hidden = world.kernels("last_standing_privileged_kernel")._tell
    for function, seen in ((kernel._observe, game.SEEN), (kernel._mask, game.MASKED), (hidden, (*game.HIDDEN, "which"))):
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        assert names[:-1] == seen


def test_importing_it_imports_no_numba_and_no_environments() -> None:
    code = (
        "import sys, league.codec, league.arena.last_standing, league.arena.last_standing_pilots;"
        "print({'numba', 'gymnasium', 'pettingzoo', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("ships", [2, 5, 8])
def test_a_world_does_not_depend_on_its_neighbours(ships: int) -> None:
    # More worlds than one block of the kernel, and resets of some on the way.
    n = 70
    seeds = np.arange(n) + 77
    picked = [0, 1, 63, 64, 69]
    together = game.new_worlds(n, seeds, ships, 60)
    alone = {i: game.new_worlds(1, seeds[i : i + 1], ships, 60) for i in picked}
    rng = np.random.default_rng(3)
    for _ in range(200):
        actions = any_actions(rng, n, ships)
        game.step(together, actions)
        over = together.over.copy()
        game.reset(together, over)
        for i in picked:
            game.step(alone[i], actions[i : i + 1])
            game.reset(alone[i], alone[i].over.copy())
    assert together.shots_fired.sum() > 0
    for i in picked:
        assert digest(together.world(i)) == digest(alone[i])


def test_the_same_seed_gives_the_same_world_in_a_spawned_process() -> None:
    state = game.new_worlds(2, [5, -6])
    game.step(state, np.ones((2, 4, 7), np.int8))
    code = (
        "import hashlib, numpy as np; from league.arena import last_standing as g;"
        "w = g.new_worlds(2, [5, -6]); g.step(w, np.ones((2, 4, 7), np.int8));"
        "print(hashlib.sha256(b''.join(a.tobytes() for a in w.arrays())).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50, env=environment)
    assert done.stdout.strip() == digest(state)
    assert digest(game.new_worlds(2, [5, 7])) != digest(game.new_worlds(2, [5, 6]))


def test_fine_steps_equal_whole_ones() -> None:
    rng = np.random.default_rng(0)
    a, b = game.new_worlds(2, [1, 2]), game.new_worlds(2, [1, 2])
    for _ in range(120):
        actions = any_actions(rng, 2, 4)
        game.step(a, actions)
        for _ in range(3):
            game.advance(b, actions, 1)
    assert digest(a) == digest(b)


def test_indices_and_numbers_are_the_same_actions() -> None:
    rng = np.random.default_rng(0)
    states = [game.new_worlds(3, [1, 2, 3]) for _ in range(3)]
    for _ in range(60):
        actions = any_actions(rng, 3, 4)
        for state, given_ in zip(states, (actions, actions.astype(np.int64), codec.decode(actions)), strict=True):
            game.step(state, given_)
    assert len({digest(state) for state in states}) == 1


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(-(2**63), 2**63 - 20), action_seed=st.integers(0, 2**32 - 1), ships=st.integers(2, 8))
def test_invariants_hold_under_any_actions(seed: int, action_seed: int, ships: int) -> None:
    state = game.new_worlds(12, np.arange(12) + np.int64(seed), ships)
    rng = np.random.default_rng(action_seed)
    steps = 0
    while not state.over.all():
        actions = any_actions(rng, 12, ships)
        if steps % 15:
            game.step(state, actions)
        else:
            check_step(state, actions)
        steps += 1
    assert steps <= rules.EPISODE_STEPS
    assert (state.kills.sum(axis=1) <= ships).all()
    frozen = digest(state)
    game.step(state, any_actions(rng, 12, ships))
    assert digest(state) == frozen
    assert not game.action_masks(state).any()


def check_step(state: game.LastStandingState, actions: np.ndarray) -> None:
    before, masks = state.copy(), game.action_masks(state)
    game.step(state, actions)
    for name, array in zip(game.FIELD_NAMES, state.arrays(), strict=True):
        assert np.isfinite(array).all(), name
    for name in ("ship_hp", "ship_shield", "ship_energy"):
        assert ((getattr(state, name) >= 0) & (getattr(state, name) <= 1.0001)).all(), name
    x, y = state.ship_pos[..., 0], state.ship_pos[..., 1]
    radius = rules.RADIUS - 0.01
    assert ((x >= LEFT + radius) & (x <= RIGHT - radius) & (y >= TOP + radius) & (y <= BOTTOM - radius)).all()
    assert np.linalg.norm(state.ship_gun, axis=-1) == pytest.approx(1.0, abs=1e-4)
    seen = state.build_observation()
    assert ((seen >= codec.OBSERVATION_LOW) & (seen <= codec.OBSERVATION_HIGH)).all()
    assert (seen[~state.ship_alive] == 0).all()
    assert not (state.ship_alive & ~before.ship_alive).any()
    for name in ("kills", "shots_fired", "items_taken", "damage_dealt", "damage_taken", "tick"):
        assert (getattr(state, name) >= getattr(before, name)).all(), name
    assert not ((state.shots_fired > before.shots_fired) & ~masks[..., 4]).any()
    assert not ((state.ship_ability > 0) & ~masks[..., 5] & ~before.over[:, None]).any()
    assert not ((state.items_taken > before.items_taken) & ~masks[..., 6]).any()


def test_heads_that_are_masked_have_no_effect() -> None:
    rng = np.random.default_rng(2)
    a = game.new_worlds(40, np.arange(40))
    seen = 0
    for _ in range(150):
        actions = any_actions(rng, 40, 4)
        masks = game.action_masks(a)
        seen += int((~masks & (actions > 0)).sum())
        b = a.copy()
        # What is masked is replaced by something else; nothing may differ.
        game.step(b, np.where(masks, actions, (actions + 1) % codec.BINS).astype(np.int8))
        game.step(a, actions)
        assert digest(a) == digest(b)
    assert seen > 1000


def test_ships_fly_as_wished_and_diagonals_are_not_faster() -> None:
    state = duel()
    for _ in range(12):
        game.step(state, order(state, move_x={0: -1.0, 1: 1.0}, move_y={1: 1.0}))
    speed = np.linalg.norm(state.ship_vel[0], axis=-1)
    assert speed == pytest.approx([rules.SPEED, rules.SPEED], rel=1e-3)
    assert state.ship_vel[0, 0].tolist() == pytest.approx([-rules.SPEED, 0.0])
    for _ in range(12):
        game.step(state, order(state))
    assert state.ship_vel[0] == pytest.approx(0.0, abs=1e-3)


def test_shots_fly_along_the_gun_and_hit_shield_then_hull() -> None:
    state = duel(60.0)
    for _ in range(60):
        game.step(state, order(state, aim_x={0: 1.0}, fire={0: 1.0}))
    dealt = state.damage_dealt[0, 0] * rules.HP
    assert dealt == pytest.approx(rules.SHOT_DAMAGE * (state.shots_fired[0, 0] - (state.shot_end[0] > state.tick[0]).sum()))
    assert state.ship_shield[0, 1] == 0.0 or state.ship_hp[0, 1] == 1.0
    assert state.shots_fired[0].tolist() == [10, 0]
    assert state.ship_energy[0, 0] < 1.0 - 9 * rules.SHOT_ENERGY + 3 * rules.ENERGY_REGEN


def test_a_shot_ends_at_its_range() -> None:
    state = duel(220.0)
    for _ in range(40):
        game.step(state, order(state, fire={0: 1.0}))
    assert state.damage_taken.sum() == 0.0
    assert state.shots_fired[0, 0] == 7
    assert ((state.shot_end[0] > state.tick[0]).sum()) == 2


def test_without_energy_nothing_is_fired() -> None:
    state = duel(300.0)
    state.ship_energy[0, 0] = rules.SHOT_ENERGY * 0.9
    assert not game.action_masks(state)[0, 0, 4]
    game.step(state, order(state, fire={0: 1.0}))
    assert state.shots_fired[0, 0] == 0


def test_the_gun_turns_at_a_limited_rate_either_way_round() -> None:
    state = duel()
    for aim, sign in (((-1.0, 0.2), 1.0), ((-1.0, -0.2), -1.0)):
        state.ship_gun[0, 0] = (1.0, 0.0)
        game.step(state, order(state, aim_x={0: aim[0]}, aim_y={0: aim[1]}))
        assert np.arctan2(*state.ship_gun[0, 0, ::-1]) == pytest.approx(sign * rules.TURN_STEP, abs=1e-4)
        game.step(state, order(state))
        assert np.arctan2(*state.ship_gun[0, 0, ::-1]) == pytest.approx(sign * rules.TURN_STEP, abs=1e-4)
        for _ in range(6):
            game.step(state, order(state, aim_x={0: aim[0]}, aim_y={0: aim[1]}))
        assert state.ship_gun[0, 0] == pytest.approx(np.array(aim) / np.hypot(*aim), abs=1e-4)


def test_boost_is_faster_and_starts_the_shared_cooldown() -> None:
    state = duel()
    game.step(state, order(state, ability={0: rules.BOOST}, move_x={0: -1.0}))
    for _ in range(10):
        game.step(state, order(state, ability={0: rules.JAM}, move_x={0: -1.0}))
    assert abs(state.ship_vel[0, 0, 0]) == pytest.approx(rules.TOP_SPEED, rel=1e-3)
    assert state.ship_jam_end[0, 1] == 0
    for _ in range(69):
        game.step(state, order(state))
    game.step(state, order(state, ability={0: rules.JAM}))
    assert state.ship_ability[0, 0] == rules.JAM


def test_a_burst_restores_shield_and_throws_others_away() -> None:
    state = duel(50.0, ships=3)
    state.ship_shield[0, 1] = 0.2
    game.step(state, order(state, ability={1: rules.BURST}))
    assert state.ship_shield[0, 1] == pytest.approx(0.2 + rules.BURST_SHIELD / rules.SHIELD, abs=1e-4)
    assert state.ship_vel[0, 0, 0] < -200
    assert state.ship_vel[0, 2, 0] > 200
    assert state.ship_vel[0, 1, 0] == pytest.approx(0.0)


def test_a_jam_silences_who_is_near_for_a_while_and_at_once() -> None:
    state = duel(100.0, ships=3)
    game.step(state, order(state, ability={0: rules.JAM}, fire={1: 1.0, 2: 1.0}))
    assert state.shots_fired[0].tolist() == [0, 0, 1]
    assert state.build_observation()[0, :, F["self_energy"]].tolist() == pytest.approx([1.0, 0.0, 0.925], abs=1e-3)
    for _ in range(30):
        game.step(state, order(state, fire={1: 1.0}))
    assert state.shots_fired[0, 1] == 1


@pytest.mark.parametrize("kind", [rules.HEAL, rules.SHIELD_ITEM, rules.POWER])
def test_items_go_to_the_nearest_who_interacts(kind: int) -> None:
    state = duel(30.0, ships=3)
    state.ship_hp[:], state.ship_shield[:], state.ship_energy[:] = 0.5, 0.1, 0.5
    state.item_alive[0, 0], state.item_kind[0, 0] = True, kind
    state.item_pos[0, 0] = state.ship_pos[0, 1] + (10.0, 0.0)
    assert game.action_masks(state)[0, :, 6].tolist() == [False, True, True]
    game.step(state, order(state))
    assert state.item_alive[0, 0]
    game.step(state, order(state, interact={0: 1.0, 1: 1.0, 2: 1.0}))
    assert state.items_taken[0].tolist() == [0, 1, 0]
    gained = (state.ship_hp[0] > 0.6, state.ship_shield[0] > 0.5, state.ship_energy[0] > 0.9)[kind]
    assert gained.tolist() == [False, True, False]
    wait_s = (state.item_back[0, 0] - state.tick[0]) / 60
    assert rules.ITEM_WAIT_S[0] - 0.1 < wait_s < rules.ITEM_WAIT_S[1]
    if kind == rules.POWER:
        game.step(state, order(state, fire={1: 1.0}))
        assert state.shot_damage.max() == pytest.approx(rules.SHOT_DAMAGE * rules.POWER_FACTOR)


def test_a_taken_item_is_followed_by_another() -> None:
    state = duel(300.0)
    state.item_back[0, 0] = 5
    game.step(state, order(state))
    assert not state.item_alive[0, 0]
    game.step(state, order(state))
    assert state.item_alive[0, 0]


def test_the_zone_closes_and_burns_hulls_through_shields() -> None:
    state = duel(60.0)
    radii = [float(state.zone_radius[0])]
    state.ship_pos[0, 0] = (LEFT + 20, TOP + 20)
    while not state.over[0]:
        game.step(state, order(state))
        radii.append(float(state.zone_radius[0]))
    assert (np.diff(radii) < 0).all()
    assert state.ship_shield[0, 0] == 1.0
    assert state.ship_hp[0].tolist() == pytest.approx([0.0, 1.0])
    assert game.placements(state)[0].tolist() == [2.0, 1.0]
    assert state.kills.sum() == 0


def test_the_zone_ends_every_world_before_the_limit() -> None:
    state = game.new_worlds(50, np.arange(50))
    still = np.zeros((50, 4, 7), np.float32)
    while not state.over.all():
        game.step(state, still)
    assert not state.truncated.any()
    assert state.tick.max() < rules.EPISODE_STEPS * rules.STEPS_PER_ACTION


def test_lost_in_the_same_action_is_lost_together() -> None:
    state = duel(300.0, ships=4)
    state.ship_hp[0, :3] = (0.0004, 0.0004, 0.02)
    state.ship_pos[0, :, 1] = TOP + 20
    state.zone_middle[0] = state.ship_pos[0, 3]
    state.tick[:] = 39 * 60
    while not state.over[0]:
        game.step(state, order(state))
    assert game.placements(state)[0].tolist() == [3.5, 3.5, 2.0, 1.0]
    assert game.outcomes(state)[0].tolist() == pytest.approx([-2 / 3, -2 / 3, 1 / 3, 1.0])
    assert game.payoff(state)[0, :, 0].tolist() == [0.5, 0.5, 1.0, 1.0]


def test_two_that_shoot_each_other_tie() -> None:
    state = duel(60.0)
    state.ship_gun[0, 1] = (-1.0, 0.0)
    state.ship_hp[:], state.ship_shield[:] = 0.01, 0.0
    while not state.over[0]:
        game.step(state, order(state, fire={0: 1.0, 1: 1.0}))
    assert state.kills[0].tolist() == [1, 1]
    assert not state.truncated[0]
    assert game.placements(state)[0].tolist() == [1.5, 1.5]
    assert game.outcomes(state)[0].tolist() == [0.0, 0.0]


def test_the_limit_truncates_and_who_lives_shares_the_best_place() -> None:
    state = game.new_worlds(2, [1, 2], 3, episode_steps=10)
    state.ship_hp[0, 2] = 0.0
    for k in range(10):
        assert not state.over.any()
        game.step(state, np.zeros((2, 3, 7), np.float32))
        assert game.outcomes(state)[0].tolist() == ([0.0, 0.0, -1.0] if k < 9 else [0.5, 0.5, -1.0])
    assert state.over.all()
    assert state.truncated.all()
    assert game.placements(state).tolist() == [[1.5, 1.5, 3.0], [2.0, 2.0, 2.0]]


def test_an_observation_by_hand() -> None:
    state = duel(100.0, ships=3)
    state.ship_pos[0, 0, 1] += 40.0
    state.ship_vel[0, 1] = (119.0, -238.0)
    state.ship_hp[0, 1] = 0.5
    state.ship_gun[0, 1] = (-1.0, 0.0)
    state.ship_cooldown_end[0, 0] = 240
    state.item_alive[0, 2], state.item_kind[0, 2], state.item_pos[0, 2] = True, rules.SHIELD_ITEM, MIDDLE
    seen = dict(zip(F, state.build_observation()[0, 0].tolist(), strict=True))
    distance = np.hypot(100.0, 40.0)
    expected = {
        "self_vx": 0, "self_vy": 0, "self_hp": 1, "self_shield": 1, "self_energy": 1, "self_cooldown": 0.5,
        "zone_dx": 100 / 440, "zone_dy": -40 / 440, "zone_radius": 1,
        "enemy_dx": 100 / 320, "enemy_dy": -40 / 320, "enemy_vx": 0.5, "enemy_vy": -1, "enemy_health": 2 / 3,
        "enemy_aim": 100 / distance, "item_dx": 100 / 320, "item_dy": -40 / 320, "item_kind": 2 / 3, "enemies_alive": 2 / 7,
    }  # fmt: skip
    assert seen == pytest.approx(expected, abs=1e-5)
    state.ship_alive[0, 1:] = False
    state.item_alive[:] = False
    alone = state.build_observation()[0]
    assert alone[0, 9:].tolist() == [0.0] * 10
    assert (alone[1:] == 0).all()


def test_reset_begins_anew_where_asked_and_nowhere_else() -> None:
    state, rng = game.new_worlds(3, [1, 2, 3]), np.random.default_rng(0)
    for _ in range(30):
        game.step(state, any_actions(rng, 3, 4))
    before = state.copy()
    game.reset(state, np.array([False, True, True]), [9, 10])
    assert digest(state.world(0)) == digest(before.world(0))
    for i, seed in ((1, 9), (2, 10)):
        fresh = game.new_worlds(1, [seed])
        seen = (state.world(i).build_observation(), fresh.build_observation())
        assert np.array_equal(*seen)
    game.reset(state, np.array([True, False, False]))
    assert not np.array_equal(state.ship_pos[0], game.new_worlds(1, [1]).ship_pos[0])


def test_starts_are_fair_to_every_seat() -> None:
    state = game.new_worlds(4000, np.arange(4000))
    from_middle = np.linalg.norm(state.ship_pos - state.zone_middle[:, None], axis=-1)
    to_item = np.linalg.norm(state.ship_pos[:, :, None] - state.item_pos[:, None], axis=-1).min(axis=2)
    for values in (from_middle, to_item, state.ship_pos[..., 0], state.ship_pos[..., 1]):
        error = values.std() / np.sqrt(len(values))
        assert (np.abs(values.mean(axis=0) - values.mean()) < 4.5 * error).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: game.new_worlds(0, []), "at least 1"),
        (lambda s: game.new_worlds(2, [1]), "2 integers"),
        (lambda s: game.new_worlds(1, [1.5]), "integers"),
        (lambda s: game.new_worlds(1, [1], 9), "9 ships"),
        (lambda s: game.new_worlds(1, [1], 1), "1 ships"),
        (lambda s: game.new_worlds(1, [1], 2, 0), "0 steps"),
        (lambda s: game.step(s, np.zeros((2, 2, 7))), "shape"),
        (lambda s: game.step(s, np.full((1, 2, 7), 3, np.int8)), "indices"),
        (lambda s: game.step(s, np.full((1, 2, 7), -1, np.int64)), "indices"),
        (lambda s: game.step(s, np.full((1, 2, 7), np.nan)), "within"),
        (lambda s: game.step(s, np.full((1, 2, 7), 1.5)), "within"),
        (lambda s: game.advance(s, np.zeros((1, 2, 7)), -1), "backwards"),
        (lambda s: game.reset(s, np.ones(2, bool)), "mask of 1"),
        (lambda s: game.reset(s, np.ones(1, bool), [1, 2]), "1 integers"),
    ],
)
def test_what_does_not_fit_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(duel())

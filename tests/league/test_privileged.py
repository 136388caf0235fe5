"""What only the value is told: each number against what it says it is, computed anew from the world."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from league.arena import last_standing as game
from league.arena import last_standing_rules as rules
from league.arena.last_standing_pilots import make_pilot
from league.codec import OBSERVATION_SIZE
from league.gradients import UpdateGradient
from league.losses import LossSettings
from league.network import ActorCritic
from league.privileged import MISS_PX, PLACE, PRIVILEGED, TOLD, TOLD_HIGH, TOLD_LOW, TOLD_SIZE, ZONE_EDGE_PX
from league.rollout import Actor, Match, Policy, RolloutSettings


def fought(ships: int = 5, steps: int = 160, worlds: int = 6) -> game.LastStandingState:
    """Experts in the middle of a fight: shots in the air, ships hurt and lost."""
    seeds = np.arange(worlds) + 3
    state, pilot = game.new_worlds(worlds, seeds, ships), make_pilot("expert", seeds)
    for _ in range(steps):
        game.step(state, pilot.act(game.build_observation(state)))
    return state


def passing(state: game.LastStandingState, w: int, p: int, i: int) -> tuple[float, float]:
    """When (s) and how near shot ``p`` passes ship ``i``, by looking at many moments of its flight."""
    left_s = (state.shot_end[w, p] - state.tick[w]) / 60
    times = np.linspace(0, left_s, 4001)[:, None]
    apart = (state.ship_pos[w, i] - state.shot_pos[w, p]) + times * (state.ship_vel[w, i] - state.shot_vel[w, p])
    distance = np.hypot(*apart.T)
    best = int(distance.argmin())
    return float(times[best, 0]), float(max(1 - distance[best] / MISS_PX, 0))


def flying(state: game.LastStandingState, w: int, owner: int) -> list[int]:
    own = range(owner * rules.SHOTS_PER_SHIP, (owner + 1) * rules.SHOTS_PER_SHIP)
    return [p for p in own if state.shot_end[w, p] > state.tick[w]]


def of(told: NDArray[np.float32], name: str) -> float:
    return float(told[PLACE[name]])


def test_the_observation_comes_first_and_lost_ships_are_told_nothing() -> None:
    state = fought(steps=500)
    told = game.build_told(state)
    np.testing.assert_array_equal(told[..., :OBSERVATION_SIZE], game.build_observation(state))
    assert not state.ship_alive.all()
    assert not told[~state.ship_alive].any()
    assert [f.name for f in TOLD[OBSERVATION_SIZE:]] == [f.name for f in PRIVILEGED] == list(PLACE)
    assert len({f.name for f in TOLD}) == TOLD_SIZE == 88


@pytest.mark.parametrize("ships", [2, 4, 8])
def test_all_numbers_stay_in_their_ranges(ships: int) -> None:
    seeds = np.arange(16)
    state = game.new_worlds(16, seeds, ships)
    pilots = [make_pilot(name, seeds) for name in ("expert", "random")]
    reached = np.zeros(TOLD_SIZE)
    for step in range(700):
        told = game.build_told(state)
        assert np.isfinite(told).all()
        assert ((told >= TOLD_LOW - 1e-5) & (told <= TOLD_HIGH + 1e-5)).all()
        reached = np.maximum(reached, np.abs(told).max((0, 1)))
        game.step(state, pilots[step // 40 % 2].act(np.ascontiguousarray(told[..., :OBSERVATION_SIZE])))
    told_of = {f.name for f, most in zip(TOLD, reached.tolist(), strict=True) if most > 0}
    absent = {f.name for f in PRIVILEGED} - told_of
    assert all(
        (name.startswith("enemy_") and int(name.split("_")[1]) >= ships) or name.endswith(("company", "under_fire")) for name in absent
    )
    assert not absent or ships == 2


def test_ones_own_numbers() -> None:
    state = fought()
    told = game.build_told(state)
    for w, i in np.argwhere(state.ship_alive).tolist():
        mine, now = told[w, i], int(state.tick[w])
        assert [of(mine, "gun_x"), of(mine, "gun_y")] == pytest.approx(state.ship_gun[w, i].tolist())
        assert of(mine, "energy") == pytest.approx(state.ship_energy[w, i])
        for name, end, whole_s in (
            ("jam", state.ship_jam_end, rules.JAM_S),
            ("reload", state.ship_reload_end, rules.RELOAD_S),
            ("power", state.ship_power_end, rules.POWER_S),
            ("boost", state.ship_boost_end, rules.BOOST_S),
        ):
            assert of(mine, name) == pytest.approx(max(int(end[w, i]) - now, 0) / 60 / whole_s, abs=1e-5)


def test_shots_are_told_by_where_they_will_pass() -> None:
    state = fought()
    told = game.build_told(state)
    seen = 0
    for w, i in np.argwhere(state.ship_alive).tolist():
        others = [j for j in np.flatnonzero(state.ship_alive[w]).tolist() if j != i]
        for k, p in enumerate(range(i * rules.SHOTS_PER_SHIP, (i + 1) * rules.SHOTS_PER_SHIP)):
            after_s, near = max((passing(state, w, p, j) for j in others), key=lambda found: found[1], default=(0.0, 0.0))
            if p not in flying(state, w, i):
                assert of(told[w, i], f"own_shot_{k + 1}_damage") == 0
                continue
            seen += 1
            assert of(told[w, i], f"own_shot_{k + 1}_near") == pytest.approx(near, abs=2e-3)
            if near > 0.05:
                assert of(told[w, i], f"own_shot_{k + 1}_when") == pytest.approx(1 - after_s / rules.SHOT_LIFE_S, abs=0.02)
        here = sorted((passing(state, w, p, i)[1] for j in range(state.ships) if j != i for p in flying(state, w, j)), reverse=True)
        for k, near in enumerate([*here, 0.0, 0.0][:2]):
            assert of(told[w, i], f"shot_here_{k + 1}_near") == pytest.approx(near, abs=2e-3)
        seen += bool(here)
    assert seen > 20


def test_enemies_are_told_by_distance() -> None:
    state = fought()
    told = game.build_told(state)
    for w, i in np.argwhere(state.ship_alive).tolist():
        away = {j: math.dist(state.ship_pos[w, i], state.ship_pos[w, j]) for j in np.flatnonzero(state.ship_alive[w]).tolist() if j != i}
        order = sorted(away, key=lambda j: away[j])[:3]
        for k in range(3):
            got = {f.name.split("_", 2)[2]: of(told[w, i], f.name) for f in PRIVILEGED if f.name.startswith(f"enemy_{k + 1}_")}
            if k >= len(order):
                assert set(got.values()) == {0.0}
                continue
            j = order[k]
            offset = (state.ship_pos[w, j] - state.ship_pos[w, i]).astype(float)
            line = offset / np.hypot(*offset)
            third = [o for o in np.flatnonzero(state.ship_alive[w]).tolist() if o not in (i, j)]
            nearest = min((math.dist(state.ship_pos[w, j], state.ship_pos[w, o]) for o in third), default=1e9)
            edge = state.zone_radius[w] - math.dist(state.ship_pos[w, j], state.zone_middle[w])
            fire = [passing(state, w, p, j)[1] for o in range(state.ships) if o not in (i, j) for p in flying(state, w, o)]
            wanted = {
                "dx": offset[0] / rules.NEAR_RANGE,
                "dy": offset[1] / rules.NEAR_RANGE,
                "vx": float(np.clip(state.ship_vel[w, j, 0] / rules.TOP_SPEED, -1, 1)),
                "vy": float(np.clip(state.ship_vel[w, j, 1] / rules.TOP_SPEED, -1, 1)),
                "alive": 1.0,
                "hp": float(state.ship_hp[w, j]),
                "shield": float(state.ship_shield[w, j]),
                "energy": float(state.ship_energy[w, j]),
                "cooldown": max(int(state.ship_cooldown_end[w, j]) - int(state.tick[w]), 0) / 60 / rules.LONGEST_COOLDOWN_S,
                "jam": max(int(state.ship_jam_end[w, j]) - int(state.tick[w]), 0) / 60 / rules.JAM_S,
                "power": max(int(state.ship_power_end[w, j]) - int(state.tick[w]), 0) / 60 / rules.POWER_S,
                "zone_left": float(np.clip(edge / ZONE_EDGE_PX, -1, 1)),
                "aims_here": -float(state.ship_gun[w, j] @ line),
                "aimed_at": float(state.ship_gun[w, i] @ line),
                "company": max(1 - nearest / rules.NEAR_RANGE, 0.0),
                "under_fire": max(fire, default=0.0),
            }
            assert got == pytest.approx(wanted, abs=3e-3)


def test_only_the_ships_asked_for_are_told_more() -> None:
    state = fought()
    which = np.zeros(state.ship_alive.shape, np.bool_)
    which[::2, 1] = True
    out = np.full((*which.shape, TOLD_SIZE), -7.0, np.float32)
    told = game.build_told(state, which, out)
    assert told is out
    np.testing.assert_array_equal(told[which], game.build_told(state)[which])
    assert (told[~which][:, OBSERVATION_SIZE:] == -7.0)[np.repeat(state.ship_alive[~which][:, None], TOLD_SIZE - OBSERVATION_SIZE, 1)].all()
    with pytest.raises(ValueError, match=r"\(6, 5\)"):
        game.build_told(state, which[:2])
    with pytest.raises(ValueError, match="88"):
        game.build_told(state, which, out[..., :19])


def test_policies_act_on_the_observation_alone_and_values_on_all_of_it() -> None:
    """What a policy is not told must not reach it: neither in play nor by the gradient's first layer."""
    actor = Actor(RolloutSettings(worlds=4))
    network = ActorCritic(16)
    actor.begin({w: Match(w, ("a", "expert", "expert", "expert"), (True, False, False, False)) for w in range(4)})
    sequence = None
    for _ in range(3):
        sequence = actor.rollout({"a": Policy(network, 0)}, 64).sequence
    assert sequence is not None
    assert sequence.observation.shape[-1] == TOLD_SIZE
    assert sequence.observation[sequence.living][:, PLACE["enemy_1_hp"]].min() > 0
    other = sequence.observation.copy()
    other[..., OBSERVATION_SIZE:] *= 0.5
    found = []
    for observation in (sequence.observation, other):
        mine = ActorCritic(16)
        mine.load_state_dict(network.state_dict())
        parts = UpdateGradient(mine).set(replace(sequence, observation=observation), LossSettings(kl_weight=0, kl_weight_end=0), gamma=1.0)
        found.append((parts["mean_ratio"], parts["value"]))
    assert found[0][0] == pytest.approx(1.0, abs=1e-5)
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-6)
    assert found[0][1] != found[1][1]


def test_play_without_privileged_numbers_cannot_be_refined_from_and_says_so() -> None:
    actor = Actor(RolloutSettings(worlds=2))
    actor.begin({w: Match(w, ("a",) * 4, (True,) * 4) for w in range(2)})
    sequence = actor.rollout({"a": Policy(ActorCritic(16), 0)}, 16).sequence
    assert sequence is not None
    plain = replace(sequence, observation=sequence.seen.copy(), bootstrap_observation=sequence.bootstrap_observation[:, :19].copy())
    with pytest.raises(ValueError, match="privileged"):
        UpdateGradient(ActorCritic(16)).set(plain, LossSettings(kl_weight=0, kl_weight_end=0), gamma=1.0)
    with pytest.raises(ValueError, match="20 numbers"):
        replace(sequence, observation=np.zeros((16, sequence.columns, 20), np.float32))

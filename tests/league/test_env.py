"""Both doors pass their libraries' own checks, and tell the truth about how an episode ended."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from league import codec
from league.arena import last_standing as game
from league.arena.env import BotGameEnv, LastStandingParallelEnv, action_numbers

with warnings.catch_warnings():
    # Its checks import a game of its own by a way it has itself deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import parallel_api_test, parallel_seed_test


@pytest.mark.parametrize("continuous", [False, True])
def test_gymnasium_checks_the_environment(continuous: bool) -> None:
    check_env(BotGameEnv(continuous=continuous), skip_render_check=True)


@pytest.mark.parametrize("continuous", [False, True])
def test_pettingzoo_checks_the_environment(continuous: bool) -> None:
    parallel_api_test(LastStandingParallelEnv(3, continuous=continuous), num_cycles=300)
    parallel_seed_test(lambda: LastStandingParallelEnv(3, continuous=continuous), num_cycles=30)


def run(env: BotGameEnv, seed: int) -> tuple[list[float], bool, bool, dict[str, Any]]:
    _, info = env.reset(seed=seed)
    env.action_space.seed(seed)
    rewards: list[float] = []
    terminated = truncated = False
    while not (terminated or truncated):
        assert info["place"] == 0.0
        seen, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert env.observation_space.contains(seen)
        rewards.append(reward)
    return rewards, terminated, truncated, info


def test_the_reward_is_the_outcome_once() -> None:
    seats = set()
    for seed in range(3):
        rewards, terminated, truncated, info = run(BotGameEnv(("novice", "random")), seed)
        assert terminated
        assert not truncated
        assert rewards[:-1] == [0.0] * (len(rewards) - 1)
        assert rewards[-1] == pytest.approx(1.0 - (info["place"] - 1.0))
        assert not info["head_mask"].any()
        seats.add(info["seat"])
    assert len(seats) > 1


def test_an_episode_that_is_cut_is_truncated_not_terminated() -> None:
    rewards, terminated, truncated, info = run(BotGameEnv(("novice",), episode_steps=20), 0)
    assert (len(rewards), terminated, truncated) == (20, False, True)
    assert (info["place"], rewards[-1]) == (1.5, 0.0)


def test_a_cut_is_not_paid_as_well() -> None:
    """Whoever learns adds the value of what would have come: an outcome beside it would count twice."""
    env = LastStandingParallelEnv(4, episode_steps=5)
    env.reset(seed=0)
    env._state.ship_alive[0, 3], env._state.death_step[0, 3] = False, 1
    paid: dict[str, float] = {}
    infos: dict[str, Any] = {}
    while env.agents:
        still = {agent: np.array([1, 1, 5, 5, 0, 0, 0]) for agent in env.agents}
        _, rewards, _, _, infos = env.step(still)
        paid = {agent: paid.get(agent, 0.0) + reward for agent, reward in rewards.items()} | {
            agent: reward for agent, reward in paid.items() if agent not in rewards
        }
    assert paid == {"ship_0": 0.0, "ship_1": 0.0, "ship_2": 0.0, "ship_3": -1.0}
    assert [info["place"] for info in infos.values()] == [2.0, 2.0, 2.0]


def test_the_same_seed_is_the_same_episode() -> None:
    assert run(BotGameEnv(episode_steps=100), 3)[0] == run(BotGameEnv(episode_steps=100), 3)[0]
    first, _ = BotGameEnv().reset(seed=3)
    other, _ = BotGameEnv().reset(seed=4)
    assert not np.array_equal(first, other)


def test_parallel_rewards_sum_to_nothing_and_agents_leave_as_they_are_lost() -> None:
    env = LastStandingParallelEnv(4)
    env.reset(seed=1)
    total = dict.fromkeys(env.possible_agents, 0.0)
    counts = [len(env.agents)]
    places: dict[str, float] = {}
    while env.agents:
        before = list(env.agents)
        _, rewards, terminated, truncated, infos = env.step({a: env.action_space(a).sample() for a in env.agents})
        assert list(rewards) == before
        for agent in before:
            total[agent] += rewards[agent]
            if terminated[agent] or truncated[agent]:
                places[agent] = infos[agent]["place"]
        counts.append(len(env.agents))
    assert sum(total.values()) == pytest.approx(0.0, abs=1e-5)
    assert sum(places.values()) == pytest.approx(10.0)
    assert all(later <= now for now, later in itertools.pairwise(counts))


def test_parallel_truncation() -> None:
    env = LastStandingParallelEnv(2, episode_steps=5)
    env.reset(seed=0)
    for _ in range(5):
        still = {agent: np.array([1, 1, 5, 5, 0, 0, 0]) for agent in env.agents}
        _, _, terminated, truncated, _ = env.step(still)
    assert list(truncated.values()) == [True, True]
    assert list(terminated.values()) == [False, False]
    assert env.agents == []


def test_both_kinds_of_action_say_the_same() -> None:
    whole = {"move": np.array([1.0, 0.0]), "aim": np.array([-0.4, 1.0]), "fire": 1, "ability": 2, "interact": 0}
    assert action_numbers(np.array([2, 1, 3, 10, 1, 2, 0])) == pytest.approx(action_numbers(whole))
    assert codec.encode(action_numbers(whole)).tolist() == [2, 1, 3, 10, 1, 2, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BotGameEnv(("ace",)), "'ace'"),
        (lambda: BotGameEnv(()), "1 ships"),
        (lambda: LastStandingParallelEnv(9), "9 ships"),
        (lambda: BotGameEnv(episode_steps=0), "0 steps"),
    ],
)
def test_what_does_not_fit_is_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_the_rules_version_is_in_the_name() -> None:
    assert LastStandingParallelEnv.metadata["name"] == f"last_standing_v{game.RULES_VERSION}"

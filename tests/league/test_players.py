"""Players by name, and a policy judged among scripted pilots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from data.checkpoint import CheckpointError, save
from league.codec import BINS, HEADS, OBSERVATION_SIZE
from league.imitate import made_for
from league.network import HEAD_SLICES, ActorCritic
from league.players import PlayerError, PolicyPlayer, judge, load_player


def network_that(**wanted: int) -> ActorCritic:
    """A network that nearly always chooses the bins named for some heads, and the middle or nothing otherwise."""
    network = ActorCritic(8)
    with torch.no_grad():
        network.actor[4].weight.zero_()
        for name, bins in HEADS.items():
            usual = bins // 2 if name.startswith(("move", "aim")) else 0
            network.actor[4].bias[HEAD_SLICES[name].start + wanted.get(name, usual)] = 20.0
    return network


def test_scripts_and_policies_are_found_by_name(tmp_path: Path) -> None:
    network = network_that(fire=1)
    card = {"card_version": 1, **made_for(), "hidden": 8}
    save(tmp_path / "pi", {name: values.numpy() for name, values in network.state_dict().items()}, card)
    seen = np.zeros((3, 2, OBSERVATION_SIZE), np.float32)
    for name in ("expert", str(tmp_path / "pi"), str(tmp_path / "pi.safetensors")):
        chosen = load_player(name, 3).act(seen)
        assert (chosen.shape, chosen.dtype) == ((3, 2, len(HEADS)), np.int8)
        assert ((chosen >= 0) & (chosen < BINS)).all()
    assert (load_player("pi", 3, find=lambda name: tmp_path / name).act(seen)[..., 4] == 1).all()
    with pytest.raises(PlayerError, match=r"neither a scripted pilot .* nor a policy's file: there is no nobody.safetensors"):
        load_player(str(tmp_path / "nobody"))
    with pytest.raises(PlayerError, match="a person can only sit in a window"):
        load_player("person")
    (tmp_path / "torn.safetensors").write_bytes(b"\x10")
    with pytest.raises(CheckpointError, match="not a readable checkpoint"):
        load_player(str(tmp_path / "torn"))


def test_a_policy_draws_the_same_for_the_same_seed_and_not_when_greedy() -> None:
    seen = np.zeros((200, 1, OBSERVATION_SIZE), np.float32)
    fresh = ActorCritic(8)
    first, again, other = (PolicyPlayer(fresh, seed).act(seen) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    greedy = PolicyPlayer(fresh, 1, greedy=True).act(seen)
    assert (greedy == greedy[:1]).all()


def test_one_that_stands_still_loses_to_experts_and_the_figures_are_of_whole_matches() -> None:
    idle = network_that()
    (found,) = judge(idle, ("expert",), matches=30)
    assert (found.opponent, found.opponents, found.matches) == ("expert", 3, 30)
    assert found.payoff.value < 0.2
    assert found.payoff.low <= found.payoff.value <= found.payoff.high < 0.5
    assert found.first.value <= found.payoff.value
    assert judge(idle, ("expert",), matches=30) == [found], "the same seed, the same figures"
    assert found.to_json()["payoff"]["value"] == found.payoff.value


def test_judging_can_be_stopped_and_refuses_what_it_cannot_do() -> None:
    assert judge(network_that(), matches=1, stop=lambda: True) == []
    with pytest.raises(PlayerError, match="use 1 or more"):
        judge(network_that(), matches=0)
    with pytest.raises(PlayerError, match="expert, novice, random"):
        judge(network_that(), ("hero",))

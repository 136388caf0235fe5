"""The network's shapes, its sampling, and that stored log-probabilities belong to what was sampled."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from league import symmetry
from league.codec import BINS, FIELD, HEADS, LOGITS, OBSERVATION_SIZE
from league.forward import Forward, answers, fold_rows, fold_taken, unfold_rows
from league.network import GROUPS, HEAD_SLICES, ActorCritic, action_log_prob, log_softmax_heads, spread_heads
from league.privileged import TOLD_SIZE
from league.symmetry import fold

H = len(HEADS)


def by_slices(logits: torch.Tensor) -> torch.Tensor:
    return torch.cat([logits[..., where].log_softmax(-1) for where in HEAD_SLICES.values()], -1)


def test_heads_cover_the_logits_in_order_and_groups_cover_the_heads() -> None:
    assert [where.stop - where.start for where in HEAD_SLICES.values()] == list(HEADS.values())
    assert [where.start for where in HEAD_SLICES.values()][1:] == [where.stop for where in HEAD_SLICES.values()][:-1]
    assert HEAD_SLICES["interact"].stop == LOGITS
    assert [name for group in GROUPS.values() for name in group] == list(HEADS)


@pytest.mark.parametrize("scale", [1.0, 10.0, 300.0])
def test_headwise_log_softmax_is_each_heads_own(scale: float) -> None:
    """At a scale of 300 whole heads lie far below others, where one maximum for all would underflow."""
    logits = (torch.randn(50, LOGITS, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * scale).requires_grad_()
    weights = torch.randn(50, LOGITS, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    got, expected = log_softmax_heads(logits), by_slices(logits)
    torch.testing.assert_close(got, expected)
    mine, theirs = (torch.autograd.grad((out * weights).sum(), logits)[0] for out in (got, expected))
    torch.testing.assert_close(mine, theirs)
    single = log_softmax_heads(logits.detach().float())
    torch.testing.assert_close(single, expected.detach().float(), atol=1e-5 * scale, rtol=1e-5)
    assert torch.isfinite(single).all()
    for part in got.exp().split(list(HEADS.values()), -1):
        torch.testing.assert_close(part.sum(-1), torch.ones(50, dtype=torch.float64))
    spread = spread_heads(torch.arange(7.0))
    torch.testing.assert_close(spread, torch.arange(7.0).repeat_interleave(torch.as_tensor(BINS).long()))


def test_shapes_follow_the_observation() -> None:
    network = ActorCritic(32)
    for lead in [(), (5,), (3, 4)]:
        logits, value = network(torch.zeros(*lead, TOLD_SIZE))
        assert logits.shape == (*lead, LOGITS)
        assert value.shape == lead
        decision = network.act(torch.zeros(*lead, OBSERVATION_SIZE))
        assert decision.action.shape == decision.log_prob.shape == (*lead, H)
        assert decision.action.dtype == torch.int8
    assert network.logits(torch.zeros(0, OBSERVATION_SIZE)).shape == (0, LOGITS)
    with pytest.raises(ValueError, match="last axis must be 19 or 88"):
        network(torch.zeros(3, 18))
    with pytest.raises(ValueError, match="last axis must be 36"):
        log_softmax_heads(torch.zeros(3, 35))
    with pytest.raises(ValueError, match="hidden 0"):
        ActorCritic(0)


def test_samples_follow_the_probabilities_and_their_log_probs_are_stored() -> None:
    torch.manual_seed(0)
    network = ActorCritic(16)
    with torch.no_grad():
        network.actor[4].weight.mul_(100)
    observation = torch.randn(1, OBSERVATION_SIZE).expand(40_000, -1)
    decision = network.act(observation, generator=torch.Generator().manual_seed(3))
    p = by_slices(network.logits(observation[:1])).exp()[0]
    for h, (name, where) in enumerate(HEAD_SLICES.items()):
        seen = np.bincount(decision.action[:, h].numpy(), minlength=HEADS[name]) / 40_000
        np.testing.assert_allclose(seen, p[where].detach().numpy(), atol=0.012)
        expected = p[where].log()[decision.action[:, h].long()]
        torch.testing.assert_close(decision.log_prob[:, h], expected.detach(), atol=1e-5, rtol=1e-5)


def test_heads_are_sampled_apart_from_each_other() -> None:
    decision = ActorCritic(16).act(torch.zeros(20_000, OBSERVATION_SIZE), generator=torch.Generator().manual_seed(0))
    correlation = np.corrcoef(decision.action.numpy().astype(float).T)
    assert np.abs(correlation - np.eye(H)).max() < 0.05


def test_a_masked_head_has_log_prob_zero_and_still_an_action() -> None:
    mask = torch.ones(100, H, dtype=torch.bool)
    mask[:, 5] = False
    decision = ActorCritic(16).act(torch.zeros(100, OBSERVATION_SIZE), mask, torch.Generator().manual_seed(0))
    assert not decision.log_prob[:, 5].any()
    assert (decision.log_prob[:, [0, 1, 2, 3, 4, 6]] < 0).all()
    assert (decision.action < torch.as_tensor(BINS)).all()
    torch.testing.assert_close(decision.log_prob, action_log_prob(log_softmax_heads(decision.logits), decision.action, mask))


def test_same_random_state_same_actions_and_greedy_needs_none() -> None:
    network, observation = ActorCritic(16), torch.randn(64, OBSERVATION_SIZE)
    one, two = (network.act(observation, generator=torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(one.action, two.action)
    greedy = network.act(observation, greedy=True)
    for h, where in enumerate(HEAD_SLICES.values()):
        assert torch.equal(greedy.action[:, h], greedy.logits[:, where].argmax(-1).to(torch.int8))


def test_a_new_policy_is_nearly_uniform() -> None:
    logits, value = ActorCritic()(torch.randn(100, TOLD_SIZE))
    assert logits.abs().max() < 0.2
    assert value.abs().max() < 0.2


def test_broken_weights_are_told() -> None:
    network = ActorCritic(16)
    with torch.no_grad():
        network.actor[4].bias[0] = torch.nan
    with pytest.raises(ValueError, match="not finite"):
        network.act(torch.zeros(2, OBSERVATION_SIZE))


def test_numpys_forward_pass_is_the_networks() -> None:
    torch.manual_seed(0)
    network = ActorCritic(48)
    for values in network.parameters():
        torch.nn.init.normal_(values, 0.0, 0.3)
    forward = Forward(network)
    for rows in (700, 3, 1300):  # memory grows, and is used again
        seen = torch.randn(rows, OBSERVATION_SIZE)
        with torch.no_grad():
            logits, own = network.logits(seen), network.actor(fold(seen)[0])
        np.testing.assert_allclose(forward(seen.numpy()), logits, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(forward.own(seen.numpy().reshape(1, rows, -1))[0], own, rtol=1e-5, atol=1e-5)
    with torch.no_grad():
        network.actor[4].bias += 1.0  # it answers with the weights as they are now
        after = network.logits(seen)
    np.testing.assert_allclose(forward(seen.numpy()), after, rtol=1e-5, atol=1e-5)


def test_many_networks_answer_for_their_own_rows() -> None:
    torch.manual_seed(0)
    networks = [ActorCritic(width) for width in (48, 16, 48, 32)]
    for network in networks:
        for values in network.parameters():
            torch.nn.init.normal_(values, 0.0, 0.3)
    seen = torch.randn(40, OBSERVATION_SIZE)
    ends = [0, 7, 7, 9, 40]
    found = answers([Forward(network) for network in networks], seen.numpy(), ends)
    for network, begin, end in zip(networks, ends, ends[1:], strict=False):
        with torch.no_grad():
            np.testing.assert_allclose(found[begin:end], network.logits(seen[begin:end]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [OBSERVATION_SIZE, TOLD_SIZE])
def test_compiled_folding_is_the_readable_one(size: int) -> None:
    random = np.random.default_rng(0)
    seen = random.standard_normal((500, size)).astype(np.float32)
    seen[:50, [FIELD["enemy_dx"], FIELD["enemy_dy"]]] = 0.0  # alone: the zone tells
    seen[50, :] = np.nan
    own, turns = fold_rows(seen)
    expected, turn = symmetry.fold(torch.from_numpy(seen))
    np.testing.assert_array_equal(own, expected)
    np.testing.assert_array_equal(turns, turn)
    assert set(turns.tolist()) == set(range(symmetry.TURNS))
    action = (random.random((500, H)) * BINS).astype(np.int8)
    mask, log_prob = random.random((500, H)) > 0.3, random.random((500, H)).astype(np.float32)
    taken = fold_taken(turns, action, mask, log_prob)
    readable = [
        symmetry.fold_actions(torch.from_numpy(action), turn),
        *(symmetry.fold_heads(torch.from_numpy(a), turn) for a in (mask, log_prob)),
    ]
    for mine, theirs in zip(taken, readable, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    logits = random.standard_normal((500, LOGITS)).astype(np.float32)
    np.testing.assert_array_equal(unfold_rows(logits, turns), symmetry.unfold_logits(torch.from_numpy(logits), turn))

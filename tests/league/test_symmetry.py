"""What is right in one mirrored view is right in all eight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from league.arena import last_standing as game
from league.arena.last_standing_pilots import View
from league.codec import BINS, FIELD, HEAD_NAMES, HEADS, OBSERVATION_SIZE
from league.network import ActorCritic
from league.privileged import PRIVILEGED, TOLD, TOLD_SIZE
from league.symmetry import EXCHANGED, MIRRORED_X, MIRRORED_Y, TURNS, fold, fold_actions, fold_heads, fold_sequence, turn_of, unfold_logits
from tests.league.test_losses import recorded

AXES = [("self_vx", "self_vy"), ("zone_dx", "zone_dy"), ("enemy_dx", "enemy_dy"), ("enemy_vx", "enemy_vy"), ("item_dx", "item_dy")]
HIDDEN_AXES = [
    ("gun_x", "gun_y"),
    ("middle_dx", "middle_dy"),
    *((f"enemy_{k}_dx", f"enemy_{k}_dy") for k in (1, 2, 3)),
    *((f"enemy_{k}_vx", f"enemy_{k}_vy") for k in (1, 2, 3)),
]
AT = {f.name: i for i, f in enumerate(TOLD)}


def views(seed: int = 0, count: int = 40) -> torch.Tensor:
    """All that is told; the first 19 are the observation."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, TOLD_SIZE, generator=generator) * 2 - 1


def seen_in(turn: int, observation: torch.Tensor) -> torch.Tensor:
    """The same moment in a world that is mirrored, then exchanged: written out by name."""
    told = observation.clone()
    for x, y in AXES + HIDDEN_AXES:
        if turn & MIRRORED_X:
            told[..., AT[x]] *= -1
        if turn & MIRRORED_Y:
            told[..., AT[y]] *= -1
        if turn & EXCHANGED:
            told[..., [AT[x], AT[y]]] = told[..., [AT[y], AT[x]]]
    return told


def done_in(turn: int, action: torch.Tensor) -> torch.Tensor:
    told = action.clone()
    for head, flag in (("move_x", MIRRORED_X), ("move_y", MIRRORED_Y), ("aim_x", MIRRORED_X), ("aim_y", MIRRORED_Y)):
        if turn & flag:
            i = HEAD_NAMES.index(head)
            told[..., i] = HEADS[head] - 1 - told[..., i]
    return told[..., [1, 0, 3, 2, 4, 5, 6]] if turn & EXCHANGED else told


@pytest.mark.parametrize("turn", range(TURNS))
def test_all_eight_views_of_a_moment_are_one(turn: int) -> None:
    plain = views()
    torch.testing.assert_close(fold(seen_in(turn, plain))[0], fold(plain)[0])
    torch.testing.assert_close(fold(seen_in(turn, plain)[:, :OBSERVATION_SIZE])[0], fold(plain)[0][:, :OBSERVATION_SIZE])


def test_the_enemy_lies_to_the_right_and_never_above() -> None:
    own, turn = fold(views(count=500))
    x, y = own[:, FIELD["enemy_dx"]], own[:, FIELD["enemy_dy"]]
    assert bool((x >= y).all() and (y >= 0).all())
    assert set(turn.tolist()) == set(range(TURNS))
    assert not turn_of(own).any()
    torch.testing.assert_close(fold(own)[0], own)


def test_without_an_enemy_the_zone_says_where() -> None:
    alone = views(count=50)
    alone[:, [FIELD["enemy_dx"], FIELD["enemy_dy"]]] = 0
    own, _ = fold(alone)
    assert bool((own[:, FIELD["zone_dx"]] >= own[:, FIELD["zone_dy"]]).all())
    assert bool((own[:, FIELD["zone_dy"]] >= 0).all())
    lost = torch.zeros(1, OBSERVATION_SIZE)
    assert fold(lost)[1].tolist() == [0]


@pytest.mark.parametrize("turn", range(TURNS))
def test_a_policy_does_the_mirrored_thing_in_the_mirrored_world(turn: int) -> None:
    torch.manual_seed(1)
    network = ActorCritic(16)
    for values in network.parameters():
        torch.nn.init.normal_(values, 0.0, 0.5)
    plain = views(3)
    with torch.no_grad():
        mirrored, value = network(seen_in(turn, plain))
        here, same_value = network(plain)
    torch.testing.assert_close(value, same_value)
    starts = np.cumsum([0, *HEADS.values()])
    for head, (name, bins) in enumerate(HEADS.items()):
        for i in range(bins):
            action = torch.zeros(len(HEADS), dtype=torch.int64)
            action[head] = i
            moved = done_in(turn, action)
            there = HEAD_NAMES.index(name) if not turn & EXCHANGED or head > 3 else [1, 0, 3, 2][head]
            torch.testing.assert_close(mirrored[:, starts[there] + moved[there]], here[:, starts[head] + i])


def test_actions_masks_and_logits_go_the_same_way() -> None:
    observation = views(5, 200)
    _, turn = fold(observation)
    action = (torch.rand(200, len(HEADS)) * torch.tensor(BINS)).to(torch.int8)
    own = fold_actions(action, turn)
    logits = torch.full((200, int(BINS.sum())), -9.0)
    starts = torch.tensor(np.cumsum([0, *HEADS.values()])[:-1])
    logits.scatter_(1, starts + own.long(), 9.0)
    world = unfold_logits(logits, turn)
    for head, (name, bins) in enumerate(HEADS.items()):
        start = int(starts[head])
        assert torch.equal(world[:, start : start + bins].argmax(1), action[:, head].long()), name
    marks = torch.arange(len(HEADS)).expand(200, -1)
    taken = fold_heads(marks, turn)
    assert torch.equal(taken[turn < EXCHANGED], marks[turn < EXCHANGED])
    assert taken[turn >= EXCHANGED][0].tolist() == [1, 0, 3, 2, 4, 5, 6]


def test_a_sequence_keeps_everything_else() -> None:
    sequence = recorded(0)
    own = fold_sequence(sequence)
    own.check()
    for name in ("reward", "terminated", "truncated", "living", "final_at"):
        np.testing.assert_array_equal(getattr(own, name), getattr(sequence, name))
    again = fold_sequence(own)
    np.testing.assert_array_equal(again.observation, own.observation)
    np.testing.assert_array_equal(again.action, own.action)
    empty = replace(sequence, final_at=np.zeros((0, 2), np.int32), final_observation=np.zeros((0, OBSERVATION_SIZE), np.float32))
    assert fold_sequence(empty).final_observation.shape == (0, TOLD_SIZE)


def test_a_wrong_last_axis_is_told() -> None:
    with pytest.raises(ValueError, match="last axis must be 19 or 88"):
        fold(torch.zeros(3, 18))
    with pytest.raises(ValueError, match="last axis must be 36"):
        unfold_logits(torch.zeros(3, 35), torch.zeros(3, dtype=torch.int64))


def test_the_games_own_views_have_no_direction_elsewhere() -> None:
    """A field with a direction that the tables do not know would not change its sign: all of the game's fields are named here."""
    state = game.new_worlds(1, np.arange(1), 4)
    assert game.build_observation(state).shape[-1] == OBSERVATION_SIZE
    directed = {name for pair in AXES for name in pair}
    plain = {
        "self_hp",
        "self_shield",
        "self_energy",
        "self_cooldown",
        "zone_radius",
        "enemy_health",
        "enemy_aim",
        "item_kind",
        "enemies_alive",
    }
    assert directed | plain == set(FIELD)
    hidden = {name for pair in HIDDEN_AXES for name in pair}
    scalars = (
        "when",
        "near",
        "damage",
        "alive",
        "hp",
        "shield",
        "energy",
        "cooldown",
        "jam",
        "power",
        "zone_left",
        "aims_here",
        "aimed_at",
    )
    scalars += ("company", "under_fire", "reload", "boost")
    assert hidden == {f.name for f in PRIVILEGED if not f.name.endswith(scalars)}
    assert View(game.build_observation(state)[0]).enemy_away.min() > 0

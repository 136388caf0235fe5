"""The flying form of the networks against the learning form: same tensors, same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from trainers.loop import tensors_of
from trainers.networks.executor import Executor, Seen
from trainers.networks.forward import ExecutorForward, StrategistForward, TacticianForward
from trainers.networks.shape import Extras, executor_shapes, strategist_shapes, tactician_shapes
from trainers.networks.strategist import Strategist
from trainers.networks.tactician import Tactician

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
WIDTH, LAYERS, HEADS, MODES = 32, 2, 2, 5
SLOTS, FEATURES, CONTEXT, INPUTS, ASPECT = 12, 9, 14, 7, 0.5625


def network_of(kind: type[nn.Module], *arguments: Any) -> Any:
    """A network with tensors larger than at the start of training, so that no part of it is nearly linear."""
    torch.manual_seed(5)
    network = kind(*arguments)
    with torch.no_grad():
        for values in network.parameters():
            values.add_(0.3 * torch.randn_like(values))
    return network.eval()


def shapes_of(network: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: values.shape for name, values in tensors_of(network).items()}


@pytest.mark.parametrize("seconds", [1, 2, 17, 60])
def test_the_strategist(seconds: int) -> None:
    network = network_of(Strategist, FEATURES, MODES, WIDTH, LAYERS, HEADS, 0.0, 60)
    assert shapes_of(network) == strategist_shapes(FEATURES, MODES, WIDTH, LAYERS, 60)
    flying = StrategistForward(tensors_of(network), LAYERS, HEADS)
    summaries = np.random.default_rng(seconds).normal(size=(seconds, FEATURES)).astype(np.float32)
    with torch.inference_mode():
        expected = network(torch.from_numpy(summaries)[None])[0, -1]
    np.testing.assert_allclose(flying(summaries), expected, **CLOSE)


@pytest.mark.parametrize("count", [0, 1, 5, 12])
def test_the_tactician_on_those_tracks_that_are_there(count: int) -> None:
    network = network_of(Tactician, FEATURES, CONTEXT, MODES, WIDTH, LAYERS, HEADS, 0.0)
    assert shapes_of(network) == tactician_shapes(FEATURES, CONTEXT, MODES, WIDTH, LAYERS)
    flying = TacticianForward(tensors_of(network), LAYERS, HEADS)
    rng = np.random.default_rng(count)
    tracks, context = rng.normal(size=(SLOTS, FEATURES)).astype(np.float32), rng.normal(size=CONTEXT).astype(np.float32)
    there = np.sort(rng.permutation(SLOTS)[:count])
    present = np.isin(np.arange(SLOTS), there)
    with torch.inference_mode():
        expected = network(
            torch.from_numpy(tracks)[None], torch.from_numpy(present)[None], torch.from_numpy(context)[None], torch.tensor([2])
        )[0].numpy()
    np.testing.assert_allclose(flying(tracks[there], context, 2), expected[np.append(there, SLOTS)], **CLOSE)


@pytest.mark.parametrize(
    "extras",
    [Extras(), Extras(chunk=5, way_point=True), Extras(cursor_past=True), Extras(chunk=3, cursor_past=True)],
    ids=["plain", "extras", "past", "both"],
)
@pytest.mark.parametrize("count", [0, 3, 7, 12])
@pytest.mark.parametrize("seed", range(4))
def test_the_executor_sees_chooses_and_acts_alike(count: int, seed: int, extras: Extras) -> None:
    network = network_of(Executor, FEATURES, CONTEXT, MODES, INPUTS, ASPECT, WIDTH, LAYERS, HEADS, 0.0, extras)
    assert shapes_of(network) == executor_shapes(FEATURES, CONTEXT, MODES, INPUTS, WIDTH, LAYERS, extras)
    flying = ExecutorForward(tensors_of(network), LAYERS, HEADS, ASPECT, extras)
    rng = np.random.default_rng([count, seed])
    slots, boxes = rng.normal(size=(SLOTS, FEATURES)).astype(np.float32), rng.random((SLOTS, 4), np.float32)
    own, context = rng.random(2, np.float32), rng.normal(size=CONTEXT).astype(np.float32)
    there = np.sort(rng.permutation(SLOTS)[:count])
    if count:
        boxes[there[0], :2] = own  # the ship itself
    present = np.isin(np.arange(SLOTS), there)
    target = int(there[-1]) if count and seed % 2 else -1
    cursor = rng.random(2, np.float32) if seed < 3 else None

    def row(values: Any) -> torch.Tensor:
        return torch.from_numpy(np.asarray(values))[None]

    with torch.inference_mode():
        seen = network.see(row(slots), row(present), row(boxes), row(own), row(context), torch.tensor([1]), row(np.arange(SLOTS) == target))
        choice, point = network.choose(seen)
        at, known = row(cursor if cursor is not None else np.zeros(2, np.float32)), torch.tensor([cursor is not None])
        past = rng.random((4, 2), np.float32) if extras.cursor_past else None
        its_past = None if past is None else row(past)
        clicks, keys, held = network.act(seen, choice, point, at, known, its_past)
        shares, foretold = network.foretell(seen, choice, point, at, known, its_past) if extras.chunk > 1 else (None, None)

    mine = flying.see(slots[there], boxes[there], own, context, 1, int(np.searchsorted(there, target)) if target >= 0 else -1)
    places = len(mine.spread) // count if count else 0
    beside = (there[:, None] * places + np.arange(places)).ravel()
    log_p = np.concatenate([seen.log_p[0].numpy()[there], seen.log_p[0].numpy()[SLOTS + beside], seen.log_p[0].numpy()[-240:]])
    np.testing.assert_allclose(mine.log_p, log_p, **CLOSE)
    np.testing.assert_allclose(mine.beside, seen.beside[0].numpy()[beside].reshape(-1, 2), **CLOSE)
    np.testing.assert_allclose(mine.spread, seen.spread[0].numpy()[beside].ravel(), **CLOSE)
    np.testing.assert_allclose(mine.on, seen.on[0].numpy()[there], **CLOSE)
    np.testing.assert_allclose(mine.on_spread, seen.on_spread[0].numpy()[there], **CLOSE)
    np.testing.assert_allclose(mine.intent, seen.intent[0], **CLOSE)
    its_choice, its_point = flying.choose(mine)
    assert (int(there[its_choice]) if its_choice < count else SLOTS) == int(choice)
    np.testing.assert_allclose(its_point, point[0], **CLOSE)
    for its, expected in zip(flying.act(mine, its_choice, its_point, cursor, past), (clicks, keys, held), strict=True):
        np.testing.assert_allclose(its, expected[0], **CLOSE)
    plan = flying.foretell(mine, its_choice, its_point, cursor, past)
    if plan is None or shares is None or foretold is None:
        assert extras.chunk == 1
        return
    np.testing.assert_allclose(plan[1], foretold[0], **CLOSE)
    start = its_point if cursor is None else cursor
    line = (its_point - start) * [1, ASPECT]
    path = start + shares[0].numpy() @ np.array([line, [-line[1], line[0]]]) / [1, ASPECT]
    np.testing.assert_allclose(plan[0], np.clip(path, 0, 1), **CLOSE)


def seen_by(network: Executor, boxes: list[list[float]], own: list[float], seed: int = 0) -> Seen:
    rng = np.random.default_rng(seed)
    slots, context = rng.normal(size=(1, len(boxes), FEATURES)), rng.normal(size=(1, CONTEXT))
    there = torch.ones(1, len(boxes), dtype=torch.bool)
    values = (torch.from_numpy(np.asarray(v, np.float32)) for v in (slots, [boxes], [own], context))
    slots_BKD, boxes_BK4, own_B2, context_BD = values
    with torch.inference_mode():
        return network.see(slots_BKD, there, boxes_BK4, own_B2, context_BD, torch.tensor([1]), torch.zeros_like(there))


def test_the_density_of_the_next_click_is_one() -> None:
    torch.manual_seed(5)
    network = Executor(FEATURES, CONTEXT, MODES, INPUTS, ASPECT, WIDTH, LAYERS, HEADS).eval()  # its places are still near their tracks
    seen = seen_by(network, [[0.45, 0.5, 0.06, 0.08], [0.55, 0.45, 0.04, 0.05]], [0.5, 0.5])
    x, y = (np.arange(400) + 0.5) / 400, (np.arange(240) + 0.5) / 240
    points = torch.from_numpy(np.stack(np.meshgrid(x, y), axis=-1).reshape(1, -1, 2).astype(np.float32))
    with torch.inference_mode():
        density = network.log_density(seen, points).exp()[0].numpy()
    # Nearly all of it lies inside; a little of the places beside tracks may not.
    assert density.sum() * ASPECT / (400 * 240) == pytest.approx(1, abs=0.03)
    on_track = seen.on[0, 0] / torch.tensor([1.0, ASPECT])
    there, away = (network.log_density(seen, point[None, None])[0, 0] for point in (on_track, torch.tensor([0.02, 0.98])))
    assert there > away + 1


def test_a_click_is_timed_by_how_likely_one_is_where_the_cursor_lies() -> None:
    network = network_of(Executor, FEATURES, CONTEXT, MODES, INPUTS, ASPECT, WIDTH, LAYERS, HEADS, 0.0)
    seen = seen_by(network, [[0.3, 0.5, 0.06, 0.08], [0.7, 0.5, 0.06, 0.08]], [0.5, 0.5])
    with torch.inference_mode():
        choice, point = network.choose(seen)
        other = seen.on[:, 1 if int(choice) == 0 else 0] / torch.tensor([1.0, ASPECT])
        beside = other + torch.tensor([[0.0, 0.45]])

        def clicks(cursor: torch.Tensor, known: bool = True) -> torch.Tensor:
            both, where = network._given(seen, choice, point, cursor, torch.tensor([known]))
            assert (both == network._given(seen, choice, point, other, torch.tensor([True]))[0]).all()
            return where[0]

        on_another, on_nothing = clicks(other), clicks(beside)
        assert on_another[4] > on_nothing[4]
        assert on_another[5] > on_nothing[5]
        # A cursor that is not known tells nothing, wherever it is said to be.
        assert (clicks(other, known=False) == clicks(beside, known=False)).all()
        assert torch.isfinite(clicks(torch.tensor([[7.0, -3.0]]))).all()

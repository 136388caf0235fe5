"""A policy in flight: clocks, edge cases, parity with training, refusals. One tiny bundle is trained for all tests."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from data.checkpoint import CheckpointError, load, save
from data.features import Normaliser, slot_inputs
from data.profile import ARENA_PROFILE
from data.schema import NO_TARGET, Observation, Status, Tracks
from data.steps import input_names
from engine.evaluate import _Worker, evaluate
from engine.motor import Motor
from engine.policy import Policy, PolicySettings, load_policy
from engine.unseen_play import judge_unseen
from tests.support.policies import as_if_of
from tests.trainers.synthetic import TICK_NS, session
from trainers.pressing import PressRule, pressed_ticks


def fly(policy: Policy, observations: list[Observation]) -> list[tuple[str, int, tuple[str, ...]]]:
    policy.reset()
    decisions = [policy.act(o) for o in observations]
    return [(d.mode, d.target_id, d.action.onsets) for d in decisions]


def test_the_bundle_flies_and_clicks_the_enemy(bundle: Path) -> None:
    policy = load_policy(bundle, settings=PolicySettings(intent_threshold=0.2, click_scale=0.3))
    steps = session(10, seed=9)
    cursor, hits, clicks = (0.5, 0.5), 0, 0
    for row in range(len(steps)):
        seen = dataclasses.replace(steps.observation(row), cursor=cursor)
        action = policy.act(seen).action
        assert 0 <= action.x <= 1
        assert 0 <= action.y <= 1
        moved = np.hypot(action.x - cursor[0], (action.y - cursor[1]) * 360 / 640)
        assert moved <= policy.settings.speed_widths_s * 0.05 + 1e-6
        cursor = (action.x, action.y)
        if action.click == "left":
            enemy = seen.tracks.boxes[1, :2]
            clicks += 1
            hits += bool(np.hypot(*(enemy - cursor)) < 0.05)
    assert clicks >= 3
    assert hits / clicks > 0.7


def test_clocks_follow_observation_time(bundle: Path) -> None:
    policy = load_policy(bundle)
    steps = session(3)
    timings = [policy.act(steps.observation(r)).timings_ms for r in range(60)]
    assert [i for i, t in enumerate(timings) if "strategist" in t] == [0, 21, 41]
    assert [i for i, t in enumerate(timings) if "tactician" in t] == list(range(0, 60, 4))
    assert all("executor" in t and t["total"] >= t["executor"] for t in timings)


def test_the_same_observations_give_the_same_decisions(bundle: Path) -> None:
    policy = load_policy(bundle)
    steps = session(4, seed=5)
    seen = [steps.observation(r) for r in range(len(steps))]
    assert fly(policy, seen) == fly(policy, seen) == fly(load_policy(bundle), seen)


def test_the_executor_gets_in_flight_what_it_was_trained_on(bundle: Path) -> None:
    policy = load_policy(bundle)
    steps = session(3, seed=6)
    taken: list[tuple[np.ndarray, np.ndarray]] = []
    look = policy.brains.look

    def spy(slots: np.ndarray, present: np.ndarray, boxes: np.ndarray, context: np.ndarray, *rest: object) -> object:
        taken.append((slots, context))
        return look(slots, present, boxes, context, *rest)  # type: ignore[arg-type]

    policy.brains.look = spy  # type: ignore[method-assign, assignment]
    for row in range(len(steps)):
        policy.act(steps.observation(row))
    whole = slot_inputs(steps, np.arange(len(steps)))
    card = load(bundle / "executor").card
    norm = {name: Normaliser.from_json(values) for name, values in card["normaliser"].items()}
    np.testing.assert_allclose(np.concatenate([s for s, _ in taken]), norm["slots"].apply(whole.slots, whole.present), atol=1e-6)
    np.testing.assert_allclose(np.concatenate([c for _, c in taken]), norm["context"].apply(whole.context), atol=1e-6)


class Hand:
    """Stands in for a policy's networks: in each tick what the hand is told, by (click, held) of the left button; the point is fixed."""

    has_strategist = has_tactician = sees_past_cursors = False

    def __init__(self, names: tuple[str, ...], said: list[tuple[float, float]], point: tuple[float, float], intent: float = 0.0) -> None:
        self._names, self._said, self._point, self._intent = names, iter(said), point, intent

    def look(self, slots: np.ndarray, *rest: object) -> SimpleNamespace:
        click, held = next(self._said)
        down = [held if name == "mouse_left" else 0.0 for name in self._names]
        choice = slots.shape[1]
        return SimpleNamespace(
            point=self._point, choice=choice, intent=self._intent, clicks=[click, 0.0], keys=[0.0] * len(down), held=down, plan=None
        )


def hand(bundle: Path, said: list[tuple[float, float]], point: tuple[float, float], rule: PressRule) -> Policy:
    policy = load_policy(bundle)
    policy.brains = Hand(input_names(policy.profile), said, point)  # type: ignore[assignment]
    policy.rules = {"mouse_left": rule}
    policy.settings = dataclasses.replace(policy.settings, click_scale=1.0)
    policy.reset()
    return policy


def test_a_button_that_players_hold_is_pressed_by_a_click_alone_and_then_stays_down(bundle: Path) -> None:
    """A network may say "down" anywhere: on the way to a point, over the wrong thing. Pressed is where a click is wanted."""
    steps = session(3)
    told = [(0.0, 0.9), (0.0, 0.9), (0.9, 0.9), (0.0, 0.9), (0.0, 0.2), (0.0, 0.9)]
    for point, wanted in (((0.9, 0.9), [False] * 6), ((0.1, 0.1), [False, False, True, True, False, False])):
        policy = hand(bundle, told, point, PressRule(0.5, 0.0))
        policy.holds = frozenset({"mouse_left"})
        seen = [dataclasses.replace(steps.observation(row), cursor=(0.1, 0.1)) for row in range(len(told))]
        actions = [policy.act(one).action for one in seen]
        assert ["mouse_left" in action.held for action in actions] == wanted
        assert [action.onsets for action in actions] == [("mouse_left",) if i == 2 and any(wanted) else () for i in range(6)]


def test_what_was_likely_fades_while_the_cursor_is_elsewhere(bundle: Path) -> None:
    """Clicks are tuned on chances that add up and fade in every tick (``pressed_ticks``): flight does the same."""
    steps, rule = session(5), PressRule(1.0, 0.1, memory_s=0.14)
    chances = [0.55, 0.3, *[0.0] * 60, 0.6]
    seen = [steps.observation(row) for row in range(len(chances))]
    away = {*range(2, len(chances) - 1)}
    seen = [dataclasses.replace(one, cursor=(0.5, 0.1) if i in away else (0.1, 0.1)) for i, one in enumerate(seen)]
    policy = hand(bundle, [(chance, 0.0) for chance in chances], (0.1, 0.1), rule)
    assert not [i for i, one in enumerate(seen) if policy.act(one).action.onsets]
    assert not len(pressed_ticks(np.array(chances), rule, 0.05))
    # What becomes likely on the way counts when the cursor arrives, and not before.
    chances, seen = [0.0, 0.7, 0.7, 0.2], seen[:4]
    seen = [dataclasses.replace(one, cursor=(0.5, 0.1) if i < 3 else (0.1, 0.1)) for i, one in enumerate(seen)]
    policy = hand(bundle, [(chance, 0.0) for chance in chances], (0.1, 0.1), rule)
    assert [i for i, one in enumerate(seen) if policy.act(one).action.onsets] == [3]


def test_nothing_seen_is_no_error(bundle: Path) -> None:
    policy = load_policy(bundle)
    for tick in range(30):
        time_ns = (tick + 1) * TICK_NS
        decision = policy.act(Observation(time_ns, time_ns, tick, Status(), Tracks.empty(), None))
        assert decision.target_id == NO_TARGET
        assert np.isfinite([decision.action.x, decision.action.y]).all()


def test_a_target_that_vanished_expires(bundle: Path) -> None:
    policy = load_policy(bundle)
    steps = session(3)
    for row in range(10):
        policy.act(steps.observation(row))
    policy._target, policy._target_seen_ns = 11, int(steps.time_ns[9])
    policy._due_ns["tactician"] = 1 << 62  # it does not think again
    for tick in range(20):
        time_ns = int(steps.time_ns[9]) + (tick + 1) * TICK_NS
        decision = policy.act(Observation(time_ns, time_ns, tick, Status(), Tracks.empty(), (0.5, 0.5)))
        assert (decision.target_id == NO_TARGET) == (tick + 1 > 12)


def test_after_a_gap_it_starts_anew(bundle: Path) -> None:
    policy = load_policy(bundle)
    steps = session(4)
    for row in range(40):
        policy.act(steps.observation(row))
    late = [dataclasses.replace(o, time_ns=o.time_ns + 10**10) for o in (steps.observation(r) for r in range(40, 60))]
    after = [policy.act(o) for o in late]
    assert [(d.mode, d.target_id, d.action.onsets) for d in after] == fly(load_policy(bundle), late)


def test_what_does_not_fit_is_refused_by_name(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not a policy bundle"):
        load_policy(tmp_path)
    with pytest.raises(
        CheckpointError, match=r"flier was made for arena; .*: keys: lacks space, .* and has w; choose a policy of this game"
    ):
        load_policy(bundle, ARENA_PROFILE.model_copy(update={"keys": ("w",)}))
    broken = tmp_path / "broken"
    shutil.copytree(bundle, broken)
    found = load(broken / "executor")
    tensors = dict(found.tensors)
    tensors["renamed"] = tensors.pop("intent.0.weight")
    save(broken / "executor", tensors, found.card)
    with pytest.raises(CheckpointError, match=r"missing: intent\.0\.weight; unexpected: renamed"):
        load_policy(broken)
    moved = tmp_path / "moved"
    shutil.copytree(bundle, moved)
    assert load_policy(moved).name == "moved"


def test_a_policy_of_another_game_neither_flies_the_arena_nor_is_judged_there(bundle: Path, tmp_path: Path) -> None:
    theirs = as_if_of(bundle, tmp_path / "theirs", ARENA_PROFILE.model_copy(update={"name": "mine"}))
    told = r"theirs plays mine, not the arena: .*secondseat evaluate --policy theirs --no-fly --session"
    with pytest.raises(ValueError, match=told):
        evaluate(theirs, 2, ("state",), workers=1, ticks=20)
    with pytest.raises(ValueError, match=told):
        judge_unseen(theirs, 0.1)
    with pytest.raises(ValueError, match=told):
        _Worker(theirs, "classic").policy  # noqa: B018
    before = as_if_of(bundle, tmp_path / "before", ARENA_PROFILE.model_copy(update={"keys": ARENA_PROFILE.keys[:-1]}))
    with pytest.raises(CheckpointError, match="keys: has r"):
        evaluate(before, 2, ("state",), workers=1, ticks=20)


def test_a_policy_of_other_arena_rules_is_refused(bundle: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(bundle, old)
    found = load(old / "tactician")
    save(old / "tactician", found.tensors, {**found.card, "rules_version": 1})
    with pytest.raises(CheckpointError, match=r"tactician: learnt by arena rules 1, here they are 2"):
        load_policy(old)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"threshold": 0.5, "refractory_s": 0.1, "rate_s": -1.0}, "rate_s -1.0"),
        ({"threshold": 1e99, "refractory_s": 0.1}, "threshold 1e"),
        ({"threshold": 10**400, "refractory_s": 0.1}, "401 digits"),
        ({"refractory_s": 0.1}, "threshold"),
        ({"threshold": 0.5, "refractory_s": 0.1, "magic": 1.0}, "magic"),
        ("often", "often|attribute"),
    ],
)
def test_a_card_with_strange_rules_for_pressing_is_refused(rule: Any, told: str, bundle: Path, tmp_path: Path) -> None:
    strange = tmp_path / "strange"
    shutil.copytree(bundle, strange)
    found = load(strange / "executor")
    save(strange / "executor", found.tensors, {**found.card, "thresholds": {**found.card["thresholds"], "space": rule}})
    with pytest.raises(CheckpointError, match=rf"strange.*({told}).*(train it again|earlier checkpoint)"):
        load_policy(strange)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"normaliser": {"slots": {"mean": [0.0], "std": [1.0]}}}, r"normaliser of slots: \(1,\)"),
        ({"play": {"click_tolerance": "a"}}, "click_tolerance 'a'"),
        ({"play": {"reach_s": -1}}, "reach_s -1"),
        ({"play": {"speed": 1}}, "speed"),
    ],
)
def test_a_card_that_would_fail_in_flight_is_refused_before(changes: Any, told: str, bundle: Path, tmp_path: Path) -> None:
    strange = tmp_path / "strange"
    shutil.copytree(bundle, strange)
    found = load(strange / "executor")
    card = dict(found.card)
    for name, value in changes.items():
        card[name] = {**card.get(name, {}), **value} if isinstance(value, dict) else value
    save(strange / "executor", found.tensors, card)
    with pytest.raises(CheckpointError, match=rf"strange: .*{told}.*train it again"):
        load_policy(strange)


@pytest.mark.parametrize("bad", [float("nan"), 0.0])
def test_a_scale_that_is_none_is_refused(bad: float, bundle: Path, tmp_path: Path) -> None:
    strange = tmp_path / "strange"
    shutil.copytree(bundle, strange)
    found = load(strange / "tactician")
    scales = found.card["normaliser"]
    scales["context"]["std"][0] = bad
    text = json.dumps({**found.card, "normaliser": scales})
    from safetensors.numpy import save as to_bytes

    (strange / "tactician.safetensors").write_bytes(to_bytes(dict(found.tensors), {"card": text}))
    with pytest.raises(CheckpointError, match=r"normaliser of context: not finite, or a scale of 0.*train it again"):
        load_policy(strange)


def test_rules_without_a_rate_press_by_their_threshold_as_they_did(bundle: Path) -> None:
    policy = load_policy(bundle)
    policy.rules = {"space": PressRule(0.0, 0.15)}
    policy.reset()
    steps = session(2)
    pressed = [row for row in range(20) if "space" in policy.act(steps.observation(row)).action.onsets]
    assert pressed == list(range(0, 20, 4))


def test_a_new_flight_begins_with_nothing_due(bundle: Path) -> None:
    policy = load_policy(bundle)
    policy.rules = {"space": PressRule(2.0, 0.0, 1.0, 1e-3)}
    policy.reset()
    steps = session(2)
    for row in range(20):
        policy.act(steps.observation(row))
    assert policy._pressers["space"].due > 0
    policy.reset()
    assert policy._pressers["space"].due == 0


def test_as_much_is_foretold_on_a_slow_machine(bundle: Path) -> None:
    policy, steps, foretold = load_policy(bundle), session(20), []
    policy.rules = {"space": PressRule(2.0, 0.0, 1.0, 1.0, due=1e3)}
    for every in (1, 4):  # 20 and 5 Hz
        policy.reset()
        for row in range(0, 400, every):
            policy.act(steps.observation(row))
        foretold.append(policy._pressers["space"].due)
    assert foretold[1] == pytest.approx(foretold[0], rel=0.15)


def test_a_policy_flies_without_torch(bundle: Path) -> None:
    code = """
import sys
from data.profile import ARENA_PROFILE
from data.schema import Observation, Status, Tracks
from engine.policy import load_policy
policy = load_policy(sys.argv[1])
decision = policy.act(Observation(0, 0, 0, Status({}, {}, {}, {}), Tracks.empty(), (0.5, 0.5), True))
sys.exit('torch' in sys.modules or not 0 <= decision.action.x <= 1)
"""
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code, str(bundle)], check=False, cwd=root).returncode == 0


def test_the_motor_arrives_in_several_bounded_moves() -> None:
    motor = Motor(ARENA_PROFILE, 2.4)
    motor.cursor = (0.1, 0.1)
    before, moves = motor.distance((0.9, 0.9)), 0
    while motor.distance((0.9, 0.9)) > 0.005:
        at = motor.cursor
        motor.move((0.9, 0.9), 0.05)
        assert motor.distance(at) <= 0.12 + 1e-9
        moves += 1
        assert moves < 20
    assert moves >= before / 0.12

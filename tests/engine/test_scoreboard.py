"""The scoreboard: known answers get known figures, and what it replays is what would have flown."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from data.features import UNKNOWN_MODE
from data.hindsight import label_modes, label_targets
from data.schema import NO_TARGET, Observation
from data.steps import Steps, input_names
from data.track_lookup import click_rows, clicked_tracks
from data.vocabulary import MODES
from engine.policy import Policy, load_policy
from engine.replay import replay_actions
from engine.scoreboard import CROWD, calibration, enemies_in, judge, repeats
from engine.scoreboard_page import draw
from engine.scoreboard_parts import Again
from engine.unseen_play import second_run, unseen_play
from tests.trainers.synthetic import session
from trainers.pressing import PressRule


class Oracle:
    """Stands in for a policy's networks: it clicks the enemy in the ticks in which the player did, ``late`` by some."""

    has_strategist = has_tactician = sees_past_cursors = False

    def __init__(self, steps: Steps, late: int = 0, looks: bool = True) -> None:
        names = input_names(steps.profile)
        clicks = np.repeat(np.arange(len(steps)), np.diff(steps.onset_offsets))[steps.onset_codes == names.index("mouse_left")]
        self._clicks, self._count, self._row, self._looks, self._rows = set((clicks + late).tolist()), len(names), -1, looks, len(steps)

    def _held(self) -> list[float]:
        """Every input is down from the tick before a click to the one after."""
        return [float(any(self._row + by in self._clicks for by in (-1, 0, 1)))] * self._count

    def look(self, slots: Any, present: Any, boxes: Any, *rest: Any, past: None = None) -> Any:
        self._row = (self._row + 1) % self._rows
        left = float(self._row in self._clicks)
        enemy = min(int(present[0].sum()) - 1, 1)
        point = tuple(boxes[0, enemy, :2].tolist()) if self._looks else (0.5, 0.5)
        return SimpleNamespace(point=point, choice=enemy, intent=1.0, clicks=[left, 0.0], keys=[0.0] * self._count, held=self._held())


def oracle(policy: Policy, steps: Steps, **how: Any) -> Policy:
    policy.brains = Oracle(steps, **how)  # type: ignore[assignment]
    policy.rules = {"mouse_left": PressRule(0.5, 0.0)}
    policy.settings = dataclasses.replace(policy.settings, click_scale=1.0)
    return policy


def test_a_policy_that_does_what_the_player_did_gets_full_marks(bundle: Path) -> None:
    steps = session(20, seed=3)
    board = judge(oracle(load_policy(bundle), steps), [steps], "made up")
    for told in ("predicted", "dropped", "true"):
        figures = board.actions[told]
        assert figures.point_px < 0.5
        assert (figures.lands, figures.points_at, figures.own_lands, figures.own_clicks) == (1.0, 1.0, 1.0, 20)
        assert figures.clicks == 20
        # A click a second, each on another enemy: none repeats the one before.
        assert (figures.first_clicks, figures.first_lands, figures.first_told) == (20, 1.0, float(told == "true"))
        assert figures.cursor_lands < 1.0  # half a second before, the cursor was in the middle
        assert figures.calibration.error == 0.0
        click = figures.onsets["mouse_left"]
        assert (click.f1, click.exact, click.true, click.predicted) == (1.0, 1.0, 20, 20)
        assert (click.precision, click.recall) == (1.0, 1.0)
        assert np.isnan([click.second_run, click.second_run_exact, figures.second_run_px, figures.second_run_lands]).all()
    assert (board.best_lag, board.play_kind) == (0, "recordings")
    assert board.lag_sweep[0] == 1.0
    assert board.causality > 0.8
    assert list(board.actions["true"].onsets) == ["mouse_left"]  # nothing else was ever pressed


def test_an_input_that_is_held_is_judged_by_when_it_would_be_taken_down(bundle: Path) -> None:
    """Not by a rule for taps, which never flies."""
    steps = session(20, seed=3)
    clicks = click_rows(steps)
    place = input_names(steps.profile).index("q")
    steps = dataclasses.replace(steps, onset_codes=np.full_like(steps.onset_codes, place))  # all of it was done with q
    policy = oracle(load_policy(bundle), session(20, seed=3))
    assert judge(policy, [steps], "made up").actions["predicted"].onsets["q"].predicted == 0  # there is no rule for it
    policy.holds = frozenset({"q"})
    found = judge(policy, [steps], "made up").actions["predicted"].onsets["q"]
    assert (found.true, found.predicted, found.f1, found.exact) == (len(clicks), len(clicks), 1.0, 0.0)


def test_play_is_judged_by_the_policys_own_profile_and_without_rows_that_are_no_numbers(bundle: Path) -> None:
    steps = session(20, seed=3)
    other = dataclasses.replace(steps, profile=steps.profile.model_copy(update={"threat_range": 0.9, "low_hp": 0.99}))
    told: list[str] = []
    boards = [judge(load_policy(bundle), [one], "made up", report=lambda p: told.append(p.message)).to_json() for one in (steps, other)]
    assert json.dumps(boards[0]) == json.dumps(boards[1])
    steps.track_velocities[5] = np.nan
    board = judge(load_policy(bundle), [steps], "made up", report=lambda p: told.append(p.message))
    assert any("1 of 400 rows dropped, not finite: track_velocities" in line for line in told)
    assert np.isfinite(board.mode.calibration.error)  # type: ignore[union-attr]


def test_a_click_on_what_was_clicked_just_before_is_a_repeat() -> None:
    steps = session(6)
    clicks = click_rows(steps)
    clicked = clicked_tracks(steps, clicks)
    assert not repeats(steps, clicks, clicked).any()
    rows = np.array([clicks[0], clicks[0] + 8, clicks[0] + 9, clicks[1]])
    flat = np.array([clicked[0], clicked[0], -1, clicked[1]])
    assert repeats(steps, rows, flat).tolist() == [False, True, False, False]
    assert repeats(steps, rows[[0, 1]] + [0, 20], flat[[0, 1]]).tolist() == [False, False]  # too late to be one
    assert not len(repeats(steps, rows[:0], flat[:0]))


def test_a_click_that_falls_on_what_is_never_a_target_is_none_on_a_track(bundle: Path) -> None:
    """A click on open ground may fall on a portal: whoever clicks the ground a little beside it is not wrong."""
    steps = session(20, seed=3)
    clicks = click_rows(steps)
    portal = [kind.name for kind in steps.profile.classes].index("portal")
    before = judge(oracle(load_policy(bundle), steps), [steps], "made up").actions["predicted"]
    enemy = steps.track_classes[clicked_tracks(steps, clicks)[0]]
    steps = dataclasses.replace(steps, track_classes=np.where(steps.track_classes == enemy, portal, steps.track_classes).astype(np.int32))
    found = judge(oracle(load_policy(bundle), steps), [steps], "made up").actions["predicted"]
    assert (clicked_tracks(steps, clicks) >= 0).all()
    assert (before.first_clicks, before.lands, before.own_clicks) == (len(clicks), 1.0, len(clicks))
    assert (found.clicks, found.first_clicks, found.own_clicks) == (len(clicks), 0, 0)
    assert np.isnan(found.lands)


@pytest.mark.parametrize("late", [-2, 1, 3])
def test_the_lag_sweep_finds_by_how_much_it_is_late(bundle: Path, late: int) -> None:
    steps = session(20, seed=3)
    board = judge(oracle(load_policy(bundle), steps, late=late), [steps], "made up")
    assert board.best_lag == late
    click = board.actions["predicted"].onsets["mouse_left"]
    assert click.exact == 0.0
    assert click.f1 == (1.0 if abs(late) <= 2 else 0.0)


def test_a_policy_that_does_not_look_is_shown_up(bundle: Path) -> None:
    steps = session(20, seed=3)
    board = judge(oracle(load_policy(bundle), steps, looks=False), [steps], "made up")
    assert board.causality == 0.0
    assert board.actions["true"].point_px > 50
    assert board.actions["true"].lands < 0.2
    assert board.actions["true"].points_at == 1.0  # its pointer may say what it likes: the click lands elsewhere


def test_a_trained_policy_against_what_needs_no_skill(bundle: Path) -> None:
    sessions = [session(12, seed=s) for s in (21, 22)]
    board = judge(load_policy(bundle), sessions, "made up")
    assert board.minutes == pytest.approx(24 / 60, rel=0.02)
    mode, target = board.mode, board.target
    assert mode is not None
    assert target is not None
    confusion = np.array(mode.confusion)
    assert confusion.sum() == mode.seconds == 24
    assert mode.accuracy == pytest.approx(np.trace(confusion) / confusion.sum())
    assert 0 <= mode.balanced_accuracy <= 1
    assert np.isnan([mode.second_run, mode.second_run_balanced, target.second_run, target.second_run_in_crowds]).all()
    assert mode.majority == pytest.approx(confusion.sum(1).max() / confusion.sum())
    # There is one enemy: the nearest is always the right one, and there are no crowds.
    assert target.nearest == target.nearest_enemy == 1.0
    assert np.isnan(target.persistence_in_crowds)
    assert target.crowd_decisions == 0
    assert np.isnan(target.crowds)
    assert target.on_target > 0.8
    assert target.decisions == 2 * 60
    text = json.dumps(board.to_json(), allow_nan=False)
    assert json.loads(text)["target"]["crowds"] is None


def test_saying_the_same_again_is_judged_from_the_second_answer_on(bundle: Path) -> None:
    """A baseline must not look worse because play was recorded in many short stretches."""
    steps = session(24, seed=21)
    said = dataclasses.replace(
        steps, said_mode=np.full(len(steps), MODES.index("LOOT"), np.int8), said_target=np.ones(len(steps), np.int32)
    )
    assert (said.track_ids[said.track_offsets[:-1]] == 1).all()
    for parts in (1, 4, 8):
        length = len(said) // parts
        board = judge(load_policy(bundle), [said.slice(i * length, (i + 1) * length) for i in range(parts)], "made up")
        assert board.mode is not None
        assert board.target is not None
        assert (board.mode.persistence, board.mode.persistence_balanced, board.target.persistence) == (1.0, 1.0, 1.0)


def test_what_a_person_said_goes_before_the_rules(bundle: Path) -> None:
    steps = session(12, seed=21)
    board = judge(load_policy(bundle), [dataclasses.replace(steps, said_mode=np.full(len(steps), MODES.index("LOOT"), np.int8))], "made up")
    assert board.mode is not None
    assert board.mode.majority == 1.0
    assert set(board.mode.recalls) == {"LOOT"}


def test_the_second_run_is_judged_as_the_policy_is(bundle: Path) -> None:
    """A second run that does the same two ticks later, always means FIGHT, and clicks 10 px beside."""
    steps = session(20, seed=3)

    def late(session: int, start: int, stop: int) -> list[Again]:
        assert session == 0
        part = steps.slice(start, stop)
        targets, shift = label_targets(part), 10 / part.profile.picture_size[0]
        rows = [max(0, row - 2) for row in range(len(part))]
        points = [(float(part.action_xy[row, 0]) + shift, float(part.action_xy[row, 1])) for row in rows]
        return [Again(part.onsets(row), MODES.index("FIGHT"), int(targets[i]), points[i]) for i, row in enumerate(rows)]

    board = judge(load_policy(bundle), [steps], "made up", late)
    assert board.play_kind == "unseen"
    mode, target, action = board.mode, board.target, board.actions["predicted"]
    assert mode is not None
    assert target is not None
    known = label_modes(steps)
    assert mode.second_run == pytest.approx((known == MODES.index("FIGHT")).mean(), abs=0.06)
    assert target.second_run == 1.0
    assert action.second_run_px == pytest.approx(10, abs=0.01)
    assert action.second_run_lands == 1.0
    click = action.onsets["mouse_left"]
    assert (click.second_run, click.second_run_exact) == (1.0, 0.0)
    assert json.loads(json.dumps(board.to_json(), allow_nan=False))["mode"]["second_run"] == mode.second_run


def test_crowds_are_counted_by_enemies_alone() -> None:
    steps = unseen_play("expert", 0.1, "state")[0]
    rows = np.arange(0, 1200, 97)
    roles = steps.profile.roles()
    wanted = [sum(roles[kind] == "enemy" for kind in steps.tracks(row).classes.tolist()) for row in rows.tolist()]
    assert enemies_in(steps, rows).tolist() == wanted
    assert max(wanted) >= CROWD


def test_play_in_which_nothing_was_seen_is_judged(bundle: Path) -> None:
    """The detector found not one thing, as when its profile is another game's; minutes enough for intervals."""
    board = judge(load_policy(bundle), [session(130, seed=1, tracks=False)], "made up")
    assert board.target is not None
    assert (board.target.none_share, board.target.crowd_decisions) == (1.0, 0)
    figures = board.actions["predicted"]
    assert figures.clicks == figures.onsets["mouse_left"].true == 130
    assert np.isnan([figures.lands, figures.first_lands, board.target.on_target]).all()
    assert not figures.intervals.keys() & {"lands", "first_lands"}


def test_nothing_to_judge_on_is_said(bundle: Path) -> None:
    with pytest.raises(ValueError, match="nothing to judge on"):
        judge(load_policy(bundle), [session(1)], "made up")


def test_what_is_replayed_is_what_flies(bundle: Path) -> None:
    policy, steps = load_policy(bundle), session(6, seed=8)
    points: list[tuple[float, float]] = []
    look = policy.brains.look

    def spy(*args: Any) -> Any:
        found = look(*args[:8])  # without the reach under way: that is play, not an answer to what is seen
        points.append(found.point)
        return found

    policy.brains.look = spy  # type: ignore[method-assign]
    modes, targets = [], []
    for row in range(len(steps)):
        decision = policy.act(steps.observation(row))
        modes.append(MODES.index(decision.mode) if decision.mode in MODES else UNKNOWN_MODE)
        targets.append(decision.target_id)
    policy.brains.look = look  # type: ignore[method-assign]
    said = replay_actions(policy, steps, 0, len(steps), np.array(modes), np.array(targets, np.int32))
    np.testing.assert_allclose(said.point, np.array(points), atol=1e-6)
    assert (np.array(targets) != NO_TARGET).any()


def test_fresh_play_of_the_demonstrator_and_its_second_run() -> None:
    exact: list[list[Observation]] = []
    sessions = unseen_play("expert", 0.1, "emulated", exact=exact)
    assert [len(s) for s in sessions] == [len(saw) for saw in exact] == [1200, 1200]
    assert (label_targets(sessions[0]) != NO_TARGET).any()
    part = sessions[0].slice(0, 400)
    again = second_run("expert", sessions, exact)(0, 0, 400)
    assert len(again) == 400
    aimed = {one.target_id for one in again} - {NO_TARGET}
    assert aimed  # in the ids of what was perceived, not of what is there
    assert aimed <= {int(number) for row in range(400) for number in part.tracks(row).ids}
    first = [part.onsets(row) for row in range(400)]
    pressed = [one.onsets for one in again]
    assert pressed != first
    assert 0.5 < sum(map(len, pressed)) / sum(map(len, first)) < 2.0
    meant = np.array([one.mode for one in again])
    assert (meant == label_modes(part)).mean() > 0.6  # it means much the same, though never in the same tick
    assert all(0.0 <= value <= 1.0 for one in again for value in one.point)
    assert int(np.diff(part.track_offsets).max()) > CROWD


def test_calibration_of_known_answers() -> None:
    sure = np.array([0.95, 0.95, 0.95, 0.95, 0.55, 0.55])
    found = calibration(sure, np.array([True, True, True, False, True, False]))
    assert found.count[9] == 4
    assert found.right[9] == 0.75
    assert found.right[5] == 0.5
    assert found.error == pytest.approx((0.2 * 4 + 0.05 * 2) / 6)
    assert calibration(np.zeros(0), np.zeros(0, np.bool_)).error == 0.0


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_page_of_plots_shows_every_figure_there_is(bundle: Path, tmp_path: Path, suffix: str) -> None:
    board = judge(load_policy(bundle), [session(12, seed=21)], "made up")
    path = draw(tmp_path / "plots" / f"page.{suffix}", board)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG") if suffix == "png" else b"not flown this time" in content
    with pytest.raises(ValueError, match=r"a page is \.png"):
        draw(tmp_path / "page.txt", board)

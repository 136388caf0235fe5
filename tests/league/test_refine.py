"""Refinement: what is counted, told, kept and resumed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data import checkpoint
from data.checkpoint import CheckpointError
from data.progress import Progress
from league import refine as refine_module
from league.imitate import load_policy
from league.learner import LeagueLearner
from league.losses import LossSettings, UpdateSettings
from league.network import ActorCritic
from league.players import Versus
from league.ratings import Interval
from league.refine import RefineError, RefineSettings, refine
from league.rollout import RolloutSettings

SETTINGS = RefineSettings(
    iterations=4,
    actor_rollouts=1,
    worlds=4,
    episode_steps=60,
    stagger=1,
    runner="in-process",
    update=UpdateSettings(unroll_steps=16, sequences=4),
    evaluate_every=0,
    checkpoint_every=1,
)


@pytest.fixture(scope="module")
def supervised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("sup") / "pi_sup"
    LeagueLearner(ActorCritic(16)).save(path, role="pi_sup")
    return path


def rows(run_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]


def test_a_run_learns_counts_and_keeps_its_files(supervised: Path, tmp_path: Path) -> None:
    told: list[Progress] = []
    made = refine(supervised, SETTINGS, tmp_path, told.append)
    assert (made.iterations, made.interrupted) == (4, False)
    found = rows(tmp_path)
    assert [row["iteration"] for row in found] == [1, 2, 3, 4]
    assert found[0]["losses"]["mean_ratio"] == pytest.approx(1.0, abs=0.05)
    assert found[-1]["frames"] == made.frames > 0
    assert found[-1]["consumed"] == made.consumed <= 2 * made.frames
    assert made.consumed > 1.5 * made.frames
    assert found[-1]["pushed_out"] == 0
    assert made.matches == found[-1]["matches"] == 4
    policy, card = load_policy(tmp_path / "pi_rl")
    assert card["role"] == "pi_rl"
    before, _ = load_policy(supervised)
    assert any(not torch.equal(a, b) for a, b in zip(policy.parameters(), before.parameters(), strict=True))
    assert sorted(p.name for p in tmp_path.glob("*_[0-9]*.npz")) == ["replay_3.npz", "replay_4.npz", "runner_3.npz", "runner_4.npz"]
    assert told[-1].done == 1.0
    assert told[-1].eta_s == 0.0
    with pytest.raises(RefineError, match="there is a run already"):
        refine(supervised, SETTINGS, tmp_path)


def test_resumed_it_is_bit_equal_to_a_run_that_never_stopped(supervised: Path, tmp_path: Path) -> None:
    settings = replace(SETTINGS, opponents=("self", "pi_sup"), checkpoint_every=100)
    whole = refine(supervised, settings, tmp_path / "whole")
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked == 3

    first = refine(supervised, settings, tmp_path / "parts", stop=stop)
    assert first.interrupted
    assert first.iterations == 2
    # What a killed process wrote after its checkpoint is cut off.
    with (tmp_path / "parts" / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 3}\n')
    second = refine(supervised, settings, tmp_path / "parts", resume=True)
    assert not second.interrupted
    assert any("cut back" in note for note in second.notes)
    mine, theirs = (checkpoint.load(tmp_path / part / "checkpoint_iteration_4") for part in ("whole", "parts"))
    assert mine.tensors.keys() == theirs.tensors.keys()
    assert all(np.array_equal(values, theirs.tensors[name]) for name, values in mine.tensors.items())
    timeless = [
        [{k: v for k, v in row.items() if "_s" not in k and k != "seconds"} for row in rows(tmp_path / p)] for p in ("whole", "parts")
    ]
    assert timeless[0] == timeless[1]
    assert (whole.frames, whole.matches, whole.consumed) == (second.frames, second.matches, second.consumed)


def test_a_torn_checkpoint_falls_back_and_other_settings_are_refused(supervised: Path, tmp_path: Path) -> None:
    refine(supervised, SETTINGS, tmp_path)
    replay = tmp_path / "replay_4.npz"
    replay.write_bytes(replay.read_bytes()[:100])
    made = refine(supervised, replace(SETTINGS, iterations=5), tmp_path, resume=True)
    assert made.iterations == 5
    assert any("falling back" in note for note in made.notes)
    assert any("resumed after iteration 3" in note for note in made.notes)
    with pytest.raises(CheckpointError, match="worlds: made with 4, here 5"):
        refine(supervised, replace(SETTINGS, worlds=5), tmp_path, resume=True)
    with pytest.raises(CheckpointError, match="recipe: made with"):
        refine(supervised, replace(SETTINGS, loss=LossSettings(upgo_weight=0.0)), tmp_path, resume=True)
    for path in tmp_path.glob("*.npz"):
        path.unlink()
    with pytest.raises(CheckpointError, match="none of 2 checkpoints is whole"):
        refine(supervised, SETTINGS, tmp_path, resume=True)
    shutil.rmtree(tmp_path)
    again = refine(supervised, replace(SETTINGS, iterations=1), tmp_path, resume=True)
    assert any("starting anew" in note for note in again.notes)


def test_it_is_evaluated_before_between_and_after_in_the_same_worlds(
    supervised: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, object]] = []

    def judge(network: ActorCritic, **how: Any) -> list[Versus]:
        asked.append({k: v for k, v in how.items() if k != "stop"})
        rate = Interval(len(asked) / 10, 0.0, 1.0)
        return [Versus(name, 3, how["matches"], rate, rate) for name in ("expert", "novice", "random")]

    monkeypatch.setattr("league.refine.judge", judge)
    made = refine(supervised, replace(SETTINGS, iterations=3, evaluate_every=2, evaluate_matches=5), tmp_path)
    assert [e.iteration for e in made.evaluations] == [0, 2, 3]
    assert asked == [{"matches": 5, "ships": 4, "seed": 0}] * 3 + [{"matches": 5, "ships": 4, "seed": 0, "anew": True}]
    assert made.evaluations[0].frames == 0 < made.evaluations[1].frames < made.frames
    assert "against 3 expert: ranks above one of them 0.300" in made.text()
    assert json.loads(json.dumps(made.to_json()))["evaluations"][2]["versus"][0]["payoff"]["value"] == 0.3
    again = refine(supervised, replace(SETTINGS, iterations=4, evaluate_every=2, evaluate_matches=5), tmp_path, resume=True)
    assert again.evaluations[:3] == made.evaluations
    assert [e.iteration for e in again.evaluations] == [0, 2, 3, 4]


def judged_as(monkeypatch: pytest.MonkeyPatch, *scores: float) -> None:
    """Evaluations come out like that, one after the other."""
    left = iter(scores)

    def judge(network: ActorCritic, **how: Any) -> list[Versus]:
        rate = Interval(next(left), 0.0, 1.0)
        return [Versus(name, 3, how["matches"], rate, rate) for name in ("expert", "novice", "random")]

    monkeypatch.setattr("league.refine.judge", judge)


def test_the_policy_of_the_best_look_is_given_out_and_plays_anew_in_other_worlds(
    supervised: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, iterations=3, evaluate_every=1)
    judged_as(monkeypatch, 0.9, 0.2, 0.6, 0.4, 0.55)  # before anything is learnt, after 1, 2 and 3 iterations, and the best anew
    made = refine(supervised, settings, tmp_path)
    assert made.kept is not None
    assert (made.kept.iteration, made.kept.versus[0].payoff.value) == (2, 0.55)
    assert "kept, the best of 3 looks: iteration 2; anew, in other worlds:\n  against 3 expert: ranks above one of them 0.55" in made.text()
    assert made.to_json()["kept"]["iteration"] == 2
    assert rows(tmp_path)[-1]["kept"]["iteration"] == 2
    given, then, last = (checkpoint.load(tmp_path / name).tensors for name in ("pi_rl", "checkpoint_iteration_2", "checkpoint_iteration_3"))
    assert all(np.array_equal(values, then[name]) for name, values in given.items())
    assert not all(np.array_equal(values, last[name]) for name, values in given.items())

    judged_as(monkeypatch, 0.5, 0.6, 0.52)  # not better than the best of before the resume
    further = refine(supervised, replace(settings, iterations=5), tmp_path, resume=True)
    assert further.kept is not None
    assert further.kept.iteration == 2
    assert not any("cut back" in note for note in further.notes)
    again = checkpoint.load(tmp_path / "pi_rl").tensors
    assert all(np.array_equal(values, again[name]) for name, values in given.items())
    assert sorted(p.name for p in tmp_path.glob("best_*.npz")) == ["best_4.npz", "best_5.npz"]
    assert sum("kept" in row for row in rows(tmp_path)) == 1

    best = tmp_path / "best_5.npz"
    best.write_bytes(best.read_bytes()[:50])
    judged_as(monkeypatch, 0.7, 0.5, 0.6)
    back = refine(supervised, replace(settings, iterations=6), tmp_path, resume=True)
    assert any("falling back" in note for note in back.notes)
    assert back.kept is not None
    assert back.kept.iteration == 5


def test_stopped_while_it_plays_anew_it_says_so_and_resuming_does_that_again(
    supervised: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, iterations=1, evaluate_every=1)
    judged_as(monkeypatch, 0.9, 0.2)
    whole = refine_module.judge
    monkeypatch.setattr("league.refine.judge", lambda network, **how: [] if how.get("anew") else whole(network, **how))
    made = refine(supervised, settings, tmp_path)
    assert (made.kept, made.given, made.interrupted) == (None, 1, True)
    assert any("stopped while it played anew; --resume does that again" in note for note in made.notes)
    judged_as(monkeypatch, 0.3)
    again = refine(supervised, settings, tmp_path, resume=True)
    assert again.kept is not None
    assert again.kept.versus[0].payoff.value == 0.3


def test_a_policy_that_a_killed_run_did_not_give_out_is_given_out_on_resuming(
    supervised: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, iterations=2, evaluate_every=1)
    judged_as(monkeypatch, 0.9, 0.6, 0.2, 0.5)
    refine(supervised, settings, tmp_path)
    given = checkpoint.load(tmp_path / "pi_rl").tensors
    (tmp_path / "pi_rl.safetensors").unlink()
    judged_as(monkeypatch, 0.5)
    made = refine(supervised, settings, tmp_path, resume=True, name="mine")
    assert made.given == 1
    assert made.text().endswith("mine.safetensors (of iteration 1)")
    again = checkpoint.load(tmp_path / "mine").tensors
    assert all(np.array_equal(values, again[name]) for name, values in given.items())


@pytest.mark.parametrize("resume", [True, False])
def test_what_a_run_did_that_was_killed_before_its_first_checkpoint_is_counted_once(supervised: Path, tmp_path: Path, resume: bool) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"iteration": 1}\n{"iteration": 2}\n')
    made = refine(supervised, replace(SETTINGS, iterations=2), tmp_path, resume=resume)
    assert [row["iteration"] for row in rows(tmp_path)] == [1, 2]
    assert "losses" in rows(tmp_path)[0]
    assert any("cut back" in note for note in made.notes)


def test_a_leagues_folder_is_left_alone(supervised: Path, tmp_path: Path) -> None:
    for name in ("league_state.json", "metrics.jsonl"):
        (tmp_path / name).write_text("{}\n")
    with pytest.raises(RefineError, match="a league lies there"):
        refine(supervised, SETTINGS, tmp_path)
    assert (tmp_path / "metrics.jsonl").read_text() == "{}\n"


def test_schedules_go_by_fresh_frames_however_often_they_are_learnt_from(supervised: Path, tmp_path: Path) -> None:
    often = refine(supervised, replace(SETTINGS, learner_updates=3, iterations=2), tmp_path)
    state = checkpoint.read_card(tmp_path / "checkpoint_iteration_2")["state"]
    assert often.consumed == state["frames"] > 4 * often.frames
    settings = replace(SETTINGS, learner_updates=3)
    learner = LeagueLearner(ActorCritic(16), reuse=settings.replay_settings().reuse)
    learner.frames = state["frames"]
    assert learner.fresh_frames <= often.frames
    weights = [row["losses"]["kl_weight"] for row in rows(tmp_path)]
    assert weights[-1] == pytest.approx(LossSettings().kl_weight_at(learner.fresh_frames), rel=1e-3)


def test_an_evaluation_that_is_stopped_half_way_chooses_nothing(supervised: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("league.refine.judge", lambda network, **how: [])
    made = refine(supervised, replace(SETTINGS, iterations=2, evaluate_every=1), tmp_path)
    assert (made.iterations, made.evaluations, made.kept, made.interrupted) == (0, (), None, True)
    assert (tmp_path / "pi_rl.safetensors").exists()
    assert not list(tmp_path.glob("best_*.npz"))


@pytest.mark.parametrize("look", [1, 3])
def test_a_look_that_was_cut_short_is_taken_when_the_run_goes_on(
    look: int, supervised: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the best of the looks might be another one; the last look is no end either."""
    settings, scores = replace(SETTINGS, iterations=3, evaluate_every=1, checkpoint_every=2), (0.9, 0.6, 0.2, 0.5, 0.55)
    judged_as(monkeypatch, *scores)
    whole = refine(supervised, settings, tmp_path / "whole")
    judged_as(monkeypatch, *scores[:look])
    before, looks = refine_module.judge, iter(range(look))
    monkeypatch.setattr("league.refine.judge", lambda network, **how: before(network, **how) if next(looks, None) is not None else [])
    made = refine(supervised, settings, tmp_path / "parts")
    assert (made.interrupted, made.iterations, len(made.evaluations)) == (True, look, look)
    judged_as(monkeypatch, *scores[look:])
    again = refine(supervised, settings, tmp_path / "parts", resume=True)
    assert [one.score for one in again.evaluations] == [one.score for one in whole.evaluations]
    assert (again.interrupted, again.given) == (False, 1)
    given, wanted = (checkpoint.load(tmp_path / place / "pi_rl").tensors for place in ("parts", "whole"))
    assert all(np.array_equal(values, wanted[name]) for name, values in given.items())


def test_two_never_refine_in_one_folder(supervised: Path, tmp_path: Path) -> None:
    def again(progress: Progress) -> None:
        if progress.stage.startswith("iteration"):
            with pytest.raises(RefineError, match="another process is refining there"):
                refine(supervised, SETTINGS, tmp_path, resume=True)
            told.append(progress.stage)

    told: list[str] = []
    assert refine(supervised, SETTINGS, tmp_path, again).iterations == 4
    assert told
    assert not list(tmp_path.glob(".*lock"))


def test_matches_take_turns_and_frozen_policies_fly(supervised: Path, tmp_path: Path) -> None:
    settings = replace(SETTINGS, iterations=1, opponents=("self", "expert", "old"), frozen={"old": supervised})
    assert settings.match(0).learning == (True,) * 4
    assert settings.match(1).players == ("learner", "expert", "expert", "expert")
    assert settings.match(5).players == ("learner", "old", "old", "old")
    assert settings.match(5).learning == (True, False, False, False)
    made = refine(supervised, settings, tmp_path)
    learning_seats = sum(sum(settings.match(i).learning) for i in range(4))
    assert made.frames == 16 * learning_seats


def test_pseudo_rewards_bring_their_own_discount_and_processes_play_the_same(supervised: Path, tmp_path: Path) -> None:
    settings = replace(SETTINGS, iterations=2, pseudo_reward_scale=0.1)
    alone = refine(supervised, settings, tmp_path / "a")
    assert checkpoint.read_card(alone.path)["recipe"]["gamma"] == LossSettings().gamma_pseudo_rewards
    apart = refine(supervised, replace(settings, runner="processes"), tmp_path / "b")
    assert (apart.iterations, apart.frames) == (2, alone.frames)
    resumed = refine(supervised, replace(settings, runner="processes", iterations=3), tmp_path / "b", resume=True)
    assert resumed.iterations == 3
    assert resumed.frames > apart.frames


def test_ctrl_c_keeps_the_last_checkpoint(supervised: Path, tmp_path: Path) -> None:
    def stop() -> bool:
        if (tmp_path / "checkpoint_iteration_2.safetensors").exists():
            raise KeyboardInterrupt
        return False

    made = refine(supervised, SETTINGS, tmp_path, stop=stop)
    assert made.interrupted
    assert "what was learnt until iteration 2 is kept" in " ".join(made.notes)
    assert refine(supervised, SETTINGS, tmp_path, resume=True).iterations == 4


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("iterations", 0, "iterations 0"),
        ("minutes", -1.0, "minutes -1"),
        ("opponents", (), "opponents none"),
        ("opponents", ("nobody",), "opponents nobody; use some of expert"),
        ("frozen", {"expert": Path("x")}, "frozen expert; that name is taken"),
        ("runner", "threads", "runner 'threads'"),
        ("worlds", 0, "worlds 0"),
    ],
)
def test_settings_out_of_range_are_named(field: str, value: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        replace(SETTINGS, **{field: value})


def test_parts_of_the_settings_agree() -> None:
    assert SETTINGS.runner_settings().rollout == RolloutSettings(4, 4, 60, 0)
    assert SETTINGS.replay_settings().capacity >= 16 + 4
    assert replace(SETTINGS, learner_updates=3).replay_settings().reuse == 6
    assert "minutes" not in SETTINGS.fixed()
    json.dumps(SETTINGS.fixed())

"""Kept evaluations and their comparison: equal play is "not enough evidence", a clear gain is not."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from data.profile import ARENA_PROFILE, GameProfile
from engine.comparison import Difference, Kept, KeptRung, compare, other_look, read_evaluations, refusal
from engine.evaluate import Evaluation, Rung, RungResult, keep, keep_levels
from engine.scoreboard_figures import Scoreboard
from engine.scores import Interval, mean_interval, normalised_interval


def evaluation(
    name: str, gain: float, first_seed: int = 3_000_000, episodes: int = 40, rungs: tuple[Rung, ...] = ("state", "pixels")
) -> Evaluation:
    rng = np.random.default_rng(first_seed)
    worlds = rng.normal(0.0, 4.0, episodes)  # some worlds are easier for everybody
    high, low = 20 + worlds, -6 + worlds
    found: list[RungResult] = []
    for rung in rungs:
        scores = 10 + gain + worlds + np.random.default_rng(len(name)).normal(0.0, 1.0, episodes)
        found.append(
            RungResult(rung, mean_interval(scores), normalised_interval(scores, high, low), tuple(scores.tolist()), {"deaths": 1.0})
        )
    return Evaluation(name, 1, episodes, 60.0, first_seed, "expert", mean_interval(high), mean_interval(low), tuple(found), 1.0)


def kept(workspace: Path, made: Evaluation) -> Kept:
    path = keep(workspace, made, {"policy": made.policy, "causality": 0.9})
    return next(k for k in read_evaluations(workspace)[0] if k.id == path.stem)


@pytest.mark.parametrize("value", ["9" * 400, "NaN", "1e999", "[" * 50_000])
def test_one_strange_evaluation_hides_no_other(value: str, tmp_path: Path) -> None:
    good = kept(tmp_path, evaluation("good", 1.0))
    path = tmp_path / "logs" / "evaluations" / "20200101T000000Z_odd.json"
    text = (path.parent / f"{good.id}.json").read_text()
    told = json.loads(text)
    told["random"]["score"]["value"] = "HERE"
    path.write_text(json.dumps(told).replace('"HERE"', value))
    found, wrong = read_evaluations(tmp_path)
    assert [one.id for one in found] == [good.id]
    assert len(wrong) == 1
    assert wrong[0].startswith(f"{path.name}: cannot be read")


MINE = ARENA_PROFILE.model_copy(update={"name": "mine"})


def judged(workspace: Path, name: str, profile: GameProfile = MINE) -> Kept:
    path = keep_levels(workspace, Scoreboard(name, f"20261128T100000Z_play_{profile.name}", 4.2, causality=0.8), profile, 3.0)
    return next(k for k in read_evaluations(workspace)[0] if k.id == path.stem)


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    made = evaluation("one", 0.0)
    found = kept(tmp_path, made)
    assert (found.policy, found.episodes, found.rules_version) == ("one", 40, 1)
    assert [r.name for r in found.rungs] == ["state", "pixels"]
    assert found.rungs[1].normalised == made.normalised
    assert found.levels["causality"] == 0.9
    assert len(found.at) == 16
    assert read_evaluations(tmp_path / "nothing") == ([], [])


def test_a_judgement_without_a_flight_comes_back_without_any_score(tmp_path: Path) -> None:
    found, arena = judged(tmp_path, "mine-1"), judged(tmp_path, "arena-1", ARENA_PROFILE)
    assert (found.policy, found.game, found.play, found.seconds) == ("mine-1", "mine", "20261128T100000Z_play_mine", 3.0)
    assert (found.levels["minutes"], found.levels["causality"]) == (4.2, 0.8)
    assert (found.rungs, found.hardest) == ((), None)
    assert {found.rules_version, found.episodes, found.first_seed, found.demonstrator, found.random} == {None}
    assert arena.game == "arena"
    assert arena.rules_version is not None
    assert len(found.at) == 16
    value = json.loads((tmp_path / "logs" / "evaluations" / f"{found.id}.json").read_text())
    assert value["play"] == found.play
    assert value["time"].startswith(found.at.replace(" ", "T"))


def test_without_a_flight_there_is_no_difference_in_flying(tmp_path: Path) -> None:
    flown, one, other = kept(tmp_path, evaluation("base", 0.0)), judged(tmp_path, "one"), judged(tmp_path, "other")
    arena = dataclasses.replace(judged(tmp_path, "two", ARENA_PROFILE), rules_version=flown.rules_version)
    assert compare(one, other) == compare(flown, arena) == compare(arena, flown) == []
    assert refusal(flown, one) == "A plays arena, B mine: they cannot be compared"
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(flown, one)


NOT_JUDGED = (
    '{"levels": {"mode": {}}}',
    '{"policy": "x", "levels": {"mode": {}}}',
    '{"policy": "x", "game": "mine", "levels": {}}',
    '{"policy": "x", "game": "mine", "levels": [1]}',
    '{"policy": "x", "game": "mine", "levels": {"mode": {}}, "rules_version": "old"}',
)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"policy": 1}', "\0\0", '{"rungs": [{}]}', *NOT_JUDGED])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: str) -> None:
    kept(tmp_path, evaluation("one", 0.0))
    (tmp_path / "logs" / "evaluations" / "20260101T000000Z_torn.json").write_text(content)
    found, wrong = read_evaluations(tmp_path)
    assert len(found) == 1
    assert wrong[0].startswith("20260101T000000Z_torn.json: cannot be read")


def test_a_clear_gain_and_none_at_all(tmp_path: Path) -> None:
    base, better, same = (kept(tmp_path, evaluation(name, gain)) for name, gain in (("base", 0.0), ("better", 4.0), ("same_", 0.1)))
    up, down, none = compare(base, better), compare(better, base), compare(base, same)
    assert [d.rung for d in up] == ["state", "pixels"]
    assert {d.verdict for d in up} == {"better"}
    assert {d.verdict for d in down} == {"worse"}
    assert up[0].gain.value == pytest.approx(4.0 / 26, abs=0.03)
    assert up[0].paired
    assert up[0].needed is None
    assert {d.verdict for d in none} == {"not enough evidence"}
    assert none[0].gain.low < 0 < none[0].gain.high
    assert none[0].needed is not None
    assert none[0].needed > 40


def test_pairs_need_the_same_seeds_and_scatter_less(tmp_path: Path) -> None:
    base, better = kept(tmp_path, evaluation("base", 0.0)), kept(tmp_path, evaluation("better", 2.0))
    elsewhere = kept(tmp_path, evaluation("elsewhere", 2.0, first_seed=3_500_000))
    (pairs, *_), (apart, *_) = compare(base, better), compare(base, elsewhere)
    assert not apart.paired
    assert apart.gain.high - apart.gain.low > 2 * (pairs.gain.high - pairs.gain.low)


def test_other_rules_and_other_rungs(tmp_path: Path) -> None:
    base, only = kept(tmp_path, evaluation("base", 0.0)), kept(tmp_path, evaluation("only", 1.0, rungs=("pixels",)))
    assert [d.rung for d in compare(base, only)] == ["pixels"]
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(base, dataclasses.replace(only, rules_version=2))


def flown(dice: np.random.Generator, n: int, first_seed: int, worlds: np.ndarray) -> Kept:
    """Nobody's policy, on these worlds: scores are skewed, as those of episodes that may end early are."""
    scores = worlds + dice.gamma(2.0, 3.0, n)
    at = Interval(0.0, 0.0, 0.0, n)
    rungs = (KeptRung("state", at, at, tuple(scores.tolist())),)
    return Kept("id", "p", 2, n, first_seed, Interval(23.0, 22.0, 24.0, n), Interval(-3.0, -4.0, -2.0, n), rungs, {})


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("n", [2, 3, 5, 12, 20])
def test_of_two_policies_that_are_the_same_none_is_found_better(n: int, paired: bool) -> None:
    """At most as often as a 95 % interval promises, with few episodes too."""
    dice = np.random.default_rng(100 * n + paired)
    beside, wrong = 0, 0
    for _ in range(1000):
        worlds = dice.normal(0.0, 4.0, (2, n))
        first, second = flown(dice, n, 1, worlds[0]), flown(dice, n, 1 if paired else 2, worlds[0 if paired else 1])
        (found,) = compare(first, second)
        assert found.paired == paired
        beside += not found.gain.low <= 0 <= found.gain.high
        wrong += found.verdict != "not enough evidence"
    assert beside <= 70
    assert wrong <= (70 if n >= 5 else 0)


def test_a_clear_gain_of_few_episodes_is_no_verdict_but_of_five_it_is() -> None:
    def gained(n: int) -> Difference:
        return Difference("pixels", Interval(0.5, 0.4, 0.6, n), paired=True, needed=None)

    assert (gained(2).verdict, gained(4).verdict, gained(5).verdict) == ("not enough evidence", "not enough evidence", "better")
    assert gained(2).lacking == "2 episodes: too few for a verdict, which takes 5 a side"
    assert gained(5).lacking == ""
    assert dataclasses.replace(gained(5), needed=1570).lacking == "about 1,570 episodes a side would do"


def test_of_two_looks_only_what_sees_no_picture_is_compared(tmp_path: Path) -> None:
    usual, drawn = kept(tmp_path, evaluation("usual", 0.0)), kept(tmp_path, dataclasses.replace(evaluation("drawn", 4.0), look="blueprint"))
    assert [d.rung for d in compare(usual, drawn)] == ["state"]
    assert other_look(usual, drawn) == "A saw the look classic, B blueprint: from pixels they cannot be compared; fly both in one look"
    classic = dataclasses.replace(usual, look="classic")
    assert [d.rung for d in compare(usual, classic)] == ["state", "pixels"], "what kept no look was drawn as usual"
    assert other_look(usual, classic) == ""
    assert [d.rung for d in compare(drawn, drawn)] == ["state", "pixels"]
    (blind,) = [kept(tmp_path, evaluation("blind", 0.0, rungs=("state",)))]
    assert other_look(blind, drawn) == ""
    assert (usual.unusual_look, classic.unusual_look, drawn.unusual_look) == ("", "", "blueprint")


@pytest.mark.parametrize(
    ("play", "known", "kind"),
    [
        ("unseen play of the expert, perception emulated", "", "unseen"),
        ("", "", ""),
        ("20261128T100000Z_play_mine", "", "recordings"),
        ("20261128T100000Z_play_mine, 20261128T110000Z_play_mine (learnt from)", "learnt from", "recordings"),
        ("20261128T100000Z_play_mine (held out)", "held out", "recordings"),
        ("20261128T100000Z_play_mine (held out), 20261128T110000Z_play_mine (learnt from)", "learnt from", "recordings"),
    ],
)
def test_what_the_policy_knew_of_the_play_is_told(play: str, known: str, kind: str) -> None:
    made = Kept("id", "p", 2, None, None, None, None, (), {"play": play})
    assert (made.known_play, made.play_kind) == (known, kind)


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({"play": "unseen play of the expert, perception emulated"}, "unseen play"),
        ({"play": "20261128T100000Z_play_mine"}, "recordings"),
        ({"play": "first evening", "play_kind": "recordings"}, "recordings"),
        ({"play": "first evening (held out)", "play_kind": "recordings"}, "held out"),
        ({"play": "20261128 by the expert", "play_kind": "unseen"}, "unseen play"),
        ({"play": ""}, "not told"),
        ({}, "not told"),
    ],
)
def test_the_kind_of_play_is_told_as_it_was_kept(levels: dict[str, str], said: str) -> None:
    assert Kept("id", "p", 2, None, None, None, None, (), dict(levels)).judged_on == said

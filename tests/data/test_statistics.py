"""Figures of the recordings: counts by formula, learnable rows only, idle time, and what is odd about a session."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from data.metadata import Clock, Metadata, Rates, Stretch
from data.profile import ARENA_PROFILE
from data.statistics import SessionStatistics, Statistics, copies, steps_statistics
from data.steps import Steps
from data.vocabulary import ACTOR_KINDS, MODES
from data.windows import Part, Split, window_count
from tests.trainers.synthetic import session
from trainers import strategist
from trainers.sampling import SamplingSettings


def metadata(seconds: float, **more: object) -> Metadata:
    return Metadata.model_validate(
        {
            "kind": "play",
            "state": "saved",
            "started_at": "2026-11-28T00:00:00Z",
            "profile": ARENA_PROFILE,
            "width_px": 640,
            "height_px": 360,
            "clock": Clock(monotonic_ns=0, wall_s=0.0),
            "duration_s": seconds,
            **more,
        }
    )


def figures(steps: Steps, seconds: float, history: int = 4, **more: object) -> SessionStatistics:
    return steps_statistics("one", metadata(seconds, **more), steps, history)


def test_the_figures_of_ordinary_play() -> None:
    steps = session(40)
    found = figures(steps, 40)
    assert (found.ticks, found.learnable_ticks, found.actors) == (800, 800, {"demonstrator": 800})
    assert found.keys == {"mouse_left": 40}
    assert sum(found.modes.values()) == 800
    assert found.detections_per_tick == 2.0
    assert found.windows == window_count(40, 4).count == 37
    assert found.windows_formula == "floor((40 - 4) / 1) + 1 = 37"
    assert found.idle_share == 0.0
    assert found.suspicious == ()
    fights = dataclasses.replace(steps, said_mode=np.full(800, MODES.index("FIGHT"), np.int8))
    assert figures(fights, 40).suspicious == ("100% of one mode: FIGHT",)


def test_windows_do_not_bridge_what_cannot_be_learnt() -> None:
    steps = session(40)
    actor = steps.actor.copy()
    actor[400:420] = ACTOR_KINDS.index("bot")
    found = figures(dataclasses.replace(steps, actor=actor), 40)
    assert found.learnable_ticks == 780
    assert found.windows == window_count(20, 4).count + window_count(19, 4).count
    assert found.actors == {"demonstrator": 780, "bot": 20}


def test_what_is_shorter_than_the_history_is_one_window() -> None:
    short = figures(session(10), 10, history=32)
    assert (short.windows, short.windows_formula) == (1, "1 of a stretch shorter than 32 s")
    assert figures(session(10).slice(0, 0), 10).windows == 0
    steps = session(45)
    focus = steps.focus.copy()
    focus[[100, 300, 501]] = False
    found = figures(dataclasses.replace(steps, focus=focus), 45, history=8)
    assert found.windows == 1 + 2 + 2 + 7
    assert found.windows_formula == (
        "floor((10 - 8) / 2) + 1 = 2, 2 times and floor((20 - 8) / 2) + 1 = 7 and 1 of a stretch shorter than 8 s"
    )


@pytest.mark.parametrize("seconds", [20, 45, 100])
def test_the_trainer_says_the_same_windows(seconds: int, tmp_path: Path) -> None:
    steps = session(seconds)
    focus = steps.focus.copy()
    focus[100] = False
    steps = dataclasses.replace(steps, focus=focus)
    found = steps_statistics("one", metadata(seconds), steps)
    loop = dataclasses.replace(strategist.QUICK.loop, epochs=1, device="cpu")
    settings = dataclasses.replace(
        strategist.QUICK, loop=loop, phases=1, width=16, layers=1, shorter=0, sampling=SamplingSettings(live=False)
    )
    result = strategist.train([steps], settings, tmp_path, split=Split((Part(0, 0, len(steps)),), (), 0))
    assert f"windows: {found.windows_formula} -> {found.windows} with 1 phases" in result.notes


def test_only_long_pauses_are_idle() -> None:
    steps = session(40)
    still = np.full_like(steps.cursor, 0.5)
    kept = np.arange(len(steps)) < 400  # nothing is pressed any more after 20 s
    offsets = np.minimum(steps.onset_offsets, steps.onset_offsets[400])
    quiet = dataclasses.replace(
        steps,
        cursor=np.where(kept[:, None], steps.cursor, still),
        held=np.where(kept, steps.held, 0).astype(np.uint64),
        onset_offsets=offsets,
        onset_codes=steps.onset_codes[: offsets[-1]],
    )
    assert 0.45 < figures(quiet, 40).idle_share < 0.52


def test_what_is_odd_is_said_with_its_figure() -> None:
    steps = session(20)
    nobody = dataclasses.replace(steps, actor=np.full(len(steps), ACTOR_KINDS.index("bot"), np.int8))
    assert figures(nobody, 20).suspicious == (
        "nothing to learn from: 0 of 400 ticks were played by a person or demonstrator in a focused window",
    )
    assert "recorded without perception" in figures(steps.slice(0, 0), 20).suspicious[0]
    blind = figures(session(20, tracks=False), 20)
    assert any("not one object was found" in line for line in blind.suspicious)
    slow = figures(
        steps,
        20,
        rates=Rates(asked_fps=30, measured_fps=20.5, asked_hz=20, measured_hz=19.9),
        gaps=[Stretch(start_ns=0, end_ns=6_000_000_000, reason="the window is not in focus")],
    )
    assert slow.suspicious == ("20.5 pictures a second instead of 30", "6 s of gaps in 20 s")


def test_the_total_adds_up_and_copies_are_named() -> None:
    sessions = [dataclasses.replace(figures(session(20, seed=seed), 20), id=f"play {seed}") for seed in (1, 2)]
    again = dataclasses.replace(figures(session(20, seed=2), 20), id="play 2 again")
    total = Statistics((*sessions, again)).total()
    assert (total.ticks, total.windows) == (800, sum(s.windows for s in sessions))
    assert total.keys == {"mouse_left": 40}
    assert total.id == "2 sessions without 1 copy"
    assert {name: copy.words for name, copy in copies([*sessions, again]).items()} == {"play 2 again": "the same play as play 2"}
    assert all(a.fingerprint != b.fingerprint for a, b in itertools.pairwise(sessions))


def test_play_counts_once() -> None:
    whole, other, cut, both, small = (
        dataclasses.replace(figures(session(seconds, seed=seed), seconds, details={"made_of": made_of}), id=name)
        for name, seconds, seed, made_of in (
            ("whole", 40, 1, []),
            ("other", 20, 2, []),
            ("cut", 10, 3, ["whole"]),
            ("both", 60, 4, ["other", "whole"]),
            ("small", 5, 5, ["cut", "whole"]),
        )
    )
    everything = Statistics((cut, whole, other, both, small))
    assert {name: copy.words for name, copy in copies(everything.sessions).items()} == {
        "cut": "made from whole",
        "both": "made from other, whole",
        "small": "made from cut, whole",
    }
    total = everything.total()
    assert (total.hours * 3600, total.ticks, total.learnable_ticks) == (60, 1200, 1200)
    assert everything.to_json()["copies"]["cut"] == {"of": ("whole",), "words": "made from whole"}
    assert Statistics((cut, small)).total().ticks == cut.ticks  # the whole is not there: what is left of it counts
    assert copies((cut, small))["small"].already("counted") == "made from cut, which is counted already"
    assert Statistics((small,)).total().ticks == small.ticks


def test_a_whole_cut_and_what_it_was_made_from_are_not_both_left_out() -> None:
    whole = figures(session(20), 20)
    cut = dataclasses.replace(whole, id="a cut", made_of=("one",))
    assert list(copies([cut, whole])) == ["a cut"]
    unseen = dataclasses.replace(whole, ticks=0)  # not perceived: the cut is what is learnt from
    assert copies([cut, unseen]) == {}
    assert list(copies([dataclasses.replace(cut, ticks=0), unseen])) == ["a cut"]


def test_of_two_cuts_with_the_same_play_the_longer_counts() -> None:
    def cut(name: str, begin: int, end: int, **more: object) -> SessionStatistics:
        steps = session(60).slice(begin * 20, end * 20)
        found = figures(steps, end - begin, details={"made_of": ["gone"], "cut_from": {"session": "gone"}}, **more)
        return dataclasses.replace(found, id=name)

    first, second, later = cut("first", 0, 10), cut("second", 5, 25), cut("later", 30, 50)
    assert {name: copy.words for name, copy in copies([first, second, later]).items()} == {"first": "holds 5 s of the same play as second"}
    total = Statistics((first, second, later)).total()
    assert (total.id, total.ticks) == ("2 sessions without 1 copy", 800)
    joined = dataclasses.replace(later, id="joined", clock=("a", "b"))  # moved in time: it can't be told
    assert copies([second, joined])["second"].words == "may hold the same play as joined"


def test_the_total_of_one_session_keeps_its_formula() -> None:
    one = figures(session(40), 40)
    assert Statistics((one,)).total().windows_formula == one.windows_formula


def test_nothing_at_all() -> None:
    total = Statistics().total()
    assert (total.id, total.hours, total.modes, total.suspicious) == ("0 sessions", 0, {}, ())

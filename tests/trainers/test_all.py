"""All three levels in a row, or one alone: each learns from what those above would have said, never from the answer; wherever a stop falls,
what comes back says that it was stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.checkpoint import load
from data.features import UNKNOWN_MODE
from data.models import LEVELS
from data.schema import NO_TARGET
from data.steps import Steps
from data.vocabulary import ACTOR_KINDS
from data.windows import Part
from tests.support.policies import tiny_settings
from tests.trainers.synthetic import session
from trainers import executor, strategist, tactician
from trainers.all import AllResult, train_all, train_one
from trainers.loop import Progress, Result, TrainingError

pytestmark = pytest.mark.timeout(240)


def run(folder: Path, report: Any, **more: Any) -> AllResult:
    sessions = [session(6, seed=i) for i in range(3)]
    return train_all(
        sessions, replace(tiny_settings(), phases=1), {level: folder / level for level in LEVELS}, folder / "flier", report, **more
    )


@pytest.mark.parametrize(
    ("stage", "how"),
    [
        ("strategist folds epoch", "stop"),
        ("strategist folds epoch", "interrupt"),
        ("tactician epoch", "stop"),
        ("tactician folds epoch", "stop"),
    ],
)
def test_a_stop_in_any_stage_is_one(stage: str, how: str, tmp_path: Path) -> None:
    reached = False

    def report(progress: Progress) -> None:
        nonlocal reached
        if progress.stage.startswith(stage) and not reached:
            reached = True
            if how == "interrupt":
                raise KeyboardInterrupt

    result = run(tmp_path, report, stop=lambda: reached and how == "stop")
    assert reached
    assert (result.interrupted, result.policy) == (True, None)
    assert not (tmp_path / "flier").exists()
    assert not list(tmp_path.glob("*/folds"))


def test_ctrl_c_while_a_level_speaks_for_the_one_below_is_a_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*rest: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(tactician, "predict", interrupt)
    result = run(tmp_path, lambda progress: None)
    assert (result.interrupted, result.policy) == (True, None)
    assert set(result.levels) == {"strategist", "tactician"}


def test_ctrl_c_in_the_last_step_of_a_level_is_a_stop_that_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import trainers.loop

    def interrupt(*rest: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(trainers.loop, "load_network", interrupt)
    result = run(tmp_path, lambda progress: None)
    assert (result.interrupted, result.policy) == (True, None)
    assert {level: done.epochs > 0 for level, done in result.levels.items()} == {"strategist": True}


SAID_MODE, SAID_TARGET = 2, 4321
"""What no label ever is in the synthetic sessions."""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the lower levels are given, while those above say the same all the time; and which parts those had learnt from."""
    found: dict[str, Any] = {"learnt": []}
    plain = {level: level.train for level in (strategist, tactician, executor)}

    def spy(level: Any, key: str) -> Any:
        def train(*rest: Any, **more: Any) -> Any:
            given = more.get("modes", rest[7] if len(rest) > 7 else None)
            if Path(rest[2]).parent.name == "folds":
                found["learnt"].append((level, more["split"].train))
            else:
                found[key] = given
            return plain[level](*rest, **more)

        return train

    for level, key in ((strategist, "strategist"), (tactician, "tactician"), (executor, "executor")):
        monkeypatch.setattr(level, "train", spy(level, key))

    def mode(network: Any, normaliser: Any, steps: Any, piece: Any, *rest: Any) -> Any:
        found.setdefault("spoken", []).append((strategist, len(found["learnt"]), piece))
        return np.full(piece.stop - piece.start, SAID_MODE, np.int64)

    def target(network: Any, normalisers: Any, steps: Any, piece: Any, *rest: Any) -> Any:
        found.setdefault("spoken", []).append((tactician, len(found["learnt"]), piece))
        return np.full(piece.stop - piece.start, SAID_TARGET, np.int32)

    monkeypatch.setattr(strategist, "predict", mode)
    monkeypatch.setattr(tactician, "predict", target)
    return found


def alone(level: Any, folder: Path, report: Any = lambda progress: None, **more: Any) -> Result:
    sessions = [session(6, seed=i) for i in range(3)]
    return train_one(level, sessions, replace(tiny_settings(), phases=1), folder / level, report, **more)


@pytest.mark.parametrize("how", ["all", "alone"])
def test_a_level_learns_from_what_those_above_say_and_never_from_the_answer(how: str, tmp_path: Path, told: dict[str, Any]) -> None:
    if how == "all":
        assert run(tmp_path, lambda progress: None).policy is not None
    else:
        assert alone("tactician", tmp_path).epochs
        assert alone("executor", tmp_path).epochs
    assert all((said == SAID_MODE).all() for said in told["tactician"])  # in validation rows too
    assert all((said == SAID_MODE).all() for said in told["executor"].modes)
    assert all((said == SAID_TARGET).all() for said in told["executor"].targets)
    for level, learnt, piece in told["spoken"]:
        models = [parts for who, parts in told["learnt"][:learnt] if who is level]
        if how == "alone" or any(part.session != piece.session for parts in models for part in parts):
            assert all(part.session != piece.session for part in models[-1])
    assert not list(tmp_path.glob("*/folds"))


def test_a_level_alone_learns_with_silence_where_those_above_have_nothing_to_learn_from(
    tmp_path: Path, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*rest: Any, **more: Any) -> Any:
        raise TrainingError("no second of these sessions is labelled")

    monkeypatch.setattr(strategist, "train", refuse)
    notes: list[Progress] = []
    assert alone("executor", tmp_path, notes.append).epochs
    assert any("what a strategist would say: no second of these" in note.message for note in notes)
    assert all((said == UNKNOWN_MODE).all() for said in told["executor"].modes)
    with pytest.raises(TrainingError):
        alone("strategist", tmp_path)


def test_a_tactician_that_has_nothing_to_learn_from_is_silent(
    tmp_path: Path, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*rest: Any, **more: Any) -> Any:
        raise TrainingError("0 examples at 5 Hz")

    monkeypatch.setattr(tactician, "train", refuse)
    notes: list[Progress] = []
    assert alone("executor", tmp_path, notes.append).epochs
    assert any("what a tactician would say: 0 examples" in note.message for note in notes)
    assert all((said == NO_TARGET).all() for said in told["executor"].targets)


def test_a_session_that_the_bot_flew_stands_on_no_side(tmp_path: Path) -> None:
    """However the dice fall: neither is checked on it, nor does a fold learn from it alone."""
    bot = session(6, seed=9)
    bot = replace(bot, actor=np.full_like(bot.actor, ACTOR_KINDS.index("bot")))
    for seed in range(3):
        settings = replace(tiny_settings(), seed=seed)
        sessions = [session(6, seed=1), bot, session(6, seed=2), bot]
        dirs = {level: tmp_path / str(seed) / level for level in ("strategist", "tactician", "executor")}
        result = train_all(sessions, settings, dirs, tmp_path / str(seed) / "policy")
        assert result.policy is not None
        split = load(result.levels["executor"].best).card["split"]
        assert {part[0] for part in (*split["train"], *split["validation"])} == {0, 2}
        assert split["validation"]


def test_nobody_speaks_of_rows_that_are_no_numbers(tmp_path: Path, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Steps] = []
    monkeypatch.setattr(strategist, "predict", lambda network, normaliser, steps, piece, *rest: seen.append(steps) or said(piece))

    def said(piece: Part) -> Any:
        return np.full(piece.stop - piece.start, SAID_MODE, np.int64)

    sessions = [session(6, seed=i) for i in range(3)]
    for steps in sessions:
        steps.track_velocities[40] = np.nan
    assert train_one("tactician", sessions, replace(tiny_settings(), phases=1), tmp_path / "t").epochs
    assert seen
    assert all(steps.left_out is not None and steps.left_out[20] for steps in seen)  # two tracks a row


@pytest.mark.parametrize("stage", ["strategist's words epoch", "tactician's words epoch"])
def test_a_stop_before_the_level_itself_began_is_one(stage: str, tmp_path: Path) -> None:
    reached = False

    def report(progress: Progress) -> None:
        nonlocal reached
        reached = reached or progress.stage.startswith(stage)

    with pytest.raises(KeyboardInterrupt):
        alone("executor", tmp_path, report, stop=lambda: reached)
    assert reached
    assert not list(tmp_path.glob("*/folds"))

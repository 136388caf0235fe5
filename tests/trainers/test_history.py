"""How far back a Strategist looks: what is better on the validation part is taken, and a run that is gone on with keeps it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from data.checkpoint import CheckpointError, checkpoints, load, save
from tests.trainers.synthetic import session
from trainers import strategist
from trainers.loop import LoopSettings, Progress
from trainers.strategist import StrategistSettings

SESSIONS = [session(12, seed=seed) for seed in range(3)]
SETTINGS = StrategistSettings(LoopSettings(epochs=2, batch_size=16), history=8, shorter=3, phases=2, width=8, layers=1, heads=1)


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """What comes out of a run by how far back it looks; to be filled."""
    found: dict[int, float] = {}
    fit = strategist.fit

    def told(task: Any, settings: Any, run_dir: Path, card: Any, *rest: Any) -> Any:
        result = fit(task, settings, run_dir, card, *rest)
        loss = found.get(card["history"])
        return result if loss is None else dataclasses.replace(result, figures={**result.figures, "val_loss": loss})

    monkeypatch.setattr(strategist, "fit", told)
    return found


@pytest.mark.parametrize(("long", "short", "best"), [(0.4, 0.5, 8), (0.5, 0.4, 3), (0.5, 0.5, 8)])
def test_the_history_with_the_lower_validation_loss_is_taken(
    long: float, short: float, best: int, tmp_path: Path, losses: dict[int, float]
) -> None:
    losses.update({8: long, 3: short})
    told: list[Progress] = []
    result = strategist.train(SESSIONS, SETTINGS, tmp_path, told.append)
    card = load(result.best).card
    assert card["history"] == best
    assert f"it sees {best} s: validation loss {long:.3f} with 8 s, {short:.3f} with 3 s" in result.notes
    assert not (tmp_path / "history").exists()
    done = [progress.done for progress in told if "note" not in progress.stage]
    assert done == sorted(done)
    assert done[-1] == 1.0
    assert {progress.stage.split(": ")[0] for progress in told if ": " in progress.stage} == {"if it sees 8 s", "if it sees 3 s"}


def test_a_run_that_is_gone_on_with_sees_as_far_as_before(tmp_path: Path, losses: dict[int, float]) -> None:
    losses.update({8: 0.5, 3: 0.4})
    strategist.train(SESSIONS, SETTINGS, tmp_path)
    losses.update({8: 0.3, 3: 0.4})
    longer = dataclasses.replace(SETTINGS, loop=dataclasses.replace(SETTINGS.loop, epochs=3))
    result = strategist.train(SESSIONS, longer, tmp_path, resume=True)
    assert (result.epochs, load(result.best).card["history"]) == (3, 3)
    assert "resumed after epoch 2" in result.notes


@pytest.mark.parametrize("said", [{}, {"history": 10**9}, {"history": "long"}])
def test_a_run_of_another_level_or_with_an_unlikely_history_is_not_gone_on_with(said: dict[str, Any], tmp_path: Path) -> None:
    strategist.train(SESSIONS, SETTINGS, tmp_path)
    for path in checkpoints(tmp_path):
        found = load(path)
        card = {name: value for name, value in found.card.items() if name != "history"}
        save(path, found.tensors, card | said | {"level": "tactician"})
    with pytest.raises(CheckpointError, match="level: made with tactician, here strategist"):
        strategist.train(SESSIONS, SETTINGS, tmp_path, resume=True)


@pytest.mark.parametrize("at", ["if it sees 8 s", "if it sees 3 s"])
def test_a_stop_while_it_is_tried_is_one(at: str, tmp_path: Path) -> None:
    reached = False

    def report(progress: Progress) -> None:
        nonlocal reached
        reached |= progress.stage.startswith(at)

    result = strategist.train(SESSIONS, SETTINGS, tmp_path, report, stop=lambda: reached)
    assert (result.interrupted, result.epochs) == (True, 0)
    assert not list(tmp_path.iterdir())
    assert result.notes[-1] == "stopped before the first epoch was whole: no model was written"


def test_where_the_shorter_one_is_not_shorter_nothing_is_tried(tmp_path: Path) -> None:
    told: list[str] = []
    settings = dataclasses.replace(SETTINGS, history=3)
    strategist.train(SESSIONS, settings, tmp_path, lambda progress: told.append(progress.stage))
    assert not any("sees" in stage for stage in told)

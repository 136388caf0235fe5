"""The training loop: schedule, resume, torn checkpoints, refusals."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from data.checkpoint import CheckpointError, load, save
from trainers.loop import (
    Batch,
    Figures,
    LoopSettings,
    Progress,
    Result,
    TrainingError,
    checkpoints,
    fit,
    learning_rate_at,
    load_network,
    pick_device,
    tensors_of,
)


class Line:
    """Fits y = 2 x with a dropout, so that the random streams matter."""

    def __init__(self, rows: int = 40, bad: float = 0.0) -> None:
        torch.manual_seed(0)
        self.network = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.2), nn.Linear(8, 1))
        x = torch.randn(rows, 3, generator=torch.Generator().manual_seed(1))
        self.train: Batch = {"x": x, "y": 2 * x.sum(1, keepdim=True) + bad}
        self.validation = self.train

    def loss(self, batch: Batch, generator: torch.Generator) -> tuple[Tensor, Figures]:
        noise = 0.1 * torch.randn(batch["y"].shape, generator=generator)
        return ((self.network(batch["x"]) - batch["y"] - noise) ** 2).mean(), {}

    def validate(self) -> Figures:
        return {"val_loss": float(((self.network(self.validation["x"]) - self.validation["y"]) ** 2).mean())}


SETTINGS = LoopSettings(epochs=6, batch_size=10, learning_rate=1e-2, warmup_steps=5)


def run(folder: Path, settings: LoopSettings = SETTINGS, resume: bool = False, stop_in: int = 0) -> Result:
    seen = [0]

    def stop() -> bool:
        seen[0] += 1
        if stop_in and seen[0] > (stop_in - 1) * 4 + 2:
            raise KeyboardInterrupt
        return False

    return fit(Line(), settings, folder, {"level": "line"}, resume=resume, stop=stop)


def lines(folder: Path) -> tuple[list[tuple[float, float]], list[float]]:
    """Loss and learning rate of each step; validation of each epoch."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    steps = [(r["train_loss"], r["learning_rate"]) for r in rows if "learning_rate" in r]
    return steps, [r["figures"]["val_loss"] for r in rows if "figures" in r]


def test_the_schedule_reaches_peak_and_floor_at_the_named_steps(tmp_path: Path) -> None:
    settings = LoopSettings(epochs=4, batch_size=4, learning_rate=1e-3, warmup_steps=5, floor=0.1)
    fit(Line(40), settings, tmp_path, {})
    rates = [rate for _, rate in lines(tmp_path)[0]]
    assert len(rates) == 40
    assert rates[0] == pytest.approx(2e-4, abs=1e-12)
    assert rates[4] == pytest.approx(1e-3, abs=1e-12)
    assert max(rates) == rates[4]
    assert rates[39] == pytest.approx(1e-4, abs=1e-9)
    assert all(a >= b for a, b in itertools.pairwise(rates[4:]))
    assert learning_rate_at(1, 1, settings) > 0


@pytest.mark.parametrize("total", [1, 3, 7, 8, 20, 60, 99, 100, 101, 799, 800, 5000])
def test_however_short_a_run_is_it_comes_down_to_the_floor(total: int) -> None:
    settings = LoopSettings(epochs=1, batch_size=4, learning_rate=1e-3, floor=0.1)
    rates = [learning_rate_at(step, total, settings) for step in range(1, total + 1)]
    peak = rates.index(max(rates))
    assert peak + 1 <= max(1, min(100, total // 8))
    assert max(rates) == pytest.approx(1e-3)
    if total > 1:
        assert rates[-1] == pytest.approx(1e-4)
    assert all(a >= b for a, b in itertools.pairwise(rates[peak:]))


def test_stop_and_resume_repeat_the_straight_run_exactly(tmp_path: Path) -> None:
    straight = run(tmp_path / "a")
    stopped = run(tmp_path / "b", stop_in=3)
    assert stopped.interrupted
    assert stopped.epochs == 2
    resumed = run(tmp_path / "b", resume=True)
    assert not resumed.interrupted
    assert lines(tmp_path / "b") == lines(tmp_path / "a")
    assert resumed.figures == straight.figures
    for name, values in load(tmp_path / "a" / "last_model").tensors.items():
        np.testing.assert_array_equal(values, load(tmp_path / "b" / "last_model").tensors[name])


def test_a_bad_byte_in_the_curves_is_told_and_stops_no_run(tmp_path: Path) -> None:
    run(tmp_path, stop_in=3)
    path = tmp_path / "metrics.jsonl"
    first, second, *rest = path.read_bytes().splitlines(keepends=True)
    torn = [b"\xff" + second[1:], b'{"epoch": Infinity}\n', b"[1]\n", *rest, b'{"epoch": 1, "st']  # killed in the midst of a line
    path.write_bytes(b"".join([first, *torn]))
    resumed = run(tmp_path, resume=True)
    assert (resumed.interrupted, resumed.epochs) == (False, 6)
    assert f"{path}: lines that cannot be read are passed over (3): its curves have a gap" in resumed.notes
    steps, epochs = lines(tmp_path)
    assert (len(steps), len(epochs)) == (23, 6)


def test_half_a_last_line_of_the_curves_is_nothing_to_tell(tmp_path: Path) -> None:
    run(tmp_path, stop_in=3)
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"epoch": 3, "st')
    assert not any("cannot be read" in note for note in run(tmp_path, resume=True).notes)


def test_what_a_stopped_run_leaves_is_of_its_last_whole_epoch(tmp_path: Path) -> None:
    assert run(tmp_path, stop_in=4).interrupted  # in the middle of the fourth
    last, whole = load(tmp_path / "last_model"), load(tmp_path / "checkpoint_epoch_3")
    assert last.card["epoch"] == 3
    assert all(np.array_equal(values, whole.tensors[name]) for name, values in last.tensors.items())


@pytest.mark.parametrize("where", ["finish", "load_network", "save"])
def test_ctrl_c_after_the_last_epoch_is_a_stop_that_resuming_completes(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import trainers.loop

    def interrupt(*rest: object) -> dict[str, object]:
        raise KeyboardInterrupt

    def interrupt_last(path: Path, *rest: object) -> None:
        if path.name == "last_model":
            raise KeyboardInterrupt
        save(path, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        if where != "finish":
            patched.setattr(trainers.loop, where, interrupt_last if where == "save" else interrupt)
        stopped = fit(Line(), SETTINGS, tmp_path, {"level": "line"}, finish=interrupt if where == "finish" else dict)
    assert (stopped.interrupted, stopped.epochs, stopped.notes[-1]) == (True, 6, "stopped after epoch 6; go on with --resume")
    assert stopped.figures["val_loss"] > 0
    resumed = fit(Line(), SETTINGS, tmp_path, {"level": "line"}, resume=True, finish=lambda: {"threshold": 0.5})
    assert (resumed.interrupted, resumed.epochs, resumed.figures) == (False, 6, stopped.figures)
    assert load(tmp_path / "best_model").card["threshold"] == 0.5


def test_a_torn_checkpoint_falls_back_to_the_one_before_and_says_so(tmp_path: Path) -> None:
    run(tmp_path / "a")
    run(tmp_path / "c", stop_in=5)
    newest = checkpoints(tmp_path / "c")[0]
    assert newest.name == "checkpoint_epoch_4"
    file = newest.with_name(newest.name + ".safetensors")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    resumed = run(tmp_path / "c", resume=True)
    assert any("checkpoint_epoch_4" in note and "falling back" in note for note in resumed.notes)
    assert any("resumed after epoch 3" in note for note in resumed.notes)
    assert lines(tmp_path / "c") == lines(tmp_path / "a")
    load(tmp_path / "c" / "best_model")


def test_only_the_last_checkpoints_are_kept_and_a_helper_run_keeps_none(tmp_path: Path) -> None:
    run(tmp_path / "a")
    assert [p.name for p in checkpoints(tmp_path / "a")] == ["checkpoint_epoch_6", "checkpoint_epoch_5", "checkpoint_epoch_4"]
    run(tmp_path / "b", replace(SETTINGS, checkpoints=False))
    assert checkpoints(tmp_path / "b") == []
    assert (tmp_path / "b" / "best_model.safetensors").is_file()


def test_tensorboard_shows_no_step_twice_after_a_resume(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert run(tmp_path, stop_in=3).interrupted
    steps = len(lines(run(tmp_path, resume=True).run_dir)[0])
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert [event.step for event in events.Scalars("train_loss")] == list(range(1, steps + 1))


def test_tensorboard_events_are_written(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run(tmp_path)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert {"train_loss", "learning_rate", "gradient_norm", "epoch/val_loss"} <= set(events.Tags()["scalars"])
    assert len(events.Scalars("learning_rate")) == 24


def test_longer_training_after_resume_follows_a_new_schedule_and_says_so(tmp_path: Path) -> None:
    run(tmp_path)
    resumed = run(tmp_path, replace(SETTINGS, epochs=8), resume=True)
    assert resumed.epochs == 8
    assert any("new schedule of 32 steps" in note for note in resumed.notes)
    with pytest.raises(CheckpointError, match="batch_size"):
        run(tmp_path, replace(SETTINGS, batch_size=5), resume=True)


def test_too_little_or_too_large_is_said(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="1 training samples: at least 2"):
        fit(Line(1), SETTINGS, tmp_path, {})
    result = fit(Line(10), replace(SETTINGS, batch_size=1024), tmp_path / "big", {})
    assert result.epochs == 6
    assert any("batch size 1024 is larger than the 10 samples" in note for note in result.notes)
    with pytest.raises(TrainingError, match="loss is nan"):
        fit(Line(10, bad=float("nan")), SETTINGS, tmp_path / "nan", {})


def test_stopping_before_the_first_epoch_leaves_no_model(tmp_path: Path) -> None:
    result = fit(Line(), SETTINGS, tmp_path, {}, stop=lambda: True)
    assert result.interrupted
    assert not (tmp_path / "best_model.safetensors").exists()


def test_early_stop(tmp_path: Path) -> None:
    task = Line()
    task.validate = lambda: {"val_loss": 1.0}  # type: ignore[method-assign]
    result = fit(task, replace(SETTINGS, patience=2), tmp_path, {})
    assert result.epochs == 3
    assert any("stopped early" in note for note in result.notes)


def test_what_stopped_early_does_not_go_on_when_resumed(tmp_path: Path) -> None:
    settings = replace(SETTINGS, epochs=12, patience=2)
    losses = [3.0, 2.0, 2.5, 2.6, 0.1, 0.1]

    def once(resume: bool, epochs: int = 12) -> tuple[Result, int]:
        task, steps = Line(), itertools.count()
        plain, coming = task.loss, iter(losses)
        task.validate = lambda: {"val_loss": next(coming)}  # type: ignore[method-assign]
        task.loss = lambda batch, generator: (next(steps), plain(batch, generator))[1]  # type: ignore[method-assign]
        return fit(task, replace(settings, epochs=epochs), tmp_path, {}, resume=resume), next(steps)

    first, steps = once(False)
    assert (first.epochs, steps) == (4, 16)
    before = {name: load(tmp_path / name) for name in ("best_model", "last_model")}
    log = lines(tmp_path)
    for epochs in (12, 20):
        again, steps = once(True, epochs)
        assert steps == 0
        assert (again.epochs, again.figures, again.interrupted) == (4, first.figures, False)
        assert any("stopped early: no better validation since epoch 2" in note for note in again.notes)
        assert lines(tmp_path) == log
        for name, kept in before.items():
            assert load(tmp_path / name).card["epoch"] == kept.card["epoch"]
            for tensor, values in kept.tensors.items():
                np.testing.assert_array_equal(load(tmp_path / name).tensors[tensor], values)


CARD = {
    "level": "line",
    "feature_version": 3,
    "keys": ["q", "e"],
    "classes": ["self", "drone"],
    "profile": {"name": "arena", "picture_size": [640, 360]},
    "rules_version": 5,
    "normaliser": {"x": {"mean": [0.5, 0.25], "std": [1.0, 1.0]}},
    "split": {"seed": 0, "train": [[0, 0, 36_000]], "validation": [[1, 0, 1200]]},
    "labels": "5f3c",
}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("feature_version", 4, "feature_version: made with 3, here 4"),
        ("keys", ["q"], r"keys: made with \['q', 'e'\], here \['q'\]"),
        ("classes", ["self"], "classes: made with"),
        ("profile", {"name": "other"}, "profile: made with arena, here other"),
        ("rules_version", 6, "rules_version: made with 5, here 6"),
        ("normaliser", {"x": {"mean": [0.5, 0.26], "std": [1.0, 1.0]}}, "normaliser: of other play"),
        ("labels", "77aa", "labels: changed since"),
        ("split", {"seed": 0, "train": [[0, 0, 36_001]], "validation": [[1, 0, 1200]]}, "split: of other recordings"),
    ],
)
def test_other_data_is_no_resume(key: str, value: object, words: str, tmp_path: Path) -> None:
    fit(Line(), SETTINGS, tmp_path, CARD)
    with pytest.raises(CheckpointError, match=f"{words}.*resume with the same recordings and settings, or start a new run"):
        fit(Line(), SETTINGS, tmp_path, {**CARD, key: value}, resume=True)


def test_a_refused_resume_names_every_difference_and_the_same_data_goes_on(tmp_path: Path) -> None:
    fit(Line(), SETTINGS, tmp_path, CARD)
    rounded = {"x": {"mean": [0.5000001, 0.25], "std": [1.0, 1.0]}}  # another processor's last digits
    moved = {"name": "arena", "picture_size": [1280, 720]}
    assert fit(Line(), SETTINGS, tmp_path, {**CARD, "normaliser": rounded, "profile": moved}, resume=True).epochs == 6
    other = {**CARD, "rules_version": 6, "split": {"seed": 1, "train": [], "validation": []}}
    with pytest.raises(CheckpointError) as refused:
        fit(Line(), replace(SETTINGS, batch_size=5), tmp_path, other, resume=True)
    assert all(word in str(refused.value) for word in ("batch_size: made with 10, here 5", "rules_version", "split"))


def test_an_absent_gpu_becomes_the_cpu_with_a_note() -> None:
    notes: list[str] = []
    if not torch.cuda.is_available():
        assert pick_device("cuda", notes).type == "cpu"
        assert "cuda" in notes[0]
        assert pick_device("auto", notes).type == "cpu"
    assert pick_device("cuda:99", notes).type == "cpu"
    with pytest.raises(TrainingError, match="not a device"):
        pick_device("toaster", notes)


def test_a_checkpoint_of_another_network_is_refused_whole(tmp_path: Path) -> None:
    run(tmp_path)
    wider = nn.Sequential(nn.Linear(3, 9), nn.Dropout(0.2), nn.Linear(9, 1))
    before = tensors_of(wider)
    with pytest.raises(CheckpointError, match=r"wrong shape: 0\.bias"):
        load_network(wider, tmp_path / "best_model")
    for name, values in tensors_of(wider).items():
        np.testing.assert_array_equal(values, before[name])
    compiled = {f"_orig_mod.{n}": v for n, v in load(tmp_path / "best_model").tensors.items()}
    save(tmp_path / "compiled", compiled, {})
    load_network(Line().network, tmp_path / "compiled")


def test_progress_tells_stage_share_and_time_left(tmp_path: Path) -> None:
    told: list[Progress] = []
    fit(Line(), SETTINGS, tmp_path, {}, told.append)
    epochs = [p for p in told if p.stage.startswith("epoch")]
    assert [p.stage for p in epochs] == [f"epoch {i}/6" for i in range(1, 7)]
    assert epochs[-1].done == 1.0
    assert all(p.eta_s is not None and p.eta_s >= 0 for p in epochs)
    assert epochs[0].run_dir == str(tmp_path)

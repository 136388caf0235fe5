"""The detector's recipe, on pictures so small that a few steps take seconds."""

import json
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainers import detector
from trainers.detector import (
    DetectorProgress,
    DetectorSettings,
    TrainedDetector,
    dataset_classes,
    export_onnx,
    train_detector,
    usable_device,
)
from trainers.networks.yolo import DetectorTrainingError, build_network, load_weights, save_weights

pytestmark = pytest.mark.timeout(180)  # imports Ultralytics and torch, which takes long on a busy machine

CLASSES = ("ship", "bolt")
SMALL = DetectorSettings(epochs=2, batch=4, size=(96, 64), threads=1)


def yolo_folder(folder: Path, n: int = 4) -> Path:
    """Pictures of 96x54 with one white square each."""
    import cv2

    dice = np.random.default_rng(0)
    for part in ("train", "val"):
        (folder / "images" / part).mkdir(parents=True)
        (folder / "labels" / part).mkdir(parents=True)
        for k in range(n):
            image = np.full((54, 96, 3), 20, np.uint8)
            x, y = int(dice.integers(8, 88)), int(dice.integers(8, 46))
            image[y - 6 : y + 6, x - 6 : x + 6] = 255
            cv2.imwrite(str(folder / "images" / part / f"{k}.png"), image)
            (folder / "labels" / part / f"{k}.txt").write_text(f"0 {x / 96} {y / 54} {12 / 96} {12 / 54}\n", encoding="utf-8")
    (folder / "data.yaml").write_text("train: images/train\nval: images/val\nnames:\n  0: ship\n  1: bolt\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return yolo_folder(tmp_path_factory.mktemp("pictures"))


class Trained:
    def __init__(self, result: TrainedDetector, folder: Path, told: list[DetectorProgress], asked: list[object]) -> None:
        self.result, self.folder, self.told, self.asked = result, folder, told, asked


@pytest.fixture(scope="module")
def trained(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("run")
    told: list[DetectorProgress] = []
    asked: list[object] = []

    def refuse(*arguments: object, **_named: object) -> object:
        asked.append(arguments)
        raise OSError("no network in tests")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        result = train_detector(dataset, folder, SMALL, told.append)
    return Trained(result, folder, told, asked)


def test_training_runs_whole_and_tells_how_far_it_is(trained: Trained) -> None:
    assert trained.result.complete
    assert trained.result.epochs_done == 2
    assert trained.result.classes == CLASSES
    done = [p.done for p in trained.told]
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1.0)
    assert {p.stage for p in trained.told} == {"epoch 1/2", "epoch 2/2"}
    assert any(p.eta_s is not None for p in trained.told)


def test_training_reaches_for_no_network(trained: Trained) -> None:
    assert trained.asked == []


def test_training_leaves_tensors_and_metrics_and_no_pickles(trained: Trained) -> None:
    lines = [json.loads(line) for line in (trained.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2]
    assert all(line["train_loss"] > 0 for line in lines)
    assert {"val_map50", "val_map50_95", "learning_rate"} <= set(lines[0])
    names = {p.name for p in trained.folder.rglob("*") if p.is_file()}
    assert {"best_model.safetensors", "last_model.safetensors"} <= names
    assert not [n for n in names if n.endswith((".pt", ".pkl"))]


def test_epochs_are_judged_at_the_size_that_flies(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures padded further make every second epoch look bad, and a worse one is kept."""
    seen: list[Any] = []
    told = detector._Run.on_train_start

    def look(run: Any, trainer: Any) -> None:
        seen.append(trainer)
        told(run, trainer)

    monkeypatch.setattr(detector._Run, "on_train_start", look)
    train_detector(dataset, tmp_path, SMALL, should_stop=lambda: True)
    for loader in (seen[0].train_loader, seen[0].test_loader):
        assert {tuple(shape) for shape in loader.dataset.batch_shapes.tolist()} == {(64, 96)}


def test_stopped_training_saves_and_leaves_the_thread_count_alone(trained: Trained, dataset: Path, tmp_path: Path) -> None:
    import torch

    before = torch.get_num_threads()
    start = trained.folder / "best_model.safetensors"
    stopped = train_detector(dataset, tmp_path, SMALL, should_stop=lambda: True, start_from=start)
    assert torch.get_num_threads() == before
    assert not stopped.complete
    assert stopped.epochs_done == 0
    assert (tmp_path / "best_model.safetensors").exists(), "what was learnt so far is saved"
    with pytest.raises(DetectorTrainingError, match="does not fit the network"):
        load_weights(build_network(("a", "b", "c")), start)


def test_ctrl_c_saves(dataset: Path, tmp_path: Path) -> None:
    def interrupt(_step: DetectorProgress) -> None:
        raise KeyboardInterrupt

    stopped = train_detector(dataset, tmp_path, SMALL, interrupt)
    assert not stopped.complete
    assert (tmp_path / "last_model.safetensors").exists()


def test_onnx_gives_what_torch_gives(trained: Trained, tmp_path: Path) -> None:
    report = export_onnx(
        trained.result.network, tmp_path / "d.onnx", SMALL.size, np.random.default_rng(1).random((2, 3, 64, 96), np.float32)
    )
    assert report.box_difference_px < 0.01
    assert report.score_difference < 1e-4
    assert report.size_bytes == (tmp_path / "d.onnx").stat().st_size < 6 * 2**20


def test_tensors_come_back_exactly(tmp_path: Path) -> None:
    import torch

    network, twin = build_network(CLASSES), build_network(CLASSES)
    save_weights(network, tmp_path / "w.safetensors")
    load_weights(twin, tmp_path / "w.safetensors")
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, twin.state_dict()[name]), name
    assert sum(p.numel() for p in network.parameters()) < 500_000


def test_wrong_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(DetectorTrainingError, match=r"data\.yaml is missing"):
        dataset_classes(tmp_path)
    (tmp_path / "data.yaml").write_text("names: [a, b]\n", encoding="utf-8")
    with pytest.raises(DetectorTrainingError, match="holds no pictures"):
        dataset_classes(tmp_path)
    (tmp_path / "data.yaml").write_text("- 3\n", encoding="utf-8")
    with pytest.raises(DetectorTrainingError, match="no list of class names"):
        dataset_classes(tmp_path)


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"batch": 0}, {"size": (320, 180)}, {"size": (32, 32)}])
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        DetectorSettings(**wrong)  # type: ignore[arg-type]


def test_a_device_is_usable_or_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert (usable_device("auto"), usable_device("cpu")) == ("cpu", "cpu")
    with pytest.raises(DetectorTrainingError, match=r"device cuda: not on this machine \(0 GPUs\); use auto or cpu"):
        usable_device("cuda")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert [usable_device(name) for name in ("auto", "cuda", "cuda:1", "cpu")] == ["cuda:0", "cuda:0", "cuda:1", "cpu"]
    with pytest.raises(DetectorTrainingError, match=r"\(2 GPUs\)"):
        usable_device("cuda:2")
    for wrong in ("tpu", "cuda:x", ""):
        with pytest.raises(DetectorTrainingError, match="use auto, cpu, cuda or cuda:N"):
            usable_device(wrong)

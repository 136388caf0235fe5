"""The detector's recipe: a very small YOLO11 trained from random weights on a folder of labelled pictures.

Notable choices:
- The network (``networks.yolo``) is small and has a fine grid: quantity of pictures decides, not of parameters.
- Trained and validated at the size it flies (no mosaic, no scaling): another size loses up to half of the accuracy. Ultralytics pads
  validation pictures further; left so, the epoch that is kept as the best one is chosen by luck.
- Pictures of a game with a fixed camera are never rotated or zoomed; flips are free variety.
- What is kept are tensors (safetensors) and an ONNX graph, never pickles.

Training needs Ultralytics (AGPL-3.0); running the ONNX file does not.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from data.files import write_whole
from data.offline import stay_offline
from trainers.networks.yolo import NETWORK, DetectorTrainingError, build_network, load_weights, save_weights

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """``size`` is width, height in px, both multiples of 32. ``width`` scales the channels of YOLO11."""

    epochs: int = 12
    batch: int = 16
    learning_rate: float = 0.003
    size: tuple[int, int] = (320, 192)
    width: float = 0.125
    seed: int = 0
    threads: int = 2
    device: str = "auto"
    """auto (a GPU where there is one), cpu, cuda or cuda:N; see ``usable_device``."""
    cache_pictures: bool = True
    flips: bool = True
    """Learn from mirrored pictures too: only right where a mirrored picture of the game would be as true."""
    workers: int = 0
    """Loader processes. They are forked, so only a process of its own with no live threads may ask for some."""

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1:
            raise ValueError(f"epochs {self.epochs} and batch {self.batch} must be at least 1")
        if any(side < 64 or side % 32 for side in self.size):
            raise ValueError(f"size {self.size[0]}x{self.size[1]}: both sides must be multiples of 32, at least 64")


@dataclass(frozen=True, slots=True)
class DetectorProgress:
    """Where training stands. ``done`` 0..1; ``figures`` are the newest losses and, once an epoch, mAP."""

    stage: str
    done: float
    eta_s: float | None
    figures: dict[str, float]


@dataclass(frozen=True, slots=True)
class TrainedDetector:
    """``network`` is the trained torch module (fused is not yet done), ``complete`` False when it was stopped."""

    network: Any
    classes: tuple[str, ...]
    complete: bool
    epochs_done: int
    figures: dict[str, float]


ProgressCallback = Callable[[DetectorProgress], None]


def train_detector(
    dataset: Path,
    output_dir: Path,
    settings: DetectorSettings,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
    start_from: Path | None = None,
) -> TrainedDetector:
    """Train on a YOLO folder (``dataset/data.yaml``, ``images/train``, ``images/val`` and labels beside them).

    Writes ``metrics.jsonl`` (a line an epoch), ``last_model.safetensors`` after each epoch and
    ``best_model.safetensors`` (best validation mAP50-95) into ``output_dir``. Ctrl-C and ``should_stop`` (asked after
    every batch) save and return what was learnt so far with ``complete=False``. ``start_from`` are tensors of an
    earlier run of the same network.

    Raises DetectorTrainingError when the folder holds no pictures, the device is not there or Ultralytics is missing.
    """
    classes = dataset_classes(dataset)
    settings = replace(settings, device=usable_device(settings.device))
    output_dir.mkdir(parents=True, exist_ok=True)
    stay_offline()
    import torch

    network = build_network(classes, settings.width)
    if start_from is not None:
        load_weights(network, start_from)
    run = _Run(output_dir, settings, progress or _ignore, should_stop or _never)
    threads_before = torch.get_num_threads()
    try:
        with _quiet():
            trainer = _make_trainer(network, dataset, output_dir, settings, run)
            try:
                trainer.train()
                complete = not run.stopped
            except KeyboardInterrupt:
                complete = False
    finally:
        torch.set_num_threads(threads_before)
    if not run.epochs_done and not complete:
        run.save(trainer, best=True)
    best = output_dir / "best_model.safetensors"
    trained = build_network(classes, settings.width)
    load_weights(trained, best if best.exists() else output_dir / "last_model.safetensors")
    return TrainedDetector(trained.eval(), classes, complete, run.epochs_done, run.figures)


def usable_device(wanted: str) -> str:
    """``auto``: the first GPU where there is one, else the CPU; anything else as it is.

    Raises DetectorTrainingError for a GPU that this machine has not, and for what is no device: pictures are made for minutes
    before training begins, and a detector on the CPU takes hours.
    """
    from trainers.device import TrainingError, pick_device

    missing: list[str] = []
    try:
        device = pick_device(wanted, missing)
    except TrainingError as error:
        raise DetectorTrainingError(str(error)) from error
    if missing:
        raise DetectorTrainingError(f"{missing[0].partition(';')[0]}; use auto or cpu")
    if device.type not in ("cpu", "cuda"):
        raise DetectorTrainingError(f"device {wanted!r}: a detector trains on the CPU or with CUDA; use auto, cpu, cuda or cuda:N")
    return f"cuda:{device.index or 0}" if device.type == "cuda" else "cpu"


def dataset_classes(dataset: Path) -> tuple[str, ...]:
    """The class names of a YOLO folder. Raises DetectorTrainingError when it is not one."""
    import yaml

    path = dataset / "data.yaml"
    try:
        described = yaml.safe_load(path.read_text(encoding="utf-8"))
        names = described["names"]
        classes = tuple(str(n) for n in (names.values() if isinstance(names, dict) else names))
    except FileNotFoundError as error:
        raise DetectorTrainingError(f"{path} is missing; give a YOLO folder (data.yaml, images/, labels/)") from error
    except (KeyError, TypeError, yaml.YAMLError) as error:
        raise DetectorTrainingError(f"{path}: no list of class names under 'names' ({error})") from error
    for part in ("train", "val"):
        folder = dataset / "images" / part
        if not folder.is_dir() or next(folder.iterdir(), None) is None:
            raise DetectorTrainingError(f"{folder} holds no pictures; a detector needs some to train on and some to be judged by")
    return classes


class _Run:
    """Watches one training: progress, metrics, weights, and the wish to stop."""

    def __init__(self, folder: Path, settings: DetectorSettings, progress: ProgressCallback, should_stop: Callable[[], bool]) -> None:
        self.folder, self.settings, self.progress, self.should_stop = folder, settings, progress, should_stop
        self.stopped, self.epochs_done, self.figures = False, 0, dict[str, float]()
        self._stdout = sys.stdout
        self.started_s, self._batch, self._best = time.monotonic(), 0, -1.0

    def on_train_start(self, trainer: Any) -> None:
        import torch

        torch.set_num_threads(self.settings.threads)  # Ultralytics has set its own count by now
        self.started_s = time.monotonic()
        self._report(trainer)

    def on_train_epoch_start(self, trainer: Any) -> None:
        del trainer
        self._batch = 0

    def on_train_batch_end(self, trainer: Any) -> None:
        self._batch += 1
        self._report(trainer)
        if self.should_stop():
            self.stopped = trainer.stop = True

    def on_fit_epoch_end(self, trainer: Any) -> None:
        if trainer.epoch + 1 <= self.epochs_done:
            return  # also called once more after the last epoch
        if self.stopped:
            self.save(trainer, best=self._best < 0)
            return
        self.epochs_done, self._batch = trainer.epoch + 1, 0
        losses = {f"train_{k.split('/')[-1]}": float(v) for k, v in (trainer.tloss or {}).items()}
        found = trainer.metrics or {}
        self.figures = {
            **losses,
            "train_loss": sum(losses.values()),
            "val_map50": float(found.get("metrics/mAP50(B)", 0.0)),
            "val_map50_95": float(found.get("metrics/mAP50-95(B)", 0.0)),
            "learning_rate": float(next(iter(trainer.lr.values()), 0.0)),
        }
        line = {"epoch": self.epochs_done, "time_s": round(time.monotonic() - self.started_s, 1), **self.figures}
        with open(self.folder / "metrics.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        better = self.figures["val_map50_95"] > self._best
        self._best = max(self._best, self.figures["val_map50_95"])
        self.save(trainer, best=better)
        self._report(trainer)

    def save(self, trainer: Any, best: bool) -> None:
        source = trainer.ema.ema if getattr(trainer, "ema", None) is not None else trainer.model
        save_weights(source, self.folder / "last_model.safetensors")
        if best:
            save_weights(source, self.folder / "best_model.safetensors")

    def _report(self, trainer: Any) -> None:
        per_epoch = max(1, len(trainer.train_loader))
        done = min(1.0, (self.epochs_done + self._batch / per_epoch) / self.settings.epochs)
        passed_s = time.monotonic() - self.started_s
        eta_s = passed_s * (1.0 - done) / done if done > 0.005 else None
        epoch = min(self.epochs_done + 1, self.settings.epochs)
        with contextlib.redirect_stdout(self._stdout):  # only Ultralytics is silenced, not who listens
            self.progress(DetectorProgress(f"epoch {epoch}/{self.settings.epochs}", done, eta_s, dict(self.figures)))


def _make_trainer(network: Any, dataset: Path, output_dir: Path, settings: DetectorSettings, run: _Run) -> Any:
    from ultralytics.data import YOLODataset
    from ultralytics.models.yolo.detect import DetectionTrainer

    class Trainer(DetectionTrainer):
        """Ultralytics' trainer on our network; it writes no pickles: ``_Run`` saves the tensors."""

        def get_model(self, cfg: object = None, weights: object = None, verbose: bool = True) -> Any:
            del cfg, weights, verbose
            return network

        def build_dataset(self, img_path: str, mode: str = "train", batch: int | None = None) -> Any:
            if mode == "train":
                return super().build_dataset(img_path, mode, batch)
            return YOLODataset(
                img_path=img_path,
                imgsz=self.args.imgsz,
                batch_size=batch or settings.batch,
                augment=False,
                hyp=self.args,
                rect=True,
                cache=self.args.cache,
                stride=32,
                pad=0.0,
                prefix="val: ",
                task=self.args.task,
                data=self.data,
            )

        def save_model(self) -> Any:
            return None

        def final_eval(self) -> None:
            return

    overrides = {
        "task": "detect",
        "model": f"{NETWORK}.yaml",
        "data": str(_resolved_yaml(dataset, output_dir)),
        "epochs": settings.epochs,
        "batch": settings.batch,
        "imgsz": max(settings.size),
        "rect": True,
        "optimizer": "AdamW",
        "lr0": settings.learning_rate,
        "lrf": 0.02,
        "warmup_epochs": min(1.0, settings.epochs / 10),
        "nbs": settings.batch,
        "weight_decay": 0.0005,
        "cos_lr": True,
        "seed": settings.seed,
        "device": settings.device,
        "workers": settings.workers,
        "cache": "ram" if settings.cache_pictures else False,
        "pretrained": False,
        "project": str(output_dir),
        "name": "ultralytics",
        "exist_ok": True,
        "plots": False,
        "verbose": False,
        "amp": False,  # gains nothing on so small a network, and Ultralytics would fetch another one to check it
        "mosaic": 0.0,
        "close_mosaic": 0,
        "translate": 0.0,
        "scale": 0.0,
        "fliplr": 0.5 if settings.flips else 0.0,
        "flipud": 0.5 if settings.flips else 0.0,
        "hsv_h": 0.06,
        "hsv_s": 0.4,
        "hsv_v": 0.3,
        "erasing": 0.0,
        "patience": settings.epochs,
    }
    trainer = Trainer(overrides=overrides)
    for event in ("on_train_start", "on_train_epoch_start", "on_train_batch_end", "on_fit_epoch_end"):
        trainer.add_callback(event, getattr(run, event))
    return trainer


def _resolved_yaml(dataset: Path, output_dir: Path) -> Path:
    """A copy of data.yaml that names the folder absolutely: the folder's own stays movable."""
    import yaml

    described = {
        "path": str(dataset.resolve()),
        "train": "images/train",
        "val": "images/val",
        "names": dict(enumerate(dataset_classes(dataset))),
    }
    path = output_dir / "data_here.yaml"
    write_whole(path, yaml.safe_dump(described, sort_keys=False).encode())
    return path


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Ultralytics prints bars and logs tables; progress goes through the callback instead."""
    logger = logging.getLogger("ultralytics")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


@dataclass(frozen=True, slots=True)
class ExportReport:
    """``largest_difference`` between torch and ONNX Runtime: boxes in px of the network's input, scores 0..1."""

    path: Path
    size_bytes: int
    box_difference_px: float
    score_difference: float


def export_onnx(network: Any, path: Path, size: tuple[int, int], samples: np.ndarray | None = None) -> ExportReport:
    """Write a static ONNX graph (batch 1, ``images`` float32 [1, 3, height, width] in 0..1) and compare it with torch.

    samples: float32 [N, 3, H, W] to compare on; a random picture when None.
    Raises DetectorTrainingError when the two differ by more than 0.1 px or 0.001 in a score.
    """
    import torch

    fused = deepcopy(network).cpu().float().eval()
    width, height = size
    example = torch.zeros(1, 3, height, width)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        fused.fuse(verbose=False)
        for module in fused.modules():
            if hasattr(module, "export"):
                module.export, module.format = True, "onnx"
        fused(example)
        buffer = io.BytesIO()
        export: Any = torch.onnx.export  # its type knows files only, not buffers
        export(fused, (example,), buffer, input_names=["images"], output_names=["output0"], opset_version=17, dynamo=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, buffer.getvalue())
    if samples is None:
        samples = np.random.default_rng(0).random((1, 3, height, width), np.float32)
    box_px, score = _largest_difference(fused, path, samples)
    if box_px > 0.1 or score > 0.001:
        raise DetectorTrainingError(
            f"{path} differs from the torch network by {box_px:.3f} px and {score:.4f} in a score; it is not usable"
        )
    return ExportReport(path, path.stat().st_size, box_px, score)


def _largest_difference(network: Any, path: Path, samples: np.ndarray) -> tuple[float, float]:
    import onnxruntime
    import torch

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    box_px = score = 0.0
    for sample in samples[:, None]:
        with torch.no_grad():
            ours: Any = network(torch.from_numpy(np.ascontiguousarray(sample)))
        ours = (ours[0] if isinstance(ours, tuple) else ours).numpy()
        theirs: Any = session.run(None, {"images": sample})[0]
        scores, found = ours[:, 4:], ours[:, 4:].max(1) > 0.05
        score = max(score, float(np.abs(scores - theirs[:, 4:]).max()))
        if found.any():
            gap = np.abs(ours[:, :4] - theirs[:, :4]).transpose(0, 2, 1)[found]
            box_px = max(box_px, float(gap.max()))
    return box_px, score


def _ignore(progress: DetectorProgress) -> None:
    del progress


def _never() -> bool:
    return False

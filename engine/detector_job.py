"""Training the arena's detector, from nothing to a file that flies: pictures, training, export, judgement, card."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from data.profile import ARENA_PROFILE, GameProfile
from data.workspace import Workspace
from engine.arena_pictures import BOX_SCALES, HELD_OUT_SEED, SEEN_LOOKS, TRAIN_SEED, picture_version, write_yolo_folder
from engine.arena_pictures import pictures as labelled_pictures
from engine.perception.card import DetectorCard, DetectorError, file_sha256
from engine.perception.detector import Detector, open_detector
from engine.perception.judging import Labelled, judge
from engine.perception.tracker import BEGIN_AT
from engine.runtime.progress import EtaReport, Progress, Report, ignore, part
from league.arena import sizes
from league.arena.looks import HELD_OUT
from trainers.detector import DetectorProgress, DetectorSettings, TrainedDetector, export_onnx, train_detector, usable_device
from trainers.networks.yolo import NETWORK, build_network, load_weights, require_ultralytics, save_weights

JUDGED_SEED: Final = HELD_OUT_SEED + 1_500_000
"""World seeds that neither training nor the choice of the best epoch has seen."""
LARGE_PX: Final = 14.0
MOST_EXPORT_GAP: Final = 0.01
"""An exported detector may be so far from its torch network, in mean average precision."""
COMMAND: Final = "secondseat train detector --source arena"


@dataclass(frozen=True, slots=True)
class DetectorResult:
    """``weights``: the ONNX file; its card (.json) and tensors (.safetensors) lie beside it."""

    weights: Path
    complete: bool
    figures: dict[str, Any]

    def __str__(self) -> str:
        state = "" if self.complete else " (stopped early)"
        gap = self.figures["exports"]["largest_difference"]
        if gap > MOST_EXPORT_GAP:
            state += f"; its exports differ by {gap:.3f} mAP from torch: fly the .safetensors instead"
        precision = f"mAP50 {self.figures['map50']:.2f}, mAP50-95 {self.figures['map50_95']:.2f}"
        return f"{self.weights.parent.name}/{self.weights.name}: {precision}{state}"


def train_arena_detector(
    workspace: Path,
    pictures: int = 2600,
    judged: int = 300,
    settings: DetectorSettings | None = None,
    report: Report = ignore,
    should_stop: Callable[[], bool] | None = None,
    run_name: str | None = None,
    start_from: Path | None = None,
    **changed: Any,
) -> DetectorResult:
    """Train a detector for the arena in ``<workspace>/models/detector/<run>/``.

    Makes its own pictures (in the run's folder, removed afterwards). Ctrl-C while it trains saves and judges what was
    learnt so far; while it makes pictures it raises KeyboardInterrupt. ``start_from`` are tensors of an earlier run.
    ``changed``: fields of the settings by name (``epochs=3``); device ``auto`` is a GPU where there is one.

    Raises WorkspaceError when the workspace cannot be written to, trainers.networks.yolo.DetectorTrainingError when
    Ultralytics is missing, the device is not there, or ``start_from`` is not of this network.
    """
    require_ultralytics()  # not after ten minutes of making pictures
    chosen = replace(settings if settings is not None else DetectorSettings(size=ARENA_PROFILE.detector_size), **changed)
    chosen = replace(chosen, device=usable_device(chosen.device))
    if start_from is not None:
        load_weights(build_network(sizes.CLASSES, chosen.width), start_from)
    place = Workspace(workspace)
    name = run_name if run_name is not None else time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + "_arena"
    folder = place.made(place.models / "detector" / name)
    told = EtaReport(report)
    dataset = folder / "pictures"
    run_dir = place.relative(folder)
    try:
        write_yolo_folder(
            dataset,
            pictures,
            max(8, pictures // 13),
            chosen.seed,
            lambda done: told(Progress("pictures", 0.05 * done, run_dir=run_dir)),
            should_stop,
            chosen.threads,
        )
        learning = part(told, 0.05, 0.85)

        def forward(step: DetectorProgress) -> None:
            learning(Progress(step.stage, step.done, step.eta_s, _as_text(step.figures), run_dir))

        trained = train_detector(dataset, folder, chosen, forward, should_stop, start_from)
    finally:
        shutil.rmtree(dataset, ignore_errors=True)
    training: dict[str, Any] = {"pictures": pictures, "epochs": trained.epochs_done, "complete": trained.complete, **_settings(chosen)}
    if start_from is not None:
        training["started_from"] = start_from.name
    return finish(trained, folder / "arena_detector.onnx", chosen, training, judged, part(told, 0.9, 0.1))


def finish(
    trained: TrainedDetector, weights: Path, settings: DetectorSettings, training: dict[str, Any], n_judged: int, progress: Report = ignore
) -> DetectorResult:
    """Export, judge on pictures of unseen seeds, and write tensors, ONNX and card."""
    save_weights(trained.network, weights.with_suffix(".safetensors"))
    exported = export_onnx(trained.network, weights, settings.size)
    card = DetectorCard(
        game=ARENA_PROFILE.name,
        classes=trained.classes,
        size=settings.size,
        network=NETWORK,
        width=settings.width,
        command=command_of(training, settings.seed),
        seed=settings.seed,
        sha256=file_sha256(weights),
        picture_version=picture_version(),
        box_scales=BOX_SCALES,
        training=training,
    )
    card.write(weights.with_suffix(".json"))
    figures = arena_figures(open_detector(weights, ARENA_PROFILE, "onnxruntime"), n_judged, progress=progress)
    unseen = arena_figures(open_detector(weights, ARENA_PROFILE, "onnxruntime"), max(8, n_judged // 3), looks=(HELD_OUT,))
    figures["unseen_look"] = {name: value for name, value in unseen.items() if not isinstance(value, dict)}
    figures["exports"] = exports_against_torch(weights, ARENA_PROFILE, max(8, n_judged // 5))
    figures["ms_per_picture"] = speeds(weights, ARENA_PROFILE, min(60, 5 + n_judged))
    figures["torch_onnx_difference"] = {"box_px": round(exported.box_difference_px, 5), "score": exported.score_difference}
    figures["size_bytes"] = exported.size_bytes
    replace(card, figures=figures).write(weights.with_suffix(".json"))
    return DetectorResult(weights, trained.complete, figures)


def arena_figures(
    detector: Detector,
    n: int,
    seed: int = JUDGED_SEED,
    coded_share: float = 0.4,
    progress: Report = ignore,
    looks: Sequence[str] = SEEN_LOOKS,
) -> dict[str, Any]:
    """The detector's figures on ``n`` pictures of unseen seeds (see ``judging.judge``), the recall of shots, and the mean
    over the classes whose things measure 14 px and more."""

    def looked() -> Iterator[Labelled]:
        for k, picture in enumerate(labelled_pictures(n, seed, coded_share, looks=looks)):
            height, width = picture.image.shape[:2]
            yield Labelled(picture.classes, picture.boxes, detector.detect(picture.image, 0.01), width, height)
            if k % 20 == 0:
                progress(Progress("judging", k / n))

    figures = judge(looked(), ARENA_PROFILE.class_names(), BEGIN_AT)
    shots = [figures["classes"][name] for name in ("shot", "hostile_shot")]
    total = sum(s["n"] for s in shots)
    figures["shot_recall_3px"] = round(sum(s["near_recall"] * s["n"] for s in shots) / total, 4) if total else 0.0
    large = [c for name, c in figures["classes"].items() if c["n"] and sizes.BOX_PX.get(name, LARGE_PX) >= LARGE_PX]
    for key in ("ap50", "ap50_95"):
        figures[f"m{key}_large"] = round(sum(c[key] for c in large) / len(large), 4) if large else 0.0
    figures["seed"], figures["confidence"] = seed, BEGIN_AT
    return figures


def exports_against_torch(weights: Path, profile: GameProfile, n: int = 60, seed: int = JUDGED_SEED) -> dict[str, Any]:
    """Mean average precision by every runtime that works here, on the same ``n`` pictures of all looks, and the largest
    difference between two of them (in ``map50`` or ``map50_95``)."""
    shown = list(labelled_pictures(n, seed, looks=(*SEEN_LOOKS, HELD_OUT)))
    by_runtime: dict[str, dict[str, float]] = {}
    for runtime, detector in _working(weights, profile):
        seen = [Labelled(p.classes, p.boxes, detector.detect(p.image, 0.01), p.image.shape[1], p.image.shape[0]) for p in shown]
        figures = judge(seen, profile.class_names(), BEGIN_AT)
        by_runtime[runtime] = {key: round(figures[key], 5) for key in ("map50", "map50_95")}
    tables = list(by_runtime.values())
    gap = max((abs(a[key] - b[key]) for a in tables for b in tables for key in a), default=0.0)
    return {"pictures": n, "runtimes": by_runtime, "largest_difference": round(gap, 5)}


def _working(weights: Path, profile: GameProfile) -> Iterator[tuple[str, Detector]]:
    """The detector in every runtime that this machine has."""
    for runtime in ("torch", "onnxruntime", "openvino"):
        try:
            yield runtime, open_detector(weights, profile, runtime)
        except DetectorError:
            continue


def speeds(weights: Path, profile: GameProfile, repeats: int = 60) -> dict[str, float]:
    """CPU milliseconds per 640x360 picture, median, by every runtime that works here; one thread each, so that they are
    what a picture takes where a core is free. Nothing else may run in this process meanwhile."""
    image = next(labelled_pictures(1, JUDGED_SEED)).image
    measured: dict[str, float] = {}
    for runtime, detector in _working(weights, profile):
        times: list[float] = []
        for _ in range(repeats):
            start = time.process_time()
            detector.detect(image)
            times.append(time.process_time() - start)
        measured[runtime] = round(float(np.median(times)) * 1e3, 2)
    return measured


def command_of(training: Mapping[str, Any], seed: int) -> str:
    """How to do again what a card tells of a training."""
    options = {
        "--pictures": training["pictures"],
        "--epochs": training["asked_epochs"],
        "--batch-size": training["batch"],
        "--lr": training["learning_rate"],
        "--seed": seed,
        **({"--start-from": training["started_from"]} if "started_from" in training else {}),
    }
    return " ".join([COMMAND, *(f"{name} {value}" for name, value in options.items())])


def _settings(settings: DetectorSettings) -> dict[str, Any]:
    return {
        "asked_epochs": settings.epochs,
        "batch": settings.batch,
        "learning_rate": settings.learning_rate,
        "threads": settings.threads,
        "device": settings.device,
        "first_train_seed": TRAIN_SEED + settings.seed * 100_000,
    }


def _as_text(figures: dict[str, float]) -> str:
    shown = {"train_loss": "loss", "val_map50": "mAP50", "val_map50_95": "mAP50-95"}
    return " ".join(f"{label} {figures[name]:.3f}" for name, label in shown.items() if name in figures)

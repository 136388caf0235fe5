"""From a person's boxes to a detector of their game: held-out pictures, training, export, and figures in honest words.

Notable choices:
- Whole sessions are held out where there are three or more; else the last part of each session, or of the files that were
  taken in, in the order of their names. Neighbouring pictures never lie on both sides, and a training that is gone on with
  is not judged by what it learnt from.
- Training begins at the tensors of the shipped detector (all but its last layer fits any game): edges and colours need
  not be learnt from a few dozen pictures.
- Passes over the pictures are counted in steps: few pictures are looked at more often.
- Small classes are labelled larger, as the arena's shots are, and divided again by the card when the detector runs.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from data.boxes_yolo import write_yolo, yolo_lines
from data.files import write_whole
from data.profile import GameProfile
from data.settings_games import Change, save_game
from data.workspace import Workspace
from engine.perception.card import ASSETS, DetectorCard, DetectorError, file_sha256, read_card
from engine.perception.detector import open_detector
from engine.perception.judging import Labelled, judge
from engine.perception.tracker import BEGIN_AT
from engine.runtime.progress import EtaReport, Progress, Report, ignore, part
from engine.teach import Picture, TeachError, TeachProject
from engine.teach_sampling import read_picture
from trainers.detector import DetectorProgress, DetectorSettings, TrainedDetector, export_onnx, train_detector
from trainers.networks.yolo import NETWORK, build_network, load_weights, require_ultralytics, save_weights

LEAST_PICTURES: Final = 8
STEPS: Final = 700
"""Batches in a whole training, by default."""
EPOCHS: Final = (12, 150)
HELD_OUT_SHARE: Final = 0.2
FEW_PICTURES: Final = 30
FEW_BOXES: Final = 20
SEEN_BEFORE: Final = "the training before does not say what it learnt from, so that it may have seen these pictures; train anew to know"
SMALL_PX: Final = 6.0
"""Classes whose boxes are smaller at the detector's size are labelled larger, at most twice."""


@dataclass(frozen=True, slots=True)
class Taught:
    """``weights``: the ONNX file, its card and tensors beside it. ``figures``: see ``judging.judge``. ``words``: what they
    are worth."""

    weights: Path
    complete: bool
    figures: dict[str, Any]
    words: tuple[str, ...]
    trained_on: int
    held_out: int

    def __str__(self) -> str:
        stopped = "" if self.complete else " (stopped early)"
        precision = f"mAP50 {self.figures['map50']:.2f}, mAP50-95 {self.figures['map50_95']:.2f}"
        return f"{self.weights.parent.name}/{self.weights.name}: {precision} on {self.held_out} held-out pictures{stopped}"

    def rows(self) -> list[tuple[str, ...]]:
        """Class, boxes held out, AP50, AP50-95, recall, precision; a class that does not occur has no figures."""
        return [
            (name, str(c["n"]), *(f"{c[key]:.2f}" if c["n"] else "-" for key in ("ap50", "ap50_95", "recall", "precision")))
            for name, c in self.figures["classes"].items()
        ]

    def to_json(self, place: Workspace) -> dict[str, Any]:
        return {
            "weights": place.relative(self.weights),
            "complete": self.complete,
            "trained_on": self.trained_on,
            "held_out": self.held_out,
            "words": list(self.words),
            "figures": self.figures,
        }


def held_out(pictures: Sequence[Picture], learnt: Collection[str] = ()) -> set[str]:
    """The ids of the pictures that are kept from training: about a fifth, and none that was ``learnt`` from before, in a training that is
    gone on with. Raises TeachError when there are too few."""
    kept = _held_out(pictures) - set(learnt)
    wanted = max(2, round(HELD_OUT_SHARE * len(pictures)))
    if len(kept) < wanted / 2:
        new = [p.id for p in sorted(pictures, key=lambda p: (p.session, p.time_s, p.id)) if p.id not in learnt]
        kept = set(new[-wanted:])
    return kept


def _held_out(pictures: Sequence[Picture]) -> set[str]:
    if len(pictures) < LEAST_PICTURES:
        raise TeachError(
            f"{len(pictures)} pictures are confirmed; a detector needs {LEAST_PICTURES} at least, and some dozens to be of use"
        )
    sessions: dict[str, list[Picture]] = {}
    for picture in sorted(pictures, key=lambda p: (p.session, p.time_s, p.id)):
        sessions.setdefault(picture.session, []).append(picture)
    wanted = max(2, round(HELD_OUT_SHARE * len(pictures)))
    if len(sessions) >= 3:
        kept: set[str] = set()
        for group in sorted(sessions.values(), key=lambda g: (len(g), g[0].session)):
            if len(kept) + len(group) <= max(wanted * 1.5, len(pictures) / 3) and len(kept) < wanted:
                kept |= {p.id for p in group}
        if len(kept) >= wanted / 2:
            return kept
    last: set[str] = set()
    for group in sessions.values():
        share = wanted if len(sessions) == 1 else max(1, round(HELD_OUT_SHARE * len(group)))
        last |= {p.id for p in group[max(0, len(group) - share) :]} if len(group) > 1 else set()
    return last


def box_scales(pictures: Sequence[Picture], profile: GameProfile) -> dict[str, float]:
    """By class, how many times too large its boxes are labelled: those that are tiny at the detector's size."""
    scales: dict[str, float] = {}
    for name in profile.class_names():
        sides: list[float] = []
        for picture in pictures:
            fit = min(profile.detector_size[0] / picture.width, profile.detector_size[1] / picture.height)
            for box in picture.boxes:
                if box.name == name:
                    sides.append(max((box.right - box.left) * picture.width, (box.bottom - box.top) * picture.height) * fit)
        if sides and (middle := float(np.median(sides))) < SMALL_PX:
            scales[name] = round(min(2.0, SMALL_PX / max(middle, 1.0)), 1)
    return {name: scale for name, scale in scales.items() if scale > 1.0}


def train_taught(
    workspace: Path,
    profile: GameProfile,
    epochs: int | None = None,
    resume: bool = False,
    settings: DetectorSettings | None = None,
    report: Report = ignore,
    should_stop: Callable[[], bool] | None = None,
    run_name: str | None = None,
) -> Taught:
    """Train a detector on the confirmed pictures of a game, in ``<workspace>/models/detector/<run>/``.

    ``resume``: begin at the tensors of the run before, also one that was stopped. Ctrl-C and ``should_stop`` end the
    training; what was learnt so far is exported and judged. The newest model is remembered for the next proposals.
    Raises TeachError, trainers.networks.yolo.DetectorTrainingError, WorkspaceError.
    """
    require_ultralytics()
    project, place = TeachProject(workspace, profile), Workspace(workspace)
    pictures = [p for p in project.pictures() if p.state == "confirmed"]
    before = newest_model(project)
    if resume and before is None:
        raise TeachError(f"games.{profile.name} has no earlier training to go on with; train without --resume first")
    seen = _learnt_in(before) if resume and before is not None else set[str]()
    kept = held_out(pictures, seen or ())
    if not kept:
        raise TeachError("the earlier training learnt from every confirmed picture: none is left to judge by; confirm more, or train anew")
    learnt = [p for p in pictures if p.id not in kept]
    if not any(p.boxes for p in learnt):
        raise TeachError("no box is confirmed in the pictures to train on; draw some first")
    chosen = settings if settings is not None else DetectorSettings(batch=8 if len(learnt) < 200 else 16)
    per_epoch = math.ceil(len(learnt) / chosen.batch)
    chosen = replace(
        chosen,
        size=_fitting(profile.detector_size),
        epochs=epochs or min(max(EPOCHS[0], round(STEPS / per_epoch)), EPOCHS[1]),
        flips=profile.mirrored,
    )
    name = run_name if run_name is not None else time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + f"_{profile.name}"
    folder = place.made(place.models / "detector" / name)
    told, run_dir, scales = EtaReport(report), place.relative(folder), box_scales(learnt, profile)
    dataset = folder / "pictures"
    try:
        told(Progress("pictures", 0.0, run_dir=run_dir))
        _write_pictures(dataset, project, kept, pictures, scales)
        start = _start(folder, project.names, chosen.width, before if resume else None)
        learning = part(told, 0.02, 0.88)

        def forward(step: DetectorProgress) -> None:
            figures = " ".join(f"{label} {step.figures[k]:.2f}" for k, label in _SHOWN.items() if k in step.figures)
            learning(Progress(step.stage, step.done, step.eta_s, figures, run_dir))

        trained = train_detector(dataset, folder, chosen, forward, should_stop, start)
    finally:
        shutil.rmtree(dataset, ignore_errors=True)
        (folder / "start.safetensors").unlink(missing_ok=True)
    told(Progress("judging", 0.92, run_dir=run_dir))
    ever = sorted({p.id for p in learnt} | (seen or set()))
    taught = _finish(project, trained, folder, chosen, scales, learnt, [p for p in pictures if p.id in kept], ever, seen is None)
    project.remember({"model": place.relative(taught.weights), "runs": [*_listed(project, "runs"), name][-50:]})
    told(Progress("done", 1.0, run_dir=run_dir))
    return taught


def _learnt_in(weights: Path) -> set[str] | None:
    """The pictures that a training, and those that it went on from, have learnt from; None when its card does not say."""
    told = read_card(weights.with_suffix(".json")).training.get("learnt")
    return {str(one) for one in cast("list[Any]", told)} if isinstance(told, list) else None


_SHOWN: Final = {"train_loss": "loss", "val_map50": "mAP50"}


def _fitting(size: tuple[int, int]) -> tuple[int, int]:
    """The detector's size with both sides multiples of 32, as its network needs it."""
    return max(64, -(-size[0] // 32) * 32), max(64, -(-size[1] // 32) * 32)


def _write_pictures(dataset: Path, project: TeachProject, kept: set[str], pictures: Sequence[Picture], scales: Mapping[str, float]) -> None:
    shutil.rmtree(dataset, ignore_errors=True)
    sides = {p.id: "val" if p.id in kept else "train" for p in pictures}
    write_yolo(dataset, project.names, [(sides[p.id], project.file(p.id), p.boxes) for p in pictures])
    factors = [scales.get(name, 1.0) for name in project.names]
    for picture in pictures if scales else ():
        path = dataset / "labels" / sides[picture.id] / f"{picture.id}.txt"
        write_whole(path, yolo_lines(picture.boxes, project.names, factors).encode())


def _start(folder: Path, names: Sequence[str], width: float, before: Path | None) -> Path | None:
    """Tensors to begin at: those of an earlier run of this game, else what fits of the shipped detector."""
    network = build_network(names, width)
    if before is not None:
        load_weights(network, before.with_suffix(".safetensors"))
    else:
        shipped = ASSETS / "arena_detector.safetensors"
        try:
            if read_card(shipped.with_suffix(".json")).network != NETWORK:
                return None
        except DetectorError:
            return None
        mine = network.state_dict()
        fits = {k: v for k, v in _tensors(shipped).items() if k in mine and mine[k].shape == v.shape}
        network.load_state_dict({**mine, **fits})
    start = folder / "start.safetensors"
    save_weights(network, start)
    return start


def _tensors(path: Path) -> dict[str, Any]:
    safetensors: Any = import_module("safetensors.torch")
    return safetensors.load_file(path)


def _finish(
    project: TeachProject,
    trained: TrainedDetector,
    folder: Path,
    settings: DetectorSettings,
    scales: Mapping[str, float],
    learnt: Sequence[Picture],
    kept: Sequence[Picture],
    ever: Sequence[str],
    blind: bool,
) -> Taught:
    """``ever``: what was learnt from here and in trainings before; ``blind``: the one before does not say what it learnt from."""
    weights = folder / f"{project.profile.name}_detector.onnx"
    save_weights(trained.network, weights.with_suffix(".safetensors"))
    export_onnx(trained.network, weights, settings.size)
    card = DetectorCard(
        game=project.profile.name,
        classes=trained.classes,
        size=settings.size,
        network=NETWORK,
        width=settings.width,
        command=f"secondseat games teach {project.profile.name}",
        seed=settings.seed,
        sha256=file_sha256(weights),
        box_scales=dict(scales),
        training={
            "pictures": len(learnt),
            "held_out": len(kept),
            "epochs": trained.epochs_done,
            "complete": trained.complete,
            "learnt": [*ever],
        },
    )
    card.write(weights.with_suffix(".json"))
    figures = judge_on(project, weights, kept)
    words = (*honest_words(figures, kept, learnt, project.names), *((SEEN_BEFORE,) if blind else ()))
    replace(card, figures={**figures, "words": list(words)}).write(weights.with_suffix(".json"))
    return Taught(weights, trained.complete, figures, words, len(learnt), len(kept))


def judge_on(project: TeachProject, weights: Path, pictures: Sequence[Picture]) -> dict[str, Any]:
    """The figures of a detector on confirmed pictures."""
    detector = open_detector(weights, project.profile, "onnxruntime")
    names = list(project.names)
    looked: list[Labelled] = []
    for picture in pictures:
        classes = np.array([names.index(b.name) for b in picture.boxes], np.int32)
        boxes = np.array([b.centre_size for b in picture.boxes], np.float32).reshape(-1, 4)
        found = detector.detect(read_picture(project.file(picture.id)), 0.01)
        looked.append(Labelled(classes, boxes, found, picture.width, picture.height))
    figures = judge(looked, names, BEGIN_AT)
    figures["confidence"] = BEGIN_AT
    return figures


def honest_words(figures: Mapping[str, Any], kept: Sequence[Picture], learnt: Sequence[Picture], names: Sequence[str]) -> list[str]:
    """What the figures are worth, and what to do next, for a person."""
    words: list[str] = []
    if len(kept) < FEW_PICTURES:
        words.append(f"{len(kept)} pictures are too few to judge by: these figures are a first look; watch it play before you trust it")
    words.append("the best pass was chosen by these same pictures, so that the figures are a little too good")
    if len({p.session for p in kept} | {p.session for p in learnt}) == 1:
        words.append("all pictures are of one session: another day's play may look different; record a second one")
    classes: Mapping[str, Any] = figures["classes"]
    seen = {name: sum(b.name == name for p in learnt for b in p.boxes) for name in names}
    if absent := [name for name in names if not seen[name]]:
        words.append(f"never drawn, so that it cannot be found: {', '.join(absent)}")
    if few := [f"{name} ({classes[name]['n']})" for name in names if seen[name] and classes[name]["n"] < FEW_BOXES]:
        words.append(f"fewer than {FEW_BOXES} of them were held out, so that their figures are mostly chance: {', '.join(few)}")
    if weak := [name for name in names if classes[name]["n"] >= 5 and classes[name]["ap50"] < 0.6]:
        words.append(f"weak: {', '.join(weak)}; confirm more pictures that show them: the least sure ones come first now")
    return words


def newest_model(project: TeachProject) -> Path | None:
    """The newest ONNX file that was trained here and still fits the profile; None when there is none."""
    named = project.state().get("model")
    if not isinstance(named, str) or not named:
        return None
    path = project.place.resolve(named)
    inside = path.is_relative_to(project.place.models) and path.is_file()
    try:
        return path if inside and read_card(path.with_suffix(".json")).classes == project.names else None
    except DetectorError:
        return None


# ---- into the profile, and back


def put_into_profile(project: TeachProject, weights: Path, settings_file: Path) -> Change:
    """Name the detector in ``[games.<name>]``; the one before is remembered. Raises SettingsError."""
    before = project.profile.detector
    relative = project.place.relative(weights)
    size = read_card(weights.with_suffix(".json")).size
    change = save_game(settings_file, project.profile.model_copy(update={"detector": relative, "detector_size": size}))
    if before != relative:
        project.remember({"before": [*_listed(project, "before"), {"detector": before, "size": list(project.profile.detector_size)}][-20:]})
    return change


def take_back(project: TeachProject, settings_file: Path) -> tuple[Change, str]:
    """The detector before the present one goes back into the profile; its name (empty: none). Raises TeachError, SettingsError."""
    history = _listed(project, "before")
    if not history:
        raise TeachError(f"games.{project.profile.name}: no detector was put in its profile from here, so nothing can be taken back")
    last: Any = history[-1]
    try:
        detector, size = str(last["detector"]), (int(last["size"][0]), int(last["size"][1]))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise TeachError(f"{project.folder / 'state.json'}: its list `before` is damaged; name the detector in config.toml") from error
    change = save_game(settings_file, project.profile.model_copy(update={"detector": detector, "detector_size": size}))
    project.remember({"before": history[:-1]})
    return change, detector


def taken_before(project: TeachProject) -> int:
    """How many detectors ``take_back`` can still bring back."""
    return len(_listed(project, "before"))


def _listed(project: TeachProject, name: str) -> list[Any]:
    found = project.state().get(name)
    return cast("list[Any]", found) if isinstance(found, list) else []

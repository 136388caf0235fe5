"""The whole way from nothing to a detector that can be named in a profile, as small as it goes."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from data.profile import ARENA_PROFILE, GameProfile
from data.schema import Image
from engine import arena_pictures
from engine.arena_pictures import (
    BLOCK,
    BOX_SCALES,
    HELD_OUT_SEED,
    PALETTE_SHARE,
    SEEN_LOOKS,
    TRAIN_SEED,
    picture_version,
    pictures,
    random_look,
    write_yolo_folder,
)
from engine.detector_job import JUDGED_SEED, MOST_EXPORT_GAP, DetectorResult, exports_against_torch, train_arena_detector
from engine.perception.card import ASSETS, DetectorError, read_card
from engine.perception.detections import Detections
from engine.perception.detector import load_detector
from engine.runtime.progress import Progress
from league.arena import sizes
from league.arena.looks import CLASSIC, HELD_OUT, LOOKS
from league.arena.render import boxes as boxes_of
from league.arena.sprites import HOSTILE_SHOT, SHOT
from league.arena.world import WorldState
from trainers.detector import usable_device
from trainers.networks.yolo import DetectorTrainingError


@pytest.mark.timeout(300)
def test_training_makes_a_detector_that_loads(tmp_path: Path) -> None:
    told: list[Progress] = []
    result = train_arena_detector(tmp_path, pictures=8, judged=2, report=told.append, run_name="tiny", epochs=1, batch=4, threads=1)
    folder = tmp_path / "models" / "detector" / "tiny"
    assert result.complete
    assert result.weights == folder / "arena_detector.onnx"
    assert not (folder / "pictures").exists()
    done = [p.done for p in told]
    assert done == sorted(done)
    assert {p.run_dir for p in told if p.stage.startswith("epoch")} == {"models/detector/tiny"}
    assert (folder / "metrics.jsonl").exists()
    card = read_card(folder / "arena_detector.json")
    assert card.picture_version == picture_version()
    assert card.training["pictures"] == 8
    assert card.box_scales == BOX_SCALES
    assert set(card.figures["ms_per_picture"]) == {"openvino", "onnxruntime", "torch"}
    assert set(card.figures["exports"]["runtimes"]) == {"openvino", "onnxruntime", "torch"}
    assert card.training["device"] == usable_device("auto")
    json.dumps(dict(card.figures))
    profile = ARENA_PROFILE.model_copy(update={"detector": "models/detector/tiny/arena_detector.onnx"})
    detector = load_detector(profile, workspace=tmp_path)
    assert detector is not None
    detector.detect(np.zeros((360, 640, 3), np.uint8))
    assert "mAP50" in str(result)


@pytest.mark.timeout(120)
def test_exports_find_what_the_network_finds() -> None:
    weights = ASSETS / "arena_detector.onnx"
    exports = exports_against_torch(weights, ARENA_PROFILE, 16)
    assert set(exports["runtimes"]) == {"openvino", "onnxruntime", "torch"}
    assert exports["runtimes"]["torch"]["map50"] > 0.5, "finding nothing would be no agreement"
    assert exports["largest_difference"] <= MOST_EXPORT_GAP


def test_a_difference_between_exports_is_measured_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Blind:
        def detect(self, _image: Image, _least: float) -> Detections:
            return Detections.empty()

    class Seeing:
        def __init__(self) -> None:
            self._shown = pictures(4, JUDGED_SEED, looks=(*SEEN_LOOKS, HELD_OUT))

        def detect(self, _image: Image, _least: float) -> Detections:
            truth = next(self._shown)
            return Detections(truth.boxes, truth.classes, np.ones(len(truth.classes), np.float32))

    def opened(_path: Path, _profile: GameProfile, runtime: str) -> Blind | Seeing:
        if runtime == "openvino":
            raise DetectorError("not installed")
        return Seeing() if runtime == "torch" else Blind()

    monkeypatch.setattr("engine.detector_job.open_detector", opened)
    exports = exports_against_torch(Path("d.onnx"), ARENA_PROFILE, 4)
    assert exports["runtimes"] == {"torch": {"map50": 1.0, "map50_95": 1.0}, "onnxruntime": {"map50": 0.0, "map50_95": 0.0}}
    assert exports["largest_difference"] == 1.0
    told = str(DetectorResult(Path("run/d.onnx"), True, {"map50": 1.0, "map50_95": 1.0, "exports": exports}))
    assert "differ by 1.000 mAP from torch" in told


def test_what_cannot_train_is_said_before_pictures_are_made(tmp_path: Path) -> None:
    told: list[Progress] = []
    missing = tmp_path / "none.safetensors"
    with pytest.raises(DetectorTrainingError, match=r"none\.safetensors: no tensors can be read"):
        train_arena_detector(tmp_path, pictures=8, report=told.append, start_from=missing)
    missing.write_bytes(b"no tensors at all")
    with pytest.raises(DetectorTrainingError, match="no tensors can be read"):
        train_arena_detector(tmp_path, pictures=8, report=told.append, start_from=missing)
    with pytest.raises(DetectorTrainingError, match="device cuda:97: not on this machine"):
        train_arena_detector(tmp_path, pictures=8, report=told.append, device="cuda:97")
    assert told == []


def test_stopping_while_pictures_are_made_leaves_none(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train_arena_detector(tmp_path, pictures=8, run_name="stopped", should_stop=lambda: True)
    assert not (tmp_path / "models" / "detector" / "stopped" / "pictures").exists()


def test_pictures_are_the_same_for_the_same_seed_and_differ_otherwise() -> None:
    first, again, other = (list(pictures(2, seed=s, coded_share=0.0)) for s in (5, 5, 6))
    assert np.array_equal(first[1].image, again[1].image)
    assert not np.array_equal(first[1].image, other[1].image)
    assert TRAIN_SEED < HELD_OUT_SEED < JUDGED_SEED


def test_coded_pictures_look_like_the_plain_ones() -> None:
    plain, coded = (next(pictures(1, seed=8, coded_share=s)) for s in (0.0, 1.0))
    assert coded.coded
    assert np.abs(plain.image.astype(int) - coded.image).mean() < 4
    assert np.array_equal(plain.boxes, coded.boxes)


def test_boxes_lie_where_things_are_drawn() -> None:
    """Loot is the brightest thing of its size: the middle of each of its boxes is dark with a bright rim."""
    for shown in pictures(6, seed=21, coded_share=0.0, shuffled_share=0.0):
        for kind, (x, y, w, _) in zip(shown.classes, shown.boxes, strict=True):
            if kind == sizes.LOOT:
                assert w * 640 == pytest.approx(sizes.BOX_PX["loot"] * LOOKS[shown.look].size)
                part = shown.image[int(y * 360) - 7 : int(y * 360) + 7, int(x * 640) - 7 : int(x * 640) + 7]
                assert part.max() > 150


def test_what_is_wholly_hidden_is_not_labelled_and_a_mark_round_a_crate_is() -> None:
    shown = list(pictures(64, seed=33, coded_share=0.0))
    hidden = sum(len(boxes_of(p.state, 0)[0]) - len(p.classes) for p in shown)
    assert 0 < hidden < 0.1 * sum(len(p.classes) for p in shown)
    round_crates = 0
    for picture in shown:
        mark, loot = (picture.boxes[picture.classes == kind] * (640, 360, 640, 360) for kind in (sizes.MARK, sizes.LOOT))
        hunter = picture.boxes[picture.classes == sizes.HUNTER] * (640, 360, 640, 360)
        if len(mark):
            round_crates += bool((np.hypot(*(loot[:, :2] - mark[0, :2]).T) < 2).any())
            assert not (np.hypot(*(hunter[:, :2] - mark[0, :2]).T) < 3).any()
    assert round_crates > 3


def test_the_pointer_lies_often_where_it_was_clicked_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the destination mark, as in play: there it covers what a detector must know."""
    seen: list[tuple[bool, float | None]] = []
    cursor_of = arena_pictures._cursor

    def told(state: WorldState, dice: np.random.Generator) -> tuple[float, float] | None:
        cursor = cursor_of(state, dice)
        away = None if cursor is None else float(np.hypot(*(np.array(cursor) * (640, 360) - state.ship_dest[0, 0])))
        seen.append((bool(state.ship_has_dest[0, 0] and state.ship_alive[0, 0]), away))
        return cursor

    monkeypatch.setattr(arena_pictures, "_cursor", told)
    list(pictures(96, seed=34, coded_share=0.0))
    marked = [away for there, away in seen if there]
    near = sum(away is not None and away < 10 for away in marked)
    assert 0.15 < near / len(marked) < 0.5
    assert 0.1 < sum(away is None for _, away in seen) / len(seen) < 0.45


def test_all_looks_but_one_are_shown_and_the_classic_one_most() -> None:
    shown = list(pictures(96, TRAIN_SEED, coded_share=0.0))
    count = Counter(p.look for p in shown)
    assert set(count) == set(LOOKS) - {HELD_OUT}
    assert count[CLASSIC.name] == max(count.values()) > 96 / 4
    assert {p.look for p in pictures(3, TRAIN_SEED, coded_share=0.0, looks=(HELD_OUT,))} == {HELD_OUT}
    assert {int(p.state.map_kind[0]) for p in shown} == {0, 1}


def test_random_palettes_differ_and_shots_stay_cold_and_warm() -> None:
    shown = list(pictures(12, TRAIN_SEED, coded_share=0.0, palette_share=1.0))
    again = list(pictures(12, TRAIN_SEED, coded_share=0.0, palette_share=1.0))
    assert all(np.array_equal(a.image, b.image) for a, b in zip(shown, again, strict=True))
    assert {p.look.split("-")[0] for p in shown} == {"random"}
    assert len({p.look for p in shown}) > 2
    drawn = [random_look(np.random.default_rng(k), "x") for k in range(100)]
    assert len({look.tone("foe", (240, 70, 80)) for look in drawn}) > 80
    assert all(look.tone("shot", SHOT)[2] > look.tone("shot", SHOT)[0] for look in drawn)
    assert all(look.tone("hostile", HOSTILE_SHOT)[0] > look.tone("hostile", HOSTILE_SHOT)[2] for look in drawn)
    assert all(0.9 <= look.size <= 1.15 and look.brightest > max(look.ground) for look in drawn)


def test_every_class_is_shown_often_enough() -> None:
    """The rarest in play (a cache, a hunter, a mender, a bomber, the lock, the mark) each in a good share of the pictures."""
    shown = list(pictures(96, TRAIN_SEED + 50_000, coded_share=0.0))
    share = {name: np.mean([k in p.classes for p in shown]) for k, name in enumerate(sizes.CLASSES)}
    assert min(share.values()) > 0.15, share
    assert min(share[name] for name in ("mender", "bomber", "lock", "mark")) > 0.3, share


def test_a_block_is_the_same_whoever_makes_it_and_when(tmp_path: Path) -> None:
    """Files of one process and of three are equal, and the pictures after a whole block are those of the next block."""
    write_yolo_folder(tmp_path / "one", BLOCK + 2, 2, seed=3)
    write_yolo_folder(tmp_path / "more", BLOCK + 2, 2, seed=3, workers=3)
    for folder in ("images/train", "labels/train", "images/val", "labels/val"):
        one, more = (sorted((tmp_path / who / folder).iterdir()) for who in ("one", "more"))
        assert [p.name for p in one] == [p.name for p in more]
        assert len(one) == (BLOCK + 2 if "train" in folder else 2)
        assert all(a.read_bytes() == b.read_bytes() for a, b in zip(one, more, strict=True))


def test_yolo_folder_has_a_label_line_per_thing(tmp_path: Path) -> None:
    write_yolo_folder(tmp_path, 3, 2)
    assert len(list((tmp_path / "images" / "train").glob("*.png"))) == 3
    shown = list(pictures(3, TRAIN_SEED, palette_share=PALETTE_SHARE))
    for k, picture in enumerate(shown):
        lines = (tmp_path / "labels" / "train" / f"{k:05d}.txt").read_text(encoding="utf-8").splitlines()
        assert len(lines) == len(picture.classes)
        for line, kind, box in zip(lines, picture.classes.tolist(), picture.boxes.tolist(), strict=True):
            values = line.split()
            assert int(values[0]) == kind
            larger = 2.0 if sizes.CLASSES[kind] in BOX_SCALES else 1.0
            assert float(values[3]) == pytest.approx(box[2] * larger, abs=1e-4)

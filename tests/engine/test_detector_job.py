"""The whole way from nothing to a detector that can be named in a profile, as small as it goes."""

import json
from pathlib import Path

import numpy as np
import pytest

from data.profile import ARENA_PROFILE
from engine.arena_pictures import BOX_SCALES, HELD_OUT_SEED, TRAIN_SEED, picture_version, pictures, write_yolo_folder
from engine.detector_job import JUDGED_SEED, train_arena_detector
from engine.perception.card import read_card
from engine.perception.detector import load_detector
from engine.runtime.progress import Progress
from league.arena import sizes
from league.arena.render import boxes as boxes_of


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
    json.dumps(dict(card.figures))
    profile = ARENA_PROFILE.model_copy(update={"detector": "models/detector/tiny/arena_detector.onnx"})
    detector = load_detector(profile, workspace=tmp_path)
    assert detector is not None
    detector.detect(np.zeros((360, 640, 3), np.uint8))
    assert "mAP50" in str(result)


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
                assert w * 640 == pytest.approx(sizes.BOX_PX["loot"])
                part = shown.image[int(y * 360) - 7 : int(y * 360) + 7, int(x * 640) - 7 : int(x * 640) + 7]
                assert part.max() > 150


def test_what_is_wholly_hidden_is_not_labelled() -> None:
    shown = list(pictures(40, seed=33, coded_share=0.0))
    hidden = sum(len(boxes_of(p.state, 0)[0]) - len(p.classes) for p in shown)
    assert 0 < hidden < 0.1 * sum(len(p.classes) for p in shown)
    for picture in shown:
        mark = picture.boxes[picture.classes == sizes.MARK]
        loot = picture.boxes[picture.classes == sizes.LOOT]
        if len(mark) and len(loot):
            assert (np.abs(loot[:, :2] - mark[0, :2]) * (640, 360)).max(axis=1).min() > 2


def test_yolo_folder_has_a_label_line_per_thing(tmp_path: Path) -> None:
    write_yolo_folder(tmp_path, 3, 2)
    assert len(list((tmp_path / "images" / "train").glob("*.png"))) == 3
    shown = list(pictures(3, TRAIN_SEED))
    for k, picture in enumerate(shown):
        lines = (tmp_path / "labels" / "train" / f"{k:05d}.txt").read_text(encoding="utf-8").splitlines()
        assert len(lines) == len(picture.classes)
        for line, kind, box in zip(lines, picture.classes.tolist(), picture.boxes.tolist(), strict=True):
            values = line.split()
            assert int(values[0]) == kind
            larger = 2.0 if sizes.CLASSES[kind] in BOX_SCALES else 1.0
            assert float(values[3]) == pytest.approx(box[2] * larger, abs=1e-4)

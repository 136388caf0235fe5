"""Labels from elsewhere: the worked examples of the formats, and files that are wrong or mean harm."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from data.boxes import Box, BoxesError, picture_size
from data.boxes_coco import read_coco
from data.boxes_labelstudio import label_config, picture_name, read_label_studio, write_label_studio
from data.boxes_yolo import read_yolo, write_yolo

TASK: dict[str, Any] = {
    "id": 1,
    "data": {"image": "/data/local-files/?d=images/a.png"},
    "file_upload": "a.png",
    "annotations": [
        {
            "id": 22,
            "was_cancelled": False,
            "ground_truth": False,
            "result": [
                {
                    "id": "G1",
                    "type": "rectanglelabels",
                    "from_name": "label",
                    "to_name": "image",
                    "image_rotation": 0,
                    "original_width": 500,
                    "original_height": 320,
                    "value": {
                        "x": 31.941923774954628,
                        "y": 4.113475177304964,
                        "width": 6.352087114337568,
                        "height": 9.929078014184398,
                        "rotation": 0,
                        "rectanglelabels": ["enemy"],
                    },
                }
            ],
        }
    ],
    "predictions": [],
    "drafts": [],
    "meta": {},
}


def picture(path: Path, width: int = 64, height: int = 36) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.zeros((height, width, 3), np.uint8))
    return path


def yolo(folder: Path, **labels: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.yaml").write_text("path: /etc\ntrain: /etc/passwd\nval: ../..\nnames: [enemy, loot]\n")
    for stem, text in labels.items():
        picture(folder / "images" / "train" / f"{stem}.png")
        (folder / "labels" / "train").mkdir(parents=True, exist_ok=True)
        (folder / "labels" / "train" / f"{stem}.txt").write_text(text)
    return folder


def px(box: Box, width: int, height: int) -> list[float]:
    return [box.left * width, box.top * height, box.right * width, box.bottom * height]


# ---- YOLO


def test_the_worked_example_of_yolo(tmp_path: Path) -> None:
    found = read_yolo(yolo(tmp_path, a="0 0.5 0.5 0.25 0.5\n"))
    assert found.names == ("enemy", "loot")
    assert px(found.pictures[0].boxes[0], 640, 360) == pytest.approx([240, 90, 400, 270])


def test_empty_missing_and_corrupt_are_three_counts(tmp_path: Path) -> None:
    yolo(tmp_path, empty="", good="1 0.5 0.5 0.1 0.1\n", words="zero 0 0 1 1\n", short="0 0.5 0.5\n")
    picture(tmp_path / "images" / "train" / "alone.png")
    found = read_yolo(tmp_path)
    assert (found.empty, found.missing, found.corrupt) == (1, 1, 2)
    assert sorted(p.stem for p in found.pictures) == ["empty", "good"]
    assert any("words.txt line 1" in remark for remark in found.remarks)


def test_boxes_beyond_the_picture_are_cut_and_useless_ones_dropped(tmp_path: Path) -> None:
    lines = "0 0.95 0.5 0.2 0.2\n0 nan 0.5 0.1 0.1\n0 0.5 0.5 0 0.1\n0 2 2 0.1 0.1\n7 0.5 0.5 0.1 0.1\n0 0.1 0.1 0.2 0.1 0.2 0.3\n"
    found = read_yolo(yolo(tmp_path, a=lines))
    boxes = found.pictures[0].boxes
    assert [round(v, 3) for v in (boxes[0].left, boxes[0].right)] == [0.85, 1.0]
    assert px(boxes[1], 1, 1) == pytest.approx([0.1, 0.1, 0.2, 0.3])  # the polygon
    assert (found.cut, found.dropped) == (1, 4)


def test_a_picture_of_useless_boxes_only_is_not_one_with_nothing_in_it(tmp_path: Path) -> None:
    useless = ("7 0.5 0.5 0.1 0.1", "0 nan 0.5 0.1 0.1", "0 0.5 0.5 0 0", "0 320 180 40 40")
    lines = {f"useless{number}": line for number, line in enumerate(useless)}
    found = read_yolo(yolo(tmp_path, empty="", some="0 0.5 0.5 0.1 0.1\n" + "\n".join(useless[:2]), **lines))
    assert sorted((p.stem, len(p.boxes), p.dropped) for p in found.pictures) == [("empty", 0, 0), ("some", 1, 2)]
    assert (found.empty, found.useless, found.dropped) == (1, 4, 6)


def test_a_list_of_names_side_by_side_with_pictures_is_taken(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("me\nfoe\n")
    picture(tmp_path / "a.jpg")
    (tmp_path / "a.txt").write_text("1 0.5 0.5 0.5 0.5 0.25\n")
    found = read_yolo(tmp_path)
    assert [(b.name, b.score) for b in found.pictures[0].boxes] == [("foe", 0.25)]
    assert found.pictures[0].size == (64, 36)


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("names: 3\n", "no list `names`"),
        ("names: {0: a, 2: b}\n", "no list `names`"),
        ("- a\n", "no list `names`"),
        ("names: [", "no list `names`"),
        ("x: !!python/object/apply:os.system ['touch /tmp/teach-owned']\nnames: [a]\n", "no list `names`"),
    ],
)
def test_a_data_yaml_that_is_none_is_refused(tmp_path: Path, yaml: str, said: str) -> None:
    (tmp_path / "data.yaml").write_text(yaml)
    with pytest.raises(BoxesError, match=said):
        read_yolo(tmp_path)
    assert not Path("/tmp/teach-owned").exists()


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    picture(secret / "s.png")
    (secret / "s.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    folder = yolo(tmp_path / "set", a="")
    (folder / "images" / "val").symlink_to(secret)
    (folder / "labels" / "val").symlink_to(secret)
    (folder / "images" / "train" / "b.png").symlink_to(secret / "s.png")
    (folder / "labels" / "train" / "b.txt").symlink_to(secret / "s.txt")
    found = read_yolo(folder)
    assert [p.stem for p in found.pictures] == ["a"]


def test_a_written_yolo_folder_comes_back_the_same(tmp_path: Path) -> None:
    boxes = [Box("loot", 0.1, 0.2, 0.3, 0.4), Box("enemy", 0.0, 0.0, 0.01, 0.02), Box("", 0.5, 0.5, 0.6, 0.6)]
    one, two, three = (picture(tmp_path / f"{n}.png") for n in "abc")
    rows = [("train", one, boxes), ("val", two, []), ("train", three, None)]
    assert write_yolo(tmp_path / "out", ("enemy", "loot"), rows) == 2
    found = read_yolo(tmp_path / "out")
    assert (found.empty, found.missing, found.corrupt) == (1, 1, 0)
    back = next(p for p in found.pictures if p.stem == "a").boxes
    for before, after in zip(boxes[:2], back, strict=True):
        assert after.name == before.name
        assert px(after, 1, 1) == pytest.approx(px(before, 1, 1), abs=2e-6)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(BoxesError, match="something else"):
        write_yolo(tmp_path / "mine", ("enemy",), [])


# ---- Label Studio


def test_the_worked_example_of_label_studio(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text(json.dumps([TASK]))
    found = read_label_studio(tmp_path / "data.json")
    box = found.pictures[0].boxes[0]
    assert found.names == ("enemy",)
    left, top, right, bottom = px(box, 500, 320)
    assert [left, top, right - left, bottom - top] == pytest.approx([159.71, 13.16, 31.76, 31.77], abs=0.01)


def test_the_last_annotation_that_was_not_cancelled_counts(tmp_path: Path) -> None:
    first, cancelled, nothing = TASK["annotations"][0], {"was_cancelled": True, "result": []}, {"was_cancelled": False, "result": []}
    tasks = [
        {**TASK, "annotations": [nothing, first, cancelled]},
        {**TASK, "data": {"image": "upload/b%20c.png"}, "annotations": [nothing]},
        {**TASK, "data": {"image": "d.png"}, "annotations": []},
        {**TASK, "data": {"image": "e.png"}, "annotations": [{"result": [{"type": "rectanglelabels", "value": {"x": "far"}}]}]},
    ]
    (tmp_path / "data.json").write_text(json.dumps(tasks))
    found = read_label_studio(tmp_path / "data.json")
    assert [(p.stem, len(p.boxes)) for p in found.pictures] == [("a", 1), ("b c", 0)]
    assert (found.empty, found.missing, found.corrupt) == (1, 1, 1)


def test_a_turned_box_gives_the_box_round_it(tmp_path: Path) -> None:
    task = json.loads(json.dumps(TASK))
    result = task["annotations"][0]["result"][0]
    result["original_width"], result["original_height"] = 200, 100
    result["value"].update(x=50, y=50, width=10, height=10, rotation=90)  # 20 px wide, 10 px high, turned about its corner
    (tmp_path / "data.json").write_text(json.dumps([task]))
    box = read_label_studio(tmp_path / "data.json").pictures[0].boxes[0]
    assert px(box, 200, 100) == pytest.approx([90, 50, 100, 70])


def test_a_task_whose_results_give_no_box_is_not_one_with_nothing_in_it(tmp_path: Path) -> None:
    good = TASK["annotations"][0]["result"][0]
    useless = {
        "nan": {**good, "value": {**good["value"], "x": float("nan")}},
        "without a class": {**good, "value": {**good["value"], "rectanglelabels": []}},
        "ellipse": {"type": "ellipselabels", "value": {"x": 5, "y": 5, "radiusX": 2, "radiusY": 2, "ellipselabels": ["enemy"]}},
        "key point": {"type": "keypointlabels", "value": {"x": 5, "y": 5, "keypointlabels": ["enemy"]}},
    }
    words = {"type": "choices", "value": {"choices": ["nothing to see"]}}
    results = {**{name: [one] for name, one in useless.items()}, "some": [good, *useless.values(), words], "empty": [words]}
    tasks = [{"id": 1, "data": {"image": f"{name}.png"}, "annotations": [{"result": listed}]} for name, listed in results.items()]
    (tmp_path / "data.json").write_text(json.dumps(tasks))
    found = read_label_studio(tmp_path / "data.json")
    assert [(p.stem, len(p.boxes), p.dropped) for p in found.pictures] == [("some", 1, 4), ("empty", 0, 0)]
    assert (found.empty, found.useless, found.dropped, found.corrupt) == (1, 4, 8, 0)


def test_a_task_of_endless_pixels_does_not_keep_the_others_out(tmp_path: Path) -> None:
    endless = json.loads(json.dumps(TASK))
    endless["annotations"][0]["result"][0]["original_width"] = float("inf")
    (tmp_path / "data.json").write_text(json.dumps([endless, TASK]))
    found = read_label_studio(tmp_path / "data.json")
    assert (len(found.pictures), found.corrupt) == (1, 1)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/data/local-files/?d=images/a.png", "a.png"),
        ("/data/local-files/?d=..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("s3://bucket/deep/x.jpg", "x.jpg"),
        ("C:\\pictures\\y.png", "y.png"),
    ],
)
def test_a_picture_is_known_by_its_bare_name(address: str, name: str) -> None:
    assert picture_name({"data": {"image": address}}) == name


@pytest.mark.parametrize("address", ["", "/", "a/..", "a%00.png"])
def test_an_address_without_a_name_is_refused(address: str) -> None:
    with pytest.raises(BoxesError):
        picture_name({"data": {"image": address}})


def test_written_tasks_come_back_the_same_and_proposals_stay_proposals(tmp_path: Path) -> None:
    boxes = (Box("enemy", 0.1, 0.2, 0.3, 0.4), Box("a<b", 0.5, 0.5, 0.75, 0.625))
    rows = [
        (picture(tmp_path / "a.png"), (64, 36), boxes, True),
        (picture(tmp_path / "b.png"), (64, 36), [Box("enemy", 0, 0, 0.5, 0.5, "model", 0.75)], False),
        (picture(tmp_path / "c.png"), (64, 36), (), True),
    ]
    assert write_label_studio(tmp_path / "out", ("enemy", "a<b"), rows) == 3
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text())
    assert tasks[1]["annotations"] == []
    assert tasks[1]["predictions"][0]["score"] == 0.75
    assert '<Label value="a&lt;b"/>' in (tmp_path / "out" / "label_config.xml").read_text() == label_config(("enemy", "a<b"))
    found = read_label_studio(tmp_path / "out" / "tasks.json")
    assert [(p.stem, p.size, len(p.boxes)) for p in found.pictures] == [("a", (64, 36), 2), ("c", (64, 36), 0)]
    for before, after in zip(boxes, found.pictures[0].boxes, strict=True):
        assert after.name == before.name
        assert px(after, 1, 1) == pytest.approx(px(before, 1, 1), abs=1e-9)


@pytest.mark.parametrize("text", ["", "[", "{}", '[{"image": "a.png", "label": []}]', "[" * 100_000, "[1, 2]"])
def test_json_that_is_no_export_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(BoxesError):
        read_label_studio(tmp_path / "x.json")


# ---- COCO


def test_the_worked_example_of_coco(tmp_path: Path) -> None:
    coco = {
        "images": [{"id": 7, "width": 640, "height": 360, "file_name": "sub/a b.png"}],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 90, "bbox": [240, 90, 160, 180], "area": 28800, "iscrowd": 0, "segmentation": []},
            {"id": 2, "image_id": 99, "category_id": 90, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 0},
            {"id": 3, "image_id": 7, "category_id": 90, "bbox": [0, 0, 640, 360], "area": 230400, "iscrowd": 1},
        ],
        "categories": [{"id": 90, "name": "npc", "supercategory": "none"}, {"id": 1, "name": "unused"}],
    }
    (tmp_path / "c.json").write_text(json.dumps(coco))
    found = read_coco(tmp_path / "c.json")
    assert found.names == ("npc",)
    assert found.pictures[0].stem == "a b"
    assert found.pictures[0].boxes[0].centre_size == pytest.approx((0.5, 0.5, 0.25, 0.5))
    assert (len(found.pictures[0].boxes), found.dropped) == (1, 2)
    coco["images"][0]["width"] = 0
    (tmp_path / "c.json").write_text(json.dumps(coco))
    with pytest.raises(BoxesError, match="ZeroDivisionError"):
        read_coco(tmp_path / "c.json")


def test_a_picture_of_crowds_or_of_boxes_without_numbers_is_not_one_with_nothing_in_it(tmp_path: Path) -> None:
    good = {"category_id": 1, "bbox": [64, 36, 64, 72], "iscrowd": 0}
    useless = {
        "nan": {**good, "bbox": [float("nan"), 36, 64, 72]},
        "crowd": {**good, "iscrowd": 1},
        "beyond": {**good, "bbox": [900, 36, 64, 72]},
        "strange class": {**good, "category_id": 5},
    }
    notes = {**{name: [note] for name, note in useless.items()}, "some": [good, *useless.values()], "empty": []}
    coco = {
        "images": [{"id": k, "width": 640, "height": 360, "file_name": f"{name}.png"} for k, name in enumerate(notes)],
        "annotations": [{**note, "image_id": k} for k, listed in enumerate(notes.values()) for note in listed],
        "categories": [{"id": 1, "name": "npc"}],
    }
    (tmp_path / "c.json").write_text(json.dumps(coco))
    found = read_coco(tmp_path / "c.json")
    assert [(p.stem, len(p.boxes), p.dropped) for p in found.pictures] == [("some", 1, 4), ("empty", 0, 0)]
    assert (found.empty, found.useless, found.dropped) == (1, 4, 8)


# ---- pictures


def test_the_size_of_a_picture_is_read_from_its_head(tmp_path: Path) -> None:
    assert picture_size(picture(tmp_path / "a.png", 123, 45)) == (123, 45)
    assert picture_size(picture(tmp_path / "a.jpg", 123, 45)) == (123, 45)
    bomb = (tmp_path / "a.png").read_bytes()
    (tmp_path / "bomb.png").write_bytes(bomb[:16] + struct.pack(">II", 60_000, 60_000) + bomb[24:])
    with pytest.raises(BoxesError, match="60000x60000"):
        picture_size(tmp_path / "bomb.png")
    for name, content in (
        ("text.png", b"hello"),
        ("empty.jpg", b""),
        ("cut.jpg", b"\xff\xd8\xff\xe0\xff\xff"),
        ("loop.jpg", b"\xff\xd8" + b"\xff" * 99),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BoxesError, match="neither a PNG nor a JPEG"):
            picture_size(tmp_path / name)

"""Teaching a detector: the project folder, which pictures are taken, what is proposed, and labels out and in."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from data.boxes import Box, BoxesError
from data.metadata import Source
from data.profile import ARENA_PROFILE, GameProfile, ObjectClass
from data.schema import Action, Frame, Observation, Status, Step, Tracks
from data.session import SessionWriter
from engine.perception.detections import Detections
from engine.runtime.progress import Progress
from engine.teach import Stale, TeachError, TeachProject
from engine.teach_folders import export, import_labels
from engine.teach_guesses import boxes_of, propose, uncertainty, with_classes
from engine.teach_motion import moving_boxes
from engine.teach_sampling import LEAST_APART_S, SAME, difference, read_picture, sample, thumbnail
from engine.teach_training import held_out
from tests.support.teaching import PROFILE, SIZE, START_NS, Squares, blank, confirm_truth, recall, record


@pytest.fixture
def taken(tmp_path: Path) -> tuple[TeachProject, dict[str, Squares]]:
    """A project with 16 pictures of two sessions, and the truth of both."""
    truth = {record(tmp_path, squares): squares for squares in (Squares(1), Squares(2))}
    project = TeachProject(tmp_path, PROFILE)
    assert sample(project, 16) == 16
    return project, truth


# ---- which pictures are taken


def test_pictures_are_spread_over_sessions_and_time(taken: tuple[TeachProject, dict[str, Squares]]) -> None:
    project, truth = taken
    pictures = project.pictures()
    for session in truth:
        times = [p.time_s for p in pictures if p.session == session]
        assert 6 <= len(times) <= 10
        assert len({int(t // 5) for t in times}) == 4  # every quarter of the 20 s
        assert min(np.diff(times)) >= LEAST_APART_S
    looks = [thumbnail(read_picture(project.file(p.id))) for p in pictures]
    assert min(difference(a, b) for k, a in enumerate(looks) for b in looks[:k]) > SAME
    first = pictures[0]
    shown = read_picture(project.file(first.id))
    assert np.abs(shown.astype(int) - truth[first.session].picture(first.time_s)).mean() < 3  # the very moment that it says


def test_what_was_taken_is_not_taken_again(taken: tuple[TeachProject, dict[str, Squares]]) -> None:
    project, _ = taken
    before = {p.id for p in project.pictures()}
    sample(project, 8)
    assert before < {p.id for p in project.pictures()}
    assert len(project.pictures()) <= 24


def test_a_picture_that_does_not_change_is_taken_once(tmp_path: Path) -> None:
    still = Squares(3)
    still.speed[:] = 0
    writer = SessionWriter.create(tmp_path, "play", PROFILE, Source(kind="screen", description="still"), 10.0, SIZE, start_ns=START_NS)
    for number in range(60):
        writer.write_frame(Frame(number, START_NS + number * 100_000_000, still.picture(0.0)))
    writer.close("saved")
    told: list[Progress] = []
    assert sample(TeachProject(tmp_path, PROFILE), 10, report=told.append) == 1
    assert told[-1].done == 1.0
    assert [p.done for p in told] == sorted(p.done for p in told)


def test_without_recordings_or_classes_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TeachError, match=r"no recording of games\.squares.*secondseat record"):
        sample(TeachProject(tmp_path, PROFILE), 4)
    with pytest.raises(TeachError, match="names no classes"):
        TeachProject(tmp_path, GameProfile(name="bare"))


# ---- what is proposed


def test_moving_squares_are_proposed_and_the_gauge_is_not(taken: tuple[TeachProject, dict[str, Squares]]) -> None:
    project, truth = taken
    proposed = propose(project)
    assert proposed.by == {"motion": 16}
    figures = [(recall(p.boxes, truth[p.session].boxes(p.time_s)), len(p.boxes)) for p in project.pictures()]
    assert np.mean([r for r, _ in figures]) > 0.85  # apart from those that touch
    assert np.mean([n for _, n in figures]) < 5.5  # four things in each
    assert all(p.state == "proposed" and not b.name and b.top > 0.06 for p in project.pictures() for b in p.boxes)


def test_a_moving_camera_is_told_apart_and_nothing_proposed() -> None:
    ground = np.random.default_rng(0).integers(0, 255, (192, 900, 3)).astype(np.uint8)
    views = [np.ascontiguousarray(ground[:, 30 * k : 30 * k + 320]) for k in range(9)]
    found = moving_boxes(views[4], [*views[:4], *views[5:]])
    assert found.moves
    assert found.boxes == ()
    assert moving_boxes(views[0], views[1:3]).boxes == ()  # too few to tell


def test_what_is_confirmed_gives_other_moving_things_their_class(taken: tuple[TeachProject, dict[str, Squares]]) -> None:
    project, truth = taken
    propose(project)
    first, *rest = project.pictures()
    project.save(first.id, truth[first.session].boxes(first.time_s), "confirmed")
    right = total = 0
    for picture in rest:
        image = read_picture(project.file(picture.id))
        boxes = truth[picture.session].boxes(picture.time_s)
        named = with_classes(image, [replace(b, name="") for b in boxes], project)
        right += sum(a.name == b.name for a, b in zip(named, boxes, strict=True))
        total += len(boxes)
    assert right / total > 0.9
    far = with_classes(np.zeros((192, 320, 3), np.uint8), [Box("", 0.0, 0.0, 1.0, 1.0, "motion")], project)
    assert far[0].name == ""  # like nothing that is confirmed


def test_a_person_is_never_overruled_by_proposals(taken: tuple[TeachProject, dict[str, Squares]]) -> None:
    project, _ = taken
    one, two = project.pictures()[:2]
    project.save(one.id, [Box("me", 0, 0, 0.5, 0.5)], "confirmed")
    project.save(two.id, [], "skipped")
    propose(project)
    assert [b.to_json()["box"] for b in project.get(one.id).boxes] == [[0, 0, 0.5, 0.5]]
    assert project.get(two.id).boxes == ()


def test_what_a_file_gave_in_part_is_not_proposed_anew(taken: tuple[TeachProject, dict[str, Squares]]) -> None:
    """Its other boxes were of no use, and the picture is still to look at: those that were good stay."""
    project, _ = taken
    picture = project.pictures()[0]
    known = Box(project.names[0], 0.1, 0.1, 0.2, 0.2, "file")
    project.save(picture.id, [known], "new", picture.revision)
    propose(project)
    assert project.get(picture.id).boxes == (known,)


def test_tracks_of_the_session_are_proposed_with_their_classes(tmp_path: Path) -> None:
    profile = PROFILE.model_copy(update={"classes": (*PROFILE.classes, ObjectClass(name="gone", role="other"))})
    writer = SessionWriter.create(tmp_path, "play", profile, Source(kind="screen", description="tracked"), 10.0, SIZE, start_ns=START_NS)
    squares = Squares(4)
    for number in range(40):
        now_ns = START_NS + number * 100_000_000
        writer.write_frame(Frame(number, now_ns, squares.picture(number / 10)))
        boxes = np.array([b.centre_size for b in squares.boxes(number / 10)][:3], np.float32)
        ones = np.ones(3, np.float32)
        tracks = Tracks(
            np.arange(3, dtype=np.int32), np.array([0, 1, 2], np.int32), boxes, ones * 0.75, np.zeros((3, 2), np.float32), ones, ones * 0
        )
        writer.write_step(
            Step(Observation(now_ns + 1000, now_ns, number, Status(), tracks, None), Action(0.5, 0.5, (), frozenset()), "human")
        )
    writer.close("saved")
    project = TeachProject(tmp_path, PROFILE)
    assert sample(project, 5) == 5
    assert propose(project).by == {"tracks": 5}
    for picture in project.pictures():
        assert [(b.name, b.by, b.score) for b in picture.boxes] == [("me", "tracks", 0.75), ("foe", "tracks", 0.75)]
        assert recall(picture.boxes, squares.boxes(picture.time_s)[:2], 0.9) == 1.0


def test_the_least_sure_pictures_come_first(tmp_path: Path) -> None:
    def finds(*confidences: float) -> Detections:
        n = len(confidences)
        return Detections(np.full((n, 4), 0.25, np.float32), np.zeros(n, np.int32), np.array(confidences, np.float32))

    sure, unsure = uncertainty(finds(0.98, 0.97)), uncertainty(finds(0.98, 0.5, 0.45))
    assert sure < uncertainty(finds()) < unsure <= 1.0
    project = TeachProject(tmp_path, PROFILE)
    content = cv2.imencode(".png", np.zeros((192, 320, 3), np.uint8))[1].tobytes()
    for name, state, doubt in (("a", "proposed", 0.1), ("b", "confirmed", 0.9), ("c", "proposed", 0.8), ("d", "new", None)):
        project.add(replace(blank(name, state), unsure=doubt), content)
    assert [p.id for p in project.queue()] == ["c", "a", "d", "b"]
    assert [b.score for b in boxes_of(finds(0.9, 0.2), project)] == [pytest.approx(0.9)]


# ---- the folder


def test_what_was_saved_is_there_after_a_restart_and_two_windows_do_not_undo_each_other(
    taken: tuple[TeachProject, dict[str, Squares]],
) -> None:
    project, truth = taken
    one = project.pictures()[0]
    saved = project.save(one.id, truth[one.session].boxes(one.time_s), "confirmed", one.revision)
    with pytest.raises(Stale):
        project.save(one.id, [], "confirmed", one.revision)
    again = TeachProject(project.place.root, PROFILE)
    assert again.get(one.id).revision == saved.revision
    assert [b.to_json() for b in again.get(one.id).boxes] == [b.to_json() for b in saved.boxes]
    assert again.counts()["boxes.foe"] == 3


@pytest.mark.parametrize(
    "damage",
    [
        "",
        '{"version": 1, "state": "conf',
        "\0\0\0\0",
        "[]",
        '{"state": "confirmed", "boxes": [{"class": "me", "box": [0, 0, NaN, 1]}]}',
        '{"state": "gone", "boxes": []}',
    ],
)
def test_a_damaged_file_is_set_aside_and_its_picture_is_as_new(taken: tuple[TeachProject, dict[str, Squares]], damage: str) -> None:
    project, _ = taken
    one, two = project.pictures()[:2]
    project.save(two.id, [Box("me", 0, 0, 0.5, 0.5)], "confirmed")
    path = project.folder / "boxes" / f"{one.id}.json"
    path.write_text(damage)
    again = TeachProject(project.place.root, PROFILE)
    assert again.get(one.id).state == "new"
    assert again.get(two.id).state == "confirmed"
    assert path.with_name(f"{path.name}.corrupt").read_text() == damage
    assert any(path.name in notice for notice in again.notices)


def test_classes_that_are_gone_have_to_be_looked_at_again(taken: tuple[TeachProject, dict[str, Squares]]) -> None:
    project, truth = taken
    confirm_truth(project, truth)
    fewer = PROFILE.model_copy(update={"classes": PROFILE.classes[:1]})
    again = TeachProject(project.place.root, fewer)
    assert {p.state for p in again.pictures()} == {"proposed"}
    assert {b.name for p in again.pictures() for b in p.boxes} == {"me", ""}


def test_boxes_of_no_class_and_names_that_are_paths_are_refused(taken: tuple[TeachProject, dict[str, Squares]]) -> None:
    project, _ = taken
    one = project.pictures()[0]
    with pytest.raises(TeachError, match="a box has no class yet"):
        project.save(one.id, [Box("", 0, 0, 0.5, 0.5)], "confirmed")
    with pytest.raises(TeachError, match="ghost: no class"):
        project.save(one.id, [Box("ghost", 0, 0, 0.5, 0.5)], "proposed")
    for name in ("../evil", "a/b", ".hidden", "", "x" * 300):
        with pytest.raises(TeachError):
            project.get(name)
        with pytest.raises(TeachError, match="cannot be a picture's name"):
            project.add(blank(name), b"")


# ---- to other tools and back


@pytest.mark.parametrize("format", ["yolo", "labelstudio"])
def test_out_and_in_again_is_the_same(taken: tuple[TeachProject, dict[str, Squares]], format: str, tmp_path: Path) -> None:
    project, truth = taken
    confirm_truth(project, truth)
    skipped = project.pictures()[-1]
    project.save(skipped.id, [], "skipped")
    before = {p.id: [b.to_json()["box"] for b in p.boxes] for p in project.pictures()}
    told = export(project, format, tmp_path / "out")  # pyright: ignore[reportArgumentType]
    assert "15 pictures with 60 boxes" in told
    other = TeachProject(tmp_path / "elsewhere", PROFILE)
    assert import_labels(other, tmp_path / "out").added == 15
    assert import_labels(other, tmp_path / "out").added == 0  # the same pictures once
    for picture in project.pictures():
        project.save(picture.id, [], "new")
    back = import_labels(project, tmp_path / "out")
    assert (back.confirmed, back.added, back.unknown) == (15, 0, 0)
    for picture in project.pictures()[:-1]:
        assert picture.state == "confirmed"
        assert np.allclose([b.to_json()["box"] for b in picture.boxes], before[picture.id], atol=2e-6)


def test_unknown_classes_change_nothing(taken: tuple[TeachProject, dict[str, Squares]], tmp_path: Path) -> None:
    project, truth = taken
    confirm_truth(project, truth)
    export(project, "yolo", tmp_path / "out")
    yaml = tmp_path / "out" / "data.yaml"
    yaml.write_text(yaml.read_text().replace("foe", "enemy"))
    revisions = [p.revision for p in project.pictures()]
    with pytest.raises(TeachError, match=r"classes that games\.squares has not: enemy"):
        import_labels(project, tmp_path / "out")
    assert [p.revision for p in project.pictures()] == revisions


USELESS = {"a strange class": "7 0.5 0.5 0.1 0.1", "nan": "0 nan 0.5 0.1 0.1", "no area": "0 0.5 0.5 0 0", "pixels": "0 320 180 40 40"}


@pytest.mark.parametrize("line", USELESS.values(), ids=USELESS)
def test_boxes_of_no_use_do_not_say_that_nothing_is_there(
    taken: tuple[TeachProject, dict[str, Squares]], line: str, tmp_path: Path
) -> None:
    """Else the detector learns that the things in these pictures are background."""
    project, _ = taken
    propose(project)
    useless, some, empty, good = (p.id for p in project.pictures()[:4])
    before = project.get(useless)
    assert before.state == "proposed"
    assert before.boxes
    folder = tmp_path / "in"
    (folder / "images").mkdir(parents=True)
    (folder / "labels").mkdir()
    (folder / "data.yaml").write_text("names: [me, foe]\n")
    fine = "1 0.5 0.5 0.1 0.1"
    for stem, text in (
        (useless, line),
        (some, f"{line}\n{fine}"),
        (empty, ""),
        (good, fine),
        ("elsewhere", line),
        ("part", f"{fine}\n{line}"),
    ):
        (folder / "labels" / f"{stem}.txt").write_text(text)
    for grey, stem in enumerate(("elsewhere", "part"), 1):
        cv2.imwrite(str(folder / "images" / f"{stem}.png"), np.full((192, 320, 3), 40 * grey, np.uint8))
    told = import_labels(project, folder)
    assert project.get(useless) == before
    assert [(project.get(id).state, len(project.get(id).boxes)) for id in (some, empty, good)] == [
        ("proposed", 1),
        ("confirmed", 0),
        ("confirmed", 1),
    ]
    assert [(p.state, [b.name for b in p.boxes]) for p in project.pictures() if p.id.startswith("import-")] == [("proposed", ["foe"])]
    assert {some, useless} < {p.id for p in project.queue() if p.state == "proposed"}
    counts = {name: told.to_json()[name] for name in ("pictures", "confirmed", "added", "in_part", "useless", "empty", "dropped")}
    assert counts == {"pictures": 4, "confirmed": 2, "added": 0, "in_part": 2, "useless": 2, "empty": 1, "dropped": 4}
    said = str(told)
    assert said.startswith("yolo: 3 boxes in 4 pictures; 2 were here, 0 are new, 1 empty; 4 boxes of no use")
    assert "2 pictures took only some of their boxes and are still to look at" in said
    assert "2 pictures with no other boxes were left as they were" in said


def test_the_parts_of_a_coco_folder_are_counted_together(tmp_path: Path) -> None:
    for part in ("train", "valid"):
        (tmp_path / "in" / part).mkdir(parents=True)
        coco = {
            "images": [{"id": 1, "width": 320, "height": 192, "file_name": f"{part}.png"}],
            "annotations": [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 320, 192], "iscrowd": 1}],
            "categories": [{"id": 1, "name": "foe"}],
        }
        (tmp_path / "in" / part / "_annotations.coco.json").write_text(json.dumps(coco))
        cv2.imwrite(str(tmp_path / "in" / part / f"{part}.png"), np.zeros((192, 320, 3), np.uint8))
    project = TeachProject(tmp_path / "w", PROFILE)
    told = import_labels(project, tmp_path / "in")
    assert (told.read.useless, told.read.empty, told.added) == (2, 0, 0)
    assert project.pictures() == []


def test_a_file_that_only_looks_like_a_picture_is_counted_and_left(tmp_path: Path) -> None:
    project = TeachProject(tmp_path / "w", PROFILE)
    good = cv2.imencode(".png", np.zeros((192, 320, 3), np.uint8))[1].tobytes()
    folder = tmp_path / "in"
    (folder / "images").mkdir(parents=True)
    (folder / "labels").mkdir()
    (folder / "data.yaml").write_text("names: [me, foe]\n")
    for name, content in (("good", good), ("cut", good[:60]), ("text", b"no picture")):
        (folder / "images" / f"{name}.png").write_bytes(content)
        (folder / "labels" / f"{name}.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    (folder / "labels" / "lost.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    read = import_labels(project, folder)
    assert (read.added, read.unknown, read.read.corrupt) == (1, 1, 2)
    assert len(project.pictures()) == 1
    shutil.rmtree(folder / "images")
    with pytest.raises(BoxesError, match="give a YOLO folder"):
        import_labels(project, tmp_path / "nowhere")


def test_grey_transparent_16_bit_and_turned_pictures_are_kept_as_what_everybody_sees(tmp_path: Path) -> None:
    from PIL import Image

    project = TeachProject(tmp_path / "w", PROFILE)
    folder = tmp_path / "in"
    (folder / "images").mkdir(parents=True)
    (folder / "labels").mkdir()
    (folder / "data.yaml").write_text("names: [me, foe]\n")
    dice = np.random.default_rng(0)
    rgb = dice.integers(0, 256, (60, 90, 3), np.uint8)
    made = {
        "rgb.png": Image.fromarray(rgb),
        "rgba.png": Image.fromarray(np.dstack([rgb, dice.integers(0, 256, (60, 90), np.uint8)])),
        "grey.png": Image.fromarray(rgb[:40, :, 0]),
        "deep.png": Image.fromarray(rgb[:30, :, 1].astype(np.uint16) * 257),
        "palette.png": Image.fromarray(rgb[:20]).quantize(16),
        "pale.jpg": Image.fromarray(rgb[:32, :, 0]),
    }
    for name, picture in made.items():
        picture.save(folder / "images" / name)
    turned = Image.Exif()
    turned[0x0112] = 6  # a camera held upright
    Image.fromarray(rgb[:24]).save(folder / "images" / "turned.jpg", exif=turned)
    for name in (*made, "turned.jpg"):
        (folder / "labels" / f"{name.split('.')[0]}.txt").write_text("1 0.5 0.5 0.2 0.2\n")
    read = import_labels(project, folder)
    assert (read.added, read.read.corrupt) == (len(made) + 1, 0)
    heights = sorted((p.width, p.height) for p in project.pictures())
    assert heights == [(24, 90), (90, 20), (90, 30), (90, 32), (90, 40), (90, 60), (90, 60)]
    assert import_labels(project, folder).added == 0  # known by what they were, not by what they became
    seen = []
    for picture in project.pictures():
        stored = cv2.imread(str(project.file(picture.id)), cv2.IMREAD_UNCHANGED)
        assert (stored.dtype, stored.shape) == (np.uint8, (picture.height, picture.width, 3))
        assert [b.name for b in picture.boxes] == ["foe"]
        seen.append(read_picture(project.file(picture.id)))
    assert sum(np.array_equal(image, rgb) for image in seen) == 2  # transparency is left out, colours stay
    assert any(np.array_equal(image, np.dstack([rgb[:40, :, 0]] * 3)) for image in seen)
    export(project, "yolo", tmp_path / "out")
    written = [cv2.imread(str(path), cv2.IMREAD_UNCHANGED) for path in (tmp_path / "out" / "images").rglob("*.*")]
    assert {image.shape[2:] for image in written} == {(3,)}  # what the training reads
    assert len(written) == len(made) + 1


def test_files_that_follow_one_another_stay_on_one_side(tmp_path: Path) -> None:
    """Frames of a film, named in their order: each has a twin beside it."""
    project = TeachProject(tmp_path / "w", PROFILE)
    for part, first in (("one", 0), ("two", 10)):
        for kind in ("images", "labels"):
            (tmp_path / part / kind).mkdir(parents=True)
        (tmp_path / part / "data.yaml").write_text(f"names: {json.dumps([c.name for c in PROFILE.classes])}")
        for k in range(first, first + 10):
            cv2.imwrite(str(tmp_path / part / "images" / f"frame_{k:03d}.png"), np.full((192, 320, 3), 10 * k, np.uint8))
            (tmp_path / part / "labels" / f"frame_{k:03d}.txt").write_text("0 0.5 0.5 0.2 0.2")
        assert import_labels(project, tmp_path / part).added == 10
    grey = {p.id: int(cv2.imread(str(project.file(p.id)))[0, 0, 0]) for p in project.pictures()}  # type: ignore[index]
    assert sorted(grey[one] // 10 for one in held_out(project.pictures())) == [16, 17, 18, 19]


def test_where_a_model_finds_nothing_what_moved_stays_and_is_not_told_as_found(
    taken: tuple[TeachProject, dict[str, Squares]], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _ = taken
    propose(project)
    before = {p.id: p.boxes for p in project.pictures()}
    nothing = Detections(np.zeros((0, 4), np.float32), np.zeros(0, np.int32), np.zeros(0, np.float32))
    monkeypatch.setattr("engine.teach_guesses.open_detector", lambda *rest: SimpleNamespace(detect=lambda *rest: nothing))
    assert str(propose(project, Path("first.onnx"))) == "boxes proposed in 0 pictures"
    after = {p.id: p.boxes for p in project.pictures()}
    assert {name: len(boxes) for name, boxes in after.items()} == {name: len(boxes) for name, boxes in before.items()}
    assert any(before.values())


def test_coco_of_roboflow_keeps_copies_of_one_picture_in_one_group(tmp_path: Path) -> None:
    project = TeachProject(tmp_path / "w", PROFILE)
    folder = tmp_path / "in" / "train"
    folder.mkdir(parents=True)
    names = ["a_jpg.rf.abc.png", "a_jpg.rf.def.png", "b_jpg.rf.123.png"]
    for k, name in enumerate(names):
        cv2.imwrite(str(folder / name), np.full((192, 320, 3), 40 * k, np.uint8))
    coco = {
        "images": [{"id": k, "width": 320, "height": 192, "file_name": name} for k, name in enumerate(names)],
        "annotations": [{"id": k, "image_id": k, "category_id": 2, "bbox": [32, 48, 64, 96], "iscrowd": 0} for k in range(3)],
        "categories": [{"id": 0, "name": "things", "supercategory": "none"}, {"id": 2, "name": "foe", "supercategory": "things"}],
    }
    (folder / "_annotations.coco.json").write_text(json.dumps(coco))
    assert import_labels(project, tmp_path / "in").added == 3
    assert sorted(p.session for p in project.pictures()) == ["import-a_jpg", "import-a_jpg", "import-b_jpg"]
    assert {tuple(b.to_json()["box"]) for p in project.pictures() for b in p.boxes} == {(0.1, 0.25, 0.3, 0.75)}


def test_the_arena_has_a_profile_that_can_be_copied() -> None:
    assert TeachProject(Path("/nowhere"), ARENA_PROFILE.model_copy(update={"name": "copy"})).pictures() == []

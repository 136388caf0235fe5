"""The detector: letterbox and decoding, which weights are taken and which refused, and the shipped one at work."""

import json
import pickle
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from data.profile import ARENA_PROFILE, GameProfile, ObjectClass
from data.schema import F32
from engine.arena_pictures import pictures
from engine.detector_job import command_of
from engine.perception.card import ASSETS, DetectorError, read_card, weights_path
from engine.perception.detector import Detector, load_detector, open_detector
from engine.perception.pickles import foreign_globals

SHIPPED = ASSETS / "arena_detector.onnx"
TOY = GameProfile(
    name="toy",
    classes=(ObjectClass(name="ship", role="enemy"), ObjectClass(name="ring", role="lock"), ObjectClass(name="bolt", role="shot")),
)


def toy(cells: list[tuple[float, float, float, float, float, float, float]], size: tuple[int, int] = (320, 192)) -> Detector:
    """A detector whose network always gives these cells: x, y, w, h in px of its input, then a score per class."""
    output = np.array(cells, np.float32).T.reshape(7, -1)
    return Detector(lambda _picture: output, "onnxruntime", size, TOY, None)


@pytest.fixture(scope="module")
def shipped() -> Detector:
    return open_detector(SHIPPED, ARENA_PROFILE, "onnxruntime")


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        (640, 360, (0.5, 0.5, 32 / 320, 18 / 180)),  # 6 px of padding above and below
        (1280, 720, (0.5, 0.5, 32 / 320, 18 / 180)),
        (320, 192, (0.5, 0.5, 32 / 320, 18 / 192)),
        (400, 400, (0.5, 0.5, 32 / 192, 18 / 192)),  # padding left and right
    ],
)
def test_boxes_come_back_in_the_picture_they_were_found_in(width: int, height: int, expected: tuple[float, ...]) -> None:
    found = toy([(160, 96, 32, 18, 0.9, 0, 0)]).detect(np.zeros((height, width, 3), np.uint8))
    assert found.boxes[0] == pytest.approx(expected, abs=1e-5)
    assert (found.classes.tolist(), found.confidences.tolist()) == ([0], [pytest.approx(0.9)])


def test_off_centre_box_is_moved_by_the_padding() -> None:
    found = toy([(80, 6 + 45, 16, 9, 0.9, 0, 0)]).detect(np.zeros((360, 640, 3), np.uint8))
    assert found.boxes[0] == pytest.approx((0.25, 0.25, 0.05, 0.05), abs=1e-5)


def test_ship_and_ring_at_one_place_are_both_found_and_doubles_are_not() -> None:
    found = toy([(100, 100, 20, 20, 0.9, 0.6, 0), (101, 100, 20, 20, 0.8, 0, 0)]).detect(np.zeros((360, 640, 3), np.uint8))
    assert found.classes.tolist() == [0, 1]
    assert found.confidences.tolist() == pytest.approx([0.9, 0.6])


def test_weak_cells_and_finds_in_the_padding_are_left_out() -> None:
    found = toy([(100, 100, 20, 20, 0.1, 0, 0), (100, 2, 4, 4, 0.9, 0, 0)]).detect(np.zeros((360, 640, 3), np.uint8))
    assert len(found) == 0


def test_hundreds_of_finds_are_cut_to_the_best() -> None:
    cells = [(4.0 + 4 * (k % 78), 10.0 + 4 * (k // 78), 3.0, 3.0, 0.0, 0.0, 0.3 + k / 2000) for k in range(900)]
    found = toy(cells).detect(np.zeros((360, 640, 3), np.uint8))
    assert len(found) == 100
    assert found.confidences[0] == pytest.approx(0.3 + 899 / 2000, abs=1e-4)


@pytest.mark.parametrize("shape", [(300, 6), (8, 10), (7,), (1, 7, 10)])
def test_an_output_of_another_layout_is_refused(shape: tuple[int, ...]) -> None:
    """As of a model that was exported with its suppression of doubles."""
    with pytest.raises(DetectorError, match=r"its output is \[.*\[7, cells\] is wanted.*nms=False"):
        Detector(lambda _picture: np.zeros(shape, np.float32), "onnxruntime", (320, 192), TOY, None)


def test_empty_picture_gives_nothing() -> None:
    assert len(toy([(100, 100, 20, 20, 0.9, 0, 0)]).detect(np.zeros((0, 0, 3), np.uint8))) == 0


def test_the_picture_is_averaged_not_sampled_when_it_shrinks() -> None:
    seen: list[F32] = []

    def run(picture: F32) -> F32:
        seen.append(picture.copy())
        return np.zeros((7, 1), np.float32)

    image = np.zeros((720, 1280, 3), np.uint8)
    image[360:362, 640:642] = 255  # 2 px of a picture four times as large as the input
    Detector(run, "onnxruntime", (320, 192), TOY, None).detect(image)
    assert seen[-1][0, :, 6:186].max() == pytest.approx(0.25, abs=0.01)


def test_shipped_card_is_whole_and_fits_the_arena() -> None:
    card = read_card(SHIPPED.with_suffix(".json"))
    assert card.classes == ARENA_PROFILE.class_names()
    assert card.size == ARENA_PROFILE.detector_size
    assert card.command.startswith("secondseat train detector")
    assert SHIPPED.stat().st_size <= 6 * 2**20
    assert set(card.figures["classes"]) == set(card.classes)
    assert {"map50", "map50_95", "shot_recall_3px", "ms_per_picture"} <= set(card.figures)


def test_a_cards_command_does_what_it_tells_of() -> None:
    from typer.main import get_command

    from tui.commands.train import app

    training = {"pictures": 400, "epochs": 2, "asked_epochs": 3, "batch": 16, "learning_rate": 0.002, "started_from": "before.safetensors"}
    program, *words = shlex.split(command_of(training, 7))
    assert (program, words[0]) == ("secondseat", "train")
    asked = get_command(app).commands["detector"].make_context("detector", words[2:]).params  # type: ignore[attr-defined]
    wanted = {"source": "arena", "pictures": 400, "epochs": 3, "batch_size": 16, "lr": 0.002, "seed": 7, "start_from": "before.safetensors"}
    assert {name: asked[name] for name in wanted} == wanted


def test_shipped_detector_finds_ships_on_unseen_pictures(shipped: Detector) -> None:
    truth = right = 0
    for shown in pictures(12, seed=9_300_000, coded_share=0.4, shuffled_share=0.0):
        found = shipped.detect(shown.image)
        for kind, box in zip(shown.classes, shown.boxes, strict=True):
            if kind <= 2:
                near = np.hypot(*((found.boxes[:, :2] - box[:2]) * (640, 360)).T) <= 5
                truth += 1
                right += bool((near & (found.classes == kind) & (found.confidences > 0.35)).any())
    assert truth > 30
    assert right / truth > 0.9


def test_shipped_detector_finds_nothing_in_black_pictures(shipped: Detector) -> None:
    for _ in range(3):
        assert len(shipped.detect(np.zeros((360, 640, 3), np.uint8), 0.35)) == 0


def test_runtimes_agree(shipped: Detector) -> None:
    other = open_detector(SHIPPED, ARENA_PROFILE, "openvino")
    assert (shipped.runtime, other.runtime) == ("onnxruntime", "openvino")
    for shown in pictures(3, seed=9_400_000):
        a, b = shipped.detect(shown.image), other.detect(shown.image)
        assert a.classes.tolist() == b.classes.tolist()
        assert a.boxes == pytest.approx(b.boxes, abs=1e-3)
        assert a.confidences == pytest.approx(b.confidences, abs=5e-3)


def test_cuda_where_there_is_none_falls_back_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.perception.detector._cuda_works", lambda _device: False)
    detector = open_detector(SHIPPED, ARENA_PROFILE, "cuda:7")
    assert "cuda:7" in detector.notice
    assert detector.runtime in ("openvino", "onnxruntime")
    with pytest.raises(DetectorError, match="tpu"):
        open_detector(SHIPPED, ARENA_PROFILE, "tpu")


def test_profile_without_detector_has_none() -> None:
    assert load_detector(GameProfile(name="bare")) is None


def test_missing_weights_are_named(tmp_path: Path) -> None:
    profile = ARENA_PROFILE.model_copy(update={"detector": "models/detector/mine.onnx"})
    with pytest.raises(DetectorError, match=r"mine\.onnx.*\[games\.arena\] detector"):
        load_detector(profile, workspace=tmp_path)
    with pytest.raises(DetectorError, match="builtin:nothing"):
        weights_path(profile.model_copy(update={"detector": "builtin:nothing"}))


def test_other_classes_are_refused_by_name() -> None:
    classes = (*ARENA_PROFILE.classes[:-1], ObjectClass(name="flag", role="mark"))
    with pytest.raises(DetectorError, match=r"class 13 is 'mark' there and 'flag'"):
        open_detector(SHIPPED, ARENA_PROFILE.model_copy(update={"classes": classes}))


def test_changed_weights_and_damaged_cards_are_refused(tmp_path: Path) -> None:
    weights, card = tmp_path / "d.onnx", tmp_path / "d.json"
    shutil.copy(SHIPPED, weights)
    described = json.loads(SHIPPED.with_suffix(".json").read_text(encoding="utf-8"))
    card.write_text(json.dumps({**described, "sha256": "0" * 64}), encoding="utf-8")
    with pytest.raises(DetectorError, match="not the file that its card"):
        open_detector(weights, ARENA_PROFILE)
    card.write_text("{", encoding="utf-8")
    with pytest.raises(DetectorError, match="not a detector's card"):
        open_detector(weights, ARENA_PROFILE)
    card.unlink()
    weights.write_bytes(b"no network at all")
    with pytest.raises(DetectorError, match="not a usable ONNX file"):
        open_detector(weights, ARENA_PROFILE)


class Payload:
    """Loading its pickle would make a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (str(self.path),)


def test_foreign_pickle_is_refused_naming_what_it_would_import(tmp_path: Path) -> None:
    trap = tmp_path / "executed"
    weights = tmp_path / "best.pt"
    with zipfile.ZipFile(weights, "w") as archive:
        archive.writestr("best/data.pkl", pickle.dumps({"model": Payload(trap)}))
    with pytest.raises(DetectorError, match=r"best\.pt.*touch.*secondseat trust best\.pt"):
        open_detector(weights, ARENA_PROFILE)
    weights.write_bytes(pickle.dumps(Payload(trap), protocol=2))
    with pytest.raises(DetectorError, match=r"getattr, pathlib\.Path"):
        open_detector(weights, ARENA_PROFILE)
    assert not trap.exists()


def test_plain_tensors_name_nothing_foreign(tmp_path: Path) -> None:
    path = tmp_path / "plain.pt"
    path.write_bytes(pickle.dumps({"weights": [1.0, 2.0], "classes": ("a", "b")}))
    assert foreign_globals(path) == []
    path.write_bytes(b"\x00garbage")
    assert foreign_globals(path) == []


def test_a_damaged_pickle_is_refused_as_any_other(tmp_path: Path) -> None:
    weights = tmp_path / "best.pt"
    with zipfile.ZipFile(weights, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("best/data.pkl", b"x" * 5000)
    content = bytearray(weights.read_bytes())
    begin = content.index(b"data.pkl") + len("data.pkl")
    content[begin : begin + 8] = b"\xff" * 8
    weights.write_bytes(content)
    with pytest.raises(DetectorError, match=r"best\.pt is a PyTorch pickle from elsewhere"):
        open_detector(weights, ARENA_PROFILE)


def test_nothing_reaches_for_the_network() -> None:
    """Loads and runs the shipped detector in a child whose every connection and name look-up fails loudly."""
    code = """
import socket, sys
def refuse(*a, **k):
    raise SystemExit("network: " + repr(a))
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
import numpy as np
from data.profile import ARENA_PROFILE
from engine.perception.detector import load_detector
detector = load_detector(ARENA_PROFILE, "auto")
detector.detect(np.zeros((360, 640, 3), np.uint8))
loaded = sys.modules.get("openvino_telemetry")
assert loaded is None or not hasattr(loaded, "backend"), "the real telemetry was imported"
assert "ultralytics" not in sys.modules and "torch" not in sys.modules
print(detector.runtime)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "openvino"

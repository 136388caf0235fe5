"""``secondseat trust``: a pickle is loaded only when a person says so, and then once, elsewhere."""

from __future__ import annotations

import io
import json
import pickle
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from engine.perception import trusted
from tui.cli import main

Run = Callable[..., int]
TINY = """
nc: 2
scales:
  n: [0.33, 0.0625, 64]
backbone:
  - [-1, 1, Conv, [64, 3, 2]]
  - [-1, 1, Conv, [128, 3, 2]]
  - [-1, 1, Conv, [256, 3, 2]]
head:
  - [[1, 2], 1, Detect, [nc]]
"""


class Payload:
    """What a pickle may do: here it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return lambda *words: main(["--workspace", str(tmp_path / "w"), "trust", *words])


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A detector as Ultralytics writes it, of two classes, that has learnt nothing."""
    import torch
    from ultralytics.nn.tasks import DetectionModel

    folder = tmp_path_factory.mktemp("detector")
    (folder / "tinyn.yaml").write_text(TINY)
    model = DetectionModel(str(folder / "tinyn.yaml"), verbose=False)
    model.names = {0: "drone", 1: "rock"}
    torch.save({"model": deepcopy(model).half(), "train_args": {"imgsz": 64}, "epoch": -1}, folder / "best.pt")
    return folder / "best.pt"


def test_what_nobody_trusts_is_not_loaded(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trap = tmp_path / "executed"
    (tmp_path / "here" / "best.pt").write_bytes(pickle.dumps({"model": Payload(trap)}))
    assert run("best.pt") == 2
    said = capsys.readouterr().err
    assert "best.pt can run any code when it is loaded; it names" in said
    assert "touch" in said
    assert "not trusted; nothing was loaded" in said
    assert not trap.exists()
    assert not (tmp_path / "w" / trusted.TRUSTED).exists()


@pytest.mark.timeout(300)
def test_a_trusted_detector_becomes_data_and_is_known_by_its_content(
    run: Run, detector: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import onnxruntime

    here = tmp_path / "here"
    shutil.copyfile(detector, here / "best.pt")
    assert run("best.pt", "--yes", "--size", "64", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    session = onnxruntime.InferenceSession(found["onnx"], providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].shape == [1, 3, 64, 64]
    assert "rock" in session.get_modelmeta().custom_metadata_map["names"]
    assert run("best.pt", "--yes") == 2
    assert "best.onnx exists" in capsys.readouterr().err

    converted: list[Path] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trusted, "to_onnx", lambda root, path, size: converted.append(path) or path)
        shutil.copyfile(detector, here / "other.pt")
        assert run("other.pt") == 0  # the same bytes
        assert "can run any code" not in capsys.readouterr().err
        assert converted == [Path("other.pt")]
        (here / "other.pt").write_bytes(detector.read_bytes() + b"\0")
        assert run("other.pt") == 2
        assert "not trusted" in capsys.readouterr().err


def test_what_cannot_be_done_is_one_line(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = tmp_path / "here"
    (here / "a.onnx").write_text("")
    (here / "b.pt").write_bytes(pickle.dumps({"weights": [1.0]}))
    for words, status, told in (
        (("a.onnx",), 2, "only .pt and .pth files need it"),
        (("none.pt",), 2, "no such file"),
        (("b.pt", "--yes"), 1, "it could not be made into an ONNX file"),
    ):
        assert run(*words) == status
        assert told in capsys.readouterr().err
    (tmp_path / "w" / trusted.TRUSTED).write_text("[")
    assert run("b.pt", "--yes") == 1
    assert "trusted files are then asked for anew" in capsys.readouterr().err


@pytest.mark.parametrize(("typed", "status"), [("yes\n", 0), ("", 2), ("no\n", 2)])
def test_the_question_is_not_in_what_a_program_reads(
    typed: str, status: int, run: Run, detector: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "here" / "best.pt"
    copy.write_bytes(detector.read_bytes())
    asked = io.StringIO(typed)
    asked.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", asked)
    assert run("best.pt", "--size", "64", "--json") == status
    said = capsys.readouterr()
    assert "Trust best.pt? Type yes: " in said.err
    if status:
        assert (said.out, "not trusted" in said.err) == ("", True)
    else:
        assert json.loads(said.out)["onnx"].endswith("best.onnx")

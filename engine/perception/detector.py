"""Runs a detector on pictures of any size.

The shipped weights are ONNX. Order of runtimes: torch on a GPU where there is one and the tensors lie beside the
ONNX file, else OpenVINO, else ONNX Runtime, else torch. Each runs on one thread: on a machine that also captures,
records and draws, a second one makes everything slower. Nothing here reaches for the network.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.offline import stay_offline
from data.profile import GameProfile
from data.schema import F32, Image
from data.vocabulary import ROLES
from engine.perception.card import DetectorCard, DetectorError, check_classes, file_sha256, read_card, weights_path
from engine.perception.detections import Detections, suppress_doubles
from engine.perception.pickles import foreign_globals

log = logging.getLogger(__name__)

Runtime = Literal["torch-cuda", "openvino", "onnxruntime", "torch"]
Run = Callable[[F32], F32]
"""float32 [1, 3, H, W] in 0..1 -> float32 [4 + classes, cells]: boxes as centre and size in px of the input, scores."""

LEAST_CONFIDENCE: Final = 0.2
MOST_FOUND: Final = 100
_MOST_CANDIDATES: Final = 300
_PADDING: Final = 114


class Detector:
    """One loaded detector. ``detect`` from one thread at a time."""

    def __init__(self, run: Run, runtime: Runtime, size: tuple[int, int], profile: GameProfile, card: DetectorCard | None) -> None:
        """size: width, height in px of the network's input. Raises DetectorError when its output is no table of boxes and scores."""
        self.runtime, self.size, self.card = runtime, size, card
        self.notice = ""
        """What the user should know about how it runs (an asked device that is not there); empty: nothing."""
        self._run = run
        self._roles = np.array([ROLES.index(role) for role in profile.roles()], np.int32)
        scales: Mapping[str, float] = card.box_scales if card is not None else dict[str, float]()
        self._box_scales = np.array([scales.get(name, 1.0) for name in profile.class_names()], np.float32)
        width, height = size
        self._canvas = np.full((height, width, 3), _PADDING, np.uint8)
        self._input = np.zeros((1, 3, height, width), np.float32)
        self._fitted: tuple[int, int] = (0, 0)
        rows, shape = 4 + len(profile.classes), run(self._input).shape
        if len(shape) != 2 or shape[0] != rows:
            raise DetectorError(
                f"its output is {list(shape)}; [{rows}, cells] is wanted: a box and a score for each of the {rows - 4} classes. "
                "Export it without suppression of doubles (Ultralytics: nms=False)"
            )
        for _ in range(2):
            self.detect(np.zeros((height, width, 3), np.uint8))

    def detect(self, image: Image, least_confidence: float = LEAST_CONFIDENCE) -> Detections:
        """What is in a picture (RGB uint8 [H, W, 3], any size), best first, at most ``MOST_FOUND``."""
        if not image.size:
            return Detections.empty()
        scale, left, top = self._fit(image)
        output = self._run(self._input)
        scores = output[4:]
        # every class of a cell counts: a lock ring and the ship inside it share their centre
        classes, cells = np.nonzero(scores >= least_confidence)
        if not len(cells):
            return Detections.empty()
        confidences = scores[classes, cells]
        if len(cells) > _MOST_CANDIDATES:
            best = np.argpartition(-confidences, _MOST_CANDIDATES)[:_MOST_CANDIDATES]
            classes, cells, confidences = classes[best], cells[best], confidences[best]
        boxes = np.ascontiguousarray(output[:4, cells].T)
        kinds = classes.astype(np.int32)
        stays = suppress_doubles(boxes, kinds, confidences, self._roles[kinds], MOST_FOUND)
        boxes = boxes[stays]
        boxes[:, 0] -= left
        boxes[:, 1] -= top
        boxes /= scale * np.array([image.shape[1], image.shape[0]] * 2, np.float32)
        boxes[:, 2:] /= self._box_scales[kinds[stays]][:, None]
        inside = ((boxes[:, :2] >= 0) & (boxes[:, :2] <= 1)).all(1)
        return Detections(boxes[inside].astype(np.float32), kinds[stays][inside], confidences[stays][inside].astype(np.float32))

    def _fit(self, image: Image) -> tuple[float, float, float]:
        """Put the picture into the network's input; scale and the offset of its left top corner there, in px."""
        import cv2

        width, height = self.size
        rows, columns = image.shape[:2]
        scale = min(width / columns, height / rows)
        fitted = max(1, round(columns * scale)), max(1, round(rows * scale))
        left, top = (width - fitted[0]) // 2, (height - fitted[1]) // 2
        if fitted != self._fitted:
            self._canvas[:] = _PADDING
            self._fitted = fitted
        part = self._canvas[top : top + fitted[1], left : left + fitted[0]]
        if (columns, rows) == fitted:
            part[:] = image
        else:
            # the mean over each cell: plain sampling loses things of 3 px
            part[:] = cv2.resize(image, fitted, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
        np.multiply(self._canvas.transpose(2, 0, 1), np.float32(1 / 255), out=self._input[0])
        return scale, float(left), float(top)


def load_detector(profile: GameProfile, device: str = "auto", workspace: Path | None = None) -> Detector | None:
    """The detector of a profile, warmed up; None when the profile names none.

    device: ``auto``, ``cpu``, ``cuda`` (or ``cuda:0`` …), or a runtime by name (``openvino``, ``onnxruntime``,
    ``torch``). Raises DetectorError when the weights are missing, foreign, damaged or made for other classes.
    """
    path = weights_path(profile, workspace)
    return None if path is None else open_detector(path, profile, device)


def open_detector(path: Path, profile: GameProfile, device: str = "auto") -> Detector:
    """The detector in one file (``.onnx`` or our ``.safetensors``, with its card beside it). See ``load_detector``."""
    if not path.is_file():
        raise DetectorError(f"detector weights: no file {path}")
    if path.suffix in (".pt", ".pth", ".pkl", ".pickle"):
        raise DetectorError(_pickle_refusal(path))
    if path.suffix not in (".onnx", ".safetensors"):
        raise DetectorError(f"{path.name} is neither .onnx nor .safetensors; export the detector to ONNX")
    card_path = path.with_suffix(".json")
    card = read_card(card_path) if card_path.exists() or path.suffix == ".safetensors" else None
    if card is not None:
        check_classes(profile, card.classes, path)
        if path.suffix == ".onnx" and card.sha256 != file_sha256(path):
            raise DetectorError(f"{path.name} is not the file that its card {card_path.name} was written for; restore both or train anew")
    problems: list[str] = []
    notice = ""
    order, notice = _runtimes(device)
    for runtime in order:
        tensors = path.with_suffix(".safetensors")
        try:
            if runtime in ("torch", "torch-cuda"):
                if card is None or not tensors.is_file():
                    problems.append(f"{runtime}: no {tensors.name} with a card")
                    continue
                run, size = _torch(tensors, card, device if device.startswith("cuda") else "cuda" if runtime == "torch-cuda" else "cpu")
            elif path.suffix != ".onnx":
                problems.append(f"{runtime}: runs ONNX files only")
                continue
            else:
                names, size, run = (_openvino if runtime == "openvino" else _onnxruntime)(path)
                if card is None:
                    check_classes(profile, names, path)
        except ImportError as error:
            problems.append(f"{runtime}: {error}")
            continue
        try:
            detector = Detector(run, runtime, size, profile, card)
        except DetectorError as error:
            raise DetectorError(f"{path.name}: {error}") from error
        detector.notice = notice
        if notice:
            log.warning("detector: %s", notice)
        return detector
    raise DetectorError(f"{path.name}: no runtime for it ({'; '.join(problems)}); pip install openvino or onnxruntime")


def _runtimes(device: str) -> tuple[Sequence[Runtime], str]:
    """The runtimes to try for a ``device`` setting, in order, and what to tell the user."""
    on_cpu: tuple[Runtime, ...] = ("openvino", "onnxruntime", "torch")
    if device in on_cpu:
        return [device], ""
    if device == "cpu":
        return on_cpu, ""
    if device == "auto":
        return (("torch-cuda", *on_cpu) if _has_nvidia() and _cuda_works("cuda") else on_cpu), ""
    if device.split(":")[0] == "cuda":
        return (["torch-cuda", *on_cpu], "") if _cuda_works(device) else (on_cpu, f"{device} is not available here; it runs on the CPU")
    raise DetectorError(f"device {device!r} is unknown; use auto, cpu, cuda, cuda:N, openvino, onnxruntime or torch")


def _has_nvidia() -> bool:
    """Whether a driver is there at all: importing torch to ask takes seconds."""
    if os.name == "nt":
        return (Path(os.environ.get("SYSTEMROOT", "C:/Windows")) / "System32" / "nvcuda.dll").exists()
    return any(Path(p).exists() for p in ("/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg"))


def _cuda_works(device: str) -> bool:
    if find_spec("torch") is None:
        return False
    import torch

    number = device.partition(":")[2]
    return torch.cuda.is_available() and (not number or (number.isdigit() and int(number) < torch.cuda.device_count()))


def _openvino(path: Path) -> tuple[tuple[str, ...], tuple[int, int], Run]:
    stay_offline()
    import openvino

    core: Any = openvino.Core()
    options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False}
    options["INFERENCE_PRECISION_HINT"] = "f32"  # else some processors round to 16 bits, and finds differ from the network's
    try:
        model: Any = core.read_model(path)
        size = _input_size([d.get_length() for d in model.input(0).get_partial_shape()], path)
        request: Any = core.compile_model(model, "CPU", options).create_infer_request()
    except RuntimeError as error:
        raise DetectorError(f"{path.name} is not a usable ONNX file: {str(error).splitlines()[0]}") from error
    names = _names_in(str(model.get_rt_info(["framework", "names"]).value) if model.has_rt_info(["framework", "names"]) else "", path)

    def run(picture: F32) -> F32:
        request.infer({0: picture}, share_inputs=True)
        return _table(request.get_output_tensor(0).data)

    return names, size, run


def _onnxruntime(path: Path) -> tuple[tuple[str, ...], tuple[int, int], Run]:
    runtime: Any = import_module("onnxruntime")  # it has no type stubs
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own exceptions have no common base
        raise DetectorError(f"{path.name} is not a usable ONNX file: {str(error).splitlines()[0]}") from error
    first = session.get_inputs()[0]
    size = _input_size(first.shape, path)
    names = _names_in(session.get_modelmeta().custom_metadata_map.get("names", ""), path)

    def run(picture: F32) -> F32:
        return _table(session.run(None, {first.name: picture})[0])

    return names, size, run


def _torch(path: Path, card: DetectorCard, device: str) -> tuple[Run, tuple[int, int]]:
    """Our own network filled with our own tensors: no pickle is involved."""
    from trainers.networks.yolo import NETWORK, DetectorTrainingError, build_network, load_weights

    if card.network != NETWORK:
        raise DetectorError(f"{path.name} is a {card.network} network; this version runs {NETWORK}; use its ONNX file")
    try:
        network = build_network(card.classes, card.width)
        load_weights(network, path)
    except DetectorTrainingError as error:
        raise ImportError(str(error)) from error
    torch: Any = import_module("torch")
    network = network.to(device).float().eval()
    network.fuse(verbose=False)
    ready = threading.local()

    def run(picture: F32) -> F32:
        if not getattr(ready, "threads_set", False):
            torch.set_num_threads(1)  # Ultralytics has set its own count; each thread keeps its first
            ready.threads_set = True
        with torch.inference_mode():
            output: Any = network(torch.from_numpy(picture).to(device))
        boxes_and_raw: Any = output if torch.is_tensor(output) else output[0]
        return _table(boxes_and_raw.cpu().numpy())

    return run, card.size


def _table(output: NDArray[np.float32]) -> F32:
    return output[0] if output.ndim == 3 else output


def _input_size(shape: Sequence[Any], path: Path) -> tuple[int, int]:
    if len(shape) != 4 or not all(isinstance(side, int) for side in shape[1:]) or shape[1] != 3:
        raise DetectorError(f"{path.name}: its input is {list(shape)}, not a fixed [1, 3, height, width]; export it with a fixed size")
    return int(shape[3]), int(shape[2])


def _names_in(text: str, path: Path) -> tuple[str, ...]:
    """Class names as exporters write them into an ONNX file: a dictionary as text."""
    import ast

    try:
        names: Any = ast.literal_eval(text) if text else {}
        return tuple(str(n) for n in (names.values() if hasattr(names, "values") else names))
    except (ValueError, SyntaxError, TypeError) as error:
        raise DetectorError(f"{path.name}: its class names cannot be read: {text[:80]!r}") from error


def _pickle_refusal(path: Path) -> str:
    globals_ = foreign_globals(path)
    found = f" (it names {', '.join(globals_[:3])}{' and more' if len(globals_) > 3 else ''})" if globals_ else ""
    return (
        f"{path.name} is a PyTorch pickle from elsewhere and was not opened: loading one can run any code{found}. "
        f"If you trust it: secondseat trust {path.name} makes it an ONNX file; then name that"
    )

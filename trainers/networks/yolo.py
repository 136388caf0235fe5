"""The detector's network: a very small YOLO11 with a fine grid, its tensors, and nothing that is a pickle.

Width 0.125 and heads at strides 4, 8 and 16 instead of 8, 16 and 32: a 6 px shot in a 640x360 picture is 3 px at the
size the detector runs at, less than one cell of stride 8. Four instead of sixteen distance bins pay for the finer grid
(0.43 M parameters). Ultralytics (AGPL-3.0) builds it from the table below.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from data.files import write_whole
from data.offline import stay_offline

NETWORK: Final = "yolo11-p2"
"""The name of the network below, kept in a detector's card. Another layout gets another name."""

_BACKBONE: Final[list[list[Any]]] = [
    [-1, 1, "Conv", [64, 3, 2]],  # 0: stride 2
    [-1, 1, "Conv", [128, 3, 2]],  # 1: 4
    [-1, 2, "C3k2", [256, False, 0.25]],
    [-1, 1, "Conv", [256, 3, 2]],  # 3: 8
    [-1, 2, "C3k2", [512, False, 0.25]],
    [-1, 1, "Conv", [512, 3, 2]],  # 5: 16
    [-1, 2, "C3k2", [512, True]],
    [-1, 1, "Conv", [1024, 3, 2]],  # 7: 32
    [-1, 2, "C3k2", [1024, True]],
    [-1, 1, "SPPF", [1024, 5]],
    [-1, 2, "C2PSA", [1024]],  # 10
]
_HEAD: Final[list[list[Any]]] = [
    [-1, 1, "nn.Upsample", [None, 2, "nearest"]],
    [[-1, 6], 1, "Concat", [1]],
    [-1, 2, "C3k2", [512, False]],  # 13: stride 16
    [-1, 1, "nn.Upsample", [None, 2, "nearest"]],
    [[-1, 4], 1, "Concat", [1]],
    [-1, 2, "C3k2", [256, False]],  # 16: stride 8
    [-1, 1, "nn.Upsample", [None, 2, "nearest"]],
    [[-1, 2], 1, "Concat", [1]],
    [-1, 2, "C3k2", [128, False]],  # 19: stride 4
    [[19, 16, 13], 1, "Detect", ["nc"]],
]


class DetectorTrainingError(Exception):
    """Training cannot be done; the text says why and what to do."""


def network_layout(n_classes: int, width: float = 0.125) -> dict[str, Any]:
    """The network in Ultralytics' own notation (what stands in its YAML files)."""
    return {
        "nc": n_classes,
        "reg_max": 4,
        "scales": {"x": [0.5, width, 1024]},
        "scale": "x",
        "backbone": deepcopy(_BACKBONE),
        "head": deepcopy(_HEAD),
    }


MISSING_ULTRALYTICS: Final = (
    "ultralytics is not installed (AGPL-3.0, see the README); it trains detectors and runs them in torch:"
    " pip install ultralytics-opencv-headless"
)


def require_ultralytics() -> None:
    """Raises DetectorTrainingError when Ultralytics is not installed. Imports nothing of it."""
    try:
        found = find_spec("ultralytics") is not None
    except ImportError:
        found = False
    if not found:
        raise DetectorTrainingError(MISSING_ULTRALYTICS)


def build_network(classes: Sequence[str], width: float = 0.125) -> Any:
    """The untrained network, a torch module: float32 [B, 3, H, W] in 0..1 (RGB) -> [B, 4 + classes, cells].

    Raises DetectorTrainingError when Ultralytics is not installed.
    """
    stay_offline()
    try:
        from ultralytics.nn.tasks import DetectionModel
    except ImportError as error:
        raise DetectorTrainingError(MISSING_ULTRALYTICS) from error
    layout: Any = network_layout(len(classes), width)  # its type knows file names only
    network = DetectionModel(layout, ch=3, nc=len(classes), verbose=False)
    network.names = dict(enumerate(classes))
    return network


def save_weights(network: Any, path: Path) -> None:
    """The network's tensors as float32 safetensors, written whole or not at all."""
    from safetensors.torch import save

    # all floats as float32; integer counters (batches seen by a normalisation) as they are
    tensors = {
        k: (v.detach().cpu().float() if v.is_floating_point() else v.detach().cpu()).contiguous() for k, v in network.state_dict().items()
    }
    write_whole(path, save(tensors, metadata={"network": NETWORK}))


def load_weights(network: Any, path: Path) -> None:
    """Fill the network with tensors of ``save_weights``.

    Raises DetectorTrainingError when they belong to another network or cannot be read.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise DetectorTrainingError(
            f"{path}: no tensors can be read from it ({error}); name a .safetensors file of a trained detector"
        ) from error
    expected = network.state_dict()
    wrong = [k for k in expected if k not in tensors or tensors[k].shape != expected[k].shape]
    if wrong or len(tensors) != len(expected):
        raise DetectorTrainingError(f"{path} does not fit the network {NETWORK}: {len(wrong)} tensors differ (first: {wrong[:1]})")
    network.load_state_dict(tensors)

"""Keeps third-party libraries off the network.

Ultralytics asks DNS at import, fetches a font at ``train()``, installs packages by itself and reports usage;
OpenVINO brings a telemetry module. Every module that imports one of them calls ``stay_offline`` first.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from data.files import from_json

_ENVIRONMENT: Final = {
    "YOLO_OFFLINE": "1",
    "YOLO_AUTOINSTALL": "false",
    "YOLO_VERBOSE": "false",
    "CLEARML_OFFLINE_MODE": "1",
    "COMET_MODE": "disabled",
    "WANDB_MODE": "disabled",
    "ALBUMENTATIONS_OFFLINE": "1",
    "NO_ALBUMENTATIONS_UPDATE": "1",
    "HF_HUB_OFFLINE": "1",
}
_SWITCHES: Final = ("sync", "clearml", "comet", "dvc", "mlflow", "raytune", "tensorboard", "wandb", "vscode_msg", "openvino_msg")


def settings_folder() -> Path:
    """The private folder that Ultralytics keeps its settings in when run by us (per user, never the user's own)."""
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    root = Path(base) if base else Path.home() / ".cache"
    return root / "secondseat" / "ultralytics"


def stay_offline() -> None:
    """Switch off everything that reaches for the network. Cheap, idempotent; call it before the import.

    Raises nothing: where the private folder cannot be written, a folder of this process alone is used.
    """
    os.environ.update(_ENVIRONMENT)
    if "YOLO_CONFIG_DIR" not in os.environ or not Path(os.environ["YOLO_CONFIG_DIR"]).is_dir():
        os.environ["YOLO_CONFIG_DIR"] = str(_writable_folder())
    _prepare_settings(Path(os.environ["YOLO_CONFIG_DIR"]) / "Ultralytics")
    _silence_openvino_telemetry()


def _writable_folder() -> Path:
    folder = settings_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="secondseat-ultralytics-"))


def _prepare_settings(folder: Path) -> None:
    """Write settings with every integration off, and a font so that none is fetched."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "settings.json"
        known: dict[str, Any] = {}
        if path.exists():
            try:
                known = from_json(path.read_text(encoding="utf-8"))
            except ValueError:
                known = {}
        if any(known.get(switch, True) for switch in _SWITCHES):
            fresh = path.with_suffix(f".{os.getpid()}.tmp")
            fresh.write_text(json.dumps({**known, **dict.fromkeys(_SWITCHES, False)}, indent=2), encoding="utf-8")
            fresh.replace(path)
        if all((folder / name).exists() for name in ("Arial.ttf", "Arial.Unicode.ttf")):
            return
        spec = find_spec("matplotlib")
        if spec is None or spec.origin is None:
            return
        font = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
        if font.exists():
            for name in ("Arial.ttf", "Arial.Unicode.ttf"):
                shutil.copyfile(font, folder / name)
    except OSError:
        return  # a read-only home: the environment switches alone keep it offline


def _silence_openvino_telemetry() -> None:
    """Put an empty module in the place of OpenVINO's telemetry, unless it is already loaded."""
    if "openvino_telemetry" not in sys.modules:
        module = ModuleType("openvino_telemetry", "Stands in for OpenVINO's telemetry: it records and sends nothing.")
        module.Telemetry = _NoTelemetry  # pyright: ignore[reportAttributeAccessIssue]
        sys.modules["openvino_telemetry"] = module


class _NoTelemetry:
    """Accepts every call of OpenVINO's telemetry and does nothing."""

    def __init__(self, *_args: object, **_named: object) -> None:
        pass

    def __getattr__(self, _name: str) -> Any:
        return _nothing


def _nothing(*_args: object, **_named: object) -> None:
    return None

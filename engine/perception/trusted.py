"""Detectors from elsewhere that a person trusts: remembered by what is in them, and made into ONNX files once.

A PyTorch file (``.pt``) is a pickle: loading it can run any code. It is therefore never loaded, but for one conversion that a person asks
for by name: on a copy, in a process of its own, which is told to fetch nothing. What is used from then on is the ONNX file, which is data.
Trust is for the content (SHA-256), not for the name: another file of that name is asked for anew.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from data.files import from_json, write_json, write_whole
from engine.perception.card import DetectorError, file_sha256

TRUSTED: Final = "trusted.json"
"""In a workspace: what is trusted, by hash."""
CONVERT_S: Final = 900.0
"""After so long a conversion is given up."""
_CODE: Final = """
import sys
from ultralytics import YOLO
path, size = sys.argv[1], int(sys.argv[2])
YOLO(path).export(format="onnx", simplify=False, dynamic=False, **({"imgsz": size} if size else {}))
"""


def is_trusted(workspace: Path, sha256: str) -> bool:
    """Did a person say so before? Raises DetectorError when the file that remembers it cannot be read."""
    return sha256 in _remembered(workspace)


def trust(workspace: Path, path: Path) -> str:
    """Remember that what is in ``path`` is trusted; its SHA-256. Raises OSError and DetectorError."""
    sha256 = file_sha256(path)
    told = {"name": path.name, "trusted": datetime.now(UTC).isoformat(timespec="seconds")}
    workspace.mkdir(parents=True, exist_ok=True)
    write_json(workspace / TRUSTED, _remembered(workspace) | {sha256: told})
    return sha256


def _remembered(workspace: Path) -> dict[str, Any]:
    path = workspace / TRUSTED
    try:
        told: Any = from_json(path.read_bytes()) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise DetectorError(f"{path}: cannot be read ({error}); restore it, or remove it: trusted files are then asked for anew") from error
    if not isinstance(told, dict):
        raise DetectorError(f"{path}: is no list of what is trusted; restore it, or remove it: trusted files are then asked for anew")
    return cast("dict[str, Any]", told)


def to_onnx(workspace: Path, path: Path, size: int = 0) -> Path:
    """The ONNX file that is made beside ``path``, whose content must be trusted. ``size``: side of its input in px, 0: as it was trained.

    Raises DetectorError when it is not trusted, holds no detector or takes longer than ``CONVERT_S``; FileExistsError when there is an
    ONNX file of that name; OSError.
    """
    target = path.with_suffix(".onnx")
    if target.exists():
        raise FileExistsError(f"{target} exists; move it away, or use it")
    with tempfile.TemporaryDirectory(prefix="secondseat-") as folder:
        copy = Path(folder) / "weights.pt"
        shutil.copyfile(path, copy)
        if not is_trusted(workspace, file_sha256(copy)):  # the very bytes that are loaded
            raise DetectorError(f"{path.name}: nobody said that it is trusted; secondseat trust {path.name} asks")
        quiet = {"YOLO_AUTOINSTALL": "false", "YOLO_OFFLINE": "true", "YOLO_VERBOSE": "false", "YOLO_CONFIG_DIR": folder}
        command = [sys.executable, "-c", _CODE, str(copy), str(size)]
        try:
            done = subprocess.run(
                command, cwd=folder, env={**os.environ, **quiet}, capture_output=True, text=True, timeout=CONVERT_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise DetectorError(f"{path.name}: its conversion took longer than {CONVERT_S / 60:.0f} minutes and was ended") from error
        made = copy.with_suffix(".onnx")
        if done.returncode or not made.is_file():
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            why = lines[-1] if lines else f"exit status {done.returncode}"
            raise DetectorError(f"{path.name}: it could not be made into an ONNX file ({why[:300]}); is it a detector of Ultralytics?")
        write_whole(target, made.read_bytes())
    return target

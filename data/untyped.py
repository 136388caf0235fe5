"""Libraries without usable type information, fetched when first needed and used as ``Any``."""

from __future__ import annotations

import importlib
from typing import Any


def pyarrow() -> Any:
    """``pyarrow`` with its ``ipc`` module."""
    module: Any = importlib.import_module("pyarrow")
    importlib.import_module("pyarrow.ipc")
    return module


def arrow_compute() -> Any:
    """``pyarrow.compute``."""
    return importlib.import_module("pyarrow.compute")


def parquet() -> Any:
    """``pyarrow.parquet``."""
    return importlib.import_module("pyarrow.parquet")


def pyav() -> Any:
    """``av`` (PyAV)."""
    return importlib.import_module("av")


def opencv() -> Any:
    """``cv2``."""
    return importlib.import_module("cv2")

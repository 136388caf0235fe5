"""What a benchmark found, as a dated file beside those of before."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from data.files import write_json


def write_result(what: str, found: Mapping[str, Any], **about: Any) -> Path:
    """``benchmarks/results/WHAT_DATE_TIME.json``: what was measured, when, where, ``about`` it (settings, versions) and ``found``."""
    now = datetime.now(UTC)
    facts: dict[str, Any] = {
        "what": what,
        "time": now.isoformat(timespec="seconds"),
        "machine": {"python": platform.python_version(), "system": platform.system(), "cpus": os.cpu_count()},
    }
    path = Path(__file__).parent / "results" / f"{what}_{now:%Y-%m-%d_%H%M}.json"
    write_json(path, facts | about | dict(found))
    return path

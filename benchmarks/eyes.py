"""How good the arena's eyes are: detector, tracker and gauges on worlds that training never saw, and their speed.

``python benchmarks/eyes.py`` prints tables and writes ``benchmarks/results/eyes_<date>.json``. Pictures: 40 % of them
went through video coding. Beside the tracker stands the plainest one there is: every find a track of its own, no
velocity, nothing carried on. ``--write-emulation`` also writes the measured faults to
``engine/assets/arena_perception.json``, from which emulated perception takes its settings.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from data.files import write_whole
from data.profile import ARENA_PROFILE
from data.schema import Tracks
from engine.arena_pictures import picture_version
from engine.detector_job import JUDGED_SEED, arena_figures, speeds
from engine.perception.arena_flights import emulation_settings, judge_flights
from engine.perception.card import ASSETS, weights_path
from engine.perception.detections import Detections
from engine.perception.detector import load_detector
from engine.perception.perceive import Perceiver
from engine.perception.tracker import BEGIN_AT, Tracker

FIRST_WORLD = 9_600_000


class EveryFindATrack(Tracker):
    """The baseline: no memory at all."""

    def update(self, found: Detections, time_ns: int, aspect: float = 360 / 640) -> Tracks:
        sure = found.confidences >= BEGIN_AT
        n = int(sure.sum())
        ids = np.arange(self._next_id, self._next_id + n, dtype=np.int32)
        self._next_id += n
        zeros = np.zeros(n, np.float32)
        return Tracks(ids, found.classes[sure], found.boxes[sure], found.confidences[sure], np.zeros((n, 2), np.float32), zeros, zeros)


def show_detector(figures: dict[str, Any]) -> None:
    print(f"detector on {figures['pictures']} unseen pictures: mAP50 {figures['map50']:.3f}, mAP50-95 {figures['map50_95']:.3f}, ", end="")
    print(f"shots within 3 px {figures['shot_recall_3px']:.3f}, false finds a picture {figures['false_positives_per_picture']:.3f}")
    print(f"{'class':14}{'things':>8}{'AP50':>8}{'AP50-95':>9}{'recall':>8}{'precision':>10}{'in 3 px':>9}{'centre px':>11}{'size px':>9}")
    for name, c in figures["classes"].items():
        print(
            f"{name:14}{c['n']:8}{c['ap50']:8.3f}{c['ap50_95']:9.3f}{c['recall']:8.3f}{c['precision']:10.3f}"
            f"{c['near_recall']:9.3f}{c['centre_px']:11.2f}{c['size_px']:9.2f}"
        )
    for label, c in figures["by_size"].items():
        print(f"  {label:8} {c['n']:6} things, within 3 px {c['recall_3px']:.3f}")


def show_flights(label: str, figures: dict[str, Any]) -> None:
    total, gauges = figures["all"], figures["gauges"]
    print(
        f"{label}: MOTA {total['mota']:.3f}, id switches {total['switches']} in {figures['ticks']} ticks, "
        f"velocity error {total['velocity_error_px_s']:.1f} px/s"
    )
    print(f"{'class':14}{'things':>8}{'missed':>8}{'MOTA':>8}{'switches':>10}{'velocity error px/s':>21}")
    for name, c in figures["classes"].items():
        print(f"{name:14}{c['things']:8}{c['miss']:8.3f}{c['mota']:8.3f}{c['switches']:10}{c['velocity_error_px_s']:21.1f}")
    print(f"gauges: error {gauges['error']:.4f}, unread {gauges['unread']:.4f}, wrong flags and choices {gauges['wrong_states']:.4f}")
    print(f"ms a tick: {', '.join(f'{stage} {ms:.2f}' for stage, ms in figures['ms'].items())}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=300)
    parser.add_argument("--worlds", type=int, default=4)
    parser.add_argument("--ticks", type=int, default=600, help="of 1/20 s, in each world")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--write-emulation", action="store_true")
    options = parser.parse_args()

    weights = weights_path(ARENA_PROFILE)
    detector = load_detector(ARENA_PROFILE)
    assert weights is not None
    assert detector is not None
    figures = arena_figures(detector, options.pictures, JUDGED_SEED + 100_000)
    show_detector(figures)
    milliseconds = speeds(weights, ARENA_PROFILE)
    print(f"CPU-ms a picture, one thread: {', '.join(f'{name} {ms:.1f}' for name, ms in milliseconds.items())}")

    worlds = range(FIRST_WORLD, FIRST_WORLD + options.worlds)
    eyes = Perceiver(ARENA_PROFILE, detector=detector)
    flights = judge_flights(eyes, worlds, options.ticks)
    show_flights("tracker", flights)
    plain = Perceiver(ARENA_PROFILE, detector=detector)
    plain._tracker = EveryFindATrack(ARENA_PROFILE.roles())
    baseline = judge_flights(plain, list(worlds)[:1], options.ticks)
    show_flights("every find a track of its own", baseline)

    date = datetime.now(UTC).date().isoformat()
    result = {
        "date": date,
        "machine": {"system": platform.system(), "cores": os.cpu_count(), "python": platform.python_version()},
        "picture_version": picture_version(),
        "weights_sha256": detector.card.sha256 if detector.card is not None else "",
        "detector": figures,
        "ms_per_picture": milliseconds,
        "flights": flights,
        "baseline": baseline,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"eyes_{date}.json"
    write_whole(path, (json.dumps(result, indent=1) + "\n").encode())
    print(f"written: {path}")
    if options.write_emulation:
        emulation = {"measured": date, "picture_version": picture_version(), "settings": emulation_settings(flights)}
        write_whole(ASSETS / "arena_perception.json", (json.dumps(emulation, indent=1) + "\n").encode())
        print(f"written: {ASSETS / 'arena_perception.json'}")


if __name__ == "__main__":
    main()

"""How good the arena's eyes are: detector, tracker and gauges on worlds that training never saw, and their speed.

``python benchmarks/eyes.py`` prints tables and writes ``benchmarks/results/eyes_<date>.json``. Pictures: 40 % of them
went through video coding or JPEG; the looks that the detector trained on and the one it never saw are judged apart,
things of 14 px and more apart from shots, and the exported files beside the torch network. Beside the tracker stands
the plainest one there is: every find a track of its own, no velocity, nothing carried on. ``--write-emulation`` also
writes the measured faults to ``league/arena/assets/perception.json``, from which emulated perception takes its settings.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import league.arena
from data.files import write_whole
from data.profile import ARENA_PROFILE
from data.schema import Tracks
from engine.arena_pictures import picture_version
from engine.detector_job import JUDGED_SEED, MOST_EXPORT_GAP, arena_figures, exports_against_torch, speeds
from engine.perception.arena_flights import emulation_settings, judge_flights
from engine.perception.card import weights_path
from engine.perception.detections import Detections
from engine.perception.detector import open_detector
from engine.perception.perceive import Perceiver
from engine.perception.tracker import BEGIN_AT, Tracker
from league.arena.looks import HELD_OUT

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


ASKED: Final = (
    ("mAP50, 14 px and more", "map50_large", 0.97),
    ("mAP50-95, 14 px and more", "map50_95_large", 0.75),
    ("shots found within 3 px", "shot_recall_3px", 0.8),
)
MOST_MS: Final = 20.0


def show_asked(seen: dict[str, Any], unseen: dict[str, Any], milliseconds: dict[str, float], exports: dict[str, Any]) -> None:
    """What is asked of the detector beside what it gives."""
    print(f"{'unseen worlds':34}{'asked':>10}{'known looks':>13}{'unseen look':>13}")
    for label, key, least in ASKED:
        print(f"{label:34}{f'>= {least:.2f}':>10}{seen[key]:13.3f}{unseen[key]:13.3f}")
    fastest = min(milliseconds, key=lambda name: milliseconds[name])
    print(f"{f'CPU-ms a picture ({fastest})':34}{f'<= {MOST_MS:.0f}':>10}{milliseconds[fastest]:13.1f}")
    print(f"{'exports against torch, mAP':34}{f'<= {MOST_EXPORT_GAP}':>10}{exports['largest_difference']:13.5f}")
    for name, table in exports["runtimes"].items():
        print(f"  {name:14} mAP50 {table['map50']:.4f}, mAP50-95 {table['map50_95']:.4f}, {milliseconds[name]:.1f} CPU-ms a picture")


def show_detector(label: str, figures: dict[str, Any]) -> None:
    print(
        f"{label}, {figures['pictures']} pictures of unseen worlds: mAP50 {figures['map50']:.3f}, mAP50-95 {figures['map50_95']:.3f}, ",
        end="",
    )
    print(f"shots within 3 px {figures['shot_recall_3px']:.3f}, false finds a picture {figures['false_positives_per_picture']:.3f}")
    print(f"{'class':14}{'things':>8}{'AP50':>8}{'AP50-95':>9}{'recall':>8}{'precision':>10}{'in 3 px':>9}{'centre px':>11}{'size px':>9}")
    for name, c in figures["classes"].items():
        print(
            f"{name:14}{c['n']:8}{c['ap50']:8.3f}{c['ap50_95']:9.3f}{c['recall']:8.3f}{c['precision']:10.3f}"
            f"{c['near_recall']:9.3f}{c['centre_px']:11.2f}{c['size_px']:9.2f}"
        )
    for size, c in figures["by_size"].items():
        print(f"  {size:8} {c['n']:6} things, within 3 px {c['recall_3px']:.3f}")


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
    parser.add_argument("--weights", type=Path, help="an .onnx file with its card beside it; without: the arena profile's")
    parser.add_argument("--worlds", type=int, default=4, help="to fly for the tracker's figures; 0: none")
    parser.add_argument("--ticks", type=int, default=600, help="of 1/20 s, in each world")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--write-emulation", action="store_true")
    options = parser.parse_args()
    if options.write_emulation and options.worlds < 1:
        parser.error("--write-emulation needs flown worlds: leave --worlds out or give at least 1")

    weights: Path | None = options.weights or weights_path(ARENA_PROFILE)
    assert weights is not None
    detector = open_detector(weights, ARENA_PROFILE)
    figures = arena_figures(detector, options.pictures, JUDGED_SEED + 100_000)
    unseen = arena_figures(detector, options.pictures, JUDGED_SEED + 200_000, looks=(HELD_OUT,))
    show_detector("known looks", figures)
    show_detector(f"the look {HELD_OUT}, unseen", unseen)
    milliseconds = speeds(weights, ARENA_PROFILE)
    exports = exports_against_torch(weights, ARENA_PROFILE, max(8, options.pictures // 3), JUDGED_SEED + 300_000)
    show_asked(figures, unseen, milliseconds, exports)

    flights: dict[str, Any] = {}
    baseline: dict[str, Any] = {}
    worlds = list(range(FIRST_WORLD, FIRST_WORLD + options.worlds))
    if worlds:
        flights = judge_flights(Perceiver(ARENA_PROFILE, detector=detector), worlds, options.ticks)
        show_flights("tracker", flights)
        plain = Perceiver(ARENA_PROFILE, detector=detector)
        plain.tracker = EveryFindATrack(ARENA_PROFILE.roles())
        baseline = judge_flights(plain, worlds, options.ticks)
        show_flights("every find a track of its own", baseline)

    now = datetime.now(UTC)
    date = now.date().isoformat()
    result = {
        "date": date,
        "machine": {"system": platform.system(), "cores": os.cpu_count(), "python": platform.python_version()},
        "picture_version": picture_version(),
        "weights_sha256": detector.card.sha256 if detector.card is not None else "",
        "asked": {**{key: least for _, key, least in ASKED}, "ms_per_picture": MOST_MS, "exports": MOST_EXPORT_GAP},
        "detector": figures,
        "unseen_look": {"look": HELD_OUT, **unseen},
        "exports": exports,
        "ms_per_picture": milliseconds,
        "flights": flights,
        "baseline": baseline,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"eyes_{now:%Y-%m-%d_%H%M}.json"
    write_whole(path, (json.dumps(result, indent=1) + "\n").encode())
    print(f"written: {path}")
    if options.write_emulation:
        emulation = {"measured": date, "picture_version": picture_version(), "settings": emulation_settings(flights)}
        path = Path(league.arena.__file__).parent / "assets" / "perception.json"
        write_whole(path, (json.dumps(emulation, indent=1) + "\n").encode())
        print(f"written: {path.name}")


if __name__ == "__main__":
    main()

"""How well the tracker follows: hidden things, crossings, deaths, jumps, whole flights, and its cost.

``python benchmarks/tracking.py`` prints a table and writes ``benchmarks/results/tracking_<date>.json``. No pictures are
drawn: the finds are the truth with a detector's misses and noise. Beside the tracker stands the plainest one, every
find a track of its own, and two that do not learn what their detector misses: one shows all that it follows, one only what is found.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from eyes import EveryFindATrack
from numpy.typing import NDArray

from data.files import write_whole
from data.profile import ARENA_PROFILE
from data.schema import F32, I32
from engine.perception.comebacks import Comebacks
from engine.perception.detections import Detections
from engine.perception.flight_judging import FlightJudge, Truth
from engine.perception.tracker import Tracker
from league.arena import sizes
from league.arena.emulated import TruthObserver, exact_status, measured_settings
from league.arena.episode import apply_action
from league.arena.pilots import make_pilot
from league.arena.skirmish import new_worlds
from league.arena.truth import objects

TICK_NS: Final = 50_000_000
PX: Final = np.array([640, 360, 640, 360], np.float32)
HIDDEN_S: Final = (0.25, 0.5, 1.0)
MORE_MISSES: Final = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
FIRST_WORLD: Final = 9_700_000
Box = tuple[int, float, float, float]


class AllIsThere(Comebacks):
    """Whatever is followed is shown."""

    def likely(self, classes: I32, hidden: NDArray[np.bool_], pictures: I32) -> NDArray[np.bool_]:
        return np.ones(len(classes), np.bool_)


class NothingIsThere(Comebacks):
    """Only what is found is shown."""

    def likely(self, classes: I32, hidden: NDArray[np.bool_], pictures: I32) -> NDArray[np.bool_]:
        return np.zeros(len(classes), np.bool_)


class ShowsAll(Tracker):
    def reset(self) -> None:
        super().reset()
        self.comebacks = AllIsThere(self._unique)


class ShowsFound(Tracker):
    def reset(self) -> None:
        super().reset()
        self.comebacks = NothingIsThere(self._unique)


def finds(things: list[Box], dice: np.random.Generator) -> Detections:
    """Things as (class, x px, y px, side px), with 0.6 px of noise."""
    boxes = np.array([(x, y, s, s) for _, x, y, s in things], np.float32).reshape(-1, 4)
    boxes += dice.normal(0, 0.6, boxes.shape).astype(np.float32)
    return Detections(boxes / PX, np.array([t[0] for t in things], np.int32), np.full(len(things), 0.9, np.float32))


def hidden(kind: type[Tracker], seconds: float, dice: np.random.Generator) -> bool:
    """Whether a raider keeps its id behind a rock for so long; a little turn while it is out of sight."""
    eyes, ticks = kind(ARENA_PROFILE.roles()), round(seconds * 20)
    speed = float(dice.uniform(1.5, 3.5))
    side = speed * (ticks + 2)
    turn = float(dice.normal(0, 0.1)) * speed
    before, after = -1, -2
    for k in range(-20, ticks + 6):
        x = 320 - side / 2 + speed * k
        things: list[Box] = [(sizes.ROCK, 320.0, 180.0, side)]
        if not 0 <= k < ticks:
            things.append((sizes.RAIDER, x, 180 + turn * max(k, 0), 24.0))
        tracks = eyes.update(finds(things, dice), (k + 30) * TICK_NS)
        own = tracks.ids[(tracks.classes == sizes.RAIDER) & (tracks.unseen_s == 0)]
        if len(own) and k == -1:
            before = int(own[0])
        if len(own) and k == ticks + 1:
            after = int(own[0])
    return before == after


def crossing(kind: type[Tracker], dice: np.random.Generator) -> bool:
    """Whether two drones that cross keep their ids."""
    eyes, angle = kind(ARENA_PROFILE.roles()), float(dice.uniform(0.3, 3.1))
    directions = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]]) * 3.0
    ends: list[list[int]] = []
    for k in range(-20, 21):
        places = np.array([320.0, 180.0]) + directions * k + np.array([[0.0, 0.0], [0.0, 4.0]])
        tracks = eyes.update(finds([(sizes.DRONE, float(x), float(y), 18.0) for x, y in places], dice), (k + 30) * TICK_NS)
        if k in (-18, 20):
            gaps = np.hypot(*np.moveaxis((tracks.boxes[None, :, :2] * PX[:2]) - places[:, None], -1, 0))
            ends.append(tracks.ids[gaps.argmin(axis=1)].tolist() if len(tracks) else [-len(ends)])
    return ends[0] == ends[1]


def ghost_s(kind: type[Tracker], what: int, side: float, speed: float, dice: np.random.Generator) -> float:
    """Seconds that a thing which vanished in the open is shown on."""
    eyes = kind(ARENA_PROFILE.roles())
    for k in range(12):
        eyes.update(finds([(what, 200 + speed * k, 180.0, side)], dice), k * TICK_NS)
    return sum(len(eyes.update(Detections.empty(), k * TICK_NS)) > 0 for k in range(12, 50)) / 20


def jump_speed(kind: type[Tracker], dice: np.random.Generator) -> float:
    """The largest speed shown, px/s, after a ship at rest jumped through a portal."""
    eyes, fastest = kind(ARENA_PROFILE.roles()), 0.0
    for k in range(30):
        x, y = (120.0, 100.0) if k < 12 else (500.0, 280.0)
        tracks = eyes.update(finds([(sizes.SELF, x, y, 22.0)], dice), k * TICK_NS)
        if k >= 12 and len(tracks):
            fastest = max(fastest, float(np.hypot(*(tracks.velocities * PX[:2]).T).max()))
    return fastest


def noisy(classes: I32, boxes_px: F32, dice: np.random.Generator, more_misses: float = 0.0) -> Detections:
    """The truth as the detector finds it: its misses by class, its noise, its false finds. ``more_misses``: as a worse one would."""
    s = measured_settings()
    miss = np.array([s.miss.get(n, 0.0) for n in sizes.CLASSES], np.float32)
    rows = np.flatnonzero(dice.random(len(classes)) >= 1 - (1 - miss[classes]) * (1 - more_misses))
    boxes = boxes_px[rows] + dice.normal(0, s.centre_px, (len(rows), 4)).astype(np.float32)
    ghosts = int(dice.poisson(s.false_positives))
    places = np.column_stack([dice.uniform(0, 640, ghosts), dice.uniform(0, 360, ghosts), np.full((ghosts, 2), 6.0)])
    kinds = np.concatenate([classes[rows], np.full(ghosts, sizes.SHOT)]).astype(np.int32)
    sure = np.concatenate([np.full(len(rows), 0.88), dice.uniform(0.3, 0.6, ghosts)]).astype(np.float32)
    return Detections((np.concatenate([boxes, places]) / PX).astype(np.float32), kinds, sure)


def flights(kind: type[Tracker], worlds: int, ticks: int, more_misses: float = 0.0) -> dict[str, Any]:
    """MOTA, id switches and velocity errors over flown worlds."""
    judge = FlightJudge(ARENA_PROFILE.class_names())
    for seed in range(FIRST_WORLD, FIRST_WORLD + worlds):
        dice, eyes = np.random.default_rng(seed), kind(ARENA_PROFILE.roles())
        judge.new_world()
        state, observer, pilot = new_worlds(1, [seed]), TruthObserver(), make_pilot("expert", seed)
        cursor = (0.5, 0.5)
        for tick in range(ticks):
            now = (tick + 1) * TICK_NS
            here, status = objects(state, 0), exact_status(state, 0)
            found = noisy(here.classes, here.boxes_px, dice, more_misses)
            judge.look(Truth(here.ids, here.classes, here.boxes(), here.velocities(), status), found, eyes.update(found, now), status)
            action = pilot.act(observer.observe(state, 0, now, cursor)).action
            cursor = action.x, action.y
            apply_action(state, action)
    figures = judge.figures()
    for counted in (figures["all"], *figures["classes"].values()):
        if kind is EveryFindATrack:  # it has no velocities to be judged
            counted["velocity_error_px_s"] = None
    figures["all"]["switches_per_minute"] = round(figures["all"]["switches"] / (figures["ticks"] / 20 / 60), 2)
    return figures


def cost_ms(kind: type[Tracker], dice: np.random.Generator) -> float:
    """Median milliseconds of one update with 40 things."""
    eyes, took = kind(ARENA_PROFILE.roles()), list[float]()
    place = dice.uniform([20, 40], [600, 330], (40, 2))
    step = dice.normal(0, 2, (40, 2))
    kinds = dice.integers(1, len(sizes.CLASSES), 40)
    for k in range(200):
        place = np.clip(place + step, [20, 40], [600, 330])
        found = finds([(int(c), float(x), float(y), 16.0) for c, (x, y) in zip(kinds, place, strict=True)], dice)
        t0 = time.process_time_ns()
        eyes.update(found, k * TICK_NS)
        took.append((time.process_time_ns() - t0) / 1e6)
    return float(np.median(took))


def measure(kind: type[Tracker], tries: int, worlds: int, ticks: int) -> dict[str, Any]:
    dice = np.random.default_rng(1)
    return {
        "id_kept_hidden": {str(s): sum(hidden(kind, s, dice) for _ in range(tries)) / tries for s in HIDDEN_S},
        "id_kept_crossing": sum(crossing(kind, dice) for _ in range(tries)) / tries,
        "ghost_s_drone": ghost_s(kind, sizes.DRONE, 18.0, 3.0, dice),
        "ghost_s_shot": ghost_s(kind, sizes.HOSTILE_SHOT, 6.0, 14.0, dice),
        "jump_px_s": None if kind is EveryFindATrack else round(jump_speed(kind, dice), 1),
        "cost_ms_40": round(cost_ms(kind, dice), 3),
        "flights": flights(kind, worlds, ticks),
        "mota_with_more_misses": {str(share): flights(kind, worlds, ticks, share)["all"]["mota"] for share in MORE_MISSES},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=60, help="of each scripted scene")
    parser.add_argument("--worlds", type=int, default=3)
    parser.add_argument("--ticks", type=int, default=400, help="of 1/20 s, in each world")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    if min(options.tries, options.worlds, options.ticks) < 1:
        parser.error("--tries, --worlds and --ticks: at least 1 each")
    table = {name: measure(kind, options.tries, options.worlds, options.ticks) for name, kind in KINDS.items()}
    print(f"{'':34}" + "".join(f"{name:>20}" for name in table))
    for seconds in HIDDEN_S:
        line(f"id kept, hidden for {seconds} s", [t["id_kept_hidden"][str(seconds)] for t in table.values()])
    for label, key in ROWS:
        line(label, [t[key] for t in table.values()])
    for key in ("mota", "switches_per_minute", "velocity_error_px_s"):
        line(f"flights, {key}", [t["flights"]["all"][key] for t in table.values()])
    for share in MORE_MISSES:
        line(f"  with {share:.0%} of finds lost, mota", [t["mota_with_more_misses"][str(share)] for t in table.values()])
    for name in sizes.CLASSES:
        line(f"  {name}, velocity error px/s", [t["flights"]["classes"][name]["velocity_error_px_s"] for t in table.values()])
    now = datetime.now(UTC)
    text = json.dumps({"date": f"{now:%Y-%m-%d}", "trackers": table}, indent=1)
    write_whole(options.out / f"tracking_{now:%Y-%m-%d_%H%M}.json", text.encode())


KINDS: Final[dict[str, type[Tracker]]] = {
    "tracker": Tracker,
    "shows all": ShowsAll,
    "shows what is found": ShowsFound,
    "every find a track": EveryFindATrack,
}
ROWS: Final = (
    ("id kept, crossing drones", "id_kept_crossing"),
    ("drone killed in the open, shown s", "ghost_s_drone"),
    ("shot that hit, shown s", "ghost_s_shot"),
    ("after a jump, fastest px/s", "jump_px_s"),
    ("CPU-ms with 40 things", "cost_ms_40"),
)


def line(label: str, values: list[float | None]) -> None:
    print(f"{label:34}" + "".join(f"{'-':>20}" if value is None else f"{value:20.3f}" for value in values))


if __name__ == "__main__":
    main()

"""The eyes on flying arena worlds: figures against the truth, and from them the settings of emulated perception."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from data.profile import ARENA_PROFILE
from data.schema import Frame, Observation
from engine.perception.comebacks import Comebacks
from engine.perception.flight_judging import FlightJudge, Truth
from engine.perception.perceive import Perceiver
from engine.perception.tracker import MOTIONS
from engine.runtime.progress import Progress, Report, ignore
from league.arena.emulated import exact_status
from league.arena.truth import objects

TICK_NS: Final = 50_000_000


def judge_flights(perceiver: Perceiver, seeds: Iterable[int], ticks: int, pilot: str = "expert", report: Report = ignore) -> dict[str, Any]:
    """Fly ``ticks`` ticks of 1/20 s in the world of each seed, look at every picture, and count.

    The pilot flies by exact perception, so that the worlds are the same whatever the eyes see. Adds ``ms`` by stage
    and ``shown_pictures``: what a tracker that knows all these flights shows on of what is not found, in pictures in a row by class.
    """
    from league.arena.emulated import TruthObserver
    from league.arena.episode import apply_action
    from league.arena.pilots import make_pilot
    from league.arena.render import Renderer
    from league.arena.skirmish import new_worlds

    judge, renderer = FlightJudge(ARENA_PROFILE.class_names(), ARENA_PROFILE.picture_size), Renderer()
    stages: defaultdict[str, list[float]] = defaultdict(list)
    worlds, comebacks = list(seeds), list[Comebacks]()
    for number, seed in enumerate(worlds):
        judge.new_world()
        perceiver.reset()
        comebacks.append(perceiver.tracker.comebacks)
        state, observer, flyer = new_worlds(1, [seed]), TruthObserver(), make_pilot(pilot, seed)
        cursor = (0.5, 0.5)
        for tick in range(ticks):
            time_ns = (tick + 1) * TICK_NS
            image = renderer.picture(state, 0, cursor)
            seen: Observation = perceiver.perceive(Frame(tick, time_ns, image), time_ns, cursor)
            for stage, ms in perceiver.timings_ms.items():
                stages[stage].append(ms)
            here = objects(state, 0)
            status = exact_status(state, 0)
            truth = Truth(here.ids, here.classes, here.boxes(), here.velocities(), status)
            judge.look(truth, perceiver.found, seen.tracks, seen.status)
            action = flyer.act(observer.observe(state, 0, time_ns, cursor)).action
            cursor = action.x, action.y
            apply_action(state, action)
            if tick % 40 == 0:
                report(Progress("flying", (number + tick / ticks) / len(worlds)))
    figures = judge.figures()
    figures["ms"] = {stage: round(float(np.median(values)), 3) for stage, values in stages.items()}
    figures["worlds"], figures["pilot"], figures["runtime"] = worlds, pilot, perceiver.runtime
    for one in comebacks[1:]:
        comebacks[0].add(one)
    figures["shown_pictures"] = dict(zip(ARENA_PROFILE.class_names(), comebacks[0].shown_pictures(), strict=True))
    return figures


def emulation_settings(figures: Mapping[str, Any]) -> dict[str, Any]:
    """What ``league.arena.emulated.PerceptionSettings`` takes, from the figures of ``judge_flights``."""
    overall, gauges = figures["all"], figures["gauges"]
    coasts_s = {c.name: MOTIONS[c.role].exposed_s for c in ARENA_PROFILE.classes}
    pictures: Mapping[str, int] = figures["shown_pictures"]
    return {
        "miss": {name: round(float(c["miss"]), 4) for name, c in figures["classes"].items()},
        "sure": {name: round(float(c["sure"]), 4) for name, c in figures["classes"].items()},
        "coasts_s": coasts_s,
        "shown_s": {name: round(min(count * TICK_NS / 1e9, coasts_s[name]), 3) for name, count in pictures.items()},
        "centre_px": round(float(overall["centre_px"]), 3),
        "size_px": round(float(overall["size_px"]), 3),
        "id_switch": round(float(overall["switch_share"]), 5),
        "false_positives": round(float(overall["false_tracks_seen_per_picture"]), 4),
        "level_noise": round(float(gauges["error"]), 4),
        "missing": round(float(gauges["unread"]), 5),
        "wrong_flag": round(float(gauges["wrong_states"]), 5),
    }

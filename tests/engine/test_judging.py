"""The figures themselves: average precision, recall by distance, tracking counts."""

import numpy as np
import pytest

from data.profile import ARENA_PROFILE
from data.schema import Status, Tracks
from engine.perception.arena_flights import emulation_settings
from engine.perception.detections import Detections
from engine.perception.flight_judging import FlightJudge, Truth
from engine.perception.judging import Labelled, average_precision, judge, match_by_overlap
from engine.perception.tracker import MOTIONS, SET_ANEW
from league.arena import emulated, sizes
from league.arena.emulated import PerceptionSettings, measured_settings

NAMES = ("ship", "shot")


def box(x: float, y: float, size_px: float) -> list[float]:
    return [x / 640, y / 360, size_px / 640, size_px / 360]


def labelled(truth: list[tuple[int, list[float]]], found: list[tuple[int, list[float], float]]) -> Labelled:
    return Labelled(
        np.array([t[0] for t in truth], np.int32),
        np.array([t[1] for t in truth], np.float32).reshape(-1, 4),
        Detections(
            np.array([f[1] for f in found], np.float32).reshape(-1, 4),
            np.array([f[0] for f in found], np.int32),
            np.array([f[2] for f in found], np.float32),
        ),
        640,
        360,
    )


def test_perfect_finds_are_perfect() -> None:
    truth = [(0, box(100, 100, 20)), (1, box(300, 200, 6))]
    figures = judge([labelled(truth, [(k, b, 0.9) for k, b in truth])], NAMES, 0.35)
    assert figures["map50"] == figures["map50_95"] == pytest.approx(1.0)
    assert figures["false_positives_per_picture"] == 0
    assert figures["by_size"]["tiny"] == {"n": 1, "recall_3px": 1.0}
    assert figures["by_size"]["medium"] == {"n": 1, "recall_3px": 1.0}


def test_misses_doubles_wrong_classes_and_weak_finds_cost_what_they_should() -> None:
    picture = labelled(
        [(0, box(100, 100, 20)), (0, box(200, 100, 20)), (0, box(300, 100, 20)), (1, box(400, 100, 6))],
        [
            (0, box(102, 100, 20), 0.9),
            (0, box(100, 101, 20), 0.8),  # a double
            (0, box(200, 100, 20), 0.2),  # right but weak
            (0, box(400, 100, 6), 0.7),  # a shot taken for a ship
        ],
    )
    figures = judge([picture], NAMES, 0.35)
    ship, shot = figures["classes"]["ship"], figures["classes"]["shot"]
    assert (ship["n"], shot["n"]) == (3, 1)
    assert ship["recall"] == pytest.approx(1 / 3, abs=1e-3)
    assert ship["precision"] == pytest.approx(1 / 3, abs=1e-3)
    assert shot["ap50"] == shot["near_recall"] == 0
    assert figures["false_positives_per_picture"] == 1, "the double is near its ship, the shot is not a ship"


def test_near_recall_goes_by_centres_within_3_px() -> None:
    near = labelled([(1, box(100, 100, 6)), (1, box(200, 100, 6))], [(1, box(102, 102, 6), 0.9), (1, box(204, 100, 6), 0.9)])
    figures = judge([near], NAMES, 0.35)["classes"]["shot"]
    assert figures["near_recall"] == 0.5
    assert figures["centre_px"] == pytest.approx(2.0, abs=0.01)


def test_average_precision_by_hand() -> None:
    right = np.array([[True] * 10, [False] * 10, [True] * 10])
    found = average_precision(np.array([0.9, 0.8, 0.7]), right, 2)
    assert found[0] == pytest.approx((51 + 50 * 2 / 3) / 101)
    assert average_precision(np.zeros(0), np.zeros((0, 10), np.bool_), 3).sum() == 0


def test_a_find_takes_one_true_box_only() -> None:
    boxes = np.array([box(100, 100, 20), box(101, 100, 20)], np.float32)
    right = match_by_overlap(boxes, np.array([0.6, 0.9], np.float32), np.array([box(100, 100, 20)], np.float32))
    assert (right[0][0], right[1][0]) == (False, True)


def tracks(ids: list[int], boxes: list[list[float]], velocity: tuple[float, float] = (0, 0), unseen_s: float = 0.0) -> Tracks:
    n = len(ids)
    return Tracks(
        np.array(ids, np.int32),
        np.zeros(n, np.int32),
        np.array(boxes, np.float32).reshape(-1, 4),
        np.ones(n, np.float32),
        np.tile(np.array(velocity, np.float32), (n, 1)),
        np.ones(n, np.float32),
        np.full(n, unseen_s, np.float32),
    )


def test_tracking_is_counted() -> None:
    status = Status({"hp": 0.5}, {"locked": True}, {"ammo": 1}, {"boost": 0.0})
    two = np.array([box(100, 100, 20), box(300, 100, 20)], np.float32)
    truth = Truth(np.array([5, 6], np.int32), np.zeros(2, np.int32), two, np.zeros((2, 2), np.float32), status)
    both = Detections(two, np.zeros(2, np.int32), np.ones(2, np.float32))
    judging = FlightJudge(NAMES)
    judging.look(truth, both, tracks([0, 1], two.tolist()), status)
    judging.look(truth, both, tracks([0, 9], two.tolist(), velocity=(10 / 640, 0)), status)  # an id changes
    one = Detections(two[:1], np.zeros(1, np.int32), np.full(1, 0.6, np.float32))  # found, but not surely
    ghost = [box(100, 100, 20), box(500, 300, 20)]
    unread = Status({"hp": None}, {"locked": False}, {"ammo": 1}, {"boost": 0.1})
    judging.look(truth, one, tracks([0, 4], ghost), unread)
    figures = judging.figures()
    ship = figures["classes"]["ship"]
    assert ship["things"] == 6
    assert ship["miss"] == pytest.approx(1 / 6, abs=1e-4)
    assert ship["switches"] == 1
    assert ship["mota"] == pytest.approx(1 - (1 + 1 + 1) / 6, abs=1e-4)
    assert ship["velocity_error_px_s"] == pytest.approx(10 * np.sqrt(2 / 5), abs=0.01)
    assert figures["all"]["false_tracks_seen_per_picture"] == pytest.approx(1 / 3, abs=1e-4)
    assert figures["gauges"]["unread"] == pytest.approx(1 / 6, abs=1e-4)
    assert figures["gauges"]["wrong_states"] == pytest.approx(1 / 6, abs=1e-4)
    shown = {c.name: 1 for c in ARENA_PROFILE.classes} | {"self": 8, "drone": 2}
    settings = emulation_settings(figures | {"shown_pictures": shown})
    assert settings["miss"] == {"ship": pytest.approx(1 / 6, abs=1e-3), "shot": 0.0}
    assert settings["sure"] == {"ship": pytest.approx(4 / 5, abs=1e-3), "shot": 0.0}
    assert (settings["coasts_s"]["mark"], settings["coasts_s"]["drone"]) == (0.1, 0.3)
    assert {k: v for k, v in settings["shown_s"].items() if v != 0.05} == {"self": 0.3, "drone": 0.1}, "no longer than it is followed"
    assert settings["id_switch"] == pytest.approx(1 / 6, abs=1e-3)


def test_emulated_perception_carries_on_and_lets_go_as_the_tracker_does() -> None:
    """By default and as measured: a room below the tracker's, it has its own words for it."""
    by_class = {c.name: MOTIONS[c.role].exposed_s for c in ARENA_PROFILE.classes}
    assert measured_settings().coasts_s == by_class
    plain = PerceptionSettings()
    assert {name: plain.coasts_s.get(name, plain.coast_s) for name in by_class} == by_class
    set_anew = [c.name for c in ARENA_PROFILE.classes if c.role in SET_ANEW]
    assert [name for name, anew in zip(sizes.CLASSES, emulated._SET_ANEW.tolist(), strict=True) if anew] == set_anew

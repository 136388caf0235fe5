"""Observations without pixels: exact ones agree with the world, faulty ones are as faulty as they say."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from data.schema import Observation
from league.arena import sizes
from league.arena.emulated import EmulatedObserver, PerceptionSettings, TruthObserver, exact_status, measured_settings
from league.arena.episode import TICK_NS, fly
from league.arena.pilots import make_pilot
from league.arena.skirmish import new_worlds, step
from league.arena.truth import objects
from league.arena.world import WorldState

FAULTLESS = PerceptionSettings(
    miss={}, centre_px=0, size_px=0, latency_ticks=0, id_switch=0, false_positives=0, confirm_hits=1, level_noise=0, missing=0, wrong_flag=0
)


def flight(observer: TruthObserver | EmulatedObserver, ticks: int = 300, seed: int = 4) -> list[Observation]:
    seen: list[Observation] = []
    fly(make_pilot("expert", 1), seed, ticks, observer, lambda observation, _: seen.append(observation))
    return seen


def test_exact_boxes_have_the_stated_sizes_and_places() -> None:
    state = new_worlds(3, [1, 2, 3])
    step(state, np.array([1, 1, 1]), np.full((3, 2), 0.4), None, ticks=40)
    state.ship_lock[1, 0] = int(np.flatnonzero(state.ship_alive[1, 1:])[0]) + 1
    state.ship_has_dest[1, 0] = True
    seen = TruthObserver().observe(state, 1, 5, (0.1, 0.2)).tracks
    count = state.ship_alive[1].sum() + state.loot_alive[1].sum() + (state.rock_radius[1] > 0).sum() + 2 + state.shot_alive[1].sum() + 2
    assert len(seen) == count
    px = seen.boxes * np.array([640, 360, 640, 360])
    for kind, name in enumerate(sizes.CLASSES):
        if name in sizes.BOX_PX:
            assert np.allclose(px[seen.classes == kind, 2:], sizes.BOX_PX[name], atol=1e-3)
    rocks = px[seen.classes == sizes.ROCK]
    assert np.allclose(rocks[:, 2], 2 * state.rock_radius[1, state.rock_radius[1] > 0], atol=1e-3)
    me = px[seen.classes == sizes.SELF][0]
    assert np.allclose(me[:2], state.ship_pos[1, 0], atol=1e-3)
    ring = px[seen.classes == sizes.LOCK][0]
    locked = int(state.ship_lock[1, 0])
    assert np.allclose(ring[:2], state.ship_pos[1, locked], atol=1e-3)
    assert ring[2] == pytest.approx(sizes.SHIP_BOX_PX[state.ship_kind[1, locked]] + sizes.LOCK_MARGIN_PX, abs=1e-3)


def test_shots_are_told_apart_by_whose_they_are() -> None:
    state = new_worlds(1, [3])
    state.shot_alive[0, :2] = True
    state.shot_owner[0, :2] = (0, 3)
    classes = objects(state, 0).classes.tolist()
    assert classes.count(sizes.SHOT) == classes.count(sizes.HOSTILE_SHOT) == 1


def test_velocities_are_those_of_the_world_between_observations() -> None:
    seen = flight(TruthObserver())
    errors = []
    for a, b in itertools.pairwise(seen):
        common, ia, ib = np.intersect1d(a.tracks.ids, b.tracks.ids, return_indices=True)
        moved = (b.tracks.boxes[ib, :2] - a.tracks.boxes[ia, :2]) / 0.05
        mean = (a.tracks.velocities[ia] + b.tracks.velocities[ib]) / 2
        errors.append(np.abs(moved - mean).ravel())
        assert len(common) > 5
    assert np.median(np.concatenate(errors)) < 0.01


def test_an_id_stays_with_its_thing_and_is_never_used_again() -> None:
    kinds: dict[int, int] = {}
    gone: set[int] = set()
    previous: set[int] = set()
    for observation in flight(TruthObserver(), 1200):
        now = dict(zip(observation.tracks.ids.tolist(), observation.tracks.classes.tolist(), strict=True))
        assert len(now) == len(observation.tracks)
        gone |= previous - set(now)
        assert not gone & set(now)
        for track_id, kind in now.items():
            assert kinds.setdefault(track_id, kind) == kind
        previous = set(now)
    assert len(gone) > 50


def test_ages_grow_with_time() -> None:
    observer = TruthObserver()
    state = new_worlds(1, [3])
    first = observer.observe(state, 0, 1_000, None)
    assert first.tracks.ages_s.max() == 0
    step(state, None, None, None)
    second = observer.observe(state, 0, 1_000 + TICK_NS, None)
    assert second.tracks.ages_s.max() == pytest.approx(0.05)
    assert second.cursor is None
    assert observer.observe(new_worlds(1, [3]), 0, 10 * TICK_NS, None).tracks.ages_s.max() == 0


def test_status_is_what_the_gauges_show() -> None:
    state = new_worlds(1, [3])
    state.ship_hp[0, 0], state.ship_cooldowns[0, 0], state.ship_ammo[0, 0] = 0.25, (0.1, 0.2, 0.3), 3
    status = exact_status(state, 0)
    assert status.levels["hp"] == 0.25
    assert list(status.cooldowns.values()) == pytest.approx([0.1, 0.2, 0.3])
    assert status.choices == {"ammo": 3}
    assert status.flags == {"locked": False, "firing": False}


class Both(TruthObserver):
    """Observes the same world exactly and by emulation."""

    def __init__(self) -> None:
        super().__init__()
        self.emulated = EmulatedObserver(FAULTLESS)
        self.pairs: list[tuple[Observation, Observation]] = []

    def observe(self, state: WorldState, i: int, time_ns: int, cursor: tuple[float, float] | None) -> Observation:
        exact = super().observe(state, i, time_ns, cursor)
        self.pairs.append((exact, self.emulated.observe(state, i, time_ns, cursor)))
        return exact


def test_faultless_emulation_shows_the_truth() -> None:
    both = Both()
    flight(both)
    assert len(both.pairs) == 300
    for exact, emulated in both.pairs:
        assert exact.status == emulated.status
        rows = np.flatnonzero(emulated.tracks.unseen_s == 0)
        assert sorted(exact.tracks.classes.tolist()) == sorted(emulated.tracks.classes[rows].tolist())
        for kind, box in zip(emulated.tracks.classes[rows], emulated.tracks.boxes[rows], strict=True):
            apart = np.abs(exact.tracks.boxes - box).max(axis=1)
            assert apart[exact.tracks.classes == kind].min() < 0.01


def test_emulation_is_reproducible_by_seed() -> None:
    a, b, other = (flight(EmulatedObserver(seed=s), 200) for s in (7, 7, 8))
    assert all(np.array_equal(x.tracks.boxes, y.tracks.boxes) and x.status == y.status for x, y in zip(a, b, strict=True))
    assert not all(np.array_equal(x.tracks.boxes, y.tracks.boxes) for x, y in zip(a, other, strict=True))


def test_latency_shows_the_picture_of_earlier() -> None:
    settings = PerceptionSettings(**{**{k: getattr(FAULTLESS, k) for k in FAULTLESS.__slots__}, "latency_ticks": 3})
    exact, late = flight(TruthObserver(), 60), flight(EmulatedObserver(settings), 60)
    assert late[0].age_s == 0
    assert all(o.age_s == pytest.approx(0.15) for o in late[3:])
    assert late[40].frame_time_ns == exact[37].time_ns
    assert late[40].time_ns == exact[40].time_ns


def test_misses_coast_and_noise_are_as_asked() -> None:
    settings = PerceptionSettings(miss={"rock": 0.3}, centre_px=2.0, id_switch=0, false_positives=0, alpha=1.0, shown_s={"rock": 0.3})
    rocks = [o.tracks for o in flight(EmulatedObserver(settings, seed=2), 900)][20:]
    rows = [t.classes == sizes.ROCK for t in rocks]
    assert 0.25 < np.mean(np.concatenate([t.unseen_s[r] > 0 for t, r in zip(rocks, rows, strict=True)])) < 0.35
    assert np.mean([r.sum() for r in rows]) > 4.9, "a missed rock is carried on"
    fresh = [t.boxes[r & (t.unseen_s == 0)] * 640 for t, r in zip(rocks, rows, strict=True)]
    ids = [t.ids[r & (t.unseen_s == 0)] for t, r in zip(rocks, rows, strict=True)]
    one = ids[0][0]
    x = np.array([b[i == one][0, 0] for b, i in zip(fresh, ids, strict=True) if one in i])
    assert 1.6 < x.std() < 2.4


def test_what_is_missed_is_not_shown_and_comes_back_with_its_id() -> None:
    settings = PerceptionSettings(miss={"rock": 0.3}, id_switch=0, false_positives=0, shown_s={})
    rocks = [o.tracks.ids[o.tracks.classes == sizes.ROCK].tolist() for o in flight(EmulatedObserver(settings, seed=2), 300)][20:]
    there = max(map(len, rocks))
    assert np.mean([len(ids) for ids in rocks]) / there == pytest.approx(0.7, abs=0.03)
    assert len({i for ids in rocks for i in ids}) <= there + 6, "0.3 s of misses in a row are rare"


def test_velocity_is_filtered_towards_the_truth() -> None:
    errors = []
    truth, noisy = flight(TruthObserver(), 400), flight(EmulatedObserver(PerceptionSettings(latency_ticks=0, false_positives=0)), 400)
    for a, b in zip(truth[20:], noisy[20:], strict=True):
        for kind in (sizes.DRONE, sizes.RAIDER):
            rows = (b.tracks.classes == kind) & (b.tracks.ages_s > 0.5) & (b.tracks.unseen_s == 0)
            for box, velocity in zip(b.tracks.boxes[rows], b.tracks.velocities[rows], strict=True):
                mine = np.abs(a.tracks.boxes[:, :2] - box[:2]).sum(axis=1)
                mine[a.tracks.classes != kind] = 9
                if mine.min() < 0.02:
                    errors.append(np.abs(a.tracks.velocities[mine.argmin()] - velocity) * (640, 360))
    assert np.median(np.concatenate(errors)) < 15.0  # px/s, of 60 to 100


def test_ids_change_at_about_the_asked_rate_and_never_come_back() -> None:
    seen = flight(EmulatedObserver(PerceptionSettings(id_switch=0.02, false_positives=0, miss={}), seed=3), 900)
    rocks = [set(o.tracks.ids[o.tracks.classes == sizes.ROCK].tolist()) for o in seen]
    fresh = sum(len(b - a) for a, b in itertools.pairwise(rocks[5:]))
    assert 0.6 < fresh / (0.02 * np.median([len(r) for r in rocks]) * len(rocks)) < 1.4
    last_seen: dict[int, int] = {}
    for tick, observation in enumerate(seen):
        for track_id in observation.tracks.ids.tolist():
            assert last_seen.get(track_id, tick) >= tick - 1
            last_seen[track_id] = tick


@pytest.mark.parametrize(("change", "message"), [({"miss": {"dragon": 0.1}}, "dragon"), ({"latency_ticks": -1}, "latency_ticks")])
def test_wrong_settings_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EmulatedObserver(PerceptionSettings(**change))  # type: ignore[arg-type]


def test_an_observation_takes_well_under_a_millisecond() -> None:
    state = new_worlds(1, [3])
    for observer in (TruthObserver(), EmulatedObserver()):
        begin = time.process_time()
        for tick in range(200):
            step(state, None, None, None)
            observer.observe(state, 0, tick * TICK_NS, (0.5, 0.5))
        assert (time.process_time() - begin) / 200 < 2e-3


def test_velocities_hold_though_a_thing_is_missed_now_and_then() -> None:
    faults = {"miss": {"shot": 0.4}, "shown_s": {"shot": 0.05}}
    observer = EmulatedObserver(PerceptionSettings(**faults, id_switch=0, false_positives=0, centre_px=0.0, latency_ticks=0))
    state = new_worlds(1, [3])
    state.ship_alive[0, 1:] = False
    state.rock_radius[:] = 0.0
    state.rock_pos[:] = -1000.0
    errors = []
    for start in range(12):
        state.shot_alive[0], state.shot_owner[0] = False, 0
        state.shot_alive[0, 0], state.shot_pos[0, 0], state.shot_vel[0, 0], state.shot_life_s[0, 0] = True, (60, 60 + start), (300, 40), 9
        state.shot_serial[0, 0] += 1000 + start
        for tick in range(30):
            state.shot_pos[0, 0] += state.shot_vel[0, 0] / 20
            seen = observer.observe(state, 0, (start * 30 + tick + 1) * TICK_NS, None).tracks
            shots = seen.velocities[(seen.classes == sizes.SHOT) & (seen.ages_s > 0.2)] * (640, 360)
            errors += np.hypot(*(shots - (300, 40)).T).tolist()
    assert len(errors) > 100
    assert np.quantile(errors, 0.9) < 15


def test_what_was_measured_on_the_shipped_detector_is_what_is_emulated() -> None:
    measured = measured_settings()
    assert set(measured.miss) == set(sizes.CLASSES)
    assert EmulatedObserver().settings == measured
    settings = PerceptionSettings(
        miss=measured.miss, id_switch=0, false_positives=0, latency_ticks=0, coast_s=0.0, coasts_s={}, shown_s={}, confirm_hits=1
    )
    shown, there = np.zeros(len(sizes.CLASSES), np.int64), np.zeros(len(sizes.CLASSES), np.int64)

    class Both(TruthObserver):
        """Flies by what is there, and counts what is seen of it."""

        emulated = EmulatedObserver(settings, seed=1)

        def observe(self, state: WorldState, i: int, time_ns: int, cursor: tuple[float, float] | None) -> Observation:
            truth = super().observe(state, i, time_ns, cursor)
            for counted, seen in ((there, truth), (shown, self.emulated.observe(state, i, time_ns, cursor))):
                counted += np.bincount(seen.tracks.classes, minlength=len(counted))
            return truth

    flight(Both(), 1200)
    for kind in (sizes.MARK, sizes.ROCK, sizes.HOSTILE_SHOT):
        assert shown[kind] / there[kind] == pytest.approx(1 - measured.miss[sizes.CLASSES[kind]], abs=0.03)


def test_what_the_detector_is_sure_of_is_shown_at_once_and_what_is_gone_goes_as_soon_as_the_tracker_says() -> None:
    exact = {k: getattr(FAULTLESS, k) for k in FAULTLESS.__slots__} | {"confirm_hits": 2}
    shown: dict[tuple[float, str], list[int]] = {}
    for sure in (0.0, 1.0):
        settings = PerceptionSettings(
            **exact | {"sure": {"mark": sure, "loot": sure}, "coasts_s": {"mark": 0.1}, "shown_s": {"mark": 0.1, "loot": 0.2}}
        )
        observer, state = EmulatedObserver(settings), new_worlds(1, [7])
        state.loot_alive[0] = False
        state.ship_has_dest[0, 0] = False
        for tick in range(16):
            there = 2 <= tick < 6
            state.ship_has_dest[0, 0] = state.loot_alive[0, 0] = there
            state.ship_dest[0, 0], state.loot_pos[0, 0] = (200, 200), (300, 200)
            seen = observer.observe(state, 0, (tick + 1) * TICK_NS, None).tracks
            for name in ("mark", "loot"):
                if (seen.classes == sizes.CLASSES.index(name)).any():
                    shown.setdefault((sure, name), []).append(tick)
    # There from tick 2 to 5; shown on for 0.1 s and 0.2 s.
    assert shown[0.0, "mark"] == list(range(3, 8))
    assert shown[1.0, "mark"] == list(range(2, 8))
    assert shown[0.0, "loot"] == list(range(3, 10))
    assert shown[1.0, "loot"] == list(range(2, 10))


def test_a_mark_that_is_set_elsewhere_is_seen_once() -> None:
    exact = {k: getattr(FAULTLESS, k) for k in FAULTLESS.__slots__}
    for sure, seen_at in ((1.0, [[100], [500], [500]]), (0.0, [[100], [100, 500], [100, 500]])):
        settings = PerceptionSettings(**exact | {"sure": {"mark": sure}, "shown_s": {"mark": 0.1}})
        observer, state = EmulatedObserver(settings), new_worlds(1, [7])
        state.ship_has_dest[0, 0] = True
        found: list[list[int]] = []
        for tick, x in enumerate((100, 500, 500)):
            state.ship_mark_serial[0, 0] = 900 + (tick > 0)
            state.ship_dest[0, 0] = (x, 200)
            tracks = observer.observe(state, 0, (tick + 1) * TICK_NS, None).tracks
            found.append(sorted(round(float(box[0]) * 640) for box in tracks.boxes[tracks.classes == sizes.MARK]))
        assert found == seen_at


@pytest.mark.parametrize("name", ["miss", "sure", "coasts_s", "shown_s"])
def test_a_class_that_the_arena_lacks_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: no class dragon; there are self, drone"):
        EmulatedObserver(PerceptionSettings(**{name: {"dragon": 0.1}}))  # type: ignore[arg-type]

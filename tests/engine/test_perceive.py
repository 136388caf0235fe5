"""From pictures to observations, and a recording perceived anew."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from data.metadata import SessionError, Source
from data.profile import ARENA_PROFILE, GameProfile
from data.schema import F32, NO_TARGET, Action, Frame, Image, InputEvent, Observation, Status, Step, Tracks
from data.session import SessionWriter, open_session
from engine.perceive_session import perceive_session
from engine.perception.detector import Detector
from engine.perception.perceive import Perceiver
from league.arena import skirmish
from league.arena.render import Renderer

TICK_NS = 50_000_000
DRONE = ARENA_PROFILE.class_names().index("drone")


class Bright:
    """Stands in for a network: one drone where the picture is bright, nothing in a black one."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self, picture: F32) -> F32:
        self.looks += 1
        rows, columns = np.nonzero(picture[0, 0, 6:186] > 0.9)
        output = np.zeros((4 + len(ARENA_PROFILE.classes), 1), np.float32)
        if len(rows):
            output[:4, 0] = columns.mean() + 0.5, rows.mean() + 6.5, 9, 9
            output[4 + DRONE, 0] = 0.9
        return output


def eyes(profile: GameProfile = ARENA_PROFILE) -> tuple[Perceiver, Bright]:
    network = Bright()
    perceiver = Perceiver(profile, detector=Detector(network, "onnxruntime", (320, 192), profile, None))
    network.looks = 0
    return perceiver, network


def black() -> Image:
    return np.zeros((360, 640, 3), np.uint8)


def with_box(x: int = 320, y: int = 180) -> Image:
    image = black()
    image[y - 9 : y + 9, x - 9 : x + 9] = 255
    return image


def frame(number: int, image: Image) -> Frame:
    return Frame(number, number * TICK_NS, image)


def test_black_pictures_one_box_and_black_again() -> None:
    perceiver, _ = eyes()
    for number in range(100):
        seen = perceiver.perceive(frame(number, black()), number * TICK_NS, None)
        assert len(seen.tracks) == 0
        assert set(seen.status.levels.values()) == {None}
    seen = perceiver.perceive(frame(100, with_box()), 100 * TICK_NS, (0.5, 0.5))
    assert seen.tracks.classes.tolist() == [DRONE]
    assert seen.tracks.boxes[0] == pytest.approx((0.5, 0.5, 18 / 640, 18 / 360), abs=0.01)
    gone = [len(perceiver.perceive(frame(n, black()), n * TICK_NS, None).tracks) for n in range(101, 121)]
    assert gone == [1] + [0] * 19, "one picture is forgiven"


def test_observation_carries_times_cursor_and_focus() -> None:
    perceiver, _ = eyes()
    seen = perceiver.perceive(Frame(7, 1_000, with_box()), 5_001_000, (0.25, 0.75), focus=False)
    assert (seen.time_ns, seen.frame_time_ns, seen.frame_number, seen.cursor, seen.focus) == (5_001_000, 1_000, 7, (0.25, 0.75), False)
    assert seen.age_s == pytest.approx(0.005)
    assert set(perceiver.timings_ms) == {"detector", "tracker", "gauges"}
    assert perceiver.timings_ms["detector"] > 0


def test_the_same_frame_is_looked_at_once() -> None:
    perceiver, network = eyes()
    first = perceiver.perceive(frame(3, with_box()), 3 * TICK_NS, None)
    again = perceiver.perceive(frame(3, with_box()), 4 * TICK_NS, (0.1, 0.1))
    assert network.looks == 1
    assert again.tracks.ids.tolist() == first.tracks.ids.tolist()
    assert (again.time_ns, again.cursor) == (4 * TICK_NS, (0.1, 0.1))


def test_nothing_captured_yet() -> None:
    perceiver, network = eyes()
    seen = perceiver.perceive(None, 9, None)
    assert (len(seen.tracks), seen.frame_number, network.looks) == (0, -1, 0)
    assert set(seen.status.levels) == {"hp", "shield", "heavy_ammo"}


def test_without_a_detector_gauges_are_still_read() -> None:
    perceiver = Perceiver(ARENA_PROFILE, detect=False)
    state = skirmish.new_worlds(1, [5])
    seen = perceiver.perceive(Frame(0, 0, Renderer().picture(state, 0)), 0, None)
    assert perceiver.runtime == ""
    assert len(seen.tracks) == 0
    assert seen.status.levels["hp"] == pytest.approx(1.0, abs=0.02)
    assert seen.status.choices["ammo"] == 1


def test_reset_forgets_tracks_but_not_ids() -> None:
    perceiver, _ = eyes()
    before = perceiver.perceive(frame(0, with_box()), 0, None).tracks.ids
    perceiver.reset()
    after = perceiver.perceive(frame(0, with_box()), 0, None).tracks.ids
    assert not set(before.tolist()) & set(after.tolist())


def test_shipped_eyes_follow_a_flying_world() -> None:
    perceiver = Perceiver(ARENA_PROFILE, "onnxruntime")
    state, renderer = skirmish.new_worlds(1, [11]), Renderer()
    own: set[int] = set()
    for tick in range(30):
        clicks = np.array([1 if tick == 5 else 0], np.int8)
        skirmish.step(state, clicks, np.array([[0.5, 0.5]], np.float32), None)
        seen = perceiver.perceive(Frame(tick, tick * TICK_NS, renderer.picture(state, 0)), tick * TICK_NS, None)
        mine = seen.tracks.classes == 0
        own |= set(seen.tracks.ids[mine].tolist())
        if tick > 3 and state.ship_alive[0, 0]:
            assert mine.sum() == 1
            assert seen.tracks.boxes[mine][0, :2] * (640, 360) == pytest.approx(state.ship_pos[0, 0], abs=6)
    assert len(own) == 1


def recorded(workspace: Path, *, with_steps: bool, pictures: int = 40) -> Path:
    """A session of a white square that moves right; its steps know nothing of it but a target at its place."""
    writer = SessionWriter.create(workspace, "play", ARENA_PROFILE, Source(kind="arena"), 20.0, (640, 360), start_ns=0)
    for number in range(pictures):
        x = 100 + 4 * number
        writer.write_frame(frame(number, with_box(x)))
        if number == 10:
            writer.write_event(
                InputEvent(number * TICK_NS + 1_000_000, "press", "mouse_left", 0.25, 0.5, actor="demonstrator", actor_name="expert")
            )
            writer.write_event(InputEvent(number * TICK_NS + 9_000_000, "release", "mouse_left", 0.25, 0.5, actor="demonstrator"))
        if with_steps:
            box = np.array([[x / 640, 0.5, 18 / 640, 18 / 360]], np.float32)
            zero = np.zeros(1, np.float32)
            old = Tracks(np.array([77], np.int32), np.array([DRONE], np.int32), box, zero + 1, np.zeros((1, 2), np.float32), zero, zero)
            seen = Observation(number * TICK_NS + 2_000_000, number * TICK_NS, number, Status(), old, (0.2, 0.4))
            action = Action(0.3, 0.6, ("mouse_left", "q") if number == 10 else (), frozenset({"q"}) if number == 10 else frozenset())
            writer.write_step(Step(seen, action, "demonstrator", "expert", 0, "FIGHT", 77))
    writer.close()
    return writer.folder


def test_a_recording_is_perceived_anew_at_the_same_ticks(tmp_path: Path) -> None:
    folder = recorded(tmp_path, with_steps=True)
    with open_session(folder) as session:
        before = session.steps()
    done = perceive_session(folder, perceiver=eyes()[0])
    with open_session(folder) as session:
        after, metadata = session.steps(), session.metadata
    assert done.steps == len(after) == len(before) == 40
    assert done.pictures == 40
    for name in (
        "time_ns",
        "frame_time_ns",
        "frame_number",
        "action_xy",
        "onset_codes",
        "onset_offsets",
        "held",
        "actor",
        "mode",
        "cursor",
    ):
        assert np.array_equal(getattr(after, name), getattr(before, name)), name
    assert metadata.details["steps"] == "from video"
    assert "steps: from video" in metadata.notes
    target = after.tracks(39)
    assert after.target_id[39] == target.ids[0] != 77
    assert done.targets_lost == 0
    assert target.boxes[0, 0] == pytest.approx((100 + 4 * 39) / 640, abs=0.01)
    assert target.velocities[0, 0] == pytest.approx(4 / 640 / 0.05, rel=0.2)
    assert "40 steps from 40 pictures" in str(done)


def test_a_recording_without_steps_gets_them_from_its_events(tmp_path: Path) -> None:
    folder = recorded(tmp_path, with_steps=False)
    perceive_session(folder, perceiver=eyes()[0])
    with open_session(folder) as session:
        steps = session.steps()
    assert len(steps) == 40
    assert np.unique(np.diff(steps.time_ns)).tolist() == [TICK_NS]
    assert [steps.onsets(row) for row in range(len(steps)) if steps.onsets(row)] == [("mouse_left",)]
    assert steps.onsets(10) == ("mouse_left",)
    assert steps.action_xy[12] == pytest.approx((0.25, 0.5))
    assert (steps.target_id == NO_TARGET).all()
    assert len(steps.tracks(20)) == 1


@pytest.mark.parametrize("name", ["steps.arrows", "steps.parquet"])
def test_damaged_steps_are_kept_beside_new_ones(name: str, tmp_path: Path) -> None:
    folder = recorded(tmp_path, with_steps=True)
    (folder / name).write_bytes(b"no steps any more")
    perceive_session(folder, perceiver=eyes()[0])
    assert (folder / f"{name}.damaged").read_bytes() == b"no steps any more"
    with open_session(folder) as session:
        assert len(session.steps()) == 40


def test_stopping_changes_nothing(tmp_path: Path) -> None:
    folder = recorded(tmp_path, with_steps=True, pictures=10)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    with pytest.raises(KeyboardInterrupt):
        perceive_session(folder, perceiver=eyes()[0], should_stop=lambda: True)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_another_profile_must_have_the_same_keys(tmp_path: Path) -> None:
    folder = recorded(tmp_path, with_steps=True, pictures=2)
    with pytest.raises(ValueError, match="keys"):
        perceive_session(folder, ARENA_PROFILE.model_copy(update={"keys": ("w",)}), perceiver=eyes()[0])
    with pytest.raises(SessionError):
        perceive_session(tmp_path / "nowhere")


def test_observations_are_plain_values() -> None:
    seen = eyes()[0].perceive(frame(0, with_box()), 0, None)
    for column in dataclasses.fields(seen.tracks):
        values = getattr(seen.tracks, column.name)
        assert values.dtype == (np.int32 if column.name in ("ids", "classes") else np.float32), column.name

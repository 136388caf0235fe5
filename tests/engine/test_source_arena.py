from __future__ import annotations

import numpy as np
import pytest

from data.schema import Action, InputEvent
from engine.sources.arena import ArenaSource
from league.arena.episode import fly
from league.arena.looks import LOOKS
from league.arena.pilots import make_pilot
from league.arena.render import Renderer
from league.arena.truth import objects
from league.arena.world import WorldState


class Clock:
    def __init__(self) -> None:
        self.now_ns = 5_000_000_000

    def __call__(self) -> int:
        return self.now_ns

    def pass_s(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


def opened(**settings: object) -> ArenaSource:
    source = ArenaSource(**{"seed": 3, "real_time": False, **settings})  # type: ignore[arg-type]
    source.open()
    return source


def same(one: WorldState, other: WorldState) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.arrays(), other.arrays(), strict=True))


def test_a_flight_through_the_source_is_the_flight_of_the_world_itself() -> None:
    source = opened(pilot="expert", fps=20, auto_restart=False, episode_steps=3 * 400)
    while not source.episode_over:
        assert source.grab() is not None
    score, state = fly(make_pilot("expert", 3), 3, ticks=400)
    assert source.score() == score
    assert same(source.world(), state)
    assert source.state == "the episode is over"
    assert [r.score for r in source.results] == [score]
    assert source.counters()["kills_drone"] == state.kills[0, 0, 1]


def test_a_look_changes_the_picture_and_nothing_else() -> None:
    plain, icy = opened(pilot="expert", fps=20), opened(pilot="expert", fps=20, look="ice")
    for _ in range(40):
        one, other = plain.grab(), icy.grab()
    assert same(plain.world(), icy.world())
    assert one is not None
    assert other is not None
    assert (one.image == Renderer().picture(plain.world(), 0)).all()
    assert (other.image == Renderer(LOOKS["ice"]).picture(plain.world(), 0)).all()
    assert (one.image != other.image).any(axis=-1).mean() > 0.5
    assert (plain.description, icy.description) == (
        "skirmish 640x360, off screen, expert flies",
        "skirmish 640x360, off screen, look ice, expert flies",
    )
    with pytest.raises(ValueError, match=r"none is called 'pink'; use one of classic, amber"):
        ArenaSource(look="pink")


@pytest.mark.parametrize(("fps", "steps"), [(20, 3), (30, 2), (60, 1), (25, None)])
def test_each_grab_is_one_capture_interval_later(fps: int, steps: int | None) -> None:
    source = opened(fps=fps)
    times, ticks = [], []
    for number in range(51):
        frame = source.grab()
        assert frame is not None
        assert frame.number == number
        assert frame.image.shape == (360, 640, 3)
        times.append(frame.time_ns)
        ticks.append(int(source.world().tick[0]))
    assert ticks[0] == 0
    assert times[-1] - times[0] == pytest.approx(50 / fps * 1e9, abs=10)
    assert ticks[-1] == 50 * 60 // fps
    if steps is not None:
        assert set(np.diff(ticks)) == {steps}
        assert set(np.diff(times)) <= {round(1e9 / fps) - 1, round(1e9 / fps), round(1e9 / fps) + 1}


def test_the_pilot_is_a_named_demonstrator_and_its_events_act_at_their_times() -> None:
    source = opened(pilot="expert", fps=20)
    replay = opened(fps=20)
    events: list[InputEvent] = []
    for _ in range(200):
        frame = source.grab()
        assert frame is not None
        new = source.events()
        # Those of the tick that has just gone by: after the last picture, not later than this one.
        assert all(frame.time_ns - 50_000_010 <= event.time_ns < frame.time_ns for event in new)
        for event in new:
            if event.kind == "press":
                replay.apply(Action(event.x or 0.0, event.y or 0.0, (event.name,)))
        again = replay.grab()
        assert again is not None
        np.testing.assert_array_equal(frame.image, again.image)
        events += new
    assert same(source.world(), replay.world())
    assert {(e.actor, e.actor_name) for e in events} == {("demonstrator", "expert")}
    assert {e.kind for e in events} == {"move", "press", "release"}
    assert [e.time_ns for e in events] == sorted(e.time_ns for e in events)
    down: set[str] = set()
    for event in events:
        if event.kind == "press":
            assert event.name not in down
            down.add(event.name)
        elif event.kind == "release":
            down.remove(event.name)
    assert source.intent is not None
    assert source.intent.mode in {"FIGHT", "LOOT", "FLEE", "EXPLORE", "CAUTIOUS"}
    assert all(e.actor == "bot" for e in replay.events())


def test_what_the_pilot_aims_at_is_told_by_class_and_box() -> None:
    source = opened(pilot="expert", fps=20)
    told = set()
    for _ in range(120):
        source.grab()
        intent = source.intent
        if intent is not None and intent.target_class is not None:
            assert intent.target_box is not None
            told.add(intent.target_class)
    assert told & {"drone", "raider", "loot"}


def test_an_action_acts_at_the_next_world_step_and_makes_events() -> None:
    source = opened(fps=20)
    frame = source.grab()
    assert frame is not None
    source.apply(Action(0.5, 0.5, ("mouse_left",), frozenset({"mouse_left"})))
    assert not source.world().ship_has_dest[0, 0]
    source.grab()
    assert source.world().ship_has_dest[0, 0]
    assert [(e.kind, e.name, e.time_ns) for e in source.events()] == [("press", "mouse_left", frame.time_ns)]
    source.apply(Action(0.25, 0.75))
    assert [(e.kind, e.name) for e in source.events()] == [("release", "mouse_left"), ("move", "")]
    assert source.cursor == (0.25, 0.75)
    source.apply(Action(-3.0, 0.5))
    assert source.cursor == (0.0, 0.5)
    with pytest.raises(ValueError, match="not a place"):
        source.apply(Action(float("nan"), 0.5))


def test_the_same_key_in_two_ticks_is_released_between() -> None:
    source = opened()
    source.apply(Action(0.5, 0.5, ("space",), frozenset({"space"})))
    source.apply(Action(0.5, 0.5, ("space",), frozenset({"space"})))
    assert [(e.kind, e.name) for e in source.events()] == [("press", "space"), ("release", "space"), ("press", "space")]


def test_in_real_time_the_world_follows_the_clock() -> None:
    clock = Clock()
    source = opened(real_time=True, clock_ns=clock, pilot="random")
    for seconds, tick in ((0.0, 0), (0.5, 30), (0.001, 30), (0.25, 45)):
        clock.pass_s(seconds)
        frame = source.grab()
        assert frame is not None
        assert frame.time_ns == clock.now_ns
        assert source.world().tick[0] == tick
    began_ns = clock.now_ns
    clock.pass_s(30.0)
    source.grab()
    assert source.world().tick[0] == 45 + 60, "it must not rush through half a minute"
    clock.pass_s(0.1)
    source.grab()
    assert source.world().tick[0] == 45 + 66
    assert all(e.time_ns <= clock.now_ns for e in source.events())
    assert source.time_ns == clock.now_ns > began_ns


def test_episodes_follow_each_other_with_the_next_seed() -> None:
    source = opened(pilot="expert", fps=20, episode_steps=60)
    for _ in range(50):
        source.grab()
    assert [(r.episode, r.seed) for r in source.results] == [(0, 3), (1, 4)]
    assert (source.episode, source.seed, source.episode_over) == (2, 5, False)
    source.reset(77)
    assert (source.seed, int(source.world().tick[0]), source.score()) == (77, 0, 0.0)
    assert [r.seed for r in source.results] == [3, 4], "an unfinished episode is not counted"
    frame = source.grab()
    assert frame is not None
    assert frame.number == 50


def test_the_bot_takes_over_and_gives_back() -> None:
    source = opened(pilot="expert", fps=20)
    for _ in range(30):
        source.grab()
    place = source.cursor
    source.events()
    source.apply(Action(0.9, 0.9))
    assert source.pilot is None
    for _ in range(10):
        source.grab()
    assert {e.actor for e in source.events() if e.kind != "release"} == {"bot"}
    source.set_pilot("novice")
    assert source.cursor == (0.9, 0.9) != place
    for _ in range(200):  # for some seconds there may be nothing to do
        source.grab()
    assert {e.actor_name for e in source.events() if e.kind != "release"} == {"novice"}


def test_one_picture_of_latency_shows_the_world_before() -> None:
    late, prompt = opened(fps=20, pilot="expert", latency_frames=1), opened(fps=20, pilot="expert")
    frames = [(late.grab(), prompt.grab()) for _ in range(20)]
    for (after, _), (_, before) in zip(frames[1:], frames[:-1], strict=True):
        assert after is not None
        assert before is not None
        np.testing.assert_array_equal(after.image, before.image)
        assert after.time_ns > before.time_ns


def test_the_cursor_sprite_is_drawn_on_request() -> None:
    plain, pointed = opened().grab(), opened(show_cursor=True).grab()
    assert plain is not None
    assert pointed is not None
    assert 40 < (np.abs(pointed.image.astype(int) - plain.image).max(axis=-1) > 8).sum() < 300


def test_the_picture_hides_nothing_of_the_truth_but_is_not_it() -> None:
    source = opened(fps=20, pilot="expert")
    for _ in range(5):
        source.grab()
    copy = source.world()
    copy.ship_pos[:] = 0
    assert not same(copy, source.world()), "a copy must not reach into the world"
    assert len(objects(source.world(), 0).ids) > 5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"fps": 0}, "use 1 to 240"),
        ({"latency_frames": 2}, "use 0 or 1"),
        ({"episode_steps": 0}, "at least 1"),
        ({"pilot": "ace"}, "use one of"),
    ],
)
def test_what_cannot_be_done_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        opened(**settings)


def test_a_closed_source_gives_nothing_and_opens_again() -> None:
    source = opened(fps=20)
    source.grab()
    source.close()
    assert source.grab() is None
    assert source.state == "the arena is not open"
    assert (source.score(), source.counters()) == (0.0, {})
    source.apply(Action(0.5, 0.5, ("space",)))
    source.open()
    frame = source.grab()
    assert frame is not None
    assert frame.number == 0
    assert source.events() == []

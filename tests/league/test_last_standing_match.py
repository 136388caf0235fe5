"""Matches to watch and to play in: a person's hand, results, a video, and the window with SDL's dummy driver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from data.clip import ClipError
from league.arena import last_standing_rules as rules
from league.arena.last_standing_film import OVER_S, film
from league.arena.last_standing_match import Hand, Matches, tally
from league.arena.last_standing_window import OVER_S as SHOWN_S
from league.arena.last_standing_window import LastStandingWindow
from league.codec import HEAD_NAMES, HIGH, LOW
from league.players import load_player

MOVE_X, MOVE_Y, AIM_X, AIM_Y, SHOOT, ABILITY, INTERACT = range(len(HEAD_NAMES))


def matches(*names: str, seed: int = 5) -> Matches:
    return Matches(names, [None if name == "person" else load_player(name, 1, seed + k) for k, name in enumerate(names)], seed)


def test_keys_are_a_ships_action() -> None:
    hand = Hand(aim_px=(130.0, 240.0))
    for key in ("w", "d", "mouse_left", "2"):
        hand.press(key, True)
    action = hand.action((100.0, 200.0))
    assert action[[MOVE_X, MOVE_Y, SHOOT, ABILITY, INTERACT]].tolist() == [1, -1, 1, rules.BURST, 0]
    assert action[[AIM_X, AIM_Y]] == pytest.approx([0.6, 0.8])
    for key in ("w", "d", "mouse_left", "2"):
        hand.press(key, False)
    hand.press("q", True)
    assert not hand.action((100.0, 200.0))[[MOVE_X, MOVE_Y, SHOOT, ABILITY, INTERACT]].any()


def test_a_short_press_still_counts_once_and_opposite_keys_cancel() -> None:
    hand = Hand()
    hand.press("e", True)
    hand.press("e", False)
    assert hand.action((0.0, 0.0))[INTERACT] == 1
    assert hand.action((0.0, 0.0))[INTERACT] == 0
    hand.press("a", True)
    hand.press("d", True)
    assert hand.action((320.0, 180.0))[MOVE_X] == 0
    hand.press("a", False)
    hand.press("right", True)
    action = hand.action((320.0, 180.0))
    assert action[MOVE_X] == 1
    assert ((action >= LOW) & (action <= HIGH)).all()
    hand.let_go()
    assert not hand.held


def test_a_person_flies_and_shoots() -> None:
    made = matches("person", "novice")
    made.state.ship_pos[0, 0] = (200.0, 180.0)
    made.hand.aim_px = (400.0, 180.0)
    made.hand.press("s", True)
    made.hand.press("mouse_left", True)
    for _ in range(30):
        made.advance()
    assert made.state.ship_pos[0, 0, 1] > 195
    assert made.state.ship_gun[0, 0, 0] > 0.95
    assert made.state.shots_fired[0, 0] >= 1


def test_matches_are_played_to_the_end_and_the_same_seed_gives_the_same() -> None:
    made, again = matches("expert", "random"), matches("expert", "random")
    for one in (made, again):
        while not one.over:
            one.advance()
        one.advance()
        assert len(one.results) == 1, "a result is booked once"
    assert made.results == again.results
    assert sorted(made.results[0].places) == [1, 2]
    made.restart()
    assert (made.seed, made.over, int(made.state.tick[0])) == (6, False, 0)
    (expert, random_) = tally(made.names, made.results)
    assert expert["matches"] == 1
    assert expert["first"] + random_["first"] == 1
    assert expert["mean_place"] + random_["mean_place"] == 3


def test_two_persons_at_one_keyboard_are_refused() -> None:
    with pytest.raises(ValueError, match="2 persons; there is one keyboard"):
        Matches(["person", "person"], [None, None])


def test_a_video_shows_the_match_and_its_result(tmp_path: Path) -> None:
    made = matches("expert", "novice")
    shown = film(made, 1, tmp_path / "a.mp4", fps=10, scale=1)
    (result,) = made.results
    assert shown == pytest.approx((result.seconds + OVER_S) * 10, abs=2)
    with av.open(str(tmp_path / "a.mp4")) as video:
        frames = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
    assert len(frames) == shown
    assert frames[0].shape == (360, 640, 3)
    assert np.abs(frames[0].astype(int) - frames[len(frames) // 2]).mean() > 1
    banner = np.abs(frames[-1].astype(int) - frames[round(result.seconds * 10) - 2])[150:210, 190:450]
    assert banner.mean() > 4
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


def test_a_video_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    made = matches("expert", "novice")
    for path, fps, words in (
        (tmp_path / "a.avi", 30, "name it something.mp4"),
        (tmp_path / "no" / "a.mp4", 30, "no such folder"),
        (tmp_path / "a.mp4", 25, "use 60, 30, 20"),
    ):
        with pytest.raises(ClipError, match=words):
            film(made, 1, path, fps)

    def broken() -> bool:
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError):
        film(made, 1, tmp_path / "a.mp4", stop=broken)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a.mp4").write_bytes(b"mine")
    with pytest.raises(ClipError, match="exists; name another file"):
        film(made, 1, tmp_path / "a.mp4")
    assert (tmp_path / "a.mp4").read_bytes() == b"mine"


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    opened: list[LastStandingWindow] = []

    def make(*names: str, count: int = 0) -> LastStandingWindow:
        opened.append(LastStandingWindow(matches(*names), count, 1, driver="dummy"))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def send(window: LastStandingWindow, kind: int, **fields: Any) -> None:
    import pygame

    window.take_events([pygame.event.Event(kind, **fields)])


def key(window: LastStandingWindow, code: int, scancode: int = 0, down: bool = True) -> None:
    import pygame

    send(window, pygame.KEYDOWN if down else pygame.KEYUP, key=code, scancode=scancode)


def test_the_window_takes_a_persons_keys_by_their_place(window: Any) -> None:
    import pygame

    made = window("person", "novice")
    key(made, pygame.K_z, pygame.KSCAN_W)  # a French keyboard
    send(made, pygame.MOUSEBUTTONDOWN, pos=(400, 100), button=1)
    assert made.matches.hand.held == {"w", "mouse_left"}
    assert made.matches.hand.aim_px == pytest.approx((400.5, 100.5))
    key(made, pygame.K_z, pygame.KSCAN_W, down=False)
    assert made.matches.hand.held == {"mouse_left"}
    send(made, pygame.WINDOWFOCUSLOST)
    assert not made.matches.hand.held


def test_pause_speed_next_and_leave(window: Any) -> None:
    import pygame

    made = window("expert", "novice")
    made.advance(3)
    key(made, pygame.K_SPACE)
    made.advance(3)
    assert int(made.matches.state.tick[0]) == 3
    key(made, pygame.K_SPACE)
    key(made, pygame.K_f)
    made.advance(3)
    assert int(made.matches.state.tick[0]) == 9
    key(made, pygame.K_n)
    assert (made.matches.seed, int(made.matches.state.tick[0]), made.matches.results) == (6, 0, [])
    key(made, pygame.K_ESCAPE)
    assert made.closing.is_set()
    person = window("person", "novice")
    key(person, pygame.K_f)
    person.advance(3)
    assert int(person.matches.state.tick[0]) == 3, "nothing goes faster while a person flies"


def test_it_draws_goes_on_after_a_result_and_closes_after_the_asked_matches(window: Any) -> None:
    import pygame

    made = window("expert", "novice", count=2)
    made.show()
    first = pygame.surfarray.array3d(pygame.display.get_surface())
    assert first.shape == (640, 360, 3)
    for number in (1, 2):
        while not made.matches.over:
            made.advance(6)
        made.show()
        made.advance(round(SHOWN_S * 60))
        assert len(made.matches.results) == number
        assert made.closing.is_set() == (number == 2)
    assert (first != pygame.surfarray.array3d(pygame.display.get_surface())).any()

"""A game's profile from answers: what is understood, what is refused, and in which words."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.profile import ARENA_PROFILE, GameProfile, Gauge, Icon
from engine.game_builder import (
    Draft,
    DraftError,
    check_name,
    classes_of_text,
    gauge_of_text,
    gauge_text,
    name_from,
    region_of_text,
    size_of_text,
)
from engine.game_builder_check import Surroundings, check, gauges_in, why_not_seen
from engine.game_builder_keys import KeyCount, KeyWatch
from engine.game_builder_names import classes_of_file
from engine.game_builder_window import filtered
from engine.platforms.port import RawInput, WindowInfo
from tests.support.bars import Bar

HP = Gauge(name="hp", region=(0.05, 0.02, 0.2, 0.04), colour=(70, 210, 90))


def test_keys_are_taken_as_a_list_or_as_changes() -> None:
    draft = Draft(keys=("w", "q"))
    draft.edit_keys("+f  -q")
    assert draft.keys == ("w", "f")
    draft.edit_keys("w,a, s d space comma w")
    assert draft.keys == ("w", "a", "s", "d", "space", ",")
    draft.edit_keys("+minus -comma")
    assert draft.keys == ("w", "a", "s", "d", "space", "-")
    draft.edit_keys("")
    assert draft.keys == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("w spce", r"'spce' is not a key; did you mean space\?"),
        ("+w q", "either"),
        ("-x", "x is not in the list"),
        ("w f5", "f5 steer Secondseat"),
    ],
)
def test_keys_that_cannot_be_are_refused_and_the_list_stays(text: str, words: str) -> None:
    draft = Draft(keys=("w",))
    with pytest.raises(DraftError, match=words):
        draft.edit_keys(text, {"f5"})
    assert draft.keys == ("w",)


def test_gauges_read_back_what_was_written() -> None:
    words = gauge_of_text("hp=5%,2%,20%,4%:46d25a")
    assert (words.name, words.region, words.colour, words.direction, words.kind) == ("hp", HP.region, HP.colour, None, "level")
    for gauge in ARENA_PROFILE.gauges:
        words = gauge_of_text(gauge_text(gauge))
        assert words.region == pytest.approx(gauge.region, abs=1e-5)
        assert (words.name, words.colour, words.direction, words.kind) == (gauge.name, gauge.colour, gauge.direction, gauge.kind)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hp", "write it as name=left,top,right,bottom"),
        ("h p=0,0,1,1", "cannot name a gauge"),
        ("hp=0,0,1", "has 3 numbers; give four"),
        ("hp=0,0,1.5,1", "reaches outside the picture"),
        ("hp=nan,0,1,1", "reaches outside the picture"),
        ("hp=0.5,0,0.5,1", "has no area"),
        ("hp=a,b,c,d", r"give left,top,right,bottom in 0\.\.1"),
        ("hp=0,0,1,1:green", "'green' is not a colour"),
    ],
)
def test_gauges_that_cannot_be_are_refused(text: str, words: str) -> None:
    with pytest.raises(DraftError, match=words):
        gauge_of_text(text)


@given(st.text(max_size=30))
def test_no_text_whatever_breaks_the_reading(text: str) -> None:
    for read in (gauge_of_text, region_of_text, size_of_text, classes_of_text, check_name, Draft(keys=("w",)).edit_keys):
        with contextlib.suppress(DraftError):
            read(text)
    name = name_from(text)
    assert not name or check_name(name) == name


def test_names_are_checked_and_made_from_titles() -> None:
    assert name_from("SuperTuxKart 1.4 – Ünï") == "supertuxkart-1-4-n"
    assert name_from("2048") == ""
    for name, words in (("arena", "embedded game's own name"), ("My Game", "such as my-game"), ("", "cannot name a game")):
        with pytest.raises(DraftError, match=words):
            check_name(name)


def test_classes_get_the_roles_that_their_names_suggest() -> None:
    classes = classes_of_text("player, red_enemy, boxes=loot, Bullet, tree")
    assert [(c.name, c.role) for c in classes] == [
        ("player", "self"),
        ("red_enemy", "enemy"),
        ("boxes", "loot"),
        ("Bullet", "shot"),
        ("tree", "other"),
    ]
    for text, words in (("foe=boss", "use self, enemy, loot"), ("a, a", "named twice"), ("=enemy", "has no name")):
        with pytest.raises(DraftError, match=words):
            classes_of_text(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.yaml", "path: x\nnames: [me, foe]\n"),
        ("data.yml", "names:\n  0: me\n  1: foe\n"),
        ("card.json", '{"classes": ["me", "foe"]}'),
        ("classes.txt", "# mine\nme\n\nfoe\n"),
    ],
)
def test_classes_come_from_the_files_that_people_have(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert [(c.name, c.role) for c in classes_of_file(path)] == [("me", "self"), ("foe", "enemy")]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("data.yaml", b"nc: 2\n", "no list `names`"),
        ("data.yaml", b"names: {1: a, 2: b}\n", "not numbered from 0"),
        ("data.yaml", b"names: [", "is not YAML"),
        ("data.yaml", b"names: !!python/object/apply:os.system ['true']\n", "is not YAML"),
        ("card.json", b"[]", "no list `classes`"),
        ("card.json", b"{", "is not JSON"),
        ("weights.pt", b"\x80\x02\xff\xfe", "is not text"),
        ("classes.txt", b"\n", "names no class"),
        ("classes.txt", b"x" * 1_000_001, "too large"),
    ],
)
def test_files_that_hold_no_classes_say_so(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DraftError, match=words):
        classes_of_file(path)
    with pytest.raises(DraftError, match="No such file"):
        classes_of_file(tmp_path / "nowhere.txt")


def test_a_replaced_profile_keeps_what_was_not_asked() -> None:
    old = ARENA_PROFILE.model_copy(update={"name": "mine", "threat_range": 0.4})
    draft = Draft.of(old)
    assert draft.profile() == old
    draft.drop_gauge("shield")
    with pytest.raises(DraftError, match="there is a 'locked' already"):
        draft.put_gauge(HP.model_copy(update={"name": "locked"}))
    profile = draft.profile()
    assert (profile.threat_range, profile.icons, profile.level_names()) == (0.4, old.icons, ("hp", "heavy_ammo"))


def test_a_draft_that_does_not_fit_says_which_field() -> None:
    draft = Draft(name="mine", title="Mine", edge_margin_px=900)
    with pytest.raises(DraftError, match="edge_margin_px: 900: input should be less than or equal to 200"):
        draft.profile()
    with pytest.raises(DraftError, match="is not part of the window's title"):
        draft.set_title("Yours", "Mine – level 3")


def test_only_names_of_keys_are_counted_and_only_in_focus() -> None:
    count = KeyCount({"pause"})
    for name in ("f5", "pause"):
        assert not count.wanted(RawInput(0, "press", name))
    assert not count.wanted(RawInput(0, "release", "w"))
    for name in ("w", "ctrl_right", "w", "ctrl", "mouse_left", "key248"):
        assert count.wanted(RawInput(0, "press", name))
        count.press(name)
    assert count.most_used() == [("ctrl", 2), ("w", 2), ("key248", 1)]
    assert count.clicks == 1
    assert {type(value) for value in vars(count).values()} == {frozenset, Counter, int}, "nothing else is kept"


class FakePort:
    def __init__(self) -> None:
        self.focus = True
        self.failure = ""
        self.closed = 0

    def listener(self, callback: Any) -> FakePort:
        self.say = callback
        return self

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None:
        self.closed += 1

    def has_focus(self, window_id: int) -> bool:
        if window_id != 7:
            raise OSError("the screen is gone")
        return self.focus


def test_the_watch_hears_nothing_out_of_focus_and_nothing_after_its_end() -> None:
    port = FakePort()
    watch = KeyWatch(7, make_port=lambda: port)  # type: ignore[arg-type,return-value]
    watch.start()
    port.say(RawInput(0, "press", "w"))
    port.focus = False
    port.say(RawInput(0, "press", "p"))
    assert watch.counts() == [("w", 1)]
    watch.stop()
    port.focus = True
    port.say(RawInput(0, "press", "p"))
    assert watch.counts() == [("w", 1)]
    assert port.closed == 1
    gone = KeyWatch(8, make_port=lambda: port)  # type: ignore[arg-type,return-value]
    gone.start()
    port.say(RawInput(0, "press", "p"))
    assert gone.counts() == []
    gone.stop()


def test_windows_are_filtered_by_words() -> None:
    windows = [WindowInfo(n, title, None) for n, title in enumerate(("My Game", "Game of Ours", "Mail"))]
    assert [w.id for w in filtered(windows, "game my")] == [0]
    assert [w.id for w in filtered(windows, "GAME")] == [0, 1]
    assert len(filtered(windows, "")) == 3


# -- the check


BAR = Bar((40, 20, 100, 8), "right", (60, 200, 80), (40, 44, 60))
GAME = GameProfile(
    name="mine",
    window_title="Mine",
    picture_size=(320, 180),
    keys=("w",),
    gauges=(Gauge(name="hp", region=(40 / 320, 20 / 180, 140 / 320, 28 / 180), colour=(60, 200, 80)),),
    icons=(Icon(name="lit", region=(0.8, 0.8, 0.9, 0.9), colour=(0, 255, 0)),),
)
WINDOW = WindowInfo(1, "Mine", None)


def states(profile: GameProfile = GAME, **there: Any) -> dict[str, tuple[str, str]]:
    surroundings = Surroundings(**{"windows": (WINDOW,), "image": BAR.draw(0.6), **there})
    return {f.name: (f.state, f.text + f.remedy) for f in check(profile, {"f5", "f8"}, surroundings)}


def test_all_is_well_with_the_values_of_the_gauges() -> None:
    found = states()
    assert {state for state, _ in found.values()} == {"ok"}
    assert found["hp"][1] == "0.60"
    assert found["lit"][1] == "off"


@pytest.mark.parametrize(
    ("changes", "there", "name", "state", "words"),
    [
        ({}, {"trouble": "no display: DISPLAY is not set; run inside a desktop", "image": None}, "window", "wrong", "no display"),
        ({}, {"windows": (), "image": None, "blind": "window 'Mine' not found, 0 candidates"}, "window", "wrong", "start the game"),
        ({}, {"windows": (WINDOW, WINDOW)}, "window", "look", "2 windows fit"),
        ({}, {"image": None, "blind": "window 'Mine' is minimised"}, "window", "look", "minimised"),
        ({}, {"image": None}, "gauges", "look", "not looked at"),
        ({"window_title": ""}, {}, "window", "wrong", "no window title"),
        ({"picture_size": (640, 360)}, {}, "size", "look", "the same shape"),
        ({"picture_size": (640, 480)}, {}, "size", "wrong", "gauges lie elsewhere"),
        ({"keys": ()}, {}, "keys", "look", "only the mouse"),
        ({"keys": ("w", "f8")}, {}, "keys", "wrong", "steer Secondseat"),
        ({}, {"unknown_keys": ("key200",)}, "keys", "wrong", "this keyboard has no key200"),
        ({}, {"image": BAR.draw(0.0)}, "hp", "look", "its colour 3cc850 does not occur"),
        ({}, {"detector": "detector weights 'x': no file x; put the file there"}, "detector", "wrong", "put the file there"),
        ({"detector": "x.onnx"}, {"detector": ""}, "detector", "look", "no class has the role enemy"),
    ],
)
def test_each_thing_that_does_not_fit_is_told_with_a_remedy(
    changes: dict[str, Any], there: dict[str, Any], name: str, state: str, words: str
) -> None:
    found = states(GAME.model_copy(update=changes), **there)
    assert found[name][0] == state
    assert words in found[name][1]


def test_a_covered_bar_and_one_without_a_pixel_are_told() -> None:
    image = BAR.draw(1.0)
    image[20:28, 70:120] = 120
    assert [f.state for f in gauges_in(GAME, image)] == ["look", "ok"]
    assert "cannot be read" in why_not_seen(GAME, image)
    assert gauges_in(GAME, np.zeros((8, 8, 3), np.uint8))[0].state == "wrong"
    assert why_not_seen(GAME, BAR.draw(0.6)) == ""
    cooldown = GAME.model_copy(update={"gauges": (GAME.gauges[0].model_copy(update={"kind": "cooldown"}),)})
    assert why_not_seen(cooldown, BAR.draw(0.0)) == "", "a cooldown that is over is empty"


def test_a_watch_can_be_asked_while_it_listens() -> None:
    port = FakePort()
    watch = KeyWatch(7, make_port=lambda: port)  # type: ignore[arg-type,return-value]
    watch.start()
    done = threading.Event()

    def press() -> None:
        while not done.is_set():
            port.say(RawInput(time.monotonic_ns(), "press", "w"))

    thread = threading.Thread(target=press)
    thread.start()
    seen = [sum(n for _, n in watch.counts()) for _ in range(200)]
    done.set()
    thread.join()
    watch.stop()
    assert seen == sorted(seen)
    assert seen[-1] > 0

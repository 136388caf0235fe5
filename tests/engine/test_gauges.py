"""Gauges, icons and choices read off pictures."""

import numpy as np
import pytest

from data.profile import ARENA_PROFILE, GameProfile, Gauge, Icon
from data.schema import Image
from engine.arena_pictures import pictures
from engine.perception.gauges import GaugeReader
from league.arena.render import reading

BAR = (200, 40, 40)


def profile(direction: str = "right") -> GameProfile:
    gauge = Gauge(name="hp", region=(0.1, 0.1, 0.6, 0.2), colour=BAR, direction=direction)  # pyright: ignore[reportArgumentType]
    return GameProfile(name="toy", gauges=(gauge,), icons=(Icon(name="lit", region=(0.8, 0.8, 0.9, 0.9), colour=(0, 255, 0), share=0.5),))


def picture(level: float, direction: str = "right", width: int = 200, height: int = 100) -> Image:
    image = np.full((height, width, 3), 30, np.uint8)
    left, right, top, bottom = round(0.1 * width), round(0.6 * width), round(0.1 * height), round(0.2 * height)
    across, down = round(level * (right - left)), round(level * (bottom - top))
    if direction == "right":
        image[top:bottom, left : left + across] = BAR
    elif direction == "left":
        image[top:bottom, right - across : right] = BAR
    elif direction == "up":
        image[bottom - down : bottom, left:right] = BAR
    else:
        image[top : top + down, left:right] = BAR
    return image


@pytest.mark.parametrize("direction", ["right", "left", "up", "down"])
@pytest.mark.parametrize("level", [0.0, 0.3, 0.5, 1.0])
def test_level_in_each_direction(direction: str, level: float) -> None:
    status = GaugeReader(profile(direction)).read(picture(level, direction))
    assert status.levels["hp"] == pytest.approx(level, abs=0.06)


def test_the_same_reader_takes_pictures_of_other_sizes() -> None:
    reader = GaugeReader(profile())
    for width in (200, 640, 1280):
        assert reader.read(picture(0.4, width=width, height=width // 2)).levels["hp"] == pytest.approx(0.4, abs=0.02)


def test_a_covered_bar_cannot_be_read() -> None:
    image = picture(1.0)
    image[10:20, 45:85] = 120  # something in front of its middle
    assert GaugeReader(profile()).read(image).levels["hp"] is None


def test_icon_is_on_by_its_share() -> None:
    image = picture(0.5)
    reader = GaugeReader(profile())
    assert reader.read(image).flags["lit"] is False
    image[80:90, 160:172] = (0, 255, 0)
    assert reader.read(image).flags["lit"] is True


@pytest.mark.parametrize("image", [None, np.zeros((360, 640, 3), np.uint8), np.zeros((2, 2, 3), np.uint8), np.zeros((0, 0, 3), np.uint8)])
def test_nothing_is_read_where_there_is_no_display(image: Image | None) -> None:
    status = GaugeReader(ARENA_PROFILE).read(image)
    assert set(status.levels.values()) | set(status.flags.values()) | set(status.choices.values()) == {None}
    assert set(status.cooldowns) == {"repair", "boost", "jam"}


def test_a_profile_without_gauges_reads_nothing() -> None:
    assert GaugeReader(GameProfile(name="bare")).read(picture(0.5)).levels == {}


def test_views_that_are_not_contiguous_are_read_too() -> None:
    wide = np.repeat(picture(0.3), 2, axis=1)
    assert GaugeReader(profile()).read(wide[:, ::2]).levels["hp"] == pytest.approx(0.3, abs=0.02)


def test_every_state_of_the_arena_display_is_read_right() -> None:
    reader = GaugeReader(ARENA_PROFILE)
    unread = 0
    for shown in pictures(40, seed=77, coded_share=0.3):
        status = reader.read(shown.image)
        truth = reading(shown.state, 0, 3600)
        repair, boost, jam = truth.cooldowns
        bars = {"hp": truth.hp, "shield": truth.shield, "heavy_ammo": truth.heavy_ammo, "repair": repair, "boost": boost, "jam": jam}
        for name, value in {**status.levels, **status.cooldowns}.items():
            if value is None:
                unread += 1  # the pointer lies over it
            else:
                assert value == pytest.approx(bars[name], abs=0.05), name
        assert status.flags == {"locked": truth.locked, "firing": truth.firing}
        assert status.choices == {"ammo": truth.ammo}
    assert unread <= 3

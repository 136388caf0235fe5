"""Gauges fitted to what a person marked: drawn bars of every kind, and the arena's own display."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from data.profile import ARENA_PROFILE
from data.schema import Image
from engine.arena_pictures import pictures
from engine.game_builder_gauges import Fit, FitError, box_of, colour_share, fit_gauge, read_gauge
from league.arena.looks import LOOKS
from league.arena.render import Renderer, reading
from tests.support.bars import Bar

PLAIN = Bar((40, 20, 100, 8), "right", (60, 200, 80), (40, 44, 60))
MARGINS = st.tuples(*(st.integers(1, 5) for _ in range(4)))


@st.composite
def bars(draw: st.DrawFn) -> Bar:
    """Bars that a person can see: a colour that stands out, a track that differs from what is round it."""
    direction = draw(st.sampled_from(["right", "left", "up", "down"]))
    length, thick = draw(st.integers(30, 140)), draw(st.integers(3, 12))
    box = (draw(st.integers(20, 120)), draw(st.integers(12, 24)), *((length, thick) if direction in ("right", "left") else (thick, length)))
    colour = draw(st.sampled_from([(210, 40, 40), (60, 200, 80), (80, 160, 255), (240, 190, 60), (200, 60, 220), (235, 235, 245)]))
    back = draw(st.sampled_from([(0, 0, 0), (22, 24, 40), (60, 50, 40)]))
    groove = draw(st.sampled_from([(36, 40, 66), (92, 92, 92), (80, 20, 24)]))
    border = draw(st.sampled_from([None, (230, 170, 120), (140, 140, 160)]))
    assume(max(abs(a - b) for a, b in zip(groove, back, strict=True)) >= 25)
    # a bar near white cannot be shaded: it would lose its colour at the ceiling
    shade, ramp = (0, 0) if colour[0] == 235 else (draw(st.sampled_from([0, 24, 50])), draw(st.sampled_from([0, 30])))
    return Bar(box, direction, colour, groove, back, border, shade, ramp, draw(st.sampled_from([0, 4, 6])))


def assert_fits(bar: Bar, fit: Fit, image: Image, level: float, less_level: float | None = None) -> None:
    box, truth = box_of(fit.gauge.region, image), bar.mark((0, 0, 0, 0))
    along = (0, 2) if bar.direction in ("right", "left") else (1, 3)
    assert fit.gauge.direction == bar.direction
    assert all(abs(box[i] - truth[i]) <= max(1, 0.02 * bar.length()) for i in along), (box, truth)
    assert fit.value == pytest.approx(bar.shown(level), abs=0.02 + 1 / bar.length())
    if less_level is not None:
        assert fit.less_value == pytest.approx(bar.shown(less_level), abs=0.02 + 1 / bar.length())


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(bars(), MARGINS, st.floats(0.25, 0.9), st.integers(0, 99))
def test_from_one_picture_of_a_bar_that_is_not_full(bar: Bar, margins: Any, level: float, seed: int) -> None:
    image = bar.draw(level, seed)
    assert_fits(bar, fit_gauge(image, bar.mark(margins)), image, level)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(bars(), MARGINS, st.floats(0.5, 1.0), st.floats(0.15, 0.7), st.integers(0, 99))
def test_from_two_pictures(bar: Bar, margins: Any, level: float, share: float, seed: int) -> None:
    image, less = bar.draw(level, seed), bar.draw(level * share, seed + 1)
    assert_fits(bar, fit_gauge(image, bar.mark(margins), less=less), image, level, level * share)


@pytest.mark.parametrize("direction", ["right", "left", "up", "down"])
@pytest.mark.parametrize("border", [None, (140, 140, 160)])
def test_a_mark_as_wide_as_what_is_empty_leaves_no_doubt_where_a_track_is_seen(direction: str, border: Any) -> None:
    box = (20, 12, 30, 3) if direction in ("right", "left") else (20, 12, 3, 30)
    bar = Bar(box, direction, (210, 40, 40), (36, 40, 66), (0, 0, 0), border)
    margins = {"left": (1, 1, 4, 1), "right": (4, 1, 1, 1), "up": (1, 1, 1, 4), "down": (1, 4, 1, 1)}[direction]
    fit = fit_gauge(bar.draw(0.875), bar.mark(margins))
    assert_fits(bar, fit, bar.draw(0.875), 0.875)
    assert "guess" not in fit.remark


@pytest.mark.parametrize("direction", ["right", "left", "up", "down"])
def test_a_bar_that_was_full_ends_where_it_stood_however_wide_the_mark(direction: str) -> None:
    box = (20, 12, 30, 3) if direction in ("right", "left") else (20, 12, 3, 30)
    bar = Bar(box, direction, (210, 40, 40), (36, 40, 66), (0, 0, 0))
    margins = {"left": (5, 1, 1, 1), "right": (1, 1, 5, 1), "up": (1, 5, 1, 1), "down": (1, 1, 1, 5)}[direction]
    image, less = bar.draw(1.0), bar.draw(0.5)
    fit = fit_gauge(image, bar.mark(margins), less=less)
    assert_fits(bar, fit, image, 1.0, 0.5)
    assert fit.remark == ""


def test_the_fit_reads_levels_it_has_not_seen() -> None:
    for direction in ("right", "left", "up", "down"):
        box = (40, 20, 100, 8) if direction in ("right", "left") else (40, 20, 8, 100)
        bar = Bar(box, direction, (210, 40, 40), (40, 44, 60), shade=40, noise=5)
        gauge = fit_gauge(bar.draw(0.8), bar.mark((3, 3, 3, 3)), less=bar.draw(0.3)).gauge
        for level in (0.0, 0.1, 0.55, 1.0):
            image = bar.draw(level, 7)
            assert read_gauge(gauge, image) == pytest.approx(level, abs=0.02)


def test_a_full_bar_is_fitted_and_its_direction_is_told_to_be_a_guess() -> None:
    image = PLAIN.draw(1.0)
    fit = fit_gauge(image, PLAIN.mark((4, 3, 4, 3)))
    assert box_of(fit.gauge.region, image) == (40, 20, 140, 28)
    assert (fit.value, fit.gauge.direction) == (1.0, "right")
    assert "right is a guess" in fit.remark
    assert fit_gauge(image, PLAIN.mark((4, 3, 4, 3)), direction="left").gauge.direction == "left"


def test_a_bar_without_a_visible_track_ends_where_the_mark_does() -> None:
    bar = Bar((40, 20, 100, 8), "right", (60, 200, 80), (22, 24, 40))
    fit = fit_gauge(bar.draw(0.6), bar.mark((3, 3, 3, 3)))
    assert fit.value == pytest.approx(0.6, abs=0.01)
    assert "its end is where your mark ends" in fit.remark


def test_letters_over_a_bar_do_not_matter() -> None:
    image, less = PLAIN.draw(1.0), PLAIN.draw(0.4)
    for picture in (image, less):
        for x in range(70, 100, 6):
            picture[22:25, x : x + 3] = 255
    fit = fit_gauge(image, PLAIN.mark((3, 3, 3, 3)), less=less)
    assert_fits(PLAIN, fit, image, 1.0, 0.4)


def test_a_gradient_along_the_bar_is_one_bar() -> None:
    bar = Bar((40, 20, 120, 8), "right", (150, 120, 40), (30, 34, 70), ramp=120)
    image = bar.draw(0.9)
    assert_fits(bar, fit_gauge(image, bar.mark((3, 3, 3, 3))), image, 0.9)


@pytest.mark.parametrize(
    ("mark", "more", "words"),
    [
        ((200, 100, 260, 120), {}, "no bar is seen|cannot be read"),
        ((40, 20, 41, 28), {}, "the mark is too small"),
        ((400, 20, 500, 28), {}, "the mark is too small"),
        ((37, 17, 143, 31), {"colour": (255, 0, 255)}, "the colour ff00ff does not occur in the mark"),
        ((37, 17, 143, 31), {"less": PLAIN.draw(0.6)}, "the two pictures show the same"),
        ((37, 17, 143, 31), {"less": PLAIN.draw(0.2)[:90]}, "the two pictures differ in size"),
    ],
)
def test_what_cannot_be_fitted_says_what_to_do(mark: Any, more: dict[str, Any], words: str) -> None:
    image = PLAIN.draw(0.6)
    image[100:120, 200:260] = np.random.default_rng(3).integers(0, 255, (20, 60, 3))
    with pytest.raises(FitError, match=words):
        fit_gauge(image, mark, **more)


@settings(max_examples=80, deadline=None)
@given(st.tuples(*(st.integers(-20, 340) for _ in range(4))), st.integers(0, 10**6))
def test_no_mark_and_no_picture_whatever_breaks_it(mark: Any, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 255, (40, 60, 3)).astype(np.uint8).repeat(4, 0).repeat(5, 1)
    try:
        fit = fit_gauge(image, mark)
    except FitError:
        return
    assert 0.0 <= fit.value <= 1.0
    assert colour_share(image, fit.gauge.region, fit.gauge.colour, fit.gauge.tolerance) > 0 or fit.value == 0


def test_the_arenas_display_is_fitted_as_its_profile_says() -> None:
    """Marks a pixel or two wide of each bar, in pictures without a pointer; of a full bar nobody can tell which end fills last."""
    fitted = 0
    dice = np.random.default_rng(4)
    for shown in pictures(20, seed=5, coded_share=0.0):
        image = Renderer(LOOKS[shown.look]).picture(shown.state, 0)
        truth = reading(shown.state, 0, 3600)
        levels = {"hp": truth.hp, "shield": truth.shield, "heavy_ammo": truth.heavy_ammo}
        levels |= dict(zip(("repair", "boost", "jam"), truth.cooldowns, strict=True))
        for gauge in ARENA_PROFILE.gauges:
            if not 0.15 < levels[gauge.name] < 0.97:
                continue
            left, top, right, bottom = box_of(gauge.region, image)
            a, b, c, d = dice.integers(0, 3, 4)
            fit = fit_gauge(image, (left - a, top - b, right + c, bottom + d), gauge.name, kind=gauge.kind)
            assert fit.gauge.region == pytest.approx(gauge.region, abs=0.02 * (gauge.region[2] - gauge.region[0]))
            assert fit.gauge.colour == pytest.approx(gauge.colour, abs=5)
            assert (fit.gauge.direction, fit.gauge.tolerance, fit.gauge.kind) == ("right", 48, gauge.kind)
            assert fit.value == pytest.approx(levels[gauge.name], abs=0.02 + 0.5 / (right - left))
            fitted += 1
    assert fitted > 25

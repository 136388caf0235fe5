from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from data.profile import ARENA_PROFILE, Region
from data.vocabulary import LookName
from league.arena import sizes, skirmish
from league.arena import skirmish_rules as rules
from league.arena.hud import PANELS
from league.arena.looks import CLASSIC, HELD_OUT, LOOKS, Look, look_named
from league.arena.render import Painter, Renderer, boxes, draw
from league.arena.truth import objects
from league.arena.world import WorldState

Picture = NDArray[np.uint8]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return Renderer()


def busy_world(seed: int) -> WorldState:
    """A world whose every ship, box and gauge is at a random place or value."""
    state = skirmish.new_worlds(1, [seed])
    dice = np.random.default_rng(seed)
    left, top, right, bottom = sizes.PLAY_AREA_PX
    for name in ("ship_pos", "ship_dest", "loot_pos", "shot_pos"):
        places = getattr(state, name)
        places[...] = dice.uniform((left + 12, top + 12), (right - 12, bottom - 12), places.shape)
    state.ship_alive[:] = True
    state.ship_hp[:] = dice.uniform(0.05, 1.0, state.ship_hp.shape)
    state.ship_shield[:] = dice.random(state.ship_shield.shape)
    state.ship_heavy[:] = dice.random(state.ship_heavy.shape)
    state.ship_cooldowns[:] = dice.random(state.ship_cooldowns.shape)
    state.ship_ammo[:] = dice.integers(1, 4, state.ship_ammo.shape)
    state.ship_heading[:] = dice.uniform(-np.pi, np.pi, state.ship_heading.shape)
    state.ship_lock[0, 0] = dice.integers(-1, state.ship_lock.shape[1])
    if state.ship_lock[0, 0] == 0:
        state.ship_lock[0, 0] = -1
    state.ship_firing[0, 0] = state.ship_lock[0, 0] >= 0 and dice.random() < 0.5
    state.ship_has_dest[0, 0] = dice.random() < 0.5
    state.shot_alive[:] = dice.random(state.shot_alive.shape) < 0.4
    state.shot_vel[:] = dice.normal(0, 200, state.shot_vel.shape)
    state.shot_owner[:] = dice.integers(0, state.ship_alive.shape[1], state.shot_owner.shape)
    state.shot_kind[:] = np.where(state.shot_owner == 0, dice.integers(1, 4, state.shot_kind.shape), 4)
    return state


def matching(picture: Picture, region: Region, colour: tuple[int, int, int], tolerance: int) -> NDArray[np.bool_]:
    left, top, right, bottom = region
    part = picture[round(top * 360) : round(bottom * 360), round(left * 640) : round(right * 640)].astype(int)
    return np.abs(part - np.array(colour)).max(axis=-1) <= tolerance


@pytest.mark.parametrize("seed", range(12))
def test_every_gauge_icon_and_choice_can_be_read_off_its_region(renderer: Renderer, seed: int) -> None:
    state = busy_world(seed)
    picture = renderer.picture(state, 0)
    repair, boost, jam = state.ship_cooldowns[0, 0].tolist()
    true = {"hp": state.ship_hp[0, 0], "shield": state.ship_shield[0, 0], "heavy_ammo": state.ship_heavy[0, 0]}
    true |= {"repair": repair, "boost": boost, "jam": jam}
    for gauge in ARENA_PROFILE.gauges:
        columns = matching(picture, gauge.region, gauge.colour, gauge.tolerance)
        assert gauge.direction == "right"
        for share in (columns.mean(), columns.all(axis=0).mean()):  # by area and by whole columns
            assert share == pytest.approx(true[gauge.name], abs=0.02), gauge.name
    flags = {"locked": state.ship_lock[0, 0] >= 0, "firing": state.ship_firing[0, 0]}
    for icon in ARENA_PROFILE.icons:
        share = matching(picture, icon.region, icon.colour, icon.tolerance).mean()
        assert (share >= icon.share) == flags[icon.name], icon.name
        assert not 0.5 * icon.share < share < 1.2 * icon.share, f"{icon.name} is near its threshold: {share}"
    ammo = ARENA_PROFILE.choices[0]
    lit = [matching(picture, region, ammo.colour, ammo.tolerance).mean() >= ammo.share for region in ammo.regions]
    assert lit == [k + 1 == state.ship_ammo[0, 0] for k in range(3)]


@pytest.mark.parametrize("seed", range(4))
def test_boxes_are_those_of_the_shared_truth(seed: int) -> None:
    state = busy_world(seed)
    classes, found = boxes(state, 0)
    assert classes.dtype == np.int32
    assert found.dtype == np.float32
    truth = objects(state, 0)
    np.testing.assert_array_equal(classes, truth.classes)
    np.testing.assert_allclose(found[:, 2:] * (640, 360), truth.boxes_px[:, 2:], rtol=1e-5)


def _alone(state: WorldState) -> None:
    state.ship_alive[:] = state.shot_alive[:] = state.loot_alive[:] = False
    state.ship_lock[:] = -1
    state.ship_has_dest[:] = False
    state.rock_pos[:] = (600, 300)
    state.rock_radius[:] = 20.0
    state.ship_shield[:] = 0.0
    state.ship_vel[:] = 0.0


def _ship(index: int) -> Callable[[WorldState], None]:
    def show(state: WorldState) -> None:
        state.ship_alive[0, index] = True
        state.ship_kind[0, index] = index
        state.ship_pos[0, index] = (200, 150)

    return show


def _shot(owner: int) -> Callable[[WorldState], None]:
    def show(state: WorldState) -> None:
        state.shot_alive[0, 0] = True
        state.shot_pos[0, 0] = (200, 150)
        state.shot_owner[0, 0], state.shot_kind[0, 0] = owner, 4 if owner else 1

    return show


def _loot(slot: int) -> Callable[[WorldState], None]:
    def show(state: WorldState) -> None:
        state.loot_alive[0, slot] = True
        state.loot_pos[0, slot] = (200, 150)

    return show


def _rock(state: WorldState) -> None:
    state.rock_pos[0, 0] = (200, 150)
    state.rock_radius[0, 0] = 21.0


def _portal(state: WorldState) -> None:
    state.portal_pos[0, 0] = (200, 150)


SHOWN = {
    "self": _ship(0),
    "drone": _ship(1),
    "raider": _ship(2),
    "mender": _ship(3),
    "bomber": _ship(4),
    "hunter": _ship(5),
    "loot": _loot(0),
    "cache": _loot(3),
    "rock": _rock,
    "portal": _portal,
    "shot": _shot(0),
    "hostile_shot": _shot(1),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=lambda look: look.name)
@pytest.mark.parametrize("name", SHOWN)
def test_a_thing_fills_the_box_that_truth_gives_it(name: str, look: Look) -> None:
    renderer, state = Renderer(replace(look, names=False)), skirmish.new_worlds(1, [5])
    _alone(state)
    state.portal_pos[:] = (500, 300)
    before = renderer.picture(state, 0).astype(int)
    SHOWN[name](state)
    changed = np.abs(renderer.picture(state, 0).astype(int) - before).max(axis=-1)[110:200, 140:260] > 24
    rows, columns = np.nonzero(changed)
    classes, found = boxes(state, 0, look)
    mine = found[classes == sizes.CLASSES.index(name)]
    x, y, width, height = (mine[np.abs(mine[:, 0] - 200 / 640).argmin()] * (640, 360, 640, 360)).tolist()
    assert (x, y) == pytest.approx((200, 150), abs=1e-3)
    # The hp bar stands above the box; streaks trail behind it.
    inside = (np.abs(columns + 140.5 - x) <= width / 2 + 1) & (np.abs(rows + 110.5 - y) <= height / 2 + 1)
    assert inside.mean() > (0.4 if name in (*sizes.SHIP_KINDS[1:], "shot", "hostile_shot") else 0.97)
    for values, middle, side in ((columns[inside] + 140.5, x, width), (rows[inside] + 110.5, y, height)):
        assert values.max() - values.min() + 1 >= 0.68 * side
        assert (values.max() + values.min()) / 2 == pytest.approx(middle, abs=max(2.0, 0.13 * side))


def test_kinds_can_be_told_apart_in_every_look() -> None:
    for look in LOOKS.values():
        renderer = Renderer(replace(look, names=False))
        crops = []
        for name in (*sizes.SHIP_KINDS, "loot", "cache"):
            state = skirmish.new_worlds(1, [5])
            _alone(state)
            state.portal_pos[:] = (500, 300)
            SHOWN[name](state)
            crops.append(renderer.picture(state, 0)[136:164, 186:214].astype(float))
        for i, a in enumerate(crops):
            for b in crops[:i]:
                # Grey values too, since not everyone sees every colour.
                assert np.abs(a - b).mean() > 8, look.name
                assert np.abs(a.mean(axis=2) - b.mean(axis=2)).mean() > 5, look.name


def test_the_display_is_the_same_in_every_look() -> None:
    state = skirmish.new_worlds(1, [5])
    _alone(state)
    parts = []
    for look in LOOKS.values():
        picture = Renderer(look).picture(state, 0)
        parts.append(np.concatenate([picture[t + 1 : t + h - 1, x + 1 : x + w - 1].ravel() for x, t, w, h in PANELS]))
    assert all((part == parts[0]).all() for part in parts)


def test_looks_are_unlike_one_another() -> None:
    state = skirmish.new_worlds(1, [5])
    pictures = {name: Renderer(look).picture(state, 0).astype(float) for name, look in LOOKS.items()}
    for a, b in itertools.combinations(pictures, 2):
        assert np.abs(pictures[a] - pictures[b]).mean() > 4, (a, b)
    assert HELD_OUT in LOOKS
    assert CLASSIC.name != HELD_OUT


def test_names_and_numbers_are_shown_where_the_look_wants_them() -> None:
    state = skirmish.new_worlds(1, [5])
    _alone(state)
    state.ship_alive[0, 1], state.ship_kind[0, 1], state.ship_pos[0, 1] = True, 1, (200, 150)
    plain = Renderer(replace(CLASSIC, names=False)).picture(state, 0)
    named = Renderer(CLASSIC).picture(state, 0)
    rows, _ = np.nonzero((plain != named).any(axis=-1))
    assert len(rows) > 20
    assert rows.max() < 150 - sizes.BOX_PX["drone"] / 2
    for kind, value in ((rules.FX_HIT, 10.0), (rules.FX_HURT, 12.0), (rules.FX_PICKUP, 2.5), (rules.FX_BLAST, 45.0), (rules.FX_MEND, 18.0)):
        state.fx_kind[0, 0], state.fx_pos[0, 0], state.fx_value[0, 0], state.fx_age_s[0, 0] = kind, (400, 150), value, 0.1
        changed = (Renderer(CLASSIC).picture(state, 0) != named).any(axis=-1)
        assert changed.sum() > 15
        rows, columns = np.nonzero(changed)
        assert np.hypot(columns - 400, rows - 150).max() < 50
        without = replace(CLASSIC, numbers=False, effects=False)
        assert (Renderer(without).picture(state, 0) == named).all()
        state.fx_age_s[0, 0] = rules.FX_S * 0.99
        faded = np.abs(Renderer(CLASSIC).picture(state, 0).astype(float) - named).sum()
        state.fx_age_s[0, 0] = 0.0
        assert faded < 0.6 * np.abs(Renderer(CLASSIC).picture(state, 0).astype(float) - named).sum()


def test_every_look_can_be_chosen_in_the_settings() -> None:
    assert get_args(LookName) == tuple(LOOKS)


def test_an_unknown_look_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"\[arena\] look: none is called 'rococo'; use one of classic, "):
        look_named("rococo")


def test_lock_and_mark_are_drawn_where_their_boxes_are(renderer: Renderer) -> None:
    state = skirmish.new_worlds(1, [5])
    _alone(state)
    state.ship_alive[0, :2] = True
    state.ship_pos[0, 0], state.ship_pos[0, 1] = (100, 100), (300, 150)
    state.ship_kind[0, 1] = 1
    plain = renderer.picture(state, 0).astype(int)
    state.ship_lock[0, 0] = 1
    locked = renderer.picture(state, 0).astype(int)
    state.ship_firing[0, 0] = True
    firing = renderer.picture(state, 0).astype(int)
    ring = (slice(130, 170), slice(280, 320))
    assert (np.abs(locked - plain)[ring].max(axis=-1) > 60).sum() > 60
    assert (np.abs(firing - locked)[ring].max(axis=-1) > 60).sum() > 30
    state.ship_has_dest[0, 0], state.ship_dest[0, 0] = True, (400, 250)
    marked = renderer.picture(state, 0).astype(int)
    assert (np.abs(marked - firing)[237:263, 387:413].max(axis=-1) > 60).sum() > 60
    kinds = [sizes.CLASSES[k] for k in boxes(state, 0)[0]]
    assert kinds.count("lock") == kinds.count("mark") == 1


def test_a_picture_is_a_new_array_and_depends_on_the_world_alone(renderer: Renderer) -> None:
    state = busy_world(3)
    first = renderer.picture(state, 0)
    assert first.shape == (360, 640, 3)
    assert first.dtype == np.uint8
    kept = first.copy()
    renderer.picture(busy_world(4), 0)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(Renderer().picture(state.copy(), 0), kept)


def test_one_world_of_a_batch_looks_like_that_world_alone(renderer: Renderer) -> None:
    batch = skirmish.new_worlds(3, [7, 8, 9])
    alone = skirmish.new_worlds(1, [8])
    for state in (batch, alone):
        skirmish.step(state, None, None, None, ticks=40)
    np.testing.assert_array_equal(renderer.picture(batch, 1), renderer.picture(alone, 0))


def test_the_cursor_is_drawn_only_when_given(renderer: Renderer) -> None:
    state = busy_world(5)
    plain = renderer.picture(state, 0).astype(int)
    pointed = renderer.picture(state, 0, (0.25, 0.5)).astype(int)
    changed = np.abs(pointed - plain).max(axis=-1) > 8
    rows, columns = np.nonzero(changed)
    assert 40 < changed.sum() < 260
    assert (rows.min(), columns.min()) == (pytest.approx(180, abs=1), pytest.approx(160, abs=1))


def test_nothing_in_flight_shows_through_the_panels(renderer: Renderer) -> None:
    state = busy_world(6)
    plain = renderer.picture(state, 0)
    for left, top, width, height in PANELS:
        state.ship_pos[0, 1:, 0], state.ship_pos[0, 1:, 1] = left + width / 2, top + height / 2
        state.shot_pos[0, :, 0], state.shot_pos[0, :, 1] = left + width / 3, top + height / 2
        crowded = renderer.picture(state, 0)
        part = (slice(top, top + height), slice(left, left + width))
        np.testing.assert_array_equal(crowded[part], plain[part])


def test_larger_scales_show_the_same_picture_sharper(renderer: Renderer) -> None:
    import pygame

    state = busy_world(7)
    plain = renderer.picture(state, 0).astype(float)
    surface = pygame.Surface((1280, 720), 0, 32)
    draw(surface, state, 0)
    large = pygame.surfarray.array3d(surface).transpose(1, 0, 2).astype(float)
    halved = large.reshape(360, 2, 640, 2, 3).mean(axis=(1, 3))
    assert np.abs(halved - plain).mean() < 3.0
    with pytest.raises(ValueError, match="640x360 times a whole number"):
        draw(pygame.Surface((1000, 720), 0, 32), state, 0)
    with pytest.raises(ValueError, match="use 1 to 4"):
        Painter(5)


def test_rendering_needs_no_display_and_prints_nothing() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from league.arena import render, skirmish\n"
        "picture = render.Renderer().picture(skirmish.new_worlds(1, [1]), 0)\n"
        "import pygame\n"
        "assert not pygame.display.get_init()\n"
        "assert picture.std() > 1\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT)], env={"PATH": "", "HOME": str(Path.home())}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

"""Last man standing drawn: what is there is seen, what just happened is seen for a while, and drawing changes no world."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from league.arena import last_standing as game
from league.arena import last_standing_rules as rules
from league.arena.last_standing_board import CARDS_HEIGHT, CARDS_TOP, flyers, place_words
from league.arena.last_standing_moments import LIFE_S, Moments
from league.arena.last_standing_sprites import PLAYERS, player_colour
from league.arena.last_standing_view import Painter, Renderer, zone_radius_at
from league.arena.world import DT_S
from league.codec import HEADS

Picture = NDArray[np.uint8]
Change = Callable[[game.LastStandingState], None]


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return Renderer(flyers(["expert", "expert", "novice", "random"]))


def world(seed: int = 4, ships: int = 4) -> game.LastStandingState:
    """Ships in known places, inside the zone, and no item."""
    state = game.new_worlds(1, [seed], ships)
    state.ship_pos[0] = [(120 + 400 * k / (ships - 1), 200) for k in range(ships)]
    state.item_alive[:] = False
    return state


def picture(renderer: Renderer, state: game.LastStandingState) -> Picture:
    renderer.painter.moments.clear()
    return renderer.picture(state)


def changed(renderer: Renderer, change: Change, state: game.LastStandingState | None = None) -> NDArray[np.bool_]:
    """bool [360, 640] where a change to the world changes the picture."""
    state = state or world()
    other = state.copy()
    change(other)
    return (picture(renderer, state) != picture(renderer, other)).any(-1)


def near(mask: NDArray[np.bool_], x: float, y: float, reach: int = 18) -> NDArray[np.bool_]:
    return mask[int(y) - reach : int(y) + reach, int(x) - reach : int(x) + reach]


def idle(ships: int = 4) -> NDArray[np.float32]:
    return np.zeros((1, ships, len(HEADS)), np.float32)


def test_the_same_world_gives_the_same_picture_and_stays_as_it_was(renderer: Renderer) -> None:
    state = world()
    before = state.copy()
    first = picture(renderer, state)
    assert first.shape == (360, 640, 3)
    assert np.array_equal(first, picture(renderer, state))
    assert np.array_equal(first, Renderer(flyers(["expert", "expert", "novice", "random"])).picture(state))
    assert all(np.array_equal(a, b) for a, b in zip(before.arrays(), state.arrays(), strict=True))


@pytest.mark.parametrize("seat", range(4))
def test_every_ship_is_seen_where_it_is_and_its_card_goes_out_when_it_is_lost(renderer: Renderer, seat: int) -> None:
    def lose(state: game.LastStandingState) -> None:
        state.ship_alive[0, seat] = False
        state.death_step[0, seat] = 1

    found = changed(renderer, lose)
    x, y = world().ship_pos[0, seat]
    assert near(found, x, y).sum() > 150
    card = slice(4 + seat * 159, 4 + seat * 159 + 155)
    cards = found[CARDS_TOP : CARDS_TOP + CARDS_HEIGHT]
    assert cards[:, card].sum() > 300
    others = np.ones(640, bool)
    others[card] = False
    assert not cards[:, others].any()


def test_players_are_told_apart_by_colour() -> None:
    colours = np.array([player_colour(k) for k in range(PLAYERS)], float)
    apart = np.abs(colours[:, None] - colours[None]).sum(-1)
    assert apart[~np.eye(PLAYERS, dtype=bool)].min() > 60


@pytest.mark.parametrize("name", ["ship_hp", "ship_shield", "ship_energy"])
def test_gauges_shrink_with_what_they_show(renderer: Renderer, name: str) -> None:
    counts: list[int] = []
    for level in (1.0, 0.7, 0.65):
        state = world()
        getattr(state, name)[0, 1] = level
        low = world()
        getattr(low, name)[0, 1] = 0.0
        there = (picture(renderer, state) != picture(renderer, low)).any(-1)
        counts.append(int(there[CARDS_TOP + 14 : CARDS_TOP + CARDS_HEIGHT, 163:318].sum()))
    assert counts[0] > counts[1] > counts[2] > 0


def test_space_outside_the_zone_is_red_and_the_edge_is_where_the_rules_say(renderer: Renderer) -> None:
    state = world()
    state.zone_middle[0] = (320, 190)
    state.zone_radius[0] = 100
    state.tick[0] = 60 * 28
    seen = picture(renderer, state).astype(int)
    redder = seen[..., 0] - seen[..., 2]
    ring = [(320 + 100 * np.cos(a), 190 + 100 * np.sin(a)) for a in np.linspace(0.3, 6.0, 20)]
    assert np.mean([redder[round(y), round(x)] > 60 for x, y in ring]) > 0.8
    assert np.median(redder[280:330, 40:120]) > np.median(redder[170:185, 250:390]) + 15
    assert zone_radius_at(28.0) == pytest.approx(rules.ZONE_RADIUS[2] + (rules.ZONE_RADIUS[3] - rules.ZONE_RADIUS[2]) * 2 / 12)


def test_items_of_each_kind_look_different_and_lie_in_their_place(renderer: Renderer) -> None:
    seen: list[Picture] = []
    for kind in range(rules.ITEM_KINDS):
        state = world()
        state.item_alive[0, 0], state.item_kind[0, 0], state.item_pos[0, 0] = True, kind, (300, 280)
        seen.append(picture(renderer, state)[268:293, 288:313])
    empty = picture(renderer, world())[268:293, 288:313]
    every = [*seen, empty]
    for a in range(4):
        for b in range(a):
            assert (every[a] != every[b]).any(-1).sum() > 100


def test_guns_shots_jams_and_power_are_seen(renderer: Renderer) -> None:
    x, y = world().ship_pos[0, 0]

    def shoot(state: game.LastStandingState) -> None:
        state.shot_end[0, 0], state.shot_pos[0, 0], state.shot_vel[0, 0] = 30, (200, 280), (300, 0)

    changes: list[tuple[Change, tuple[float, float]]] = [
        (lambda s: s.ship_gun[0, 0].__setitem__(slice(None), (0, 1)), (x, y)),
        (lambda s: s.ship_jam_end.__setitem__((0, 0), 90), (x, y)),
        (lambda s: s.ship_power_end.__setitem__((0, 0), 90), (x, y)),
        (lambda s: s.ship_boost_end.__setitem__((0, 0), 90), (x, y)),
        (shoot, (200, 280)),
    ]
    state = world()
    state.ship_vel[0, 0] = (90, 0)
    for change, place in changes:
        assert near(changed(renderer, change, state), *place).sum() > 8


def test_what_just_happened_is_shown_for_a_while() -> None:
    moments, state = Moments(), world()
    moments.notice(state)
    state.tick += 3
    state.damage_taken[0, 0] += 0.06
    state.damage_taken[0, 1] += 0.004  # the zone: a thing that is seen anyway
    state.ship_cooldown_end[0, 2], state.ship_ability[0, 2] = 500, rules.JAM
    state.ship_alive[0, 3] = False
    moments.notice(state)
    assert [(m.kind, m.seat, m.words) for m in moments.shown] == [("hit", 0, "6"), ("jam", 2, ""), ("blast", 3, "")]
    state.tick += round(LIFE_S["hit"] / DT_S) + 1
    moments.notice(state)
    assert moments.shown == []


def test_a_taken_item_is_named_after_its_kind() -> None:
    state = world()
    state.item_alive[0], state.item_kind[0] = True, (rules.HEAL, rules.POWER, rules.SHIELD_ITEM)
    state.item_pos[0] = [(60, 320), state.ship_pos[0, 1] + 5, (600, 320)]
    actions = idle()
    actions[0, 1, list(HEADS).index("interact")] = 1
    moments = Moments()
    moments.notice(state)
    game.advance(state, actions, 1)
    moments.notice(state)
    assert [(m.kind, m.seat, m.words) for m in moments.shown] == [("gain", 1, "power")]


def test_moments_pass_after_the_end_too_and_a_new_world_begins_without_any() -> None:
    moments, state = Moments(), world(ships=2)
    moments.notice(state)
    state.ship_hp[0, 1], state.zone_radius[0] = 0.0, 400.0
    while not state.over[0]:
        game.advance(state, idle(2), 1)
        moments.notice(state)
    assert [m.kind for m in moments.shown] == ["blast"]
    for _ in range(round(LIFE_S["blast"] / DT_S) + 1):
        moments.notice(state)
    assert moments.shown == []
    moments.notice(world(ships=2))
    assert moments.shown == []


def test_moments_are_in_the_picture() -> None:
    plain, eventful = (Renderer(flyers(["expert"] * 4)) for _ in range(2))
    state = world()
    eventful.notice(state)
    state.damage_taken[0, 0] += 0.06
    state.ship_cooldown_end[0, 2], state.ship_ability[0, 2] = 480, rules.BURST
    for _ in range(4):
        state.tick += 3
        eventful.notice(state)
    found = (plain.picture(state) != eventful.picture(state)).any(-1)
    (hit_x, hit_y), (burst_x, burst_y) = state.ship_pos[0, 0], state.ship_pos[0, 2]
    assert near(found, hit_x + 16, hit_y - 8).sum() > 10
    assert near(found, burst_x, burst_y, 75).sum() > 300


def test_the_result_names_the_winner_and_the_person_gets_keys() -> None:
    mine = Renderer(flyers(["person", "expert"]))
    state = world(ships=2)
    playing = mine.picture(state)
    theirs = Renderer(flyers(["novice", "expert"])).picture(state)
    assert (playing[342:358, 418:630] != theirs[342:358, 418:630]).any(-1).sum() > 200
    state.over[0], state.ship_alive[0, 1], state.death_step[0, 1] = True, False, 5
    assert (mine.picture(state)[150:210, 190:450] != playing[150:210, 190:450]).any(-1).mean() > 0.9


def test_names_and_places_in_words() -> None:
    assert [f.name for f in flyers(["expert", "person", "expert", "runs/a/pi_sup.safetensors"])] == [
        "expert 1",
        "you",
        "expert 2",
        "pi_sup",
    ]
    assert [f.person for f in flyers(["expert", "person"])] == [False, True]
    assert place_words([1, 2, 3, 4]) == ["1st", "2nd", "3rd", "4th"]
    assert place_words([3, 1, 3, 3]) == ["=2nd", "1st", "=2nd", "=2nd"]


@pytest.mark.parametrize("ships", [2, 8])
def test_two_to_eight_ships_fit_at_every_scale(ships: int) -> None:
    names = ["a-policy-with-a-very-long-name-indeed"] * ships
    for scale in (1, 3):
        assert Renderer(flyers(names), scale).picture(world(ships=ships)).shape == (360 * scale, 640 * scale, 3)


def test_what_cannot_be_drawn_is_refused(renderer: Renderer) -> None:
    with pytest.raises(ValueError, match="scale 9"):
        Painter(flyers(["expert"] * 2), 9)
    with pytest.raises(ValueError, match="3 ships cannot be drawn for 4 players"):
        renderer.picture(world(ships=3))

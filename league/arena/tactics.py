"""What a scripted pilot wants, as a function of what the picture shows and of nothing else.

There is no memory here: the same picture gives the same wish, so that whoever watches can learn it. What was already
done is read off the picture too: the lock ring, the firing icon, the destination mark, the chosen ammo. Places are px
at 1x; the modes are those of ``data.vocabulary``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from data.profile import ARENA_PROFILE
from data.schema import NO_TARGET, Observation
from data.vocabulary import Mode
from league.arena import sizes
from league.arena.sizes import MAP_HEIGHT_PX, MAP_WIDTH_PX, PLAY_AREA_PX

THREAT_PX = ARENA_PROFILE.threat_range * MAP_WIDTH_PX
WEAPON_PX = 150.0
KEEP_PX = 110.0
LOW_HP = ARENA_PROFILE.low_hp
_LEFT, _TOP, _RIGHT, _BOTTOM = PLAY_AREA_PX


@dataclass(frozen=True, slots=True)
class Skill:
    """How well a pilot knows the game."""

    flee_hp: float = LOW_HP
    abilities: bool = True
    picks_ammo: bool = True
    picks_target: bool = True
    """Goes for what is worth most, not for what is nearest."""
    keeps_range: bool = True
    loot_px: float = 150.0
    """Crates nearer than this are fetched, also while fighting."""
    cache_px: float = 330.0
    hunter_px: float = THREAT_PX
    """A hunter nearer than this is fled from."""


class Thing(NamedTuple):
    """One track, in px and px/s. A named tuple, since dozens are made per tick."""

    id: int
    kind: int
    x: float
    y: float
    vx: float
    vy: float
    size: float


@dataclass(frozen=True, slots=True)
class Wish:
    """What to do now: perhaps a click (``point``, on the track ``follow`` unless that is NO_TARGET), perhaps a key."""

    mode: Mode
    target_id: int = NO_TARGET
    point: tuple[float, float] | None = None
    follow: int = NO_TARGET
    button: str = "mouse_left"
    key: str | None = None


class View:
    """An observation sorted by what things mean."""

    def __init__(self, seen: Observation) -> None:
        tracks = seen.tracks
        self.me: Thing | None = None
        self.lock: Thing | None = None
        self.mark: Thing | None = None
        self.enemies: list[Thing] = []
        self.hunter: Thing | None = None
        self.cache: Thing | None = None
        self.loot: list[Thing] = []
        self.rocks: list[Thing] = []
        self.portals: list[Thing] = []
        self.hostile_shots: list[Thing] = []
        self.by_id: dict[int, Thing] = {}
        rows = zip(tracks.ids.tolist(), tracks.classes.tolist(), tracks.boxes.tolist(), tracks.velocities.tolist(), strict=True)
        for track_id, kind, (x, y, width, _), (vx, vy) in rows:
            thing = Thing(track_id, kind, x * MAP_WIDTH_PX, y * MAP_HEIGHT_PX, vx * MAP_WIDTH_PX, vy * MAP_HEIGHT_PX, width * MAP_WIDTH_PX)
            self.by_id[track_id] = thing
            if kind == sizes.SELF:
                self.me = thing
            elif kind <= sizes.HUNTER:
                self.enemies.append(thing)
                if kind == sizes.HUNTER:
                    self.hunter = thing
            elif kind == sizes.LOOT:
                self.loot.append(thing)
            elif kind == sizes.CACHE:
                self.cache = thing
            elif kind == sizes.ROCK:
                self.rocks.append(thing)
            elif kind == sizes.PORTAL:
                self.portals.append(thing)
            elif kind == sizes.HOSTILE_SHOT:
                self.hostile_shots.append(thing)
            elif kind == sizes.LOCK:
                self.lock = thing
            elif kind == sizes.MARK:
                self.mark = thing
        status = seen.status
        self.hp = _or(status.levels.get("hp"), 1.0)
        self.shield = _or(status.levels.get("shield"), 1.0)
        self.heavy = _or(status.levels.get("heavy_ammo"), 0.0)
        self.locked = bool(status.flags.get("locked"))
        self.firing = bool(status.flags.get("firing"))
        self.ammo = status.choices.get("ammo")
        self.ready = {name: value is not None and value <= 0.0 for name, value in status.cooldowns.items()}

    def locked_enemy(self) -> Thing | None:
        """The enemy inside the lock ring."""
        if self.lock is None or not self.enemies:
            return None
        nearest = min(self.enemies, key=lambda e: distance(e, self.lock))  # pyright: ignore[reportArgumentType]
        return nearest if distance(nearest, self.lock) < 20.0 else None

    def under_way(self) -> Thing | None:
        """The loot that the destination mark lies on."""
        if self.mark is None:
            return None
        return next((k for k in (*self.loot, self.cache) if k is not None and distance(k, self.mark) < 4.0), None)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def distance(a: Thing, b: Thing) -> float:
    return math.hypot(a.x - b.x, a.y - b.y)


def decide(view: View, skill: Skill) -> Wish:
    """What a pilot of this skill wants, given what it sees."""
    me = view.me
    if me is None:
        return Wish("EXPLORE")
    enemies = sorted(view.enemies, key=lambda e: distance(e, me))
    threats = [e for e in enemies if distance(e, me) < THREAT_PX]
    if view.hunter is not None and distance(view.hunter, me) < skill.hunter_px:
        return _flee(view, me, enemies, skill)
    if threats and view.hp < skill.flee_hp:
        if view.locked:
            x, y = _away(me, enemies)
            return Wish("FLEE", NO_TARGET, (x, y), button="mouse_right", key=_escape(view, skill))
        return _flee(view, me, enemies, skill)
    key = _ability(view, me, threats, skill)
    cache = view.cache
    if cache is not None and distance(cache, me) < skill.cache_px and (view.hunter is None or distance(view.hunter, cache) > THREAT_PX):
        return _fly_to(view, me, cache.x, cache.y, "LOOT", cache.id, key, follow=cache.id, near_px=12.0)
    # Who is in a fight stays in it longer than who is out of one would begin it.
    bar = (0.65 if view.locked else 0.85) if skill.abilities else (0.4 if view.locked else 0.5)
    strong = view.hp + 0.5 * view.shield > bar
    if not strong and threats:
        x, y = _away(me, enemies)
        if view.locked:
            return Wish("CAUTIOUS", NO_TARGET, (x, y), button="mouse_right", key=key)
        return _fly_to(view, me, x, y, "CAUTIOUS", NO_TARGET, key, near_px=70.0)
    target = view.locked_enemy()
    under_way = view.under_way()
    if under_way is not None and distance(under_way, me) < skill.cache_px:
        if key is None and target is not None:
            key = _weapon(view, me, target, skill)
        return Wish("LOOT", under_way.id, key=key)
    prey = _prey(view, me, enemies, target, skill)
    if target is not None and prey is not None and prey.id == target.id:
        if key is None:
            key = _weapon(view, me, target, skill)
        loot = _loot_on_the_way(view, me, target, skill)
        if loot is not None:
            return _fly_to(view, me, loot.x, loot.y, "LOOT", loot.id, key, follow=loot.id, near_px=12.0)
        x, y, near_px = _stand(view, me, target, skill)
        return _fly_to(view, me, x, y, "FIGHT", target.id, key, near_px=near_px)
    prey = prey if strong else None
    loot = min(view.loot, key=lambda k: distance(k, me), default=None)
    if loot is not None and distance(loot, me) < skill.loot_px and (prey is None or distance(loot, me) < 0.8 * distance(prey, me)):
        return _fly_to(view, me, loot.x, loot.y, "LOOT", loot.id, key, follow=loot.id, near_px=12.0)
    if prey is not None and distance(prey, me) < 300.0:
        return Wish("FIGHT", prey.id, (prey.x, prey.y), prey.id, key=key)
    if loot is not None and distance(loot, me) < 1.4 * skill.loot_px:
        return _fly_to(view, me, loot.x, loot.y, "LOOT", loot.id, key, follow=loot.id, near_px=12.0)
    return _fly_to(view, me, MAP_WIDTH_PX / 2, MAP_HEIGHT_PX / 2 + 10.0, "EXPLORE", NO_TARGET, key, near_px=90.0)


def _ability(view: View, me: Thing, threats: list[Thing], skill: Skill) -> str | None:
    if not skill.abilities:
        return None
    if view.shield < 0.5 and threats and view.ready.get("repair"):
        return "q"
    rushed = any(e.kind == sizes.BOMBER and distance(e, me) < 90.0 for e in threats)
    if (rushed or (len(threats) >= 2 and view.shield < 0.4)) and view.ready.get("jam"):
        return "r"
    return None


def _weapon(view: View, me: Thing, target: Thing, skill: Skill) -> str | None:
    """Engage first, then the right ammo."""
    if view.locked and not view.firing and distance(me, target) < WEAPON_PX + 20.0:
        return "space"
    if not skill.picks_ammo or view.ammo is None:
        return None
    wanted = 1
    if target.kind in (sizes.RAIDER, sizes.BOMBER):
        wanted = 2 if view.heavy >= 0.05 else 3 if target.kind == sizes.RAIDER else 1
    return str(wanted) if wanted != view.ammo else None


def _escape(view: View, skill: Skill) -> str | None:
    """The ability that helps to get away."""
    if skill.abilities:
        for name, key in (("boost", "e"), ("repair", "q"), ("jam", "r")):
            if view.ready.get(name):
                return key
    return None


def _flee(view: View, me: Thing, enemies: list[Thing], skill: Skill) -> Wish:
    x, y = _away(me, enemies)
    return _fly_to(view, me, x, y, "FLEE", NO_TARGET, _escape(view, skill), near_px=70.0)


_WORTH = {sizes.DRONE: 0.0, sizes.RAIDER: 30.0, sizes.MENDER: 70.0, sizes.BOMBER: 20.0}
"""Px of way that a kind is worth beyond a drone."""


def _prey(view: View, me: Thing, enemies: list[Thing], locked: Thing | None, skill: Skill) -> Thing | None:
    """The enemy to go for: what is worth most for the way to it, a bomber that comes near before all, and rather the one that is
    locked than another. Never the hunter."""

    def cost(e: Thing) -> float:
        away = distance(e, me)
        if locked is not None and e.id == locked.id:
            away -= 45.0
        if not skill.picks_target:
            return away
        if e.kind == sizes.BOMBER and distance(e, me) < 190.0:
            away -= 90.0
        return away - _WORTH[e.kind]

    return min((e for e in enemies if e.kind != sizes.HUNTER), key=cost, default=None)


def _loot_on_the_way(view: View, me: Thing, target: Thing, skill: Skill) -> Thing | None:
    """The nearest loot box that can be fetched without losing the target."""
    near = [k for k in view.loot if distance(k, me) < skill.loot_px and distance(k, target) < WEAPON_PX + 10.0]
    return min(near, key=lambda k: distance(k, me), default=None)


def _stand(view: View, me: Thing, target: Thing, skill: Skill) -> tuple[float, float, float]:
    """Where to be in a fight, and how near to it is good enough: at range, circling while shot at."""
    dx, dy = me.x - target.x, me.y - target.y
    away = max(math.hypot(dx, dy), 1.0)
    ux, uy = dx / away, dy / away
    if target.kind == sizes.BOMBER and skill.keeps_range and away < 120.0:
        # Away from it, shooting: it is a little slower.
        x, y = _away(me, [target])
        return x, y, 60.0
    if not skill.keeps_range:
        if away > WEAPON_PX - 20.0:
            return target.x + ux * 80.0, target.y + uy * 80.0, 60.0
        return me.x, me.y, 60.0
    if away > WEAPON_PX - 10.0:
        return target.x + ux * KEEP_PX * 0.8, target.y + uy * KEEP_PX * 0.8, 45.0
    if not view.hostile_shots and away > 70.0:
        return me.x, me.y, 60.0
    # Circle towards the middle of the map: the side is readable off the picture and keeps clear of corners.
    side = 1.0 if ux * (MAP_HEIGHT_PX / 2 - me.y) - uy * (MAP_WIDTH_PX / 2 - me.x) > 0.0 else -1.0
    turn = 0.95 * side
    cx, cy = ux * math.cos(turn) - uy * math.sin(turn), ux * math.sin(turn) + uy * math.cos(turn)
    return target.x + cx * KEEP_PX, target.y + cy * KEEP_PX, 35.0


def _away(me: Thing, enemies: list[Thing]) -> tuple[float, float]:
    """A point well away from enemies, nearer ones counting more, and from the border."""
    x = y = 0.0
    for enemy in enemies:
        gap = max(distance(enemy, me), 10.0)
        x += (me.x - enemy.x) / gap**3
        y += (me.y - enemy.y) / gap**3
    for gap, sx, sy in ((me.x - _LEFT, 1, 0), (_RIGHT - me.x, -1, 0), (me.y - _TOP, 0, 1), (_BOTTOM - me.y, 0, -1)):
        push = 1.0 / max(gap, 10.0) ** 2
        x += sx * push
        y += sy * push
    size = max(math.hypot(x, y), 1e-9)
    return _inside(me.x + x / size * 190.0, me.y + y / size * 190.0)


def _inside(x: float, y: float) -> tuple[float, float]:
    return min(max(x, _LEFT + 16.0), _RIGHT - 16.0), min(max(y, _TOP + 16.0), _BOTTOM - 16.0)


def _fly_to(
    view: View, me: Thing, x: float, y: float, mode: Mode, target_id: int, key: str | None, *, near_px: float, follow: int = NO_TARGET
) -> Wish:
    """Click there, unless the ship is there or already on its way there."""
    x, y = _inside(x, y) if follow == NO_TARGET else (x, y)
    if math.hypot(x - me.x, y - me.y) < near_px or (view.mark is not None and math.hypot(x - view.mark.x, y - view.mark.y) < near_px):
        return Wish(mode, target_id, key=key)
    if follow == NO_TARGET:
        x, y = _clear_of_things(view, x, y)
    return Wish(mode, target_id, (x, y), follow, key=key)


def _clear_of_things(view: View, x: float, y: float) -> tuple[float, float]:
    """Move a point off enemies (a click there would lock) and out of rocks."""
    for thing, gap in [(e, e.size / 2 + 14.0) for e in view.enemies] + [(r, r.size / 2 + 16.0) for r in view.rocks]:
        dx, dy = x - thing.x, y - thing.y
        away = math.hypot(dx, dy)
        if away < gap:
            if away < 1.0:
                dx, dy, away = 0.0, 1.0, 1.0
            x, y = _inside(thing.x + dx / away * gap, thing.y + dy / away * gap)
    return x, y

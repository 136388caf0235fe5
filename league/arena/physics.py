"""Compiled primitives of the arena: random numbers, motion, collisions, shots, damage.

Each works on one entity of one world, given the batch's arrays and two indices, and knows no scenario: skirmish
and last man standing are loops over these. Imported only through ``world.kernels``, since it imports numba.
The primitives themselves are not cached; the kernels that call them are.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from league.arena.sizes import PLAY_AREA_PX

LEFT, TOP, RIGHT, BOTTOM = PLAY_AREA_PX
compiled = njit(error_model="numpy", fastmath=False)


@compiled
def mix64(z):
    """SplitMix64's finaliser (Steele, Lea, Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def uniform(rng, w, low, high):
    """The next number of world ``w``'s own stream, in [low, high)."""
    rng[w, 1] += np.uint64(1)
    bits = mix64(mix64(rng[w, 0] + np.uint64(0x9E3779B97F4A7C15)) + rng[w, 1] * np.uint64(0x9E3779B97F4A7C15))
    return low + (high - low) * (np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0))


@compiled
def new_serial(next_serial, w):
    serial = next_serial[w]
    next_serial[w] = serial + np.int32(1)
    return serial


@compiled
def clamp(value, low, high):
    return min(max(value, low), high)


@compiled
def steer_velocity(vel, w, i, wish_x, wish_y, accel, dt):
    """Turn the velocity towards the wished one (px/s), changing it by at most ``accel * dt``."""
    dx = wish_x - vel[w, i, 0]
    dy = wish_y - vel[w, i, 1]
    size = math.sqrt(dx * dx + dy * dy)
    share = 1.0 if size <= accel * dt else accel * dt / size
    vel[w, i, 0] += dx * share
    vel[w, i, 1] += dy * share


@compiled
def steer_to(pos, vel, w, i, x, y, speed, accel, dt):
    """Fly to (x, y), braking in time. True on arrival (within 3 px)."""
    dx = x - pos[w, i, 0]
    dy = y - pos[w, i, 1]
    distance = math.sqrt(dx * dx + dy * dy)
    if distance < 3.0:
        steer_velocity(vel, w, i, 0.0, 0.0, accel, dt)
        return True
    wish = min(speed, math.sqrt(1.6 * accel * distance))
    steer_velocity(vel, w, i, dx / distance * wish, dy / distance * wish, accel, dt)
    return False


@compiled
def move(pos, vel, w, i, radius, dt):
    """Advance one ship and keep it in the play area, stopping the part of its velocity that leads out."""
    x = pos[w, i, 0] + vel[w, i, 0] * dt
    y = pos[w, i, 1] + vel[w, i, 1] * dt
    inside_x = clamp(x, LEFT + radius, RIGHT - radius)
    inside_y = clamp(y, TOP + radius, BOTTOM - radius)
    if inside_x != x:
        vel[w, i, 0] = 0.0
    if inside_y != y:
        vel[w, i, 1] = 0.0
    pos[w, i, 0] = inside_x
    pos[w, i, 1] = inside_y


@compiled
def rock_at(rock_pos, rock_radius, w, x, y, margin):
    """Index of a rock nearer to (x, y) than its radius + margin, or -1."""
    for r in range(rock_pos.shape[1]):
        dx = x - rock_pos[w, r, 0]
        dy = y - rock_pos[w, r, 1]
        reach = rock_radius[w, r] + margin
        if dx * dx + dy * dy < reach * reach:
            return r
    return -1


@compiled
def push_out_of_rock(pos, vel, w, i, radius, rock_pos, rock_radius):
    """Put a ship that touches a rock on its edge; its velocity into the rock is turned along it. True on contact."""
    r = rock_at(rock_pos, rock_radius, w, pos[w, i, 0], pos[w, i, 1], radius)
    if r < 0:
        return False
    nx = pos[w, i, 0] - rock_pos[w, r, 0]
    ny = pos[w, i, 1] - rock_pos[w, r, 1]
    distance = math.sqrt(nx * nx + ny * ny)
    if distance < 1e-3:
        nx, ny, distance = 0.0, 1.0, 1.0
    nx /= distance
    ny /= distance
    reach = rock_radius[w, r] + radius
    pos[w, i, 0] = clamp(rock_pos[w, r, 0] + nx * reach, LEFT + radius, RIGHT - radius)
    pos[w, i, 1] = clamp(rock_pos[w, r, 1] + ny * reach, TOP + radius, BOTTOM - radius)
    into = vel[w, i, 0] * nx + vel[w, i, 1] * ny
    if into < 0.0:
        # A head-on course would stay stuck: the lost speed goes sideways, always the same way round.
        vel[w, i, 0] += -into * nx + into * 0.5 * ny
        vel[w, i, 1] += -into * ny - into * 0.5 * nx
    return True


@compiled
def fire(shot_alive, shot_pos, shot_vel, shot_owner, shot_target, shot_damage, shot_life_s, shot_kind, shot_serial, next_serial,
         w, owner, target, x, y, angle, speed, damage, life_s, kind):  # fmt: skip
    """Launch a shot from (x, y). False when every slot is taken."""
    for p in range(shot_alive.shape[1]):
        if not shot_alive[w, p]:
            shot_alive[w, p] = True
            shot_pos[w, p, 0] = x
            shot_pos[w, p, 1] = y
            shot_vel[w, p, 0] = math.cos(angle) * speed
            shot_vel[w, p, 1] = math.sin(angle) * speed
            shot_owner[w, p] = owner
            shot_target[w, p] = target
            shot_damage[w, p] = damage
            shot_life_s[w, p] = life_s
            shot_kind[w, p] = kind
            shot_serial[w, p] = new_serial(next_serial, w)
            return True
    return False


@compiled
def home_in(shot_pos, shot_vel, w, p, x, y, turn_rad_s, dt):
    """Turn a shot towards (x, y) by at most ``turn_rad_s * dt``, keeping its speed."""
    vx, vy = shot_vel[w, p, 0], shot_vel[w, p, 1]
    speed = math.sqrt(vx * vx + vy * vy)
    now = math.atan2(vy, vx)
    wish = math.atan2(y - shot_pos[w, p, 1], x - shot_pos[w, p, 0])
    error = (wish - now + math.pi) % (2.0 * math.pi) - math.pi
    angle = now + clamp(error, -turn_rad_s * dt, turn_rad_s * dt)
    shot_vel[w, p, 0] = math.cos(angle) * speed
    shot_vel[w, p, 1] = math.sin(angle) * speed


@compiled
def damage_ship(ship_hp, ship_shield, w, i, amount, hp_max, shield_max, on_shield):
    """Take ``amount`` hit points, from the shield first: a shield loses ``on_shield`` of what hits it, and 0 passes through.
    Returns the hit points really taken."""
    taken, rest = 0.0, amount
    if on_shield > 0.0 and shield_max > 0.0:
        taken = min(ship_shield[w, i] * shield_max, amount * on_shield)
        ship_shield[w, i] = max(ship_shield[w, i] - taken / shield_max, 0.0)
        rest = amount - taken / on_shield
    rest = min(rest, ship_hp[w, i] * hp_max)
    ship_hp[w, i] -= rest / hp_max
    if ship_hp[w, i] < 1e-4:
        ship_hp[w, i] = 0.0
    return taken + rest


@compiled
def add_fx(fx_kind, fx_pos, fx_value, fx_age_s, w, kind, x, y, value):
    """Show an effect, in place of the oldest when there is no room."""
    best = 0
    for f in range(fx_kind.shape[1]):
        if fx_kind[w, f] == 0:
            best = f
            break
        if fx_age_s[w, f] > fx_age_s[w, best]:
            best = f
    fx_kind[w, best] = kind
    fx_pos[w, best, 0] = x
    fx_pos[w, best, 1] = y
    fx_value[w, best] = value
    fx_age_s[w, best] = 0.0

"""The batched world: N independent arenas side by side, as plain arrays.

A ``WorldState`` holds nothing but numpy arrays whose first axis is the world, so a scenario is a compiled
function over arrays, a snapshot is a copy, and one world is a slice. Legend: N worlds, S ships, P shots, L loot
boxes, R rocks, Q portals, F effects, K kinds of ships. Units: 1 unit is 1 px of the 640x360 picture at 1x, y down;
times in s; hp, shield and heavy ammo as shares 0..1 of a ship's own maximum.

Each world has its own counter-based random stream, so a seed gives the same world whatever N is. Numba is imported
on first use only (``kernels``); ``warm`` compiles in a child, so that a live process never stalls on it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import operator
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from league.arena.sizes import SHIP_KINDS

DT_S: Final = 1.0 / 60.0
STEPS_PER_TICK: Final = 3
TICK_HZ: Final = 20
UNUSED_S: Final = 30 * 86_400.0
"""Compiled code that no program has asked for so long is removed."""

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]
I8 = NDArray[np.int8]
Bool = NDArray[np.bool_]


@dataclass(slots=True)
class WorldState:
    """N worlds. ``*_serial`` number entities within a world and are never reused: a respawned ship, a new loot box,
    a new lock or a new destination mark each get a fresh one."""

    tick: NDArray[np.int64]  # [N] world steps so far (60 a second)
    rng: NDArray[np.uint64]  # [N, 2] key, counter
    next_serial: I32  # [N]
    map_kind: I8  # [N] 0 field, 1 belt
    wave_wait_s: F32  # [N] until the next wave, once few are left of the last
    hunter_wait_s: F32  # [N] until the next visit of a hunter
    ship_alive: Bool  # [N, S]
    ship_kind: I8  # [N, S] 0 player, 1 drone, 2 raider, 3 mender, 4 bomber, 5 hunter
    ship_team: I8  # [N, S]
    ship_serial: I32  # [N, S]
    ship_pos: F32  # [N, S, 2]
    ship_vel: F32  # [N, S, 2] px/s
    ship_dest: F32  # [N, S, 2]
    ship_has_dest: Bool  # [N, S]
    ship_mark_serial: I32  # [N, S] of the destination mark
    ship_heading: F32  # [N, S] rad, 0 to the right, clockwise on the screen
    ship_hp: F32  # [N, S] 0..1
    ship_shield: F32  # [N, S] 0..1
    ship_lock: I8  # [N, S] ship index, -1 none
    ship_lock_serial: I32  # [N, S] of the lock ring
    ship_firing: Bool  # [N, S] engaged
    ship_ammo: I8  # [N, S] 1 standard, 2 heavy, 3 piercing
    ship_heavy: F32  # [N, S] heavy ammo left, 0..1
    ship_cooldowns: F32  # [N, S, 3] share left 0..1: repair, boost, jam
    ship_boost_s: F32  # [N, S] boost left
    ship_jammed_s: F32  # [N, S] cannot fire for so long
    ship_reload_s: F32  # [N, S]
    ship_respawn_s: F32  # [N, S] while dead: until it is back
    ship_calm_s: F32  # [N, S] since it was last hurt or fired
    ship_portal_s: F32  # [N, S] portals are closed to it for so long
    npc_angry: Bool  # [N, S] hunts the player
    npc_anger_s: F32  # [N, S] hunts on for so long whatever the distance
    npc_timer_s: F32  # [N, S] until the next change of mind
    npc_side: F32  # [N, S] -1 or 1: which way it circles
    npc_leave_s: F32  # [N, S] a hunter goes away after so long
    shot_alive: Bool  # [N, P]
    shot_pos: F32  # [N, P, 2]
    shot_vel: F32  # [N, P, 2] px/s
    shot_owner: I8  # [N, P] ship index
    shot_target: I8  # [N, P] ship index it homes on, -1 none
    shot_damage: F32  # [N, P] hit points (a player's ship has 100)
    shot_life_s: F32  # [N, P]
    shot_kind: I8  # [N, P] 1-3 the ammo fired, 3 + ship_kind an NPC's bolt
    shot_serial: I32  # [N, P]
    loot_alive: Bool  # [N, L]
    loot_kind: I8  # [N, L] 0 crate, 1 cache
    loot_pos: F32  # [N, L, 2]
    loot_respawn_s: F32  # [N, L] while it is gone: until one is back
    loot_life_s: F32  # [N, L] a cache vanishes after so long
    loot_serial: I32  # [N, L]
    rock_pos: F32  # [N, R, 2]
    rock_radius: F32  # [N, R] 0: there is none
    portal_pos: F32  # [N, Q, 2]
    fx_kind: I8  # [N, F] effects that only the picture shows; 0 none, else ``skirmish_rules.FX_*``
    fx_pos: F32  # [N, F, 2]
    fx_value: F32  # [N, F] what is written or how big it is
    fx_age_s: F32  # [N, F]
    kills: I32  # [N, S, K] by kind of ship
    deaths: I32  # [N, S]
    looted: I32  # [N, S] crates
    caches: I32  # [N, S]
    damage_taken: F32  # [N, S] in hundreds of hit points (1 = one full hp bar of a player)
    damage_dealt: F32  # [N, S] the same unit

    def __len__(self) -> int:
        return len(self.tick)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays in the order of the fields: what compiled kernels take."""
        return _all_arrays(self)

    def copy(self) -> WorldState:
        return WorldState(*(array.copy() for array in self.arrays()))

    def world(self, i: int) -> WorldState:
        """World ``i`` alone, as a copy with N = 1."""
        return WorldState(*(array[i : i + 1].copy() for array in self.arrays()))


_DTYPES: Final = {
    "NDArray[np.int64]": np.int64,
    "NDArray[np.uint64]": np.uint64,
    "I32": np.int32,
    "I8": np.int8,
    "Bool": np.bool_,
    "F32": np.float32,
}
FIELD_NAMES: Final = tuple(f.name for f in fields(WorldState))
_all_arrays: Final = operator.attrgetter(*FIELD_NAMES)
_FIELD_DTYPES: Final = {f.name: _DTYPES[str(f.type)] for f in fields(WorldState)}
_PAIRS: Final = frozenset({"ship_pos", "ship_vel", "ship_dest", "shot_pos", "shot_vel", "loot_pos", "rock_pos", "portal_pos", "fx_pos"})
_PER_WORLD: Final = frozenset({"tick", "next_serial", "map_kind", "wave_wait_s", "hunter_wait_s"})


def allocate(n: int, seeds: NDArray[Any], *, ships: int, shots: int, loot: int, rocks: int, portals: int, fx: int) -> WorldState:
    """An empty batch: all arrays zero, no lock, random streams keyed by ``seeds`` (integers [n], any 64-bit value).

    Raises ValueError when sizes or seeds do not fit.
    """
    if n < 1:
        raise ValueError(f"arena: {n} worlds asked; at least 1 is needed")
    keys = np.asarray(seeds)
    if keys.shape != (n,) or not np.issubdtype(keys.dtype, np.integer):
        raise ValueError(f"arena: seeds must be {n} integers, one per world; got {keys.dtype} of shape {keys.shape}")
    if not 1 <= ships <= 127:
        raise ValueError(f"arena: {ships} ships asked; 1 to 127 are possible")
    counts = {"ship": ships, "npc": ships, "shot": shots, "loot": loot, "rock": rocks, "portal": portals, "fx": fx}
    columns: dict[str, NDArray[Any]] = {}
    for name in FIELD_NAMES:
        shape: tuple[int, ...] = (n, counts.get(name.split("_")[0], ships))
        if name in _PAIRS:
            shape = (*shape, 2)
        elif name == "ship_cooldowns":
            shape = (n, ships, 3)
        elif name == "kills":
            shape = (n, ships, len(SHIP_KINDS))
        elif name == "rng":
            shape = (n, 2)
        elif name in _PER_WORLD:
            shape = (n,)
        columns[name] = np.zeros(shape, _FIELD_DTYPES[name])
    columns["rng"][:, 0] = keys.astype(np.int64).view(np.uint64) if keys.dtype != np.uint64 else keys
    columns["ship_lock"][:] = -1
    columns["shot_target"][:] = -1
    columns["next_serial"][:] = 1
    return WorldState(**columns)


def signature() -> tuple[Any, ...]:
    """The numba types of ``WorldState.arrays()``. Imports numba."""
    from numba import from_dtype, types

    ranks = {name: array.ndim for name, array in zip(FIELD_NAMES, _SPECIMEN.arrays(), strict=True)}
    return tuple(types.Array(from_dtype(np.dtype(_FIELD_DTYPES[name])), ranks[name], "C") for name in FIELD_NAMES)


_SPECIMEN: Final = allocate(1, np.zeros(1, np.int64), ships=1, shots=1, loot=1, rocks=1, portals=1, fx=1)


def compiled_sources() -> list[Path]:
    """The files whose numbers and primitives kernels have compiled in."""
    here = Path(__file__).parent
    arena = [p for p in here.glob("*.py") if p.stem in ("world", "sizes", "physics") or p.stem.endswith(("_rules", "_parts", "_kernel"))]
    return sorted([*arena, here.parent / "codec.py", here.parent / "privileged.py"])


@functools.cache
def cache_folder() -> Path:
    """Where compiled kernels are kept: per user, and named after their sources.

    Numba notices a change only in the file a cached kernel stands in, not in the primitives and numbers that it takes from other
    files; the hash in the name makes any change start afresh. Folders that no version has used for 30 days are removed.
    """
    digest = hashlib.sha256()
    for source in compiled_sources():
        digest.update(source.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    folder = Path(base) if base else Path.home() / ".cache"
    folder = folder / "secondseat" / "numba" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
        os.utime(folder)
    except OSError:
        # Cached kernels are pickles: never in a folder somebody else could have filled.
        return Path(tempfile.mkdtemp(prefix="secondseat-numba-"))
    _prune(folder)
    return folder


def _prune(used: Path) -> None:
    """Remove the folders beside ``used`` that are of other versions and have not been used for long."""
    for other in used.parent.iterdir():
        if other == used or not re.fullmatch("[0-9a-f]{16}", other.name):
            continue
        with contextlib.suppress(OSError):
            if time.time() - other.stat().st_mtime > UNUSED_S:
                shutil.rmtree(other, ignore_errors=True)


@functools.cache
def kernels(name: str) -> ModuleType:
    """The compiled module ``league.arena.<name>``; the first call imports numba and compiles or loads it."""
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder()))
    return importlib.import_module(f"league.arena.{name}")


def warm(name: str = "skirmish_kernel", timeout_s: float = 300.0) -> None:
    """Compile ``name`` into the cache in a child process. Blocks; call it off the live path, before ``kernels``.

    Raises RuntimeError with the child's last words when it fails.
    """
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    environment.setdefault("NUMBA_CACHE_DIR", str(cache_folder()))
    root = str(Path(__file__).resolve().parents[2])
    code = f"import sys; sys.path.insert(0, {root!r}); from league.arena import world; world.kernels({name!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"arena: compiling {name} failed (exit {done.returncode}): {done.stdout[-2000:]}")

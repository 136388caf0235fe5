"""The batched world: layout, random streams, motion, independence of N and of the process."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.profile import ARENA_PROFILE
from league.arena import sizes, skirmish, world
from league.arena.truth import objects

LEFT, TOP, RIGHT, BOTTOM = sizes.PLAY_AREA_PX


def random_commands(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    clicks = rng.choice([0, 0, 0, 1, 2], n).astype(np.int8)
    return clicks, rng.random((n, 2)).astype(np.float32), rng.integers(-6, 8, n).clip(-1).astype(np.int8)


def digest(state: world.WorldState) -> str:
    return hashlib.sha256(b"".join(a.tobytes() for a in state.arrays())).hexdigest()


def test_importing_the_arena_imports_no_numba() -> None:
    code = (
        "import sys; import league.arena.pilots, league.arena.sizes, league.arena.skirmish, league.arena.emulated;"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50)
    assert done.stdout.strip() == "False"


def test_classes_are_those_of_the_profile() -> None:
    assert ARENA_PROFILE.class_names() == sizes.CLASSES
    assert ARENA_PROFILE.keys == skirmish.KEYS


def test_kernel_parameters_follow_the_fields() -> None:
    kernel = world.kernels("skirmish_kernel")
    for function, extra in ((kernel._reset, 0), (kernel._advance, 4)):
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        assert names[: len(names) - extra] == world.FIELD_NAMES


def test_a_world_does_not_depend_on_its_neighbours() -> None:
    seeds = np.arange(8) + 77
    together = skirmish.new_worlds(8, seeds)
    alone = [skirmish.new_worlds(1, seeds[i : i + 1]) for i in range(8)]
    rng = np.random.default_rng(3)
    for _ in range(400):
        clicks, xy, keys = random_commands(rng, 8)
        skirmish.step(together, clicks, xy, keys)
        for i in range(8):
            skirmish.step(alone[i], clicks[i : i + 1], xy[i : i + 1], keys[i : i + 1])
    assert together.deaths.sum() + together.kills.sum() > 0
    for i in range(8):
        assert digest(together.world(i)) == digest(alone[i])


def test_the_same_seed_gives_the_same_world_in_a_spawned_process() -> None:
    state = skirmish.new_worlds(2, [5, 6])
    skirmish.step(state, None, None, None, ticks=300)
    code = (
        "import hashlib; from league.arena import skirmish as s;"
        "w = s.new_worlds(2, [5, 6]); s.step(w, None, None, None, ticks=300);"
        "print(hashlib.sha256(b''.join(a.tobytes() for a in w.arrays())).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50, env=environment)
    assert done.stdout.strip() == digest(state)
    assert digest(skirmish.new_worlds(2, [5, 7])) != digest(skirmish.new_worlds(2, [5, 6]))


def test_large_steps_equal_small_ones() -> None:
    a, b = skirmish.new_worlds(2, [1, 2]), skirmish.new_worlds(2, [1, 2])
    skirmish.step(a, None, None, None, ticks=100)
    for _ in range(150):
        skirmish.advance(b, None, None, None, 2)
    assert digest(a) == digest(b)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(-(2**63), 2**63 - 1), command_seed=st.integers(0, 2**32 - 1))
def test_invariants_hold_under_any_commands(seed: int, command_seed: int) -> None:
    state = skirmish.new_worlds(1, np.array([seed]))
    rng = np.random.default_rng(command_seed)
    before = state.copy()
    for _ in range(60):
        clicks, xy, keys = random_commands(rng, 1)
        skirmish.step(state, clicks, xy, keys, ticks=4)
        for name, array in zip(world.FIELD_NAMES, state.arrays(), strict=True):
            assert np.isfinite(array).all(), name
        for name in ("ship_hp", "ship_shield", "ship_heavy", "ship_cooldowns"):
            assert (getattr(state, name) >= 0).all(), name
            assert (getattr(state, name) <= 1.0001).all(), name
        radius = np.array(sizes.SHIP_RADIUS_PX)[state.ship_kind]
        x, y = state.ship_pos[..., 0], state.ship_pos[..., 1]
        inside = (x >= LEFT + radius - 0.01) & (x <= RIGHT - radius + 0.01) & (y >= TOP + radius - 0.01) & (y <= BOTTOM - radius + 0.01)
        assert inside[state.ship_alive].all()
        for name in ("kills", "deaths", "looted", "caches", "damage_taken", "damage_dealt", "next_serial", "tick"):
            assert (getattr(state, name) >= getattr(before, name)).all(), name
        lock = int(state.ship_lock[0, 0])
        assert lock == -1 or (lock > 0 and state.ship_alive[0, lock])
        assert lock >= 0 or not state.ship_firing[0, 0]
        seen = objects(state, 0)
        assert len(set(seen.ids.tolist())) == len(seen.ids)
        before = state.copy()


def test_random_numbers_are_even_and_unrelated_between_seeds() -> None:
    state = skirmish.new_worlds(2000, np.arange(2000))
    x = (state.ship_pos[:, 3, 0] - LEFT) / (RIGHT - LEFT)
    assert abs(x.mean() - 0.5) < 0.03
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.08


def test_rocks_leave_room_and_portals_are_apart() -> None:
    state = skirmish.new_worlds(300, np.arange(300))
    gap = np.linalg.norm(state.rock_pos[:, :, None] - state.rock_pos[:, None], axis=-1)
    need = state.rock_radius[:, :, None] + state.rock_radius[:, None] + 22.0
    apart = (gap > need) | (state.rock_radius[:, :, None] == 0) | (state.rock_radius[:, None] == 0)
    apart[:, np.arange(gap.shape[1]), np.arange(gap.shape[1])] = True
    field = state.map_kind == 0
    assert 0.4 < field.mean() < 0.6
    assert ((state.rock_radius > 0).sum(1) == np.where(field, 5, 9)).all()
    # A ship fits through everywhere in the field, and nearly everywhere in the belt.
    assert apart[field].all(axis=(1, 2)).mean() > 0.97
    assert apart[~field].mean() > 0.97
    assert (np.linalg.norm(state.portal_pos[:, 0] - state.portal_pos[:, 1], axis=-1) > 250).mean() > 0.97


@pytest.mark.parametrize(
    ("n", "seeds", "message"),
    [(0, [], "at least 1"), (2, [1], "2 integers"), (1, [1.5], "integers")],
)
def test_bad_batches_are_refused(n: int, seeds: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        skirmish.new_worlds(n, np.array(seeds))


def test_warm_compiles_in_a_child_and_says_what_failed() -> None:
    world.warm()
    with pytest.raises(RuntimeError, match="no_such_kernel"):
        world.warm("no_such_kernel")


def test_an_unwritable_cache_falls_back_to_a_private_folder(tmp_path, monkeypatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    world.cache_folder.cache_clear()
    try:
        folder = world.cache_folder()
        assert folder.is_dir()
        assert not str(folder).startswith(str(blocked))
        folder.rmdir()
    finally:
        world.cache_folder.cache_clear()


def imported(source: Path, root: Path) -> set[Path]:
    """The project's modules that ``source`` takes something from, by its import statements."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("league"):
            continue
        here = root / (node.module or "").replace(".", "/")
        names = [here / f"{alias.name}.py" for alias in node.names] if here.is_dir() else [here.with_suffix(".py")]
        found |= {path for path in names if path.exists()}
    return found


def test_whatever_kernels_are_compiled_from_is_in_the_name_of_their_folder() -> None:
    """A number that a cached kernel has compiled in, and that changes elsewhere, would go on being the old one."""
    root = Path(world.__file__).parents[2]
    kernels = [
        path for path in (root / "league").rglob("*.py") if re.search("^from numba import|^import numba", path.read_text("utf-8"), re.M)
    ]
    assert len(kernels) > 6
    sources = set(world.compiled_sources())
    fronts = {root / "league" / "arena" / "last_standing.py"}  # gives kernels the types of its arrays, which are in their signatures
    for kernel in kernels:
        assert imported(kernel, root) - fronts <= sources | set(kernels), kernel.name
        assert kernel in sources or not any(kernel in imported(other, root) for other in kernels), kernel.name
    assert all(imported(path, root) <= sources for path in sources if path.name in ("codec.py", "privileged.py"))


def test_compiled_code_that_nobody_has_used_for_long_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = tmp_path / "secondseat" / "numba"
    old, new, foreign = place / ("0" * 16), place / ("1" * 16), place / "mine"
    for folder in (old, new, foreign):
        folder.mkdir(parents=True)
        (folder / "x.nbc").write_bytes(b"x")
    for folder in (old, foreign):
        os.utime(folder, (0, 0))
    world.cache_folder.cache_clear()
    try:
        used = world.cache_folder()
        assert sorted(place.iterdir()) == sorted([used, new, foreign])
        os.utime(used, (0, 0))
        world.cache_folder.cache_clear()
        assert world.cache_folder() == used
        assert time.time() - used.stat().st_mtime < 100
    finally:
        world.cache_folder.cache_clear()

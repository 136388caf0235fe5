"""Labelled pictures of the arena, for training its detector and for judging it.

Worlds fly under a rough pilot that sees the truth (it only has to make varied pictures): it locks, fires, loots,
wanders, uses every ability. Half of the pictures are then shuffled further: ships and shots in places, states and
numbers that play would show rarely, so that rare classes and every state of the display are learnt. They are drawn in all
looks but the one that is kept for judging; those for training also in palettes made at random (``random_look``). A share
goes through the recorder's own video coding or JPEG, since the detector also reads recordings. Pictures come in blocks with
random streams of their own, so that processes can share the work and the result does not depend on how many there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from data.files import write_whole
from data.schema import Image
from engine.runtime.workers import worker_processes
from league.arena import sizes, skirmish
from league.arena import skirmish_rules as rules
from league.arena.looks import CLASSIC, HELD_OUT, LOOKS, Colour, Look, Tone
from league.arena.world import STEPS_PER_TICK, WorldState

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]

WORLDS: Final = 32
BLOCK: Final = 6 * WORLDS
"""Pictures that share worlds and a random stream."""
SEEN_LOOKS: Final = tuple(name for name in LOOKS if name != HELD_OUT)
CLASSIC_SHARE: Final = 0.4
"""How many pictures are drawn as most people see the arena."""
PALETTE_SHARE: Final = 0.4
"""How many training pictures have a palette made at random: from a handful of fixed ones a detector learns a ship's kind by
its colour, and takes one kind for another in a palette it never saw."""
PALETTES: Final = 6
"""Random palettes in a block of pictures."""
TRAIN_SEED: Final = 1_000_000
"""World seeds of training pictures start here, those of held-out pictures at ``HELD_OUT_SEED``."""
HELD_OUT_SEED: Final = 7_000_000
_FRAMES_CODED: Final = 4
_FX_VALUES: Final = {rules.FX_BLAST: (14.0, 19.0, 24.0, 45.0), rules.FX_MEND: (18.0, 24.0, 30.0), rules.FX_PICKUP: (0.5, 2.5)}
BOX_SCALES: Final[dict[str, float]] = {"shot": 2.0, "hostile_shot": 2.0}
"""Boxes are labelled so many times too large for training, and divided again when the detector runs: a 6 px box is
3 px at the detector's size, and a find one pixel off would overlap it so little that nothing is learnt from it."""


@dataclass(frozen=True, slots=True)
class LabelledPicture:
    """image: RGB uint8 [360, 640, 3]. classes: int32 [M], index into ``sizes.CLASSES``. boxes: float32 [M, 4] centre
    x, centre y, width, height in 0..1. ``coded``: it went through video coding or JPEG. ``state``: the one world it
    shows, drawn in ``look``."""

    image: Image
    classes: I32
    boxes: F32
    coded: bool
    state: WorldState
    look: str = CLASSIC.name


def picture_version() -> str:
    """A short hash over the sources that decide how the arena looks: a detector is made for one of these."""
    folder = Path(sizes.__file__).parent
    digest = hashlib.sha256()
    for name in ("hud.py", "looks.py", "render.py", "sizes.py", "sprites.py"):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:16]


def pictures(
    n: int,
    seed: int,
    coded_share: float = 0.4,
    shuffled_share: float = 0.5,
    looks: Sequence[str] = SEEN_LOOKS,
    palette_share: float = 0.0,
) -> Iterator[LabelledPicture]:
    """``n`` labelled pictures. The same ``seed`` gives the same pictures; seeds a hundred thousand apart share none.
    ``palette_share`` of them are drawn in random palettes, the others in ``looks``."""
    for block in range(-(-n // BLOCK)):
        yield from _block(min(BLOCK, n - block * BLOCK), seed, block, coded_share, shuffled_share, looks, palette_share)


def _block(
    n: int, seed: int, block: int, coded_share: float, shuffled_share: float, looks: Sequence[str], palette_share: float
) -> Iterator[LabelledPicture]:
    from league.arena.render import Renderer, boxes

    dice = np.random.default_rng((seed, block))
    palettes = [random_look(np.random.default_rng((seed, block, k)), f"random-{k}") for k in range(PALETTES)]
    renderers: dict[str, Any] = {}
    state = skirmish.new_worlds(WORLDS, np.arange(WORLDS, dtype=np.int64) + seed + block * WORLDS)
    _fly(state, dice, int(dice.integers(1, 40)))
    made = 0
    while made < n:
        _fly(state, dice, int(dice.integers(8, 60)))
        for i in range(min(WORLDS, n - made)):
            world = state.world(i)
            if dice.random() < shuffled_share:
                _shuffle(world, dice)
            if palette_share and dice.random() < palette_share:
                look = palettes[int(dice.integers(PALETTES))]
            else:
                look = LOOKS[CLASSIC.name if CLASSIC.name in looks and dice.random() < CLASSIC_SHARE else str(dice.choice(list(looks)))]
            renderer = renderers.setdefault(look.name, Renderer(look))
            cursor = _cursor(world, dice)
            coded = dice.random() < coded_share
            image = _coded_picture(world, renderer, cursor, dice) if coded else renderer.picture(world, 0, cursor)
            classes, truth = visible(*boxes(world, 0, look))
            yield LabelledPicture(image, classes, truth, coded, world, look.name)
            made += 1


def random_look(dice: np.random.Generator, name: str) -> Look:
    """A look that nobody drew: any colour for everything but shots, which stay cold (own) and warm (hostile) as in all looks."""

    def tone(turn: float, saturation: tuple[float, float] = (0.5, 1.5), light: tuple[float, float] = (0.85, 1.1)) -> Tone:
        return Tone(dice.uniform(-turn, turn), dice.uniform(*saturation), dice.uniform(*light))

    ground = cast(Colour, tuple(int(c) for c in dice.uniform(0, dice.uniform(8, 100), 3)))
    clouds = tuple(cast(Colour, tuple(int(c) for c in dice.uniform(0, dice.uniform(16, 60), 3))) for _ in range(4))
    return Look(
        name,
        own=tone(180),
        foe=tone(180),
        loot=tone(180),
        rock=tone(180, (0.5, 2.5), (0.7, 1.35)),
        portal=tone(180),
        shot=tone(60, (0.4, 1.5), (1.0, 1.0)),
        hostile=Tone(dice.uniform(-45, 26), dice.uniform(0.7, 1.3), dice.uniform(0.9, 1.0)),
        lock=tone(80),
        mark=tone(180),
        ground=ground,
        clouds=clouds,
        brightest=min(255, max(ground) + int(dice.integers(25, 90))),
        stars=int(dice.integers(0, 160)),
        grid=int(dice.integers(0, 50)),
        size=round(dice.uniform(0.9, 1.15), 2),
        names=bool(dice.random() < 0.8),
        numbers=bool(dice.random() < 0.8),
        effects=bool(dice.random() < 0.8),
    )


def write_yolo_folder(
    folder: Path,
    n_train: int,
    n_val: int,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    workers: int = 1,
) -> None:
    """Write ``images``, ``labels`` and ``data.yaml`` in YOLO's layout, with the classes of the arena. ``workers`` processes
    share the work.

    Raises OSError when the folder cannot be written.
    """
    jobs: list[tuple[Path, str, int, int, int]] = []
    for part, count, first in (("train", n_train, TRAIN_SEED), ("val", n_val, HELD_OUT_SEED)):
        for name in ("images", "labels"):
            (folder / name / part).mkdir(parents=True, exist_ok=True)
        blocks = range(-(-count // BLOCK))
        jobs += [(folder, part, first + seed * 100_000, block, min(BLOCK, count - block * BLOCK)) for block in blocks]
    done = 0
    for written in _shared_out(jobs, workers):
        done += written
        if progress is not None:
            progress(done / (n_train + n_val))
        if should_stop is not None and should_stop():
            raise KeyboardInterrupt
    names = "".join(f"  {k}: {name}\n" for k, name in enumerate(sizes.CLASSES))
    write_whole(folder / "data.yaml", f"train: images/train\nval: images/val\nnames:\n{names}".encode())


def _shared_out(jobs: Sequence[tuple[Path, str, int, int, int]], workers: int) -> Iterator[int]:
    """Pictures written so far, job by job, here or in processes."""
    if workers <= 1 or len(jobs) <= 1:
        for job in jobs:
            for _ in _write_block(job):
                yield 1
        return
    from league.arena.world import warm

    warm()  # else every process compiles
    with worker_processes(min(workers, len(jobs))) as pool:
        yield from pool.map(_write_whole_block, jobs)


def _write_whole_block(job: tuple[Path, str, int, int, int]) -> int:
    return sum(1 for _ in _write_block(job))


def _write_block(job: tuple[Path, str, int, int, int]) -> Iterator[None]:
    import cv2

    from league.arena import sprites

    folder, part, seed, block, count = job
    for k, picture in enumerate(_block(count, seed, block, 0.4, 0.5, SEEN_LOOKS, PALETTE_SHARE)):
        encoded, buffer = cv2.imencode(".png", cv2.cvtColor(picture.image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_PNG_COMPRESSION, 1])
        if not encoded:
            raise OSError(f"{folder}: a picture could not be encoded")
        name = f"{block * BLOCK + k:05d}"
        (folder / "images" / part / f"{name}.png").write_bytes(cast(Any, buffer).tobytes())
        (folder / "labels" / part / f"{name}.txt").write_text(_yolo_lines(picture.classes, picture.boxes), encoding="utf-8")
        yield
    for kept in vars(sprites).values():  # else every random palette's sprites stay in memory
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()


def visible(classes: I32, boxes: F32) -> tuple[I32, F32]:
    """Leave out what is wholly hidden: destination marks under ships larger than they are, shots under any. A label on what cannot be
    seen teaches a detector to guess."""
    places = boxes[:, :2] * np.array([sizes.MAP_WIDTH_PX, sizes.MAP_HEIGHT_PX], np.float32)
    distance = np.hypot(*np.moveaxis(places[:, None] - places[None], 2, 0))
    ships, mark = classes <= sizes.HUNTER, classes == sizes.MARK
    shots = (classes == sizes.SHOT) | (classes == sizes.HOSTILE_SHOT)
    half = boxes[:, 2] * (sizes.MAP_WIDTH_PX / 2)
    hidden = ((distance < 0.75 * half[None]) & ships[None]).any(axis=1) & shots
    hidden |= ((distance + half[:, None] - 2.0 < half[None]) & ships[None]).any(axis=1) & mark
    return classes[~hidden], boxes[~hidden]


def _yolo_lines(classes: I32, boxes: F32) -> str:
    scales = np.array([BOX_SCALES.get(name, 1.0) for name in sizes.CLASSES], np.float32)[classes][:, None]
    table = np.concatenate([boxes[:, :2], boxes[:, 2:] * scales], axis=1)
    return "".join(f"{c} {x:.6f} {y:.6f} {w:.6f} {h:.6f}\n" for c, (x, y, w, h) in zip(classes.tolist(), table.tolist(), strict=True))


def _fly(state: WorldState, dice: np.random.Generator, ticks: int) -> None:
    """Advance all worlds, each under random but purposeful commands."""
    n = len(state)
    for _ in range(ticks):
        clicks = np.zeros(n, np.int8)
        keys = np.full(n, -1, np.int8)
        xy = np.zeros((n, 2), np.float32)
        for i in np.flatnonzero(dice.random(n) < 0.12).tolist():
            what = dice.random()
            npcs = np.flatnonzero(state.ship_alive[i, 1:]) + 1
            loot = np.flatnonzero(state.loot_alive[i])
            clicks[i] = 1
            if what < 0.35 and len(npcs):
                xy[i] = state.ship_pos[i, dice.choice(npcs)]
            elif what < 0.5 and len(loot):
                xy[i] = state.loot_pos[i, dice.choice(loot)]
            else:
                xy[i] = dice.uniform((20, 50), (620, 330))
                clicks[i] = 2 if what > 0.97 else 1
        xy /= np.array([sizes.MAP_WIDTH_PX, sizes.MAP_HEIGHT_PX], np.float32)
        pressing = np.flatnonzero(dice.random(n) < 0.15)
        keys[pressing] = dice.choice(len(skirmish.KEYS), len(pressing), p=[0.35, 0.1, 0.1, 0.15, 0.1, 0.07, 0.07, 0.06]).astype(np.int8)
        skirmish.step(state, clicks, xy, keys)


def _shuffle(state: WorldState, dice: np.random.Generator) -> None:
    """Bring one world into a state that play would show rarely, in place."""
    left, top, right, bottom = sizes.PLAY_AREA_PX
    ships, shots = int(state.ship_alive.shape[1]), int(state.shot_alive.shape[1])

    def shares(n: int) -> F32:
        return np.asarray(dice.random(n, np.float32))

    def somewhere(*shape: int) -> F32:
        return dice.uniform((left + 12, top + 12), (right - 12, bottom - 12), (*shape, 2)).astype(np.float32)

    def around(centre: F32, n: int, spread_px: float) -> F32:
        spots = centre + dice.normal(0, spread_px, (n, 2))
        return np.clip(spots, (left + 4, top + 4), (right - 4, bottom - 4)).astype(np.float32)

    state.tick[0] = dice.integers(0, skirmish.EPISODE_TICKS * STEPS_PER_TICK)
    state.ship_alive[0] = shares(ships) < 0.8
    state.ship_kind[0, 1:] = dice.integers(rules.DRONE, rules.HUNTER + 1, ships - 1)
    unplaced = state.ship_serial[0] == 0
    state.ship_pos[0, unplaced] = somewhere(int(unplaced.sum()))
    if dice.random() < 0.6:
        state.ship_pos[0] = somewhere(ships)
    if dice.random() < 0.25:  # a melee: things over one another
        state.ship_pos[0, 1:] = around(state.ship_pos[0, 0], ships - 1, 50.0)
    state.ship_vel[0] = dice.normal(0, 70, (ships, 2)).astype(np.float32) * (shares(ships)[:, None] < 0.8)
    state.ship_heading[0] = dice.uniform(-np.pi, np.pi, ships).astype(np.float32)
    state.ship_hp[0] = np.where(shares(ships) < 0.15, 0.02, shares(ships))
    shielded = np.array(rules.SHIELD)[state.ship_kind[0]] > 0
    state.ship_shield[0] = np.where((shares(ships) < 0.35) | ~shielded, 0.0, shares(ships)).astype(np.float32)
    state.ship_jammed_s[0] = np.where(shares(ships) < 0.2, 1.0, 0.0)
    state.ship_boost_s[0] = np.where(shares(ships) < 0.2, 1.0, 0.0)
    state.ship_ammo[0, 0] = dice.integers(1, 4)
    state.ship_heavy[0, 0] = dice.random()
    state.ship_cooldowns[0, 0] = np.where(shares(3) < 0.4, 0.0, shares(3)).astype(np.float32)
    state.ship_has_dest[0, 0] = dice.random() < 0.7
    state.ship_dest[0, 0] = somewhere()
    if dice.random() < 0.4:
        state.loot_alive[0] = shares(state.loot_alive.shape[1]) < 0.8
        state.loot_pos[0] = somewhere(state.loot_alive.shape[1])
        state.loot_alive[0, -1] |= dice.random() < 0.4  # a cache is rare in play
    goals = np.flatnonzero(state.loot_alive[0])
    if len(goals) and dice.random() < 0.3:  # on the way to a crate
        state.ship_dest[0, 0] = state.loot_pos[0, dice.choice(goals)]
    _add_effects(state, dice)
    living = np.flatnonzero(state.ship_alive[0, 1:]) + 1
    state.ship_lock[0, 0] = dice.choice(living) if len(living) and state.ship_alive[0, 0] and dice.random() < 0.6 else -1
    state.ship_firing[0, 0] = state.ship_lock[0, 0] >= 0 and dice.random() < 0.6
    if dice.random() < 0.7:
        state.shot_alive[0] = np.arange(shots) < dice.integers(0, 14)
        state.shot_owner[0] = np.where(shares(shots) < 0.45, 0, dice.integers(1, ships, shots))
        state.shot_kind[0] = np.where(
            state.shot_owner[0] == 0, dice.integers(1, 4, shots), state.ship_kind[0][state.shot_owner[0]].astype(np.int64) + 3
        )
        angle, speed = shares(shots) * np.float32(2 * np.pi), 220 + shares(shots) * np.float32(210)
        state.shot_vel[0] = np.stack([np.cos(angle) * speed, np.sin(angle) * speed], axis=1)
        near = somewhere(shots)
        crowd = shares(shots) < 0.3  # shots come in rows and just before they hit
        if len(living) and crowd.any():
            near[crowd] = around(state.ship_pos[0, dice.choice(living)], int(crowd.sum()), 30.0)
        state.shot_pos[0] = near
        state.shot_life_s[0] = 1.0


def _add_effects(state: WorldState, dice: np.random.Generator) -> None:
    """Explosions, numbers and mending on and beside ships, in place."""
    left, top, right, bottom = sizes.PLAY_AREA_PX
    for f in range(int(dice.integers(0, 6))):
        kind = int(dice.integers(rules.FX_HIT, rules.FX_PICKUP + 1))
        ship = int(dice.integers(0, len(state.ship_alive[0])))
        near = state.ship_pos[0, ship] + dice.normal(0, 14, 2) if dice.random() < 0.7 else dice.uniform((left, top), (right, bottom))
        values = _FX_VALUES.get(kind, tuple(range(1, 41)))
        state.fx_kind[0, f], state.fx_pos[0, f], state.fx_value[0, f] = kind, near, values[int(dice.integers(len(values)))]
        state.fx_age_s[0, f] = dice.uniform(0, rules.FX_S)


def _cursor(state: WorldState, dice: np.random.Generator) -> tuple[float, float] | None:
    """Where the pointer is drawn: nowhere, anywhere, on an object, as when it is about to be clicked, or where it was clicked last: on the
    destination mark."""
    chance = dice.random()
    if chance < 0.25:
        return None
    x, y = dice.uniform(0, sizes.MAP_WIDTH_PX), dice.uniform(0, sizes.MAP_HEIGHT_PX)
    npcs, loot = np.flatnonzero(state.ship_alive[0, 1:]) + 1, np.flatnonzero(state.loot_alive[0])
    if chance > 0.7 and state.ship_alive[0, 0] and state.ship_has_dest[0, 0]:
        x, y = (state.ship_dest[0, 0] + dice.normal(0, 3, 2)).tolist()
    elif chance > 0.5 and len(npcs):
        x, y = (state.ship_pos[0, dice.choice(npcs)] + dice.normal(0, 6, 2)).tolist()
    elif chance > 0.4 and len(loot):
        x, y = (state.loot_pos[0, dice.choice(loot)] + dice.normal(0, 4, 2)).tolist()
    return min(max(x / sizes.MAP_WIDTH_PX, 0.0), 1.0), min(max(y / sizes.MAP_HEIGHT_PX, 0.0), 1.0)


def _coded_picture(state: WorldState, renderer: Any, cursor: tuple[float, float] | None, dice: np.random.Generator) -> Image:
    """The picture as a recording shows it: the last of a few frames of video that lead up to it; one in four is a JPEG instead.

    The earlier frames are made by moving shots and ships back along their velocities, so that the last one is coded
    from differences, as most frames of a recording are.
    """
    if dice.random() < 0.25:
        return _as_jpeg(renderer.picture(state, 0, cursor), int(dice.integers(55, 96)))
    now_ship, now_shot = state.ship_pos.copy(), state.shot_pos.copy()
    frames: list[Image] = []
    for back in range(_FRAMES_CODED - 1, -1, -1):
        state.ship_pos[:] = now_ship - state.ship_vel * (back / 30.0)
        state.shot_pos[:] = now_shot - state.shot_vel * (back / 30.0)
        frames.append(renderer.picture(state, 0, cursor))
    return code_and_decode(frames)


def _as_jpeg(image: Image, quality: int) -> Image:
    import cv2

    coded = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return cast(Image, cv2.cvtColor(cast(Any, cv2.imdecode(coded, cv2.IMREAD_COLOR)), cv2.COLOR_BGR2RGB))


def code_and_decode(frames: list[Image]) -> Image:
    """The last of ``frames`` (RGB, equal sizes) after the recorder's video coding."""
    import av

    height, width = frames[0].shape[:2]
    coder = cast(Any, av.CodecContext.create("libx264", "w"))
    coder.width, coder.height, coder.pix_fmt = width, height, "yuv444p"
    coder.time_base, coder.framerate = Fraction(1, 30), Fraction(30)
    coder.thread_count = 1
    coder.options = {"preset": "ultrafast", "crf": "23", "tune": "zerolatency"}
    decoder = cast(Any, av.CodecContext.create("h264", "r"))
    decoder.thread_count = 1
    decoded: list[Any] = []
    for k, image in enumerate(frames):
        picture = cast(Any, av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24"))
        picture.pts = k
        for packet in coder.encode(picture):
            decoded.extend(decoder.decode(packet))
    for packet in coder.encode(None):
        decoded.extend(decoder.decode(packet))
    decoded.extend(decoder.decode(None))
    return cast(Image, decoded[-1].to_ndarray(format="rgb24"))

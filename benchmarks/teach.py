"""``secondseat games teach`` from end to end: from recordings of a game without a detector to one that finds its things.

    python -m benchmarks.teach

The game is the arena under another name, in colours that no shipped detector has learnt from; but training begins at the shipped weights,
which know its shapes, so that a strange game takes more pictures and passes than these. Three short sessions of the expert are
recorded, pictures only. Then the command itself runs, as a person would start it: it takes pictures, proposes boxes, serves its page,
trains and puts the detector into the profile. The person is played through the page's own address: each picture is fetched, its boxes
are set right by the truth, and it is confirmed. A person's own time is not in the figures; they take a few seconds a picture.

At the end the profile's detector looks at worlds that were not recorded. Beside it: what the first proposals found in the pictures that
the person was shown, before anything was taught.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from data.boxes import Box, from_centre
from data.files import write_json
from data.metadata import Source
from data.profile import ARENA_PROFILE, GameProfile
from data.schema import Frame, Image, Observation
from data.session import SessionWriter
from data.settings_games import save_game
from data.settings_io import load_settings
from engine.arena_pictures import visible
from engine.lockstep import run_episode
from engine.perception.detections import overlaps
from engine.perception.detector import load_detector
from engine.perception.judging import Labelled, judge
from engine.perception.tracker import BEGIN_AT
from league.arena.emulated import TruthObserver
from league.arena.looks import HELD_OUT, look_named
from league.arena.pilots import make_pilot
from league.arena.render import Renderer
from league.arena.truth import objects
from league.arena.world import TICK_HZ, WorldState

GAME: Final = "taught"
PROFILE: Final[GameProfile] = ARENA_PROFILE.model_copy(update={"name": GAME, "window_title": "Taught", "detector": ""})
EVERY: Final = 4
"""Ticks between recorded pictures."""
FPS: Final = TICK_HZ / EVERY
START_NS: Final = 5_000_000_000
FIRST_WORLD: Final = 8_400_000
JUDGED_WORLD: Final = 8_500_000
LIMIT_S: Final = 120.0
LEAST_PX: Final = 14.0
"""Things whose longer side has so many px or more: ships and loot, not shots and marks."""


class Onlooker:
    """The demonstrator's exact eyes, which also draw every fourth tick and keep what is to be seen in it."""

    def __init__(self) -> None:
        self._renderer, self._eyes = Renderer(look_named(HELD_OUT)), TruthObserver()
        self.pictures: list[Image] = []
        self.truth: list[list[Box]] = []

    def observe(self, state: WorldState, i: int, time_ns: int, cursor: tuple[float, float] | None) -> Observation:
        if round(time_ns * TICK_HZ / 1e9) % EVERY == 0:
            self.pictures.append(self._renderer.picture(state, i).copy())
            there = objects(state, i)
            classes, boxes = visible(there.classes, there.boxes())
            found = [
                from_centre(PROFILE.class_names()[c], tuple(box), "person") for c, box in zip(classes.tolist(), boxes.tolist(), strict=True)
            ]
            self.truth.append([box for box in found if box is not None])
        return self._eyes.observe(state, i, time_ns, cursor)


def watch(seed: int, seconds: float) -> Onlooker:
    """The expert's play on a world."""
    onlooker = Onlooker()
    run_episode(onlooker, make_pilot("expert", seed), seed, round(seconds * TICK_HZ))
    return onlooker


def record(workspace: Path, seed: int, seconds: float) -> tuple[str, list[list[Box]]]:
    """A session of pictures alone, as of a game that nothing is known of; its id, and the truth of each picture."""
    onlooker = watch(seed, seconds)
    source = Source(kind="screen", description="the arena under another name")
    writer = SessionWriter.create(workspace, "play", PROFILE, source, FPS, PROFILE.picture_size, start_ns=START_NS + seed * 1_000_000_000)
    for number, picture in enumerate(onlooker.pictures):
        writer.write_frame(Frame(number, START_NS + seed * 1_000_000_000 + round(number * 1e9 / FPS), picture))
    writer.close("saved")
    return writer.id, onlooker.truth


class Person:
    """Sets the boxes of every picture right, through the page. ``things``: how many true ones of some size there were; ``found``: how many
    of them a proposal had found."""

    def __init__(self, truth: dict[str, list[list[Box]]]) -> None:
        self._truth, self._opener = truth, urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.things = self.found = self.pictures = 0

    def work(self, address: str) -> None:
        with self._opener.open(address, timeout=20) as answer:
            self._place = str(answer.geturl())
        for picture in self._ask("project")["pictures"]:
            self._confirm(str(picture["id"]))
        self._ask("done", {}, "POST")

    def _confirm(self, name: str) -> None:
        shown = self._ask(f"boxes/{name}")
        with self._opener.open(f"{self._place}picture/{name}", timeout=20) as answer:
            assert answer.read(4) == b"\x89PNG"
        true = self._truth[shown["session"]][round(float(shown["time_s"]) * FPS)]
        self._count(np.array([box["box"] for box in shown["boxes"]], np.float32).reshape(-1, 4), true)
        boxes = [box.to_json() for box in true]
        self._ask(f"boxes/{name}", {"revision": shown["revision"], "state": "confirmed", "boxes": boxes}, "PUT")
        self.pictures += 1

    def _count(self, proposed: Any, true: Sequence[Box]) -> None:
        large = np.array([b.centre_size for b in true if _longer_px(b) >= LEAST_PX], np.float32).reshape(-1, 4)
        self.things += len(large)
        if len(proposed) and len(large):
            centred = np.concatenate([(proposed[:, :2] + proposed[:, 2:]) / 2, proposed[:, 2:] - proposed[:, :2]], axis=1)
            self.found += int((overlaps(large, centred).max(1) >= 0.5).sum())

    def _ask(self, path: str, body: dict[str, Any] | None = None, method: str = "GET") -> Any:
        origin = "/".join(self._place.split("/")[:3])
        headers = {"Origin": origin, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._place}{path}", data, headers, method=method)
        with self._opener.open(request, timeout=20) as answer:
            return json.loads(answer.read())


def _longer_px(box: Box) -> float:
    _, _, width, height = box.centre_size
    return max(width * PROFILE.picture_size[0], height * PROFILE.picture_size[1])


def teach(config: Path, workspace: Path, person: Person, pictures: int, epochs: int) -> dict[str, Any]:
    """Run the command, be the person at its page, and wait for the detector. Raises RuntimeError with what it said when it fails."""
    words = ["--config", str(config), "--workspace", str(workspace), "games", "teach", GAME, "--json"]
    words += ["--pictures", str(pictures), "--train", "--epochs", str(epochs), "--put"]
    main = "import sys; from tui.cli import main; sys.exit(main(sys.argv[1:]))"
    env = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", main, *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    said: list[str] = []
    try:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if line.startswith("http://127.0.0.1:"):
                break
        else:
            raise RuntimeError(f"no page was served: {''.join(said)}")
        person.work(said[-1].strip())
        out, rest = process.communicate()
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        raise RuntimeError(f"games teach ended with {process.returncode}: {''.join(said)}{rest}")
    return dict(json.loads(out))


def look(config: Path, workspace: Path, seconds: float) -> dict[str, Any]:
    """The figures of the profile's detector on a world that was not recorded."""
    settings, _ = load_settings(config, (f"paths.workspace={workspace}",), strict=True)
    profile = settings.games[GAME]
    detector = load_detector(profile, workspace=workspace)
    assert detector is not None, "the profile has no detector"
    onlooker, names = watch(JUDGED_WORLD, seconds), profile.class_names()
    looked: list[Labelled] = []
    for picture, true in zip(onlooker.pictures, onlooker.truth, strict=True):
        large = [box for box in true if _longer_px(box) >= LEAST_PX]
        classes = np.array([names.index(b.name) for b in large], np.int32)
        boxes = np.array([b.centre_size for b in large], np.float32).reshape(-1, 4)
        looked.append(Labelled(classes, boxes, detector.detect(picture, 0.01), *profile.picture_size))
    return judge(looked, names, BEGIN_AT)


def run(folder: Path, pictures: int, epochs: int, seconds: float = 20.0, judged_s: float = 20.0) -> dict[str, Any]:
    """Everything, in a folder of its own. The seconds of each phase, and the figures."""
    config, workspace = folder / "config.toml", folder / "workspace"
    save_game(config, PROFILE)
    began = time.monotonic()
    truth = dict(record(workspace, FIRST_WORLD + k, seconds) for k in range(3))
    recorded = time.monotonic()
    person = Person(truth)
    told = teach(config, workspace, person, pictures, epochs)
    taught = time.monotonic()
    figures = look(config, workspace, judged_s)
    return {
        "pictures": person.pictures,
        "epochs": epochs,
        "detector": told["put"]["detector"],
        "recorded_s": round(recorded - began, 1),
        "taught_s": round(taught - recorded, 1),
        "held_out_map50": told["trained"]["figures"]["map50"],
        "proposals_recall": round(person.found / max(1, person.things), 3),
        "classes": {name: c for name, c in figures["classes"].items() if c["n"]},
        "map50": figures["map50"],
        "recall": round(_recall(figures), 3),
    }


def _recall(figures: dict[str, Any]) -> float:
    """The share of all things that were found as what they are."""
    classes = figures["classes"].values()
    return sum(c["recall"] * c["n"] for c in classes if c["n"]) / sum(c["n"] for c in classes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=36, help="that the person confirms")
    parser.add_argument("--epochs", type=int, default=12)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder), asked.pictures, asked.epochs)
    print(f"{found['pictures']} pictures confirmed, {found['epochs']} epochs; things of {LEAST_PX:.0f} px and more in an unseen world:")
    print(f"{'class':14}{'things':>8}{'AP50':>8}{'recall':>8}{'precision':>11}")
    for name, c in found["classes"].items():
        print(f"{name:14}{c['n']:8}{c['ap50']:8.2f}{c['recall']:8.2f}{c['precision']:11.2f}")
    print(f"recall of all: {found['recall']:.2f}; the first proposals, of any class: {found['proposals_recall']:.2f}")
    whole = found["recorded_s"] + found["taught_s"]
    print(f"{found['recorded_s']:.0f} s of recording, {found['taught_s']:.0f} s from command to profile: {whole:.0f} s (< {LIMIT_S:.0f})")
    now = datetime.now(UTC)
    facts = {"what": "teach", "time": now.isoformat(timespec="seconds"), "limit_s": LIMIT_S}
    facts |= {"machine": {"python": platform.python_version(), "system": platform.system(), "cpus": os.cpu_count()}}
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    path = results / f"teach_{now:%Y-%m-%d_%H%M}.json"
    write_json(path, facts | found)
    print(f"written: {path.name}")


if __name__ == "__main__":
    main()

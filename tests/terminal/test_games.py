"""A game never seen, through the front door: described by asking on a real screen, checked, recorded with, removed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ptyrun import PtyRun

from data.profile import ARENA_PROFILE
from data.session import open_session
from data.settings_io import load_settings
from engine.arena_window import ArenaWindowHandle, start_arena_window
from tests.support.children import killed_at_last
from tests.support.x11 import Person, TargetWindow, wait_until

pytestmark = [pytest.mark.x11, pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")]

CODES = {"w": 25, "space": 65, "ctrl_right": 105, "z": 52, "p": 33, "f5": 71, "f9": 75}
AT_HOME = [
    "-c",
    # Tests that run in the background inherit an ignored Ctrl-C.
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); os.chdir(os.environ['HOME']);"
    "from tui.cli import main; sys.exit(main(sys.argv[1:]))",
]
"""The command line from the user's own folder: the repository's settings file is not in force there."""
RIGHT, DOWN, FAR_RIGHT, FAR_LEFT, FAR_UP = "\x1b[C", "\x1b[B", "\x1b[1;2C", "\x1b[1;2D", "\x1b[1;2A"


@pytest.fixture
def arena(x_display: str) -> Iterator[ArenaWindowHandle]:
    """The arena's window under another title, played by its scripted pilot: a game that no profile knows."""
    with start_arena_window(seed=3, scale=1, pilot="expert", title="Never Seen – level 3", position=(300, 200)) as window:
        assert window.client is not None
        client = window.client

        def played() -> bool:
            client.poll()
            return int(client.tick.get("tick", 0)) > 5

        wait_until(played, 30, "the arena is played")
        yield window


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has nothing yet."""
    names = {"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run", "XDG_DATA_HOME": "share"}
    for name in names.values():
        (tmp_path / name).mkdir(exist_ok=True, mode=0o700)
    return {name: str(tmp_path / folder) for name, folder in names.items()} | {
        "DISPLAY": os.environ.get("DISPLAY", ""),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }


def secondseat(home: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **home}
    return subprocess.run(
        [sys.executable, "-m", "tui.cli", *words],
        env=environment,
        cwd=home["HOME"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def tap(person: Person, *keys: str) -> None:
    for key in keys:
        person.key(CODES[key], True)
        time.sleep(0.05)
        person.key(CODES[key], False)
        time.sleep(0.05)


def marks(margin_px: int) -> list[str]:
    """``--gauge`` for each of the arena's bars, marked a few px too wide and without a colour."""
    out: list[str] = []
    for gauge in ARENA_PROFILE.gauges:
        if gauge.kind == "level":
            left, top, right, bottom = gauge.region
            region = (left - margin_px / 640, top - margin_px / 360, right + margin_px / 640, bottom + margin_px / 360)
            out += ["--gauge", f"{gauge.name}={','.join(f'{v:.5f}' for v in region)}"]
    return out


@pytest.mark.timeout(150)
def test_from_options_the_gauges_are_the_arenas_and_only_the_chosen_keys_are_recorded(
    arena: ArenaWindowHandle, home: dict[str, str], person: Person
) -> None:
    person.move(310, 640)  # the pointer lies beside the window
    words = ["games", "add", "seen", "--window", "never seen", "--keys", "w,space,ctrl", *marks(2), "--use", "--yes", "--json"]
    added = secondseat(home, *words)
    assert added.returncode == 0, added.stderr
    told = json.loads(added.stdout)
    path = Path(home["XDG_CONFIG_HOME"]) / "secondseat" / "config.toml"
    assert (told["path"], told["used"], told["backup"]) == (str(path), True, None)
    profile = load_settings(path, environ={})[0].profile()
    assert profile.picture_size == ARENA_PROFILE.picture_size
    for fitted, true in zip(profile.gauges, ARENA_PROFILE.gauges, strict=False):
        assert fitted.name == true.name
        assert fitted.region == pytest.approx(true.region, abs=0.02 * (true.region[2] - true.region[0]))
        assert fitted.colour == pytest.approx(true.colour, abs=5)
        assert (fitted.direction, fitted.kind) == (true.direction, true.kind)
    assert set(told["readings"]) == {"hp", "shield", "heavy_ammo"}
    assert all(value is not None for value in told["readings"].values())

    refused = secondseat(home, "games", "add", "other", "--window", "never seen", "--gauge", "heat=0.4,0.4,0.6,0.5:ff00ff", "--yes")
    assert refused.returncode == 1
    assert "its colour ff00ff does not occur there now" in refused.stderr
    again = secondseat(home, *words)
    assert "there is a game 'seen' already; give --replace" in again.stderr

    checked = secondseat(home, "games", "check", "--json")
    assert checked.returncode == 0, checked.stdout
    findings = {row["name"]: row["state"] for row in json.loads(checked.stdout)["findings"]}
    assert findings["window"] == findings["size"] == findings["keys"] == "ok"

    # What is recorded with it: the chosen keys by name, all others nameless, the right Ctrl as Ctrl.
    environment = {**os.environ, **home}
    command = [sys.executable, "-m", "tui.cli", "record", "--for", "6s", "--headless", "--json"]
    with (
        subprocess.Popen(command, env=environment, cwd=home["HOME"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        killed_at_last(process),
    ):
        sessions = Path(home["XDG_DATA_HOME"]) / "secondseat" / "sessions"
        wait_until(lambda: list(sessions.glob("*/events.arrows")), 40, "the recording has begun")
        time.sleep(0.5)
        tap(person, "w", "space", "ctrl_right", "z", "w")
        output, error = process.communicate(timeout=50)
    assert process.returncode == 0, error
    with open_session(sessions / json.loads(output)["id"]) as session:
        presses = [event.name for event in session.events() if event.kind == "press"]
        assert session.metadata.profile == profile
    assert presses == ["w", "space", "ctrl", "other", "w"]

    removed = secondseat(home, "games", "remove", "seen", "--yes")
    assert "back: secondseat games undo" in removed.stdout
    assert load_settings(path, environ={})[0].game == "arena"
    assert secondseat(home, "games", "undo").returncode == 0
    assert load_settings(path, environ={})[0].profile() == profile


@pytest.mark.timeout(150)
def test_by_asking_with_gauges_marked_on_the_picture(
    arena: ArenaWindowHandle, home: dict[str, str], person: Person, tmp_path: Path
) -> None:
    person.move(310, 640)
    run = PtyRun(tmp_path, program=[*AT_HOME, "games", "add"], columns=120, rows=36, env=home)
    try:

        def answer(question: str, text: str, timeout_s: float = 20.0) -> None:
            run.wait_for(question, timeout_s)
            run.output = b""
            run.type(f"{text}\n")

        answer("Which window is the game in?", "nowhere")
        answer("no open window has 'nowhere'", "seen")
        answer("Which window is the game in?", "1")
        answer("Which part of its title stays the same?", "Never Heard")
        answer("is not part of the window's title", "Never Seen")
        answer("Its picture: whole", "<")
        answer("Which part of its title stays the same? [Never Seen]", "")
        answer("Its picture: whole", "")
        answer("Only the names of keys are kept", "50s")
        run.wait_for("counting", 20)
        tap(person, "w", "space", "w", "ctrl_right", "f5", "p")
        run.wait_for("w 2", 10)
        person.focus_nothing()
        run.wait_for("has no focus", 10)
        tap(person, "z")
        run.type("\n")
        answer("The game's keys", "-p")
        answer("Gauges", "m")

        # the picture: to its corner, in to single pixels, then round the hp bar
        run.wait_for("Add a game: gauges", 30)
        run.wait_for("▀", 30)
        run.type(FAR_LEFT * 7 + FAR_UP * 4 + "+")
        run.type(RIGHT * 27 + DOWN * 5 + " " + FAR_RIGHT * 13 + RIGHT * 3 + DOWN * 12 + " ")
        run.wait_for("46d25a", 20)
        run.type("\r")
        run.wait_for("Name of this gauge", 20)
        run.type("\r")
        run.wait_for("hp is kept", 20)
        run.output = b""
        run.type("\r")
        run.wait_for("hp=0.04", 20)
        answer("Gauges", "")
        answer("Object classes", "player, foe=boss")
        answer("'boss' is not a role", "player, foe=enemy")
        answer("px inside", "12")
        answer("How many ms", "5")
        answer("use 10 to 1000", "")
        answer("The game's name here", "arena")
        answer("the embedded game's own name", "mine")
        answer("No settings file yet", "1")
        run.wait_for("what would be recorded of mine", 20)
        run.wait_for("gauges    hp", 20)
        config = Path(home["XDG_CONFIG_HOME"])
        assert not list(config.rglob("*.toml")), "nothing is written before the last answer"
        run.type("\n")
        answer("Save games.mine", "")
        answer("Watch mine from now on?", "")
        assert run.wait(20) == 0
        assert termios.tcgetattr(run.slave) == run.before, "the terminal is as it was, after the marking too"
    finally:
        run.close()
    profile = load_settings(config / "secondseat" / "config.toml", environ={})[0].profile()
    assert (profile.name, profile.window_title, profile.edge_margin_px, profile.hold_ms) == ("mine", "Never Seen", 12, 50)
    assert sorted(profile.keys) == ["ctrl", "space", "w"]
    assert [(c.name, c.role) for c in profile.classes] == [("player", "self"), ("foe", "enemy")]
    (gauge,) = profile.gauges
    true = ARENA_PROFILE.gauges[0]
    assert gauge.region == pytest.approx(true.region, abs=0.02 * (true.region[2] - true.region[0]))
    assert (gauge.colour, gauge.direction) == (true.colour, "right")


@pytest.mark.timeout(90)
def test_leaving_in_the_middle_writes_nothing(target_window: Callable[..., TargetWindow], home: dict[str, str], tmp_path: Path) -> None:
    target_window("Some Game")
    run = PtyRun(tmp_path, program=[*AT_HOME, "games", "add", "some"], env=home)
    try:
        run.wait_for("Which window is the game in?", 30)
        run.type("\n")
        run.wait_for("Which part of its title", 20)
        run.signal(signal.SIGINT)
        assert run.wait(20) == 130
        wait_until(lambda: b"\nsecondseat: interrupted; nothing was written" in run.output)
    finally:
        run.close()
    assert not list(Path(home["XDG_CONFIG_HOME"]).rglob("*"))
    for words, said in (
        (["games", "add", "x"], "this is not a terminal; give the answers as options and --yes"),
        (["games", "add", "x", "--window", "Nowhere", "--yes"], "window 'Nowhere' not found, 1 candidate: 'Some Game'"),
        (["games", "add", "x", "--window", "Some", "--keys", "w,spce", "--yes"], "'spce' is not a key; did you mean space?"),
        (["games", "add", "x", "--window", "Some", "--keys", "w,key9000", "--yes"], "this keyboard has no key9000"),
        (["games", "add", "x", "--window", "Some", "--gauge", "hp=0,0,1,1", "--yes"], "nothing stands out in the mark"),
        (["games", "add", "arena", "--window", "Some", "--yes"], "the embedded game's own name"),
        (["games", "show", "zork"], "there is no game 'zork'; there is arena"),
    ):
        refused = secondseat(home, *words)
        assert refused.returncode in (1, 2)
        assert said in refused.stderr
        assert refused.stderr.count("\n") == 1
    assert not list(Path(home["XDG_CONFIG_HOME"]).rglob("*"))


def test_without_a_screen_a_game_can_be_described_and_is_checked(home: dict[str, str]) -> None:
    blind = {**home, "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    words = ["games", "add", "far", "--window", "Far", "--size", "800x600", "--keys", "w", "--gauge", "hp=0.1,0.1,0.3,0.12:46d25a", "--yes"]
    assert secondseat(blind, *words).returncode == 0
    assert "needs" in secondseat(blind, *words, "--watch", "5s", "--replace").stderr
    checked = secondseat(blind, "games", "check", "far", "--watch", "1s", "--json")
    assert checked.returncode == 1
    told = json.loads(checked.stdout)
    assert {row["name"]: row["state"] for row in told["findings"]}["window"] == "wrong"
    assert "no display" in told["would_record"]["trouble"]

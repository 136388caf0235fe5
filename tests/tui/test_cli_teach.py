"""``secondseat games teach`` as a person types it, without a display."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from data.settings_games import save_game
from engine.teach import TeachProject
from tests.support.teaching import PROFILE, Squares, record
from tui import cli

MAIN = [sys.executable, "-c", "import sys; from tui.cli import main; sys.exit(main(sys.argv[1:]))"]


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The options for a workspace with one game and a recording of it; nothing of this machine's display."""
    for name in [name for name in os.environ if name.startswith("SECONDSEAT_")] + ["DISPLAY", "WAYLAND_DISPLAY"]:
        monkeypatch.delenv(name, raising=False)
    save_game(tmp_path / "config.toml", PROFILE)
    record(tmp_path / "w", Squares(1), 6.0)
    return ["--config", str(tmp_path / "config.toml"), "--workspace", str(tmp_path / "w")]


def run(words: list[str], *more: str) -> int:
    return cli.main([*words, "games", "teach", *more])


def test_out_and_in_and_status_and_json(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words, "squares", "--status") == 0
    assert capsys.readouterr().out == "games.squares: no pictures yet\n"
    assert run(words, "squares", "--pictures", "5", "--export", "yolo", str(tmp_path / "out")) == 0
    said = capsys.readouterr().out
    assert "5 pictures taken from the recordings" in said
    assert "boxes proposed in 5 pictures: 5 from what moves" in said
    assert f"then: secondseat games teach squares --import {tmp_path / 'out'}" in said
    assert re.search(r"\d+ proposals have no class yet and are left out", said)
    images, labels = tmp_path / "out" / "images", tmp_path / "out" / "labels"
    assert list(labels.rglob("*.txt")) == []  # nobody has said that nothing is there
    for image in images.rglob("*.png"):
        (labels / image.parent.name / f"{image.stem}.txt").write_text("1 0.5 0.5 0.1 0.1\n")
    assert run(words, "squares", "--import", str(tmp_path / "out"), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["imported"]["confirmed"] == 5
    assert told["counts"]["boxes.foe"] == 5
    assert run(words, "squares", "--status") == 0
    said = capsys.readouterr().out
    assert "pictures: 5 confirmed, 0 to look at" in said
    assert re.search(r"foe +5", said)


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        (["nobody"], 1, "there is no game 'nobody'"),
        (["arena"], 1, "secondseat train detector"),
        (["squares", "--export", "paper", "x", "--no-page"], 2, "use yolo or labelstudio"),
        (["squares", "--export", "yolo", "x", "--import", "y"], 2, "choose one of them"),
        (["squares", "--import", "nowhere"], 1, "give a YOLO folder"),
        (["squares", "--undo"], 1, "nothing can be taken back"),
        (["squares", "--session", "other", "--no-page"], 1, "none of other of games.squares"),
        (["squares", "--pictures", "3", "--no-page", "--train"], 1, "0 pictures are confirmed; a detector needs 8"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    words: list[str], more: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words, *more) == status
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("secondseat: ")]
    assert len(errors) == 1
    assert said in errors[0]


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a POSIX signal")
def test_the_page_is_served_until_ctrl_c_and_all_is_kept(words: list[str], tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*MAIN, *words, "games", "teach", "squares", "--pictures", "3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    try:
        address, end = "", time.monotonic() + 40
        while not address and time.monotonic() < end:
            if select.select([process.stdout], [], [], 1)[0]:
                line = process.stdout.readline()
                address = line.strip() if line.startswith("http://127.0.0.1:") else ""
        assert address
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(address, timeout=10) as answer:
            assert "Teach" in answer.read().decode()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address.split("?")[0], timeout=10)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    assert "pictures: 0 confirmed, 3 to look at" in out
    assert len(TeachProject(tmp_path / "w", PROFILE).pictures()) == 3

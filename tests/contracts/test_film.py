"""The README's film: what is written shows the frames that were taken, and nothing of the machine they were taken on."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pyte
import pytest

from docs.pictures import film

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
COLUMNS = 24


def screens(*drawn: str) -> list[film.Frame]:
    screen = pyte.Screen(COLUMNS, 3)
    stream = pyte.Stream(screen)
    frames: list[film.Frame] = []
    for second, text in enumerate(drawn):
        stream.feed(text)
        frames.append(film.Frame(float(second), tuple(film.row_of(screen.buffer[y], COLUMNS) for y in range(3)), f"caption {second}"))
    return frames


FRAMES = screens(
    "\x1b[1;38;2;255;107;122m● REC\x1b[0m plain <&>\r\n\x1b[7mreverse\x1b[0m │ pane │ b",
    "\x1b[2;11HPANE",
    "\x1b[1;1H\x1b[48;2;27;34;48m  \x1b[0m\x1b[3;1Hlast row\x1b[38;2;17;34;51;48;2;68;85;102m▀\x1b[38;2;68;85;102;48;2;17;34;51m▀",
)


def test_a_recording_played_back_shows_the_same_frames() -> None:
    lines = [json.loads(line) for line in film.cast(FRAMES, COLUMNS, "title")]
    assert (lines[0]["version"], lines[0]["width"], lines[0]["height"]) == (2, COLUMNS, 3)
    screen = pyte.Screen(COLUMNS, 3)
    stream = pyte.Stream(screen)
    for frame in FRAMES:
        for when, kind, data in lines[1:]:
            if (when, kind) == (frame.at_s, "o"):
                stream.feed(data)
        assert tuple(film.row_of(screen.buffer[y], COLUMNS) for y in range(3)) == frame.rows
    assert [data for _, kind, data in lines[1:] if kind == "m"] == ["caption 0", "caption 1", "caption 2"]


def test_a_recording_holds_only_what_changed() -> None:
    second = next(data for when, kind, data in map(json.loads, list(film.cast(FRAMES, COLUMNS, ""))[1:]) if (when, kind) == (1.0, "o"))
    assert re.sub(r"\x1b\[[^A-Za-z]*m", "", second) == "\x1b[2;11HPANE"


def test_the_moving_picture_is_well_formed_and_draws_what_stays_once() -> None:
    text = film.svg(FRAMES, COLUMNS, "a <title>")
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    assert ">plain &lt;&amp;&gt;<" in text
    assert [text.count(f">{part}<") for part in ("b", "pane │", "PANE │")] == [1, 1, 1]
    assert {".s0{fill:#ff6b7a;font-weight:700}"} <= set(re.findall(r"\.s\d\{[^}]*\}", text))
    assert '<path fill="#123" d="M8 0h1v1H8zM9 1h1v1H9z"/><path fill="#456" d="M8 1h1v1H8zM9 0h1v1H9z"/>' in text
    names = set(re.findall(r'id="(p\d+)"', text))
    assert set(re.findall(r'href="#(p\d+)"', text)) <= names
    assert [f"caption {n}" in text for n in range(3)] == [True] * 3


@pytest.mark.parametrize(("name", "most_kb"), [("tour.cast", 300), ("tour.svg", 1000), ("session.svg", 100), ("flying.svg", 100)])
def test_the_film_in_the_readme_is_small_and_fetches_nothing(name: str, most_kb: int) -> None:
    text = (PICTURES / name).read_text(encoding="utf-8")
    assert len(text.encode()) < most_kb * 1000
    assert re.findall(r"https?://[^\"' ]+", text.replace("http://www.w3.org/2000/svg", "")) == []
    assert re.findall(r"/(?:home|root|tmp|var|Users)/[^\"'< ]*", text) == []
    assert "<script" not in text
    assert f"docs/pictures/{name}" in (ROOT / "README.md").read_text(encoding="utf-8")

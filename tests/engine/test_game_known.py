"""Gauges, icons and choices fitted to pictures whose values a person knows, and the command that does it."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from data.profile import Choice, GameProfile, Gauge, Icon
from data.schema import Image
from data.settings_games import save_game
from data.settings_io import load_settings
from engine.game_builder_gauges import FitError
from engine.game_builder_known import fit_known_choice, fit_known_gauge, fit_known_icon
from engine.perception.gauges import GaugeReader
from tui import cli

REGION = (0.04, 0.05, 0.56, 0.25)
SLOTS = ((0.1, 0.7, 0.2, 0.9), (0.3, 0.7, 0.4, 0.9), (0.5, 0.7, 0.6, 0.9))


def display(level: float = 1.0, lit: int = 1, warned: bool = False, direction: str = "right") -> Image:
    """200 x 100: a bar of 100 x 10 px in a frame, three slots of which one is lit, a lamp."""
    dice = np.random.default_rng(round(level * 100) + lit)
    image = dice.integers(40, 60, (100, 200, 3)).astype(np.uint8)
    image[8:22, 8:112] = (20, 20, 25)
    filled = round(level * 100)
    image[10:20, slice(10, 10 + filled) if direction == "right" else slice(110 - filled, 110)] = (200, 60, 50)
    for number, (left, top, right, bottom) in enumerate(SLOTS, 1):
        slot = image[round(top * 100) : round(bottom * 100), round(left * 200) : round(right * 200)]
        slot[:] = (90, 90, 90)
        slot[4:-4, 4:-4] = (120, 60, 160)  # the slot's own picture, lit or not
        if number == lit:
            slot[:3] = slot[-3:] = (250, 240, 120)
    image[70:90, 150:170] = (240, 30, 30) if warned else (70, 20, 20)
    return image


@pytest.mark.parametrize("direction", ["right", "left"])
def test_a_gauge_reads_what_was_said_and_what_was_not(direction: str) -> None:
    known = (0.9, 0.55, 0.2)
    fit = fit_known_gauge([(display(v, direction=direction), v) for v in known], REGION, "hp")
    assert isinstance(fit.part, Gauge)
    assert fit.part.direction == direction
    assert [r.read for r in fit.readings] == pytest.approx(known, abs=0.03)
    reader = GaugeReader(GameProfile(name="x", gauges=(fit.part,)))
    for level in (0.05, 0.35, 0.7, 1.0):
        assert reader.read(display(level, direction=direction)).levels["hp"] == pytest.approx(level, abs=0.04)


def test_values_that_the_pictures_do_not_show_are_refused_with_what_is_read() -> None:
    with pytest.raises(FitError, match=r"reads your values \(0\.9 reads 1\.00, .*mark the bar alone"):
        fit_known_gauge([(display(0.5), 0.9), (display(0.9), 0.1), (display(0.1), 0.5)], REGION, "hp")
    with pytest.raises(FitError, match="differently full"):
        fit_known_gauge([(display(0.5), 0.5), (display(0.52), 0.52)], REGION, "hp")
    plain = np.full((100, 200, 3), 50, np.uint8)
    with pytest.raises(FitError, match="hp"):
        fit_known_gauge([(plain, 1.0), (plain, 0.0)], REGION, "hp")


def test_an_icon_is_told_by_the_colour_that_only_shows_when_it_is_on() -> None:
    region = (0.7, 0.6, 0.9, 1.0)
    fit = fit_known_icon([(display(0.3, warned=True), True), (display(0.6), False), (display(0.9), False)], region, "warned")
    assert isinstance(fit.part, Icon)
    assert fit.part.colour[0] > 200
    reader = GaugeReader(GameProfile(name="x", icons=(fit.part,)))
    assert reader.read(display(0.1, 3, True)).flags["warned"] is True
    assert reader.read(display(0.1, 3, False)).flags["warned"] is False
    with pytest.raises(FitError, match="no colour shows"):
        fit_known_icon([(display(), True), (display(), False)], (0.7, 0.6, 0.9, 1.0), "warned")
    with pytest.raises(FitError, match="one in which it is off"):
        fit_known_icon([(display(), True)], region, "warned")


def test_a_choice_is_told_by_its_frame() -> None:
    fit = fit_known_choice([(display(lit=1), 1), (display(lit=3), 3)], SLOTS, "weapon")
    assert isinstance(fit.part, Choice)
    reader = GaugeReader(GameProfile(name="x", choices=(fit.part,)))
    assert [reader.read(display(lit=n)).choices["weapon"] for n in (1, 2, 3)] == [1, 2, 3]
    with pytest.raises(FitError, match="4 is none of its 3 regions"):
        fit_known_choice([(display(lit=1), 1), (display(lit=3), 4)], SLOTS, "weapon")
    with pytest.raises(FitError, match="different ones are lit"):
        fit_known_choice([(display(lit=1), 1)], SLOTS, "weapon")


def test_the_command_shows_both_and_saves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.toml"
    save_game(config, GameProfile(name="mine", window_title="Mine", gauges=(Gauge(name="old", region=(0, 0, 1, 1), colour=(1, 2, 3)),)))
    for name, image in (("a.png", display(0.8)), ("b.png", display(0.3, 2, True))):
        cv2.imwrite(str(tmp_path / name), cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    words = ["--config", str(config), "--workspace", str(tmp_path), "games", "fit", "mine"]
    a, b = f"{tmp_path}/a.png", f"{tmp_path}/b.png"
    gauge = [*words, "--gauge", "hp=0.04,0.05,0.56,0.25", "--known", f"{a}=0.8", "--known", f"{b}=0.3"]
    assert cli.main(gauge) == 1  # nobody can be asked
    assert "nothing was saved" in capsys.readouterr().err
    assert cli.main([*gauge, "--yes"]) == 0
    said = capsys.readouterr().out
    assert [line.split()[1:] for line in said.splitlines()[1:3]] == [["0.80", "0.80"], ["0.30", "0.30"]]
    icon = [*words, "--icon", "warned=0.7,0.6,0.9,1", "--known", f"{a}=off", "--known", f"{b}=on", "--yes", "--json"]
    assert cli.main(icon) == 0
    assert [row[1:] for row in json.loads(capsys.readouterr().out)["readings"]] == [["off", "off"], ["on", "on"]]
    choice = [*words, "--choice", "weapon=0.1,0.7,0.2,0.9;0.3,0.7,0.4,0.9", "--known", f"{a}=1", "--known", f"{b}=2", "--yes"]
    assert cli.main(choice) == 0
    profile = load_settings(config, (), strict=True)[0].games["mine"]
    assert [g.name for g in profile.gauges] == ["old", "hp"]
    assert [i.name for i in profile.icons] == ["warned"]
    assert [len(c.regions) for c in profile.choices] == [2]
    capsys.readouterr()
    for more, status, text in (
        (["--known", "x=1"], 2, "give one of --gauge, --icon and --choice"),
        (["--gauge", "hp=0,0,1,1", "--known", "x"], 2, "write it as PICTURE=VALUE"),
        (["--gauge", "hp=0,0,1,1", "--known", f"{a}=2", "--known", f"{b}=0"], 2, "2 is not in 0..1"),
        (["--icon", "i=0,0,1,1", "--known", f"{a}=maybe"], 2, "an icon is on or off"),
        (["--icon", "i=0,0,1,1", "--known", f"{config}=on"], 1, "neither a PNG nor a JPEG"),
    ):
        assert cli.main([*words, *more]) == status
        assert text in capsys.readouterr().err

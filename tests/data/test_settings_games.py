"""A game in ``config.toml``: written, replaced, removed, taken back, with everything else left as it was."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from data import files
from data.profile import GameProfile, Gauge, Icon, ObjectClass
from data.settings import SettingsError
from data.settings_games import BACKUP_SUFFIX, game_of_file, remove_game, save_game, undo, use_game
from data.settings_io import load_settings

MINE = GameProfile(
    name="mine",
    window_title='Mine "and" Ünï',
    window_part=(0.0, 0.05, 1.0, 1.0),
    picture_size=(800, 450),
    keys=("w", "a", "space"),
    classes=(ObjectClass(name="foe", role="enemy"),),
    gauges=(
        Gauge(name="hp", region=(0.05, 0.02, 0.2, 0.04), colour=(70, 210, 90)),
        Gauge(name="heat", region=(0.9, 0.2, 0.92, 0.6), colour=(200, 40, 40), direction="up", tolerance=30, kind="cooldown"),
    ),
    icons=(Icon(name="lit", region=(0.8, 0.8, 0.9, 0.9), colour=(0, 255, 0)),),
    edge_margin_px=12,
)
FILE = """# top
[capture]   # what is watched
fps = 25    # smooth enough

[games.other]
keys = ["q"]   # only this one
mods = ["x"]

[later]
x = 1

[games.last]
window_title = "Last"
# the end
"""


def loaded(path: Path) -> dict[str, GameProfile]:
    return dict(load_settings(path, environ={}, strict=False)[0].games)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_a_new_game_is_written_beside_the_others_and_every_other_line_stays(path: Path) -> None:
    change = save_game(path, MINE)
    text = path.read_text(encoding="utf-8")
    assert loaded(path)["mine"] == MINE
    assert [line for line in FILE.splitlines() if line not in text.splitlines()] == []
    assert "\n\n[games.mine]\n" in text
    assert 'gauges = [\n    {name = "hp", region = [0.05, 0.02, 0.2, 0.04], colour = [70, 210, 90]},\n' in text
    assert change.backup is not None
    assert change.backup.read_text(encoding="utf-8") == FILE
    assert change.backup.name in change.sentence()
    assert load_settings(path, environ={})[0].game == "arena"


def test_into_no_file_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    change = save_game(path, MINE, use=True)
    settings, notices = load_settings(path, environ={})
    assert (settings.profile(), settings.capture.source, notices) == (MINE, "screen", ())
    assert change.backup is None
    with pytest.raises(SettingsError, match="nothing can be taken back"):
        undo(path)


def test_replacing_keeps_what_is_not_ours_and_the_comments(path: Path) -> None:
    other = GameProfile(name="other", window_title="Other", keys=("q", "e"))
    save_game(path, other)
    text = path.read_text(encoding="utf-8")
    assert loaded(path)["other"] == other
    assert 'keys = ["q", "e"]   # only this one' in text
    assert 'mods = ["x"]' in text
    save_game(path, other)
    assert path.read_text(encoding="utf-8") == text, "saving the same again changes nothing"


@pytest.mark.parametrize(
    "text",
    [
        "[games]\nmine = { keys = ['q'], zz = 1 }\n[live]\ntick_hz = 10\n",
        "[[games.mine.gauges]]\nname='a'\nregion=[0,0,1,1]\ncolour=[1,2,3]\n[[games.mine.gauges]]\nname='b'\nregion=[0,0,1,1]\ncolour=[1,2,3]\n"
        "[games.mine.notes]\nx = 1\n[live]\ntick_hz = 10\n",
        "games.mine.keys = ['q']\n",
    ],
)
def test_other_ways_of_writing_a_game_are_replaced_too(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    save_game(path, MINE)
    assert loaded(path)["mine"] == MINE
    assert load_settings(path, environ={})[0].live.tick_hz == (10 if "live" in text else 20)


def test_removing_and_taking_back(path: Path) -> None:
    save_game(path, MINE, use=True)
    with_game = path.read_text(encoding="utf-8")
    remove_game(path, "mine")
    settings, _ = load_settings(path, environ={})
    assert sorted(settings.games) == ["arena", "last", "other"]
    assert (settings.game, settings.capture.source) == ("arena", "arena")
    assert [line for line in FILE.splitlines() if line not in path.read_text(encoding="utf-8").splitlines()] == []
    undo(path)
    assert path.read_text(encoding="utf-8") == with_game
    undo(path)
    assert not game_of_file(path, "mine")
    with pytest.raises(SettingsError, match=r"has no \[games\.mine\]"):
        remove_game(path, "mine")


def test_use_names_a_game_that_is_there(path: Path) -> None:
    use_game(path, "last")
    assert load_settings(path, environ={})[0].profile().window_title == "Last"
    use_game(path, "arena")
    assert load_settings(path, environ={})[0].capture.source == "arena"
    before = path.read_bytes()
    with pytest.raises(SettingsError, match="'zork' is not described"):
        use_game(path, "zork")
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"[capture]\nfps = 3\n[cap", b"\0" * 40, b"", b"\xff\xfe\x00"])
def test_a_file_that_would_not_parse_is_refused_and_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    for change in (lambda: save_game(path, MINE), lambda: remove_game(path, "mine"), lambda: use_game(path, "mine")):
        with pytest.raises(SettingsError, match=r"config\.toml"):
            change()
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("config.toml", content)]


def test_what_does_not_fit_into_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[keys]\nrecord = "f9"\n[live]\ntick_hz = 999\n', encoding="utf-8")
    save_game(path, GameProfile(name="mine", keys=("w",)))  # the old mistake elsewhere does not matter
    path.write_text('[keys]\nrecord = "f9"\n', encoding="utf-8")
    with pytest.raises(SettingsError, match=r"keys: f9 steer Secondseat; .*the file is untouched"):
        save_game(path, GameProfile(name="mine", keys=("w", "f9")), use=True)
    with pytest.raises(SettingsError, match="embedded game's own name"):
        save_game(path, GameProfile(name="arena"))
    assert path.read_text(encoding="utf-8") == '[keys]\nrecord = "f9"\n'


def test_a_full_disk_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(SettingsError, match="No space left on device"):
        save_game(path, MINE)
    assert path.read_text(encoding="utf-8") == FILE


def test_a_linked_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    change = save_game(link, MINE)
    assert link.is_symlink()
    assert loaded(path)["mine"] == MINE
    assert change.backup == path.with_name(path.name + BACKUP_SUFFIX)


def test_what_is_written_is_what_is_read(path: Path) -> None:
    values: dict[str, Any] = {"threat_range": 0.1, "low_hp": 0.0, "mirrored": True, "detector": "models/d.onnx", "detector_size": (64, 64)}
    profile = MINE.model_copy(update=values)
    save_game(path, profile)
    assert loaded(path)["mine"] == profile
    save_game(path, MINE)
    assert loaded(path)["mine"] == MINE, "what went back to its default is no longer in the file"

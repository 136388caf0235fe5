"""Settings: found, overridden, refused with words, saved with comments."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from data import files, settings_io
from data.settings import LEVELS, TABLES, Settings, SettingsError, amount_of
from data.settings_io import find_settings_file, load_settings, save_settings
from data.workspace import Workspace, WorkspaceError, user_config_folder, user_data_folder

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty present folder, and a home with nothing of ours in it."""
    for name in [name for name in os.environ if name.startswith("SECONDSEAT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "share"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "home" / "config"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "home" / "share"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def write(folder: Path, text: str, name: str = "config.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(text: str) -> str:
    write(Path.cwd(), text)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    return str(caught.value)


# -- where they come from


def test_with_nothing_there_the_defaults_are_used(here: Path) -> None:
    settings, notices = load_settings()
    assert settings == Settings()
    assert notices == ()
    assert find_settings_file() == (None, "built-in defaults")


def test_files_are_looked_for_in_order(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(user_config_folder(), "[capture]\nfps = 11")
    assert load_settings()[0].capture.fps == 11
    write(here, "[capture]\nfps = 12")
    assert load_settings()[0].capture.fps == 12
    monkeypatch.setenv("SECONDSEAT_CONFIG", str(write(here / "by_environment", "[capture]\nfps = 13")))
    assert load_settings()[0].capture.fps == 13
    assert load_settings(write(here / "by_option", "[capture]\nfps = 14"))[0].capture.fps == 14


def test_a_file_named_by_the_person_must_be_there(here: Path) -> None:
    with pytest.raises(SettingsError, match=r"--config .*nowhere\.toml: there is no such file"):
        load_settings(here / "nowhere.toml")


def test_the_config_of_another_program_is_passed_over(here: Path) -> None:
    write(here, 'baseURL = "https://example.org"\n[params]\nmath = true\n')
    assert find_settings_file() == (None, "built-in defaults")


def test_single_values_come_from_the_environment_and_then_from_the_command_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, '[capture]\nfps = 12\nwindow = "from file"\n')
    monkeypatch.setenv("SECONDSEAT_CAPTURE__FPS", "13")
    monkeypatch.setenv("SECONDSEAT_CAPTURE__WINDOW", "60")  # a title may look like a number
    monkeypatch.setenv("SECONDSEAT_TRAINING__TACTICIAN__LR", "2e-4")
    settings, _ = load_settings(overrides=["capture.fps=14"])
    assert (settings.capture.fps, settings.capture.window, settings.training.tactician.lr) == (14, "60", 2e-4)


def test_negative_regions_are_kept_as_they_are(here: Path) -> None:
    settings, _ = load_settings(overrides=["capture.region={left=-1920, top=-200, width=640, height=360}"])
    region = settings.capture.region
    assert region is not None
    assert (region.left, region.top, region.width, region.height) == (-1920, -200, 640, 360)


def test_the_committed_file_is_the_defaults_and_names_every_key() -> None:
    path = ROOT / "config.toml"
    assert load_settings(path, environ={}) == (Settings(), ())
    text = path.read_text(encoding="utf-8")
    missing = [
        f"{table}.{key}" for table, model in TABLES.items() for key in model.model_fields if key not in LEVELS and f"# {key} =" not in text
    ]
    assert missing == []


def test_the_committed_file_is_valid_with_every_line_switched_on(here: Path) -> None:
    text = (ROOT / "config.toml").read_text(encoding="utf-8")
    lines = [
        line[2:] if line.startswith("# ") and (" = " in line[:24] or line.startswith("# [games")) else line for line in text.splitlines()
    ]
    settings, notices = load_settings(write(here, "\n".join(lines)), environ={})
    assert notices == ()
    assert settings.games["mygame"].keys == ("space", "1", "2", "q")


# -- what is wrong is told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[capture]\nfps = 0", "config.toml [capture] fps: 0 is not a rate; use 1 to 240"),
        ('[capture]\nfps = "many"', "config.toml [capture] fps: 'many' is not a rate; use 1 to 240"),
        ("[capture]\nfps = true", "config.toml [capture] fps: 'true' is not a rate"),
        ('[capture]\nsource = "tv"', "use one of arena, screen"),
        ('[arena]\nlook = "pink"', "use one of classic, amber, ice, neon, dusk, blueprint, ash, reef, orchid"),
        ("capture = []", "config.toml [capture]: [] is not a table"),
        ('[keys]\nrecord = "F99"', "config.toml [keys] record: 'F99' is not a key for this; use one of f1, f2, f3"),
        ('[keys]\nrecord = "f6"', "record, save and discard share a key"),
        ('[keys]\nface = { quit = "ctrl+b" }', "'ctrl+b' cannot be used, tmux takes it; use a, b, c"),
        ('[actuator]\nstop_key = "f5"', "[actuator] stop_key: 'f5' is a key of [keys] too"),
        ("[training.executor]\nepochs = 0", "config.toml [training.executor] epochs: 0 is not a number of epochs; use 1 to 100000"),
        ("[training.executor]\nlr = nan", "nan is not a learning rate"),
        ("[capture.region]\nleft = 0\ntop = 0\nwidth = 4\nheight = 400", "[capture.region] width: 4 is not a width; use 16 to 16384"),
        ('game = "zork"', "'zork' is not described; use arena, or add [games.zork]"),
        ('game = "x"\n[games.x]\nkeys = ["f5"]', "config.toml [games.x] keys: f5 steer Secondseat"),
        ('[games."Not A Name"]\nkeys = []', "[games.Not A Name]"),
        ("[capture]\nfps =", "is not TOML"),
        ("", "is empty"),
        ("[capture]\0\0", "NUL bytes"),
    ],
)
def test_an_error_says_file_table_key_value_and_what_is_allowed(here: Path, text: str, words: str) -> None:
    said = refusal(text)
    assert words in said
    assert "\n" not in said


def test_an_error_of_an_override_names_the_override(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"^--set capture\.fps: 0 is not a rate; use 1 to 240$"):
        load_settings(overrides=["capture.fps=0"])
    with pytest.raises(SettingsError, match=r"--set capture\.speed: no such key"):
        load_settings(overrides=["capture.speed=1"])
    with pytest.raises(SettingsError, match=r"write it as table\.key=value"):
        load_settings(overrides=["capture.fps"])
    monkeypatch.setenv("SECONDSEAT_CAPTURE__FPS", "999")
    with pytest.raises(SettingsError, match=r"^SECONDSEAT_CAPTURE__FPS: 999 is not a rate"):
        load_settings()


def test_unknown_keys_are_notices_and_change_nothing(here: Path) -> None:
    write(
        here, "[capture]\nfps = 50\nspeed = 3\n[later]\nx = 1\n[[games.x.gauges]]\nname='hp'\nregion=[0,0,1,1]\ncolour=[1,2,3]\nwidth=2\n"
    )
    settings, notices = load_settings()
    assert settings.capture.fps == 50
    assert settings.games["x"].gauges[0].name == "hp"
    assert [n.partition(": ")[0] for n in notices] == [
        "config.toml [capture] speed",
        "config.toml later",
        "config.toml [games.x] gauges.0.width",
    ]


def test_the_face_starts_with_notices_where_the_command_line_refuses(here: Path) -> None:
    write(here, '[capture]\nfps = 0\nmonitor = 2\n[training.executor]\nepochs = "many"\n[keys]\nrecord = "F99"\nspeed = 1\n')
    settings, notices = load_settings(strict=False)
    assert settings.capture.fps == 30
    assert settings.capture.monitor == 2
    assert settings.training.executor.epochs == 60
    assert settings.keys.record == "f5"
    assert len(notices) == 4
    assert all("the default is used" in n for n in notices[:3])


def test_a_stop_key_that_clashes_costs_the_stop_key_and_not_the_game(here: Path) -> None:
    """Else play would be recorded as another game's."""
    write(here, 'game = "mine"\n[games.mine]\nkeys = ["w"]\n[capture]\nsource = "screen"\n[actuator]\nstop_key = "f5"')
    settings, notices = load_settings(strict=False)
    assert (settings.game, settings.actuator.stop_key, settings.capture.source) == ("mine", "f8", "screen")
    assert len(notices) == 1
    assert "stop_key: 'f5' is a key of [keys] too" in notices[0]


@pytest.mark.parametrize(
    ("lines", "keys"),
    [
        ('[keys]\nrecord = "f8"', ("f5", "f6", "f8")),  # the stop key is as it comes
        ('[keys]\nsave = "f8"\nrecord = "f9"', ("f9", "f6", "f8")),
        ('[keys]\nrecord = "f8"\n[actuator]\nstop_key = "f8"', ("f5", "f6", "f8")),  # both were: the stop key first
    ],
)
def test_of_keys_that_clash_one_that_was_chosen_falls_back(lines: str, keys: tuple[str, ...], here: Path) -> None:
    write(here, lines)
    settings, notices = load_settings(strict=False)
    assert (settings.keys.record, settings.keys.save, settings.actuator.stop_key) == keys
    assert notices


def test_contradicting_tables_fall_back_together(here: Path) -> None:
    write(here, 'game = "zork"\n[capture]\nfps = 50\n[actuator]\nstop_key = "f5"')
    settings, notices = load_settings(strict=False)
    assert (settings.game, settings.actuator.stop_key, settings.capture.fps) == ("arena", "f8", 50)
    assert notices


@pytest.mark.parametrize("content", [b"", b"\0" * 200, b"[capture]\nfps = 3\n[cap", b"\xff\xfe\x00", b"[]", b"fps"])
def test_a_damaged_file_does_not_keep_the_face_from_starting_and_is_not_lost(here: Path, content: bytes) -> None:
    path = here / "config.toml"
    path.write_bytes(content)
    settings, notices = load_settings(strict=False)
    assert settings == Settings()
    assert len(notices) == 1
    assert "config.toml" in notices[0]
    assert path.read_bytes() == content
    if content:
        assert (here / "config.toml.corrupt").read_bytes() == content
    said = save_settings(path, {"capture.fps": 25})
    assert "the damaged file is kept as config.toml.corrupt" in said
    assert content in {p.read_bytes() for p in here.glob("config.toml.corrupt*")}
    assert load_settings()[0].capture.fps == 25


def test_the_arena_profile_can_be_adjusted_value_by_value(here: Path) -> None:
    write(here, "[games.arena]\nhold_ms = 80")
    profile = load_settings()[0].games["arena"]
    assert profile.hold_ms == 80
    assert profile.keys == Settings().games["arena"].keys


_LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
_KEYS = st.sampled_from(["fps", "region", "record", "face", "executor", "arena", "keys", "name", "left"])


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return _LEAF | st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=3)


@trials(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*TABLES, "games", "game", "zzz"]),
        _nested(_nested(_LEAF)),
    )
)
def test_no_content_whatever_breaks_the_lenient_reading(raw: dict[str, Any]) -> None:
    settings, problems, unknown = settings_io.validated(raw, strict=False)
    assert settings.profile()
    for problem in (*problems, *unknown):
        assert problem.text("config.toml", {})


# -- saving


COMMENTED = """# mine
[capture]   # what is watched
fps = 30    # smooth enough
speed = 7   # of another version

[later]
x = 1
"""


def test_saving_keeps_comments_order_and_unknown_keys(here: Path) -> None:
    path = write(here, COMMENTED)
    save_settings(path, {"capture.fps": 25, "face.refresh_hz": 2})
    text = path.read_text(encoding="utf-8")
    assert text.startswith(COMMENTED.replace("fps = 30", "fps = 25"))
    assert "[face]\nrefresh_hz = 2" in text
    assert load_settings()[0].face.refresh_hz == 2
    save_settings(path, {"face.refresh_hz": None})
    assert load_settings()[0].face.refresh_hz == 4


def test_a_wrong_value_is_refused_and_the_file_stays(here: Path) -> None:
    path = write(here, COMMENTED)
    with pytest.raises(SettingsError, match=r"config\.toml \[capture\] fps: 0 is not a rate"):
        save_settings(path, {"capture.fps": 0})
    assert path.read_text(encoding="utf-8") == COMMENTED


def test_an_old_mistake_elsewhere_does_not_keep_from_saving(here: Path) -> None:
    path = write(here, "[live]\ntick_hz = 999\n")
    save_settings(path, {"capture.fps": 25})
    assert "fps = 25" in path.read_text(encoding="utf-8")


def test_a_full_disk_leaves_the_old_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(here, COMMENTED)

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(SettingsError, match="No space left on device; its old content is untouched"):
        save_settings(path, {"capture.fps": 25})
    assert path.read_text(encoding="utf-8") == COMMENTED
    assert [p.name for p in here.iterdir()] == ["config.toml"]


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_a_linked_file_stays_a_link(here: Path) -> None:
    real = write(here / "dotfiles", COMMENTED)
    link = here / "config.toml"
    link.symlink_to(real)
    save_settings(link, {"capture.fps": 25})
    assert link.is_symlink()
    assert "fps = 25" in real.read_text(encoding="utf-8")


# -- the workspace


def test_old_relative_paths_lie_under_the_workspace(here: Path) -> None:
    settings = Settings.model_validate({"paths": {"workspace": str(here / "ws")}})
    for text in ("data/processed/x.npz", "recordings_v2/a/b.json", "recordings_v2\\a\\b.json"):
        assert settings.resolve_path(text) == here / "ws" / Path(text.replace("\\", "/"))
    assert settings.resolve_path("~/x") == Path.home() / "x"
    assert settings.resolve_path(str(here / "y")) == here / "y"


def test_a_typed_path_may_be_meant_from_here(here: Path) -> None:
    workspace = Workspace(here / "ws")
    (here / "models").mkdir()
    assert workspace.resolve("./out", cwd=here) == here / "out"
    assert workspace.resolve("models", cwd=here) == here / "models"
    assert workspace.resolve("models") == here / "ws" / "models"
    (here / "ws" / "models").mkdir(parents=True)
    assert workspace.resolve("models", cwd=here) == here / "ws" / "models"


def test_what_is_stored_in_the_workspace_is_relative(here: Path) -> None:
    workspace = Workspace(here / "ws")
    assert workspace.relative(here / "ws" / "models" / "a") == "models/a"
    assert workspace.relative(here / "elsewhere") == str(here / "elsewhere")


def test_folders_are_made_when_needed_and_a_refusal_says_what_to_do(here: Path) -> None:
    workspace = Workspace(here / "ws")
    assert not workspace.root.exists()
    assert workspace.made(workspace.models).is_dir()
    (here / "file").write_text("x", encoding="utf-8")
    blocked = Workspace(here / "file")
    with pytest.raises(WorkspaceError, match=r"cannot write to .*sessions.*; make it writable, or choose another folder"):
        blocked.made(blocked.sessions)


def test_the_default_workspace_is_the_users_data_folder(here: Path) -> None:
    assert Settings().workspace().root == user_data_folder()
    assert user_data_folder().name == "secondseat"


def test_training_schedules_are_the_documented_ones() -> None:
    training = Settings().training
    assert [training.level(name).schedule("standard") for name in LEVELS] == [(100, 32, 3e-4), (80, 64, 3e-4), (60, 128, 3e-4)]
    assert [training.level(name).schedule("quick") for name in LEVELS] == [(20, 32, 3e-4), (15, 64, 3e-4), (10, 128, 5e-4)]
    assert [training.level(name).schedule("small") for name in LEVELS] == [(150, 16, 3e-4), (120, 32, 3e-4), (100, 64, 3e-4)]
    assert [training.level(name).schedule("large") for name in LEVELS] == [(80, 64, 3e-4), (60, 128, 3e-4), (40, 256, 3e-4)]


def test_ones_own_schedule_goes_before_the_amount_of_play() -> None:
    training = Settings.model_validate({"training": {"executor": {"epochs": 7}}}).training
    assert training.executor.schedule("small") == (7, 64, 3e-4)
    assert training.executor.schedule("standard") == (7, 128, 3e-4)


def test_amounts_are_counted_in_recordings_of_half_a_minute() -> None:
    assert [amount_of(30.0 * n) for n in (0, 99, 100, 200, 201)] == ["small", "small", "standard", "standard", "large"]

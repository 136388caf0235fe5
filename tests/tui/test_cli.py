"""The command line: help, global options, errors in one line, JSON, and terminals that know few letters."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from data.settings import Settings, SettingsError
from engine import doctor
from engine.source_spec import SourceSpec
from tui import cli
from tui.commands.invocation import UsageError, duration_s, say, say_error, say_notice, shown_bytes, shown_duration, table
from tui.commands.options import source_of

SCRIPT = Path(sys.executable).parent / ("secondseat.exe" if os.name == "nt" else "secondseat")
ALL = sorted(name for group in cli.COMMANDS.values() for name in group)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty present folder and home; nothing of this machine's display or keys."""
    for name in [name for name in os.environ if name.startswith("SECONDSEAT_")] + ["DISPLAY", "WAYLAND_DISPLAY"]:
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(SCRIPT), *words], env={**os.environ, **environment}, capture_output=True, timeout=50, check=False)


# -- finding the command


def test_help_names_every_command_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in ALL)
    assert all(option in said for option, _, _ in cli.GLOBAL_OPTIONS)
    assert all(len(line) <= 100 for line in said.splitlines())
    assert said.isascii()


@pytest.mark.parametrize("name", ALL)
def test_every_command_tells_its_options(name: str, capsys: pytest.CaptureFixture[str], here: Path) -> None:
    assert cli.main([name, "--help"]) == 0
    assert f"secondseat {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["recrod"], "no such command: recrod; did you mean record?"),
        (["--fast"], "no such option: --fast"),
        (["config", "show", "--set"], "--set needs a value"),
        (["record", "--for", "soon"], "'soon' is not a time; write it as 90s, 1.5m, 2h or 1:30"),
        (["record", "--window", "x", "--monitor", "1"], "--window and --monitor: choose one of them"),
        (["record", "--source", "arena", "--monitor", "1"], "--monitor needs --source screen"),
        (["record", "--region=1,2,3"], "give left,top,width,height in px"),
        (["evaluate", "--rungs", "dreams"], "use some of state,emulated,pixels"),
    ],
)
def test_a_wrong_line_is_told_with_status_2(words: list[str], said: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_wrong_option_of_a_command_has_status_2(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "show", "--fast"]) == 2
    assert "--fast" in capsys.readouterr().err


def test_global_options_may_stand_anywhere(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["--set", "capture.fps=77", "config", "show", "--json"],
        ["config", "--set=capture.fps=77", "show", "--json"],
        ["config", "show", "--json", "--set", "capture.fps=77"],
    ):
        assert cli.main(words) == 0
        assert json.loads(capsys.readouterr().out)["capture"]["fps"] == 77


def test_a_relative_workspace_is_meant_from_here(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "show", "--json", "--workspace", "ws"]) == 0
    assert json.loads(capsys.readouterr().out)["paths"]["workspace"] == str(here / "ws")


# -- settings


def test_config_path_says_which_file_and_why(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "path"]) == 0
    assert capsys.readouterr().out == "no file: built-in defaults\n"
    (here / "config.toml").write_text("[capture]\nfps = 50\n", encoding="utf-8")
    assert cli.main(["config", "path", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": str(here / "config.toml"), "why": "the present folder"}


def test_config_check_tells_everything_that_is_wrong(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "check"]) == 0
    (here / "config.toml").write_text("[capture]\nfps = 0\nspeed = 1\n", encoding="utf-8")
    capsys.readouterr()
    assert cli.main(["config", "check", "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["problems"]) == 2


def test_a_wrong_setting_is_one_line_and_status_1(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "config.toml").write_text("[capture]\nfps = 0\n", encoding="utf-8")
    assert cli.main(["sessions", "list"]) == 1
    assert capsys.readouterr().err == "secondseat: config.toml [capture] fps: 0 is not a rate; use 1 to 240\n"
    with pytest.raises(SettingsError):
        cli.main(["sessions", "list", "--debug"])


# -- facts


def test_lists_of_an_empty_workspace_are_empty(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sessions", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert cli.main(["models", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"policies": [], "runs": []}
    assert not list((here.parent / "home").rglob("*"))  # looking makes nothing


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sessions", "show", "last"], "there is no session yet"),
        (["models", "show"], "no policy yet; record some play"),
        (["models", "rollback"], "nothing was promoted before"),
        (["status"], "start one with: secondseat headless"),
        (["stop"], "start one with: secondseat headless"),
        (["train", "all"], "record some play first: secondseat record"),
        (["train", "all", "--data-dir", "nowhere"], "there is no such folder"),
        (["evaluate"], "no policy yet"),
        (["config", "path", "--config", "nowhere.toml"], "there is no such file"),
    ],
)
def test_what_is_missing_is_told_in_one_line(
    words: list[str], said: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(here))  # no engine of the user's
    assert cli.main(words) == 1
    captured = capsys.readouterr()
    assert said in captured.err.splitlines()[-1]
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("words", "highest"),
    [
        (["train", "executor", "--seed"], 2**31 - 1),
        (["train", "all", "--batch-size"], 65_536),
        (["train", "detector", "--epochs"], 100_000),
        (["evaluate", "--first-seed"], 2**31 - 1),
        (["record", "--seed"], 2**31 - 1),
        (["demo", "--seed"], 2**31 - 1),
    ],
)
def test_a_number_that_fits_nowhere_is_refused_with_what_fits(
    words: list[str], highest: int, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (highest + 1, 10**26 - 1):
        assert cli.main([*words, str(number)]) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert f"Invalid value for '{words[-1]}': Input should be less than or equal to {highest}" in told


def test_an_unforeseen_error_is_one_line_too(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("odd\nthing")

    monkeypatch.setattr("data.catalog.list_sessions", broken)
    assert cli.main(["sessions", "list"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "unexpected KeyError" in error
    assert "--debug" in error


def test_an_unwritable_workspace_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "file").write_text("x", encoding="utf-8")
    assert cli.main(["record", "--source", "arena", "--for", "2s", "--headless", "--workspace", "file"]) == 1
    assert "cannot write to" in capsys.readouterr().err.splitlines()[-1]


# -- what is passed on


def test_train_takes_both_spellings_and_passes_them_on(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import engine.training

    told: dict[str, Any] = {}

    def train_levels(workspace: Path, level: str, **options: Any) -> engine.training.Trained:
        told.update(options, workspace=workspace, level=level)
        return engine.training.Trained({"executor": workspace / "run"}, {"executor": {"f1": 0.5}}, None, False, False)

    monkeypatch.setattr(engine.training, "train_levels", train_levels)
    (here / "mine").mkdir()
    words = "train executor --batch_size 16 --data_dir ./mine --output-dir out --epochs=3 --lr 1e-3 --device cpu --quick --resume --seed 4"
    assert cli.main([*words.split(), "--workspace", "ws", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"] == {"executor": {"f1": 0.5}}
    expected = {
        "level": "executor",
        "workspace": here / "ws",
        "batch_size": 16,
        "epochs": 3,
        "lr": 1e-3,
        "device": "cpu",
        "quick": True,
        "resume": True,
        "seed": 4,
        "data_dir": str(here / "mine"),
        "output_dir": str(here / "out"),
        "game": "arena",
    }
    assert {name: told[name] for name in expected} == expected


def test_a_stopped_training_is_no_success_and_its_warnings_are_read(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import engine.training
    from data.progress import Progress
    from engine.runtime.progress import EtaReport

    warning, figures = "uneven classes: LOOT is 90 % of all", "learns from 1.0 min, checks on 0.2 min"
    reports: list[object] = []

    def train_levels(workspace: Path, level: str, report: Any, **options: Any) -> engine.training.Trained:
        reports.append(report)
        for note in (warning, figures):
            report(Progress("strategist note", 0.0, message=note))
        runs = {"strategist": workspace / "run"}
        trained = engine.training.Trained(runs, {"strategist": {"f1": 0.5}}, None, False, level == "all", (warning, figures))
        if level == "all":
            raise engine.training.TrainingStopped(trained)
        return trained

    monkeypatch.setattr(engine.training, "train_levels", train_levels)
    assert cli.main(["train", "all", "--workspace", "ws"]) == 130
    told = capsys.readouterr()
    assert told.out == "strategist: f1 0.5\nstopped; what was trained is kept, go on with --resume\n"
    assert told.err == f"strategist: {warning}\nstrategist: {figures}\nnote: {warning}\n"
    assert cli.main(["train", "strategist", "--workspace", "ws", "--json"]) == 0
    assert [isinstance(report, EtaReport) for report in reports] == [True, False]
    assert cli.main(["train", "all", "--quick", "--preset", "large"]) == 2
    assert "--quick is a schedule of its own: leave --preset large out" in capsys.readouterr().err


def test_models_are_listed_with_who_flies_and_what_is_unfinished(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from data.checkpoint import make_card, save
    from data.models import new_run, promote
    from data.profile import ARENA_PROFILE
    from tests.data.test_models import bundle

    bundle(here / "ws", "older")
    promote(here / "ws", "older")
    card = bundle(here / "ws", "newer") / "policy.json"
    card.write_text(json.dumps({**json.loads(card.read_text()), "created": "2999-01-01T00:00:00Z"}))
    new_run(here / "ws", "tactician", "empty")
    come = make_card("executor", ARENA_PROFILE, state={"epoch": 3, "best_epoch": 3}, settings={"epochs": 60, "patience": 0})
    save(new_run(here / "ws", "executor", "long") / "checkpoint_epoch_3", {}, come)
    assert cli.main(["models", "list", "--workspace", "ws"]) == 0
    told = capsys.readouterr().out
    assert "older flies; newer is newer: secondseat models promote newer lets it fly" in told
    assert "unfinished: no epoch was finished" in told
    assert "unfinished: epoch 3 of 60 so far" in told
    assert "stopped" not in told, "it may be at work"
    assert "no such file" not in told
    assert cli.main(["models", "promote", "zz", "--workspace", "ws"]) == 1
    assert "policy zz: there is none of that name in" in capsys.readouterr().err


def test_of_a_promoted_policy_that_is_gone_is_not_said_that_it_flies(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from data.models import models_dir, promote
    from tests.data.test_models import bundle

    for name in ("kept", "gone"):
        bundle(here / "ws", name)
        promote(here / "ws", name)
    shutil.rmtree(models_dir(here / "ws") / "policies" / "gone")
    told = "gone is promoted and cannot fly (its folder is gone); nothing flies until another is promoted: secondseat models promote kept"
    assert cli.main(["models", "list", "--workspace", "ws"]) == 0
    listed = capsys.readouterr().out
    assert told in listed
    assert "flies;" not in listed
    assert cli.main(["models", "list", "--workspace", "ws", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problem"] == told
    assert cli.main(["evaluate", "--workspace", "ws"]) == 1
    assert "it is promoted and its folder is gone: promote another with secondseat models promote" in capsys.readouterr().err
    assert cli.main(["models", "promote", "kept", "--workspace", "ws"]) == 0
    assert cli.main(["models", "list", "--workspace", "ws"]) == 0
    assert "nothing flies" not in capsys.readouterr().out


def test_a_torn_promotion_file_is_told_on_a_line_and_stops_nothing(here: Path) -> None:
    from tests.data.test_models import bundle

    bundle(here / "ws", "one")
    (here / "ws" / "models" / "promoted.json").write_bytes(bytes(64))
    done = [run("models", *words, "--workspace", "ws") for words in (["list"], ["promote", "one"], ["list"])]
    assert [one.returncode for one in done] == [0, 0, 0]
    assert [b"promoted.json.corrupt: no policy is promoted now" in one.stderr for one in done] == [True, False, False]
    assert b"flies" in done[2].stdout


def spec(settings: Settings, **options: Any) -> SourceSpec:
    names = ("source", "window", "monitor", "region", "pilot", "seed", "fps", "session")
    return source_of(settings, **{name: options.get(name) for name in names}, loop=options.get("loop", False), look=options.get("look"))


def test_what_is_watched_follows_settings_and_options() -> None:
    plain = Settings()
    assert spec(plain).kind == "arena"
    assert spec(plain, pilot="novice", seed=3, fps=20) == SourceSpec("arena", "novice", 3, fps=20, monitor=spec(plain).monitor)
    assert spec(plain, window="Game").window == "Game"
    assert spec(plain, window="Game").kind == "screen"
    assert spec(plain, monitor=2).monitor == 2
    assert spec(plain, monitor=2).window == ""
    region = spec(plain, region="-1920,-200,640,360").region
    assert region is not None
    assert (region.left, region.top, region.width, region.height) == (-1920, -200, 640, 360)
    amber = Settings.model_validate({"arena": {"look": "amber"}})
    assert [spec(plain).look, spec(amber).look, spec(amber, look="reef").look] == ["classic", "amber", "reef"]
    screen = Settings.model_validate({"capture": {"source": "screen", "window": "Mine"}})
    assert spec(screen).window == "Mine"
    assert spec(screen, source="arena").kind == "arena"
    for given in ({"source": "video"}, {"session": "last"}, {"loop": True}):
        played = spec(screen, **given)
        assert (played.kind, played.session, played.loop) == ("video", "last", "loop" in given)
    for wrong, said in (
        ({"pilot": "expert"}, "--pilot needs --source arena"),
        ({"seed": 5}, "--seed needs --source arena"),
        ({"session": "last", "seed": 5}, "--seed needs --source arena"),
        ({"source": "video", "pilot": "expert"}, "--pilot needs --source arena"),
        ({"look": "reef"}, "--look needs --source arena"),
        ({"source": "video", "look": "reef"}, "--look needs --source arena"),
        ({"source": "arena", "session": "last"}, "--session needs --source video"),
        ({"source": "video", "monitor": 1}, "--monitor needs --source screen"),
    ):
        with pytest.raises(UsageError, match=said):
            spec(screen, **wrong)


def test_times_and_sizes() -> None:
    assert [duration_s(text) for text in ("90", "90s", "1.5m", "2h", "1:30", "1:00:00")] == [90, 90, 90, 7200, 90, 3600]
    for text in ("", "0", "-5s", "soon", "nan", "9999h", "1:x"):
        with pytest.raises(UsageError):
            duration_s(text)
    assert [shown_duration(s) for s in (5, 65, 3661)] == ["0:05", "1:05", "1:01:01"]
    assert [shown_bytes(n) for n in (12, 1500, 2_500_000)] == ["12 B", "1.5 kB", "2.5 MB"]


def test_tables_put_numbers_to_the_right() -> None:
    assert table(("name", "n"), [("a", 5), ("bbbbb", 10)]) == "name    n\na       5\nbbbbb  10"


def test_no_control_character_of_a_text_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert table(("na\nme",), [("\x1b[31mred\r\n",)]) == "na me\n [31mred"
    say("two\nlines\x1b[2J\a")
    say_error("\x9b1m")
    say_notice("\udcff")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("two\nlines [2J \n", "secondseat:  1m\nnote:  \n")


# -- the doctor


def test_the_doctor_never_raises_and_never_shows_a_key(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECONDSEAT_COACH_KEY", "sk-very-secret-value")
    assert cli.main(["doctor"]) == 0
    said = capsys.readouterr()
    assert "from SECONDSEAT_COACH_KEY" in said.out
    assert "very-secret" not in said.out + said.err

    def broken() -> doctor.Check:
        raise RuntimeError("no\nluck")

    monkeypatch.setattr(doctor, "_terminal", broken)
    found = {check.name: check for check in doctor.checks(Settings())}
    assert found["terminal"].text == "could not be checked: RuntimeError: no luck"


# python-xlib leaves its sockets open when a display cannot be reached
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_the_doctor_says_what_is_missing_and_what_to_do(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        pytest.skip("X11 only")
    found = {check.name: check for check in doctor.checks(Settings())}
    assert list(found) == [
        "display",
        "capture",
        "hotkeys",
        "injection",
        "detector",
        "gpu",
        "disk",
        "coach key",
        "terminal",
        "python",
        "licence",
    ]
    assert found["display"].state == "missing"
    assert "DISPLAY" in found["display"].remedy
    assert found["disk"].state == "ok"
    monkeypatch.setenv("DISPLAY", ":7654")
    assert {check.state for check in doctor.checks(Settings())[:1]} == {"missing"}
    gc.collect()
    monkeypatch.setenv("DISPLAY", "elsewhere.example:0")  # never asked: that would be the network
    assert "another machine" in doctor.checks(Settings())[0].text


@pytest.mark.x11
def test_the_doctor_finds_a_real_screen(x_display: str) -> None:
    found = {check.name: check for check in doctor.checks(Settings())}
    assert {found[name].state for name in ("display", "capture", "hotkeys", "injection")} == {"ok"}
    assert "1280x720" in found["display"].text


def test_the_doctor_names_a_detector_that_is_not_there(here: Path) -> None:
    settings = Settings.model_validate(
        {"game": "mine", "games": {"mine": {"name": "mine", "detector": "models/x.onnx"}, "arena": Settings().profile()}}
    )
    found = {check.name: check for check in doctor.checks(settings)}
    assert found["detector"].state == "missing"
    assert "x.onnx" in found["detector"].text
    assert found["detector"].remedy


# -- as a process


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "iso-8859-1", "utf-8"])
def test_output_never_fails_on_letters_the_terminal_does_not_know(here: Path, encoding: str) -> None:
    title = "🎮 ≠ ほし"
    for words in (["config", "show"], ["config", "show", "--json"], ["sessions", "show", title]):
        done = run(*words, "--set", f'capture.window="{title}"', PYTHONIOENCODING=encoding, LC_ALL="C", PYTHONUTF8="0")
        assert b"Traceback" not in done.stderr
        assert b"UnicodeEncodeError" not in done.stderr
        if "--json" in words:
            assert json.loads(done.stdout)["capture"]["window"] == title


def test_a_closed_or_broken_stdout_is_no_error(here: Path) -> None:
    if os.name != "posix":
        pytest.skip("needs a POSIX shell")
    shell = f"{SCRIPT} config show | head -n 1; {SCRIPT} --version >&-"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0
    assert done.stderr == ""


def test_without_a_terminal_the_face_says_so(here: Path) -> None:
    done = subprocess.run([str(SCRIPT)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 2
    assert "not a terminal" in done.stderr


def test_a_choice_that_is_none_is_told_in_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["record", "--source", "nonsense"]) == 2
    said = capsys.readouterr().err
    assert "Invalid value for '--source': 'nonsense' is not one of 'arena', 'screen', 'video'." in said
    assert "Value error" not in said
    assert cli.main(["labels", "set"]) == 2
    assert "Missing argument 'ID'" in capsys.readouterr().err


def test_a_question_that_nobody_answers_does_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import typer

    from tui.commands import sessions

    def ask(*words: object, **more: object) -> None:
        raise typer.Abort

    monkeypatch.setattr(sessions, "app", ask)
    assert cli.main(["sessions", "empty"]) == 1
    assert capsys.readouterr().err == "secondseat: not answered: nothing was done\n"

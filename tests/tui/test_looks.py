"""The arena's look is chosen alike by every command and form that draws it, and is kept with what was made in it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from data.profile import ARENA_PROFILE
from data.settings import Settings
from data.workspace import Workspace
from engine.commands import COMMANDS
from engine.comparison import read_evaluations
from engine.lockstep import EpisodeResult
from engine.source_spec import LOOKS
from tui import cli
from tui.parameters import FORMS, arguments, refusal


class Stop(Exception):
    """Far enough."""


@pytest.mark.parametrize("command", [["arena"], ["record"], ["fly"], ["headless"], ["demo"], ["evaluate"]], ids=lambda words: words[0])
def test_an_unknown_look_is_refused_with_those_there_are(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--workspace", str(tmp_path), *command, "--look", "pink"]) == 2
    said = capsys.readouterr().err
    assert "pink" in said
    assert all(look in said for look in LOOKS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "settings", "used"), [(["--look", "reef"], "amber", "reef"), ([], "amber", "amber"), ([], "", "classic")]
)
def test_the_demo_is_drawn_as_asked_else_as_the_settings_say(
    given: list[str], settings: str, used: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import engine.demo

    seen: list[engine.demo.DemoSettings] = []

    def run(folder: Path, report: object, asked: engine.demo.DemoSettings) -> None:
        seen.append(asked)
        raise ValueError("far enough")

    monkeypatch.setattr(engine.demo, "run_demo", run)
    file = tmp_path / "config.toml"
    file.write_text(f'[arena]\nlook = "{settings}"\n' if settings else "[arena]\n")
    assert cli.main(["--config", str(file), "--workspace", str(tmp_path / "w"), "demo", *given]) == 1
    assert [asked.look for asked in seen] == [used]


def test_the_demo_records_and_flies_in_one_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import engine.evaluate
    import engine.record_arena
    import engine.training
    from engine.demo import DemoSettings, run_demo

    looks: list[str] = []

    def record(*rest: object) -> list[object]:
        looks.append(str(rest[-2]))
        return []

    def fly(*rest: object, look: str, **more: object) -> None:
        looks.append(look)
        raise Stop

    monkeypatch.setattr("league.arena.world.warm", lambda: None)
    monkeypatch.setattr(engine.record_arena, "record_demonstrations", record)
    monkeypatch.setattr(engine.training, "train_levels", lambda *rest, **more: SimpleNamespace(interrupted=False, policy=tmp_path))
    monkeypatch.setattr(engine.evaluate, "evaluate", fly)
    with pytest.raises(Stop):
        run_demo(tmp_path, lambda progress: None, DemoSettings(look="dusk"))
    assert looks == ["dusk", "dusk"]
    with pytest.raises(ValueError, match="use one of classic, amber"):
        run_demo(tmp_path, lambda progress: None, DemoSettings(look="pink"))


def test_a_session_keeps_its_look_and_shows_it(tmp_path: Path) -> None:
    from data.session import open_session
    from engine.record_arena import record_session

    pictures: dict[str, Any] = {}
    for look in ("classic", "ice"):
        made = record_session(tmp_path, "expert", 5, 0.2, look=look)
        with open_session(tmp_path / "sessions" / made.session) as session:
            assert session.metadata.details["look"] == look
            assert ("look ice" in session.metadata.source.description) == (look == "ice")
            pictures[look] = session.frame_at(int(session.frame_times_ns()[0])).image
    assert np.abs(pictures["classic"].astype(int) - pictures["ice"]).mean() > 3
    with pytest.raises(ValueError, match="use one of classic, amber"):
        record_session(tmp_path, "expert", 5, 0.2, look="pink")


def test_an_evaluation_is_flown_in_its_look_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import engine.evaluate as evaluation
    from league.arena.looks import LOOKS as KNOWN

    def fly(policy: Path, look: str, tasks: list[evaluation.Task], workers: int, report: object) -> list[EpisodeResult]:
        assert evaluation._Worker(policy, look).eyes()._renderer._painter.look is KNOWN[look]
        return [EpisodeResult(task.seed, 1, float(task.pilot == "expert"), {"kills": 0.0}) for task in tasks]

    monkeypatch.setattr(evaluation, "_fly", fly)
    monkeypatch.setattr("engine.policy.load_arena_policy", lambda path: None)
    for rungs, kept in ((("state", "pixels"), "neon"), (("state",), "")):
        evaluation.keep(tmp_path / str(len(rungs)), evaluation.evaluate(tmp_path / "p", 2, rungs, look="neon"))
        found, wrong = read_evaluations(tmp_path / str(len(rungs)))
        assert wrong == []
        assert found[0].look == kept
    with pytest.raises(ValueError, match="use one of classic, amber"):
        evaluation.evaluate(tmp_path / "p", 2, look="pink")


def test_a_look_that_nobody_would_see_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "models" / "policies" / "one").mkdir(parents=True)
    words = ["--workspace", str(tmp_path), "evaluate", "--policy", str(tmp_path / "models" / "policies" / "one")]
    for more in (["--rungs", "state,emulated"], ["--no-fly"]):
        assert cli.main([*words, "--look", "neon", *more]) == 2
        assert "only the rung pixels sees what is drawn" in capsys.readouterr().err


def test_the_engine_evaluates_in_the_settings_look_unless_told(tmp_path: Path) -> None:
    started: list[dict[str, Any]] = []
    jobs = SimpleNamespace(start=lambda kind, title, arguments: started.append(arguments) or "j1", states=lambda: ())
    settings = Settings.model_validate({"arena": {"look": "amber"}})
    center = cast(
        "Any", SimpleNamespace(jobs=jobs, workspace=Workspace(tmp_path), settings=settings, policy_path=lambda name: tmp_path / "p")
    )
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "policy.json").write_text("{}")
    (tmp_path / "p" / "profile.json").write_text(ARENA_PROFILE.model_dump_json())
    asyncio.run(COMMANDS["evaluate"](center))
    asyncio.run(COMMANDS["evaluate"](center, look="neon"))
    assert [arguments["look"] for arguments in started] == ["amber", "neon"]
    with pytest.raises(ValueError, match="use one of classic, amber"):
        asyncio.run(COMMANDS["evaluate"](center, look="pink"))


@pytest.mark.parametrize("form", ["demo", "evaluate"])
def test_forms_refuse_an_unknown_look_with_those_there_are(form: str) -> None:
    model = FORMS[form]
    assert refusal(model, {"look": "reef"}) == {}
    assert refusal(model, {"look": "pink"})["look"].startswith("use classic, amber")
    assert "look" not in arguments(model())  # left to the settings
    assert arguments(model(look="reef"))["look"] == "reef"

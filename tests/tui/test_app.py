from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fake import FakeCenter, full_state, idle_state
from harness import face, screen_text, until
from textual.widgets import Input, Select, Static

from engine.state import Alert, JobState, RecorderState
from tui.actions import PANES
from tui.app import SecondseatApp
from tui.memory import Memory
from tui.panes.actions import ActionsPane
from tui.screens.dialogs import AskLetter, AskText
from tui.screens.form import ParametersForm
from tui.screens.live import PANE_IDS, LiveScreen


async def test_recorder_keys_and_their_letters() -> None:
    async with face() as (_, pilot, center):
        await pilot.press("f5", "f6", "r", "v", "x", "u", "f7")
        names = [name for name, _ in center.commands]
        assert names == ["record_toggle", "record_save", "record_toggle", "record_save", "record_discard", "record_undo", "record_discard"]


async def test_function_keys_work_in_dialogs_and_letters_do_not() -> None:
    async with face() as (app, pilot, center):
        await pilot.press("a")
        assert isinstance(app.screen, AskLetter)
        await pilot.press("r", "x", "f5")
        assert center.commands == [("record_toggle", {})]
        assert isinstance(app.screen, AskLetter)
        await pilot.press("escape")
        app.ask_text("Name", "", lambda _: None)
        await pilot.pause()
        assert isinstance(app.screen, AskText)
        await pilot.press("r", "x", "exclamation_mark", "f6", "f8")
        assert app.screen.query_one(Input).value == "rx!"
        assert [name for name, _ in center.commands] == ["record_toggle", "record_save", "stop_all"]


async def test_a_dialog_holds_up_neither_recording_nor_the_picture() -> None:
    """What is behind a dialog goes on: the status line tells of a recording that begins by a key or elsewhere."""
    async with face() as (app, pilot, center):
        await pilot.press("a")
        dialog = app.screen
        assert isinstance(dialog, AskLetter)
        await pilot.press("f5")
        await until(lambda: "● REC 00:00:00" in screen_text(app))
        assert "Arm and fly" in screen_text(app)
        center.state = replace(center.state, recorder=replace(center.state.recorder, duration_s=61.0))
        await until(lambda: "● REC 00:01:01" in screen_text(app))
        await pilot.press("f6")
        await until(lambda: "not recording" in screen_text(app))
        assert app.screen is dialog


async def test_arming_asks_names_the_window_and_enter_does_not_confirm() -> None:
    center = FakeCenter(replace(idle_state(), capture=replace(full_state().capture, detail="My Game")))
    async with face(center) as (app, pilot, _):
        app.update_all()
        await pilot.press("a", "enter")
        assert "My Game" in screen_text(app)
        assert center.commands == []
        await pilot.press("d")
        await until(lambda: len(center.commands) == 2)
        assert center.commands == [("arm", {"dry_run": True}), ("fly", {})]


async def test_without_a_policy_nothing_is_asked_and_the_rows_say_why() -> None:
    center = FakeCenter(replace(idle_state(), sessions=3, policies=0))
    async with face(center) as (app, pilot, _):
        app.update_all()
        await until(lambda: screen_text(app).count("needs a policy") == 2)
        await pilot.press("a")
        await until(lambda: "nothing can fly yet: t trains a policy" in screen_text(app))
        assert not isinstance(app.screen, AskLetter)
        assert center.commands == []


async def test_arming_while_flying_offers_to_disarm() -> None:
    async with face(FakeCenter(full_state())) as (app, pilot, center):
        app.update_all()
        await pilot.press("a", "d")
        assert center.commands == [("disarm", {})]


async def test_an_error_of_the_engine_is_shown_and_logged() -> None:
    center = FakeCenter()
    center.errors["arena_window"] = RuntimeError("no display; set DISPLAY")
    async with face(center) as (app, pilot, _):
        await pilot.press("p")
        await until(lambda: "no display; set DISPLAY" in screen_text(app))
        assert any(n.level == "error" and "no display" in n.text for n in app.all_notices())


async def test_an_engine_that_does_not_start_is_said_and_the_face_stays() -> None:
    from tui.app import SecondseatApp
    from tui.pump import EngineHost

    def factory():
        raise OSError("workspace /x cannot be written")

    app = SecondseatApp(EngineHost(factory))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(lambda: app.host.phase == "failed")
        await pilot.pause()
        assert "workspace /x cannot be written" in screen_text(app)
        await pilot.press("f5")
        assert "the engine did not start" in screen_text(app)


async def test_an_engine_that_ends_as_it_begins_is_not_said_to_be_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from data.settings import Settings
    from data.workspace import Workspace
    from engine.control_center import ControlCenter
    from tui.pump import EngineHost

    def recover_all(workspace: Path, progress: object) -> list[object]:
        raise LookupError("a session without a name")

    monkeypatch.setattr("data.recovery.recover_all", recover_all)
    host = EngineHost(lambda: ControlCenter(Settings(), Workspace(tmp_path)))
    host.start(lambda: None)
    await until(lambda: host.phase == "failed", 20)
    assert host.failure.startswith("it ended by itself: LookupError: a session without a name; ")
    assert host.stop() == []


async def test_the_form_is_made_from_the_model_and_remembered(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "face.json")
    async with face(memory=memory) as (app, pilot, center):
        pane = app.screen.query_one(ActionsPane)
        pane.selected = [a.id for a in app.registry.launcher()].index("train_executor")
        await pilot.press("e")
        form = app.screen
        assert isinstance(form, ParametersForm)
        epochs = form.query_one("#field-epochs", Input)
        assert epochs.placeholder == "by the amount of play: small 100, standard 60, large 40"
        form.query_one("#field-preset", Select).value = "small"
        await until(lambda: epochs.placeholder == "100, by the preset small")
        form.query_one("#field-quick", Select).value = True
        await until(lambda: epochs.placeholder == "10, as the settings say")
        await until(lambda: "quick is a schedule of its own" in str(form.query_one("#error-preset", Static).render()))
        form.query_one("#field-preset", Select).value = ""
        await pilot.press("tab", *"many")
        assert epochs.value == "many"
        assert center.commands == [], "letters are text here"
        await until(lambda: form.query_one("#error-epochs").display)
        assert "not 'many'" in screen_text(app)
        await pilot.press("ctrl+r")
        assert app.screen is form
        assert form.focused is epochs
        await pilot.press("ctrl+n")
        assert form.query_one("#field-quick", Select).value is False
        assert not form.query_one("#error-epochs").display
        epochs.value = "7"
        await pilot.press("ctrl+r")
        await until(lambda: center.commands)
        assert center.commands == [("train", {"quick": False, "epochs": 7, "resume": False, "level": "executor"})]
    kept = json.loads((tmp_path / "face.json").read_text())["parameters"]["train_executor"]
    assert kept == {"quick": False, "epochs": 7, "batch_size": None, "lr": None, "preset": "", "seed": None, "resume": False, "name": ""}


@pytest.mark.parametrize("key", ["o", "e"])
async def test_what_is_captured_is_chosen_before_anything_starts(key: str) -> None:
    async with face() as (app, pilot, center):
        pane = app.screen.query_one(ActionsPane)
        pane.selected = [a.id for a in app.registry.launcher()].index("source")
        await pilot.press(key)
        form = app.screen
        assert isinstance(form, ParametersForm)
        assert center.commands == []
        form.query_one("#field-kind", Select).value = "screen"
        await pilot.press("tab", *"Game", "ctrl+r")
        await until(lambda: center.commands)
        assert center.commands == [("source", {"kind": "screen", "window": "Game"})]
        center.commands.clear()
        await pilot.press(key)
        assert app.screen.query_one("#field-window", Input).value == "Game"
        await pilot.press("escape")
        assert center.commands == []


async def test_a_region_with_negative_numbers_can_be_typed_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "face.json"
    async with face(memory=Memory(path)) as (app, pilot, center):
        await pilot.press("o")
        form = app.screen
        assert isinstance(form, ParametersForm)
        form.query_one("#field-kind", Select).value = "screen"
        window, region = (form.query_one(f"#field-{name}", Input) for name in ("window", "region"))
        assert window.placeholder == "", "the settings name no window"
        for typed, told in (("-1920,-200,640", "left,top,width,height"), ("0,0,4,4", "at least 16x16")):
            region.value = typed
            await pilot.press("ctrl+r")
            assert told in screen_text(app)
            assert "alue error" not in screen_text(app), "our own words, without the library's"
        window.value, region.value = "Game", "-1920,-200,640,360"
        await pilot.press("ctrl+r")
        assert "leave one of them empty" in screen_text(app)
        window.value = ""
        await pilot.press("ctrl+r")
        await until(lambda: center.commands)
        assert center.commands == [("source", {"kind": "screen", "region": "-1920,-200,640,360"})]
    assert json.loads(path.read_text())["parameters"]["source"]["region"] == "-1920,-200,640,360"


async def test_only_an_explicit_key_writes_the_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown keys and comments stay; what a form keeps goes into the state folder alone."""
    from data.settings_io import load_settings

    config = tmp_path / "config.toml"
    config.write_text("# mine\ncolour = 3\n[training.executor]\nepochs = 'many'  # later\n")
    monkeypatch.chdir(tmp_path)
    before = config.read_text()
    settings, notices = load_settings(config, strict=False)
    assert len(notices) == 2
    async with face() as (app, pilot, center):
        app.config = str(config)
        app.use_settings(settings, notices)
        await until(lambda: sum("config.toml" in notice.text for notice in app.all_notices()) == 2)
        pane = app.screen.query_one(ActionsPane)
        pane.selected = [a.id for a in app.registry.launcher()].index("train_executor")
        await pilot.press("e", "tab", *"12", "ctrl+r")
        await until(lambda: center.commands)
        assert config.read_text() == before
        await pilot.press("e", "ctrl+o")
        await until(lambda: config.read_text() != before)
        assert config.read_text() == before.replace("'many'", "12")
        await until(lambda: "in force from the next start" in screen_text(app))


async def test_the_launcher_by_keys_and_mouse() -> None:
    async with face() as (app, pilot, center):
        pane = app.screen.query_one(ActionsPane)
        await pilot.press("down", "down", "enter")
        assert center.commands.pop() == ("record_discard", {})
        y = next(y for y, row in enumerate(pane._rows) if not isinstance(row, str) and row.id == "demo")
        await pilot.click(pane, offset=(6, y + 1))
        assert pane.chosen.id == "demo"
        assert center.commands == [], "one click chooses"
        await pilot.click(pane, offset=(6, y + 1), times=2)
        await until(lambda: center.commands)
        assert center.commands.pop() == ("source", {"kind": "arena", "pilot": "expert"})
        await pilot.click(pane, offset=(6, y + 1), button=3)
        await until(lambda: isinstance(app.screen, ParametersForm))
        assert center.commands == []


async def test_panes_full_size_and_memory(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "face.json")
    async with face(memory=memory) as (app, pilot, _):
        live = app.screen
        assert isinstance(live, LiveScreen)
        await pilot.press("4", "z")
        await pilot.pause()
        assert live.current == "buffer"
        assert live.pane("buffer").size.width > 100
        assert not live.pane("actions").display
        await pilot.press("z")
        await pilot.pause()
        assert live.pane("actions").display
    async with face(memory=Memory(tmp_path / "face.json")) as (app, _, _):
        assert isinstance(app.screen, LiveScreen)
        assert app.screen.current == "buffer"


async def test_columns_are_resized_kept_and_reset(tmp_path: Path) -> None:
    path = tmp_path / "face.json"
    async with face(memory=Memory(path)) as (app, pilot, _):
        live = app.screen
        assert isinstance(live, LiveScreen)
        await pilot.press("1", "greater_than_sign", "greater_than_sign", "7", "less_than_sign", "4", "less_than_sign")
        await pilot.pause()
        assert [live.pane(name).outer_size.width for name in ("actions", "losses", "buffer")] == [34, 50, 36]
        assert live.pane("log").outer_size.height == 7
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert sum(live.pane(name).outer_size.width for name in ("actions", "losses", "buffer")) == 100
        await pilot.press("z", "greater_than_sign")
        assert "one pane is shown alone" in screen_text(app)
    async with face(memory=Memory(path)) as (app, pilot, _):
        live = app.screen
        assert isinstance(live, LiveScreen)
        assert live.full
        await pilot.press("0")
        await pilot.pause()
        assert [live.pane(name).outer_size.width for name in ("actions", "losses", "buffer")] == [30, 52, 38]
    assert not Memory(path).flag("full")


async def test_sizes_from_small_to_wide() -> None:
    async with face(size=(40, 10)) as (app, pilot, _):
        assert "enlarge the terminal" in screen_text(app)
        assert "rec off" in screen_text(app)
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "[1 Act]" in screen_text(app)
        await pilot.resize_terminal(120, 36)
        await pilot.pause()
        assert "6 System" in screen_text(app)


@pytest.mark.parametrize("pane_id", PANE_IDS)
async def test_a_small_terminal_opens_with_the_pane_that_was_left(pane_id: str, tmp_path: Path) -> None:
    memory = Memory(tmp_path / "face.json")
    memory.keep(pane=pane_id)
    async with face(size=(80, 24), memory=memory) as (app, pilot, _):
        await pilot.pause()
        assert agreed(app) == pane_id
        await pilot.press("1")
        await pilot.pause()
        assert agreed(app) == "actions"
    assert Memory(tmp_path / "face.json").text("pane", "") == "actions"


async def test_tab_body_and_focus_agree_however_the_pane_is_chosen() -> None:
    async with face(size=(80, 24)) as (app, pilot, _):
        seen: list[str] = []
        for key in ("tab", "tab", "shift+tab", "7", "tab", "shift+tab"):
            await pilot.press(key)
            await pilot.pause()
            seen.append(agreed(app))
        assert seen == ["losses", "now", "losses", "log", "actions", "log"]
        await pilot.press("4")
        await pilot.click("#log")
        await pilot.pause()
        assert agreed(app) == "log"
        for width, height in ((40, 10), (80, 24), (120, 36), (80, 24)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
        assert agreed(app) == "log"
        await pilot.press("question_mark")
        await pilot.press("escape")
        await pilot.pause()
        assert agreed(app) == "log"


def agreed(app: SecondseatApp) -> str:
    """The pane that the tab line, the body and the focus agree on."""
    live = app.screen
    assert isinstance(live, LiveScreen)
    text = screen_text(app)
    tab = next(name for key, name, _, short in PANES if f"[{key} {short}]" in text)
    body = {name for name in PANE_IDS if live.pane(name).size.height > 5}
    assert (live.current, live.focused, body) == (tab, live.pane(tab), {tab})
    return tab


async def test_quit_asks_only_when_something_runs() -> None:
    async with face() as (app, pilot, center):
        await pilot.press("q")
        await until(lambda: center.stopped == 1)
        assert app.leaving
    state = replace(idle_state(), recorder=RecorderState("recording"))
    async with face(FakeCenter(state)) as (app, pilot, center):
        app.update_all()
        await pilot.press("q", "escape")
        assert not app.leaving
        await pilot.press("q", "w")
        assert center.stopped == 0
        center.state = idle_state()
        await until(lambda: center.stopped == 1)


async def test_stopping_a_job_asks() -> None:
    async with face(FakeCenter(full_state())) as (app, pilot, center):
        app.update_all()
        await pilot.press("K", "enter")
        assert center.commands == []
        await pilot.press("y")
        assert center.commands == [("job_stop", {"id": "j2"})]


async def test_list_screens_open_and_close() -> None:
    async with face(FakeCenter(full_state())) as (app, pilot, _):
        for key, word in (("i", "118 GB free"), ("g", "Full log"), ("s", "Sessions"), ("question_mark", "Record")):
            await pilot.press(key)
            await pilot.pause()
            assert word in screen_text(app), key
            assert len(app.screen_stack) == 3
        await pilot.press("escape")
        assert isinstance(app.screen, LiveScreen)


async def test_letters_are_looked_up_on_the_page_of_keys_and_not_done() -> None:
    async with face(FakeCenter(full_state())) as (app, pilot, center):
        await pilot.press("question_mark")
        await pilot.pause()
        await pilot.press("x", "r", "j")
        assert center.commands == []
        assert "r: Record. Here keys are only looked up" in screen_text(app)
        await pilot.press("exclamation_mark")
        assert [name for name, _ in center.commands] == ["stop_all"], "what must always work does"
        await pilot.press("f5")
        assert center.commands[-1][0] == "record_toggle"
        await pilot.press("escape", "r")
        assert len(center.commands) == 3


async def test_the_next_step_leads_on() -> None:
    center = FakeCenter()
    async with face(center) as (app, pilot, _):
        assert app.next_step == "demo"
        center.state = replace(center.state, capture=full_state().capture)
        app.update_all()
        assert app.next_step == "record"
        center.state = replace(center.state, recorder=RecorderState("unsaved"))
        app.update_all()
        assert app.next_step == "save"
        center.state = replace(center.state, recorder=RecorderState(), sessions=1)
        app.update_all()
        assert app.next_step == "train_all"
        center.state = replace(center.state, jobs=(JobState("j", "train", "train all", "done"),))
        app.update_all()
        assert app.next_step == "arm"
        await pilot.pause()
        assert "lets it fly" in screen_text(app)


async def test_settings_remap_keys_choose_a_theme_and_ring() -> None:
    from data.settings import Settings

    settings = Settings.model_validate(
        {
            "keys": {"record": "f9", "face": {"sessions": "o", "gone": "k"}},
            "face": {"theme": "nord", "refresh_hz": 10},
            "recorder": {"notice": "bell"},
            "actuator": {"stop_key": "f4"},
        }
    )
    async with face() as (app, pilot, center):
        app.use_settings(settings, ("config.toml: colour is not known",))
        await until(lambda: app.theme == "nord")
        await pilot.press("f5", "s")
        assert center.commands == []
        assert isinstance(app.screen, LiveScreen)
        await pilot.press("f9", "r", "f4", "o")
        assert [name for name, _ in center.commands] == ["record_toggle", "record_toggle", "stop_all"]
        assert not isinstance(app.screen, LiveScreen)
        said = " ".join(notice.text for notice in app.all_notices())
        assert "colour is not known" in said
        assert "gone" in said
        rung: list[str] = []
        app.bell = lambda: rung.append(app.newest.alert.kind)  # type: ignore[method-assign]
        center.state = replace(center.state, alert=Alert(1, "start", "recording"))
        await until(lambda: rung)
        center.state = replace(center.state, recorder=RecorderState("recording"))
        await pilot.pause(0.6)
        assert rung == ["start"]

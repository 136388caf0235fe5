from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fake import FakeCenter, full_state, idle_state
from harness import face, screen_text, until
from textual.widgets import Input, Select

from engine.state import Alert, JobState, RecorderState
from tui.memory import Memory
from tui.panes.actions import ActionsPane
from tui.panes.log import LogPane
from tui.panes.losses import LossesPane
from tui.screens.dialogs import AskLetter, AskText
from tui.screens.form import ParametersForm
from tui.screens.live import LiveScreen


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


async def test_the_form_is_made_from_the_model_and_remembered(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "face.json")
    async with face(memory=memory) as (app, pilot, center):
        pane = app.screen.query_one(ActionsPane)
        pane.selected = [a.id for a in app.registry.launcher()].index("train_executor")
        await pilot.press("e")
        form = app.screen
        assert isinstance(form, ParametersForm)
        epochs = form.query_one("#field-epochs", Input)
        assert epochs.placeholder == "60, as the settings say"
        form.query_one("#field-quick", Select).value = True
        await until(lambda: epochs.placeholder == "10, as the settings say")
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
    assert kept == {"quick": False, "epochs": 7, "batch_size": None, "lr": None, "seed": None, "resume": False}


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


async def test_the_log_level_is_kept_and_the_footer_follows_the_focus(tmp_path: Path) -> None:
    path = tmp_path / "face.json"
    async with face(FakeCenter(full_state()), memory=Memory(path)) as (app, pilot, _):
        assert "/ filter  L level" not in screen_text(app).splitlines()[-1]
        await pilot.press("7", "L")
        text = screen_text(app)
        assert "/ filter  L level" in text.splitlines()[-1]
        assert "3 frames dropped" in text
        assert "recording 20261127" not in text
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        footer = screen_text(app).splitlines()[-1]
        assert footer.startswith(" F5 record  F6 save  F7 discard  F8 STOP ALL  ? keys  / filter")
        assert footer.endswith("quit")
    async with face(FakeCenter(full_state()), memory=Memory(path)) as (app, _, _):
        assert "7 Log  warning+" in screen_text(app)


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


async def test_the_log_filters_follows_and_has_no_control_characters() -> None:
    from engine.state import Notice

    notices = tuple(Notice(1.7e9 + i, "info", "test", f"line {i} \x1b[31mred") for i in range(50))
    center = FakeCenter(replace(idle_state(), notices=notices))
    async with face(center) as (app, pilot, _):
        pane = app.screen.query_one("#log", LogPane)
        text = screen_text(app)
        assert "line 49" in text
        assert "line 10" not in text
        assert "\x1b" not in text
        await pilot.press("7", "up", "up")
        assert not pane.following
        assert "line 49" not in screen_text(app)
        await pilot.press("f")
        assert "line 49" in screen_text(app)
        await pilot.press("slash", *"line 7", "enter")
        await pilot.pause()
        text = screen_text(app)
        assert "line 7 " in text
        assert "line 49" not in text


async def test_the_full_log_shows_whole_files_filters_and_copies(tmp_path: Path) -> None:
    from tui.output import OutputFile

    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "secondseat.log"
    log.write_text(
        "".join(f"2026-11-27 20:31:{i % 60:02d},123 {'ERROR' if i == 40 else 'INFO'} engine.rig line {i}\n" for i in range(3000))
    )
    (tmp_path / "output.log").write_text("printed by a library \x1b[31m\n")
    async with face(FakeCenter(idle_state(str(tmp_path)))) as (app, pilot, _):
        app.output = OutputFile(tmp_path / "output.log")
        copied: list[str] = []
        app.copy_to_clipboard = copied.append  # type: ignore[method-assign]
        await pilot.press("g")
        await until(lambda: "3,000 lines" in screen_text(app))
        assert "20:31:59 INFO rig        line 2999" in screen_text(app)
        await pilot.press("home")
        await until(lambda: "line 0" in screen_text(app))
        with log.open("a") as file:
            file.write("2026-11-27 20:31:00,123 WARNING engine.rig one more\n")
        await until(lambda: "3,001 lines" in screen_text(app))
        assert "line 0" in screen_text(app), "it holds still"
        await pilot.press("L", "L")
        await until(lambda: "line 40" in screen_text(app) and "line 41" not in screen_text(app))
        await pilot.press("c", "n")
        assert copied[0].startswith("20:31:40 FAIL rig        line 40")
        await until(lambda: "printed by a library  [31m" in screen_text(app))


async def test_the_palette_runs_what_it_finds() -> None:
    async with face() as (app, pilot, center):
        await pilot.press("ctrl+p")
        await pilot.press(*"undo")
        await pilot.pause(0.5)
        await pilot.press("enter")
        await until(lambda: center.commands, 5.0)
        assert center.commands == [("record_undo", {})]
        assert isinstance(app.screen, LiveScreen)


async def test_the_palette_reaches_what_a_pane_does() -> None:
    async with face() as (app, pilot, _):
        pane = app.screen.query_one(LossesPane)
        await pilot.press("ctrl+p", *"logarithmic")
        await pilot.pause(0.5)
        await pilot.press("enter")
        await until(lambda: pane.chart.log_scale, 5.0)
        assert app.focused is pane


async def test_the_keys_of_the_place_come_first_and_are_searched() -> None:
    async with face() as (app, pilot, _):
        await pilot.press("7", "question_mark")
        await pilot.pause()
        lines = screen_text(app).splitlines()
        assert "In the log  (here)" in lines[2]
        await pilot.press("slash", *"train tact", "enter")
        await until(lambda: "/train tact" in screen_text(app))
        text = screen_text(app)
        assert "train_tactician" in text
        assert "train_executor" not in text
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, LiveScreen)


async def test_list_screens_open_and_close() -> None:
    async with face(FakeCenter(full_state())) as (app, pilot, _):
        for key, word in (("question_mark", "Record"), ("i", "118 GB free"), ("g", "Full log"), ("s", "Sessions")):
            await pilot.press(key)
            await pilot.pause()
            assert word in screen_text(app), key
            assert len(app.screen_stack) == 3
        await pilot.press("escape")
        assert isinstance(app.screen, LiveScreen)


async def test_hidden_panes_and_unchanged_charts_are_not_drawn(tmp_path: Path) -> None:
    run = tmp_path / "models" / "executor" / "run1"
    run.mkdir(parents=True)
    (run / "metrics.jsonl").write_text("".join(json.dumps({"step": i, "train_loss": 1 / (i + 1)}) + "\n" for i in range(50)))
    async with face(FakeCenter(idle_state(str(tmp_path)))) as (app, pilot, _):
        pane = app.screen.query_one(LossesPane)
        await until(lambda: app.runs.picture is not None)
        assert "[executor " in screen_text(app)
        drawn, lines = app.runs.picture, pane.lines
        for _ in range(5):
            app.update_all()
        assert app.runs.picture is drawn
        assert pane.lines is lines
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert pane not in app._live_panes()


async def test_the_chart_is_looked_at_by_keys_and_mouse(tmp_path: Path) -> None:
    for name in ("run1", "run2"):
        run = tmp_path / "models" / "executor" / name
        run.mkdir(parents=True)
        rows = [{"step": i, "train_loss": 1 / (i + 1), "gradient_norm": i, "time_s": 1.7e9 + 36 * i} for i in range(100)]
        (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    memory = Memory(tmp_path / "face.json")
    async with face(FakeCenter(idle_state(str(tmp_path))), memory=memory) as (app, pilot, _):
        pane = app.screen.query_one(LossesPane)
        await until(lambda: "[executor " in screen_text(app))
        await pilot.press("2", "l", "m", "X", "plus", "left_square_bracket")
        await until(lambda: app.runs.picture is not None and app.runs.picture.view.span == 0.5)
        assert pane.chart.log_scale
        assert pane.chart.by_time
        assert not pane.chart.tail
        assert "smooth .9  x time  log" in screen_text(app)
        end = pane.chart.end
        await pilot.mouse_down(pane, offset=(30, 5))
        await pilot.hover(pane, offset=(20, 5))
        await pilot.mouse_up(pane, offset=(20, 5))
        assert pane.chart.end > end
        await pilot.press("slash", *"norm", "enter")
        await until(lambda: "gradient norm 99" in screen_text(app))
        await pilot.press("enter")
        await pilot.pause()
        assert "the running or the newest run" in screen_text(app)
        await pilot.press("down", "space", "down", "space", "escape")
        await until(lambda: app.runs.picture is not None and len(app.runs.picture.runs) == 2)
        await until(lambda: "executor/run1 gradient" in screen_text(app))
    kept = Memory(tmp_path / "face.json")
    assert kept.flag("losses_log")
    assert sorted(kept.text("losses_runs", "").split(",")) == ["executor/run1", "executor/run2"]


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


async def test_a_theme_is_seen_while_choosing_and_kept_by_enter(tmp_path: Path) -> None:
    path = tmp_path / "face.json"
    async with face(memory=Memory(path)) as (app, pilot, _):
        await pilot.press("T", "down")
        await pilot.pause()
        assert app.theme == "secondseat-light"
        assert app.look.palette.good == "#0b57a4"
        await pilot.press("escape")
        await until(lambda: app.theme == "secondseat")
        await pilot.press("T", "down", "down", "enter")
        await until(lambda: isinstance(app.screen, LiveScreen))
        assert app.theme == "secondseat-contrast"
    async with face(memory=Memory(path)) as (app, _, _):
        assert app.theme == "secondseat-contrast"


async def test_the_status_line_shows_the_last_hotkey_while_there_is_room() -> None:
    center = FakeCenter(replace(idle_state(), system=replace(idle_state().system, last_hotkey="F5 20:31:07 (x11)")))
    async with face(center) as (app, pilot, _):
        assert "heard F5 20:31:07 (x11)" in screen_text(app).splitlines()[0]
        await pilot.resize_terminal(70, 24)
        await pilot.pause()
        first = screen_text(app).splitlines()[0]
        assert "heard" not in first
        assert "you fly" in first


async def test_the_key_that_an_empty_pane_names_does_what_it_says_there() -> None:
    async with face() as (_, pilot, center):
        await pilot.press("4", "p")
        await until(lambda: center.commands)
        assert center.commands == [("arena_window", {})]


async def test_the_chosen_row_is_reversed_and_headings_are_dim() -> None:
    async with face() as (app, _, _):
        pane = app.screen.query_one(ActionsPane)
        app.update_all()

        def styles(y: int) -> list[object]:
            return [segment.style for segment in pane.render_line(y) if segment.text.strip()]

        assert all(style.reverse for style in styles(1))
        assert not any(style.reverse for style in styles(2))
        dim = app.console.get_style(app.look.palette.dim).color
        assert [style.color for style in styles(0)] == [dim]

"""What the panes and list screens show and do, each with its keys and the mouse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from fake import FakeCenter, full_state, idle_state
from harness import face, screen_text, until

from tui.memory import Memory
from tui.panes.actions import ActionsPane
from tui.panes.log import LogPane
from tui.panes.losses import LossesPane
from tui.screens.live import LiveScreen


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


async def test_a_narrow_status_line_says_what_its_figures_count() -> None:
    state = replace(full_state(), checks=(("display", "missing", "none"), ("capture", "missing", "none")))
    async with face(FakeCenter(state)) as (app, pilot, _):
        await pilot.resize_terminal(66, 24)
        await pilot.pause()
        first = screen_text(app).splitlines()[0]
        assert "◆ train 38%" in first
        assert "! 2 checks" in first


async def test_a_check_tells_its_whole_remedy_on_a_narrow_terminal() -> None:
    remedy = "no display: DISPLAY is not set: run inside a desktop session, or set DISPLAY to the screen's name, e.g. :0"
    center = FakeCenter(replace(idle_state(), checks=(("display", "missing", remedy), ("disk", "ok", "118 GB free"))))
    async with face(center, size=(80, 24)) as (app, pilot, _):
        await pilot.press("i")
        await until(lambda: "118 GB free" in screen_text(app))
        inside = [line.strip("│ ") for line in screen_text(app).splitlines() if line.startswith("│")]
        assert remedy in " ".join(filter(None, inside))


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

import json
import os
from pathlib import Path

from tui.chart_view import ChartView
from tui.curves import RunCurves, find_runs
from tui.runs import RunWatcher
from tui.skills import rows
from tui.tail import Tail


def write(folder: Path, *lines: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return folder


def test_half_a_last_line_waits(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1, "train_loss": 2.0}\n{"step": 2, "tra')
    run = RunCurves(tmp_path)
    assert run.read()
    assert list(run.curves["train_loss"].values) == [2.0]
    assert not run.read()
    with path.open("ab") as file:
        file.write(b'in_loss": 1.5, "val_loss": 1.7, "learning_rate": 0.001}\n')
    assert run.read()
    assert list(run.curves["train_loss"].steps) == [1.0, 2.0]
    assert run.curves["val_loss"].least() == (0, 1.7)
    assert run.figure("learning_rate") == 0.001
    assert run.bad_lines == 0


def test_bad_lines_are_counted_and_values_that_are_none_left_out(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(
        'nonsense\n[1]\n{"step": 3, "train_loss": null}\n{"step": 4, "val_loss": NaN}\n{"step": 5, "train_loss": 1}\n'
    )
    run = RunCurves(tmp_path)
    run.read()
    assert run.bad_lines == 2
    assert list(run.curves) == ["train_loss"]
    assert list(run.curves["train_loss"].steps) == [5.0]
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 9, "train_loss": \xff}\n' + bytes(8) + b'\n{"step": 10, "train_loss": 0.5}\n')
    run.read()
    assert (run.bad_lines, run.figure("train_loss")) == (4, 0.5)


def test_a_file_that_began_anew_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(b"one\ntwo\n")
    tail = Tail(path)
    assert tail.read() == (True, [b"one", b"two"])
    path.write_bytes(b"new\n")
    assert tail.read() == (True, [b"new"])
    path.unlink()
    assert tail.read() == (False, [])


def test_rows_of_epochs_carry_figures_and_time_counts_from_the_first_line(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"step": 1, "epoch": 1, "train_loss": 3.0, "time_s": 1.7e9},
        {"step": 2, "epoch": 1, "train_loss": 2.0, "time_s": 1.7e9 + 1800},
        {"epoch": 1, "step": 2, "figures": {"val_loss": 2.5, "train_loss": 2.5, "accuracy": 0.7, "note": "x"}, "time_s": 1.7e9 + 3600},
    )
    run = RunCurves(tmp_path)
    run.read()
    assert list(run.curves["train_loss"].values) == [3.0, 2.0]
    assert list(run.curves["train_loss"].hours) == [0.0, 0.5]
    assert list(run.curves["val_loss"].hours) == [1.0]
    assert run.figure("accuracy") == 0.7
    assert "note" not in run.curves


def test_smoothing_goes_on_where_it_stopped(tmp_path: Path) -> None:
    run = RunCurves(write(tmp_path, *({"step": i, "train_loss": float(i % 7)} for i in range(50))))
    run.read()
    run.curves["train_loss"].smoothed(0.9)
    write(tmp_path, *({"step": i, "train_loss": float(i % 7)} for i in range(50, 90)))
    run.read()
    whole = RunCurves(tmp_path)
    whole.read()
    assert list(run.curves["train_loss"].smoothed(0.9)) == list(whole.curves["train_loss"].smoothed(0.9))
    assert list(run.curves["train_loss"].smoothed(0.0)) == [float(i % 7) for i in range(90)]


def test_the_running_run_goes_first_and_others_can_be_chosen(tmp_path: Path) -> None:
    for i, level in enumerate(("executor", "tactician")):
        write(tmp_path / level / "run1", {"step": 1, "train_loss": float(i)}, {"step": 2, "train_loss": float(i)})
    os.utime(tmp_path / "executor/run1/metrics.jsonl", (1, 1))
    assert [path.parent.name for path in find_runs(tmp_path)] == ["tactician", "executor"]
    watcher = RunWatcher(lambda: tmp_path, lambda: tmp_path / "executor/run1")
    watcher.ask(ChartView(width=40, height=10))
    watcher.poll()
    assert watcher.draw()
    assert watcher.picture is not None
    assert watcher.picture.runs == ("executor/run1",)
    assert not watcher.draw(), "nothing changed"
    watcher.choose(("tactician/run1", "executor/run1", "gone/run9"))
    assert watcher.draw()
    assert watcher.picture.runs == ("tactician/run1", "executor/run1")
    assert [item.name for item in watcher.picture.legend] == ["tactician/run1 train", "executor/run1 train"]
    assert find_runs(tmp_path / "missing") == []


def test_other_quantities_are_chosen_by_their_names_and_the_best_is_marked(tmp_path: Path) -> None:
    epochs = [
        {"step": i, "figures": {"val_loss": abs(i - 6) + 1.0, "accuracy": i / 10, "recall_loot": 0.1}, "time_s": 60.0 * i}
        for i in range(10)
    ]
    write(tmp_path / "strategist/a", *epochs)
    watcher = RunWatcher(lambda: tmp_path, lambda: None)
    watcher.poll()
    watcher.ask(ChartView(width=60, height=12))
    watcher.draw()
    assert watcher.picture is not None
    assert watcher.picture.legend[0].best == ("6", 1.0)
    assert watcher.picture.chart is not None
    assert any(cell == "@" for _, cells in watcher.picture.chart.rows for cell, _ in cells)
    watcher.ask(ChartView(width=60, height=12, words="acc, recall", by_time=True))
    watcher.draw()
    assert [item.name for item in watcher.picture.legend] == ["accuracy", "recall loot"]
    assert watcher.picture.chart is not None
    assert watcher.picture.chart.x_labels.split()[-1] == "9m"
    watcher.ask(ChartView(width=60, height=12, words="nothing"))
    watcher.draw()
    assert watcher.picture.chart is None
    assert "accuracy" in watcher.picture.names


def test_zoom_pan_and_tail() -> None:
    view = ChartView()
    near = view.zoomed(0.5).zoomed(0.5)
    assert near.window(0, 100) == (75.0, 100.0)
    left = near.panned(-1.0)
    assert left.window(0, 100) == (50.0, 75.0)
    assert not left.tail
    assert left.zoomed(2.0).window(0, 100) == (37.5, 87.5)
    assert left.panned(-9).window(0, 100) == (0.0, 25.0)
    assert left.panned(9).tail
    assert near.zoomed(100.0).window(0, 100) == (0.0, 100.0)


def test_each_level_has_a_figure_beside_what_needs_no_skill(tmp_path: Path) -> None:
    write(tmp_path / "strategist/a", {"step": 1, "figures": {"val_loss": 1.0, "balanced_accuracy": 0.81}})
    write(tmp_path / "tactician/a", {"step": 1, "figures": {"val_loss": 1.0, "on_target": 0.2, "nearest": 0.31}})
    executor = write(tmp_path / "executor/a", {"step": 1, "figures": {"val_loss": 1.0}})
    onsets: dict[str, dict[str, float]] = {"mouse_left": {"f1_2": 0.78, "true": 9}, "e": {"true": 0}}
    card = {"points": {"point_px": 18.4, "persistence_px": 61.0}, "onsets": onsets}
    (executor / "best_model.json").write_text(json.dumps(card))
    watcher = RunWatcher(lambda: tmp_path, lambda: None)
    watcher.poll()
    table = [(row.skill.word, row.now, row.base, row.better) for row in rows(watcher.levels)]
    assert table == [
        ("mode", ".81", "", None),
        ("target", ".20", ".31", False),
        ("cursor", "18px", "61px", True),
        ("click", ".78", "", None),
    ]
    onsets["mouse_left"]["even_2"] = 0.41
    (executor / "best_model.json").write_text(json.dumps(card))
    shares = {"balanced_accuracy": 0.45, "recall_fight": 0.9, "recall_explore": 0.0}
    write(tmp_path / "strategist/b", {"step": 1, "figures": {"val_loss": 1.0, **shares}})
    watcher.poll()
    mode, *_, click = rows(watcher.levels)
    assert (click.now, click.base, click.better) == (".78", ".41", True)
    assert (mode.base, mode.better) == (".50", False), "of two modes that occur one answer finds half"
    (executor / "best_model.json").write_text("{broken")
    watcher.poll()
    assert [row.skill.word for row in rows(watcher.levels)] == ["mode", "target", "cursor", "click"], "a half-written card changes nothing"


def test_the_losses_of_a_league_are_curves_of_each_learner(tmp_path: Path) -> None:
    run = tmp_path / "league" / "now"
    run.mkdir(parents=True)
    rows = [
        {"iteration": k + 1, "learner": f"main-{k % 2 + 1}", "frames": 640, "losses": {"value": 0.5 / (k + 1), "kl": 0.1, "lag": 1}}
        for k in range(4)
    ]
    rows[0]["losses"] = {}
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    reader = RunCurves(run)
    assert reader.read()
    assert list(reader.curves["main-2_value_loss"].values) == [0.25, 0.125]
    assert "main-1_kl" in reader.curves
    assert "frames" not in reader.curves
    watcher = RunWatcher(lambda: tmp_path / "models", lambda: run)
    watcher.poll()
    watcher.ask(ChartView(width=40, height=10))
    assert watcher.draw()
    assert watcher.picture is not None
    assert sorted(one.name for one in watcher.picture.legend) == ["main-1 value", "main-2 value"]

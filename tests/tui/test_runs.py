import json
from pathlib import Path

from tui.runs import RunReader, RunWatcher, Tail, find_runs


def test_half_a_last_line_waits(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1, "train_loss": 2.0}\n{"step": 2, "tra')
    reader = RunReader(tmp_path)
    curves = reader.read()
    assert curves is not None
    assert curves.train == ((1.0,), (2.0,))
    assert reader.read() is None
    with path.open("ab") as file:
        file.write(b'in_loss": 1.5, "val_loss": 1.7, "learning_rate": 0.001}\n')
    curves = reader.read()
    assert curves is not None
    assert curves.train == ((1.0, 2.0), (2.0, 1.5))
    assert curves.best_val() == (2.0, 1.7)
    assert curves.learning_rate == 0.001
    assert curves.bad_lines == 0


def test_bad_lines_are_counted_and_missing_values_are_gaps(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(
        'nonsense\n[1]\n{"step": 3, "train_loss": null}\n{"step": 4, "val_loss": NaN}\n{"step": 5, "train_loss": 1}\n'
    )
    curves = RunReader(tmp_path).read()
    assert curves is not None
    assert curves.bad_lines == 2
    assert curves.train == ((5.0,), (1.0,))
    assert curves.val == ((), ())


def test_a_file_that_began_anew_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(b"one\ntwo\n")
    tail = Tail(path)
    assert tail.read() == (True, [b"one", b"two"])
    path.write_bytes(b"new\n")
    assert tail.read() == (True, [b"new"])
    path.unlink()
    assert tail.read() == (False, [])


def test_the_running_run_goes_first(tmp_path: Path) -> None:
    for i, level in enumerate(("executor", "tactician")):
        folder = tmp_path / level / "run1"
        folder.mkdir(parents=True)
        (folder / "metrics.jsonl").write_text(json.dumps({"step": 1, "train_loss": float(i)}) + "\n")
    import os

    os.utime(tmp_path / "executor/run1/metrics.jsonl", (1, 1))
    assert [path.parent.name for path in find_runs(tmp_path)] == ["tactician", "executor"]
    watcher = RunWatcher(lambda: tmp_path, lambda: tmp_path / "executor/run1")
    watcher.poll()
    assert watcher.curves.run == "executor/run1"
    watcher.shift(1)
    watcher.poll()
    assert watcher.curves.run == "tactician/run1"
    assert find_runs(tmp_path / "missing") == []


def test_rows_of_epochs_carry_figures(tmp_path: Path) -> None:
    rows = [
        {"step": 1, "epoch": 1, "train_loss": 3.0},
        {"step": 2, "epoch": 1, "train_loss": 2.0},
        {"epoch": 1, "step": 2, "figures": {"val_loss": 2.5, "train_loss": 2.5, "accuracy": 0.7, "note": "x"}},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    curves = RunReader(tmp_path).read()
    assert curves is not None
    assert curves.train == ((1.0, 2.0), (3.0, 2.0))
    assert curves.val == ((2.0,), (2.5,))
    assert curves.figures == (("accuracy", 0.7),)

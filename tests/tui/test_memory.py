import json
from pathlib import Path

from tui.memory import Memory


def test_unknown_keys_stay_and_wrong_ones_are_said(tmp_path: Path) -> None:
    path = tmp_path / "face.json"
    path.write_text(json.dumps({"pane": 3, "future": {"x": 1}, "parameters": {"train_all": {"epochs": 5, "later": True}}}))
    memory = Memory(path)
    assert memory.text("pane", "actions", ("actions", "log")) == "actions"
    assert len(memory.notices) == 1
    memory.keep(pane="log")
    memory.keep_parameters("train_all", {"epochs": 7})
    kept = json.loads(path.read_text())
    assert kept["future"] == {"x": 1}
    assert kept["pane"] == "log"
    assert kept["parameters"]["train_all"] == {"epochs": 7, "later": True}


def test_a_broken_file_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "face.json"
    path.write_text("{broken")
    memory = Memory(path)
    assert "face.json.bad" in memory.notices[0]
    assert (tmp_path / "face.json.bad").read_text() == "{broken"
    memory.keep(pane="log")
    assert json.loads(path.read_text()) == {"pane": "log"}


def test_a_folder_that_cannot_be_written_is_a_notice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    memory = Memory(tmp_path / "file" / "face.json")
    memory.keep(pane="log")
    assert "not remembered" in memory.notices[-1]

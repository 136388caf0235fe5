"""Third-party libraries are kept off the network before they are imported."""

import json
import os
import sys
from pathlib import Path

import pytest

from data.offline import stay_offline


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("YOLO_OFFLINE", "YOLO_AUTOINSTALL", "YOLO_CONFIG_DIR"):
        monkeypatch.setenv(name, "")  # restored afterwards, whatever is set meanwhile
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "secondseat" / "ultralytics"


def test_switches_settings_and_font_are_there_before_the_import(cache: Path) -> None:
    stay_offline()
    assert (os.environ["YOLO_OFFLINE"], os.environ["YOLO_AUTOINSTALL"]) == ("1", "false")
    assert os.environ["YOLO_CONFIG_DIR"] == str(cache)
    settings = json.loads((cache / "Ultralytics" / "settings.json").read_text(encoding="utf-8"))
    assert not any(settings[name] for name in ("sync", "clearml", "comet", "mlflow", "wandb"))
    assert (cache / "Ultralytics" / "Arial.ttf").stat().st_size > 100_000


def test_settings_switched_on_again_are_switched_off_and_the_rest_is_kept(cache: Path) -> None:
    stay_offline()
    path = cache / "Ultralytics" / "settings.json"
    path.write_text(json.dumps({"sync": True, "datasets_dir": "x"}), encoding="utf-8")
    stay_offline()
    settings = json.loads(path.read_text(encoding="utf-8"))
    assert settings["sync"] is False
    assert settings["datasets_dir"] == "x"
    path.write_text("{", encoding="utf-8")
    stay_offline()
    assert json.loads(path.read_text(encoding="utf-8"))["sync"] is False


def test_an_unwritable_cache_is_replaced_by_a_folder_of_this_process(cache: Path) -> None:
    cache.parent.parent.mkdir(exist_ok=True)
    cache.parent.write_text("a file where the folder should be", encoding="utf-8")
    stay_offline()
    assert os.environ["YOLO_CONFIG_DIR"] != str(cache)
    assert Path(os.environ["YOLO_CONFIG_DIR"]).is_dir()


def test_telemetry_is_replaced_by_something_that_does_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "openvino_telemetry", raising=False)
    stay_offline()
    telemetry = sys.modules["openvino_telemetry"].Telemetry("app", version="1")
    assert telemetry.send_event("category", "action", "label") is None
    monkeypatch.delitem(sys.modules, "openvino_telemetry")

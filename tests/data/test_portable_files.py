"""Files as Windows treats them: readers that hold names, locks of bytes, device names, folders of its own."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from data import files, models
from data.checkpoint import CheckpointError
from data.files import replace_path, write_whole
from data.locks import Locked, SessionLock, edit_lock, try_lock, unlock
from data.names import name_refusal
from data.workspace import user_config_folder, user_data_folder


@pytest.fixture
def on_windows(monkeypatch: pytest.MonkeyPatch) -> FakeMsvcrt:
    fake = FakeMsvcrt()
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(sys, "platform", "win32")
    return fake


class FakeMsvcrt(ModuleType):
    """``locking`` as Windows has it: bytes from the present place on, refused while another descriptor has them."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.locked: dict[tuple[int, int], int] = {}

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        assert count == 1
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        byte = (os.fstat(descriptor).st_ino, place)
        if mode == self.LK_UNLCK:
            assert self.locked.pop(byte) == descriptor
        elif self.locked.setdefault(byte, descriptor) != descriptor:
            raise PermissionError(13, "Permission denied")


class Held:
    """``os.replace`` while somebody reads the file, for so many tries."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tries: int) -> None:
        self.left, real = tries, os.replace

        def replace(source: Any, target: Any) -> None:
            if self.left:
                self.left -= 1
                raise PermissionError(13, "The process cannot access the file because it is being used by another process")
            real(source, target)

        monkeypatch.setattr(os, "replace", replace)


def test_a_name_that_a_reader_holds_is_tried_again(tmp_path: Path, on_windows: object, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metadata.json"
    path.write_text("old")
    held = Held(monkeypatch, 5)
    write_whole(path, b"new")
    assert (path.read_text(), held.left) == ("new", 0)
    assert [p.name for p in tmp_path.iterdir()] == ["metadata.json"]


def test_a_name_that_is_held_for_long_is_an_error_and_the_old_file_stands(
    tmp_path: Path, on_windows: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "HELD_S", 0.1)
    path = tmp_path / "metadata.json"
    path.write_text("old")
    Held(monkeypatch, 10_000)
    began_s = time.monotonic()
    with pytest.raises(PermissionError):
        write_whole(path, b"new")
    assert 0.1 <= time.monotonic() - began_s < 1.0
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["metadata.json"], "nothing is left lying about"


def test_elsewhere_a_refusal_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch, 1)
    with pytest.raises(PermissionError):
        replace_path(tmp_path / "a", tmp_path / "b")
    assert held.left == 0


def test_locks_are_exclusive_and_do_not_keep_anybody_from_reading(tmp_path: Path, on_windows: FakeMsvcrt) -> None:
    path = tmp_path / "lock"
    path.write_bytes(b"owner")
    with path.open("r+b") as first, path.open("ab") as second:
        assert try_lock(first)
        assert first.read() == b"owner", "the place in the file is as before"
        assert all(place > 1_000_000 for _, place in on_windows.locked), "Windows keeps locked bytes from being read"
        assert not try_lock(second)
        unlock(first)
        assert try_lock(second)
        unlock(second)


def test_a_dead_writers_session_is_taken_over_under_the_lock(tmp_path: Path, on_windows: FakeMsvcrt) -> None:
    (tmp_path / "writer.lock").write_text('{"pid": 1, "started": "0", "boot": "host:gone", "namespace": ""}')
    os.utime(tmp_path / "writer.lock", (0, 0))
    lock = SessionLock(tmp_path)
    assert on_windows.locked == {}
    with pytest.raises(Locked, match="is writing this session"):
        SessionLock(tmp_path)
    lock.release()
    folder = tmp_path / "session"
    with edit_lock(folder):
        assert len(on_windows.locked) == 1


@pytest.mark.parametrize(
    "name", ["con", "NUL", "aux.json", "COM1", "lpt9.tar.gz", "con .txt", "a:b", "what?", "a/b", "x\\y", "tab\t", "end.", "end ", ""]
)
def test_names_that_windows_cannot_keep_are_refused_everywhere(name: str) -> None:
    assert name_refusal(name)


@pytest.mark.parametrize("name", ["console", "com10", "mine", "v1.2", ".hidden", "Ünïcode 🎮 ほし", "nul_"])
def test_other_names_are_kept(name: str) -> None:
    assert name_refusal(name) == ""


def test_a_policy_gets_no_name_that_is_a_device_or_differs_in_case_only(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is the name of a device on Windows"):
        models.check_name("con.v2")
    (tmp_path / "Mine").mkdir()
    with pytest.raises(CheckpointError, match="exists already"):
        models.write_policy(tmp_path / "mine", {}, None)  # type: ignore[arg-type]


def test_folders_lie_where_windows_programs_keep_them(on_windows: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment = {"LOCALAPPDATA": "/c/Users/me/AppData/Local", "APPDATA": "/c/Users/me/AppData/Roaming", "XDG_DATA_HOME": "/elsewhere"}
    assert user_data_folder(environment) == Path("/c/Users/me/AppData/Local/secondseat")
    assert user_config_folder(environment) == Path("/c/Users/me/AppData/Roaming/secondseat")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_data_folder({}) == tmp_path / "AppData" / "Local" / "secondseat"
    assert user_config_folder({}) == tmp_path / "AppData" / "Roaming" / "secondseat"

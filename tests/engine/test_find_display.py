"""Looking for the game's screen: the user's own authority opens it, and what is missing is said."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.find_display import find_display, use
from tests.support.x11 import wait_until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="X11 only"),
    pytest.mark.skipif(shutil.which("xauth") is None, reason="needs xauth"),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "run").mkdir()
    return tmp_path


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[tuple[str, Path, Path]]:
    """A screen that lets in only who has its authority file: its name, that file, a folder that lists only its socket."""
    authority, sockets = tmp_path / "server-authority", tmp_path / "sockets"
    sockets.mkdir()
    reader, writer = os.pipe()
    cookie = "00112233445566778899aabbccddeeff"
    subprocess.run(["xauth", "-f", str(authority), "add", ":0", ".", cookie], check=True, capture_output=True)
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "320x200x24", "-nolisten", "tcp", "-noreset", "-auth", str(authority)]
    server = subprocess.Popen(command, pass_fds=(writer,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    try:
        number = os.read(reader, 16).decode().strip()
        subprocess.run(["xauth", "-f", str(authority), "add", f":{number}", ".", cookie], check=True, capture_output=True)
        wait_until(lambda: Path(f"/tmp/.X11-unix/X{number}").exists(), 5, "the socket")
        (sockets / f"X{number}").touch()
        yield f":{number}", authority, sockets
    finally:
        os.close(reader)
        server.terminate()
        server.wait(5)


# python-xlib leaves its socket open when a display refuses it
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.x11
def test_the_users_own_authority_opens_a_screen(home: Path, locked: tuple[str, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    display, authority, sockets = locked
    refused = find_display(sockets)
    assert refused.display == ""
    assert f"{display} (" in refused.text
    assert "set XAUTHORITY" in refused.text
    (home / "run" / "gdm").mkdir()
    kept = home / "run" / "gdm" / "Xauthority"
    shutil.copy(authority, kept)
    kept.chmod(0o600)
    found = find_display(sockets)
    assert (found.display, found.authority) == (display, str(kept))
    assert f"display {display} was found" in found.text
    monkeypatch.setenv("DISPLAY", "")
    monkeypatch.setenv("XAUTHORITY", "")
    use(found)
    assert (os.environ["DISPLAY"], os.environ["XAUTHORITY"]) == (display, str(kept))
    gc.collect()


@pytest.mark.x11
def test_dead_sockets_are_passed_over(home: Path, x_server_display: str, tmp_path: Path) -> None:
    sockets = tmp_path / "sockets"
    sockets.mkdir()
    for name in ("X7654", f"X{x_server_display[1:]}", "X-lock", "Xfoo"):
        (sockets / name).touch()
    assert find_display(sockets).display == x_server_display


def test_where_there_is_no_screen_at_all_it_is_said(home: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    for folder in (tmp_path / "none", tmp_path / "missing"):
        found = find_display(folder)
        assert found.display == ""
        assert "holds no X server's socket" in found.text

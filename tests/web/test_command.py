"""``secondseat web`` as a person types it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from engine.remote import Remote, endpoint_path

PROGRAM = [sys.executable, "-m", "tui.cli"]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *words], capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::"])
def test_other_hosts_are_refused_with_the_line_for_a_tunnel(own_folders: Path, host: str) -> None:
    done = run("web", "--host", host, "--port", "8123")
    assert done.returncode == 2
    assert f"--host {host} is refused" in done.stderr
    assert "ssh -L 8123:127.0.0.1:8123 " in done.stderr


def test_without_an_engine_it_says_how_to_get_one(own_folders: Path) -> None:
    done = run("web")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no engine runs" in done.stderr
    assert "secondseat web --start" in done.stderr


@pytest.mark.timeout(90)
def test_it_starts_an_engine_serves_the_face_and_leaves_the_engine_behind(own_folders: Path) -> None:
    process = subprocess.Popen([*PROGRAM, "web", "--start", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("started a headless engine")
        address = process.stdout.readline().strip()
        port = address.split(":")[2].split("/")[0]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address.partition("?")[0], timeout=10)
        answer = urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(address, timeout=10)
        assert b"static/js/textual.js" in answer.read()
        second = run("web", "--port", port)
        assert second.returncode == 1
        assert f"port {port} of 127.0.0.1: Address already in use; --port 0 takes a free one" in second.stderr
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, err) == (0, "")
        assert out.endswith("ended; the engine goes on\n")
        token = address.partition("token=")[2]
        assert token not in out
        written = [path for path in own_folders.rglob("*") if path.is_file() and token in path.read_text(errors="replace")]
        assert written == []
        remote = Remote(endpoint_path())
        assert remote.alive()
        engine = psutil.Process(remote.hello().pid)
        remote.stop()
        engine.wait(20)
    finally:
        process.kill()
        process.communicate(timeout=10)


@pytest.mark.skipif(os.name != "posix", reason="a browser that is a shell script")
@pytest.mark.timeout(60)
def test_open_hands_the_address_over_in_a_file_that_only_the_person_reads(own_folders: Path) -> None:
    from tests.support.served import FakeEngine, serving

    browser = own_folders / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" >{own_folders}/asked\ncp -p "${{1#file://}}" {own_folders}/page\n', encoding="utf-8")
    browser.chmod(0o755)
    environment = {**os.environ, "BROWSER": str(browser), "DISPLAY": ":none"}
    with serving(FakeEngine(), endpoint_path()):
        process = subprocess.Popen([*PROGRAM, "web", "--open", "--port", "0"], stdout=subprocess.PIPE, text=True, env=environment)
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            page = own_folders / "page"
            while not page.exists() or not page.stat().st_size:
                assert process.poll() is None
            assert address in page.read_text()
            assert page.stat().st_mode & 0o077 == 0
            assert "token" not in (own_folders / "asked").read_text()
            process.terminate()
            assert process.wait(20) == 0
            assert not list((own_folders / "run" / "secondseat").glob("web-*"))
        finally:
            process.kill()
            process.communicate(timeout=10)

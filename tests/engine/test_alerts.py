"""Alerts: told once, in order, by programs that may be missing or fail, and never waited for."""

from __future__ import annotations

import io
import logging
import shutil
import stat
import subprocess
import threading
import time
import wave
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.alert_desktop import Notifications
from engine.alert_sound import NOTES, RATE_HZ, tone
from engine.alerts import AlertError, Alerts, Notice
from engine.state import Alert
from tests.support.x11 import wait_until


class Said:
    """A teller that notes, and may be slow or fail."""

    def __init__(self, error: str = "", hold: threading.Event | None = None) -> None:
        self.told: list[str] = []
        self.closed = False
        self._error, self._hold = error, hold

    def tell(self, alert: Alert) -> None:
        if self._hold is not None:
            self._hold.wait(10)
        if self._error:
            raise AlertError(self._error)
        self.told.append(f"{alert.number} {alert.kind}: {alert.text}")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def alerts() -> Iterator[Callable[..., Alerts]]:
    made: list[Alerts] = []

    def make(teller: Said | None = None, notice: Notice = "sound") -> Alerts:
        made.append(Alerts(notice, lambda _notice: teller) if teller is not None else Alerts(notice))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes the only programs there are: each writes its arguments, one a line, and ends with a status."""

    def make(*names: str, status: int = 0) -> Path:
        log = tmp_path / "log"
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for name in names:
            path = folder / name
            path.write_text(f'#!/bin/sh\nfor word in {name} "$@"; do echo "$word" >> {log}; done\necho no such thing >&2\nexit {status}\n')
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(folder))
        return log

    return make


def test_what_happens_is_told_in_order_and_numbered(alerts: Callable[..., Alerts]) -> None:
    said = Said()
    it = alerts(said)
    it.tell("start", "recording")
    it.tell("save", "saved x")
    wait_until(lambda: len(said.told) == 2)
    assert said.told == ["1 start: recording", "2 save: saved x"]
    assert it.newest == Alert(2, "save", "saved x")
    it.stop()
    assert said.closed


def test_a_slow_teller_is_never_waited_for(alerts: Callable[..., Alerts]) -> None:
    hold = threading.Event()
    it = alerts(Said(hold=hold))
    began = time.perf_counter()
    for _ in range(1000):
        it.tell("start", "x")
    assert time.perf_counter() - began < 0.5
    assert it.newest.number == 1000
    hold.set()


def test_a_failing_teller_is_told_once_and_ends(alerts: Callable[..., Alerts], caplog: pytest.LogCaptureFixture) -> None:
    said = Said("no sound card")
    it = alerts(said)
    for _ in range(20):
        it.tell("start", "x")
    wait_until(lambda: said.closed)
    time.sleep(0.05)
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING] == [
        "[recorder] notice = 'sound' does not work here: no sound card"
    ]
    began = time.perf_counter()
    it.stop()
    assert time.perf_counter() - began < 1


def test_the_bots_controls_are_told_when_they_change_hands(alerts: Callable[..., Alerts]) -> None:
    said = Said()
    it = alerts(said)
    for phase in ("disarmed", "armed", "flying", "paused", "flying", "yielded", "flying", "stopped", "disarmed"):
        it.follow_bot(phase, phase)  # type: ignore[arg-type]
    wait_until(lambda: len(said.told) == 4)
    assert said.told == ["1 arm: armed", "2 disarm: yielded", "3 arm: flying", "4 disarm: stopped"]


@pytest.mark.parametrize("kind", sorted(NOTES))
def test_every_kind_has_a_short_tone_of_its_own_that_does_not_click(kind: str) -> None:
    with wave.open(io.BytesIO(tone(kind))) as file:  # type: ignore[arg-type]
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE_HZ)
        assert 0.05 < file.getnframes() / RATE_HZ < 0.5
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    assert 5000 < np.abs(samples).max() < 12000
    assert abs(int(samples[0])) < 50
    assert abs(int(samples[-1])) < 700
    assert len({tone(k) for k in NOTES}) == len(NOTES)


def test_a_tone_is_played_by_the_first_player_there_is_and_leaves_no_file(
    alerts: Callable[..., Alerts], programs: Callable[..., Path]
) -> None:
    log = programs("aplay", "paplay")
    it = alerts()
    it.tell("save", "saved")
    words = wait_until(lambda: log.exists() and log.read_text().splitlines(), 3)
    assert words[0] == "paplay"
    assert Path(words[1]).name == "save.wav"
    it.stop()
    assert not Path(words[1]).parent.exists()


def test_no_player_and_one_that_fails_say_what_to_do(
    alerts: Callable[..., Alerts], programs: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    programs()
    alerts().tell("save", "x")
    wait_until(lambda: "none of pw-play, paplay, aplay, afplay is installed; install one, or use 'bell'" in caplog.text)
    programs("aplay", status=1)
    alerts().tell("save", "x")
    wait_until(lambda: "aplay failed: no such thing" in caplog.text)


def test_a_notification_carries_any_text_as_one_argument(programs: Callable[..., Path]) -> None:
    log = programs("notify-send")
    text = "-- saved 'x' $(reboot) `y` ほし"
    Notifications().tell(Alert(1, "failure", text))
    assert log.read_text().splitlines()[-3:] == ["--", "Secondseat", text]
    assert "--urgency=critical" in log.read_text()
    programs("notify-send", status=1)
    with pytest.raises(AlertError, match="notify-send failed: no such thing"):
        Notifications().tell(Alert(1, "save", text))


def test_without_a_program_for_notifications_it_says_what_to_install(programs: Callable[..., Path]) -> None:
    programs()
    with pytest.raises(AlertError, match="install libnotify-bin"):
        Notifications().tell(Alert(1, "save", "x"))


@pytest.mark.skipif(not (shutil.which("gdbus") and shutil.which("dbus-daemon")), reason="needs gdbus and dbus-daemon")
def test_gdbus_takes_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a bus with no notification service, it is just that what is told."""
    bus = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--print-address=1"], stdout=subprocess.PIPE, text=True)
    try:
        assert bus.stdout is not None
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.stdout.readline().strip())
        (tmp_path / "gdbus").symlink_to(str(shutil.which("gdbus")))
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(AlertError, match=r"gdbus failed: .*ServiceUnknown"):
            Notifications().tell(Alert(1, "save", "it's saved"))
    finally:
        bus.terminate()
        bus.wait(5)
        if bus.stdout is not None:
            bus.stdout.close()

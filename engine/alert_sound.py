"""Alerts as short tones, made here and played by whatever the platform plays sounds with."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import wave
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from engine.alert_program import run
from engine.alerts import AlertError
from engine.state import Alert, AlertKind

RATE_HZ: Final = 22_050
_NOTE_S: Final = 0.11
_FADE_S: Final = 0.012
_LOUDNESS: Final = 0.25
_LOW, _MIDDLE, _HIGH = 440.0, 587.33, 880.0

NOTES: Final[dict[AlertKind, tuple[float, ...]]] = {
    "start": (_MIDDLE, _HIGH),
    "resume": (_HIGH,),
    "pause": (_LOW,),
    "stop": (_HIGH, _MIDDLE),
    "save": (_MIDDLE, _HIGH, _HIGH),
    "discard": (_MIDDLE, _LOW),
    "failure": (_LOW, _LOW, _LOW),
    "arm": (_LOW, _MIDDLE, _HIGH),
    "disarm": (_HIGH, _MIDDLE, _LOW),
}
"""Rising: something begins. Falling: it ends. Low and repeated: something is wrong."""

PLAYERS: Final = (("pw-play",), ("paplay",), ("aplay", "-q"), ("afplay",))


def tone(kind: AlertKind) -> bytes:
    """A mono WAV file of the kind's notes, each faded in and out."""
    t = np.arange(round(_NOTE_S * RATE_HZ)) / RATE_HZ
    envelope = np.minimum(1.0, np.minimum(t, _NOTE_S - t) / _FADE_S)
    notes = [np.sin(2 * np.pi * hz * t) * envelope for hz in NOTES[kind]]
    samples = np.asarray(np.concatenate(notes) * _LOUDNESS * 32767, np.int16)
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE_HZ)
        out.writeframes(samples.astype("<i2").tobytes())
    return file.getvalue()


class Tones:
    """Plays an alert's notes. The files live as long as this does."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._player: tuple[str, ...] = ()

    def tell(self, alert: Alert) -> None:
        if alert.kind not in NOTES:
            return
        if sys.platform == "win32":
            _play_on_windows(tone(alert.kind))
            return
        run((*self._found_player(), str(self._file(alert.kind))))

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _found_player(self) -> tuple[str, ...]:
        if not self._player:
            self._player = next((player for player in PLAYERS if shutil.which(player[0])), ())
        if not self._player:
            names = ", ".join(player[0] for player in PLAYERS)
            raise AlertError(f"none of {names} is installed; install one, or use 'bell' or 'desktop'")
        return self._player

    def _file(self, kind: AlertKind) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="secondseat-tones-"))
        path = self._folder / f"{kind}.wav"
        if not path.exists():
            path.write_bytes(tone(kind))
        return path


def _play_on_windows(sound: bytes) -> None:
    winsound: Any = import_module("winsound")
    try:
        winsound.PlaySound(sound, winsound.SND_MEMORY | winsound.SND_NODEFAULT)
    except RuntimeError as error:
        raise AlertError(f"Windows cannot play it ({error}); use 'bell' or 'desktop'") from error

"""A recorder whose clock the test turns, offered pictures, steps and keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from data.metadata import Source
from data.profile import ARENA_PROFILE
from data.schema import Frame, InputEvent
from engine.recorder import Recorder, RecordingSettings
from tests.support.sessions import FRAME_NS, picture, step


class Clock:
    """A clock that the test turns; one that stands still makes every time in a session exact."""

    def __init__(self) -> None:
        self.now = 100_000_000_000

    def __call__(self) -> int:
        return self.now


class RecorderRig:
    def __init__(self, workspace: Path, prebuffer_s: float = 0.0, fps: float = 30.0, **options: Any) -> None:
        self.workspace = workspace
        self.clock = Clock()
        self.said: list[str] = []
        self.alerts: list[str] = []
        self.number = 0
        settings = RecordingSettings(workspace, ARENA_PROFILE, Source(kind="arena", description="test"), fps=fps, prebuffer_s=prebuffer_s)
        self.recorder = Recorder(
            settings,
            lambda level, text: self.said.append(f"{level}: {text}"),
            alert=lambda kind, _text: self.alerts.append(kind),
            now_ns=self.clock,
            **options,
        )
        self.recorder.start()

    def play(self, frames: int, *, steps: bool = True) -> int:
        """Offers so many frames (each with a step), 33 ms apart; returns how many were taken in."""
        taken = 0
        for _ in range(frames):
            self.clock.now += FRAME_NS
            seen = Frame(self.number, self.clock.now, picture(self.number % 128))
            taken += self.recorder.offer_frame(seen)
            if steps:
                row = step(self.number)
                observation = replace(row.observation, time_ns=self.clock.now, frame_time_ns=self.clock.now, frame_number=self.number)
                self.recorder.offer_step(replace(row, observation=observation))
            self.number += 1
        return taken

    def key(self, kind: str, name: str) -> bool:
        return self.recorder.offer_event(InputEvent(self.clock.now, kind, name))  # type: ignore[arg-type]

    def press(self, *keys: str) -> None:
        for key in keys:
            assert self.recorder.wait()  # in real time pictures are in the ring long before the next key
            self.recorder.press(key)  # type: ignore[arg-type]
        assert self.recorder.wait()

    def folders(self) -> list[Path]:
        sessions = self.workspace / "sessions"
        return sorted(sessions.iterdir()) if sessions.exists() else []


MakeRig = Callable[..., RecorderRig]

"""From a picture to what a policy may see."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from data.profile import GameProfile
from data.schema import Frame, Observation, Tracks
from engine.perception.detections import Detections
from engine.perception.detector import Detector, load_detector
from engine.perception.gauges import GaugeReader
from engine.perception.tracker import Tracker


class Perceiver:
    """Detector, tracker and gauges of one profile, run once per tick on the newest picture. For one thread."""

    def __init__(
        self,
        profile: GameProfile,
        device: str = "auto",
        detector: Detector | None = None,
        workspace: Path | None = None,
        detect: bool = True,
    ) -> None:
        """detector: one that is already loaded; else the profile's own is (``detect=False``, or a profile that names
        none: no tracks, gauges only). workspace: where a profile's relative weights lie.

        Raises engine.perception.card.DetectorError when the profile's detector cannot be used.
        """
        self.profile = profile
        self.detector = detector if detector is not None else load_detector(profile, device, workspace) if detect else None
        self.found = Detections.empty()
        """What the detector found in the newest picture, before tracking."""
        self.tracker = Tracker(profile.roles())
        """What follows that over time."""
        self._gauges = GaugeReader(profile)
        self._timings: dict[str, float] = {"detector": 0.0, "tracker": 0.0, "gauges": 0.0}
        self._last: tuple[int, int] | None = None
        self._seen: Tracks = Tracks.empty()
        self._status = self._gauges.read(None)

    @property
    def runtime(self) -> str:
        """What the detector runs on; empty without one."""
        return self.detector.runtime if self.detector is not None else ""

    @property
    def timings_ms(self) -> Mapping[str, float]:
        """Milliseconds of the newest ``perceive`` by stage: detector, tracker, gauges."""
        return self._timings

    def reset(self) -> None:
        """Forget what was followed (another source, a gap, a new session). Track ids go on counting."""
        self.tracker.reset()
        self._last, self._seen, self._status = None, Tracks.empty(), self._gauges.read(None)

    def perceive(self, frame: Frame | None, time_ns: int, cursor: tuple[float, float] | None, focus: bool = True) -> Observation:
        """The observation of a tick that began at ``time_ns`` on ``frame``, the newest picture.

        The same frame again (a source slower than the ticks) is not looked at twice. None (nothing captured yet): no
        tracks, nothing readable, frame number -1.
        """
        if frame is None:
            return Observation(time_ns, time_ns, -1, self._gauges.read(None), Tracks.empty(), cursor, focus)
        key = frame.number, frame.time_ns
        if key != self._last:
            self._look(frame)
            self._last = key
        else:
            self._timings = {"detector": 0.0, "tracker": 0.0, "gauges": 0.0}
        return Observation(time_ns, frame.time_ns, frame.number, self._status, self._seen, cursor, focus)

    def _look(self, frame: Frame) -> None:
        t0 = time.perf_counter()
        self.found = self.detector.detect(frame.image) if self.detector is not None else Detections.empty()
        t1 = time.perf_counter()
        height, width = frame.image.shape[:2]
        if self.detector is not None and width:
            self._seen = self.tracker.update(self.found, frame.time_ns, height / width)
        t2 = time.perf_counter()
        self._status = self._gauges.read(frame.image)
        t3 = time.perf_counter()
        self._timings = {"detector": (t1 - t0) * 1e3, "tracker": (t2 - t1) * 1e3, "gauges": (t3 - t2) * 1e3}

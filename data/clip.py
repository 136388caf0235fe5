"""A stretch of a session as an mp4 that any player shows, with the input drawn into it on demand."""

from __future__ import annotations

import secrets
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from data.metadata import SessionError
from data.progress import Progress, Report, ignore
from data.schema import Image
from data.session_reader import open_session
from data.untyped import pyav

_OPTIONS: Final = {"preset": "veryfast", "crf": "20"}
_MS: Final = Fraction(1, 1000)
_REPORT_PICTURES: Final = 10


class ClipError(RuntimeError):
    """A clip cannot be written; says why and what to do."""


def export_clip(
    folder: Path, start_s: float, end_s: float | None, path: Path, report: Report = ignore, *, overlay: bool = False, replace: bool = False
) -> int:
    """Writes the pictures of a session folder between two moments (s from its start; None: to its end) to ``path``.

    Every picture keeps its own time. overlay: draw pointer, clicks and keys. replace: a file of that name may be
    replaced. Returns the number of pictures; when it fails or is stopped, nothing is left behind.
    Raises ClipError, data.metadata.SessionError, OSError.
    """
    if path.suffix.lower() != ".mp4":
        raise ClipError(f"{path.name}: a clip is an mp4; name it something.mp4")
    if path.exists() and not replace:
        raise ClipError(f"{path} exists; name another file, or allow it to be replaced with --replace")
    if not path.parent.is_dir():
        raise ClipError(f"{path.parent}: there is no such folder")
    if end_s is not None and end_s <= start_s:
        raise ClipError(f"from {start_s:g} s to {end_s:g} s is no stretch; give two times, the later one second")
    new = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.tmp.mp4")
    try:
        count = _write(folder, start_s, end_s, new, report, overlay)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    return count


def _write(folder: Path, start_s: float, end_s: float | None, path: Path, report: Report, overlay: bool) -> int:
    from data.overlay import Overlay

    with open_session(folder) as session:
        times = session.frame_times_ns()
        begin_ns = session.start_ns + round(start_s * 1e9)
        stop_ns = int(times[-1]) + 1 if end_s is None and len(times) else session.start_ns + round((end_s or 0.0) * 1e9)
        first, last = (int(place) for place in np.searchsorted(times, (begin_ns, stop_ns)))
        if first >= last:
            raise SessionError(f"{session.id}: no picture lies there; it is {session.metadata.duration_s:.1f} s long")
        drawing = Overlay(session) if overlay else None
        clip = Mp4(path, session.metadata.width_px, session.metadata.height_px, session.metadata.rates.measured_fps)
        try:
            for done, frame in enumerate(session.frames(first, last), 1):
                image = drawing.draw(frame.image, frame.time_ns) if drawing is not None else frame.image
                clip.add(image, (frame.time_ns - int(times[first])) // 1_000_000)
                if done % _REPORT_PICTURES == 0:
                    report(Progress("pictures", done / (last - first), message=f"{done} of {last - first}"))
        finally:
            clip.close()
    return last - first


class Mp4:
    """An mp4 of H.264 in 4:2:0, which every player takes; an odd width or height loses its last column or row."""

    def __init__(self, path: Path, width_px: int, height_px: int, fps: float) -> None:
        self._container: Any = pyav().open(str(path), "w", options={"movflags": "faststart"})
        stream = self._container.add_stream("libx264", rate=Fraction(max(1, round(fps))), options=dict(_OPTIONS))
        stream.width, stream.height = self.size = (width_px // 2 * 2, height_px // 2 * 2)
        stream.pix_fmt = "yuv420p"
        stream.time_base = stream.codec_context.time_base = _MS
        self._stream: Any = stream

    def add(self, image: Image, time_ms: int) -> None:
        width, height = self.size
        frame = pyav().VideoFrame.from_ndarray(np.ascontiguousarray(image[:height, :width]), format="rgb24")
        frame.pts, frame.time_base = time_ms, _MS
        for packet in self._stream.encode(frame):
            self._container.mux(packet)

    def close(self) -> None:
        try:
            for packet in self._stream.encode():
                self._container.mux(packet)
        finally:
            self._container.close()

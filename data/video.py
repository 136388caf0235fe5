"""Crash-safe video: a Matroska writer whose file is readable up to the last second, and an exact reader.

Choices: H.264 ultrafast crf 23 zerolatency on one thread (no picture is delayed, none is reordered), a key frame at
least once a second of recorded time, Matroska clusters of a second that are flushed. Every picture carries its own
time in ms; a variable rate is normal. Small pictures are kept in 4:4:4, since things of 3 px lose their colour in
4:2:0; larger ones are kept in 4:2:0.

Sizes: 4:2:0 needs even sizes. A picture of odd width or height is padded by repeating its last column or row; the
true size is kept in the file (tag ``SECONDSEAT_SIZE``) and the reader crops to it. The size of a file is the size of
its first picture; later pictures of other sizes are scaled to it, so that positions in 0..1 stay right.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.encoder import CODEC, KEY_FRAME_MS, MS, OPTIONS, EncodedFrame, PictureEncoder, check_size
from data.files import StreamFile
from data.schema import Image
from data.untyped import pyav

SIZE_TAG: Final = "SECONDSEAT_SIZE"
_LAST_SHOWN_MS: Final = 1000
"""The end of a whole file is at most this long after its last picture."""


class VideoError(ValueError):
    """A video that cannot be read at all; says which file and why."""


class VideoWriter:
    """Writes RGB pictures with their times into one Matroska file.

    path: must not exist. width_px, height_px: 16 to 8192. fps: the rate asked, used only as a hint to the encoder.
    Raises ValueError for a size that cannot be encoded, OSError when the disk refuses.
    """

    def __init__(self, path: Path, width_px: int, height_px: int, fps: float) -> None:
        av = pyav()
        try:
            check_size(width_px, height_px)
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from error
        self.size = (width_px, height_px)
        self.frames = 0
        self.last_pts_ms = -1
        self.file = StreamFile(path)
        options = {"cluster_time_limit": "1000", "flush_packets": "1"}
        self._container = av.open(self.file, "w", format="matroska", options=options)
        self._container.metadata[SIZE_TAG] = f"{width_px}x{height_px}"
        self._stream = self._container.add_stream(CODEC, rate=Fraction(max(1, round(fps))), options=dict(OPTIONS))
        self._stream.time_base = MS
        self._encoder = PictureEncoder(width_px, height_px, fps, self._stream.codec_context, self._stream.encode)

    def write(self, image: Image, time_ms: int) -> int:
        """Adds one picture (uint8 RGB [H, W, 3]) and returns the time it was given, in ms.

        Times must be strictly increasing: one that is not is moved to 1 ms after the last.
        """
        pts = max(time_ms, self.last_pts_ms + 1, 0)
        with self._disk_errors():
            for packet in self._encoder.encode(image, pts):
                self._container.mux(packet)
        self.last_pts_ms = pts
        self.frames += 1
        return pts

    def write_encoded(self, picture: EncodedFrame, time_ms: int) -> int:
        """Adds a picture of this size that is encoded already, with the headers of a ``MemoryEncoder`` or its own in
        front of each key frame. The first after a ``write`` must be a key frame. Returns the time it was given, in ms."""
        pts = max(time_ms, self.last_pts_ms + 1, 0)
        packet = pyav().Packet(picture.data)
        packet.pts = packet.dts = pts
        packet.time_base = MS
        packet.is_keyframe = picture.key
        packet.stream = self._stream
        with self._disk_errors():
            self._container.mux(packet)
        self._encoder.restart()
        self.last_pts_ms = pts
        self.frames += 1
        return pts

    def close(self) -> None:
        """Ends the file: its last cluster, its duration and its index. Raises OSError when the disk refuses."""
        if self.file.closed:
            return
        with self._disk_errors():
            for packet in self._encoder.flush():
                self._container.mux(packet)
            self._container.close()
            self.file.sync()
        self.file.close()

    def abandon(self) -> None:
        """Ends after a failed write: keeps what is on disk, drops what can no longer be written."""
        if self.file.closed:
            return
        self.file.give_up()
        with contextlib.suppress(OSError, pyav().FFmpegError):
            self._container.close()
        self.file.close()

    @contextlib.contextmanager
    def _disk_errors(self) -> Generator[None]:
        """What the muxer makes of a refused write, as the disk's own error."""
        try:
            yield
        except pyav().FFmpegError as error:
            raise self.file.failure or OSError(f"the video could not be written ({error})") from error


def open_video(path: Path) -> Any:
    """Opens a video for reading with one decoding thread. Raises VideoError when there is no video in it."""
    av = pyav()
    try:
        container = av.open(str(path), metadata_errors="ignore")
    except (av.FFmpegError, OSError) as error:
        raise VideoError(f"{path.name}: cannot be read as a video ({error.__class__.__name__})") from error
    if not container.streams.video:
        container.close()
        raise VideoError(f"{path.name}: holds no video stream")
    container.streams.video[0].codec_context.thread_count = 1
    return container


class VideoReader:
    """Reads a video written by ``VideoWriter``, or any video that FFmpeg reads, also one whose end is missing.

    Raises VideoError when there is no picture in it. Not for use by two threads at once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._container = open_video(self.path)
        context = self._container.streams.video[0].codec_context
        self.size = _true_size(self._container.metadata.get(SIZE_TAG, ""), context.width, context.height)
        self._index: NDArray[np.int64] | None = None
        self._position: Iterator[tuple[int, Any]] | None = None
        self._held: tuple[int, Any] | None = None  # the newest picture that ``frame_at`` decoded

    def times_ms(self) -> NDArray[np.int64]:
        """int64 [frames]: the time of every whole picture, found by reading the packets, not by decoding them."""
        if self._index is None:
            container = open_video(self.path)
            try:
                times = [packet_ms(p) for p in whole_packets(container)]
            finally:
                container.close()
            self._index = np.array(sorted(times), np.int64)
        return self._index

    def ended(self) -> bool:
        """Whether the file was closed as it should be and nothing is missing at its end."""
        duration_us: int | None = self._container.duration
        times = self.times_ms()
        if duration_us is None:
            return False
        return len(times) == 0 or duration_us // 1000 - int(times[-1]) <= _LAST_SHOWN_MS

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, Image]]:
        """(time in ms, uint8 RGB [H, W, 3]) of the pictures start..stop, counted from 0, in order."""
        times = self.times_ms()
        start, stop, _ = slice(start, stop).indices(len(times))
        if start >= stop:
            return
        container = open_video(self.path)
        try:
            for time_ms, frame in _decoded_from(container, int(times[start])):
                if time_ms > times[stop - 1]:
                    return
                yield time_ms, self._picture(frame)
        finally:
            container.close()

    def frame_at(self, time_ms: int) -> tuple[int, Image]:
        """The picture that was on screen at ``time_ms``: the newest one not later, else the first.

        Raises VideoError when the video holds no whole picture.
        """
        times = self.times_ms()
        if len(times) == 0:
            raise VideoError(f"{self.path.name}: holds no whole picture")
        wanted = int(times[max(0, int(np.searchsorted(times, time_ms, side="right")) - 1)])
        if self._held is not None and self._held[0] == wanted:
            return wanted, self._picture(self._held[1])
        near = self._held is not None and 0 < wanted - self._held[0] <= KEY_FRAME_MS
        if not near or self._position is None:
            self._position = _decoded_from(self._container, wanted)
        for found_ms, frame in self._position:
            if found_ms >= wanted:
                self._held = (found_ms, frame)
                return found_ms, self._picture(frame)
        self._position, self._held = None, None
        raise VideoError(f"{self.path.name}: the picture at {wanted} ms cannot be decoded")

    def _picture(self, frame: Any) -> Image:
        width, height = self.size
        return np.ascontiguousarray(frame.to_ndarray(format="rgb24")[:height, :width], np.uint8)

    def close(self) -> None:
        self._position, self._held = None, None
        self._container.close()

    def __enter__(self) -> VideoReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def remux(source: Path, target: Path) -> int:
    """Copies the whole pictures of a video, as they are, into a new file with an end and an index; returns how many.

    target: must not exist. Raises VideoError when ``source`` cannot be opened, OSError when the disk refuses.
    """
    given = open_video(source)
    file = StreamFile(target)
    count = 0
    try:
        with pyav().open(file, "w", format="matroska", options={"cluster_time_limit": "1000"}) as new:
            new.metadata.update({key: value for key, value in given.metadata.items() if key == SIZE_TAG})
            stream = new.add_stream_from_template(given.streams.video[0])
            for packet in whole_packets(given):
                packet.stream = stream
                new.mux(packet)
                count += 1
        file.sync()
    finally:
        given.close()
        file.close()
    return count


def whole_packets(container: Any) -> Iterator[Any]:
    """The video packets up to the first that is damaged or missing; a cut file ends there without an error."""
    av = pyav()

    packets = container.demux(container.streams.video[0])
    while True:
        try:
            packet = next(packets)
        except (StopIteration, av.FFmpegError, OSError):
            return
        if packet.size == 0 or packet.pts is None or packet.is_corrupt:
            return
        yield packet


def packet_ms(packet: Any) -> int:
    """The time of a packet's picture."""
    return _pts_ms(packet.pts, packet.time_base)


def _decoded_from(container: Any, start_ms: int) -> Iterator[tuple[int, Any]]:
    """Decoded pictures with their times, from the one at ``start_ms`` on. A seek that lands too late starts over."""
    stream = container.streams.video[0]
    base = stream.time_base or MS
    for offset_ms in (start_ms, start_ms - KEY_FRAME_MS, 0):
        first = True
        try:
            container.seek(max(0, int(Fraction(max(0, offset_ms), 1000) / base)), stream=stream, backward=True)
        except OSError:
            continue
        for time_ms, frame in _decode(container):
            if first and time_ms > start_ms and offset_ms > 0:
                break  # the demuxer jumped past it: try from further back
            first = False
            if time_ms >= start_ms:
                yield time_ms, frame
        else:
            return


def _decode(container: Any) -> Iterator[tuple[int, Any]]:
    av = pyav()

    try:
        for packet in whole_packets(container):
            for frame in packet.decode():
                yield _pts_ms(frame.pts, frame.time_base), frame
    except av.FFmpegError:
        return
    # What the decoder still holds back. Our own files never delay a picture; others' may. These bear no time base.
    stream = container.streams.video[0]
    with contextlib.suppress(av.FFmpegError):
        for frame in stream.decode(None):
            yield _pts_ms(frame.pts, stream.time_base), frame


def _pts_ms(pts: int | None, time_base: Fraction | None) -> int:
    base = time_base or MS  # in whole numbers: this runs for every packet, and fractions take ten times as long
    return (2000 * (pts or 0) * base.numerator + base.denominator) // (2 * base.denominator)


def _true_size(tag: str, width_px: int, height_px: int) -> tuple[int, int]:
    try:
        width, height = (int(part) for part in tag.split("x"))
    except ValueError:
        return (width_px, height_px)
    fits = 0 <= width_px - width <= 1 and 0 <= height_px - height <= 1
    return (width, height) if fits else (width_px, height_px)

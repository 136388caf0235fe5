"""Pictures from one recording into another without loss: packets are copied, only a cut's first part of a second is encoded.

H.264 can be entered at a key frame only. The pictures from the cut to the next key frame (at most a second) are
encoded anew; everything behind it is copied as it is, its parameter sets put in front of each key frame, so that
recordings of one size but different encoder settings can follow each other in one file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from data.encoder import EncodedFrame
from data.untyped import pyav
from data.video import SIZE_TAG, VideoReader, VideoWriter, open_video, packet_ms, whole_packets

Told = Callable[[int], None]
"""Is told how many pictures are done."""


def append_pictures(writer: VideoWriter, source: Path, start_ms: int, end_ms: int, shift_ms: int, told: Told) -> int:
    """Appends the pictures of ``source`` with ``start_ms`` <= time < ``end_ms``, each ``shift_ms`` later; returns how many.

    The pictures must have the writer's size. Raises VideoError when ``source`` cannot be read, OSError when the disk
    refuses.
    """
    with VideoReader(source) as reader:
        times = reader.times_ms()
        first, last = (int(place) for place in np.searchsorted(times, (start_ms, end_ms)))
        key_ms = _first_key_ms(source, start_ms, end_ms)
        copied_from = last if key_ms is None else int(np.searchsorted(times, key_ms))
        done = 0
        for time_ms, image in reader.frames(first, copied_from):
            writer.write(image, time_ms + shift_ms)
            done += 1
            told(done)
    return done if key_ms is None else done + _copy(writer, source, key_ms, end_ms, shift_ms, done, told)


def _first_key_ms(source: Path, start_ms: int, end_ms: int) -> int | None:
    """The first key frame of the stretch in a video of our own making; None when all must be encoded anew."""
    container = open_video(source)
    try:
        if SIZE_TAG not in container.metadata or container.streams.video[0].codec_context.name != "h264":
            return None
        for packet in whole_packets(container):
            time_ms = packet_ms(packet)
            if time_ms >= end_ms:
                return None
            if time_ms >= start_ms and packet.is_keyframe:
                return time_ms
        return None
    finally:
        container.close()


def _copy(writer: VideoWriter, source: Path, start_ms: int, end_ms: int, shift_ms: int, done: int, told: Told) -> int:
    container = open_video(source)
    try:
        filtered: Any = pyav().bitstream.BitStreamFilterContext("h264_mp4toannexb", container.streams.video[0])
        count = 0
        for packet in whole_packets(container):
            time_ms = packet_ms(packet)
            if time_ms >= end_ms:
                break
            if time_ms < start_ms:
                continue
            key = bool(packet.is_keyframe)  # the filter empties the packet that it is given
            for plain in filtered.filter(packet):
                writer.write_encoded(EncodedFrame(count, 0, None, bytes(plain), key), time_ms + shift_ms)
            count += 1
            told(done + count)
        return count
    finally:
        container.close()

"""Pictures as H.264 packets: the choices that the video writer and the recorder's pre-buffer share.

Since both make the same stream headers, packets of the one may stand before packets of the other in one file: the
decoder begins anew at each key frame. The choices themselves are explained in ``data.video``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from data.geometry import Rect
from data.schema import Frame, Image
from data.untyped import opencv, pyav

FULL_COLOUR_PIXELS: Final = 640 * 480
"""Pictures of at most this many pixels are stored in 4:4:4."""
KEY_FRAME_MS: Final = 1000
MS: Final = Fraction(1, 1000)
CODEC: Final = "libx264"
OPTIONS: Final = {"preset": "ultrafast", "crf": "23", "tune": "zerolatency", "forced-idr": "1"}


@dataclass(frozen=True, slots=True)
class EncodedFrame:
    """A captured picture as one packet. ``key``: it can be decoded without those before it."""

    number: int
    time_ns: int
    window: Rect | None
    data: bytes
    key: bool


def pixel_format(width_px: int, height_px: int) -> str:
    """The pixel format for a picture size."""
    return "yuv444p" if width_px * height_px <= FULL_COLOUR_PIXELS else "yuv420p"


class PictureEncoder:
    """Turns pictures (uint8 RGB [H, W, 3]) into packets, one for each, with a key frame at least once a second.

    codec: the codec context to set up and use; ``encode``: how it is asked for packets (a container's stream adds
    itself to them). Later pictures of another size are scaled to the first one's.
    Raises ValueError for a size that cannot be encoded: 16 to 8192 px a side can.
    """

    def __init__(self, width_px: int, height_px: int, fps: float, codec: Any, encode: Callable[[Any], Any]) -> None:
        check_size(width_px, height_px)
        self.size = (width_px, height_px)
        self._encode = encode
        self._key_ms = -KEY_FRAME_MS
        self._format = pixel_format(width_px, height_px)
        self._coded = self.size if self._format == "yuv444p" else (width_px + width_px % 2, height_px + height_px % 2)
        self._reformatter = pyav().video.reformatter.VideoReformatter()
        codec.width, codec.height = self._coded
        codec.pix_fmt = self._format
        codec.time_base = MS
        codec.thread_count = 1
        codec.gop_size = max(1, round(fps))

    def encode(self, image: Image, time_ms: int) -> list[Any]:
        """The packets of one picture."""
        frame = self._encodable(image)
        frame.pts = time_ms
        frame.time_base = MS
        if time_ms - self._key_ms >= KEY_FRAME_MS:
            frame.pict_type = pyav().video.frame.PictureType.I
        packets = list(self._encode(frame))
        if any(packet.is_keyframe for packet in packets):
            self._key_ms = time_ms
        return packets

    def restart(self) -> None:
        """The next picture does not build on the one before it."""
        self._key_ms = -KEY_FRAME_MS

    def flush(self) -> list[Any]:
        """What the encoder still holds back (nothing, with these choices)."""
        return list(self._encode(None))

    def _encodable(self, image: Image) -> Any:
        av = pyav()
        cv2 = opencv()

        if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
            raise ValueError(f"a picture must be uint8 RGB [height, width, 3], not {image.dtype} {list(image.shape)}")
        if (image.shape[1], image.shape[0]) != self.size:
            image = np.asarray(cv2.resize(image, self.size, interpolation=cv2.INTER_AREA), np.uint8)
        if self._format == "yuv444p":
            # One reformatter for all pictures: a fresh one each time costs several times the conversion itself.
            return self._reformatter.reformat(av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24"), format="yuv444p")
        right, bottom = self._coded[0] - self.size[0], self._coded[1] - self.size[1]
        if right or bottom:
            image = np.pad(image, ((0, bottom), (0, right), (0, 0)), mode="edge")
        planes = np.asarray(cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2YUV_I420), np.uint8)  # a third of swscale's time
        return av.VideoFrame.from_ndarray(planes, format="yuv420p")


class MemoryEncoder:
    """Encodes frames of one size to packets in memory, with no file. Times may be of any clock, but only grow."""

    def __init__(self, width_px: int, height_px: int, fps: float) -> None:
        av = pyav()
        check_size(width_px, height_px)
        codec = av.CodecContext.create(CODEC, "w")
        codec.options = dict(OPTIONS)
        codec.framerate = Fraction(max(1, round(fps)))
        # As Matroska asks of its streams: the headers stand once in the file, not in each key frame.
        codec.flags |= av.codec.context.Flags.global_header
        self._encoder = PictureEncoder(width_px, height_px, fps, codec, codec.encode)
        self.size = self._encoder.size

    def encode(self, frame: Frame) -> EncodedFrame:
        packets = self._encoder.encode(frame.image, frame.time_ns // 1_000_000)
        data = b"".join(bytes(packet) for packet in packets)
        return EncodedFrame(frame.number, frame.time_ns, frame.window, data, any(packet.is_keyframe for packet in packets))


def check_size(width_px: int, height_px: int) -> None:
    """Raises ValueError for a size that cannot be encoded."""
    if not (16 <= width_px <= 8192 and 16 <= height_px <= 8192):
        raise ValueError(f"a picture of {width_px}x{height_px} px cannot be recorded; 16 to 8192 px a side can")

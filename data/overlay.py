"""What a person did, drawn into recorded pictures: the pointer, clicks, and the keys that are down."""

from __future__ import annotations

from typing import Final

import numpy as np

from data.schema import Image
from data.session_reader import Session
from data.timeline import read_cursor, read_timeline
from data.untyped import opencv

CLICK_NS: Final = 200_000_000
"""A click is shown for at least this long."""
_POINTER: Final = (255, 255, 255)
_CLICKS: Final = {"mouse_left": (255, 210, 60), "mouse_right": (90, 170, 255)}
_OTHER_CLICK: Final = (200, 200, 200)
_DARK: Final = (16, 16, 16)


class Overlay:
    """Draws the input of one session into its pictures. Colours are RGB."""

    def __init__(self, session: Session) -> None:
        timeline = read_timeline(session.folder)
        self._keys, self._clicks = timeline.keys, timeline.clicks
        self._cursor = read_cursor(session)

    def draw(self, image: Image, time_ns: int) -> Image:
        """A copy of the picture with what was done at that time. image: uint8 RGB [H, W, 3]."""
        drawn = np.ascontiguousarray(image).copy()
        at = self._cursor.at(time_ns)
        if at is not None:
            pressed = next((lane.name for lane in self._clicks if lane.down_at(time_ns, CLICK_NS)), "")
            _draw_pointer(drawn, at, pressed)
        _draw_keys(drawn, [lane.name for lane in self._keys if lane.down_at(time_ns)])
        return drawn


def _draw_pointer(image: Image, at: tuple[float, float], pressed: str) -> None:
    cv2 = opencv()
    height, width = image.shape[:2]
    radius = max(3, round(height / 60))
    centre = (round(at[0] * (width - 1)), round(at[1] * (height - 1)))
    if pressed:
        cv2.circle(image, centre, radius * 2, _CLICKS.get(pressed, _OTHER_CLICK), max(1, radius // 2), cv2.LINE_AA)
    cv2.circle(image, centre, radius + 1, _DARK, -1, cv2.LINE_AA)
    cv2.circle(image, centre, radius, _POINTER, -1, cv2.LINE_AA)


def _draw_keys(image: Image, names: list[str]) -> None:
    """The keys that are down, as badges along the lower edge."""
    cv2 = opencv()
    height, width = image.shape[:2]
    scale, margin = max(0.3, height / 720), max(2, height // 90)
    left = margin
    for name in names:
        (text_width, text_height), _ = cv2.getTextSize(name, cv2.FONT_HERSHEY_SIMPLEX, scale, 1)
        right, top = left + text_width + 2 * margin, height - margin - text_height - 2 * margin
        if right > width:
            return
        cv2.rectangle(image, (left, top), (right, height - margin), _DARK, -1)
        cv2.putText(image, name, (left + margin, height - 2 * margin), cv2.FONT_HERSHEY_SIMPLEX, scale, _POINTER, 1, cv2.LINE_AA)
        left = right + margin

"""Single pictures of a recording for the terminal, decoded by a thread: the newest wish wins, what was seen is kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.text import Text

from tui.halfblock import Depth, encode, place, placed, shrink
from tui.terminal_bytes import cost, sent

if TYPE_CHECKING:
    from data.video import VideoReader

KEPT: Final = 200
BYTES_S: Final = 40_000
"""What a cursor that is kept moving may cost the terminal."""
CLOSE_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Wish:
    """A moment of the video, ``time_ms`` from its beginning, drawn into ``columns`` x ``rows`` cells."""

    time_ms: int
    columns: int
    rows: int
    depth: Depth


class Pictures:
    """``found`` is called from the thread with the wish and its lines, or with the reason why there is none."""

    def __init__(self, video: Path, found: Callable[[Wish, list[Text], str], None]) -> None:
        self._video = video
        self._found = found
        self._wish: Wish | None = None
        self._changed = threading.Condition()
        self._stop = False
        self._kept: OrderedDict[Wish, tuple[list[Text], int]] = OrderedDict()
        self._thread = threading.Thread(target=self._run, name="secondseat-pictures", daemon=True)
        self._thread.start()

    def want(self, wish: Wish) -> None:
        with self._changed:
            self._wish = wish
            self._changed.notify()

    def close(self) -> bool:
        """False when the thread did not end in time."""
        with self._changed:
            self._stop = True
            self._changed.notify()
        self._thread.join(CLOSE_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        from data.video import VideoError, VideoReader

        reader: VideoReader | None = None
        try:
            while (wish := self._next()) is not None:
                try:
                    reader = reader or VideoReader(self._video)
                    lines, bytes_ = self._drawn(reader, wish)
                    self._found(wish, lines, "")
                    self._rest(bytes_ / BYTES_S)
                except (VideoError, OSError) as error:
                    self._found(wish, [], str(error))
        finally:
            if reader is not None:
                reader.close()

    def _next(self) -> Wish | None:
        with self._changed:
            self._changed.wait_for(lambda: self._stop or self._wish is not None)
            wish, self._wish = self._wish, None
            return None if self._stop else wish

    def _rest(self, seconds: float) -> None:
        """Wait until the terminal may be given the next one; meanwhile newer wishes replace older ones."""
        with self._changed:
            self._changed.wait_for(lambda: self._stop, seconds)

    def _drawn(self, reader: VideoReader, wish: Wish) -> tuple[list[Text], int]:
        """The picture's lines, and what they cost in bytes."""
        if wish not in self._kept:
            _, image = reader.frame_at(wish.time_ms)
            at = place((image.shape[1], image.shape[0]), wish.columns, wish.rows)
            cells = encode(shrink(image, at), wish.depth)
            lines = placed(cells, at, wish.rows, wish.depth)
            self._kept[wish] = lines, cost(cells, sent(cells, None), wish.depth)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(wish)
        return self._kept[wish]

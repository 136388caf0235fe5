"""The live picture in the capture pane, in half blocks: opt-in, small, seldom.

At most two pictures a second (one over SSH), fewer when a picture costs the terminal more than ``BYTES_S`` allows. It is
asked of the control centre, so that it works in a face that is attached to an engine elsewhere too.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from rich.text import Text

from tui.panes.base import cut
from tui.pump import one_line

if TYPE_CHECKING:
    from tui.panes.base import LinesPane
    from tui.preview_picture import Drawn

EVERY_S: Final = 0.5
SSH_EVERY_S: Final = 1.0
BYTES_S: Final = 24_000
"""What it may spend on the terminal: less than half of all, since the other panes are drawn too."""


class Preview:
    """One pane's preview. ``on`` is a person's choice; it begins off."""

    def __init__(self, pane: LinesPane) -> None:
        self._pane = pane
        self.on = False
        self._drawn: Drawn | None = None
        self._drawn_for: tuple[int, int] = (0, 0)
        self._due_s = 0.0
        self._asked = False
        self._problem = ""
        self._every_s = SSH_EVERY_S if os.environ.get("SSH_CONNECTION") else EVERY_S

    def toggle(self) -> None:
        self.on = not self.on
        self._due_s = 0.0

    def lines(self) -> list[Text]:
        """What the pane shows now; asks for the next picture when it is due. Never waits."""
        pane, palette = self._pane, self._pane.look.palette
        width, height = pane.size.width, pane.size.height
        if not self._asked and time.monotonic() >= self._due_s and width > 4 and height > 2:
            self._ask(width, height - 1)
        if self._problem:
            return [Text(f"No picture: {self._problem}", palette.warn)]
        if self._drawn is None or self._drawn_for != (width, height - 1):
            return [Text("Waiting for a picture.", palette.dim)]
        legend = self._drawn.legend.copy()
        return [*self._drawn.lines, cut(legend, width, pane.look.glyphs.ellipsis)]

    def _ask(self, columns: int, rows: int) -> None:
        face = self._pane.face
        picture = face.host.picture(columns, 2 * rows)
        self._due_s = time.monotonic() + self._every_s
        if picture is None:
            self._problem = "nothing is captured" if face.newest.capture.source == "none" else ""
            self._drawn = None
            return

        def work() -> Drawn:
            from tui.preview_picture import draw, fair_depth

            return draw(picture, columns, rows, fair_depth(face, columns * rows))

        def done(drawn: Drawn) -> None:
            self._asked, self._problem, self._drawn, self._drawn_for = False, "", drawn, (columns, rows)
            self._due_s = max(self._due_s, time.monotonic() + drawn.cost / BYTES_S)
            if self.on and self._pane.is_attached:
                self._pane.show(face.newest)

        def failed(error: Exception) -> None:
            self._asked, self._problem = False, one_line(error)

        self._asked = True
        face.desk.quick(work, done, failed)

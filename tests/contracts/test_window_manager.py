"""The window manager that tests have: it shows what is shown at once after it began."""

from __future__ import annotations

import pytest

from tests.support import x11


@pytest.mark.x11
def test_a_window_is_shown_however_soon(x_display: str) -> None:
    from Xlib import X
    from Xlib.display import Display

    connection = Display(x_display)
    try:
        for _ in range(4):
            with x11.openbox(x_display):
                window = connection.screen().root.create_window(0, 0, 50, 50, 0, X.CopyFromParent)
                window.map()
                connection.sync()
                assert x11.wait_until(lambda: window.get_attributes().map_state == X.IsViewable, 10, "it is shown")  # noqa: B023
                window.destroy()
                connection.sync()
    finally:
        connection.close()

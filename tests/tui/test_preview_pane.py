from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from fake import FakeCenter, full_state
from harness import face, screen_text, until

from engine.state import Box, Picture
from tui.panes import preview
from tui.panes.buffer import BufferPane
from tui.preview_picture import draw


def picture(number: int = 1, level: int = 0) -> Picture:
    """A dark picture with an enemy on the left and two things to take on the right."""
    rgb = np.full((90, 160, 3), level, np.uint8)
    boxes = (
        Box(0.25, 0.5, 0.2, 0.4, "raider", 0.9, 1),
        Box(0.75, 0.25, 0.1, 0.2, "crate", 0.8, 2),
        Box(0.75, 0.75, 0.1, 0.2, "crate", 0.8, 3),
    )
    return Picture(number, number * 33_000_000, 160, 90, 640, 360, rgb.tobytes(), boxes, (0.5, 0.5))


def test_boxes_and_cursor_lie_where_things_are_and_are_named_where_there_is_room() -> None:
    drawn = draw(picture(), 80, 24, 24)
    assert len(drawn.lines) == 24
    text = "\n".join(line.plain for line in drawn.lines)
    assert (text.count("raider"), text.count("crate")) == (1, 2)
    rows = [y for y, line in enumerate(drawn.lines) if any(0.14 * 80 < s.start < 0.17 * 80 for s in line.spans if s.end - s.start < 3)]
    assert min(rows) == pytest.approx(0.3 * 22.5 + 0.75, abs=1)
    assert drawn.legend.plain == "2 crate  1 raider  640x360"
    small = draw(picture(), 36, 12, 24)
    assert "raider" not in "\n".join(line.plain for line in small.lines)


def test_without_colour_it_is_ascii() -> None:
    drawn = draw(picture(), 80, 24, 0)
    text = "\n".join(line.plain for line in drawn.lines)
    assert text.isascii()
    assert "raider" in text
    assert any(character in text for character in "-=+*")


async def test_it_is_off_until_p_is_pressed_there_and_asks_no_more_when_off_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    center, asked = FakeCenter(full_state()), list[float]()

    def newest(max_width_px: int, max_height_px: int) -> Picture:
        asked.append(time.monotonic())
        return picture(len(asked), len(asked) % 5 * 8)

    center.picture = newest  # type: ignore[method-assign]
    async with face(center) as (app, pilot, _):
        app.update_all()
        assert asked == []
        await pilot.press("4", "p")
        assert center.commands == []
        await until(lambda: "2 crate  1 raider  640x360" in screen_text(app))
        await until(lambda: len(asked) >= 4)
        assert all(b - a >= preview.EVERY_S - 0.01 for a, b in pairwise(asked))
        await pilot.press("p")
        assert "2 crate  1 raider" not in screen_text(app)
        count = len(asked)
        await pilot.pause(0.7)
        assert len(asked) == count


async def test_full_size_it_fills_the_screen_and_without_a_picture_it_says_why() -> None:
    center = FakeCenter(full_state())
    async with face(center, size=(80, 24)) as (app, pilot, _):
        app.update_all()
        await pilot.press("4", "p")
        await until(lambda: "Waiting for a picture." in screen_text(app))
        center.state = replace(center.state, capture=replace(center.state.capture, source="none"))
        await until(lambda: "No picture: nothing is captured" in screen_text(app))
        center.shown = picture()
        await until(lambda: "1 raider" in screen_text(app))
        await pilot.press("z")
        await pilot.pause()
        pane = app.screen.query_one(BufferPane)
        await until(lambda: pane.preview._drawn_for == (pane.size.width, pane.size.height - 1))
        assert pane.size.width > 70
        assert "raider" in screen_text(app)


def test_a_costly_picture_waits_longer() -> None:
    rng = np.random.default_rng(1)
    noise = replace(picture(), rgb=rng.integers(0, 256, (90, 160, 3)).astype(np.uint8).tobytes())
    dark, loud = draw(picture(), 118, 30, 8), draw(noise, 118, 30, 8)
    assert dark.cost / preview.BYTES_S < preview.EVERY_S < loud.cost / preview.BYTES_S

"""A stretch of a session as an mp4, with or without the input drawn into it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data.clip import ClipError, export_clip
from data.metadata import SessionError
from data.overlay import Overlay
from data.progress import Progress
from data.schema import InputEvent
from data.session import open_session
from data.video import VideoReader
from tests.support.sessions import FRAME_NS, START_NS, frame, new_writer, number_of, picture, write_session


def test_a_clip_has_the_pictures_of_the_stretch_at_their_own_times(tmp_path: Path) -> None:
    folder = write_session(tmp_path / "ほし", 60)
    told: list[float] = []
    clip = tmp_path / "ほし" / "clip.mp4"
    assert export_clip(folder, 0.33, 0.99, clip, lambda progress: told.append(progress.done)) == 20
    assert told == [0.5, 1.0]
    with VideoReader(clip) as reader:
        assert [number_of(image) for _, image in reader.frames()] == list(range(10, 30))
        assert reader.times_ms().tolist() == [33 * n for n in range(20)]
    assert export_clip(folder, 1.0, None, tmp_path / "rest.mp4") == 29  # to the end


def test_pointer_clicks_and_keys_are_drawn_on_demand(tmp_path: Path) -> None:
    writer = new_writer(tmp_path, size=(322, 181))
    for number in range(30):
        writer.write_frame(frame(number, 322, 181))
    for number, kind, name in ((0, "move", ""), (10, "press", "mouse_left"), (11, "release", "mouse_left"), (20, "press", "space")):
        writer.write_event(InputEvent(START_NS + number * FRAME_NS, kind, name, 0.75, 0.5))  # type: ignore[arg-type]
    writer.close()
    with open_session(writer.folder) as session:
        overlay = Overlay(session)
        plain = picture(0, 322, 181)

        def changed(number: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
            return (overlay.draw(plain, START_NS + number * FRAME_NS) != plain).any(axis=2)

        before, click, after, key = changed(5), changed(10), changed(19), changed(20)
    rows, columns = np.nonzero(before)
    assert abs(rows.mean() - 90) < 2  # the pointer is drawn where it is
    assert abs(columns.mean() - 0.75 * 321) < 2
    assert click.sum() > before.sum()
    assert np.array_equal(after, before)
    assert key[-20:, :60].any()
    assert not after[-20:, :60].any()
    assert export_clip(writer.folder, 0, None, tmp_path / "clip.mp4", overlay=True) == 30
    with VideoReader(tmp_path / "clip.mp4") as reader:
        assert reader.size == (322, 180)  # 4:2:0 has even sizes
        assert (reader.frame_at(200)[1][85:95, 236:246] > 200).any()


def test_a_clip_that_cannot_be_made_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 60)
    taken = tmp_path / "taken.mp4"
    taken.write_bytes(b"mine")
    for path, told in (
        (taken, "exists"),
        (tmp_path / "clip.avi", "is an mp4"),
        (tmp_path / "no" / "clip.mp4", "no such folder"),
    ):
        with pytest.raises(ClipError, match=told):
            export_clip(folder, 0, 1, path)
    with pytest.raises(ClipError, match="is no stretch"):
        export_clip(folder, 1, 1, tmp_path / "clip.mp4")
    with pytest.raises(SessionError, match=r"no picture lies there; it is 1\.9 s long"):
        export_clip(folder, 60, 70, tmp_path / "clip.mp4")

    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_clip(folder, 0, 1, tmp_path / "clip.mp4", stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sessions", "taken.mp4"]
    assert taken.read_bytes() == b"mine"
    assert export_clip(folder, 0, 1, taken, replace=True) == 31

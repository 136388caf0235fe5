"""Pictures go from one recording into another as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data.video import VideoReader, VideoWriter
from data.video_copy import append_pictures
from tests.support.sessions import number_of, picture


def noisy(number: int, width: int, height: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    image = picture(number, width, height)
    noise = np.random.default_rng(number).integers(0, 40, (height, width // 2, 3), dtype=np.uint8)
    image[:, width // 2 :] += noise[:, : width - width // 2]
    return image


@pytest.mark.parametrize("size", [(64, 48), (642, 481)])
def test_all_but_the_first_part_of_a_second_is_copied_without_loss(tmp_path: Path, size: tuple[int, int]) -> None:
    source, target = tmp_path / "source.mkv", tmp_path / "target.mkv"
    writer = VideoWriter(source, *size, 30.0)
    for number in range(80):
        writer.write(noisy(number, *size), 33 * number)
    writer.close()
    writer = VideoWriter(target, *size, 12.0)  # another encoder setting: other parameter sets
    told: list[int] = []
    assert append_pictures(writer, source, 500, 1700, -500, told.append) == 36
    assert append_pictures(writer, source, 0, 99_999, 3000, told.append) == 80
    assert append_pictures(writer, source, 1320, 1340, 5000, told.append) == 1  # between two key frames: encoded anew
    writer.close()
    assert told == [*range(1, 37), *range(1, 81), 1]
    with VideoReader(source) as old, VideoReader(target) as new:
        assert new.ended()
        wanted = [*range(16, 52), *range(80), 40]
        times = [*(33 * n - 500 for n in range(16, 52)), *(33 * n + 3000 for n in range(80)), 33 * 40 + 5000]
        assert new.times_ms().tolist() == times
        was = [image for _, image in old.frames()]
        now = [image for _, image in new.frames()]
        assert [number_of(image) for image in now] == wanted
        copied = [place for place in range(117) if place not in (*range(15), 116)]  # the first key frame behind 500 ms is at 1,023
        assert all(np.array_equal(now[place], was[wanted[place]]) for place in copied)
        assert number_of(new.frame_at(3000 + 33 * 71)[1]) == 71

"""Video: exact times, exact seeking, honest colours, and files cut anywhere."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from data.encoder import MemoryEncoder, pixel_format
from data.schema import Frame
from data.video import VideoError, VideoReader, VideoWriter, remux, whole_packets
from tests.support.sessions import number_of, picture


def jittered(count: int, seed: int = 1) -> list[int]:
    generator = random.Random(seed)
    times, now = [], 0
    for _ in range(count):
        times.append(now)
        now += generator.choice([1, 17, 33, 34, 50, 90])
    return times


def write(path: Path, times: list[int], size: tuple[int, int] = (64, 48)) -> None:
    writer = VideoWriter(path, *size, 30.0)
    for number, time_ms in enumerate(times):
        assert writer.write(picture(number % 128, *size), time_ms) == time_ms
    writer.close()


@pytest.mark.parametrize("size", [(64, 48), (65, 49), (640, 360), (801, 601)])
def test_every_picture_comes_back_at_its_time_and_in_its_size(tmp_path: Path, size: tuple[int, int]) -> None:
    times = jittered(50)
    write(tmp_path / "v.mkv", times, size)
    with VideoReader(tmp_path / "v.mkv") as reader:
        assert reader.size == size
        assert reader.ended()
        assert reader.times_ms().tolist() == times
        found = [(time_ms, number_of(image), image.shape) for time_ms, image in reader.frames()]
    assert found == [(time_ms, number, (size[1], size[0], 3)) for number, time_ms in enumerate(times)]


def test_the_picture_at_a_time_is_exact_wherever_one_jumps(tmp_path: Path) -> None:
    times = jittered(120)
    write(tmp_path / "v.mkv", times)
    generator = random.Random(2)
    with VideoReader(tmp_path / "v.mkv") as reader:
        for _ in range(80):
            number = generator.randrange(120)
            found_ms, image = reader.frame_at(times[number])
            assert (found_ms, number_of(image)) == (times[number], number)
        between = times[60] + (times[61] - times[60]) // 2
        assert reader.frame_at(between)[0] == times[60]
        assert reader.frame_at(-5)[0] == times[0]
        assert reader.frame_at(10**9)[0] == times[-1]
        assert [t for t, _ in reader.frames(70, 75)] == times[70:75]
        assert [t for t, _ in reader.frames(-2)] == times[-2:]
        assert list(reader.frames(50, 50)) == []


def test_a_key_frame_at_least_once_a_second_of_recorded_time(tmp_path: Path) -> None:
    times = [number * 400 for number in range(20)]  # a source that gives 2.5 a second
    write(tmp_path / "v.mkv", times)
    from data.video import open_video

    container = open_video(tmp_path / "v.mkv")
    keys = [packet.pts for packet in whole_packets(container) if packet.is_keyframe]
    container.close()
    assert max(np.diff(keys)) <= 1200


@pytest.mark.parametrize("size", [(64, 48), (801, 601)])
def test_pictures_encoded_in_memory_may_stand_before_those_of_the_file(tmp_path: Path, size: tuple[int, int]) -> None:
    memory = MemoryEncoder(*size, 30.0)
    before = [memory.encode(Frame(n, 9_000_000_000 + n * 33_000_000, picture(n, *size))) for n in range(50)]
    first = next(n for n in range(1, 50) if before[n].key)  # what stands before a key frame has left the memory
    writer = VideoWriter(tmp_path / "v.mkv", *size, 30.0)
    for n in range(first, 50):
        assert writer.write_encoded(before[n], (n - first) * 33) == (n - first) * 33
    for n in range(50, 100):
        writer.write(picture(n, *size), (n - first) * 33)
    writer.close()
    with VideoReader(tmp_path / "v.mkv") as reader:
        assert [(t, number_of(image)) for t, image in reader.frames()] == [((n - first) * 33, n) for n in range(first, 100)]
        assert number_of(reader.frame_at((50 - first) * 33)[1]) == 50
        assert reader.ended()


def test_times_that_do_not_grow_are_moved_by_a_millisecond(tmp_path: Path) -> None:
    writer = VideoWriter(tmp_path / "v.mkv", 64, 48, 30.0)
    assert [writer.write(picture(n), t) for n, t in enumerate([0, 0, 0, 40, 20])] == [0, 1, 2, 40, 41]
    writer.close()
    with VideoReader(tmp_path / "v.mkv") as reader:
        assert [number_of(image) for _, image in reader.frames()] == [0, 1, 2, 3, 4]


def test_red_stays_red_and_small_things_keep_their_colour(tmp_path: Path) -> None:
    image = np.full((360, 640, 3), 20, np.uint8)
    image[100:103, 200:203] = (255, 40, 40)
    image[200:300, 300:400] = (255, 0, 0)
    writer = VideoWriter(tmp_path / "v.mkv", 640, 360, 30.0)
    for number in range(5):
        writer.write(image, number * 33)
    writer.close()
    with VideoReader(tmp_path / "v.mkv") as reader:
        seen = reader.frame_at(132)[1].astype(int)
    assert np.abs(seen[250, 350] - (255, 0, 0)).max() <= 4
    assert np.abs(seen[100:103, 200:203] - (255, 40, 40)).mean() < 12


def test_large_pictures_keep_their_colours_too(tmp_path: Path) -> None:
    image = np.zeros((721, 1281, 3), np.uint8)
    image[:, :640], image[:, 640:] = (200, 30, 60), (10, 180, 220)
    writer = VideoWriter(tmp_path / "v.mkv", 1281, 721, 30.0)
    writer.write(image, 0)
    writer.close()
    with VideoReader(tmp_path / "v.mkv") as reader:
        seen = reader.frame_at(0)[1].astype(int)
    assert np.abs(seen[300, 300] - (200, 30, 60)).max() <= 4
    assert np.abs(seen[-1, -1] - (10, 180, 220)).max() <= 4


def test_pictures_of_another_size_are_scaled_to_the_first(tmp_path: Path) -> None:
    writer = VideoWriter(tmp_path / "v.mkv", 64, 48, 30.0)
    writer.write(picture(5), 0)
    writer.write(picture(77, 128, 96), 33)
    writer.close()
    with VideoReader(tmp_path / "v.mkv") as reader:
        assert [(number_of(image), image.shape) for _, image in reader.frames()] == [(5, (48, 64, 3)), (77, (48, 64, 3))]


def test_small_pictures_are_stored_in_full_colour() -> None:
    assert (pixel_format(640, 480), pixel_format(640, 481), pixel_format(1280, 720)) == ("yuv444p", "yuv420p", "yuv420p")


@pytest.mark.parametrize("image", [np.zeros((48, 64), np.uint8), np.zeros((48, 64, 4), np.uint8), np.zeros((48, 64, 3), np.float32)])
def test_what_is_no_rgb_picture_is_refused(tmp_path: Path, image: np.ndarray) -> None:
    writer = VideoWriter(tmp_path / "v.mkv", 64, 48, 30.0)
    with pytest.raises(ValueError, match="must be uint8 RGB"):
        writer.write(image, 0)
    writer.close()


def test_sizes_that_cannot_be_recorded_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="8x8"):
        VideoWriter(tmp_path / "v.mkv", 8, 8, 30.0)
    assert not (tmp_path / "v.mkv").exists()


def test_a_file_cut_anywhere_reads_to_its_last_whole_picture(tmp_path: Path) -> None:
    times = jittered(150)
    write(tmp_path / "v.mkv", times)
    whole = (tmp_path / "v.mkv").read_bytes()
    generator = random.Random(3)
    most = 0
    for cut in [0, 1, 700, *(generator.randrange(len(whole)) for _ in range(25)), len(whole) - 1]:
        path = tmp_path / "cut.mkv"
        path.write_bytes(whole[:cut])
        try:
            reader = VideoReader(path)
        except VideoError:
            assert cut < 2000
            continue
        with reader:
            found = reader.times_ms().tolist()
            assert found == times[: len(found)]
            most = max(most, len(found))
            if found:
                assert [number_of(image) for _, image in reader.frames()] == [n % 128 for n in range(len(found))]
                number = generator.randrange(len(found))
                assert number_of(reader.frame_at(times[number])[1]) == number % 128
            (tmp_path / "new.mkv").unlink(missing_ok=True)
            assert remux(path, tmp_path / "new.mkv") == len(found)
        if found:
            with VideoReader(tmp_path / "new.mkv") as again:
                assert again.ended()
                assert again.size == (64, 48)
                assert again.times_ms().tolist() == found
    assert most >= 140


def test_a_file_that_was_never_closed_holds_all_but_the_last_second(tmp_path: Path) -> None:
    writer = VideoWriter(tmp_path / "v.mkv", 64, 48, 30.0)
    for number in range(100):
        writer.write(picture(number), number * 33)
    snapshot = (tmp_path / "v.mkv").read_bytes()  # what the death of the process would leave
    writer.close()
    (tmp_path / "dead.mkv").write_bytes(snapshot)
    with VideoReader(tmp_path / "dead.mkv") as reader:
        assert not reader.ended()
        assert 99 * 33 - int(reader.times_ms()[-1]) <= 1100


@pytest.mark.parametrize("content", [b"", b"no video at all", bytes(5000)])
def test_what_is_no_video_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "v.mkv").write_bytes(content)
    with pytest.raises(VideoError, match=r"v\.mkv: cannot be read as a video"):
        VideoReader(tmp_path / "v.mkv")

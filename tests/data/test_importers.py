"""Recordings of the earlier scripts: recognised by content, read with what is assumed and left out told, pickles as data."""

from __future__ import annotations

import json
import os
import pickle
import re
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.importers import old_recordings
from data.importers.old_recordings import OldFormatError, read_old
from data.importers.pickles import LARGEST_BYTES, UnsafePickle, read_npz, read_pickle


def demo(i: int, **more: Any) -> dict[str, Any]:
    return {
        "timestamp": 100.0 + i / 20,
        "state": {"health": 80, "name": "me"},
        "action": {"x": 0.5, "y": 0.25, "click": "left" if i == 2 else "none", "key": "q" if i == 3 else None},
        "objects": [{"class": "npc", "bbox": [0.4, 0.4, 0.6, 0.6], "conf": 0.9}],
        **more,
    }


def sequence(count: int = 4) -> dict[str, Any]:
    return {
        "version": 1,
        "fps": 30,
        "states": [[0.1, 0.2]] * count,
        "actions": [{"x": 0.5, "y": 0.5, "click": 1, "key": None}] * count,
        "objects": [[{"class": "npc", "bbox": [0.4, 0.4, 0.6, 0.6], "conf": 0.9}]] * count,
        "modes": ["FIGHT"] * count,
    }


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_a_sequence(tmp_path: Path) -> None:
    found = read_old(write(tmp_path / "any name.json", sequence()))
    assert (found.kind, len(found.rows)) == ("sequence", 4)
    row = found.rows[3]
    assert row.time_s == pytest.approx(0.1)
    assert (row.point, row.clicks, row.keys, row.mode) == ((0.5, 0.5), ("left",), (), "FIGHT")
    assert row.objects[0].name == "npc"
    assert row.objects[0].box == pytest.approx((0.5, 0.5, 0.2, 0.2))
    assert found.defaulted == []
    assert found.dropped == {"states without names": 4}


def test_a_shadow_recording_in_every_wrapping_is_the_same(tmp_path: Path) -> None:
    demos = [demo(i) for i in range(5)]
    lines = "\n".join(json.dumps(d) for d in demos) + '\n{"timestamp": 100.2'  # cut off while it was written
    paths = [
        write(tmp_path / "a.json", {"demos": demos}),
        write(tmp_path / "b.json", lines),
        write(tmp_path / "c.json", demos),
    ]
    (tmp_path / "d.pkl").write_bytes(pickle.dumps({"demos": demos}))
    read = [read_old(path) for path in (*paths, tmp_path / "d.pkl")]
    assert {r.kind for r in read} == {"shadow"}
    assert all(r.rows == read[0].rows for r in read)
    rows = read[0].rows
    assert [r.time_s for r in rows] == pytest.approx([0, 0.05, 0.1, 0.15, 0.2])
    assert [(r.clicks, r.keys) for r in rows] == [((), ()), ((), ()), (("left",), ()), ((), ("q",)), ((), ())]
    assert rows[0].levels == {"health": 0.8}


def test_arrays(tmp_path: Path) -> None:
    path = tmp_path / "old.npz"
    actions = np.array([[0.5, 0.5, 0, 0], [0.25, 0.75, 1, 10], [0.25, 0.75, 2, 14]], np.float32)
    np.savez_compressed(path, states=np.zeros((3, 7)), actions=actions, fps=np.array(20))
    found = read_old(path)
    assert [(r.point, r.clicks, r.keys) for r in found.rows] == [
        ((0.5, 0.5), (), ()),
        ((0.25, 0.75), ("left",), ("q",)),
        ((0.25, 0.75), ("right",), ("ctrl",)),
    ]
    assert found.rows[2].time_s == pytest.approx(0.1)
    assert "hotkey numbers" in found.defaulted[0]


UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("fps", [5, 30, 240])
def test_the_median_step_tells_the_unit_of_the_times(unit: str, fps: int, tmp_path: Path) -> None:
    pauses = [0] * 5 + [600] * 4  # the mean step would say otherwise
    demos = [demo(i, timestamp=round((1.7e9 + i / fps + pauses[i]) * UNITS[unit], 4)) for i in range(9)]
    found = read_old(write(tmp_path / "old.json", demos))
    assert [r.time_s for r in found.rows] == pytest.approx([i / fps + pauses[i] for i in range(9)], abs=1e-4)
    assert found.defaulted == ([] if unit == "s" else [f"times are in {unit}"])


ROWS = range(100)
TENTHS: list[float | None] = [i / 10 for i in ROWS]
TAKEN = "that {} missing or did not grow: taken from {} neighbours"


def read_times(path: Path, times: list[Any], **head: Any) -> tuple[list[float], list[str]]:
    """When the rows are for which a file has these times, and what was assumed."""
    found = read_old(write(path / "times.json", {"demos": [demo(i, timestamp=time) for i, time in enumerate(times)], **head}))
    return [row.time_s for row in found.rows], found.defaulted


@pytest.mark.parametrize("bad", [4.9, None, "soon", 0.0, 1e9, float("nan"), -7.0], ids=str)
@pytest.mark.parametrize("unit", ["s", "ns"])
def test_one_bad_time_is_taken_from_its_neighbours(unit: str, bad: Any, tmp_path: Path) -> None:
    times: list[Any] = [None if t is None else t * UNITS[unit] for t in TENTHS]
    times[50] = bad * UNITS[unit] if isinstance(bad, float) else bad
    seconds, assumed = read_times(tmp_path, times)
    assert seconds == pytest.approx(TENTHS)
    assert assumed[-1] == f"1 time {TAKEN.format('was', 'its')}"


def test_bad_times_at_both_ends_and_side_by_side_are_told_with_their_number(tmp_path: Path) -> None:
    times = [None if i in {0, 1, 30, 31, 32, 98, 99} else t for i, t in enumerate(TENTHS)]
    seconds, assumed = read_times(tmp_path, times, fps=30)
    assert seconds == pytest.approx(TENTHS)
    assert assumed == [f"7 times {TAKEN.format('were', 'their')}"]


def test_a_bad_time_before_or_after_a_pause_leaves_it_a_pause(tmp_path: Path) -> None:
    paused = [i / 10 + (60 if i >= 50 else 0) for i in ROWS]
    for bad in (49, 50):
        seconds, _ = read_times(tmp_path, [None if i == bad else t for i, t in enumerate(paused)])
        steps = np.diff(seconds)
        assert np.sort(steps)[:-1] == pytest.approx(np.full(98, 0.1))
        assert steps.max() == pytest.approx(60.1)
        assert seconds[-1] == pytest.approx(69.9)


def test_where_most_times_are_of_no_use_the_others_tell_the_rate(tmp_path: Path) -> None:
    whole_seconds = [float(i // 10) for i in ROWS]
    seconds, assumed = read_times(tmp_path, whole_seconds)
    assert seconds == pytest.approx(TENTHS)
    assert assumed == [
        "90 of 100 times are missing or do not grow: a steady rate stands in for all of them",
        "10 pictures a second, the median of the other 10 times",
    ]
    in_ms = [t * 1000 if t is not None and i % 7 == 0 else None for i, t in enumerate(TENTHS)]
    seconds, assumed = read_times(tmp_path, in_ms)
    assert seconds == pytest.approx(TENTHS)
    assert "times are in ms" in assumed


@pytest.mark.parametrize("times", [[5.0] * 100, [None] * 95 + [1.0, 2.0, 3.0, 4.0, 5.0], [i * 1e13 if i % 5 == 0 else 0.0 for i in ROWS]])
def test_where_no_times_tell_a_rate_it_is_that_of_the_file_or_assumed(times: list[Any], tmp_path: Path) -> None:
    seconds, assumed = read_times(tmp_path, times)
    assert seconds[-1] == pytest.approx(99 / 30)
    assert assumed[-1] == "30 pictures a second"
    assert assumed[0].endswith(" of 100 times are missing or do not grow: a steady rate stands in for all of them")
    seconds, assumed = read_times(tmp_path, times, fps=20)
    assert seconds[-1] == pytest.approx(99 / 20)
    assert len(assumed) == 1


def test_a_clock_that_was_set_back_costs_no_pace(tmp_path: Path) -> None:
    seconds, assumed = read_times(tmp_path, [t - 5.05 if i >= 70 else t for i, t in enumerate(i / 10 for i in ROWS)])
    assert seconds == pytest.approx(TENTHS)
    assert assumed == [f"30 times {TAKEN.format('were', 'their')}"]


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([i * 3.3e12 for i in range(9)], r"median step .* 3\.3e\+12.*correct the times"),
        ([i * 1e-7 for i in range(9)], r"median step .* 1e-07"),
        ([0.0, 0.05, 0.1, 1e9], r"spans 11574 days.*correct the times"),
        ([0.0, 5e18], r"median step"),
    ],
)
def test_absurd_times_are_refused(times: list[float], words: str, tmp_path: Path) -> None:
    demos = [demo(i, timestamp=time) for i, time in enumerate(times)]
    with pytest.raises(OldFormatError, match=rf"absurd\.json: .*{words}"):
        read_old(write(tmp_path / "absurd.json", demos))


@pytest.mark.parametrize("fps", [1e-12, -30])
def test_an_absurd_rate_is_refused(fps: float, tmp_path: Path) -> None:
    with pytest.raises(OldFormatError, match=r"slow\.json: fps .* is not a rate"):
        read_old(write(tmp_path / "slow.json", sequence() | {"fps": fps}))


def test_pixels_need_a_picture_size(tmp_path: Path) -> None:
    values = sequence(2) | {"actions": [{"x": 960, "y": 540, "click": "double"}] * 2}
    path = write(tmp_path / "px.json", values)
    with pytest.raises(OldFormatError, match="--picture-size"):
        read_old(path)
    assert read_old(path, (1920, 1080)).rows[0].point == (0.5, 0.5)
    assert read_old(path, (1920, 1080)).rows[0].clicks == ("left", "left")
    assert read_old(write(path, values | {"resolution": [3840, 2160]})).rows[0].point == (0.25, 0.25)


@pytest.mark.parametrize("size", [{"resolution": [0.5, 0.5]}, {"resolution": [0, 1080]}, {"width": 0.5, "height": 0.5}])
def test_a_size_of_less_than_a_pixel_is_none(size: dict[str, Any], tmp_path: Path) -> None:
    path = write(tmp_path / "px.json", sequence(2) | {"actions": [{"x": 960, "y": 540}] * 2} | size)
    with pytest.raises(OldFormatError, match="--picture-size"):
        read_old(path)
    assert read_old(path, (1920, 1080)).rows[0].point == (0.5, 0.5)


def test_units_are_told_once_a_file_and_not_number_by_number(tmp_path: Path) -> None:
    """Of percents 1 is the least, not the whole; a stray point is not in pixels; a pixel in the corner is no share."""
    levels = ({"hp": 80, "mana": 0.5}, {"hp": 2, "mana": 1}, {"hp": 1}, {"hp": 0.5, "mana": 0}, {"hp": 350}, {"hp": "full"})
    read = read_old(write(tmp_path / "levels.json", [demo(i, state=state) for i, state in enumerate(levels)]))
    assert [row.levels for row in read.rows] == [
        {"hp": 0.8, "mana": 0.5},
        {"hp": 0.02, "mana": 1.0},
        {"hp": 0.01},
        {"hp": 0.005, "mana": 0.0},
        {},
        {},
    ]
    assert read.dropped["levels outside 0 to 100"] == 1

    shares = [(0.5, 0.5), (1.6, 0.4), (0.9, 0.1)]
    read = read_old(write(tmp_path / "shares.json", [demo(i, action={"x": x, "y": y}) for i, (x, y) in enumerate(shares)]))
    assert [row.point for row in read.rows] == [(0.5, 0.5), None, (0.9, 0.1)]
    assert read.dropped["positions outside the picture"] == 1

    pixels, box = [(320, 180), (1, 1), (640, 90)], {"class": "npc", "conf": 0.9}
    boxes = [[0, 0, 64, 36], [0, 0, 1, 1], [320, 180, 640, 360]]
    demos = [
        demo(i, action={"x": x, "y": y}, objects=[{**box, "bbox": b}]) for i, ((x, y), b) in enumerate(zip(pixels, boxes, strict=True))
    ]
    read = read_old(write(tmp_path / "pixels.json", demos), (640, 360))
    assert [row.point for row in read.rows] == [pytest.approx(p) for p in ((0.5, 0.5), (1 / 640, 1 / 360), (1.0, 0.25))]
    assert [row.objects[0].box[2] for row in read.rows] == pytest.approx([0.1, 1 / 640, 0.5])


def test_what_is_assumed_and_left_out_is_counted(tmp_path: Path) -> None:
    values = sequence(4)
    del values["fps"]
    values["states"] = values["states"] * 2
    values["actions"][1] = {"x": float("nan"), "y": 0.5, "click": 7, "key": 99}
    values["actions"][2] = None
    values["actions"][3] = {"x": 1.2, "y": 0.5}
    values["objects"] = [[{"class": "npc"}, {"class": "npc", "bbox": [0.6, 0.4, 0.4, 0.6]}, [0.1, 0.1, 0.2, 0.2, 0.5, "box"]]] * 4
    values["modes"] = ["DANCE"] * 4
    found = read_old(write(tmp_path / "odd.json", values))
    assert found.defaulted == ["30 pictures a second"]
    assert found.dropped == {
        "entries without a partner in the other lists": 4,
        "states without names": 3,
        "positions that are no numbers": 1,
        "clicks of an unknown kind": 1,
        "keys that are no name and no number of a hotkey": 1,
        "pictures without an action": 1,
        "positions outside the picture": 1,
        "objects without a class or a box": 6,
        "modes called 'DANCE'": 3,
    }
    assert [o.name for o in found.rows[0].objects] == ["box"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"state": {}, "bot_action": "FIGHT", "vlm_correction": "FLEE", "reason": "low", "confidence": 0.9}, "corrections"),
        ({"health": 85, "tactic": "Kiting", "description": "keeps away", "intent": "FIGHT"}, "labels"),
    ],
)
def test_corrections_and_labels_are_recognised(tmp_path: Path, content: dict[str, Any], kind: str) -> None:
    found = read_old(write(tmp_path / "sequence_1.json", content))
    assert (found.kind, found.rows) == (kind, [])


@pytest.mark.parametrize("content", ["", "not json", "[]", "{}", "[1, 2]", '{"states": []}', "\0\0\0\0", '{"a": 1}\nrubbish\n{"b": 2}'])
def test_strangers_are_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(ValueError, match=r"stranger\.json: "):
        read_old(write(tmp_path / "stranger.json", content))


class Bomb:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self._path}",)


def test_a_pickle_that_would_run_something_is_refused_by_name(tmp_path: Path) -> None:
    mark = tmp_path / "RAN"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path = tmp_path / f"bomb{protocol}.pkl"
        path.write_bytes(pickle.dumps({"demos": [Bomb(mark)]}, protocol))
        with pytest.raises(UnsafePickle, match=r"(posix|os|nt)\.system"):
            read_pickle(path)
    boxed = np.empty(1, object)
    boxed[0] = Bomb(mark)
    np.savez(tmp_path / "bomb.npz", actions=boxed, allow_pickle=True)
    with pytest.raises(UnsafePickle, match=r"(posix|os|nt)\.system"):
        read_npz(tmp_path / "bomb.npz")
    assert not mark.exists()


def test_builtins_that_can_run_things_are_not_allowed(tmp_path: Path) -> None:
    for name in ("eval", "exec", "getattr", "__import__", "open"):
        path = tmp_path / f"{name}.pkl"
        path.write_bytes(f"cbuiltins\n{name}\n.".encode())
        with pytest.raises(UnsafePickle, match=f"builtins.{name}"):
            read_pickle(path)


def test_pickles_of_numpy_one_and_two_hold_the_same(tmp_path: Path) -> None:
    value = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.float64(2.5), "c": {1, 2}, "d": np.array(["x", None], object)}
    new = pickle.dumps(value, 2)
    old = new.replace(b"numpy._core", b"numpy.core")
    assert new != old
    for name, content in (("new", new), ("old", old)):
        path = tmp_path / f"{name}.pkl"
        path.write_bytes(content)
        read = read_pickle(path)
        np.testing.assert_array_equal(read["a"], value["a"])
        assert (read["b"], read["c"], read["d"].tolist()) == (2.5, {1, 2}, ["x", None])


def test_arrays_of_objects_are_read_through_the_same_list(tmp_path: Path) -> None:
    rows = np.empty(2, object)
    rows[0], rows[1] = [{"class": "npc"}], []
    np.savez(tmp_path / "objects.npz", objects=rows, plain=np.arange(4).reshape(2, 2, order="F"), allow_pickle=True)
    read = read_npz(tmp_path / "objects.npz")
    assert read["objects"].tolist() == [[{"class": "npc"}], []]
    np.testing.assert_array_equal(read["plain"], np.arange(4).reshape(2, 2, order="F"))


def test_a_file_of_any_size_is_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)  # without taking room
    with pytest.raises(OldFormatError, match=r"huge\.json: larger than 2 GB"):
        read_old(path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("sequence_1.json", b"", "is empty"),
        ("shadow_recording_1.pkl", b"", "is empty"),
        ("sequence_1.json", b" \n\n", "is empty"),
        ("sequence_1.json", b'{"fps": 30, "states": [{"hp": 1}, {"h', "is torn at line 1, column 36: its end is missing"),
        ("sequence_1.json", b'{\n  "fps": 30,\n  "states": [', "is torn at line 3, column 14: its end is missing"),
        ("sequence_1.json", b'{"fps": 30, "kept": tru', "is torn at line 1, column 21: its end is missing"),
        ("sequence_1.json", b'{"fps": 30, "states": [1,, 2]}', "is no whole JSON: Expecting value at line 1, column 26"),
        ("shadow.jsonl", b'{"a": 1}\nrubbish\n{"b": 2}', "line 2 of 3 is broken at column 1"),
        ("shadow.jsonl", b"rubbish", "is not JSON, nor a pickle"),
    ],
)
def test_it_says_what_is_wrong_with_a_file(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(OldFormatError, match=re.escape(f"{name}: {said}")):
        read_old(path)


@pytest.mark.parametrize("protocol", [0, 1])
@pytest.mark.parametrize("wrapped", [True, False])
def test_a_pickle_of_an_early_protocol_is_called_that(protocol: int, wrapped: bool, tmp_path: Path) -> None:
    demos = [demo(i) for i in range(20)]
    path = tmp_path / "shadow_recording_1.json"  # by content, whatever it is called
    path.write_bytes(pickle.dumps({"demos": demos} if wrapped else demos, protocol))
    with pytest.raises(OldFormatError, match=r"is a pickle of protocol 0 or 1, which is not read; write it anew .*protocol=4"):
        read_old(path)
    path.write_bytes(pickle.dumps({"demos": demos}, 2))
    assert len(read_old(path).rows) == 20


def test_a_little_pickle_that_grows_beyond_any_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_recordings, "MOST_VALUES", 2_000_000)
    grown: list[Any] = [0.5]
    for _ in range(40):  # some bytes each, twice as many values
        grown = [grown, grown]
    path = tmp_path / "shadow_recording_1.pkl"
    path.write_bytes(pickle.dumps({"demos": grown}))
    assert path.stat().st_size < 1000
    with pytest.raises(OldFormatError, match=r"shadow_recording_1\.pkl: holds more than 2 million values"):
        read_old(path)


@pytest.mark.parametrize("shape", [(1_000_001,), (1000, 1001), (1_000_001, 0)])
def test_a_little_pickle_of_a_huge_array_is_refused_before_it_is_written_out(
    shape: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_recordings, "MOST_VALUES", 1_000_000)

    class Huge:
        """An array without its content, which numpy makes of any size."""

        def __reduce__(self) -> tuple[Any, ...]:
            return np.zeros(1).__reduce__()[0], (np.ndarray, shape, b"b")

    path = tmp_path / "shadow_recording_1.pkl"
    path.write_bytes(pickle.dumps(Huge()))
    assert path.stat().st_size < 150
    tracemalloc.start()
    try:
        with pytest.raises(OldFormatError, match=r"shadow_recording_1\.pkl: holds more than 1 million values"):
            read_old(path)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000  # written out it takes 8 bytes a value
    finally:
        tracemalloc.stop()


HUGE = 10**399  # 400 digits


@pytest.mark.parametrize(
    "more",
    [
        {"timestamp": HUGE},
        {"state": {"hp": HUGE}},
        {"action": {"x": HUGE, "y": 0.5}},
        {"action": [0.5, 0.5, HUGE, HUGE]},
        {"objects": [{"class": HUGE, "bbox": [HUGE, 0.4, 0.6, 0.6], "conf": HUGE, "id": HUGE}]},
    ],
    ids=["timestamp", "state", "x", "click and key", "object"],
)
def test_a_number_longer_than_any_float_is_none(more: dict[str, Any], tmp_path: Path) -> None:
    demos = [demo(0), demo(1, **more), demo(2)]
    with pytest.raises(ValueError, match="a whole number of 400 digits"):
        read_old(write(tmp_path / "shadow.json", {"demos": demos}))
    path = tmp_path / "shadow.pkl"  # a pickle holds such numbers
    path.write_bytes(pickle.dumps({"demos": demos, "fps": HUGE, "resolution": [HUGE, HUGE]}))
    assert [row.time_s for row in read_old(path).rows] == pytest.approx([0, 0.05, 0.1])


def test_numbers_of_numpy_behind_plain_ones_are_numbers(tmp_path: Path) -> None:
    rows = [{"state": {"hp": 0.5}, "action": [0.5, np.float32(0.25), np.int64(1), 0]} for _ in range(3)]
    path, plain = tmp_path / "shadow_recording_1.pkl", tmp_path / "shadow_recording_2.json"
    path.write_bytes(pickle.dumps({"demos": rows}))
    plain.write_text(json.dumps({"demos": [{**row, "action": [float(v) for v in row["action"]]} for row in rows]}))
    assert read_old(path).rows == read_old(plain).rows
    assert read_old(path).dropped == read_old(plain).dropped


def test_damaged_files_say_so(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "squeezed.npz", actions=np.random.default_rng(0).random((500, 4)))
    content = bytearray((tmp_path / "squeezed.npz").read_bytes())
    content[200:400] = bytes(200)
    (tmp_path / "squeezed.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"squeezed\.npz: is not a whole"):
        read_npz(tmp_path / "squeezed.npz")
    whole = pickle.dumps({"demos": [demo(i) for i in range(20)]})
    (tmp_path / "half.pkl").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"half\.pkl: cannot be read as a pickle"):
        read_pickle(tmp_path / "half.pkl")
    np.savez(tmp_path / "a.npz", actions=np.zeros((100, 4)))
    content = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"half\.npz: is not a whole"):
        read_npz(tmp_path / "half.npz")
    with zipfile.ZipFile(tmp_path / "lies.npz", "w") as archive:
        archive.writestr("actions.npy", content[content.index(b"\x93NUMPY") :][:200])
    with pytest.raises(ValueError, match="ends after"):
        read_npz(tmp_path / "lies.npz")

from __future__ import annotations

import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tui.line_index import PART_BYTES, Filter, LineIndex


def written(path: Path, count: int) -> Path:
    levels = ("INFO", "INFO", "WARNING", "DEBUG", "ERROR")
    with path.open("w") as file:
        file.writelines(f"2026-11-27 20:31:{i % 60:02d},000 {levels[i % 5]} engine.rig line {i} of play\n" for i in range(count))
    return path


def indexed(path: Path) -> LineIndex:
    index = LineIndex(lambda: [path])
    index.update()
    return index


def test_lines_by_number_and_half_a_last_line_waits(tmp_path: Path) -> None:
    path = written(tmp_path / "log", 9000)
    assert path.stat().st_size > PART_BYTES
    with path.open("a") as file:
        file.write("half a")
    index = indexed(path)
    assert index.count() == 9000
    assert index.lines(0, 1) == ["2026-11-27 20:31:59,000 ERROR engine.rig line 8999 of play"]
    assert [line.split()[5] for line in index.lines(4997, 3)] == ["4000", "4001", "4002"]
    assert index.newest(1)[0].endswith("line 8999 of play")
    with path.open("a") as file:
        file.write(" line\n")
    assert index.update()
    assert index.lines(0, 1) == ["half a line"]
    assert not index.update()


def test_a_filter_finds_words_in_any_case_and_levels(tmp_path: Path) -> None:
    path = written(tmp_path / "log", 5000)
    index = indexed(path)
    index.set_filter(Filter("LINE 49", 0))
    assert index.count() == 0
    index.update()
    assert index.count() == 111  # 49, 490-499, 4900-4999
    index.set_filter(Filter("line 49", 2))
    index.update()
    found = index.lines(0, 999)
    assert found == [f"2026-11-27 20:31:{i % 60:02d},000 {'WARNING' if i % 5 == 2 else 'ERROR'} engine.rig line {i} of play"
                     for i in range(5000) if str(i).startswith("49") and i % 5 in (2, 4)]  # fmt: skip
    with path.open("a") as file:
        file.write("2026-11-27 20:31:00,000 ERROR engine.rig line 49 again\n")
    index.update()
    assert index.lines(0, 1)[0].endswith("line 49 again")
    index.set_filter(Filter())
    assert index.count() == 5001


def test_a_traceback_stays_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        "2026-11-27 20:31:00,000 INFO engine.rig well\n"
        "  and more of it\n"
        "2026-11-27 20:31:00,000 ERROR engine.rig it fell over\n"
        "Traceback (most recent call last):\n"
        "2026-11-27 20:31:00,000 DEBUG engine.rig small talk\n"
    )
    index = indexed(path)
    index.set_filter(Filter("", 2))
    index.update()
    assert [line.split()[-1] for line in index.lines(0, 9)] == ["over", "last):"]
    index.set_filter(Filter("", 1))
    index.update()
    assert index.count() == 4


def test_a_rotated_log_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "secondseat.log"
    old = tmp_path / "secondseat.log.1"
    path.write_text("one\ntwo\n")
    index = LineIndex(lambda: [p for p in (old, path) if p.exists()])
    index.update()
    assert index.lines(0, 9) == ["one", "two"]
    path.rename(old)
    path.write_text("three\n")
    index.update()
    assert index.lines(0, 9) == ["one", "two", "three"]
    assert index.newest(2) == ["two", "three"]
    path.write_text("")
    old.unlink()
    index.update()
    assert index.count() == 0


@given(
    st.lists(st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]), max_size=40), max_size=60),
    st.text("ab", max_size=2),
)
def test_what_is_shown_is_what_a_plain_search_finds(lines: list[str], words: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(b"".join(line.encode() + b"\n" for line in lines))
        index = indexed(path)
        index.set_filter(Filter(words, 0))
        index.update()
        expected = [line for line in lines if words in "".join(c.lower() if c.isascii() else c for c in line)]
        assert [line.split("\r")[0] for line in index.lines(0, 100)] == expected


def test_half_a_million_lines_are_quick(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(written(tmp_path / "part", 5_000).read_bytes() * 100)
    index = LineIndex(lambda: [path])
    begin = time.perf_counter()
    assert len(index.newest(50)) == 50
    assert time.perf_counter() - begin < 0.1
    index.update()
    begin = time.perf_counter()
    for back in (0, 250_000, 499_950):
        assert len(index.lines(back, 50)) == 50
    assert time.perf_counter() - begin < 0.1

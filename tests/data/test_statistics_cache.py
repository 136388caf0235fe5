"""Statistics that are kept: believed only while the session and the code that counts are the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from data import statistics_cache
from data.progress import Progress
from data.statistics import session_statistics
from data.statistics_cache import StatisticsCache, gather
from tests.support.sessions import write_session


def test_what_was_counted_comes_back_until_the_session_changes(tmp_path: Path) -> None:
    folder, cache = write_session(tmp_path, 60), tmp_path / "cache"
    gather([folder], StatisticsCache(cache))
    again = StatisticsCache(cache)
    assert again.known(folder) == session_statistics(folder)
    assert StatisticsCache(cache, history=30).known(folder) is None, "another history gives other windows"
    os.utime(folder / "metadata.json", ns=(1, 1))
    assert again.known(folder) is None
    assert again.known(tmp_path / "sessions" / "nobody") is None


def test_steps_that_change_are_counted_anew(tmp_path: Path) -> None:
    """As when a damaged session is brought back from a copy."""
    folder, cache = write_session(tmp_path, 60), tmp_path / "cache"
    steps = folder / "steps.arrows"
    whole = steps.read_bytes()
    steps.write_bytes(whole[: len(whole) // 2])
    (few,) = gather([folder], StatisticsCache(cache)).sessions
    steps.write_bytes(whole)
    (all_,) = gather([folder], StatisticsCache(cache)).sessions
    assert few.ticks < all_.ticks == 60
    assert any("breaks off" in line for line in few.suspicious)
    assert not any("breaks off" in line for line in all_.suspicious)


def test_other_code_counts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, cache = write_session(tmp_path, 60), tmp_path / "cache"
    gather([folder], StatisticsCache(cache))
    monkeypatch.setattr(statistics_cache, "_made_by", lambda history: "other rules")
    assert StatisticsCache(cache).known(folder) is None


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"made_by": "x"}', "\0", '{"sessions": 3}'])
def test_a_damaged_file_costs_only_time(tmp_path: Path, content: str) -> None:
    folder, cache = write_session(tmp_path, 60), tmp_path / "cache"
    cache.mkdir(exist_ok=True)
    (cache / statistics_cache.CACHE_NAME).write_text(content)
    found = gather([folder], StatisticsCache(cache))
    assert [s.id for s in found.sessions] == [folder.name]


def test_an_entry_that_is_not_whole_is_counted_anew(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 60)
    cache = StatisticsCache(tmp_path / "cache")
    cache.count(folder)
    for said in ([], None, ["x"] * 3):
        cache._entries[folder.name]["said"] = said
        assert cache.known(folder) is None


def test_a_session_that_cannot_be_read_is_named_and_one_that_was_stopped_at_keeps_the_others(tmp_path: Path) -> None:
    folders: list[Path] = []
    for number in range(3):
        written = write_session(tmp_path, 30)
        folders.append(written.rename(written.with_name(f"2026112{number}T203100Z_play_arena")))
    (folders[1] / "metadata.json").write_text("{")
    seen: list[str] = []

    def stop(progress: Progress) -> None:
        if progress.stage.startswith("3 of 3"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gather(folders, StatisticsCache(tmp_path / "cache"), stop, lambda found: seen.append(found.id))
    assert seen == [folders[0].name]
    assert StatisticsCache(tmp_path / "cache").known(folders[0]) is not None
    found = gather(folders, StatisticsCache(tmp_path / "cache"))
    assert [s.id for s in found.sessions] == [folders[0].name, folders[2].name]
    assert list(found.unreadable) == [folders[1].name]


def test_a_workspace_that_cannot_be_written_is_counted_all_the_same(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 30)
    (tmp_path / "file").write_text("no folder")
    assert len(gather([folder], StatisticsCache(tmp_path / "file")).sessions) == 1

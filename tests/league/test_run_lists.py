"""What a face finds beside a league: the newest moment as it was written, and every run of a workspace, torn ones included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from data.locks import identity
from league.live import LIVE, LiveFile, progress_from_json, progress_to_json, read_live
from league.players import PlayerError
from league.policy_files import find_policy
from league.report import make_report, summary_of
from league.runs import RunRow, imitated, league_folders, list_runs, metrics_rows, newest_rows
from tests.support.leagues import WHEN_S, keep_imitation, keep_league, keep_refinement, moment, some


def test_a_moment_survives_its_file() -> None:
    told = moment()
    back = progress_from_json(json.loads(json.dumps(progress_to_json(told))))
    assert np.allclose(back.payoffs, told.payoffs, atol=1e-4)
    assert np.array_equal(back.games, told.games)
    plain = {"payoffs": None, "games": None}
    assert {**asdict(back), **plain} == {**asdict(told), **plain}


def test_a_snapshot_without_its_league_is_of_the_one_played_last_that_has_it(tmp_path: Path) -> None:
    """Not of whichever file is youngest."""

    def snapshot(league: str, name: str, at_s: float) -> None:
        path = tmp_path / "league" / league / "snapshots" / f"{name}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        os.utime(path, (at_s, at_s))

    for league, played_s in (("last", 300.0), ("first", 100.0)):
        snapshot(league, "main-1@2", 50.0 if league == "last" else 90.0)
        (tmp_path / "league" / league / "league_state.json").write_text("{}")
        os.utime(tmp_path / "league" / league / "league_state.json", (played_s, played_s))
    snapshot("first", "main-1@4", 90.0)
    for name, league in (("main-1@2", "last"), ("main-1@4", "first"), ("first/main-1@2", "first")):
        found = find_policy(tmp_path, name, lambda text: tmp_path / text)
        assert found == tmp_path / "league" / league / "snapshots" / name.rpartition("/")[2]
    with pytest.raises(PlayerError, match=r"main-1@9: neither a scripted pilot .* nor a policy; there are first/main-1@2, "):
        find_policy(tmp_path, "main-1@9", lambda text: tmp_path / text)


def test_the_file_tells_who_runs_it_and_how_it_ended(tmp_path: Path) -> None:
    heard: list[float] = []
    with LiveFile(tmp_path, lambda progress: heard.append(progress.done)) as live:
        assert read_live(tmp_path) is None, "nothing is written before the first report"
        live(moment())
        found = read_live(tmp_path)
        me = identity()
        assert found is not None
        assert me is not None
        assert (found.state, found.pid) == ("running", me.pid)
    assert heard == [0.13]
    found = read_live(tmp_path)
    assert found is not None
    assert (found.state, found.pid) == ("stopped", 0)
    with LiveFile(tmp_path) as live:
        live(replace(moment(), done=1.0))
    assert (found := read_live(tmp_path)) is not None
    assert found.state == "done"
    with pytest.raises(ValueError, match="no room"):
        fail(tmp_path)
    assert (found := read_live(tmp_path)) is not None
    assert (found.state, found.why) == ("failed", "no room")


def fail(folder: Path) -> None:
    with LiveFile(folder) as live:
        live(moment())
        raise ValueError("no room")


def test_a_process_that_is_gone_was_cut_off(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from league.live import LiveFile; from tests.support.leagues import moment\n"
        "live = LiveFile(Path(sys.argv[1])); live(moment()); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, cwd=Path(__file__).parents[2])
    found = read_live(tmp_path)
    assert found is not None
    assert (found.state, found.pid) == ("cut off", 0)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"state": "running"}', '{"process": 3}', "9" * 10_000])
def test_a_torn_file_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / LIVE).write_text(text)
    assert read_live(tmp_path) is None


def test_all_runs_newest_first(tmp_path: Path) -> None:
    some(tmp_path)
    rows = list_runs(tmp_path)
    assert [row.kind for row in rows] == ["league", "league", "refinement", "imitation"]
    newest, _, refinement, imitation = rows
    assert (newest.state, newest.stage, newest.matches, newest.players) == ("stopped", "round 3/20", 12_310, 9)
    assert newest.figure == "main-1 +340 Elo (+310 to +374)"
    assert (refinement.stage, refinement.frames) == ("iteration 40", 3_200_000)
    assert refinement.figure == "expert 0.60, novice 0.85, random 0.95"
    assert (imitation.stage, imitation.figure) == ("epoch 2", "validation loss 3.500")


def test_what_is_torn_in_one_run_hides_none_of_the_others(tmp_path: Path) -> None:
    assert list_runs(tmp_path) == []
    some(tmp_path)
    for path in [*tmp_path.glob("league/*/live.json"), *tmp_path.glob("models/league/*/*.json*")]:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    rows = list_runs(tmp_path)
    assert len(rows) == 4
    assert {row.state for row in rows} == {"kept"}
    for text in ('{"iteration": 3, "losses": 5}', '{"evaluation": 3}', '{"iteration": {}, "frames": []}', "[]"):
        next(tmp_path.glob("models/league/*/metrics.jsonl")).write_text(text + "\n")
        assert len(list_runs(tmp_path)) == 4
    next(tmp_path.glob("models/league/*/checkpoint_epoch_2.json")).write_text(
        '{"state": {"history": [{"validation_loss": "x"}]}, "split": 4}'
    )
    assert len(list_runs(tmp_path)) == 4
    (tmp_path / "league" / "first" / "summary.json").write_text('{"players": 3}')
    assert len(list_runs(tmp_path)) == 4


def test_the_league_played_last_is_the_newest_whatever_else_was_written(tmp_path: Path) -> None:
    """By the state (or the one before it) and the matches; a report, or a file that cannot be read, makes no league a newer one."""
    for number, name in enumerate(("league_state.json", "matches.jsonl", "league_state.previous.json")):
        folder = tmp_path / "league" / f"b{2 - number}"
        folder.mkdir(parents=True)
        (folder / name).write_text("")
        os.utime(folder / name, (WHEN_S + number, WHEN_S + number))
    oldest = tmp_path / "league" / "b2"
    (oldest / "report").mkdir()
    (oldest / "live.json").write_text("{}")
    assert [folder.name for folder in league_folders(tmp_path)] == ["b2", "b1", "b0"]
    assert [row.name for row in list_runs(tmp_path)] == ["b0", "b1", "b2"]


def test_a_run_whose_files_cannot_be_read_is_as_old_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(folder: Path) -> RunRow:
        raise ValueError("what it should not hold")

    some(tmp_path)
    for path in tmp_path.glob("league/*/matches.jsonl"):
        os.utime(path, (WHEN_S, WHEN_S))
    for read in ("_league", "_refinement", "_imitation"):
        monkeypatch.setattr(f"league.runs.{read}", broken)
    rows = list_runs(tmp_path)
    assert {row.kind: row.changed_s for row in rows} == {"league": WHEN_S, "refinement": WHEN_S - 5_000, "imitation": WHEN_S - 9_000}


def test_the_end_of_a_journal_is_read_without_half_lines(tmp_path: Path) -> None:
    folder = keep_refinement(tmp_path, "run", 40)
    path = folder / "metrics.jsonl"
    whole = metrics_rows(path, 10**9)
    assert len(whole) == 44
    assert metrics_rows(path, 2_000) == whole[-len(metrics_rows(path, 2_000)) :]
    with path.open("a") as file:
        file.write('{"iteration": 41, "fr')
    iteration, evaluation = newest_rows(folder)
    assert iteration["iteration"] == 40
    assert evaluation["iteration"] == 40
    assert metrics_rows(folder / "none", 100) == []


def test_a_look_long_ago_is_still_told(tmp_path: Path) -> None:
    folder = keep_refinement(tmp_path, "run", 2)
    row = {"iteration": 3, "frames": 3, "matches": 3, "losses": {f"part {i}": 0.123456789 for i in range(25)}}
    with (folder / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps({**row, "iteration": 3 + i}) + "\n" for i in range(180))
    iteration, evaluation = newest_rows(folder)
    assert iteration["iteration"] == 182
    assert evaluation["iteration"] == 2


def test_of_a_refinement_that_is_through_the_list_tells_the_policy_it_kept(tmp_path: Path) -> None:
    folder = keep_refinement(tmp_path, "run", 40)
    kept = {"iteration": 20, "versus": [{"opponent": "expert", "payoff": {"value": 0.71}}]}
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"kept": kept}) + "\n")
    assert newest_rows(folder)[1] == kept
    assert [row.figure for row in list_runs(tmp_path)] == ["expert 0.71"]


def test_an_imitations_epochs(tmp_path: Path) -> None:
    epochs, card = imitated(keep_imitation(tmp_path, "run"))
    assert [epoch["epoch"] for epoch in epochs] == [1, 2]
    assert card["split"]["train_frames"] == 37_352
    assert imitated(tmp_path) == ([], {})


def test_a_league_without_a_live_picture_is_told_by_its_summary(tmp_path: Path) -> None:
    folder = keep_league(tmp_path, "old", moment())
    (folder / LIVE).unlink()
    rows = [{"players": ["main-1", "main-1@0"], "placements": [1, 2]}] * 30
    (folder / "matches.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = make_report(None, folder / "matches.jsonl")
    (folder / "summary.json").write_text(json.dumps({**summary_of(report), "interrupted": True}))
    (row,) = list_runs(tmp_path)
    assert (row.state, row.matches, row.players) == ("stopped", 30, 2)


def test_listing_needs_no_learning_library() -> None:
    code = "import sys, league.runs, league.live; sys.exit(any(m in sys.modules for m in ('torch', 'numba', 'matplotlib')))"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0

"""Play from files that nobody vouches for: what can be used is used, everything else is counted, and nothing raises."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from league.codec import FIELD, HEAD_NAMES, OBSERVATION_SIZE
from league.demonstrations import pilot_play
from league.outcomes import link_outcomes, outcome_of, read_outcome
from league.projection import NEUTRAL, finish_actions, finish_observations, read_action, read_observation
from league.sources import LoadedPlay, load_play

VECTOR = [0.1, -0.2, 0.9, 0.5, 1.0, 0.0, 0.1, 0.1, 0.8, 0.3, 0.4, 0.0, 0.0, 0.7, 0.9, 0.0, 0.0, 0.0, 3 / 7]
BINS = [2, 1, 10, 5, 1, 3, 0]


def row(step: int = 0, **more: Any) -> dict[str, Any]:
    return {"episode_id": "e1", "step": step, "observation": VECTOR, "action": BINS, **more}


def write(path: Path, lines: list[Any]) -> Path:
    """JSONL, gzipped when the name says so; text stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def recorded(folder: Path, lines: list[Any]) -> LoadedPlay:
    write(folder / "a.jsonl.gz", lines)
    play = load_play(folder)
    for sequence in play.sequences:
        sequence.check()
    return play


def test_a_recording_comes_back_as_one_sequence(tmp_path: Path) -> None:
    play = recorded(tmp_path, [row(i, reward=0.25) for i in range(5)] + [row(5, done=True, outcome="win", reward=1.0)])
    (sequence,) = play.sequences
    assert (sequence.steps, sequence.columns, sequence.episodes) == (6, 1, ("recorder/a.jsonl.gz:e1",))
    assert np.allclose(sequence.observation[3, 0], VECTOR)
    assert sequence.action[3, 0].tolist() == BINS
    assert sequence.reward[:, 0].tolist() == [0, 0, 0, 0, 0, 1]
    assert sequence.extras["recorded_reward"][0, 0] == 0.25
    assert sequence.terminated[:, 0].tolist() == [False] * 5 + [True]
    (file,) = play.report.files
    assert (file.used, file.sequences, file.dropped) == (6, 1, {})
    assert file.notes == ["actions are bin indices"]


def test_without_an_outcome_it_is_truncated_with_a_successor(tmp_path: Path) -> None:
    (sequence,) = recorded(tmp_path, [row(i) for i in range(3)]).sequences
    assert sequence.truncated[:, 0].tolist() == [False, False, True]
    assert np.allclose(sequence.next_observation()[2, 0], VECTOR)
    assert not sequence.reward.any()


def test_bad_rows_are_dropped_and_counted_and_the_rest_is_used(tmp_path: Path) -> None:
    broken = [[*VECTOR[:3], float("nan"), *VECTOR[4:]], VECTOR[:5], {"colour": "red"}]
    lines: list[Any] = [row(0), *(row(1, observation=o) for o in broken), row(2, action="DANCE"), row(3, action=[2] * 6)]
    lines += [row(4, action=[2, 1, 11, 5, 1, 3, 0]), {"episode_id": "e1", "observation": VECTOR}, "{not json", "[1, 2]", {"type": "header"}]
    lines += [row(5, weather="rain", reward=10**400), row(6, weather="rain")]
    play = recorded(tmp_path, lines)
    (file,) = play.report.files
    assert file.used == play.sequences[0].steps == 2
    assert file.dropped == {
        "rows with NaN or infinite numbers": 2,
        "rows without a known field of the observation": 2,
        "rows with an unknown action": 2,
        "rows with an action out of range": 1,
        "rows without an action": 1,
        "lines that are no JSON": 1,
        "lines that are no object": 1,
        "lines without observation and action": 1,
    }
    assert file.unknown["weather"] == 2
    assert file.unknown["colour"] == 1


@pytest.mark.parametrize("kept", [0.3, 0.7, 0.95])
def test_a_torn_gzip_gives_what_was_before(tmp_path: Path, kept: float) -> None:
    rng = np.random.default_rng(0)
    path = write(tmp_path / "a.jsonl.gz", [row(i, observation=rng.random(19).tolist()) for i in range(300)])
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    (file,) = load_play(tmp_path).report.files
    assert 0 < file.used < 300
    assert any("torn after line" in note for note in file.notes)


def test_a_last_line_cut_off_and_deep_or_long_lines_do_no_harm(tmp_path: Path) -> None:
    deep = "[" * 100_000
    path = write(tmp_path / "a.jsonl", [row(0), deep, '{"a": ' + "9" * 10_000 + "}"])
    path.write_bytes(path.read_bytes() + b'{"observation": [0.1, 0.')
    (file,) = load_play(tmp_path).report.files
    assert file.used == 1
    assert file.dropped == {"lines that are no JSON": 2, "a last line cut off": 1}


def test_empty_missing_and_foreign_folders_are_told(tmp_path: Path) -> None:
    play = load_play(tmp_path, tmp_path / "absent")
    assert play.sequences == []
    assert [n.removeprefix(str(tmp_path)) for n in play.report.notes[:2]] == [
        ": no recorder trajectories (*.jsonl.gz or *.jsonl)",
        "/absent: no such folder, so no feedback streams",
    ]
    assert "let the scripted pilots play" in play.report.text()
    (tmp_path / "a.jsonl.gz").write_bytes(b"")
    (tmp_path / "b.jsonl.gz").write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR.")
    files = load_play(tmp_path).report.files
    assert [f.used for f in files] == [0, 0]
    assert files[0].notes == ["holds no row that can be used"]


def test_the_same_file_twice_is_read_once(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        (tmp_path / name).write_bytes(gzip.compress(json.dumps(row()).encode(), mtime=0))
    play = load_play(tmp_path)
    assert len(play.sequences) == 1
    assert "the same bytes as a.jsonl.gz" in play.report.files[1].notes[0]


def test_episodes_end_by_name_by_done_and_by_a_falling_count(tmp_path: Path) -> None:
    lines = [row(0), row(1), row(0), row(1), row(2, done=True), row(3), row(0, episode_id="e2")]
    lengths = [s.steps for s in recorded(tmp_path, lines).sequences]
    assert lengths == [2, 3, 1, 1]


def test_whole_episodes_columns_and_seats_are_read_too(tmp_path: Path) -> None:
    step = {"observation": VECTOR, "action": BINS}
    lines = [
        {"episode_id": "whole", "steps": [step, step, "torn"], "placement": 4, "num_players": 4},
        {"episode_id": "columns", "observations": [VECTOR] * 3, "actions": [BINS] * 2},
        {"match_id": "seats", "tick": 0, "agents": {"a": step, "b": step}},
        {"match_id": "seats", "tick": 1, "agents": {"a": step}},
    ]
    play = recorded(tmp_path, lines)
    assert [(s.episodes[0].split(":")[1], s.steps) for s in play.sequences] == [("whole", 2), ("columns", 2), ("seats", 2), ("seats", 1)]
    assert play.sequences[0].reward[-1, 0] == -1
    assert play.report.files[0].dropped == {"steps that are no object": 1}


def feedback(step: int, **more: Any) -> dict[str, Any]:
    state = {"player": {"hp": 80}, "nearest_enemy": {"dx": 160.0, "dy": 0.0}, "enemy_count": 3, "mood": "calm"}
    return {"match_id": "m1", "step": step, "state": state, "action": {"move": [1.0, 0.0], "fire": True}, **more}


def test_feedback_is_projected_by_name_and_outcomes_come_from_manifests(tmp_path: Path) -> None:
    streams, live = tmp_path / "reports" / "feedback_training", tmp_path / "reports" / "live"
    for run in ("run1", "run2"):
        write(streams / run / "feedback_stream.jsonl", [feedback(i, ocr={"kills": i}, run=run) for i in range(4)])
    links = [
        {"match_id": "m1", "result": "loss", "runtime_feedback": "C:\\old\\reports\\feedback_training\\run1\\feedback_stream.jsonl"},
        {"match_id": "m1", "placement": 1, "runtime_feedback": "run2"},
        {"result": "win", "runtime_feedback": "../../../etc/passwd"},
        {"result": "win"},
    ]
    write(live / "today" / "manifest.jsonl", links)
    play = load_play(None, streams, live, metrics=("kills", "absent"))
    first, second = play.sequences
    assert first.check().reward[:, 0].tolist() == [0, 0, 0, -1]
    assert second.check().reward[-1, 0] == 1
    seen = dict(zip(FIELD, first.observation[0, 0].tolist(), strict=True))
    told = {"self_hp": 0.8, "enemy_dx": 0.5, "enemies_alive": 3 / 7}
    assert seen == pytest.approx({**dict.fromkeys(FIELD, 0.0), **NEUTRAL, **told})
    assert first.action[0, 0].tolist() == [2, 1, 5, 5, 1, 0, 0]
    assert first.head_mask[0, 0].tolist() == [True, True, False, False, True, False, False]
    assert first.extras["metric/kills"][:, 0].tolist() == [0, 1, 2, 3]
    assert np.isnan(first.extras["metric/absent"]).all()
    manifest, stream = play.report.files[:2]
    assert (manifest.used, manifest.dropped) == (3, {"lines without an outcome linked by runtime_feedback": 1})
    assert stream.defaulted["self_energy"] == 4
    assert stream.defaulted["action aim_x"] == 4
    assert "self_hp" not in stream.defaulted
    assert stream.unknown["mood"] == 4
    assert play.report.notes == ["1 of 3 outcomes name no stream of feedback that is here"]
    assert play.report.outcomes == {"won": 1, "lost": 1, "between": 0, "not known": 0}


def test_units_are_told_by_the_whole_file() -> None:
    rows = [{"self_hp": 1, "vx": 0.5, "vy": -1.0, "enemy_dx": 640.0, "enemy_dy": 0.0}, {"self_hp": 50, "enemy_dx": 0.5, "enemy_dy": 160.0}]
    told = [read_observation(r, Counter()) for r in rows]
    notes: list[str] = []
    values, _, clipped = finish_observations(np.stack([t for t in told if t is not None]), notes)
    assert values[:, FIELD["self_hp"]].tolist() == pytest.approx([0.01, 0.5])
    assert values[0, FIELD["self_vy"]] == -1.0
    assert values[:, FIELD["enemy_dx"]].tolist() == pytest.approx([1.0, 0.5 / 320])  # beyond its range only the direction
    assert values[1, FIELD["enemy_dy"]] == pytest.approx(0.5)
    assert (len(notes), clipped) == (3, 0)


def test_actions_of_every_kind() -> None:
    told: list[Any] = [[-0.5, 0.4, 1.0, 0.0, 1, 2, 0], "fire", {"aim": {"x": 1, "y": -1}, "ability": "jam"}, {"ability": None, "use": True}]
    read = [read_action(t, Counter()) for t in told]
    bins, known, wrong = finish_actions(np.stack([r for r in read if r is not None]), [])
    assert bins[0].tolist() == [0, 1, 10, 5, 1, 2, 0]
    assert bins[1].tolist() == [1, 1, 5, 5, 1, 0, 0]
    assert [HEAD_NAMES[i] for i in np.flatnonzero(known[2])] == ["aim_x", "aim_y", "ability"]
    assert bins[2].tolist() == [1, 1, 10, 0, 0, 3, 0]
    assert bins[3].tolist() == [1, 1, 5, 5, 0, 0, 1]
    assert not wrong.any()
    assert read_action({"dance": 1}, Counter()) is None
    assert read_action(3, Counter()) is None


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ({"outcome": "Victory"}, 1.0),
        ({"result": {"result": "draw"}}, 0.0),
        ({"placement": 2, "num_players": 3}, 0.0),
        ({"rank": 3, "players": ["a", "b", "c", "d"]}, pytest.approx(-1 / 3)),
        ({"place": 1}, 1.0),
        ({"place": 3}, None),
        ({"place": 5, "num_players": 4}, None),
        ({"won": False}, -1.0),
        ({"outcome": float("nan")}, None),
        ({"outcome": "great"}, None),
        ({}, None),
    ],
)
def test_outcomes(line: dict[str, Any], outcome: float | None) -> None:
    assert outcome_of(line) == outcome


def test_a_link_goes_to_the_stream_it_fits_best_or_to_none() -> None:
    streams = [Path("/x/a/run/feedback_stream.jsonl"), Path("/x/b/run/feedback_stream.jsonl")]
    links = ["b/run/feedback_stream.jsonl", "run/feedback_stream.jsonl", "feedback_stream.jsonl", "other"]
    read = [read_outcome({"outcome": 1, "runtime_feedback": link}) for link in links]
    linked, lost = link_outcomes(streams, [r for r in read if r is not None])
    assert {path: len(found) for path, found in linked.items()} == {streams[1]: 1}
    assert lost == 3


def test_pilots_are_a_source_and_the_report_counts_them() -> None:
    (block,) = pilot_play(2, ("expert", "novice"), ("expert",), seed=3, episode_steps=30)
    block.check()
    assert (block.columns, block.observation.shape[2]) == (2, OBSERVATION_SIZE)
    assert (block.terminated & block.living).sum(0).tolist() == [1, 1]
    assert not block.head_mask[~block.living].any()
    (again,) = pilot_play(2, ("expert", "novice"), ("expert",), seed=3, episode_steps=30)
    assert np.array_equal(block.action, again.action)
    (both,) = pilot_play(2, ("expert", "novice"), ("expert", "novice"), seed=3, episode_steps=30)
    assert (both.columns, len(set(both.episodes))) == (4, 2)
    assert np.allclose(np.where(both.living, both.reward, 0).sum(), 0)  # what one wins the other loses
    for wrong in ({"players": ("expert", "ace")}, {"learn_from": ("random",)}, {"matches": 0}):
        with pytest.raises(ValueError, match=r"pilots ace|nobody of random|0 matches"):
            pilot_play(**{"matches": 1, "players": ("expert", "novice"), **wrong})


def test_the_report_is_plain_and_says_what_is_there(tmp_path: Path) -> None:
    report = recorded(tmp_path, [row(i) for i in range(4)] + [row(4, done=True, outcome="loss")]).report
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["frames"] == 5
    assert report.actions["ability"] == [0, 0, 0, 5]
    assert report.observation["self_hp"].mean == pytest.approx(0.9)
    assert (report.shortest, report.longest, report.outcomes["lost"]) == (5, 5, 1)
    text = report.text()
    assert "a.jsonl.gz (recorder): 5 rows in 1 sequences" in text
    assert "never change" in text


def test_an_outcome_without_a_seat_pays_the_only_seat_and_none_of_several(tmp_path: Path) -> None:
    step = {"observation": VECTOR, "action": BINS}
    won = {"match_id": "m", "outcome": "win"}
    both = {"match_id": "m", "tick": 0, "agents": {"a": step, "b": step}}
    play = recorded(tmp_path / "several", [both, won])
    assert [(s.reward[-1, 0], s.truncated[-1, 0]) for s in play.sequences] == [(0, True)] * 2
    assert play.report.files[0].dropped == {"outcomes without a seat of matches with several": 1}
    assert play.report.outcomes == {"won": 0, "lost": 0, "between": 0, "not known": 2}

    play = recorded(tmp_path / "seats", [both, {**won, "seat": "a"}, {**won, "seat": "b", "outcome": "loss"}])
    assert [s.reward[-1, 0] for s in play.sequences] == [1, -1]

    one = {**step, "match_id": "m", "seat": "a"}
    gone = {**step, "match_id": "m", "seat": "b", "done": True, "outcome": "loss"}
    play = recorded(tmp_path / "left", [one, gone, won])  # b was there, so that it is not plain whose outcome that is
    assert [s.reward[-1, 0] for s in play.sequences] == [0, -1]
    play = recorded(tmp_path / "single", [one, won, {**one, "seat": "b"}, {**won, "outcome": "loss"}])
    assert [s.reward[-1, 0] for s in play.sequences] == [1, -1]
    whole = {"match_id": "m", "steps": [{"agents": {"a": step, "b": step}}], "placement": 1}
    assert [s.reward[-1, 0] for s in recorded(tmp_path / "whole", [whole]).sequences] == [0, 0]


@pytest.mark.parametrize("name", ["done", "terminated", "truncated"])
@pytest.mark.parametrize(
    ("value", "ends"), [(True, True), (1, True), ("true", True), ("True ", True), (0, False), ("false", False), (2, False)]
)
def test_an_end_is_true_one_or_the_word(tmp_path: Path, name: str, value: Any, ends: bool) -> None:
    play = recorded(tmp_path, [row(0), row(1, outcome="win", **{name: value}), row(2)])
    assert [s.steps for s in play.sequences] == ([2, 1] if ends else [3])
    assert play.sequences[0].reward[-1, 0] == (1 if ends else 0)

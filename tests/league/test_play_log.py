"""A person's matches are kept, and read back as they were played."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from league.arena.last_standing_match import Matches
from league.codec import FIELD, HEAD_NAMES
from league.play_log import PlayLog
from league.players import load_player
from league.sources import load_play

FIRE, MOVE_X = HEAD_NAMES.index("fire"), HEAD_NAMES.index("move_x")


def played(log: PlayLog, count: int = 2) -> Matches:
    """A person who flies to the right and fires, against an expert."""
    made = Matches(["expert", "person"], [load_player("expert", 1, 5), None], 5)
    made.log = log
    made.hand.press("d", True)
    made.hand.press("mouse_left", True)
    for number in range(count):
        while not made.over:
            made.advance()
        if number < count - 1:
            made.restart()
            made.hand.press("d", True)
            made.hand.press("mouse_left", True)
    return made


def test_a_persons_matches_are_read_back_as_they_were_played(tmp_path: Path) -> None:
    log = PlayLog(tmp_path / "played_20261129T100000Z.jsonl.gz")
    made = played(log)
    assert (log.matches, log.error) == (2, "")
    found = load_play(tmp_path)
    (told,) = found.report.files
    assert (told.used, told.dropped) == (log.moves, {})
    assert len(found.sequences) == 2
    for sequence, result in zip(found.sequences, made.results, strict=True):
        assert (sequence.action[..., FIRE] == 1).all()
        assert (sequence.action[..., MOVE_X] == 2).all()
        assert sequence.terminated[-1, 0]
        assert sequence.reward.sum() == pytest.approx(1 if result.places[1] == 1 else -1)
        assert (sequence.observation[..., FIELD["self_hp"]] > 0).all(), "nothing is kept of a ship that is lost"
        assert sequence.frames <= round(result.seconds * 20) + 1
    assert len({name for sequence in found.sequences for name in sequence.episodes}) == 2


def test_a_match_that_is_broken_off_is_forgotten(tmp_path: Path) -> None:
    log = PlayLog(tmp_path / "p.jsonl.gz")
    made = Matches(["expert", "person"], [load_player("expert", 1, 5), None], 5)
    made.log = log
    for _ in range(60):
        made.advance()
    made.restart()
    assert not log.path.exists()
    while not made.over:
        made.advance()
    assert (log.matches, len(load_play(tmp_path).sequences)) == (1, 1)


def test_a_person_who_is_out_need_not_wait_for_the_others(tmp_path: Path) -> None:
    names = ["expert", "expert", "person", "expert"]
    made = Matches(names, [None if name == "person" else load_player(name, 1, k) for k, name in enumerate(names)], 5)
    made.log = PlayLog(tmp_path / "p.jsonl.gz")
    while not made.out:
        made.advance()
    assert not made.over
    alive = int(made.state.ship_alive[0].sum())
    made.restart()
    assert made.log.matches == 1
    (sequence,) = load_play(tmp_path).sequences
    assert sequence.reward.sum() == pytest.approx(1 - 2 * alive / 3)
    assert sequence.frames == made.log.moves


def test_programs_are_not_kept(tmp_path: Path) -> None:
    made = Matches(["expert", "random"], [load_player(name, 1, k) for k, name in enumerate(("expert", "random"))], 5)
    made.log = PlayLog(tmp_path / "p.jsonl.gz")
    while not made.over:
        made.advance()
    assert not made.log.path.exists()


def test_a_place_that_cannot_be_written_to_stops_no_match(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = PlayLog(tmp_path / "file" / "p.jsonl.gz")
    made = played(log)
    assert len(made.results) == 2
    assert log.matches == 0
    assert "matches from number 1 on are not kept" in log.error


def test_what_is_torn_off_costs_the_last_match_alone(tmp_path: Path) -> None:
    log = PlayLog(tmp_path / "p.jsonl.gz")
    played(log, 1)
    whole = log.path.stat().st_size
    log.note(np.zeros(19, np.float32), np.zeros(7, np.float32))
    log.end(9, 1.0)
    log.path.write_bytes(log.path.read_bytes()[: whole + 30])
    found = load_play(tmp_path)
    assert len(found.sequences) == 1
    assert any("torn after" in note for note in found.report.files[0].notes)

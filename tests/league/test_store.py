"""A league's folder: whole or not at all, the state before it kept, snapshots by their hash, journals cut back and never counted twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.checkpoint import CheckpointError, load, save
from league.network import ActorCritic
from league.store import Journal, LeagueStore, StoreError, read_journal, read_state, weights_hash


def weights(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {k: rng.normal(size=v.shape).astype(np.float32) for k, v in ActorCritic(8).state_dict().items()}


def part(text: str) -> Any:
    return lambda folder: (folder / "numbers.txt").write_text(text)


def content(path: Path) -> dict[str, bytes]:
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


@pytest.fixture
def store(tmp_path: Path) -> LeagueStore:
    store = LeagueStore(tmp_path / "league")
    store.folder.mkdir()
    return store


def saved_twice(store: LeagueStore) -> None:
    store.matches.append([{"match": 0}])
    store.save({"round": 1}, {"main-1": part("one"), "main_exploiter-1": part("same")})
    store.matches.append([{"match": 1}])
    store.save({"round": 2}, {"main-1": part("two")})


def test_the_newest_state_comes_back_with_its_parts(store: LeagueStore) -> None:
    assert not store.is_used
    saved_twice(store)
    assert store.is_used
    found = LeagueStore(store.folder).load()
    assert found.state == {"round": 2}
    assert found.notes == []
    assert (found.parts["main-1"] / "numbers.txt").read_text() == "two"
    assert (found.parts["main_exploiter-1"] / "numbers.txt").read_text() == "same"
    assert found.journals["matches"] == store.matches.size == 26
    assert (store.folder / "parts").is_dir()
    assert len(list((store.folder / "parts").iterdir())) == 3  # both states' and no more
    for number in range(3, 6):
        store.save({"round": number}, {"main-1": part(str(number))})
    assert len(list((store.folder / "parts").iterdir())) == 3


def test_an_amended_state_leaves_what_can_be_fallen_back_to(store: LeagueStore) -> None:
    saved_twice(store)
    again = LeagueStore(store.folder)
    again.load()
    again.amend({"rounds": 9})
    found = LeagueStore(store.folder).load()
    assert (found.state, found.notes) == ({"round": 2, "rounds": 9}, [])
    (found.parts["main-1"] / "numbers.txt").write_text("damaged")
    earlier = LeagueStore(store.folder).load()
    assert earlier.state == {"round": 1}
    assert (earlier.parts["main-1"] / "numbers.txt").read_text() == "one"
    (store.folder / "league_state.json").write_text("{")
    LeagueStore(store.folder).amend({"rounds": 10})  # nothing good to amend
    assert (store.folder / "league_state.json").read_text() == "{"


@pytest.mark.parametrize("harm", ["torn", "empty", "altered", "missing part", "altered part", "nan", "no object", "too new", "gone"])
def test_a_bad_state_is_passed_over_and_kept(store: LeagueStore, harm: str) -> None:
    saved_twice(store)
    state = store.folder / "league_state.json"
    text = state.read_text()
    folder = LeagueStore(store.folder).load().parts["main-1"]
    harms = {
        "torn": text[: len(text) // 2],
        "empty": "",
        "altered": text.replace('"round": 2', '"round": 3'),
        "nan": text.replace('"round": 2', '"round": NaN'),
        "no object": "[1, 2]",
        "too new": text.replace('"format": 1', '"format": 2'),
    }
    if harm in harms:
        state.write_text(harms[harm])
    elif harm == "missing part":
        (folder / "numbers.txt").unlink()
    elif harm == "altered part":
        (folder / "numbers.txt").write_text("owt")
    else:
        state.unlink()
    before = content(store.folder)
    again = LeagueStore(store.folder)
    found = again.load()
    assert found.state == {"round": 1}
    assert (found.parts["main-1"] / "numbers.txt").read_text() == "one"
    assert found.journals["matches"] == 13
    (note,) = found.notes
    assert "falling back to the previous good state" in note
    assert "league_state.json" in note
    assert content(store.folder) == before  # reading changes nothing
    again.save({"round": 9}, {"main-1": part("nine")})
    after = LeagueStore(store.folder)
    assert after.load().state == {"round": 9}
    assert read_state(store.folder / "league_state.previous.json")["state"] == {"round": 1}
    if harm != "gone":
        assert (store.folder / "league_state.json.corrupt").exists()


def test_no_good_state_is_told_and_nothing_is_touched(store: LeagueStore) -> None:
    saved_twice(store)
    for name in ("league_state.json", "league_state.previous.json"):
        (store.folder / name).write_text("{")
    before = content(store.folder)
    with pytest.raises(StoreError, match="no state to go on from") as told:
        LeagueStore(store.folder).load()
    assert "new league in another folder" in str(told.value)
    assert content(store.folder) == before


def test_a_part_that_fails_leaves_the_last_state(store: LeagueStore) -> None:
    saved_twice(store)

    def full(folder: Path) -> None:
        (folder / "half.txt").write_text("ha")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        store.save({"round": 3}, {"main-1": full})
    assert LeagueStore(store.folder).load().state == {"round": 2}
    store.save({"round": 3}, {"main-1": part("three")})
    found = LeagueStore(store.folder).load()
    assert (found.state, (found.parts["main-1"] / "numbers.txt").read_text()) == ({"round": 3}, "three")


def test_a_state_holds_no_number_that_is_none(store: LeagueStore) -> None:
    saved_twice(store)
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.save({"round": float("nan")}, {})
    assert LeagueStore(store.folder).load().state == {"round": 2}


def test_one_process_writes(store: LeagueStore) -> None:
    with store.writing():
        saved_twice(store)
        for _ in range(2):  # nor does one that was refused open the door
            with pytest.raises(StoreError, match="another process"), LeagueStore(store.folder).writing():
                pass
    assert not (store.folder / ".league.lock").exists()
    with LeagueStore(store.folder).writing():
        pass


def test_a_start_that_failed_leaves_nothing_behind(tmp_path: Path) -> None:
    new, there = LeagueStore(tmp_path / "new"), LeagueStore(tmp_path / "there")
    there.folder.mkdir()
    (there.folder / "mine.txt").write_text("kept")
    for store in (new, there):
        with pytest.raises(ZeroDivisionError), store.writing():
            _ = 1 / 0
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["there", "there/mine.txt"]


def test_a_snapshot_is_checked_when_it_is_read(store: LeagueStore) -> None:
    frozen, wanted = weights(), weights_hash(weights())
    store.write_snapshot("main-1@1", frozen, {"reason": "test"})
    for values in frozen.values():
        values += 1.0  # training goes on with the arrays
    read = store.read_snapshot("main-1@1", wanted)
    assert weights_hash(read) == wanted != weights_hash(frozen)
    assert store.found_snapshots(["main-1@1", "main-1@2"]) == {"main-1@1": wanted}
    with pytest.raises(StoreError, match=r"main-1@2.*no such file"):
        store.read_snapshot("main-1@2", wanted)
    with pytest.raises(StoreError, match="other weights"):
        store.read_snapshot("main-1@1", weights_hash(frozen))
    file = store.folder / "snapshots" / "main-1@1.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(StoreError, match="other weights"):
        store.read_snapshot("main-1@1", wanted)
    file.write_bytes(content[:200])
    with pytest.raises(StoreError, match="not a readable checkpoint"):
        store.read_snapshot("main-1@1", wanted)
    assert store.found_snapshots(["main-1@1"]) == {"main-1@1": ""}


def test_a_snapshot_is_a_policy_like_any_other(store: LeagueStore) -> None:
    from league.imitate import load_policy

    store.write_snapshot("main-1@1", weights(), {})
    network, card = load_policy(store.snapshot_path("main-1@1"))
    assert weights_hash({k: v.numpy() for k, v in network.state_dict().items()}) == weights_hash(weights()) == card["weights_hash"]


def test_a_snapshot_with_other_weights_than_its_card_tells_is_no_policy(store: LeagueStore) -> None:
    from league.imitate import load_policy

    store.write_snapshot("main-1@1", weights(), {})
    path = store.snapshot_path("main-1@1")
    card = load(path).card
    save(path, weights(1), card)
    with pytest.raises(CheckpointError, match=r"main-1@1\.safetensors: its weights are others than those that were frozen; put the file"):
        load_policy(path)
    save(path, weights(1), {**card, "weights_hash": None})
    with pytest.raises(CheckpointError, match="its weights are others"):
        load_policy(path)
    del card["weights_hash"]
    save(path, weights(1), card)
    assert load_policy(path)[1] == card


def test_other_weights_of_the_same_name_are_kept(store: LeagueStore) -> None:
    store.write_snapshot("main-1@1", weights(1), {})
    store.write_snapshot("main-1@1", weights(1), {})
    assert len(list((store.folder / "snapshots").glob("*.safetensors"))) == 1
    store.write_snapshot("main-1@1", weights(2), {})
    old = store.folder / "snapshots" / f"main-1@1.other-{weights_hash(weights(1))[:8]}.safetensors"
    assert old.exists()
    assert store.found_snapshots(["main-1@1"]) == {"main-1@1": weights_hash(weights(2))}


@pytest.mark.parametrize("name", ["../main-1", "main-1@1/../../x", "", "main", "MAIN-1", "main-1@"])
def test_names_that_lead_elsewhere_are_refused(store: LeagueStore, name: str) -> None:
    with pytest.raises(StoreError, match="no name of a learner or snapshot"):
        store.snapshot_path(name)


def test_the_hash_is_of_names_kinds_shapes_and_numbers() -> None:
    one = {"a": np.arange(4.0), "b": np.zeros(2)}
    assert weights_hash(one) == weights_hash({"b": np.zeros(2), "a": np.arange(4.0)})
    others = [{"a": np.arange(4.0)}, {**one, "a": np.arange(4.0)[::-1]}, {**one, "a": np.arange(4.0).reshape(2, 2)}]
    others += [{**one, "a": np.arange(4.0).astype(np.float32)}, {"c": np.arange(4.0), "b": np.zeros(2)}]
    assert len({weights_hash(w) for w in [one, *others]}) == 6


def test_a_journal_grows_and_is_cut_back(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "matches.jsonl")
    assert journal.size == 0
    assert journal.cut(0) == ""
    journal.append([{"n": 1}, {"n": 2}])
    size = journal.size
    journal.append([{"n": 3}])
    with journal.path.open("a") as file:
        file.write('{"n": 4')  # killed in the middle of a line
    assert read_journal(journal.path) == (
        [{"n": 1}, {"n": 2}, {"n": 3}],
        ["matches.jsonl: its last line, 4, is torn, or still being written, and is left out"],
    )
    assert "1 lines after it are played again" in journal.cut(size)
    journal.append([{"n": 5}])
    assert [json.loads(line)["n"] for line in journal.path.read_text().splitlines()] == [1, 2, 5]
    assert (tmp_path / "matches.jsonl.cut").read_text() == '{"n": 3}\n{"n": 4'
    assert "bytes are missing" in journal.cut(journal.size + 10)
    with pytest.raises(StoreError, match="cannot be read"):
        read_journal(tmp_path / "absent")


@pytest.mark.parametrize(
    ("tail", "rows", "told"),
    [
        ('{"n": 3}', [1, 2, 3], []),
        ('{"n": 3}  ', [1, 2, 3], []),
        ("  ", [1, 2], []),
        ('{"n": 3', [1, 2], ["matches.jsonl: its last line, 3, is torn, or still being written, and is left out"]),
        ("[3]", [1, 2], ["matches.jsonl: its last line, 3, is torn, or still being written, and is left out"]),
        ("[3]\n", [1, 2], ["matches.jsonl: 1 lines are no JSON object and are left out, the first is line 3"]),
    ],
)
def test_a_last_line_without_its_end_counts_when_it_is_whole(tmp_path: Path, tail: str, rows: list[int], told: list[str]) -> None:
    path = tmp_path / "matches.jsonl"
    path.write_text('{"n": 1}\n{"n": 2}\n' + tail)
    found, notes = read_journal(path)
    assert ([row["n"] for row in found], notes) == (rows, told)


def test_a_torn_last_line_takes_no_line_along_that_comes_after_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "replays.jsonl")
    journal.path.write_text('{"n": 1}\n{"n": 2, "mov')
    journal.append([])
    assert journal.path.read_text().endswith('"mov')
    journal.append([{"n": 3}])
    journal.append([{"n": 4}])
    found, notes = read_journal(journal.path)
    assert [row["n"] for row in found] == [1, 3, 4]
    assert notes == ["replays.jsonl: 1 lines are no JSON object and are left out, the first is line 2"]
    assert journal.path.read_text().endswith('\n{"n": 3}\n{"n": 4}\n')

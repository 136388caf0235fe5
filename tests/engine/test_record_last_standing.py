"""Last man standing recorded with a league's policy as the demonstrator: what is recorded is what acted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from data.profile import LAST_STANDING_PROFILE
from data.session import open_session
from data.verify import verify
from engine.perception.gauges import GaugeReader
from engine.record_last_standing import SEATS, RecordedMatches, record_matches
from engine.training import load_sessions
from league.arena import last_standing as game
from league.arena.last_standing_match import Fingers, Hand
from league.arena.last_standing_truth import LastStandingObserver, exact_status
from league.codec import BINS, decode
from league.players import load_player
from tui.cli import main

pytestmark = pytest.mark.timeout(180)
NAMES = ("expert", "novice", "expert", "random")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RecordedMatches]:
    workspace = tmp_path_factory.mktemp("workspace")
    players = [load_player(name, 1, 3 + k) for k, name in enumerate(NAMES)]
    return workspace, record_matches(workspace, NAMES, players, 3, 12.0)


def test_a_hand_does_what_fingers_were_told() -> None:
    """Any choice of a policy, from any place, comes out of keys and pointer as it went in."""
    dice = np.random.default_rng(4)
    fingers, hand = Fingers(), Hand()
    for _ in range(300):
        bins = (dice.random(7) * BINS).astype(np.int8)
        ship = dice.uniform((8, 40), (632, 340)).tolist()
        wanted = decode(bins)
        held_before = fingers.held
        action = fingers.act(wanted, ship)
        assert 0 <= action.x <= 1
        assert 0 <= action.y <= 1
        assert set(action.onsets) == action.held - held_before
        hand.aim_px = (action.x * 640, action.y * 360)
        for name in held_before - action.held:
            hand.press(name, False)
        for name in action.onsets:
            hand.press(name, True)
        done = hand.action(ship)
        assert done[[0, 1, 4, 5, 6]].tolist() == wanted[[0, 1, 4, 5, 6]].tolist()
        length = float(np.hypot(*wanted[2:4]))
        if length:
            assert done[2:4] == pytest.approx(wanted[2:4] / length, abs=1e-4)


def test_the_session_is_in_order_and_says_what_it_is(recorded: tuple[Path, RecordedMatches]) -> None:
    workspace, made = recorded
    folder = workspace / "sessions" / made.session
    assert verify(folder) == []
    told = json.loads((folder / "metadata.json").read_text())
    assert (told["profile"]["name"], told["state"], told["kind"]) == ("last-standing", "saved", "play")
    assert told["details"]["pilot"] == "expert"
    assert "exact, in lockstep" in told["details"]["perception"]
    with open_session(folder) as session:
        steps, events = session.steps(), session.events()
        assert len(steps) == 240
        assert session.metadata.counts.frames == 240
        assert {e.actor for e in events} == {"demonstrator"}
        assert {e.actor_name for e in events} == {"expert"}
        names = {e.name for e in events if e.kind == "press"}
        assert {"mouse_left", "w", "a", "s", "d"} <= names <= {"mouse_left", *LAST_STANDING_PROFILE.keys}
        presses = [e for e in events if e.kind in ("press", "release")]
        down: set[str] = set()
        for event in presses:  # nothing is pressed twice, or let go without
            assert (event.name in down) == (event.kind == "release")
            down ^= {event.name}


def test_the_picture_shows_what_the_steps_say(recorded: tuple[Path, RecordedMatches]) -> None:
    """The profile's gauges, read off the recorded video, are the exact ones."""
    workspace, made = recorded
    reader = GaugeReader(LAST_STANDING_PROFILE)
    with open_session(workspace / "sessions" / made.session) as session:
        steps = session.steps()
        wrong: dict[str, list[float]] = {"hp": [], "shield": [], "energy": [], "ability": []}
        for row, frame in enumerate(session.frames(0, 240)):
            if row % 8:
                continue
            read, exact = reader.read(frame.image), steps.status(row)
            for name, apart in wrong.items():
                kind = "cooldowns" if name == "ability" else "levels"
                seen, true = getattr(read, kind)[name], getattr(exact, kind)[name]
                assert true is not None
                apart.append(abs((seen if seen is not None else np.nan) - true))
    assert np.nanmax(wrong["hp"]) < 0.03
    assert np.nanmax(wrong["shield"]) < 0.03
    assert np.nanmedian(wrong["energy"]) < 0.03
    assert np.nanmax(wrong["ability"]) < 0.16  # nine pixels
    assert all(np.isfinite(apart).mean() > 0.9 for apart in wrong.values())


def test_tracks_are_exact_and_ids_belong_to_one_thing() -> None:
    state = game.new_worlds(1, [5], SEATS)
    players = [load_player(name, 1, k) for k, name in enumerate(("expert", "expert", "expert", "expert"))]
    observer = LastStandingObserver()
    classes: dict[int, int] = {}
    names = LAST_STANDING_PROFILE.class_names()
    seen_names: set[str] = set()
    for tick in range(500):
        seen = observer.observe(state, 0, 0, (tick * 50_000_000, tick * 50_000_000), tick, (0.5, 0.5))
        assert len(set(seen.tracks.ids.tolist())) == len(seen.tracks)
        for ident, kind in zip(seen.tracks.ids.tolist(), seen.tracks.classes.tolist(), strict=True):
            assert classes.setdefault(ident, kind) == kind
        seen_names |= {names[k] for k in seen.tracks.classes.tolist()}
        assert (seen.tracks.boxes[:, :2] >= 0).all()
        assert (seen.tracks.boxes <= 1).all()
        if state.ship_alive[0, 0]:
            me = seen.tracks.boxes[seen.tracks.classes == names.index("self")]
            assert me[0, :2] * (640, 360) == pytest.approx(state.ship_pos[0, 0], abs=1e-3)
        observation = game.build_observation(state)
        game.step(state, np.stack([p.act(observation[:, k : k + 1])[0, 0] for k, p in enumerate(players)])[None])
    assert {"self", "ship", "shot", "hostile_shot", "zone"} <= seen_names
    assert seen_names & {"heal", "shield", "power"}
    assert 0 <= (exact_status(state, 0, 0).cooldowns["ability"] or 0) <= 1


def test_it_is_learnt_from_under_its_own_name_alone(recorded: tuple[Path, RecordedMatches]) -> None:
    workspace, made = recorded
    sessions, left_out = load_sessions(workspace, "last-standing")
    assert (len(sessions), left_out) == (1, [])
    assert len(sessions[0]) == 240
    from engine.training import NothingToLearn

    with pytest.raises(NothingToLearn, match=f"{made.session}: of last-standing, not arena"):
        load_sessions(workspace, "arena")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--workspace", str(tmp_path), "league", "record")
    assert main([*words, "novice", "random", "random", "random", "--for", "2s", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["demonstrator"], told["duration_s"]) == ("novice", 2.0)
    assert main([*words, "novice", "random"]) == 2
    assert "with three opponents" in capsys.readouterr().err
    assert main([*words, "person", "random", "random", "random"]) == 2
    assert main([*words, "main-1@9", "random", "random", "random"]) == 1
    assert "main-1@9: neither a scripted pilot" in capsys.readouterr().err

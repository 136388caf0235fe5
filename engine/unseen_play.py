"""Play for the scoreboard: fresh play of a scripted demonstrator on arena worlds that nobody has learnt from, kept in memory, or
recordings of a policy's game."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from data.schema import Observation
from data.steps import Steps
from data.vocabulary import MODES
from engine.comparison import HELD_OUT, LEARNT_FROM
from engine.runtime.progress import Progress, Report, ignore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from data.profile import GameProfile
    from engine.evaluate import Rung
    from engine.scoreboard import SecondRun
    from engine.scoreboard_figures import Scoreboard
    from engine.scoreboard_parts import Again

FIRST: Final = 500_000
"""Where in the list of test seeds these worlds begin: far from those on which policies are scored."""
AGAIN: Final = 7919
FEWEST_MINUTES: Final = 2
_TRAINED: Final = {True: LEARNT_FROM, False: HELD_OUT}


def whole_minutes(minutes: float) -> int:
    """How much play that is: whole episodes of a minute, and at least two, since one world says little of others."""
    return max(FEWEST_MINUTES, round(minutes))


def unseen_play(
    pilot: str, minutes: float, rung: Rung, report: Report = ignore, exact: list[list[Observation]] | None = None
) -> list[Steps]:
    """Whole episodes of a minute (``whole_minutes``), as the rung's eyes see them: "state" exactly, "emulated", or "pixels".

    The demonstrator itself reads the world, late by its reaction time; what it saw in each episode is put into ``exact`` (not with
    pixels). Raises ValueError for an unknown pilot.
    """
    from engine.lockstep import record_episode
    from league.arena.emulated import EmulatedObserver, TruthObserver
    from league.arena.pilots import make_pilot
    from league.arena.score import seeds

    if rung == "pixels":
        from engine.pixels import PixelEyes

        eyes = PixelEyes()
    else:
        eyes = None
    count = whole_minutes(minutes)
    found: list[Steps] = []
    for seed in seeds("test", count, FIRST).tolist():
        report(Progress("the demonstrator plays", len(found) / count, message=f"{len(found)} of {count} minutes"))
        if eyes is not None:
            found.append(eyes.record(pilot, seed))
        else:
            observer = TruthObserver() if rung == "state" else EmulatedObserver(seed=seed)
            saw = list[Observation]()
            found.append(record_episode(observer, make_pilot(pilot, seed), pilot, seed, witness=saw.append)[0])
            if exact is not None:
                exact.append(saw)
    return found


def judge_unseen(policy: Path, minutes: float, report: Report = ignore, pilot: str = "expert") -> Scoreboard:
    """A policy of the arena on fresh play of the demonstrator (``whole_minutes`` of it), perception emulated. Raises CheckpointError,
    and ValueError for a policy of another game."""
    from engine.policy import load_arena_policy
    from engine.scoreboard import judge

    loaded = load_arena_policy(policy)
    exact = list[list[Observation]]()
    play = unseen_play(pilot, minutes, "emulated", report, exact)
    return judge(loaded, play, f"unseen play of the {pilot}, perception emulated", second_run(pilot, play, exact), report)


@dataclass(frozen=True, slots=True)
class RecordedPlay:
    """The steps of recordings with what their labels say, what they are called, the policy's game, and what is to be said of those that
    the policy was trained with."""

    sessions: list[Steps]
    name: str
    profile: GameProfile
    notes: tuple[str, ...] = ()


def fitting(workspace: Path, policy: Path, names: Sequence[str]) -> list[Path]:
    """The folders of recordings (ids, unambiguous beginnings, or "last") of a policy's game, each once.

    Raises SessionNotFound, SessionError, CheckpointError, and ValueError for a recording of another game.
    """
    from data.catalog import find
    from data.metadata import read_metadata
    from data.models import read_policy
    from data.same_game import differences

    game = read_policy(policy)[1]
    found = list(dict.fromkeys(find(workspace, name) for name in names))
    for folder in found:
        profile = read_metadata(folder).profile
        if why := differences(game, profile):
            named = why if profile.name == game.name else why[:1]
            raise ValueError(f"{folder.name} does not fit {policy.name}: {'; '.join(named)}; name recordings of {game.name}")
    return found


def recorded_play(workspace: Path, policy: Path, names: Sequence[str]) -> RecordedPlay:
    """Recordings (ids, unambiguous beginnings, or "last") to judge a policy on. Raises as ``fitting``."""
    from data.labels import labelled
    from data.models import read_policy, trained_with
    from data.session import open_session

    folders, trained = fitting(workspace, policy, names), trained_with(policy)
    found: list[Steps] = []
    shown: list[str] = []
    told: dict[bool, list[str]] = {True: [], False: []}
    for folder in folders:
        with open_session(folder) as session:
            steps, same_play = labelled(session.steps(), folder), {folder.name, *session.metadata.originals()}
        known = [trained[name] for name in same_play if name in trained]
        if known:
            told[any(known)].append(folder.name)
        shown.append(f"{folder.name}{f' ({_TRAINED[any(known)]})' if known else ''}")
        found.append(steps)
    notes = [f"{policy.name} learnt from {', '.join(told[True])}: the figures say nothing about new play"] if told[True] else []
    if told[False]:
        was = "was" if len(told[False]) == 1 else "were"
        notes.append(f"{', '.join(told[False])} {was} held out when {policy.name} was trained, to choose its best epoch and thresholds by")
    return RecordedPlay(found, ", ".join(shown), read_policy(policy)[1], tuple(notes))


def second_run(pilot: str, play: Sequence[Steps], exact: Sequence[Sequence[Observation]]) -> SecondRun:
    """The same demonstrator before the same sights (``exact``, of each session of ``play``) with fresh timing and a hand of its own: what
    no learner can be asked to beat by much, since not even the demonstrator does the same thing in the same tick twice."""

    def again(session: int, start: int, stop: int) -> list[Again]:
        from engine.lockstep import same_track
        from engine.scoreboard_parts import Again
        from league.arena.pilots import make_pilot

        other = make_pilot(pilot, AGAIN)
        found: list[Again] = []
        for row in range(start, stop):
            saw = exact[session][row]
            said = other.act(dataclasses.replace(saw, cursor=None))
            target = same_track(saw.tracks, said.target_id, play[session].tracks(row))
            found.append(Again(said.action.onsets, MODES.index(said.mode), target, (said.action.x, said.action.y)))
        return found

    return again

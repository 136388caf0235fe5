"""The commands of the engine: an explicit table of names and what they do. All run on the engine's loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from engine.control_center import ControlCenter
    from engine.recorder_machine import RecorderKey


SOURCE_STOP_S: Final = 20.0
"""A source that is still loading its detector stops only after that."""


class EngineError(Exception):
    """A command that could not be carried out; the text says why and what to do."""


async def record_toggle(center: ControlCenter) -> str:
    """F5."""
    if center.recorder.state().phase in ("idle", "unsaved"):
        await _ensure_rig(center)
    return await _press(center, "f5")


async def record_save(center: ControlCenter) -> str:
    """F6."""
    return await _press(center, "f6")


async def record_discard(center: ControlCenter) -> str:
    """F7."""
    return await _press(center, "f7")


async def record_undo(center: ControlCenter) -> str:
    """Take the newest recording back out of the trash."""
    from data.trash import undo

    restored = await asyncio.to_thread(undo, center.workspace.root)
    await _count_sessions(center)
    return f"taken back from the trash: {restored.id}"


async def stop_all(center: ControlCenter, reason: str = "STOP ALL") -> str:
    """F8: hands off at once, save what is recorded, stop the jobs' asking for more."""
    center.bot.stop(reason)
    saved = await _finish_recording(center, f"stopped ({reason})")
    return saved or f"stopped ({reason}): the bot has let go of every key"


async def source(center: ControlCenter, **spec: Any) -> str:
    """Choose what is watched: kind=arena|screen|video, pilot, seed, window, monitor, region, session, loop."""
    center.bot.disarm("the source was changed")
    saved = await _finish_recording(center, "the source was changed")
    changed = center.spec.chosen(center.settings, **spec)
    async with center.rig_lock:
        if center.rig is not None:
            late = await center.rig.stop(center.supervisor, SOURCE_STOP_S)
            center.rig = None
            if late:
                raise EngineError(f"would not stop: {', '.join(late)}; leave and start again")
        center.spec = changed
    await _ensure_rig(center)
    return f"watching {center.spec.describe()}" + (f"; {saved}" if saved else "")


async def game(center: ControlCenter, profile: dict[str, Any]) -> str:
    """Watch a game whose profile was written meanwhile, without a new start."""
    from data.profile import GameProfile

    made = GameProfile.model_validate(profile)
    games = {**center.settings.games, made.name: made}
    center.settings = center.settings.model_copy(update={"games": games, "game": made.name})
    return await source(center, kind="screen", window=made.window_title)


async def source_off(center: ControlCenter) -> str:
    """Watch nothing."""
    center.bot.disarm("nothing is watched any more")
    await _finish_recording(center, "nothing is watched any more")
    async with center.rig_lock:
        if center.rig is not None:
            await center.rig.stop(center.supervisor, SOURCE_STOP_S)
            center.rig = None
    return "watching nothing"


async def arm(center: ControlCenter, policy: str = "", dry_run: bool = False) -> str:
    """Load a policy and arm it for the window that is watched, which must be of its game. It does not fly yet."""
    from engine.live import settle_garbage
    from engine.policy import load_policy

    await _ensure_rig(center)
    rig = center.rig
    if rig is None:
        raise EngineError("nothing is watched; choose a source first")
    path = center.policy_path(policy)
    loaded = await asyncio.to_thread(load_policy, path, rig.profile)
    await asyncio.to_thread(settle_garbage)
    async with center.rig_lock:  # what was watched when it was asked for, and nothing else
        if center.rig is not rig:
            raise EngineError("another source was chosen meanwhile; arm again")
        hands = await asyncio.to_thread(rig.hands, dry_run)
        text = await asyncio.to_thread(center.bot.arm, loaded, path.name, hands, dry_run)
        rig.set_pilot(center.bot)
    return text


async def fly(center: ControlCenter, for_s: float | None = None) -> str:
    """Hand the controls over, or hand them over again after a yield."""
    return await asyncio.to_thread(center.bot.fly, for_s)


async def disarm(center: ControlCenter) -> str:
    return await asyncio.to_thread(center.bot.disarm, "")


async def train(center: ControlCenter, level: str = "all", **options: Any) -> str:
    """Train one level, all three, or the detector, as a job."""
    if level == "detector":
        return _job(center, "detector", "train detector", options)
    if level not in ("strategist", "tactician", "executor", "all"):
        raise EngineError(f"there is no level {level!r}; use strategist, tactician, executor, all or detector")
    settings = center.settings
    own = settings.training.model_dump(mode="json", exclude_unset=True)  # a default that is told as a setting would go before a preset
    told = {"training": own, "device": settings.live.device, "game": settings.game}
    return _job(center, "train", f"train {level}", {"level": level, **told, **options})


async def teach(center: ControlCenter, profile: dict[str, Any], epochs: int | None = None, resume: bool = False) -> str:
    """Train a detector on the boxes that a person confirmed for a game, as a job; ``profile`` is the game's as it is now."""
    from data.profile import GameProfile

    made = GameProfile.model_validate(profile)
    asked = {"profile": made.model_dump(mode="json"), "epochs": epochs, "resume": resume}
    return _job(center, "teach", f"teach {made.name}", asked)


async def evaluate(
    center: ControlCenter,
    policy: str = "",
    episodes: int = 20,
    rungs: str = "state,emulated,pixels",
    minutes: float = 3.0,
    look: str = "",
    sessions: str = "",
) -> str:
    """Let a policy fly the arena as a job, and score it; ``rungs`` with commas, ``minutes`` of unseen play judge its levels;
    ``look``: how it is drawn for the rung "pixels", empty as the settings say. With ``sessions`` (ids, beginnings or "last", with
    commas) nothing is flown: the levels are judged on those recordings, which is all that a policy of another game can do."""
    from data.models import read_policy
    from data.profile import ARENA_PROFILE
    from engine.unseen_play import fitting
    from league.arena.looks import look_named

    path = center.policy_path(policy)
    if names := [name.strip() for name in sessions.split(",") if name.strip()]:
        folders = await asyncio.to_thread(fitting, center.workspace.root, path, names)
        return _job(center, "evaluate", f"evaluate {path.name}", {"policy": str(path), "sessions": [folder.name for folder in folders]})
    if (game := read_policy(path)[1].name) != ARENA_PROFILE.name:
        raise EngineError(f"{path.name} plays {game}, not the arena: it is judged on recordings alone; name some of {game} as its sessions")
    drawn = look_named(look or center.settings.arena.look).name
    asked = {"policy": str(path), "episodes": episodes, "rungs": rungs.split(","), "minutes": minutes, "look": drawn}
    return _job(center, "evaluate", f"evaluate {path.name}", asked)


async def imitate(center: ControlCenter, folder: str = "", **asked: Any) -> str:
    """Make the league's first policy from play, as a job; ``folder``: a run to go on with (``resume``), else a new one."""
    return _league_job(center, "imitate", center.workspace.models / "league", folder, asked)


async def refine(center: ControlCenter, folder: str = "", **asked: Any) -> str:
    """Let a policy of the league go on learning by playing, as a job."""
    return _league_job(center, "refine", center.workspace.models / "league", folder, asked)


async def league(center: ControlCenter, folder: str = "", **asked: Any) -> str:
    """Play a league, as a job."""
    return _league_job(center, "league", center.workspace.root / "league", folder, asked)


async def perceive(center: ControlCenter, session: str) -> str:
    """Perceive a session anew from its video, as a job."""
    return _job(center, "perceive", f"perceive {session}", {"session": session})


async def job_stop(center: ControlCenter, id: str) -> str:
    if center.jobs is None:
        raise EngineError("no jobs run")
    return center.jobs.stop(id)


async def arena_window(center: ControlCenter, scale: int = 2, seed: int | None = None) -> str:
    """Open the playable arena's window, and watch it as a real screen."""
    await source(center, kind="arena_window", scale=scale, seed=seed if seed is not None else center.settings.arena.seed)
    return "the arena's window is open: click to fly, Space fires, F5 records"


async def doctor(center: ControlCenter) -> str:
    """Look at what this machine has, and put it into the snapshot."""
    from engine.doctor import checks

    found = await asyncio.to_thread(checks, center.settings)
    center.checks = tuple((c.name, c.state, c.text if c.state == "ok" or not c.remedy else f"{c.text}: {c.remedy}") for c in found)
    wrong = [name for name, state, _ in center.checks if state != "ok"]
    return f"checked: {len(found) - len(wrong)} of {len(found)} are well" + (f"; look at {', '.join(wrong)}" if wrong else "")


async def key(center: ControlCenter, pressed: str) -> str:
    """A control key as the terminal heard it: one press counts once, even when it was heard globally too.

    It says nothing itself: what the key means does.
    """
    if center.hotkeys is None:
        raise EngineError("the engine is not running yet; try again in a moment")
    center.hotkeys.terminal_press(pressed)
    return ""


async def _press(center: ControlCenter, pressed: RecorderKey) -> str:
    await asyncio.to_thread(center.recorder.press, pressed)
    if pressed == "f5" and center.rig is not None and center.recorder.state().phase in ("recording", "paused"):
        center.rig.begin_recording()
    await asyncio.to_thread(center.recorder.wait, 5.0)
    await _count_sessions(center)
    return center.recorder.state().note or center.recorder.state().phase


async def _finish_recording(center: ControlCenter, why: str) -> str:
    """End and save what is being recorded; what the recorder says of it, empty when nothing was."""
    if center.recorder.state().phase == "idle":
        return ""
    center.recorder.finish(why)
    await asyncio.to_thread(center.recorder.wait, 5.0)
    await _count_sessions(center)
    return center.recorder.state().note


async def _ensure_rig(center: ControlCenter) -> None:
    from engine.rig import Rig

    async with center.rig_lock:
        if center.rig is not None and not center.rig.failure:
            return
        if center.rig is not None:
            await center.rig.stop(center.supervisor, SOURCE_STOP_S)
            center.rig = None
        rig = Rig(center.spec, center.settings, center.workspace, center.recorder, center.bot)
        await rig.start(center.supervisor)
        center.rig = rig


async def _count_sessions(center: ControlCenter) -> None:
    await asyncio.to_thread(center.count_kept)


def _league_job(center: ControlCenter, kind: str, base: Path, folder: str, asked: dict[str, Any]) -> str:
    """A job in the folder that is named, or in a new one whose name is the time."""
    where = Path(folder) if folder else base / time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    if center.jobs is not None and any(job.run_dir == str(where) and job.phase == "running" for job in center.jobs.states()):
        raise EngineError(f"{where.name} is running already")
    return _job(center, kind, f"{kind} {where.name}", {"folder": str(where), **asked})


def _job(center: ControlCenter, kind: str, title: str, arguments: dict[str, Any]) -> str:
    if center.jobs is None:
        raise EngineError("the engine is not running yet; try again in a moment")
    arguments = {k: v for k, v in arguments.items() if v is not None}
    job_id = center.jobs.start(kind, title, {"workspace": str(center.workspace.root), **arguments})
    waits = any(job.id == job_id and job.phase == "queued" for job in center.jobs.states())
    return f"waits for its turn: {title}" if waits else f"started: {title} ({job_id})"


COMMANDS: Final[Mapping[str, Callable[..., Awaitable[str]]]] = {
    "key": key,
    "record_toggle": record_toggle,
    "record_save": record_save,
    "record_discard": record_discard,
    "record_undo": record_undo,
    "stop_all": stop_all,
    "source": source,
    "game": game,
    "source_off": source_off,
    "arm": arm,
    "fly": fly,
    "disarm": disarm,
    "train": train,
    "teach": teach,
    "evaluate": evaluate,
    "perceive": perceive,
    "imitate": imitate,
    "refine": refine,
    "league": league,
    "job_stop": job_stop,
    "arena_window": arena_window,
    "doctor": doctor,
}

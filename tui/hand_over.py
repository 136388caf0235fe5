"""Leaving while something runs, without ending it: the engine of this face hands over to a new headless one.

The bot is disarmed and the recording saved as at any end; training and other jobs run on and are taken up by the new
engine, which watches the same source and, where it was recording, records a new session.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from engine.endpoint import DEFAULT_NAME, endpoint_path, runtime_folder, take_place
from tui.pump import EngineHost
from tui.spawn import StartError, start_headless

STOP_S = 15.0


def hand_over(host: EngineHost, words: Sequence[str]) -> str:
    """End the engine of ``host`` and start one that goes on; ``words`` are the global options of this run.

    Returns what to say at the end. Raises StartError when the new engine did not come up; NotReady when there is none to
    hand over.
    """
    duties = host.duties()
    was = host.snapshot()
    jobs = [job.title for job in was.jobs if job.phase == "running"]
    left = host.stop(STOP_S, keep_jobs=True)
    path = runtime_folder() / f"hand-over-{os.getpid()}.json"
    duties.write(path)
    name = _free_name()
    try:
        hello = start_headless(name, words, ["--hand-over", str(path)])
    except StartError as error:
        still = f"; still running without an engine: {', '.join(jobs)} (the next engine takes them up)" if jobs else ""
        raise StartError(f"{error}{still}") from error
    finally:
        path.unlink(missing_ok=True)
    goes_on = [*jobs, *(["recording"] if duties.record else []), *([duties.spec.describe()] if duties.spec is not None else [])]
    option = "" if name == DEFAULT_NAME else f" --name {name}"
    lines = [
        f"handed over to a headless engine (process {hello.pid}): {', '.join(goes_on) or 'nothing runs'}",
        f"  look at it again:  secondseat attach{option}",
        f"  end it:            secondseat stop{option}",
    ]
    if left:
        lines.append(f"would not stop before: {', '.join(left)}")
    return "\n".join(lines)


def _free_name() -> str:
    place = take_place(endpoint_path(DEFAULT_NAME), exact=False)
    place.leave()
    return place.path.stem

"""``secondseat labels``: what a person says of stretches of a session, which holds before the coach and the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from data.text import printable, text_refusal
from tui.commands.invocation import UsageError, new_app, say, say_json, table, workspace_of
from tui.commands.options import Json
from tui.commands.session_times import From, Id, To, end_s, moment_s
from tui.moments import moment

if TYPE_CHECKING:
    from data.labels import Label, Target
    from data.steps import Steps

app = new_app("Labels of a session: list what is said of it, say which mode or target a stretch has, take it back.")

At = Annotated[str, typer.Argument(metavar="MOMENT", help="from the session's start: 90, 90s, 1:30, or 90000000000ns")]
ModeName = Literal["FIGHT", "LOOT", "FLEE", "EXPLORE", "CAUTIOUS"]


@app.command("list")
def list_(context: typer.Context, session: Id, as_json: Json = False) -> None:
    """What was said, in that order, and which mode and target hold when."""
    from data.catalog import find
    from data.labels import mode_stretches, read, target_stretches
    from data.session import open_session

    folder = find(workspace_of(context).root, session)
    labels, bad = read(folder)
    with open_session(folder) as opened:
        zero_ns = opened.start_ns
    holds, targets = mode_stretches(labels), target_stretches(labels)
    if as_json:
        stretches = [{"start_ns": s.start_ns, "end_ns": s.end_ns, "mode": s.mode, "source": s.source} for s in holds]
        pointed = [
            {"start_ns": s.start_ns, "end_ns": s.end_ns, "target": s.target and s.target.model_dump(mode="json"), "source": s.source}
            for s in targets
        ]
        said = [label.model_dump(mode="json", exclude_defaults=True) for label in labels]
        values = {"labels": said, "holds": stretches, "targets": pointed, "unreadable_lines": bad}
        say_json({"id": folder.name, "start_ns": zero_ns, **values})
        return
    rows = [(_span(label.start_ns, label.end_ns, zero_ns), label.source, _words(label), label.by) for label in labels]
    say(table(("stretch", "source", "says", "by"), rows) if rows else f"nothing is said of {folder.name}; the rules hold")
    if holds:
        say("\nholds now:")
        say(table(("stretch", "mode", "source"), [(_span(s.start_ns, s.end_ns, zero_ns), s.mode, s.source) for s in holds]))
    if targets:
        say("\ntargets:")
        named = [(_span(s.start_ns, s.end_ns, zero_ns), _target_words(s.target), s.source) for s in targets]
        say(table(("stretch", "target", "source"), named))
    if bad:
        say(f"! {bad} line{'s' if bad > 1 else ''} of labels.jsonl cannot be read and {'are' if bad > 1 else 'is'} passed over")


@app.command()
def tracks(context: typer.Context, session: Id, at: At, as_json: Json = False) -> None:
    """What is in the picture at a moment, by the ids that `labels set --target` takes."""
    from data.catalog import find
    from data.session import open_session

    folder = find(workspace_of(context).root, session)
    with open_session(folder) as opened:
        steps, zero_ns = opened.steps(), opened.start_ns
    wanted = moment_s(at)
    row = _row_at(steps, zero_ns + round(wanted * 1e9))
    if row is None:
        raise UsageError(f"labels tracks: {folder.name} has no step at {at}; it was perceived from {_perceived(steps, zero_ns)}")
    there, names = steps.tracks(row), steps.profile.class_names()
    if as_json:
        found = [
            {"id": int(track), "class": names[int(kind)], "box": [round(float(v), 4) for v in box], "confidence": round(float(sure), 3)}
            for track, kind, box, sure in zip(there.ids, there.classes, there.boxes, there.confidences, strict=True)
        ]
        say_json({"id": folder.name, "time_ns": int(steps.time_ns[row]), "tracks": found})
    elif len(there):
        rows = [
            (str(track), names[int(kind)], f"{box[0]:.2f} {box[1]:.2f}", f"{sure:.2f}")
            for track, kind, box, sure in zip(there.ids, there.classes, there.boxes, there.confidences, strict=True)
        ]
        say(table(("id", "class", "at x y, 0..1", "confidence"), rows))
    else:
        say(f"nothing is in the picture of {folder.name} at {at}")


@app.command("set")
def set_(
    context: typer.Context,
    session: Id,
    start: From,
    end: To,
    mode: Annotated[ModeName | None, typer.Option("--mode", case_sensitive=False, help="the mode of the stretch")] = None,
    target: Annotated[
        str, typer.Option("--target", metavar="TRACK|none", help="the track that is meant (labels tracks lists them), or that none is")
    ] = "",
    description: Annotated[str, typer.Option("--description", help="what happens, in words")] = "",
    none: Annotated[bool, typer.Option("--none", help="take back what a person said of the stretch")] = False,
    as_json: Json = False,
) -> None:
    """Say what a stretch is: mode, target, words. What is not given stays as it was. The latest word holds; it is learnt next time."""
    from data.catalog import find
    from data.labels import say as say_label
    from data.labels import set_mode
    from data.session import open_session

    if bool(mode or target or description) == none:
        raise UsageError("labels set: give --mode, --target or --description, or --none alone")
    if refusal := text_refusal(description):
        raise UsageError(f"labels set --description: {refusal}")
    if len(description) > 2000:
        raise UsageError(f"labels set: a description has at most 2000 letters, not {len(description)}")
    folder = find(workspace_of(context).root, session)
    with open_session(folder) as opened:
        zero_ns, length_s = opened.start_ns, opened.length_s
        steps = opened.steps() if target and target.lower() != "none" else None
    from_s, until_s = moment_s(start), end_s(end)
    until_s = length_s if until_s is None else until_s
    if not from_s < until_s:
        raise UsageError(f"labels set: from {start} to {end} is no stretch; the second moment must be later")
    if from_s >= length_s:
        raise UsageError(f"labels set: {folder.name} is {moment(length_s)} long; there is nothing at {start}")
    if until_s > max(length_s, round(length_s, 1), round(length_s)):  # a length as it is shown anywhere means the end
        raise UsageError(f"labels set: {folder.name} is {moment(length_s)} long; {end} is beyond it, use `end` for its end")
    until_s = min(until_s, length_s)
    start_ns, end_ns = zero_ns + round(from_s * 1e9), zero_ns + round(until_s * 1e9)
    pointed = None if steps is None else _pointed(steps, target, start_ns, end_ns, folder.name)
    if none:
        label = set_mode(folder, start_ns, end_ns, None)
    else:
        no_target = bool(target) and pointed is None
        label = say_label(folder, start_ns, end_ns, mode=mode, target=pointed, no_target=no_target, description=description)
    _tell(folder.name, label, zero_ns, as_json)


def _pointed(steps: Steps, track: str, start_ns: int, end_ns: int, name: str) -> Target:
    """Where the track of that id is first seen in the stretch as something that can be a target. Raises UsageError."""
    import numpy as np

    from data.labels import TARGET_ROLES, Target

    if not track.isdecimal():
        raise UsageError(f"labels set: --target {track!r} is no track; give its id, a whole number (labels tracks lists them), or none")
    first, last = (int(row) for row in np.searchsorted(steps.time_ns, (start_ns, end_ns)))
    roles, other = steps.profile.roles(), ""
    for row in range(first, last):
        there = steps.tracks(row)
        for place in np.flatnonzero(there.ids == int(track)).tolist():
            x, y, width, height = (min(max(float(v), 0.0), 1.0) for v in there.boxes[place])
            kind = steps.profile.class_names()[int(there.classes[place])]
            if roles[int(there.classes[place])] not in TARGET_ROLES:
                other = kind
                continue
            return Target(time_ns=int(steps.time_ns[row]), class_name=kind, box=(x, y, width, height))
    if other:
        those = ", ".join(kind for kind, role in zip(steps.profile.class_names(), roles, strict=True) if role in TARGET_ROLES)
        raise UsageError(f"labels set: track {track} is {other}, which is no target; one can be {those or 'none in this game'}")
    raise UsageError(f"labels set: {name} has no track {track} in that stretch; see secondseat labels tracks {name} MOMENT")


def _row_at(steps: Steps, time_ns: int) -> int | None:
    """The step nearest to a time, within half a second."""
    import numpy as np

    if not len(steps):
        return None
    row = int(np.abs(steps.time_ns - time_ns).argmin())
    return row if abs(int(steps.time_ns[row]) - time_ns) <= 500_000_000 else None


def _perceived(steps: Steps, zero_ns: int) -> str:
    return _span(int(steps.time_ns[0]), int(steps.time_ns[-1]), zero_ns) if len(steps) else "never (secondseat data perceive does it)"


@app.command()
def undo(context: typer.Context, session: Id, as_json: Json = False) -> None:
    """Take back the label that a person set last; may be repeated."""
    from data.catalog import find
    from data.labels import undo_last
    from data.session import open_session

    folder = find(workspace_of(context).root, session)
    with open_session(folder) as opened:
        zero_ns = opened.start_ns
    label = undo_last(folder)
    if label is not None:
        _tell(folder.name, label, zero_ns, as_json, "taken back: ")
    elif as_json:
        say_json(None)
    else:
        say(f"{folder.name}: no person's label to take back")


def _tell(name: str, label: Label, zero_ns: int, as_json: bool, before: str = "") -> None:
    if as_json:
        say_json({"id": name, **label.model_dump(mode="json", exclude_defaults=True)})
    else:
        say(f"{name}: {before}{_span(label.start_ns, label.end_ns, zero_ns)} {_words(label)}")


def _span(start_ns: int, end_ns: int, zero_ns: int) -> str:
    return f"{moment((start_ns - zero_ns) / 1e9)}-{moment((end_ns - zero_ns) / 1e9)}"


def _words(label: Label) -> str:
    """What a label says, in one line."""
    if label.withdrawn:
        return "nothing any more"
    target = _target_words(label.target) if label.target is not None or label.no_target else ""
    health = f"health {label.health:.2f}" if label.health is not None else ""
    return ", ".join(word for word in (label.mode or "", target, health, printable(label.description or "")) if word)


def _target_words(target: Target | None) -> str:
    return "no target" if target is None else f"target {target.class_name} at {target.box[0]:.2f} {target.box[1]:.2f}"

"""``secondseat labels``: what a person says of stretches of a session, which holds before the coach and the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tui.commands.invocation import UsageError, new_app, say, say_json, table, workspace_of
from tui.commands.options import Json
from tui.commands.session_times import From, Id, To, end_s, moment_s
from tui.moments import moment

if TYPE_CHECKING:
    from data.labels import Label

app = new_app("Labels of a session: list what is said of it, say which mode a stretch is, take it back.")

ModeName = Literal["FIGHT", "LOOT", "FLEE", "EXPLORE", "CAUTIOUS"]


@app.command("list")
def list_(context: typer.Context, session: Id, as_json: Json = False) -> None:
    """What was said, in that order, and which mode holds when."""
    from data.catalog import find
    from data.labels import mode_stretches, read
    from data.session import open_session

    folder = find(workspace_of(context).root, session)
    labels, bad = read(folder)
    with open_session(folder) as opened:
        zero_ns = opened.start_ns
    holds = mode_stretches(labels)
    if as_json:
        stretches = [{"start_ns": s.start_ns, "end_ns": s.end_ns, "mode": s.mode, "source": s.source} for s in holds]
        said = [label.model_dump(mode="json", exclude_defaults=True) for label in labels]
        say_json({"id": folder.name, "start_ns": zero_ns, "labels": said, "holds": stretches, "unreadable_lines": bad})
        return
    rows = [(_span(label.start_ns, label.end_ns, zero_ns), label.source, _words(label), label.by) for label in labels]
    say(table(("stretch", "source", "says", "by"), rows) if rows else f"nothing is said of {folder.name}; the rules hold")
    if holds:
        say("\nholds now:")
        say(table(("stretch", "mode", "source"), [(_span(s.start_ns, s.end_ns, zero_ns), s.mode, s.source) for s in holds]))
    if bad:
        say(f"! {bad} line{'s' if bad > 1 else ''} of labels.jsonl cannot be read and {'are' if bad > 1 else 'is'} passed over")


@app.command("set")
def set_(
    context: typer.Context,
    session: Id,
    start: From,
    end: To,
    mode: Annotated[ModeName | None, typer.Option("--mode", case_sensitive=False, help="the mode of the stretch")] = None,
    none: Annotated[bool, typer.Option("--none", help="take back what a person said of the stretch")] = False,
    as_json: Json = False,
) -> None:
    """Say which mode a stretch is. The latest word holds for its stretch; it is learnt from next time."""
    from data.catalog import find
    from data.labels import set_mode
    from data.session import open_session

    if (mode is None) != none:
        raise UsageError("labels set: give --mode, or --none")
    folder = find(workspace_of(context).root, session)
    with open_session(folder) as opened:
        zero_ns, length_s = opened.start_ns, opened.length_s
    from_s, until_s = moment_s(start), end_s(end)
    until_s = length_s if until_s is None else until_s
    if not from_s < until_s:
        raise UsageError(f"labels set: from {start} to {end} is no stretch; the second moment must be later")
    if from_s >= length_s:
        raise UsageError(f"labels set: {folder.name} is {moment(length_s)} long; there is nothing at {start}")
    label = set_mode(folder, zero_ns + round(from_s * 1e9), zero_ns + round(until_s * 1e9), mode)
    _tell(folder.name, label, zero_ns, as_json)


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
    target = f"target {label.target.class_name}" if label.target is not None else "no target" if label.no_target else ""
    health = f"health {label.health:.2f}" if label.health is not None else ""
    return ", ".join(word for word in (label.mode or "", target, health, label.description or "") if word)

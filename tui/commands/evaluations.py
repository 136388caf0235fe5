"""``secondseat evaluations``: scores that were kept, and whether one policy is better than another."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from data.text import printable
from tui.commands.invocation import UsageError, new_app, say, say_json, say_notice, table, workspace_of
from tui.commands.options import Json

if TYPE_CHECKING:
    from pathlib import Path

    from engine.comparison import Kept

app = new_app(
    "Scores that were kept. ID is an evaluation's id, a beginning that no other has, `last`, or a policy's name: its newest flight."
)


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """All evaluations, newest first. "judged on" says what the figures of the levels come from: play that the policy learnt from says
    nothing about new play."""
    from engine.comparison import read_evaluations
    from engine.kept_levels import MAIN, main_figures, shown

    found, wrong = read_evaluations(workspace_of(context).root)
    if as_json:
        say_json([dataclasses.asdict(kept) | {"known_play": kept.known_play} for kept in found])
        return
    if found:
        rungs = list(dict.fromkeys(r.name for kept in found for r in kept.rungs))
        rows: list[tuple[object, ...]] = []
        for kept in found:
            levels = main_figures(kept.levels)
            rows.append(
                (
                    *(kept.id, kept.at, kept.policy, kept.rules_version or "", kept.episodes or ""),
                    *(_normalised(kept, rung) for rung in rungs or [""]),
                    *(shown(levels[level].value) if level in levels else "" for level in MAIN),
                    kept.judged_on if levels else "",
                )
            )
        heads = ("id", "when (UTC)", "policy", "rules", "episodes", *(rungs or ["score"]), "mode", "target", "left click", "judged on")
        say(table(heads, rows))
    else:
        say("no evaluation yet; make one: secondseat evaluate")
    for line in wrong:
        say(f"! {printable(line)}")


@app.command()
def compare(
    context: typer.Context,
    first: Annotated[str, typer.Argument(metavar="ID", help="what it is compared with")],
    second: Annotated[str, typer.Argument(metavar="ID", help="what may be better or worse")],
    as_json: Json = False,
) -> None:
    """Is the second better than the first? By rung, with a 95 % interval; "not enough evidence" is an answer, and then it says how
    many episodes a side would do."""
    from engine.comparison import compare as run
    from engine.comparison import not_flown, other_look

    root = workspace_of(context).root
    one, other = _find(root, first), _find(root, second)
    found, names = run(one, other), (one.id, other.id)
    missing = not_flown(one, other, names) or other_look(one, other, names)
    if as_json:
        if missing:
            say_notice(missing)
        say_json([dataclasses.asdict(d) | {"verdict": d.verdict, "lacking": d.lacking} for d in found])
        return
    if not found:
        say(missing or f"{one.id} and {other.id} have no rung in common")
        _say_levels(one, other)
        return
    rows = [
        (
            d.rung,
            _normalised(one, d.rung),
            _normalised(other, d.rung),
            f"{d.gain.value:+.2f} [{d.gain.low:+.2f}, {d.gain.high:+.2f}]",
            f"{d.verdict}{f': {d.lacking}' if d.lacking else ''}",
        )
        for d in found
    ]
    say(table(("rung", one.policy, other.policy, "gain", "the second is"), rows))
    how = "pair by pair, on the same worlds" if found[0].paired else "on different worlds"
    say(f"normalised scores; 95 % intervals (Student's t) over {found[0].gain.n} episodes, {how}")
    if missing:
        say(f"! {missing}")


def _normalised(kept: Kept, rung: str) -> str:
    from engine.comparison import PICTURES

    found = kept.rung(rung)
    if found is None:
        return "not flown"
    return f"{found.normalised}{f', look {kept.unusual_look}' if rung == PICTURES and kept.unusual_look else ''}"


def _say_levels(one: Kept, other: Kept) -> None:
    """The figures of the levels that both have; on one play each, so without a verdict."""
    from engine.comparison import UNTOLD
    from engine.kept_levels import in_both, shown

    both = in_both(one.levels, other.levels)
    if not both:
        say("nor have they a figure of a level in common")
        return
    say("each level, on one play each, without intervals: a hint, no verdict")
    for kept in (one, other):
        say(f"  {printable(kept.policy)}: {printable(kept.play) or UNTOLD}")
    rows = [
        (f"{a.level}: {a.name}", shown(a.value, a.unit), shown(b.value, b.unit), f"{b.value - a.value:+.{0 if a.unit == 'px' else 2}f}")
        for a, b in both
    ]
    say(table(("figure", one.policy, other.policy, "change"), rows))


def _find(root: Path, name: str) -> Kept:
    from engine.comparison import read_evaluations

    found, _ = read_evaluations(root)
    if name == "last" and found:
        return found[0]
    by_policy = [kept for kept in found if kept.policy == name]
    if by_policy:
        return next((kept for kept in by_policy if kept.rungs), by_policy[0])
    by_id = [kept for kept in found if kept.id.startswith(name)]
    if len(by_id) == 1:
        return by_id[0]
    known = ", ".join(kept.id for kept in (by_id or found)[:5]) or "none yet"
    raise UsageError(f"evaluations: {len(by_id) or 'none'} begins with {name!r}; there are: {known}")

"""``secondseat models``: training runs, policies, and which policy flies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from data.text import printable
from tui.commands.invocation import new_app, say, say_json, table, workspace_of

if TYPE_CHECKING:
    from data.models import Flier

app = new_app("Training runs and policies. A policy is the three levels together; the promoted one flies.")
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Name = Annotated[str, typer.Argument(metavar="POLICY", help="a policy's name, or a folder that holds one")]
_PROMOTE: Final = "secondseat models promote"


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """Policies (the promoted one, which flies, is marked with *) and training runs."""
    from data.models import flier, list_policies, list_runs

    workspace = workspace_of(context)
    policies, runs, who = list_policies(workspace.root), list_runs(workspace.root), flier(workspace.root)
    if as_json:
        say_json(
            {
                **({"problem": _who_flies(who)} if who.problem else {}),
                "policies": [
                    {
                        "name": p.name,
                        "path": workspace.relative(p.path),
                        "game": p.profile,
                        "created": p.created,
                        "promoted": p.promoted,
                        "figures": p.figures,
                        "problem": p.problem,
                    }
                    for p in policies
                ],
                "runs": [
                    {
                        "level": r.level,
                        "name": r.name,
                        "path": workspace.relative(r.path),
                        "epoch": r.epochs,
                        "figures": r.figures,
                        "problem": r.problem,
                        "unfinished": r.unfinished,
                    }
                    for r in runs
                ],
            }
        )
        return
    if not policies and not runs:
        say(f"no models in {workspace.models}; record some play, then: secondseat train all")
        return
    if policies:
        rows = [
            ("*" if p.promoted else "", p.name, p.profile, p.created, p.problem or ("flies" if p.promoted else "whole")) for p in policies
        ]
        say(table(("", "policy", "game", "created", "state"), rows))
    if told := _who_flies(who):
        say(told)
    if runs:
        rows = [(r.level, r.name, r.epochs, r.problem or _state(r.unfinished, r.figures)) for r in runs]
        say(("\n" if policies or told else "") + table(("level", "run", "best epoch", "figures"), rows))


def _who_flies(who: Flier) -> str:
    """What to know of the promoted policy beyond the table, and what to do: it cannot fly, or a newer one is there."""
    if who.problem:
        remedy = f"{_PROMOTE} {who.newer}" if who.newer else f"secondseat train all, then {_PROMOTE} NAME"
        return f"{who.name} is promoted and cannot fly ({who.problem}); nothing flies until another is promoted: {remedy}"
    return f"{who.name} flies; {who.newer} is newer: {_PROMOTE} {who.newer} lets it fly" if who.newer else ""


def _state(unfinished: str, figures: dict[str, Any]) -> str:
    """How far an unfinished run came, and the figures of the best epoch."""
    return "; ".join(filter(None, [unfinished and f"unfinished: {unfinished}", _figures(figures)]))


def _figures(figures: dict[str, Any]) -> str:
    numbers = [f"{name} {value:.3g}" for name, value in figures.items() if isinstance(value, int | float)]
    return ", ".join(numbers[:4])


@app.command()
def show(context: typer.Context, policy: Name = "", as_json: Json = False) -> None:
    """Everything known of one policy; of the promoted one when none is named."""
    from data.models import resolve_policy, show_policy

    card = show_policy(resolve_policy(workspace_of(context).root, policy))
    if as_json:
        say_json(card)
        return
    for line in _lines(card, ""):
        say(line)


def _lines(values: dict[str, Any], indent: str) -> list[str]:
    lines: list[str] = []
    for name, value in values.items():
        if isinstance(value, dict):
            lines += [f"{indent}{name}:", *_lines(value, indent + "  ")]  # pyright: ignore[reportUnknownArgumentType]
        else:
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
            lines.append(f"{indent}{name}: {printable(shown)}")
    return lines


@app.command()
def promote(context: typer.Context, policy: Name, as_json: Json = False) -> None:
    """Let this policy fly from now on."""
    from data.models import promote as let_fly

    name = let_fly(workspace_of(context).root, policy)
    if as_json:
        say_json({"promoted": name})
    else:
        say(f"{name} flies from now on; back: secondseat models rollback")


@app.command()
def rollback(context: typer.Context, as_json: Json = False) -> None:
    """Let the policy before the promoted one fly again."""
    from data.models import rollback as back

    name = back(workspace_of(context).root)
    if as_json:
        say_json({"promoted": name})
    else:
        say(f"{name} flies again")

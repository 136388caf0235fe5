"""``secondseat league refine``: a policy that gets better by playing, held near the one it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tui.commands.invocation import say, say_json, workspace_of
from tui.commands.league_options import (
    ActorRollouts,
    Actors,
    Address,
    DrawReward,
    EntropyCoef,
    KlCoef,
    LearnerUpdates,
    Lr,
    PseudoReward,
    Reuse,
    RunnerName,
    Seed,
    Sequences,
    Ships,
    Supervised,
    Traces,
    Unroll,
    UpgoCoef,
    Worlds,
    changed_losses,
    changed_updates,
    given_options,
    loss_settings,
    one_thread,
    policy,
    policy_path,
    stoppable_work,
    update_settings,
)
from tui.commands.options import Json

if TYPE_CHECKING:
    from data.workspace import Workspace
    from league.refine_settings import RefineSettings

SUPERVISED: Final = "pi_sup"


def refine(
    context: typer.Context,
    supervised: Supervised = "",
    iterations: Annotated[int, typer.Option("--iterations", min=1, help="rollouts of the actors and what is learnt from them")] = 10,
    minutes: Annotated[float, typer.Option("--minutes", min=0, help="as many iterations as fit in; 0: as --iterations says")] = 0.0,
    actor_rollouts: ActorRollouts = 2,
    learner_updates: LearnerUpdates = 1,
    opponents: Annotated[
        list[str] | None,
        typer.Option(
            "--opponent", help="self, expert, novice, random, pi_sup or a policy; again for more. Without: self and three times expert"
        ),
    ] = None,
    upgo_coef: UpgoCoef = 0.2,
    kl_coef: KlCoef = 0.02,
    entropy_coef: EntropyCoef = 0.0005,
    traces: Traces = "joint",
    pseudo_reward_scale: PseudoReward = 0.0,
    draw_reward: DrawReward = 0.0,
    lr: Lr = 5e-4,
    sequences: Sequences = 256,
    unroll: Unroll = 64,
    replay_reuse: Reuse = 2,
    ships: Ships = 4,
    runner: RunnerName = "processes",
    address: Address = "",
    actors: Actors = 1,
    worlds: Worlds = 256,
    evaluate_every: Annotated[int, typer.Option("--evaluate-every", min=0, help="iterations between two looks at it; 0: never")] = 100,
    evaluate_matches: Annotated[int, typer.Option("--evaluate-matches", min=1, help="matches against each kind of pilot")] = 200,
    output: Annotated[str, typer.Option("--output", metavar="FILE", help="the policy; without: models/league/TIME/pi_rl")] = "",
    seed: Seed = 0,
    resume: Annotated[bool, typer.Option("--resume", help="go on with the run in --output, or with the newest")] = False,
    as_json: Json = False,
) -> None:
    """A policy plays itself and others and learns off-policy from the outcomes: V-trace, TD(lambda), UPGO, and a KL to pi_sup.

    Against scripted pilots it is judged before, between and after, in the same worlds; the policy of the best look is what --output gets,
    and at the end it plays anew in other worlds. Ctrl-C keeps what was learnt; --resume goes on as if it had never stopped, with the
    options it was begun with: only length, looks and runner may be others.
    """
    from league.refine import refine as run
    from league.refine_resume import refinements
    from league.refine_settings import RefineSettings

    workspace = workspace_of(context)
    path = policy_path(workspace, output, resume, "pi_rl")
    same: dict[str, Any] = {
        "iterations": iterations,
        "minutes": minutes,
        "actor_rollouts": actor_rollouts,
        "learner_updates": learner_updates,
        "ships": ships,
        "worlds": worlds,
        "actors": actors,
        "runner": runner,
        "address": address,
        "pseudo_reward_scale": pseudo_reward_scale,
        "draw_reward": draw_reward,
        "evaluate_every": evaluate_every,
        "evaluate_matches": evaluate_matches,
        "seed": seed,
    }
    if resume and refinements(path.parent):
        given = given_options(context)
        settings, near = _as_begun(workspace, path.parent, given, {name: same[name] for name in given if name in same})
    else:
        usual = RefineSettings()
        names = tuple(opponents) if opponents else usual.opponents
        settings = RefineSettings(
            **same,
            opponents=names,
            frozen=_frozen(workspace, names),
            loss=loss_settings(upgo_coef, kl_coef, entropy_coef, traces),
            update=update_settings(usual.update, lr, unroll, sequences, replay_reuse),
        )
        near = policy(workspace, supervised or SUPERVISED)
    one_thread()
    with stoppable_work() as (report, stop):
        refined = run(near, settings, path.parent, report, stop, resume, path.name)
    if as_json:
        say_json({**refined.to_json(), "policy": workspace.relative(refined.path)})
    else:
        say(refined.text())
    if refined.interrupted:
        raise typer.Exit(130)


def _as_begun(workspace: Workspace, folder: Path, given: Mapping[str, Any], changed: Mapping[str, Any]) -> tuple[RefineSettings, Path]:
    """Settings of the run in ``folder`` and the policy it is held near: as it was begun, but for options that were ``given``. (Those that
    cannot be changed are refused where the run goes on, by name.)"""
    from league.refine_resume import begun

    more: dict[str, Any] = {}
    if given.get("opponents"):
        more["opponents"] = tuple(given["opponents"])
    supervised = policy(workspace, given["supervised"]) if given.get("supervised") else None
    settings, near = begun(folder, workspace.root, lambda name: policy(workspace, name), {**changed, **more}, supervised)
    return replace(settings, loss=changed_losses(settings.loss, given), update=changed_updates(settings.update, given)), near


def _frozen(workspace: Workspace, names: tuple[str, ...]) -> dict[str, Path]:
    """Opponents that are policies of the workspace."""
    from league.arena.last_standing_pilots import PILOTS
    from league.refine_settings import SELF, SUPERVISED

    return {name: policy(workspace, name) for name in names if name not in {SELF, SUPERVISED, *PILOTS}}

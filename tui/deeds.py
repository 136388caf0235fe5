"""What the actions do that are the face's own: dialogs, screens, leaving. ``DEEDS`` is the table by action id.

Screens and dialogs are imported when they are first opened: the first picture does not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from textual.app import App

from tui import leaving
from tui.app import SecondseatApp
from tui.asking import ask
from tui.registry import Action
from tui.screens.live import LiveScreen

RUNNING_BOT: Final = ("armed", "flying", "paused", "yielded")


def edit(app: SecondseatApp) -> None:
    """The form of the launcher's chosen row; what is accepted is kept and run."""
    from tui.panes.actions import ActionsPane

    live = app.live()
    if live is None or app.screen is not live:
        return
    action = live.query_one(ActionsPane).chosen
    if action.id == "source":
        source(app)
        return
    if action.id == "evaluations":
        from tui.screens.evaluation_deeds import begin

        begin(app)
        return
    if action.id == "leagues":
        leagues(app)
        return
    if not action.form:
        app.tell("info", f"{action.title} has no parameters", log=False)
        return
    open_form(app, action, lambda: app.run_action_id(action.id))


def source(app: SecondseatApp) -> None:
    """What is captured is chosen each time: the form begins with what was chosen last, at first with the settings' kind."""
    action = app.registry["source"]
    usual = {"kind": "screen"} if app.settings().capture.source == "screen" else {}
    open_form(app, action, lambda: app.send("source", **app.parameters(action)), usual)


def open_form(app: SecondseatApp, action: Action, then: Callable[[], None], usual: Mapping[str, object] = MappingProxyType({})) -> None:
    """``usual``: values to begin with where none were kept."""
    from tui.parameters import Parameters
    from tui.screens.form import ParametersForm

    def accepted(values: Parameters | None) -> None:
        if values is not None:
            app.memory.keep_parameters(action.id, values.model_dump())
            then()

    app.push_screen(ParametersForm(action, {**usual, **app.memory.parameters(action.id)}, app.settings()), accepted)


def arm(app: SecondseatApp) -> None:
    """Ask before the bot flies, and name who will fly and in what; when it is armed already: fly on, or disarm."""
    bot = app.newest.bot
    if bot.phase in RUNNING_BOT:
        ask(
            app,
            "Arm and fly",
            [f"{bot.policy or 'The bot'} is {bot.phase} in {bot.window or 'the arena'}."],
            [("f", "fly on"), ("d", "disarm")],
            {"f": lambda: app.send("fly"), "d": lambda: app.send("disarm")},
        )
        return
    if not app.newest.policies:
        app.tell("warning", f"nothing can fly yet: {app.registry['train_all'].first_key()} trains a policy from your recordings")
        return
    _ask_to_fly(app, *app.flier)


def _ask_to_fly(app: SecondseatApp, flies: str, newer: str) -> None:
    """Which policy flies when none was chosen in the form (empty: not known yet), and one that is newer than it and does not."""
    action, capture = app.registry["arm"], app.newest.capture
    params = app.parameters(action)
    window = capture.detail or capture.source
    if capture.source == "none":
        window = "the chosen source (nothing is captured yet)"
    chosen = params.get("policy")
    newer = "" if chosen else newer
    name = chosen or (f"The policy {flies}" if flies else "The promoted policy")
    whole = bool(chosen) or not flies or any(policy.name == flies and not policy.problem for policy in app.runs.policies)

    def fly(dry_run: bool) -> None:
        app.send("arm", then=lambda: app.send("fly"), dry_run=dry_run, **params)

    ask(
        app,
        "Arm and fly",
        [
            *([] if whole else [f"{name} is promoted, but it is gone or broken."]),
            f"{f'{name} will' if whole else 'It would'} move the pointer and press keys in:",
            f"  {window}",
            *([f"{newer} is newer, and flies only when it is promoted."] if newer else []),
            f"Touch a key or the mouse and it hands back. {app.registry['stop_all'].key_text()} stops it.",
        ],
        [
            ("y", "arm and fly"),
            ("d", "dry run: decide, but press nothing"),
            ("e", "choose the policy"),
            *([("p", f"promote {newer}, then ask again")] if newer else []),
        ],
        {
            "y": lambda: fly(False),
            "d": lambda: fly(True),
            "e": lambda: open_form(app, action, lambda: arm(app)),
            "p": lambda: promote(app, newer, lambda: _ask_to_fly(app, newer, "")),
        },
    )


def promote(app: SecondseatApp, name: str, then: Callable[[], None] = lambda: None) -> None:
    """Let a policy of the workspace fly from now on."""
    workspace = Path(app.newest.workspace)

    def let_fly() -> str:
        from data.checkpoint import CheckpointError
        from data.models import promote as promoted

        try:
            return promoted(workspace, name)
        except CheckpointError as error:
            raise ValueError(str(error)) from error

    def done(promoted: str) -> None:
        app.tell("info", f"{promoted} is promoted: it flies from now on")
        then()

    app.desk.quick(let_fly, done, lambda error: app.tell("error", str(error)))


def stop_job(app: SecondseatApp) -> None:
    """Stop the job of the launcher's chosen row, else the first that runs; asks."""
    from tui.panes.actions import ActionsPane

    running = [job for job in app.newest.jobs if job.phase in ("running", "queued")]
    if not running:
        app.tell("info", "no job runs", log=False)
        return
    job = running[0]
    live = app.live()
    if live is not None:
        pane = live.query_one(ActionsPane)
        chosen = pane.job_of(pane.chosen, app.newest)
        if chosen is not None and chosen in running:
            job = chosen
    ask(
        app,
        "Stop a job",
        [f"{job.title}: {job.stage or job.phase}. What it has saved stays."],
        [("y", "stop it")],
        {"y": lambda: app.send("job_stop", id=job.id)},
    )


def themes(app: SecondseatApp) -> None:
    from tui.screens.themes import ThemesScreen

    app.open_screen(ThemesScreen)


def full(app: SecondseatApp) -> None:
    if isinstance(app.screen, LiveScreen):
        app.screen.toggle_full()


def _resize(app: SecondseatApp, by: int) -> None:
    if isinstance(app.screen, LiveScreen) and not app.screen.resize_column(by):
        app.tell("info", f"one pane is shown alone; {app.registry['reset_sizes'].first_key()} shows all of them", log=False)


def reset_sizes(app: SecondseatApp) -> None:
    if isinstance(app.screen, LiveScreen):
        app.screen.reset_sizes()


def keys(app: SecondseatApp) -> None:
    from tui.panes.base import LinesPane
    from tui.screens.help import KeysScreen

    focused = app.focused
    here = focused.scope if isinstance(focused, LinesPane) else "app"
    app.open_screen(lambda: KeysScreen(here))


def add_game(app: SecondseatApp) -> None:
    from tui.screens.game_flow import add_game as begin

    begin(app)


def teach(app: SecondseatApp) -> None:
    from tui.screens.teach import TeachScreen

    app.open_screen(TeachScreen)


def doctor(app: SecondseatApp) -> None:
    """The checks; on their screen already: look again."""
    from tui.screens.lists import DoctorScreen

    if isinstance(app.screen, DoctorScreen):
        app.send("doctor")
    else:
        app.open_screen(DoctorScreen)


def full_log(app: SecondseatApp) -> None:
    from tui.screens.log import FullLogScreen

    app.open_screen(FullLogScreen)


def sessions(app: SecondseatApp) -> None:
    from tui.screens.data import SessionsScreen

    app.open_screen(SessionsScreen)


def statistics(app: SecondseatApp) -> None:
    from tui.screens.statistics import StatisticsScreen

    app.open_screen(StatisticsScreen)


def evaluations(app: SecondseatApp) -> None:
    from tui.screens.evaluations import EvaluationsScreen

    app.open_screen(EvaluationsScreen)


def leagues(app: SecondseatApp) -> None:
    from tui.screens.leagues import LeaguesScreen

    app.open_screen(LeaguesScreen)


def trash(app: SecondseatApp) -> None:
    from tui.screens.trash import TrashScreen

    app.open_screen(TrashScreen)


def palette(app: SecondseatApp) -> None:
    from textual.command import CommandPalette

    from tui.palette import RegistryCommands

    if not CommandPalette.is_open(cast("App[object]", app)):
        app.push_screen(CommandPalette(providers=[RegistryCommands], placeholder="find an action"))


DEEDS: Final[Mapping[str, Callable[[SecondseatApp], None]]] = {
    "edit": edit,
    "source": source,
    "arm": arm,
    "stop_job": stop_job,
    "themes": themes,
    "full": full,
    "wider": lambda app: _resize(app, 1),
    "narrower": lambda app: _resize(app, -1),
    "reset_sizes": reset_sizes,
    "keys": keys,
    "add_game": add_game,
    "teach": teach,
    "doctor": doctor,
    "full_log": full_log,
    "sessions": sessions,
    "statistics": statistics,
    "evaluations": evaluations,
    "leagues": leagues,
    "trash": trash,
    "palette": palette,
    "redraw": SecondseatApp.redraw,
    "quit": leaving.quit_app,
    "detach": leaving.detach,
}

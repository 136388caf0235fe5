from collections import Counter

import pytest
from textual.binding import BindingsMap
from textual.keys import _character_to_key

from tui.actions import PANES, REGISTRY
from tui.deeds import DEEDS
from tui.panes.actions import ActionsPane
from tui.panes.buffer import BufferPane
from tui.panes.log_file import LogFilePane
from tui.panes.losses import LossesPane
from tui.panes.now import NowPane
from tui.parameters import FORMS, arguments, from_kept
from tui.registry import Action, Registry, is_function_key, key_name
from tui.screens.data import SessionsPane
from tui.screens.evaluation import ComparisonPane, EvaluationPane
from tui.screens.evaluations import EvaluationsPane
from tui.screens.help import KeysPane
from tui.screens.league import LeaguePane
from tui.screens.leagues import LeaguesPane
from tui.screens.play import PlayPane
from tui.screens.runs import RunsPane
from tui.screens.session import SessionPane
from tui.screens.statistics import StatisticsPane
from tui.screens.teach import TeachPane
from tui.screens.trash import TrashPane

TAKEN_BY_TERMINALS = {"ctrl+b", "ctrl+a", "ctrl+s", "ctrl+q", "ctrl+j", "ctrl+m", "ctrl+i", "ctrl+h", "ctrl+z", "f10", "f11", "f12"}

OWNERS = {
    "actions": ActionsPane,
    "losses": LossesPane,
    "now": NowPane,
    "buffer": BufferPane,
    "log": LogFilePane,
    "runs": RunsPane,
    "keys": KeysPane,
    "sessions": SessionsPane,
    "session": SessionPane,
    "play": PlayPane,
    "trash": TrashPane,
    "statistics": StatisticsPane,
    "evaluations": EvaluationsPane,
    "evaluation": EvaluationPane,
    "comparison": ComparisonPane,
    "teach": TeachPane,
    "leagues": LeaguesPane,
    "league": LeaguePane,
}
"""Who has the methods of a scope's actions."""


def test_every_action_leads_somewhere() -> None:
    for action in REGISTRY.actions:
        if action.scope == "app":
            assert bool(action.command) != (action.id in DEEDS), action.id
        else:
            owner = OWNERS[action.scope]
            assert callable(getattr(owner, f"do_{action.id}"))
        assert not action.form or action.form in FORMS
        assert action.help or action.scope != "app" or action.title


def test_no_key_is_used_twice_or_taken_by_terminals() -> None:
    keys = [(a.scope, key) for a in REGISTRY.actions for key in a.keys] + [("app", pane[0]) for pane in PANES]
    assert [key for key, count in Counter(keys).items() if count > 1] == []
    assert TAKEN_BY_TERMINALS.isdisjoint({key for _, key in keys})


def test_keys_are_spelt_as_textual_does() -> None:
    for action in REGISTRY.actions:
        for key in action.keys:
            shown = key_name(key)
            if len(shown) == 1 and not is_function_key(key):
                assert _character_to_key(shown) == key
        BindingsMap([(key, "x", "y") for key in action.keys])


def test_the_engine_knows_every_command() -> None:
    commands = pytest.importorskip("engine.commands").COMMANDS
    assert {a.command for a in REGISTRY.actions if a.command} <= set(commands)


def test_remapping_moves_a_key_and_says_what_is_wrong() -> None:
    registry, wrong = REGISTRY.with_keys({"record": "f9,r", "sessions": "t", "nothing": "k", "stop_all": "!"})
    assert registry["record"].keys == ("f9", "r")
    assert registry["sessions"].keys == ("t",)
    assert registry["train_all"].keys == ()
    assert registry["stop_all"].keys == ("f8", "exclamation_mark")
    assert len(wrong) == 2
    assert "nothing" in wrong[0]
    assert "key t of train_all is taken by sessions" in wrong[1]


def test_what_is_wrong_with_a_remapped_key_names_what_is_possible() -> None:
    registry, wrong = REGISTRY.with_keys({"sesions": "o", "sessions": "3", "quit": "Q"})
    assert "did you mean sessions?" in wrong[0]
    assert "train_executor" in wrong[0]
    assert "key 3 of sessions is taken by the pane Now" in wrong[1]
    assert registry["sessions"].keys == ()
    assert registry["quit"].keys == ("Q", "ctrl+c")


def test_a_registry_finds_by_id() -> None:
    registry = Registry((Action("a", "A", ("f5", "r")),))
    assert "a" in registry
    assert registry["a"].key_text() == "F5 / r"


def test_kept_parameters_that_no_longer_fit_fall_back() -> None:
    values, wrong = from_kept("train", {"quick": True, "epochs": "many", "gone": 3})
    assert arguments(values) == {"quick": True, "resume": False}
    assert len(wrong) == 1
    assert "train.epochs = 'many'" in wrong[0]

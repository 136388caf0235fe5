"""``secondseat evaluate`` through the command line: what it prints of a small policy, and what it refuses at once."""

from __future__ import annotations

import dataclasses
import json
from importlib import import_module
from pathlib import Path

import pytest

from data.checkpoint import read_card
from data.models import models_dir
from data.profile import ARENA_PROFILE
from data.vocabulary import MODES
from engine.policy import load_policy
from engine.scoreboard import judge
from engine.scoreboard_figures import Scoreboard
from tests.support.policies import as_if_of, train_tiny
from tests.support.sessions import write_play
from tests.trainers.synthetic import session
from tui import cli
from tui.commands.evaluate import _say_levels, confusion_lines, sweep_lines

MINE = ARENA_PROFILE.model_copy(update={"name": "mine"})


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny policy; tests must not change it."""
    return train_tiny(tmp_path_factory.mktemp("policy"))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bundle: Path) -> Path:
    """With the policies "tiny" of the arena and "theirs" of another game."""
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("SECONDSEAT_PATHS__WORKSPACE", str(tmp_path / "ws"))
    monkeypatch.chdir(tmp_path)
    policies = models_dir(tmp_path / "ws") / "policies"
    as_if_of(bundle, policies / "tiny", ARENA_PROFILE)
    as_if_of(bundle, policies / "theirs", MINE)
    return tmp_path / "ws"


def told(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert cli.main(["evaluate", *words]) == status
    said = capsys.readouterr()
    return said.out, said.err


@pytest.mark.parametrize(("page", "said"), [("plots.jpg", "a page is .png, .svg, .pdf"), ("gone/plots.png", "there is no such folder")])
def test_a_page_that_cannot_be_is_refused_before_anything_flies(
    page: str, said: str, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = told(capsys, "--policy", "tiny", "--episodes", "2000", "--page", page, status=2)
    assert said in err
    assert not out
    assert not (workspace / "logs" / "evaluations").exists()


@pytest.mark.timeout(120)
def test_a_policy_is_flown_and_judged_in_plain_text(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("engine.lockstep", "engine.pixels"):
        import_module(module)  # whose defaults are to be the usual ones, for tests to come
    monkeypatch.setattr("league.arena.skirmish.EPISODE_TICKS", 40)
    name = write_play(workspace, session(8, seed=31))
    out, err = told(
        capsys, "--policy", "tiny", "--episodes", "2", "--rungs", "state", "--workers", "1", "--session", "last", "--page", "page.svg"
    )
    lines = out.splitlines()
    assert lines[0] == f"tiny: each level on 0.1 min of {name}"
    assert any(line.startswith("mode: balanced accuracy") for line in lines)
    assert any(line.startswith("mouse_left: F1 within 2 ticks") for line in lines)
    at = next(i for i, line in enumerate(lines) if line.startswith("mode meant / said"))
    names, rows = lines[at].split()[4:], [line.split() for line in lines[at + 1 : at + 6]]
    meant = [row for row in rows if row and row[0] in ("fight", "loot", "flee", "explore", "cautious")]
    assert names == [row[0] for row in meant]
    assert sum(int(n) for row in meant for n in row[1:]) == 8  # seconds
    late = next(i for i, line in enumerate(lines) if line.startswith("ticks late"))
    assert lines[late].split()[2:] == [f"{lag:+d}" if lag else "0" for lag in range(-4, 9)]
    assert lines[late + 1].startswith("click F1")
    assert len(lines[late + 1].split()[2:]) == 13
    assert all(len(line) <= 80 for line in lines[at : late + 2])
    assert any(line.startswith("demonstrator (expert)") for line in lines)
    assert any(line.startswith("policy, from state") for line in lines)
    assert any(line.startswith("normalised score: ") for line in lines)
    assert lines[-1] == "plots: page.svg"
    assert Path("page.svg").read_bytes()
    assert "note:" not in err  # nothing is known of what it was trained with
    (kept,) = (workspace / "logs" / "evaluations").iterdir()
    assert json.loads(kept.read_text())["levels"]["play"] == name


def test_the_confusion_names_the_modes_that_occur() -> None:
    counts = [[1200, 11, 0, 0, 3], [4, 61, 0, 0, 0], [0] * 5, [0] * 5, [0] * 5]
    assert confusion_lines(counts) == [
        "mode meant / said  fight  loot  cautious",
        "fight               1200    11         3",
        "loot                   4    61         0",
        "cautious               0     0         0",
    ]
    widest = confusion_lines([[99_999] * 5] * 5)
    assert len(widest) == 6
    assert max(len(line) for line in widest) <= 80


def test_the_sweep_is_a_line_of_figures_under_their_ticks() -> None:
    sweep = dict.fromkeys(range(-4, 9), 0.5) | {0: 1.0, 8: float("nan")}
    ticks, figures = sweep_lines(sweep)
    assert ticks.startswith("ticks late   -4   -3")
    assert ticks.endswith("  +7   +8")
    assert figures.endswith("0.50    -")
    assert figures[ticks.index(" 0 ") - 2 :].startswith("1.00")
    assert len(ticks) == len(figures) <= 80
    assert sweep_lines(Scoreboard("p", "x", 1.0).lag_sweep) == []


@pytest.mark.parametrize(
    ("f1", "said"),
    [(0.0, "none no click of the policy met one of the demonstrator"), (0.4, "+2 ticks F1 there 0.40")],
)
def test_how_late_it_clicks_is_told_where_a_click_met_one(f1: float, said: str, bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = judge(load_policy(bundle), [session(8, seed=31)], "made up")
    _say_levels(dataclasses.replace(board, lag_sweep=dict.fromkeys(range(-4, 9), 0.0) | {2: f1}))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("left click: late by")]
    assert " ".join(line.split()) == f"left click: late by {said}"


def test_what_a_figure_may_as_well_be_stands_beside_it_and_how_much_of_each_mode_there_was(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board = judge(load_policy(bundle), [session(8, seed=31)], "made up")
    assert board.mode is not None
    mode = dataclasses.replace(board.mode, accuracy=0.75, intervals={"accuracy": (0.5, 1.0)})
    _say_levels(dataclasses.replace(board, mode=mode))
    lines = {line.split("  ")[0]: " ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert "mode: accuracy 0.75 [0.50, 1.00] " in lines["mode: accuracy"]
    meant = {name: sum(row) for name, row in zip(MODES, mode.confusion, strict=True) if sum(row)}
    assert sum(meant.values()) == mode.seconds
    told = ", ".join(f"{name.lower()} {mode.recalls[name]:.2f} of {seconds} s" for name, seconds in meant.items())
    assert lines["mode: balanced accuracy"].endswith(told)


@pytest.mark.parametrize("more", [(), ("--minutes", "0"), ("--no-fly",)])
def test_a_policy_of_another_game_is_refused_in_the_arena(
    more: tuple[str, ...], workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = told(capsys, "--policy", "theirs", *more, status=1)
    assert out == ""
    assert err.count("\n") == 1
    assert "theirs plays mine, not the arena" in err
    assert "--no-fly --session SESSION" in err


def test_a_policy_is_judged_on_recordings_of_its_own_game_alone(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arena, mine = write_play(workspace, session(6, seed=5)), write_play(workspace, session(6, seed=6), MINE)
    _, err = told(capsys, "--policy", "theirs", "--no-fly", "--session", mine, "--session", arena, status=1)
    assert f"{arena} does not fit theirs: game arena instead of mine; name recordings of mine" in err
    assert told(capsys, "--policy", "theirs", "--no-fly", "--session", mine)[0].startswith("theirs: each level on 0.1 min of")
    (path,) = (workspace / "logs" / "evaluations").iterdir()  # kept, though nothing was flown
    kept = json.loads(path.read_text())
    assert path.name.endswith("Z_theirs.json")
    assert (kept["policy"], kept["game"], kept["play"], kept["levels"]["play"]) == ("theirs", "mine", mine, mine)
    assert kept["rules_version"] is None
    _, err = told(capsys, "--policy", "tiny", "--session", mine, status=1)  # before anything is flown
    assert f"{mine} does not fit tiny: game mine instead of arena" in err
    assert "flying" not in err


def test_play_that_it_was_trained_with_is_told(workspace: Path, capsys: pytest.CaptureFixture[str], bundle: Path) -> None:
    names = [write_play(workspace, session(6, seed=seed)) for seed in range(5)]
    split = read_card(bundle / "executor")["split"]
    learnt, held = (next(names[part[0]] for part in split[which]) for which in ("train", "validation"))
    as_if_of(bundle, models_dir(workspace) / "policies" / "knows", ARENA_PROFILE, session_ids=names[:4])
    out, err = told(capsys, "--policy", "knows", "--no-fly", "--session", names[4])
    assert "note:" not in err
    out, err = told(capsys, "--policy", "knows", "--no-fly", "--session", names[4], "--session", learnt)
    assert f"note: knows learnt from {learnt}: the figures say nothing about new play\n" in err
    assert out.startswith(f"knows: each level on 0.2 min of {names[4]}, {learnt} (learnt from)\n")
    out, err = told(capsys, "--policy", "knows", "--no-fly", "--session", held)
    assert f"note: {held} was held out when knows was trained, to choose its best epoch and thresholds by" in err
    assert out.startswith(f"knows: each level on 0.1 min of {held} (held out)\n")
    assert cli.main(["sessions", "cut", learnt, "1", "4"]) == 0  # a piece of it is the same play
    _, err = told(capsys, "--policy", "knows", "--no-fly", "--session", "last")
    assert "note: knows learnt from" in err

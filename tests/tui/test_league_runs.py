"""``secondseat league refine``, ``run`` and ``report`` from the front door, each a very small one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data.checkpoint import load, save
from league.arena.last_standing_pilots import PILOTS
from league.imitate import made_for
from league.network import ActorCritic
from league.players import Versus
from league.ratings import wilson
from tui.cli import main

Run = Callable[..., int]
LEAGUE = (
    "--rounds",
    "1",
    "--rl-iterations-per-round",
    "1",
    "--worlds",
    "4",
    "--unroll",
    "16",
    "--sequences",
    "8",
    "--ships",
    "2",
    "--runner",
    "in-process",
)
REFINE = ("--iterations", "2", "--runner", "in-process", "--worlds", "4", "--unroll", "16", "--sequences", "8", "--evaluate-every", "0")


def keep_policy(path: Path) -> None:
    """One that has learnt nothing."""
    path.parent.mkdir(parents=True)
    card = {"card_version": 1, **made_for(), "hidden": 8}
    save(path, {name: values.numpy() for name, values in ActorCritic(8).state_dict().items()}, card)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``secondseat league`` in a workspace with a policy ``first/pi_sup``."""
    folder = tmp_path / "w" / "models" / "league" / "first"
    keep_policy(folder / "pi_sup")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return lambda *words: main(["--workspace", str(tmp_path / "w"), "league", *words])


def test_a_league_is_run_reported_and_gone_on_with(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", *LEAGUE, "--output-dir", "league/small", "--json") == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["league"], found["rounds"], found["interrupted"]) == ("league/small", 1, False)
    assert found["frames"] > 0
    assert "round 1/1  main-1 1/1" in said.err
    folder = tmp_path / "w" / "league" / "small"
    assert {"league_state.json", "summary.json", "snapshots", "report"} <= {path.name for path in folder.iterdir()}
    assert (folder / "report" / "report.html").is_file()
    assert load(folder / "snapshots" / "main-1@0").card["weights_hash"]

    assert run("run", *LEAGUE, "--output-dir", "league/small") == 1
    assert "a league is there already; go on with it by --resume" in capsys.readouterr().err
    assert run("run", *LEAGUE, "--rounds", "2", "--resume", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 2
    assert run("run", "--rounds", "3", "--resume", "--json") == 0  # as it was begun
    assert json.loads(capsys.readouterr().out)["rounds"] == 3
    assert run("run", "--rounds", "4", "--elo-k", "44", "--resume") == 1
    assert "begun with other settings. elo: was" in capsys.readouterr().err
    assert run("run", *LEAGUE, "--rounds", "4", "--seed", "1", "--resume") == 1
    assert "begun with other settings. seed: was 0, here 1" in capsys.readouterr().err

    assert run("report", "--league-state", "small", "--output", "./summary.json") == 0
    assert "main_exploiter-1" in capsys.readouterr().out
    assert json.loads((tmp_path / "here" / "summary.json").read_text())["rounds"] == 3


def test_two_mains_are_judged_each_by_itself_and_elo_moves_as_asked(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", *LEAGUE, "--mains", "2", "--output-dir", "league/small") == 0
    capsys.readouterr()
    assert run("report", "--evaluate", "2", "--best-response", "40", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [*found["best_responses"]] == ["main-1", "main-2"]
    assert all(told["matches"] == 2 for told in found["best_responses"].values())
    assert (tmp_path / "w" / "league" / "small" / "evaluation.jsonl").is_file()
    rows = [{"match": k, "players": ["anna", "ben"], "placements": [1, 2]} for k in range(1)]
    (tmp_path / "here" / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("report", "--matches", "./m.jsonl", "--elo-k", "44", "--json") == 0
    assert json.loads(capsys.readouterr().out)["elo"] == {"anna": 1022.0, "ben": 978.0}


def test_a_report_of_matches_alone(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"match": k, "players": ["anna", "ben"], "placements": [1, 2] if k % 4 else [2, 1]} for k in range(40)]
    (tmp_path / "here" / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "{torn\n")
    assert run("report", "--matches", "./m.jsonl", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    (pair,) = found["pairs"]
    assert (pair["wins"], pair["losses"], pair["payoff"]["value"]) == (30, 10, 0.75)
    assert any("1 lines are no JSON" in note for note in found["notes"])
    assert (tmp_path / "here" / "report" / "pairs.csv").is_file()


def test_a_policy_is_refined_and_gone_on_with(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("refine", *REFINE, "--opponent", "self", "--opponent", "first", "--output", "models/league/b/pi_rl", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["policy"], found["iterations"], found["interrupted"]) == ("models/league/b/pi_rl", 2, False)
    assert found["consumed"] > 0
    assert load(tmp_path / "w" / "models" / "league" / "b" / "pi_rl").card["role"] == "pi_rl"
    assert run("refine", *REFINE, "--output", "models/league/b/pi_rl") == 1
    assert "there is a run already; go on with it by --resume" in capsys.readouterr().err
    assert run("refine", *REFINE, "--iterations", "3", "--opponent", "self", "--opponent", "first", "--resume") == 0
    assert "3 iterations" in capsys.readouterr().out
    assert run("imitate", "--resume") == 2  # its checkpoints are no epochs of imitation
    assert "no run of imitation" in capsys.readouterr().err


def test_a_refinement_goes_on_as_it_was_begun(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With no option at all it goes on to where it was to end; another one is refused by name; and names may mean other policies by now."""

    def judge(network: ActorCritic, **how: Any) -> list[Versus]:
        return [Versus(name, 3, how["matches"], wilson(1, 3), wilson(1, 3)) for name in PILOTS]

    monkeypatch.setattr("league.refine.judge", judge)
    small = (*REFINE[:-1], "2", "--evaluate-matches", "3", "--kl-coef", "0.07", "--lr", "3e-4")
    assert run("refine", *small, "--opponent", "pi_sup", "--opponent", "first", "--output", "models/league/b/pi_rl") == 0
    capsys.readouterr()
    keep_policy(tmp_path / "w" / "models" / "league" / "second" / "pi_sup")
    aside = tmp_path / "w" / "models" / "league" / "old"
    (tmp_path / "w" / "models" / "league" / "first").rename(aside)
    assert run("refine", "--resume", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["iterations"] == 2
    assert run("refine", "--iterations", "4", "--lr", "3e-4", "--resume", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["iterations"] == 4
    assert [one["iteration"] for one in found["evaluations"]] == [0, 2, 4]  # looked at as often as before
    assert found["evaluations"][2]["versus"][0]["matches"] == 3
    card = load(tmp_path / "w" / "models" / "league" / "b" / "pi_rl").card
    assert card["recipe"]["loss"]["kl_weight"] == 0.07
    assert run("refine", "--iterations", "5", "--worlds", "5", "--resume") == 1
    assert "worlds: made with 4, here 5" in capsys.readouterr().err
    assert run("refine", "--iterations", "5", "--upgo-coef", "0.1", "--resume") == 1
    assert "recipe: made with" in capsys.readouterr().err
    for file in aside.glob("pi_sup.*"):
        file.unlink()
    assert run("refine", "--iterations", "5", "--resume") == 1
    assert "first: the policy that bore that name when this refinement was begun is no longer" in capsys.readouterr().err


def test_what_cannot_be_done_is_one_line(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, status, told in (
        (("run", "--resume"), 2, "no league in this workspace yet"),
        (("report",), 2, "no league in this workspace yet"),
        (("report", "--league-state", "nobody"), 2, "no such league; there is none yet"),
        (("report", "--matches", "./none.jsonl"), 1, "no such file"),
        (("run", "--supervised-checkpoint", "nobody"), 1, "there are first/pi_sup"),
        (("run", *LEAGUE, "--exploiter-frames", "9", "3"), 1, "the least not above the most"),
        (("refine", "--resume"), 2, "no run of refinement"),
        (("refine", "--opponent", "bob"), 1, "there are first/pi_sup"),
    ):
        assert run(*words) == status
        error = capsys.readouterr().err
        assert told in error
        assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "w" / "league").exists()

"""``secondseat evaluations``: what was kept, and what can be said of two."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from data.text import printable_lines
from tests.engine.test_comparison import evaluation, kept
from tests.support.evaluations import keep, keep_judged
from tui import cli


def run(capsys: pytest.CaptureFixture[str], workspace: Path, *words: str) -> tuple[int, str]:
    status = cli.main(["evaluations", *words, "--workspace", str(workspace)])
    said = capsys.readouterr()
    return status, said.out + said.err


def test_nothing_yet(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, tmp_path, "list") == (0, "no evaluation yet; make one: secondseat evaluate\n")
    status, said = run(capsys, tmp_path, "compare", "a", "b")
    assert status == 2
    assert "none yet" in said


def test_list_and_compare(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, gain in (("base", 0.0), ("better", 4.0)):
        kept(tmp_path, evaluation(name, gain))
    (tmp_path / "logs" / "evaluations" / "torn.json").write_text("{")
    status, said = run(capsys, tmp_path, "list")
    assert status == 0
    assert "better" in said
    assert "! torn.json: cannot be read" in said
    status, said = run(capsys, tmp_path, "compare", "base", "better")
    assert status == 0
    assert said.count("better") >= 3
    assert "pair by pair" in said
    status, said = run(capsys, tmp_path, "compare", "better", "base", "--json")
    assert [d["verdict"] for d in json.loads(said)] == ["worse", "worse"]
    status, said = run(capsys, tmp_path, "compare", "better", "nobody")
    assert status == 2
    assert "'nobody'" in said


def test_what_was_not_flown_shows_its_levels_and_no_score(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    keep_judged(tmp_path, "20261129T101500Z", "mine-2", 0.74)
    _, said = run(capsys, tmp_path, "list")
    head, row = said.splitlines()
    assert head.split() == [
        "id",
        "when",
        "(UTC)",
        "policy",
        "rules",
        "episodes",
        "score",
        "mode",
        "target",
        "left",
        "click",
        "judged",
        "on",
    ]
    assert row.split()[4:] == ["not", "flown", "0.74", "0.74", "0.74", "learnt", "from"]
    keep_judged(tmp_path, "20261129T080000Z", "mine-1", 0.6)
    keep(tmp_path, "20261128T140500Z", "night-3")
    keep(tmp_path, "20261128T120000Z", "looks-only", rungs=("state",), judged=False)
    _, said = run(capsys, tmp_path, "list")
    assert said.splitlines()[1].count("not flown") == 3
    assert said.splitlines()[4].count("not flown") == 2
    _, said = run(capsys, tmp_path, "list", "--json")
    first = json.loads(said)[0]
    assert (first["game"], first["episodes"], first["random"], first["rungs"]) == ("mine", None, None, [])
    status, said = run(capsys, tmp_path, "compare", "mine-1", "mine-2")
    assert status == 0
    assert said.startswith("20261129T080000Z_mine-1 and 20261129T101500Z_mine-2 were not flown: nothing can be said of who flies better\n")
    assert "mode: balanced accuracy" in said
    assert "+0.14" in said
    status, said = run(capsys, tmp_path, "compare", "night-3", "mine-2")
    assert status == 1
    assert "20261128T140500Z_night-3 plays arena, 20261129T101500Z_mine-2 mine: they cannot be compared" in said
    status, said = run(capsys, tmp_path, "compare", "mine-1", "mine-2", "--json")
    assert "[]" in said
    assert "note: " in said


def test_figures_from_play_that_it_learnt_from_are_marked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    keep_judged(tmp_path, "20261129T101500Z", "knows")
    keep_judged(tmp_path, "20261129T081500Z", "fresh", more=False)
    keep(tmp_path, "20261128T120000Z", "looks-only", rungs=("state",), judged=False)
    path = keep(tmp_path, "20261127T120000Z", "flown")
    value = json.loads(path.read_text())
    value["levels"]["play"] = "unseen play of the expert, perception emulated"
    path.write_text(json.dumps(value))
    for name, play in (("silent", {}), ("renamed", {"play": "first evening", "play_kind": "recordings"})):
        path = keep(tmp_path, f"2026112{5 if play else 6}T120000Z", name, rungs=("pixels",) if play else ("state",))
        value = json.loads(path.read_text())
        del value["levels"]["play"]
        path.write_text(json.dumps(value | {"levels": value["levels"] | play}))
    _, said = run(capsys, tmp_path, "list")
    head, *rows = said.splitlines()
    assert [row[head.index("judged on") :].strip() for row in rows] == [
        "learnt from",
        "recordings",
        "",
        "unseen play",
        "not told",
        "recordings",
    ]
    _, said = run(capsys, tmp_path, "list", "--json")
    assert [kept["known_play"] for kept in json.loads(said)] == ["learnt from", "", "", "", "", ""]
    _, said = run(capsys, tmp_path, "compare", "silent", "renamed")
    assert "\n  silent: not told\n  renamed: first evening\n" in said


def test_few_episodes_are_no_verdict_and_it_is_said_how_many_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, gain in (("base", 0.0), ("better", 9.0)):
        kept(tmp_path, evaluation(name, gain, episodes=2))
    _, said = run(capsys, tmp_path, "compare", "base", "better")
    assert said.count("not enough evidence: 2 episodes: too few for a verdict, which takes 5 a side") == 2
    assert "95 % intervals (Student's t) over 2 episodes, pair by pair" in said
    _, said = run(capsys, tmp_path, "compare", "base", "better", "--json")
    assert {d["verdict"] for d in json.loads(said)} == {"not enough evidence"}


def test_another_look_is_shown_and_not_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kept(tmp_path, evaluation("usual", 0.0))
    drawn = kept(tmp_path, dataclasses.replace(evaluation("drawn", 4.0), look="blueprint"))
    _, said = run(capsys, tmp_path, "list")
    assert said.count("look blueprint") == 1
    status, said = run(capsys, tmp_path, "compare", "usual", "drawn")
    assert status == 0
    assert [line.split()[0] for line in said.splitlines()[1:2]] == ["state"]
    assert f"{drawn.id} blueprint: from pixels they cannot be compared; fly both in one look" in said
    status, said = run(capsys, tmp_path, "compare", "usual", "drawn", "--json")
    assert "note: " in said
    for name in ("eyes", "ears"):
        kept(tmp_path, dataclasses.replace(evaluation(name, 0.0, rungs=("pixels",)), look="blueprint" if name == "ears" else "classic"))
    _, said = run(capsys, tmp_path, "compare", "eyes", "ears")
    assert "saw the look classic" in said.splitlines()[0]


def test_a_policys_name_is_its_newest_flight(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    keep(tmp_path, "20261128T140500Z", "night-3")
    keep(tmp_path, "20261128T120000Z", "night-2", 0.5)
    keep_judged(tmp_path, "20261129T101500Z", "night-3", game="arena", rules=2)
    _, said = run(capsys, tmp_path, "compare", "night-2", "night-3")
    assert "pair by pair" in said
    _, said = run(capsys, tmp_path, "compare", "night-2", "last")
    assert said.startswith("20261129T101500Z_night-3 was not flown: nothing can be said of who flies better\n")


def test_what_a_file_names_steers_no_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    keep(tmp_path, "20261128T140500Z", "red", rungs=("state",))
    keep_judged(tmp_path, "20261129T101500Z", "blue", game="arena", rules=2)
    for path in (tmp_path / "logs" / "evaluations").iterdir():
        value = json.loads(path.read_text())
        value["levels"]["play"] = "\x1b]0;title\a"
        path.write_text(json.dumps(value | {"policy": f"\x1b[31m{value['policy']}\nrow", "look": "\x9b1m"}))
    (tmp_path / "logs" / "evaluations" / "\x1b[2J.json").write_text("{")
    _, listed = run(capsys, tmp_path, "list")
    _, compared = run(capsys, tmp_path, "compare", "20261128", "20261129")
    _, alone = run(capsys, tmp_path, "compare", "20261128", "20261128")
    for said in (listed, compared, alone):
        assert printable_lines(said) == said
    assert len(listed.splitlines()) == 4
    assert " [31mred row" in listed
    assert " [31mred row:  ]0;title" in compared
    assert " [31mred row" in alone.splitlines()[0]

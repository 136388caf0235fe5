"""Names in all the world's letters, on terminals that know few: typed, kept, printed and found again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from data import annotations
from tests.support.sessions import write_session

SCRIPT = Path(sys.executable).parent / ("secondseat.exe" if os.name == "nt" else "secondseat")
TITLE, NOTE = "🎮 ≠ ほし", "Spiel – Ünï 🚀"
LOCALES = {
    "latin-1": {"LC_ALL": "en_US.ISO-8859-1", "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
    "c": {"LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
}


@pytest.mark.parametrize("locale", list(LOCALES))
def test_a_title_and_a_folder_come_back_as_they_were_typed(tmp_path: Path, locale: str) -> None:
    workspace = tmp_path / "Aufnahmen ほし 🎮"
    session = write_session(workspace, 10)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHON", "SECONDSEAT_"))}
    environment |= {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)} | LOCALES[locale]

    def run(*words: str) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            [str(SCRIPT), "--workspace", str(workspace), "sessions", *words], env=environment, capture_output=True, timeout=50, check=False
        )
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        return done

    run("rename", "last", TITLE)
    run("note", "last", NOTE)
    kept = annotations.read(session)
    assert (kept.title, kept.note) == (TITLE, NOTE)
    assert json.loads(run("show", "last", "--json").stdout)["title"] == TITLE
    assert b"?" in run("list").stdout, "what the terminal cannot show is replaced, and nothing fails"

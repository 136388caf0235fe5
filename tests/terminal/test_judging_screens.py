"""Evaluations, data statistics and the trash in a real terminal of 80x24, and of another size in the midst of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from multiplexer import Tmux, face

from data.trash import trash
from tests.support.evaluations import some
from tests.support.sessions import write_session

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")


def test_the_screens_open_by_their_keys_and_follow_the_size(tmux: Tmux, tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    some(workspace)
    for number in range(3):
        folder = write_session(workspace, 30 + number)  # of the same play one would count
        folder.rename(folder.with_name(f"2026112{number}T203100Z_play_arena"))
    trash(workspace, "20261122T203100Z_play_arena")
    tmux.open(f"{face(tmp_path)} workspace={workspace}")
    tmux.wait_for(":99")
    tmux("send-keys", "-t", "a", "E")
    tmux.wait_for("looks-only")
    tmux("resize-window", "-t", "a", "-x", "80", "-y", "24")
    tmux.wait_for("V view plots  / filter ─╯")
    tmux("send-keys", "-t", "a", "Enter")
    tmux.wait_for("Strategist: which mode")
    tmux("send-keys", "-t", "a", "Escape")
    tmux.wait_for("looks-only")
    tmux("send-keys", "-t", "a", "c")
    tmux.wait_for("Not enough evidence that either flies better")
    tmux("send-keys", "-t", "a", "S")
    tmux.wait_for("= the sum over 2 sessions")
    tmux("send-keys", "-t", "a", "B")
    tmux.wait_for("20261122T203100Z_play_arena")
    tmux("send-keys", "-t", "a", "u")
    tmux.wait_for("The trash is empty")
    assert (workspace / "sessions" / "20261122T203100Z_play_arena").is_dir()

"""What a workspace holds, counted for the snapshot."""

from __future__ import annotations

from pathlib import Path


def count_kept(workspace: Path) -> tuple[int, int]:
    """Sessions, without those that are being recorded, and whole policies; reads the disk."""
    from data.catalog import list_sessions
    from data.models import list_policies

    return sum(not session.live for session in list_sessions(workspace)), sum(not policy.problem for policy in list_policies(workspace))

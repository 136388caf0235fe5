"""Where play of the league's game lies in a workspace."""

from __future__ import annotations

from typing import Final

USUAL_FOLDERS: Final = ("data/processed", "reports/feedback_training", "reports/live")
"""Recorder trajectories (a person's matches among them), live feedback, manifests with outcomes."""

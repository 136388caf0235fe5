"""What a run writes of itself while it goes: a line per step and epoch, and TensorBoard's events."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from data.files import from_json

Figures = dict[str, float]


class RunLog:
    """metrics.jsonl and TensorBoard's event file. Lines of epochs that a resumed run repeats are cut off first, and its events are purged:
    TensorBoard shows no step twice. ``unreadable``: the lines of the run so far that were no such lines, and are dropped."""

    def __init__(self, run_dir: Path, done_epochs: int, done_steps: int = 0) -> None:
        from torch.utils.tensorboard import SummaryWriter

        path = run_dir / "metrics.jsonl"
        self.unreadable = 0
        if path.is_file():
            lines = [(line, _epoch_of(line)) for line in path.read_bytes().splitlines(keepends=True)]
            path.write_bytes(b"".join(line.rstrip() + b"\n" for line, epoch in lines if epoch is not None and epoch <= done_epochs))
            # Half a last line is what a run leaves that was killed.
            self.unreadable = sum(epoch is None and line.endswith(b"\n") for line, epoch in lines)
        self._epochs_done = done_epochs
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 - closed by close()
        self._board = SummaryWriter(str(run_dir), purge_step=done_steps + 1 if done_steps else None)

    def step(self, step: int, loss: float, rate: float, norm: float, figures: Figures) -> None:
        self._write({"step": step, "epoch": self._epochs_done + 1, "train_loss": loss, "learning_rate": rate, "gradient_norm": norm})
        self._board.add_scalar("train_loss", loss, step)
        self._board.add_scalar("learning_rate", rate, step)
        self._board.add_scalar("gradient_norm", norm, step)
        for name, value in figures.items():
            self._board.add_scalar(f"train/{name}", value, step)

    def epoch(self, epoch: int, step: int, figures: Figures) -> None:
        self._epochs_done = epoch
        self._write({"epoch": epoch, "step": step, "figures": figures})
        self._file.flush()
        for name, value in figures.items():
            self._board.add_scalar(f"epoch/{name}", value, step)
        self._board.flush()

    def close(self) -> None:
        self._file.close()
        self._board.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps({**line, "time_s": round(time.time(), 1)}) + "\n")


def _epoch_of(line: bytes) -> int | None:
    try:
        return int(from_json(line)["epoch"])
    except (ValueError, LookupError, TypeError, OverflowError):
        return None

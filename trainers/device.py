"""On what, and how exactly, a step is computed: the device of a name, and half precision on a GPU."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor, nn


class TrainingError(Exception):
    """Training can't go on; the text says why and what to do."""


def pick_device(wanted: str, notes: list[str]) -> torch.device:
    """The device of a name; "auto" takes the GPU when there is one. What is not there becomes the CPU, with a note."""
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise TrainingError(f"device {wanted!r}: not a device; use auto, cpu, cuda or cuda:N") from error
    if device.type == "cuda" and (not torch.cuda.is_available() or (device.index or 0) >= torch.cuda.device_count()):
        notes.append(f"device {wanted}: not on this machine ({torch.cuda.device_count()} GPUs); training on the CPU instead")
        return torch.device("cpu")
    return device


class Precision:
    """How a step is computed: ``autocast()`` around the loss, and ``step`` from the loss to the moved parameters."""

    def __init__(self, device: torch.device, mixed: bool) -> None:
        self._device = device.type
        self.dtype = None if device.type != "cuda" or not mixed else torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
        self._scaler = torch.amp.GradScaler(device.type, enabled=self.dtype is torch.float16)

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        return torch.autocast(self._device, self.dtype) if self.dtype is not None else contextlib.nullcontext()

    def step(self, loss: Tensor, network: nn.Module, optimiser: torch.optim.Optimizer, clip_norm: float) -> float:
        """One step down; the gradient's norm before it was clipped."""
        optimiser.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()
        self._scaler.unscale_(optimiser)
        norm = float(nn.utils.clip_grad_norm_(network.parameters(), clip_norm))
        self._scaler.step(optimiser)
        self._scaler.update()
        return norm

    def state(self) -> dict[str, Any]:
        return self._scaler.state_dict()

    def load(self, state: dict[str, Any]) -> None:
        if state:
            self._scaler.load_state_dict(state)

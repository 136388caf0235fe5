"""What every actor's process needs, imported once by the process they are forked from: a new actor then starts in a moment."""

from __future__ import annotations

from league.arena.world import kernels
from league.runners import actor_process

kernels("last_standing_kernel")
from league import fold_kernel, layer_kernel, sampling_kernel  # noqa: E402 - after the folder of compiled code is named

__all__ = ["actor_process", "fold_kernel", "layer_kernel", "sampling_kernel"]

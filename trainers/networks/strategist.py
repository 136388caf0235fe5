"""The Strategist: up to 60 s of one-a-second summaries -> the mode now. A causal transformer, so that every second of
a window is a training example with as much history as it has, and a flight's first seconds are no special case.

Legend: B batch, T seconds, D features, M modes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trainers.networks.blocks import Trunk, mlp


class Strategist(nn.Module):
    def __init__(
        self,
        features: int,
        modes: int,
        width: int = 64,
        layers: int = 2,
        heads: int = 2,
        dropout: float = 0.1,
        history: int = 60,
        forget: float = 0.0,
    ) -> None:
        """``forget``: in training, the share of windows that are judged without their history, by each second alone."""
        super().__init__()
        self.history, self._forget = history, forget
        self.embed = mlp(features, width, width)
        self.decay = nn.Parameter(torch.zeros(history, width))  # added by how many seconds into the window a token is
        self.trunk = Trunk(width, layers, heads, dropout)
        self.head = nn.Linear(2 * width, modes)

    def forward(self, summaries_BTD: Tensor) -> Tensor:
        """Mode logits [B, T, M] for every second, each from that second and those before it."""
        tokens = self.embed(summaries_BTD)
        x = self.trunk(tokens + self.decay[: summaries_BTD.shape[1]], causal=True)
        if self.training and self._forget > 0:
            x = x * (torch.rand(len(x), 1, 1, device=x.device) >= self._forget)
        return self.head(torch.cat([x, tokens], dim=-1))

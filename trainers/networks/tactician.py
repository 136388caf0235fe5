"""The Tactician: a set of tracks, the status and the mode -> a pointer to one track, or none.

Legend: B batch, N tracks, D features, W width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trainers.networks.blocks import Trunk, beside_each, mlp


class Tactician(nn.Module):
    def __init__(
        self, track_features: int, context_features: int, modes: int, width: int = 64, layers: int = 2, heads: int = 2, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.embed_track = mlp(track_features, width, width)
        self.embed_context = nn.Linear(context_features, width)
        self.embed_mode = nn.Embedding(modes + 1, width)  # the last one: no mode is known
        self.trunk = Trunk(width, layers, heads, dropout)
        self.score = mlp(2 * width, width, 1)
        self.none = mlp(width, width, 1)

    def forward(self, tracks_BND: Tensor, present_BN: Tensor, context_BD: Tensor, mode_B: Tensor) -> Tensor:
        """Logits [B, N + 1]: one for each track (-inf where there is none), the last for "none"."""
        first = (self.embed_context(context_BD) + self.embed_mode(mode_B))[:, None]
        x = torch.cat([first, self.embed_track(tracks_BND)], dim=1)
        keep = torch.cat([torch.ones_like(present_BN[:, :1]), present_BN], dim=1)
        x = self.trunk(x, keep)
        context, tracks = x[:, 0], x[:, 1:]
        scores = beside_each(tracks, context, ((self.score, True),))[0][..., 0]
        return torch.cat([scores.masked_fill(~present_BN, float("-inf")), self.none(context)], dim=1)

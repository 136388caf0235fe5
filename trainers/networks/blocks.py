"""Building blocks of all three levels: pre-LN transformer layers and small heads.

Legend: B batch, T tokens, D width. ``keep`` masks are True for tokens that exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Multi-head self-attention by ``scaled_dot_product_attention``."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x_BTD: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        b, t, d = x_BTD.shape
        q, k, v = self.qkv(x_BTD).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    """x + attention(norm(x)); x + feed-forward(norm(x))."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU("tanh"), nn.Linear(2 * width, width))

    def forward(self, x_BTD: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        x_BTD = x_BTD + self.attention(self.norm_1(x_BTD), mask, causal)
        return x_BTD + self.feed(self.norm_2(x_BTD))


class Trunk(nn.Module):
    """A stack of layers with a last norm. Dropout falls on the tokens that go in, once: drawing it in every layer cost as
    much as the matrix products of so small a network."""

    def __init__(self, width: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, x_BTD: Tensor, keep_BT: Tensor | None = None, causal: bool = False) -> Tensor:
        mask = None if keep_BT is None else keep_BT[:, None, None, :]
        x_BTD = self.dropout(x_BTD)
        for layer in self.layers:
            x_BTD = layer(x_BTD, mask, causal)
        return self.norm(x_BTD)


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU("tanh"), nn.Linear(hidden, outputs))


def beside_each(tokens_BTD: Tensor, context_BD: Tensor, heads: Sequence[tuple[nn.Sequential, bool]]) -> list[Tensor]:
    """Small heads (``mlp``) over tokens, each token with the context beside it or (False, those come last) alone: as
    ``head(cat(token, context))``. The context's share is taken once a row, not once a token, and all hidden layers are one product."""
    width = tokens_BTD.shape[-1]
    first: list[Any] = [head[0] for head, _ in heads]
    second: list[Any] = [head[2] for head, _ in heads]
    both = [linear for linear, (_, beside) in zip(first, heads, strict=True) if beside]
    hidden = F.linear(tokens_BTD, torch.cat([linear.weight[:, :width] for linear in first]))
    shared = F.linear(context_BD, torch.cat([linear.weight[:, width:] for linear in both]))
    alone = sum(len(linear.bias) for linear in first) - shared.shape[-1]
    shift = F.pad(shared, (0, alone)) + torch.cat([linear.bias for linear in first])
    out = F.gelu(hidden + shift[:, None], approximate="tanh")
    weight, bias = torch.block_diag(*(linear.weight for linear in second)), torch.cat([linear.bias for linear in second])
    return list(F.linear(out, weight, bias).split([len(linear.bias) for linear in second], dim=-1))


def smoothed_cross_entropy(logits_BC: Tensor, labels_B: Tensor, smoothing: float, weights_C: Tensor | None = None) -> Tensor:
    """Mean cross-entropy with label smoothing over labelled rows (label >= 0) and finite logits only.

    A class that is masked out (logit -inf) takes no share of the smoothing. No labelled row at all gives 0.
    """
    labelled = labels_B >= 0
    if not bool(labelled.any()):
        return logits_BC.new_zeros(())
    logits_BC, labels_B = logits_BC[labelled], labels_B[labelled]
    log_p = F.log_softmax(logits_BC, dim=-1)
    open_BC = torch.isfinite(logits_BC)
    hard_B = -log_p.gather(1, labels_B[:, None])[:, 0]
    spread_B = -torch.where(open_BC, log_p, 0.0).sum(1) / open_BC.sum(1)
    loss_B = (1 - smoothing) * hard_B + smoothing * spread_B
    if weights_C is None:
        return loss_B.mean()
    weight_B = weights_C[labels_B]
    return (loss_B * weight_B).sum() / weight_B.sum()

"""The ship's mind: 19 numbers in, logits of seven small choices out; and, for those who train it, what a moment is worth.

A plain torso (19 -> 128 -> 128) under one linear layer that holds all heads side by side, so that a decision is three matrix
products. The value has layers of its own, since a gradient that fits both would have to weigh them against each other
(Andrychowicz et al., 2021, recommend it too), and is told more than the ship sees (``league.privileged``). Both see the ship's own frame
(``league.symmetry``): what is learnt in one of eight mirrored views holds in all of them. Shapes: ``[...]`` any leading axes;
``LOGITS`` = 36 bins side by side in the order of ``league.codec.HEADS``; H = 7 heads.

Log-probabilities that actors store come from the very logits that were sampled, in the same precision and under the same
mask; a learner that computes them again from the same weights gets a ratio of 1.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

from league.codec import HEAD_NAMES, HEADS, LOGITS, OBSERVATION_SIZE
from league.privileged import TOLD_SIZE
from league.symmetry import fold, unfold_logits

NETWORK_VERSION: Final = 3
"""Weights of another version do not fit."""

_SIZES: Final = list(HEADS.values())
_STARTS: Final = [0, *accumulate(_SIZES)][:-1]
HEAD_SLICES: Final = {name: slice(start, start + size) for name, start, size in zip(HEADS, _STARTS, _SIZES, strict=True)}
"""Where each head's bins are in the last axis of the logits."""
GROUPS: Final = {"move": ("move_x", "move_y"), "aim": ("aim_x", "aim_y"), "buttons": ("fire", "ability", "interact")}
"""Heads that share a trace when traces are split."""
_SMALLEST: Final = 1e-30
"""A head whose bins together weigh less beside the largest logit of its row would lose digits in the fast way."""


@cache
def _membership(device: torch.device, dtype: torch.dtype) -> Tensor:
    """[LOGITS, H], 1 where the bin belongs to the head: products with it sum over each head, or spread to its bins."""
    with torch.inference_mode(False):  # made once, and used under gradients as well
        heads = torch.arange(len(_SIZES)).repeat_interleave(torch.tensor(_SIZES))
        return nn.functional.one_hot(heads, len(_SIZES)).to(device, dtype)


class _HeadwiseLogSoftmax(torch.autograd.Function):
    """log softmax over each head's bins: two thin matrix products instead of seven slices, and the same for the gradient.

    At [8192, 36] forward and backward take two thirds of the time of seven ``log_softmax`` and a ``cat``.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, member: Tensor) -> Tensor:
        shifted = logits - logits.amax(-1, keepdim=True)
        sums = shifted.exp() @ member
        if sums.numel() and not bool(sums.min() > _SMALLEST):  # a head lies far below another one (or a NaN): the slow and exact way
            log_p = torch.cat([part.log_softmax(-1) for part in logits.split(_SIZES, -1)], -1)
        else:
            log_p = shifted.sub_(sums.log_() @ member.T)
        ctx.save_for_backward(log_p, member)
        return log_p

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        log_p, member = ctx.saved_tensors
        (gradient,) = gradients
        return torch.addcmul(gradient, log_p.exp(), (gradient @ member) @ member.T, value=-1), None


def log_softmax_heads(logits: Tensor) -> Tensor:
    """Log-probabilities [..., LOGITS] of all bins, each head normalised by itself. Raises ValueError on a wrong last axis."""
    _check_logits(logits)
    return _HeadwiseLogSoftmax.apply(logits, _membership(logits.device, logits.dtype))  # pyright: ignore[reportReturnType]


def spread_heads(per_head: Tensor) -> Tensor:
    """A quantity per head [..., H] for each of its bins [..., LOGITS]."""
    return per_head @ _membership(per_head.device, per_head.dtype).T


def action_log_prob(log_p: Tensor, action: Tensor, head_mask: Tensor | None = None) -> Tensor:
    """Log-probability [..., H] of ``action`` (bin indices [..., H]) under ``log_p`` [..., LOGITS]; 0 where a head is masked out."""
    index = action.long() + torch.tensor(_STARTS, device=action.device)
    chosen = log_p.gather(-1, index)
    return chosen if head_mask is None else torch.where(head_mask, chosen, chosen.new_zeros(()))


def _check_logits(logits: Tensor) -> None:
    if logits.shape[-1:] != (LOGITS,):
        raise ValueError(f"logits: shape {tuple(logits.shape)}; the last axis must be {LOGITS}: {HEADS}")


class Decision(NamedTuple):
    """What a policy chose, and all that a learner needs to know about it later."""

    action: Tensor
    """int8 [..., H], bin indices."""
    log_prob: Tensor
    """[..., H], of the sampled bins; 0 where masked."""
    logits: Tensor
    """[..., LOGITS], those that were sampled."""


def _layers(told: int, hidden: int, out: int) -> nn.Sequential:
    """Two hidden layers (orthogonal weights; Saxe et al., 2014) and a linear one with small weights."""
    layers = nn.Sequential(
        nn.Linear(told, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, out)
    )
    for layer, gain in ((layers[0], 2**0.5), (layers[2], 2**0.5), (layers[4], 0.01)):
        nn.init.orthogonal_(layer.weight, gain)  # pyright: ignore[reportArgumentType]
        nn.init.zeros_(layer.bias)  # pyright: ignore[reportArgumentType]
    return layers


def shapes_of(hidden: int) -> dict[str, tuple[int, ...]]:
    """Of all weights by name, as a state dict has them."""
    shapes: dict[str, tuple[int, ...]] = {}
    for part, told, out in (("actor", OBSERVATION_SIZE, LOGITS), ("critic", TOLD_SIZE, 1)):
        for layer, (rows, columns) in zip((0, 2, 4), ((hidden, told), (hidden, hidden), (out, hidden)), strict=True):
            shapes |= {f"{part}.{layer}.weight": (rows, columns), f"{part}.{layer}.bias": (rows,)}
    return shapes


class ActorCritic(nn.Module):
    """Factorised actor-critic: the policy on the 19-number observation, the value on that and the privileged numbers.

    ``hidden`` is the width of all hidden layers. The heads start with a hundredth of the usual weights: a new policy is nearly
    uniform, so it tries everything, and its value is near 0.
    """

    def __init__(self, hidden: int = 128) -> None:
        super().__init__()
        if hidden < 1:
            raise ValueError(f"network: hidden {hidden} is not a width; use 16 to 1024")
        self.hidden = hidden
        self.actor = _layers(OBSERVATION_SIZE, hidden, LOGITS)
        self.critic = _layers(TOLD_SIZE, hidden, 1)

    def forward(self, told: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [..., LOGITS] and values [...] of all that is told [..., 88]. Raises ValueError on a wrong last axis."""
        own, turn = fold(told)
        logits, values = self.own_frame(own)
        return unfold_logits(logits, turn), values

    def logits(self, observation: Tensor) -> Tensor:
        """Logits [..., LOGITS] of observations [..., 19]: what acting takes. Raises ValueError on a wrong last axis."""
        own, turn = fold(observation)
        return unfold_logits(self.actor(own[..., :OBSERVATION_SIZE]), turn)

    def own_frame(self, own: Tensor) -> tuple[Tensor, Tensor]:
        """As ``forward``, of what is told and for bins in the ship's own frame (``league.symmetry.fold``)."""
        return self.actor(own[..., :OBSERVATION_SIZE]), self.values(own)

    def values(self, own: Tensor) -> Tensor:
        """Values [...] of all that is told [..., 88], in the ship's own frame. Raises ValueError on a wrong last axis."""
        if own.shape[-1:] != (TOLD_SIZE,):
            raise ValueError(
                f"value: shape {tuple(own.shape)}; the last axis must be {TOLD_SIZE}: a value learns from privileged numbers too"
            )
        return self.critic(own)[..., 0]

    @torch.no_grad()
    def act(
        self,
        observation: Tensor,
        head_mask: Tensor | None = None,
        generator: torch.Generator | None = None,
        *,
        greedy: bool = False,
    ) -> Decision:
        """Sample one action for each observation [..., 19]; ``greedy`` takes the likeliest bins.

        ``head_mask`` bool [..., H]: False where a head can have no effect; its bin is drawn all the same and its
        log-probability is 0. Raises ValueError when the network's numbers are not finite.
        """
        logits = self.logits(observation)
        if not bool(torch.isfinite(logits).all()):
            raise ValueError("policy: its logits are not finite numbers; its weights or an observation are broken")
        scores = logits
        if not greedy:  # Gumbel-max: the largest of logit + noise is a sample of the softmax
            noise = torch.empty_like(logits).exponential_(generator=generator)
            scores = logits - noise.clamp_(min=torch.finfo(noise.dtype).tiny).log_()
        action = torch.stack([scores[..., HEAD_SLICES[name]].argmax(-1) for name in HEAD_NAMES], -1).to(torch.int8)
        return Decision(action, action_log_prob(log_softmax_heads(logits), action, head_mask), logits)

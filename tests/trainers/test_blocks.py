"""Blocks that are written for speed against the plain way to write them."""

from __future__ import annotations

import torch

from trainers.networks.blocks import beside_each, mlp


def test_heads_beside_the_context_are_those_of_tokens_and_context_joined() -> None:
    torch.manual_seed(0)
    tokens, context = torch.randn(3, 5, 8, requires_grad=True), torch.randn(3, 8, requires_grad=True)
    both, more, alone = mlp(16, 7, 2), mlp(16, 6, 3), mlp(8, 4, 1)
    joined = torch.cat([tokens, context[:, None].expand_as(tokens)], dim=-1)
    wanted = [both(joined), more(joined), alone(tokens)]
    found = beside_each(tokens, context, ((both, True), (more, True), (alone, False)))
    parameters = [tokens, context, *both.parameters(), *more.parameters(), *alone.parameters()]
    gradients = [torch.autograd.grad(sum(part.square().sum() for part in parts), parameters) for parts in (wanted, found)]
    for first, second in (*zip(wanted, found, strict=True), *zip(*gradients, strict=True)):
        torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)

"""The Executor: the last 0.8 s -> where the next click goes, whether a click is coming, click and keys now.

Its heads are one sentence, each given what came before it:
1. ``point``: one mixture over the slots ("on that track", with an offset in its box), over places beside tracks (some
   two-dimensional normals each, in the frame that looks from the track to the ship: "at range from the locked enemy and
   a quarter turn on", "straight away from that one" are constants there) and over absolute grid cells ("there on the
   picture"). A ground click is explained by whichever of the last two fits, so that it is learnt relative to what it
   belongs to.
2. ``intent``: will there be a click soon (0.4 s)? It decides whether the cursor moves at all.
3. ``click``: the hazard of a button's onset in the next tick, given the point, the cursor's offset to it, and how likely 1 makes a click
   where the cursor lies: it may have arrived at another place than the likeliest one.
4. ``keys``: hazard of each key's onset, and whether it is held, given point and intent.
5. ``plan`` (only where asked for): the next K ticks at once, given point and cursor: how far along, and how far beside, the line
   from the cursor to the point the cursor will be, and every button's and key's hazard.
6. ``way`` (only where asked for): in which cell of 8 x 8 the ship will be in some seconds; what it says is a goal, which 1 to 5 are given.

The cursor goes into 3 to 5 only: where to click next is read off the picture, never off where the cursor already is.

Legend: B batch, K slots, M places beside each, G grid cells, C = K + K M + G components, W width, I buttons and keys,
N ticks of a chunk, V cells of the way-point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trainers.networks.blocks import Trunk, beside_each, mlp
from trainers.networks.shape import (
    CELL_BIAS,
    CLICK_BUTTONS,
    GRID,
    LIKELIER,
    LIKELY,
    LIKELY_PLACES,
    MIN_SPREAD,
    NO_EXTRAS,
    ON_SPREAD,
    PLACE_REACH,
    PLACES,
    SPREAD_RANGE,
    WAY_GRID,
    Extras,
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the trunk makes of a moment. slots [B, K, W], context [B, W]; log_p [B, C] of the components; on_offset [B, K, 2]
    in half boxes, on [B, K, 2] the same as places in picture widths, on_spread [B, K] their deviation; beside [B, K M, 2] places in
    picture widths; spread [B, K M] their deviation; intent [B] logit; way [B, V] logits of the way-point (V 0 without that head)."""

    slots: Tensor
    context: Tensor
    log_p: Tensor
    on_offset: Tensor
    on: Tensor
    on_spread: Tensor
    beside: Tensor
    spread: Tensor
    intent: Tensor
    way: Tensor


class Executor(nn.Module):
    """``aspect`` is the picture's height / width."""

    def __init__(
        self,
        slot_features: int,
        context_features: int,
        modes: int,
        inputs: int,
        aspect: float,
        width: int = 64,
        layers: int = 2,
        heads: int = 2,
        dropout: float = 0.1,
        extras: Extras = NO_EXTRAS,
    ) -> None:
        super().__init__()
        self.aspect, self.extras = aspect, extras
        self.embed_slot = mlp(slot_features + 1, width, width)  # + is target
        self.embed_context = mlp(context_features + 1, width, width)  # + is there a target
        self.embed_mode = nn.Embedding(modes + 1, width)
        self.trunk = Trunk(width, layers, heads, dropout)
        self.component = mlp(2 * width, width, 1 + len(PLACES))  # on, beside
        self.on_offset = mlp(width, width, 2)
        self.beside = mlp(2 * width, width, 3 * len(PLACES))
        self.cells = nn.Linear(width, GRID[0] * GRID[1])
        self.intent = mlp(width, width, 1)
        self.choice = nn.Linear(width + 1, width)
        self.click = mlp(2 * width + extras.where, width, CLICK_BUTTONS)
        self.keys = mlp(2 * width + 1, width, 2 * inputs)
        if extras.chunk > 1:
            self.plan = mlp(2 * width + extras.where, width, extras.chunk * (2 + inputs))
        if extras.way_point:
            self.way = mlp(width, width, WAY_GRID[0] * WAY_GRID[1])
            self.goal = nn.Linear(WAY_GRID[0] * WAY_GRID[1], width)
        columns, rows = GRID
        x = (torch.arange(columns) + 0.5) / columns
        y = (torch.arange(rows) + 0.5) / rows * aspect
        centres = torch.stack(torch.meshgrid(x, y, indexing="xy"), dim=-1).reshape(-1, 2)
        self.register_buffer("centres_G2", centres, persistent=False)
        self.register_buffer("places_M2", torch.tensor(PLACES), persistent=False)
        self._log_cell_density = math.log(columns * rows / aspect)

    def see(
        self,
        slots_BKD: Tensor,
        present_BK: Tensor,
        boxes_BK4: Tensor,
        own_B2: Tensor,
        context_BD: Tensor,
        mode_B: Tensor,
        target_BK: Tensor,
    ) -> Seen:
        """``slots``, ``context`` normalised; ``boxes`` and ``own`` (the ship) in 0..1 as they are; ``target`` marks at most one slot."""
        target = target_BK[..., None].float()
        slots = self.embed_slot(torch.cat([slots_BKD, target], dim=-1))
        context = self.embed_context(torch.cat([context_BD, target.amax(1)], dim=-1)) + self.embed_mode(mode_B)
        keep = torch.cat([torch.ones_like(present_BK[:, :1]), present_BK], dim=1)
        x = self.trunk(torch.cat([context[:, None], slots], dim=1), keep)
        context, slots = x[:, 0], x[:, 1:]
        way = context.new_zeros(len(context), 0)
        if self.extras.way_point:
            way = self.way(context).float()
            # A goal is what the way-point's own labels make of it, not one more hidden layer.
            context = context + self.goal(way.softmax(-1).detach())
        heads = ((self.component, True), (self.beside, True), (self.on_offset, False))
        pointed, place, on_offset = beside_each(slots, context, heads)
        pointed = pointed.masked_fill(~present_BK[..., None], float("-inf"))
        logits = torch.cat([pointed[..., 0], pointed[..., 1:].flatten(1), self.cells(context) - CELL_BIAS], dim=1)
        place = place.unflatten(-1, (len(PLACES), 3))
        beside = self._beside(boxes_BK4, own_B2, place[..., :2])
        spread = MIN_SPREAD + SPREAD_RANGE * torch.sigmoid(place[..., 2] - 1.0)
        on_offset, size = torch.tanh(on_offset).float(), self._widths(boxes_BK4[..., 2:])
        # What is compared and summed is in full precision, whatever the products are computed in.
        return Seen(
            slots,
            context,
            logits.float().log_softmax(-1),
            on_offset,
            self._widths(boxes_BK4[..., :2]) + on_offset * size / 2,
            (ON_SPREAD * size.mean(-1)).clamp(min=MIN_SPREAD),
            beside,
            spread.flatten(1).float(),
            self.intent(context)[:, 0].float(),
            way,
        )

    def _beside(self, boxes_BK4: Tensor, own_B2: Tensor, place_BKM2: Tensor) -> Tensor:
        """[B, K M, 2] places in picture widths, from offsets along and across the line from the track to the ship."""
        anchor = self._widths(boxes_BK4[..., :2])
        line = self._widths(own_B2)[:, None] - anchor
        away = line.norm(dim=-1, keepdim=True)
        # The ship itself looks to the right.
        along = torch.where(away > 0.01, line / away.clamp(min=1e-6), line.new_tensor([1.0, 0.0]))
        across = torch.stack([-along[..., 1], along[..., 0]], dim=-1)
        offset = self.places_M2 + PLACE_REACH * place_BKM2
        return (anchor[:, :, None] + offset[..., :1] * along[:, :, None] + offset[..., 1:] * across[:, :, None]).flatten(1, 2)

    def ground_log_density(self, seen: Seen, points_BN2: Tensor) -> Tensor:
        """[B, N] log density (per squared picture width) of a click on the ground at each point (0..1)."""
        slots, places = seen.slots.shape[1], seen.spread.shape[1]
        away = ((self._widths(points_BN2)[:, :, None] - seen.beside[:, None]) ** 2).sum(-1)
        scale = (seen.log_p[:, slots : slots + places] - torch.log(2 * math.pi * seen.spread**2))[:, None]
        beside = scale - away / (2 * seen.spread**2)[:, None]
        cell = (points_BN2.clamp(0, 1 - 1e-6) * points_BN2.new_tensor(GRID)).long()
        absolute = seen.log_p[:, slots + places :].gather(1, cell[..., 1] * GRID[0] + cell[..., 0]) + self._log_cell_density
        return torch.logsumexp(torch.cat([beside, absolute[..., None]], dim=2), dim=2)

    def log_density(self, seen: Seen, points_BN2: Tensor) -> Tensor:
        """[B, N] log density (per squared picture width) of the next click at each point (0..1), be it on a track or on the ground."""
        away = ((self._widths(points_BN2)[:, :, None] - seen.on[:, None]) ** 2).sum(-1)
        scale = (seen.log_p[:, : seen.slots.shape[1]] - torch.log(2 * math.pi * seen.on_spread**2))[:, None]
        on = scale - away / (2 * seen.on_spread**2)[:, None]
        return torch.logsumexp(torch.cat([on, self.ground_log_density(seen, points_BN2)[..., None]], dim=2), dim=2)

    def choose(self, seen: Seen) -> tuple[Tensor, Tensor]:
        """[B] the likeliest choice (a slot, or K for the ground) and [B, 2] its point in 0..1.

        First whether a track or the ground is clicked, then which track, or the ground's place of greatest density.
        """
        slots, places = seen.slots.shape[1], seen.spread.shape[1]
        rows = torch.arange(len(seen.intent), device=seen.intent.device)
        on = seen.log_p[:, :slots]
        slot = on.argmax(1)
        to_01 = seen.beside.new_tensor([1.0, 1 / self.aspect])
        on_point = seen.on[rows, slot] * to_01
        best_cell = self.centres_G2[seen.log_p[:, slots + places :].argmax(1)]
        # Only the likeliest places are candidates: an absent track's has no weight.
        likely = seen.log_p[:, slots : slots + places].topk(min(LIKELY_PLACES, places), dim=1)[1]
        points = torch.cat([seen.beside.gather(1, likely[..., None].expand(-1, -1, 2)), best_cell[:, None]], dim=1) * to_01
        best = self.ground_log_density(seen, points).argmax(1)
        ground = torch.logsumexp(seen.log_p[:, slots:], 1) > torch.logsumexp(on, 1)
        choice = torch.where(ground, torch.full_like(slot, slots), slot)
        return choice, torch.where(ground[:, None], points[rows, best], on_point).clamp(0, 1)

    def act(
        self, seen: Seen, choice_B: Tensor, point_B2: Tensor, cursor_B2: Tensor, known_B: Tensor, past_BL2: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Click hazards [B, 2], key hazards [B, I] and held logits [B, I], given the chosen point. ``past``: only with such an extra."""
        both, where = self._given(seen, choice_B, point_B2, cursor_B2, known_B, past_BL2)
        onsets, held = self.keys(torch.cat([both, where[:, -1:]], dim=-1)).chunk(2, dim=-1)
        return self.click(torch.cat([both, where], dim=-1)), onsets, held

    def foretell(
        self, seen: Seen, choice_B: Tensor, point_B2: Tensor, cursor_B2: Tensor, known_B: Tensor, past_BL2: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """[B, N, 2] shares of the line from the cursor to the point, along and across it, where the cursor is after each tick; [B, N, I]
        hazards of every button and key. Only with a chunk."""
        given = torch.cat(self._given(seen, choice_B, point_B2, cursor_B2, known_B, past_BL2), dim=-1)
        plan = self.plan(given).unflatten(-1, (self.extras.chunk, -1)).float()
        return plan[..., :2], plan[..., 2:]

    def _given(
        self, seen: Seen, choice_B: Tensor, point_B2: Tensor, cursor_B2: Tensor, known_B: Tensor, past_BL2: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """[B, 2 W] the scene and what was chosen; [B, ``extras.where``] how the cursor lies to the point, the intent last."""
        slots = seen.slots.shape[1]
        rows = torch.arange(len(choice_B), device=choice_B.device)
        on_slot = (choice_B < slots)[:, None].float()
        token = seen.slots[rows, choice_B.clamp(max=slots - 1)] * on_slot
        both = torch.cat([seen.context, self.choice(torch.cat([token, on_slot], dim=-1))], dim=-1)
        known = known_B[:, None].float()
        offset = self._widths(point_B2 - cursor_B2) * known
        distance = offset.norm(dim=-1, keepdim=True)
        near = torch.exp(-distance / 0.01), torch.exp(-distance / 0.05)
        with torch.no_grad():  # the mixture is not bent for the moment's sake
            at_cursor, at_point = self.log_density(seen, torch.stack([cursor_B2, point_B2], dim=1)).unbind(1)
            likely = torch.stack([at_cursor.clamp(*LIKELY), (at_cursor - at_point).clamp(*LIKELIER)], dim=-1) / 4 * known
        intent = seen.intent.detach()[:, None].clamp(-6, 6) / 3
        past: tuple[Tensor, ...] = ()
        if past_BL2 is not None:
            past = (((self._widths(past_BL2 - cursor_B2[:, None]) * known[:, None]).clamp(-1, 1) * 4).flatten(1),)
        return both, torch.cat([offset.clamp(-1, 1) * 4, *near, likely, *past, known, intent], dim=-1)

    def _widths(self, place: Tensor) -> Tensor:
        return place * place.new_tensor([1.0, self.aspect])

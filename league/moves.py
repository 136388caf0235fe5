"""All moves of a match of last man standing, kept so that it can be shown again exactly as it was played.

A match that was played while its players learnt cannot be played again from any weights: they changed on the way. Its moves and its
world's seed are enough, since the world's rules are deterministic. The league keeps them of one match in ``KEPT_EVERY``
(``replays.jsonl``, some 5 kB a match), chosen by the match's number alone, so that keeping them changes nothing in the run.

Legend: T actions of a match, S ships (seats).
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from league.arena.last_standing_rules import FEWEST_SHIPS, MOST_SHIPS, RULES_VERSION
from league.codec import BINS

KEPT_EVERY: Final = 32
_LONGEST_BYTES: Final = 64 * 2**20


class MovesError(ValueError):
    """Moves cannot be shown; the text says of which match, and why."""


def pack_moves(moves: NDArray[np.int8], death_step: NDArray[np.int32]) -> bytes:
    """Compressed moves int8 [T, S, 7] (bin indices, by seat). ``death_step`` [S]: the action (from 1) within which a seat was lost, 0
    for none; what a lost ship's row held later means nothing and is left out."""
    kept = moves.copy()
    for seat, lost in enumerate(death_step.tolist()):
        if lost:
            kept[lost:, seat] = 0
    return zlib.compress(np.ascontiguousarray(kept.transpose(1, 2, 0)).tobytes(), 6)


def unpack_moves(packed: bytes, ships: int) -> NDArray[np.int8]:
    """Moves int8 [T, S, 7]. Raises MovesError when they are torn or no moves."""
    try:
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(packed, _LONGEST_BYTES)
    except zlib.error as error:
        raise MovesError(f"its moves are torn ({error})") from error
    row = ships * len(BINS)
    if not unpacker.eof or not raw or len(raw) % row:
        raise MovesError(f"its moves are torn: {len(raw)} bytes are no whole actions of {ships} ships")
    moves = np.ascontiguousarray(np.frombuffer(raw, np.int8).reshape(ships, len(BINS), -1).transpose(2, 0, 1))
    if ((moves < 0) | (moves >= BINS)).any():
        raise MovesError("its moves are altered: some are no choices of a ship")
    return moves


@dataclass(frozen=True, slots=True)
class KeptMatch:
    """One line of ``replays.jsonl``."""

    match: int
    players: tuple[str, ...]
    """As in ``matches.jsonl``: player k sat in seat (k + match) % ships."""
    placements: tuple[float, ...]
    """By player."""
    world: int
    """Seed of the world, 64 bits."""
    episode_steps: int
    rules_version: int
    moves: bytes

    @property
    def names(self) -> tuple[str, ...]:
        """By seat."""
        return seated(self.players, self.match)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        told = {name: getattr(self, name) for name in ("match", "world", "episode_steps", "rules_version")}
        shown = {"players": list(self.players), "placements": list(self.placements)}
        return {**told, **shown, "moves": base64.b64encode(self.moves).decode()}

    @staticmethod
    def from_json(told: Mapping[str, Any]) -> KeptMatch:
        """Raises MovesError when it is no such line, or was kept under other rules."""
        try:
            match, world, steps, version = (int(told[name]) for name in ("match", "world", "episode_steps", "rules_version"))
            players, places = tuple(str(p) for p in told["players"]), tuple(float(p) for p in told["placements"])
            moves = base64.b64decode(told["moves"], validate=True)
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise MovesError(f"a line of kept moves is broken ({error!r})") from error
        if version != RULES_VERSION:
            raise MovesError(
                f"match {match} was played by rules {version}, these are {RULES_VERSION}: the same moves would lead elsewhere; "
                "show it with the version of Secondseat that played it"
            )
        if not FEWEST_SHIPS <= len(players) <= MOST_SHIPS or len(places) != len(players) or not 0 <= world < 2**64 or steps < 1:
            raise MovesError(f"match {match}: its line of kept moves is broken")
        return KeptMatch(match, players, places, world, steps, version, moves)


def seated(players: Sequence[str], number: int) -> tuple[str, ...]:
    """Players by seat: one moves on by a seat from match to match."""
    ships = len(players)
    return tuple(players[(seat - number) % ships] for seat in range(ships))

"""The fixed words of the project: modes, clicks, roles, actors, the arena's looks and key names.

Names of keys are physical and lower case (``"w"``, ``"1"``, ``"space"``, ``"ctrl"``, ``"f5"``, ``"left"`` is
the arrow key); mouse buttons carry a prefix (``"mouse_left"``), so that the two never collide.
"""

from __future__ import annotations

from typing import Final, Literal

Mode = Literal["FIGHT", "LOOT", "FLEE", "EXPLORE", "CAUTIOUS"]
MODES: Final[tuple[Mode, ...]] = ("FIGHT", "LOOT", "FLEE", "EXPLORE", "CAUTIOUS")

Click = Literal["none", "left", "right"]
CLICKS: Final[tuple[Click, ...]] = ("none", "left", "right")

MOUSE_BUTTONS: Final[tuple[str, ...]] = ("mouse_left", "mouse_right", "mouse_middle")

Role = Literal["self", "enemy", "loot", "hazard", "portal", "shot", "lock", "mark", "other"]
ROLES: Final[tuple[Role, ...]] = ("self", "enemy", "loot", "hazard", "portal", "shot", "lock", "mark", "other")
"""What an object class means to a player. ``lock`` is a marker drawn round the locked enemy, ``mark`` a marker
drawn on the ground (the destination)."""

ActorKind = Literal["human", "demonstrator", "bot", "unknown"]
ACTOR_KINDS: Final[tuple[ActorKind, ...]] = ("human", "demonstrator", "bot", "unknown")
LEARNABLE_ACTORS: Final[frozenset[str]] = frozenset({"human", "demonstrator"})

LookName = Literal["classic", "amber", "ice", "neon", "dusk", "blueprint", "ash", "reef", "orchid"]
"""How the arena can be drawn; ``league.arena.looks`` says what each is like."""

CONTROL_HOTKEYS: Final[frozenset[str]] = frozenset({"f5", "f6", "f7", "f8"})
"""Keys that steer Secondseat itself. They are never recorded, learnt or injected."""

OTHER_KEY: Final = "other"
"""Stands for every key outside the profile's vocabulary: that it was pressed is kept, which one is not."""

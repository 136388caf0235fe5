"""What every source of pictures offers. A source is opened, grabbed from and closed by one thread only."""

from __future__ import annotations

from typing import Protocol

from data.schema import Frame


class FrameSource(Protocol):
    """``kind`` is "arena", "screen" or "video"; ``state`` says why nothing comes (empty when all is well)."""

    kind: str

    @property
    def description(self) -> str: ...

    @property
    def size(self) -> tuple[int, int]: ...

    @property
    def state(self) -> str: ...

    def open(self) -> None: ...

    def grab(self) -> Frame | None:
        """The newest picture; None when there is nothing to see (``state`` says why)."""
        ...

    def close(self) -> None: ...

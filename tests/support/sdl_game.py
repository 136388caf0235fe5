"""A full-screen game that grabs keyboard and pointer, as SDL games do: ``python sdl_game.py READY_FILE GOT_FILE``."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ["SDL_VIDEODRIVER"] = "x11"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"
os.environ["SDL_GRAB_KEYBOARD"] = "1"  # else a grab takes the pointer only

import pygame


def main() -> None:
    ready, got = Path(sys.argv[1]), Path(sys.argv[2])
    pygame.display.init()
    pygame.display.set_mode((0, 0), pygame.FULLSCREEN)
    pygame.event.set_grab(True)
    names: list[str] = []
    until_s = time.monotonic() + 60
    while time.monotonic() < until_s:
        for event in pygame.event.get():
            if event.type == pygame.KEYDOWN:
                names.append(pygame.key.name(event.key).upper())
                got.write_text(" ".join(names))
        pygame.display.flip()
        if not ready.exists() and pygame.key.get_focused() and pygame.event.get_grab():
            ready.touch()
        time.sleep(0.01)


if __name__ == "__main__":
    main()

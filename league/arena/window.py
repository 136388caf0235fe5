"""The arena's window, a process of its own: a person plays it, screen capture sees it, the actuator can drive it.

    python -m league.arena.window --seed 1 --scale 2 --socket PATH [--pilot expert] [--episodes 3]

60 world steps a second by deadline; events act at the next world step. Ticks, truth and score go out over the socket
(``truth_socket``). With ``--pilot`` a scripted pilot flies and the person only watches.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from data.profile import ARENA_PROFILE
from data.schema import InputEvent
from league.arena.flight import STEP_NS, Autopilot, Flight
from league.arena.looks import CLASSIC, LOOKS, look_named
from league.arena.pilots import PILOTS
from league.arena.render import SIZE, Painter
from league.arena.sdl import DisplayError, open_window, place_of, wait_until
from league.arena.skirmish import RULES_VERSION
from league.arena.truth import objects
from league.arena.truth_socket import Client, Message, TruthServer, TruthSocketError, state_to_json
from league.arena.world import STEPS_PER_TICK, kernels

if TYPE_CHECKING:
    import pygame

OVER_S: Final = 2.0
"""How long the end of an episode is shown before the next one begins."""
CATCH_UP_STEPS: Final = 6
"""A window that was held up for longer lets time pass it by, and counts it."""
BUTTONS: Final = {1: "mouse_left", 2: "mouse_middle", 3: "mouse_right"}


@dataclass(frozen=True, slots=True)
class WindowSettings:
    seed: int = 0
    scale: int = 2
    socket: Path | None = None
    pilot: str | None = None
    episode_s: float = 60.0
    episodes: int = 0  # 0: until it is closed
    title: str = ARENA_PROFILE.window_title
    driver: str | None = None
    position: tuple[int, int] | None = None
    pause_unfocused: bool = False
    look: str = CLASSIC.name


class ArenaWindow:
    """The loop: events, world step, picture, once every 1/60 s. ``closing`` ends it."""

    def __init__(self, settings: WindowSettings) -> None:
        """Opens the window and the socket. Raises DisplayError or TruthSocketError, ValueError for a look that there is not."""
        import pygame

        self._pygame = pygame
        self.settings = settings
        self._look = look_named(settings.look)
        self.closing = threading.Event()
        size = (SIZE[0] * settings.scale, SIZE[1] * settings.scale)
        open_window(size, settings.title, settings.driver, settings.position)
        self._keys = _key_table()
        self._prepare()
        self.flight = Flight(settings.seed, max(1, round(settings.episode_s * 60)))
        self._autopilot = Autopilot(settings.pilot, settings.seed) if settings.pilot else None
        self._shown_cursor = (0.5, 0.5)
        self._painters: dict[int, tuple[Painter, pygame.Surface]] = {}
        self._focused, self._visible, self._frozen = True, True, False
        self._cursor = (0.5, 0.5)
        self._over_ns = 0
        self._late_steps = 0
        hello: Message = {
            "pid": os.getpid(),
            "title": settings.title,
            "driver": pygame.display.get_driver(),
            "rules_version": RULES_VERSION,
            "seed": settings.seed,
            "scale": settings.scale,
            "pilot": settings.pilot or "",
            "look": settings.look,
            "episode_steps": self.flight.episode_steps,
        }
        self._server = TruthServer(settings.socket, hello) if settings.socket is not None else None

    def _prepare(self) -> None:
        """Load or compile the rules (some 20 s the first time) while the window stays alive and says so."""
        worker = threading.Thread(target=kernels, args=("skirmish_kernel",), daemon=True)
        worker.start()
        began_ns = time.monotonic_ns()
        while worker.is_alive():
            self._pygame.event.pump()
            if time.monotonic_ns() - began_ns > 800_000_000:
                surface = self._pygame.display.get_surface()
                surface.fill((8, 10, 20))
                self._caption(surface, "preparing the arena, once for this version: about half a minute", "")
                self._pygame.display.flip()
            worker.join(0.1)

    def run(self) -> None:
        """Until the window is closed, ``closing`` is set, or the asked episodes are over."""
        gc.collect()
        gc.freeze()
        due_ns = time.monotonic_ns()
        while not self.closing.is_set():
            wait_until(due_ns, self.closing, self._take_events)
            now_ns = time.monotonic_ns()
            behind = (now_ns - due_ns) // STEP_NS
            skipped = max(0, behind - CATCH_UP_STEPS + 1)
            steps = behind - skipped + 1
            due_ns += (behind + 1) * STEP_NS
            self._late_steps += skipped
            self._take_events(self._pygame.event.get())
            self._serve()
            for _ in range(steps):
                self._step(now_ns)
            self._show()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._pygame.display.quit()

    def _take_events(self, events: list[pygame.event.Event]) -> None:
        pg = self._pygame
        for event in events:
            if event.type == pg.QUIT:
                self.closing.set()
            elif event.type == pg.MOUSEMOTION:
                self._cursor = place_of(event.pos)
            elif event.type in (pg.MOUSEBUTTONDOWN, pg.MOUSEBUTTONUP):
                self._cursor = place_of(event.pos)
                name = BUTTONS.get(event.button)
                if name is not None:
                    self._pressed(name, event.type == pg.MOUSEBUTTONDOWN)
            elif event.type in (pg.KEYDOWN, pg.KEYUP):
                name = self._keys.get(event.key) or self._keys.get(-event.scancode)
                if name is not None:
                    self._pressed(name, event.type == pg.KEYDOWN)
            elif event.type == pg.WINDOWFOCUSLOST:
                self._focused = False
                self.flight.drop_commands()
            elif event.type == pg.WINDOWFOCUSGAINED:
                self._focused = True
            elif event.type in (pg.WINDOWMINIMIZED, pg.WINDOWHIDDEN):
                self._visible = False
            elif event.type in (pg.WINDOWRESTORED, pg.WINDOWSHOWN, pg.WINDOWEXPOSED):
                self._visible = True

    def _pressed(self, name: str, down: bool) -> None:
        """A person's button or key. While a pilot flies it is told, but does nothing."""
        x, y = self._cursor
        acts = down and self._autopilot is None and not self._frozen and self.flight.command(name, x, y)
        self._tell_input(name, down, x, y, acts, "person", time.monotonic_ns())

    def _tell_input(self, name: str, down: bool, x: float, y: float, acts: bool, by: str, time_ns: int) -> None:
        if self._server is not None:
            message = {"kind": "input", "time_ns": time_ns, "name": name, "down": down, "x": x, "y": y, "acts": acts, "by": by}
            self._server.broadcast({**message, "tick": self.flight.tick, "episode": self.flight.episode})

    def _step(self, now_ns: int) -> None:
        """One world step, with what belongs to it: the pilot's turn, the tick's message, the episode's end."""
        flight = self.flight
        if self._frozen or (self.settings.pause_unfocused and not self._focused):
            flight.drop_commands()
            return
        if flight.over:
            if now_ns - self._over_ns >= OVER_S * 1e9:
                self._next_episode(flight.seed + 1)
            return
        if self._autopilot is not None and flight.tick % STEPS_PER_TICK == 0:
            self._fly(self._autopilot.act(flight.state, now_ns))
        flight.advance(1)
        if self._server is not None:
            self._tell(now_ns)
        if flight.over:
            self._over_ns = now_ns
            result = flight.results[-1]
            if self._server is not None:
                ended = {"kind": "episode", "episode": result.episode, "seed": result.seed, "score": result.score}
                self._server.broadcast({**ended, "counters": result.counters, "time_ns": now_ns})

    def _next_episode(self, seed: int) -> None:
        if self.settings.episodes and len(self.flight.results) >= self.settings.episodes:
            self.closing.set()
            return
        self.flight.restart(seed)
        if self._autopilot is not None:
            self._autopilot.restart(seed)

    def _fly(self, events: list[InputEvent]) -> None:
        for event in events:
            if event.kind in ("press", "release") and event.x is not None and event.y is not None:
                down = event.kind == "press"
                acts = down and self.flight.command(event.name, event.x, event.y)
                self._tell_input(event.name, down, event.x, event.y, acts, event.actor_name, event.time_ns)

    def _tell(self, now_ns: int) -> None:
        server, flight = self._server, self.flight
        if server is None:
            return
        tick = flight.tick
        if tick % STEPS_PER_TICK == 0:
            server.broadcast(
                {
                    "kind": "tick",
                    "tick": tick,
                    "time_ns": now_ns,
                    "episode": flight.episode,
                    "seed": flight.seed,
                    "score": flight.score(),
                    "counters": flight.counters(),
                    "over": flight.over,
                    "focused": self._focused,
                    "late_steps": self._late_steps,
                }
            )
        for client in server.clients:
            if client.truth_every and tick % client.truth_every == 0:
                found = objects(flight.state, 0, self._look.size)
                truth = {"kind": "truth", "tick": tick, "time_ns": now_ns, "episode": flight.episode}
                columns = {"ids": found.ids.tolist(), "classes": found.classes.tolist(), "boxes": found.boxes().tolist()}
                server.send(client, {**truth, **columns})

    def _serve(self) -> None:
        if self._server is None:
            return
        for client, request in self._server.poll():
            number = request.get("id")
            try:
                answer = self._answer(client, request)
            except (TypeError, ValueError, OverflowError) as error:
                answer = {"error": f"the request {str(request)[:200]} cannot be done: {error}"}
            self._server.send(client, {"kind": "answer", "id": number, **answer})

    def _answer(self, client: Client, request: Message) -> Message:
        flight = self.flight
        if "freeze" in request:
            self._frozen = bool(request["freeze"])
        elif "truth_every" in request:
            client.truth_every = max(0, int(request["truth_every"]))
        elif "restart" in request:
            self._over_ns = 0
            flight.restart(int(request["restart"]))
            if self._autopilot is not None:
                self._autopilot.restart(flight.seed)
        elif "quit" in request:
            self.closing.set()
        elif "state" in request:
            return {"tick": flight.tick, "episode": flight.episode, "seed": flight.seed, "arrays": state_to_json(flight.state)}
        else:
            return {"error": "nothing is asked; use freeze, state, truth_every, restart or quit"}
        return {"tick": flight.tick, "episode": flight.episode, "seed": flight.seed}

    def _show(self) -> None:
        if not self._visible:
            return
        surface = self._pygame.display.get_surface()
        size = surface.get_size()
        # Drawn at the next whole scale and shrunk: a window may have any size, the picture always fills it.
        scale = min(4, max(1, -(-size[0] // SIZE[0]), -(-size[1] // SIZE[1])))
        if scale not in self._painters:
            canvas = self._pygame.Surface((SIZE[0] * scale, SIZE[1] * scale), 0, 32, (0xFF0000, 0xFF00, 0xFF, 0))
            self._painters = {scale: (Painter(scale, self.flight.episode_steps, self._look), canvas)}
        painter, canvas = self._painters[scale]
        painter.draw(canvas, self.flight.state, 0, self._drawn_cursor())
        if self.flight.over:
            self._caption(canvas, f"episode over: {self.flight.score():.1f}", "the next one begins at once")
        elif self.settings.pause_unfocused and not self._focused:
            self._caption(canvas, "paused", "click to fly on")
        if canvas.get_size() == size:
            surface.blit(canvas, (0, 0))
        else:
            surface.blit(self._pygame.transform.smoothscale(canvas, size), (0, 0))
        self._pygame.display.flip()

    def _drawn_cursor(self) -> tuple[float, float] | None:
        """The pilot's pointer; it glides over the three steps of a tick (clicks only come once it has arrived)."""
        if self._autopilot is None:
            return None
        (x, y), (to_x, to_y) = self._shown_cursor, self._autopilot.controls.cursor
        share = 1.0 / (STEPS_PER_TICK - (self.flight.tick - 1) % STEPS_PER_TICK)
        self._shown_cursor = (x + (to_x - x) * share, y + (to_y - y) * share)
        return self._shown_cursor

    def _caption(self, surface: pygame.Surface, line: str, second: str) -> None:
        """Two lines in the middle of the picture, on a dark band."""
        self._pygame.font.init()
        scale = max(1, surface.get_width() // SIZE[0])
        width, height = surface.get_size()
        band = self._pygame.Surface((width, 84 * scale), self._pygame.SRCALPHA, 32)
        band.fill((6, 8, 18, 244))
        surface.blit(band, (0, height // 2 - 42 * scale))
        for text, px, offset, colour in ((line, 26, -9, (244, 248, 255)), (second, 17, 14, (140, 152, 184))):
            picture = self._pygame.font.Font(None, px * scale).render(text, True, colour)
            surface.blit(picture, (width // 2 - picture.get_width() // 2, height // 2 + offset * scale - picture.get_height() // 2))


def _key_table() -> dict[int, str]:
    """Key codes, and minus the scan codes of the digits (on some layouts they need Shift), to the profile's names."""
    import pygame

    table: dict[int, str] = {pygame.K_SPACE: "space", pygame.K_LCTRL: "ctrl", pygame.K_RCTRL: "ctrl"}
    for name in ("q", "e", "r"):
        table[getattr(pygame, f"K_{name}")] = name
    for digit in "123":
        table[getattr(pygame, f"K_{digit}")] = table[getattr(pygame, f"K_KP{digit}")] = digit
        table[-getattr(pygame, f"KSCAN_{digit}")] = digit
    return table


def read_arguments(arguments: Sequence[str]) -> tuple[WindowSettings, bool]:
    """The settings, and whether to close when standard input ends (the parent has gone)."""
    parser = argparse.ArgumentParser(prog="arena window", description="The playable arena.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=int, choices=(1, 2, 3), default=2)
    parser.add_argument("--socket", type=Path, help="where truth and score are offered")
    parser.add_argument("--pilot", choices=PILOTS, help="a scripted pilot flies")
    parser.add_argument("--episode-s", type=float, default=60.0)
    parser.add_argument("--episodes", type=int, default=0, help="close after so many; 0: go on")
    parser.add_argument("--title", default=ARENA_PROFILE.window_title)
    parser.add_argument("--driver", help="SDL's video driver, e.g. dummy")
    parser.add_argument("--position", type=lambda text: tuple(int(v) for v in text.split(",", 1)), help="left,top on the screen")
    parser.add_argument("--pause-unfocused", action="store_true", help="the world waits while another window has the focus")
    parser.add_argument("--look", choices=tuple(LOOKS), default=CLASSIC.name, help="how it is drawn")
    parser.add_argument("--follow-parent", action="store_true", help="close when standard input ends")
    values: dict[str, Any] = vars(parser.parse_args(arguments))
    follow = bool(values.pop("follow_parent"))
    return WindowSettings(**values), follow


def _close_with_parent(closing: threading.Event) -> None:
    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        closing.set()

    threading.Thread(target=watch, daemon=True).start()


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when it was closed, 2 when there is no display, 3 when the socket cannot be opened."""
    settings, follow = read_arguments(sys.argv[1:] if arguments is None else arguments)
    try:
        window = ArenaWindow(settings)
    except DisplayError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except TruthSocketError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: window.closing.set())
    if follow:
        _close_with_parent(window.closing)
    try:
        window.run()
    finally:
        window.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""System: load, the engine's services and why one does not work, and the checks of this machine."""

from __future__ import annotations

from rich.text import Text

from engine.state import EngineState
from tui.panes.base import LinesPane, cut, pairs
from tui.theme import Look

HEALTH_SIGN = {"off": "off", "starting": "waiting", "running": "running", "waiting": "waiting", "failed": "failed", "stopping": "waiting"}


class SystemPane(LinesPane):
    def show(self, state: EngineState) -> None:
        palette, width = self.look.palette, self.size.width
        system = state.system
        last = system.last_hotkey.removesuffix(f" ({system.hotkeys})")
        rows: list[tuple[str, Text | str]] = [
            ("load", f"CPU {system.cpu_percent:.0f}%  memory {system.memory_mb / 1000:.1f} GB"),
            ("loop", f"{system.loop_lag_p99_ms:.1f} ms late (p99)"),
            ("hotkeys", f"{system.hotkeys}, last {last}" if last else system.hotkeys),
            ("actuator", system.actuator),
            ("display", system.display or "none"),
        ]
        if self.face.host.phase == "failed":
            rows.insert(0, ("engine", Text(f"{self.look.glyphs.failed} {self.face.host.failure}", palette.bad)))
        for service in sorted(state.services, key=lambda s: (s.health != "failed", s.health != "waiting")):
            sign = getattr(self.look.glyphs, HEALTH_SIGN[service.health])
            style = palette.bad if service.health == "failed" else palette.warn if service.health == "waiting" else palette.dim
            rows.append((service.name, Text(f"{sign} {service.health}{': ' * bool(service.reason)}{service.reason}", style)))
        self.set_lines(pairs(rows, width, self.look))


def check_line(state: EngineState, look: Look, width: int, key: str) -> Text:
    """All checks on one line, what is missing first; ``key`` tells what to do about it."""
    line = Text(" ", no_wrap=True)
    for name, check, _ in sorted(state.checks, key=lambda c: (c[1] == "ok", c[1] == "warn")):
        sign, style = check_sign(check, look)
        line.append(f"{sign} {name}  ", style if check != "ok" else look.palette.dim)
    if all(check == "ok" for _, check, _ in state.checks):
        return cut(line, width, look.glyphs.ellipsis)
    more = f"{key} tells more"
    cut(line, max(1, width - len(more) - 1), look.glyphs.ellipsis)
    return line.append(f" {more}" if line.plain[-1:] != " " else more, look.palette.accent)


def check_sign(check: str, look: Look) -> tuple[str, str]:
    """The sign and style of a check's state."""
    return {
        "ok": (look.glyphs.good, look.palette.good),
        "warn": (look.glyphs.needs, look.palette.warn),
    }.get(check, (look.glyphs.failed, look.palette.bad))

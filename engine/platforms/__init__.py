"""One port per platform. Modules that only one platform has are imported only there."""

from __future__ import annotations

import sys

from engine.platforms.port import PlatformError, Port


def current_port() -> Port:
    """The port of this machine. Raises PlatformError that names what is missing (no display, Wayland, a library)."""
    try:
        if sys.platform == "win32":
            from engine.platforms.windows import WindowsPort

            return WindowsPort()
        if sys.platform == "darwin":
            from engine.platforms.macos import MacPort

            return MacPort()
        from engine.platforms.x11 import X11Port

        return X11Port()
    except ImportError as problem:
        raise PlatformError(
            f"windows and keys need the package {problem.name!r}, which is not installed; reinstall secondseat"
        ) from problem


__all__ = ["PlatformError", "Port", "current_port"]

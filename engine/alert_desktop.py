"""Alerts as notifications of the desktop, through the program that each platform has for it."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Final

from engine.alert_program import run
from engine.alerts import AlertError
from engine.state import Alert

TITLE: Final = "Secondseat"
SHOWN_MS: Final = 3000

_MACOS: Final = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
_WINDOWS: Final = (
    "Add-Type -AssemblyName System.Windows.Forms, System.Drawing; "
    "$n = New-Object System.Windows.Forms.NotifyIcon; "
    "$n.Icon = [System.Drawing.SystemIcons]::Information; $n.Visible = $true; "
    f"$n.ShowBalloonTip({SHOWN_MS}, $env:SECONDSEAT_TITLE, $env:SECONDSEAT_TEXT, 'Info'); "
    f"Start-Sleep -Milliseconds {SHOWN_MS}; $n.Dispose()"
)


class Notifications:
    """The text travels as an argument or in the environment, never inside a script."""

    def tell(self, alert: Alert) -> None:
        if sys.platform == "win32":
            environment = {**os.environ, "SECONDSEAT_TITLE": TITLE, "SECONDSEAT_TEXT": alert.text}
            run(("powershell", "-NoProfile", "-NonInteractive", "-Command", _WINDOWS), environment)
        elif sys.platform == "darwin":
            run(("osascript", *(word for line in _MACOS for word in ("-e", line)), TITLE, alert.text))
        else:
            run(_freedesktop(alert))

    def close(self) -> None:
        """Nothing is kept."""


def _freedesktop(alert: Alert) -> tuple[str, ...]:
    """The command for a desktop that follows freedesktop.org; ``gdbus`` comes with GLib, ``notify-send`` with libnotify."""
    urgency = 2 if alert.kind == "failure" else 0
    if shutil.which("notify-send"):
        names = ("low", "normal", "critical")
        return ("notify-send", f"--app-name={TITLE}", f"--urgency={names[urgency]}", f"--expire-time={SHOWN_MS}", "--", TITLE, alert.text)
    if shutil.which("gdbus"):
        to = ("--dest", "org.freedesktop.Notifications", "--object-path", "/org/freedesktop/Notifications")
        method = ("--method", "org.freedesktop.Notifications.Notify")
        hints = f"{{'urgency': <byte {urgency}>}}"
        return ("gdbus", "call", "--session", *to, *method, TITLE, "0", "", TITLE, _quoted(alert.text), "[]", hints, str(SHOWN_MS))
    raise AlertError("neither notify-send nor gdbus is installed; install libnotify-bin, or use 'bell' or 'sound'")


def _quoted(text: str) -> str:
    """As a string in GVariant's text form, which ``gdbus`` reads its arguments in."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

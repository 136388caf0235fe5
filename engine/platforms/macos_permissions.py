"""What macOS lets a program do only after the person has allowed it, and how to say what is missing.

The permissions belong to the program that started us: mostly the terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Permission:
    """``question`` is the Quartz function that tells whether it is granted (macOS 10.15 and later have them)."""

    name: str
    needed_for: str
    question: str

    @property
    def remedy(self) -> str:
        return f"allow it for this terminal in System Settings, Privacy & Security, {self.name}, and start again"


PRESSING: Final = Permission("Accessibility", "pressing keys and moving the pointer", "CGPreflightPostEventAccess")
HEARING: Final = Permission("Input Monitoring", "hotkeys and recorded input", "CGPreflightListenEventAccess")
SEEING: Final = Permission("Screen Recording", "pictures and window titles", "CGPreflightScreenCaptureAccess")
PERMISSIONS: Final = (SEEING, HEARING, PRESSING)


def refusal(quartz: Any, permission: Permission) -> str:
    """Why this program may not do it, and what to do; empty when it may, or where macOS cannot be asked."""
    question = getattr(quartz, permission.question, None)
    if question is None or question():
        return ""
    return f"macOS has not granted {permission.name}, which {permission.needed_for} need; {permission.remedy}"

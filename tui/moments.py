"""Moments of a recording in words."""

from __future__ import annotations


def moment(seconds: float, *, fine: bool = True) -> str:
    """0:12.4, 1:02:07.9; to the nearest second, without tenths, when not ``fine``."""
    tenths = max(0, round(seconds * 10)) if fine else max(0, round(seconds)) * 10
    whole, tenth = divmod(tenths, 10)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    text = f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
    return f"{text}.{tenth}" if fine else text

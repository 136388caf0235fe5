"""Compiles the arena's kernels before the first test, so that no test's time limit pays for it."""

from __future__ import annotations

import pytest

from league.arena import world


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.items and not session.config.option.collectonly:
        world.warm()

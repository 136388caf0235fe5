"""A session goes to disk and comes back the same."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from data.profile import ARENA_PROFILE
from data.session import open_session
from data.steps import StepsBuilder
from tests.support.sessions import START_NS, event, number_of, step, write_session


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 60)
    builder = StepsBuilder(ARENA_PROFILE)
    for number in range(60):
        builder.append(step(number))
    expected = builder.build()
    with open_session(folder) as session:
        found = session.steps()
        for column in dataclasses.fields(expected)[1:]:
            wanted, got = getattr(expected, column.name), getattr(found, column.name)
            assert got.dtype == wanted.dtype, column.name
            np.testing.assert_array_equal(got, wanted, column.name)
        assert session.events() == [event(number) for number in range(60)]
        assert [number_of(f.image) for f in session.frames()] == list(range(60))
        assert [number_of(f.image) for f in session.frames(10, 13)] == [10, 11, 12]
        assert session.step_pts_ms().tolist() == [33 * n for n in range(60)]
        shown = session.frame_at(START_NS + 33_000_000 * 7 + 20_000_000)
        assert (shown.number, number_of(shown.image)) == (7, 7)
        assert session.metadata.state == "saved"
        assert session.counts() == session.metadata.counts
        assert session.problems == []

"""Which pictures of the recordings are worth a person's time: spread over sessions and time, and unlike one another.

Candidates are taken evenly over the play, more than are wanted. The play is cut into as many stretches as pictures are
wanted; of each the candidate that is least like those taken already is taken. Two that look the same are never both taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from data.catalog import SessionInfo, list_sessions
from data.metadata import SessionError
from data.schema import F32, Image
from data.session import open_session
from engine.runtime.progress import Progress, Report, ignore
from engine.teach import Picture, TeachError, TeachProject

CANDIDATES: Final = 4
"""Looked at for each one that is wanted."""
SAME: Final = 2.0
"""Pictures whose thumbnails differ by less (see ``difference``) are one; video coding alone makes 1.5."""
LEAST_APART_S: Final = 0.4
THUMBNAIL: Final = (64, 36)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A picture of a recording: its time in the video, and how far into the play it is."""

    folder: Path
    time_ms: int
    start_ms: int

    @property
    def session(self) -> str:
        return self.folder.name

    @property
    def time_s(self) -> float:
        return (self.time_ms - self.start_ms) / 1e3

    @property
    def id(self) -> str:
        return f"{self.session}-{self.time_ms:08d}"


def sessions_of(workspace: Path, game: str, chosen: Sequence[str] = ()) -> list[SessionInfo]:
    """The sessions of a game that hold pictures; ``chosen``: only these ids. Raises TeachError when there is none."""
    found = [s for s in list_sessions(workspace) if s.game == game and s.frames and s.state not in ("corrupt", "recording") and not s.live]
    if chosen:
        found = [s for s in found if s.id in chosen]
    if not found:
        which = f"none of {', '.join(chosen)}" if chosen else "no recording"
        raise TeachError(f"{which} of games.{game} with pictures in it; play a few minutes and record: secondseat record")
    return found


def sample(
    project: TeachProject,
    wanted: int,
    chosen: Sequence[str] = (),
    report: Report = ignore,
    should_stop: Callable[[], bool] = lambda: False,
) -> int:
    """Take up to ``wanted`` further pictures of the recordings into the project; how many it became.

    What was taken before is not taken again, nor anything that looks like it. Raises TeachError, WorkspaceError, OSError.
    """
    sessions = sessions_of(project.place.root, project.profile.name, chosen)
    candidates = candidates_of(sessions, wanted * CANDIDATES, project)
    taken = {p.id for p in project.pictures()}
    known = [thumbnail(read_picture(project.file(p.id))) for p in project.pictures()]
    looks: list[F32] = []
    for number, (_, image) in enumerate(_pictures(candidates)):
        looks.append(thumbnail(image))
        report(Progress("looking", 0.6 * number / max(1, len(candidates)), message=f"{number + 1} of {len(candidates)} pictures"))
        if should_stop():
            raise KeyboardInterrupt
    candidates = candidates[: len(looks)]
    free = [k for k, candidate in enumerate(candidates) if candidate.id not in taken]
    picked = pick([candidates[k] for k in free], [looks[k] for k in free], wanted, known)
    for number, (candidate, image) in enumerate(_pictures([candidates[free[k]] for k in picked])):
        height, width = image.shape[:2]
        project.add(Picture(candidate.id, width, height, candidate.session, round(candidate.time_s, 3)), png(image))
        report(Progress("taking", 0.6 + 0.4 * (number + 1) / len(picked), message=f"{number + 1} of {len(picked)} pictures"))
        if should_stop():
            raise KeyboardInterrupt
    return len(picked)


def candidates_of(sessions: Sequence[SessionInfo], count: int, project: TeachProject) -> list[Candidate]:
    """About ``count`` pictures, evenly over all the play; those that a step saw, where there are steps (they have tracks)."""
    times: list[tuple[Path, NDArray[np.int64], int]] = []
    for info in sessions:
        try:
            with open_session(info.folder) as session:
                all_ms = (session.frame_times_ns() - session.metadata.clock.monotonic_ns) // 1_000_000
                steps_ms = np.unique(session.step_pts_ms())
        except SessionError as error:
            project.notices.append(f"{info.id} is passed over: {error}")
            continue
        seen = np.intersect1d(all_ms, steps_ms)
        if len(all_ms):
            times.append((info.folder, seen if len(seen) > len(all_ms) // 10 else all_ms, int(all_ms[0])))
    total = sum(len(t) for _, t, _ in times)
    found: list[Candidate] = []
    for folder, these, start in times:
        share = min(len(these), max(2, round(count * len(these) / max(1, total))))
        rows = np.unique(np.linspace(0, len(these) - 1, share).round().astype(int))
        found += [Candidate(folder, int(these[row]), start) for row in rows.tolist()]
    return found


def _pictures(candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, Image]]:
    """The candidates with their pictures, a session opened once. Raises TeachError when one cannot be decoded."""
    at = 0
    while at < len(candidates):
        folder = candidates[at].folder
        end = next((k for k in range(at, len(candidates)) if candidates[k].folder != folder), len(candidates))
        try:
            with open_session(folder) as session:
                start_ns = session.metadata.clock.monotonic_ns
                for candidate in candidates[at:end]:
                    yield candidate, session.frame_at(start_ns + candidate.time_ms * 1_000_000).image
        except SessionError as error:
            raise TeachError(
                f"{folder.name}: {error}; leave it out with --session, or run: secondseat sessions verify {folder.name}"
            ) from error
        at = end


def pick(candidates: Sequence[Candidate], looks: Sequence[F32], wanted: int, known: Sequence[F32] = ()) -> list[int]:
    """Rows of the candidates that are taken, in order; fewer than ``wanted`` when the rest looks like what is taken."""
    if not candidates:
        return []
    nearest = np.full(len(candidates), np.inf)

    def take(look: F32) -> None:
        for row, other in enumerate(looks):
            nearest[row] = min(nearest[row], difference(look, other))

    for look in known:
        take(look)
    picked: list[int] = []
    stretches = np.array_split(np.arange(len(candidates)), min(wanted, len(candidates)))
    rest = [np.arange(len(candidates))] * len(stretches)
    for rows in [*stretches, *rest]:  # first one of each stretch, then whatever is still unlike
        if len(picked) >= wanted:
            break
        free = [k for k in rows.tolist() if nearest[k] > SAME and not _close(candidates[k], [candidates[p] for p in picked])]
        if free:
            best = max(free, key=lambda k: (nearest[k], -k)) if np.isfinite(nearest[free]).all() else free[len(free) // 2]
            picked.append(best)
            take(looks[best])
    return sorted(picked)


def _close(one: Candidate, others: Sequence[Candidate]) -> bool:
    return any(one.folder == o.folder and abs(one.time_ms - o.time_ms) < LEAST_APART_S * 1e3 for o in others)


def thumbnail(image: Image) -> F32:
    """float32 [36, 64, 3]: what is compared; small things leave a trace in it, noise does not."""
    import cv2

    return cast(F32, cv2.resize(image, THUMBNAIL, interpolation=cv2.INTER_AREA).astype(np.float32))


def difference(a: F32, b: F32) -> float:
    """How unlike two thumbnails are, 0..255: over the tenth of the places that differ most, for most of a picture is background."""
    gap = np.square(a - b).mean(-1).ravel()
    most = max(1, len(gap) // 10)
    return float(np.sqrt(np.partition(gap, len(gap) - most)[-most:].mean()))


def png(image: Image) -> bytes:
    """A picture (RGB) as a PNG file's content."""
    import cv2

    coded: Any = cv2.imencode(".png", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_PNG_COMPRESSION, 3])[1]
    return coded.tobytes()


def is_plain(path: Path) -> bool:
    """Whether the file itself is 8-bit colour, the right way up: every program that opens it sees what ``read_picture`` gives.

    Grey, transparent, 16-bit pictures, and those that a camera turned by a note in the file, are not.
    """
    import cv2

    from data.boxes import picture_size

    coded = np.frombuffer(path.read_bytes(), np.uint8)
    stored: Any = cv2.imdecode(coded, cv2.IMREAD_UNCHANGED)
    shown: Any = cv2.imdecode(coded, cv2.IMREAD_COLOR)
    width, height = picture_size(path)
    return stored is not None and stored.dtype == np.uint8 and stored.shape == shown.shape == (height, width, 3)


def read_picture(path: Path) -> Image:
    """A picture file as RGB uint8 [H, W, 3], its size looked at first: grey becomes RGB, transparency is left out.

    Raises TeachError.
    """
    import cv2

    from data.boxes import BoxesError, picture_size

    try:
        picture_size(path)
        coded = np.frombuffer(path.read_bytes(), np.uint8)
    except (BoxesError, OSError) as error:
        raise TeachError(str(error)) from error
    decoded: Any = cv2.imdecode(coded, cv2.IMREAD_COLOR)
    if decoded is None:
        raise TeachError(f"{path.name} cannot be decoded; take it out of {path.parent}")
    return cast(Image, cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB))

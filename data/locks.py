"""One writer per session: a lock file that is right even when the system reuses process numbers.

The lock names its process by number, start time, boot and process namespace. Where that can be checked it is exact.
Where it cannot (another machine or container shares the folder), the lock counts as alive while its file was
touched in the last ``HEARTBEAT_S`` seconds, which a writer does once a second.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

from data.files import from_json

LOCK_NAME: Final = "writer.lock"
EDIT_LOCK_NAME: Final = ".edit.lock"
RECORDER_LOCK_NAME: Final = ".recorder.lock"
HEARTBEAT_S: Final = 15.0
_LOCKED_BYTE: Final = 1 << 30
EDIT_WAIT_S: Final = 10.0
"""How long a small edit waits for another one, which takes milliseconds."""


class Locked(RuntimeError):
    """Somebody else writes this session."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A process, told apart from every other one that ever had its number."""

    pid: int
    started: str
    boot: str
    namespace: str


def identity(pid: int | None = None) -> Identity | None:
    """The identity of a living process (this one by default), None when there is none of that number."""
    number = os.getpid() if pid is None else pid
    started = _start_time(number)
    return None if started is None else Identity(number, started, _boot(), _namespace())


def _start_time(pid: int) -> str | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
    else:
        return None if fields[0] in ("Z", "X") else fields[19]  # a zombie writes no more
    import psutil

    try:
        return f"{psutil.Process(pid).create_time():.3f}"
    except psutil.Error:
        return None


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        import platform

        return f"host:{platform.node()}"


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def writer_alive(folder: Path) -> bool:
    """Whether a writer holds the lock of ``folder`` and still lives."""
    path = folder / LOCK_NAME
    try:
        content, touched_s = path.read_bytes(), path.stat().st_mtime
    except OSError:
        return False
    return _alive(content, touched_s)


def _alive(content: bytes, touched_s: float) -> bool:
    owner = _parsed(content)
    if owner is not None and (owner.boot, owner.namespace) == (_boot(), _namespace()):
        return identity(owner.pid) == owner
    return abs(time.time() - touched_s) < HEARTBEAT_S


def _parsed(content: bytes) -> Identity | None:
    try:
        value: Any = from_json(content)
        return Identity(int(value["pid"]), str(value["started"]), str(value["boot"]), str(value["namespace"]))
    except (ValueError, KeyError, TypeError):
        return None


class _OwnerLock:
    """A file that names its owner, held from construction to ``release``. One whose owner is dead is taken over in place."""

    def __init__(self, path: Path, taken: str, contended: str) -> None:
        """taken: what Locked says when a living process holds it; ``{pid}`` is its number. contended: when another
        process is just taking it over."""
        self.path, self._taken, self._contended = path, taken, contended
        own = identity()
        if own is None:
            raise Locked(f"{path.parent.name}: this process cannot be identified")
        content = json.dumps(asdict(own)).encode("ascii")
        try:
            with self.path.open("xb") as file:
                file.write(content)
        except FileExistsError:
            self._take_over(content)

    def _take_over(self, content: bytes) -> None:
        # In place and under the system's own file lock: two that find the same dead owner cannot both win.
        with self.path.open("r+b") as file, _exclusive(file, self._contended):
            before = file.read()
            if _alive(before, os.fstat(file.fileno()).st_mtime):
                owner = _parsed(before)
                raise Locked(self._taken.replace("{pid}", str(owner.pid) if owner is not None else "unknown"))
            file.seek(0)
            file.truncate()
            file.write(content)

    def touch(self) -> None:
        """The sign of life that other machines go by."""
        with contextlib.suppress(OSError):
            os.utime(self.path)

    def release(self) -> None:
        self.path.unlink(missing_ok=True)


class SessionLock(_OwnerLock):
    """The lock of one session folder. Raises Locked when a living writer holds it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder / LOCK_NAME,
            f"{folder.name}: another process is writing this session",
            f"{folder.name}: another process is repairing this session",
        )


class RecorderLock(_OwnerLock):
    """One recorder per workspace, while it records. Raises Locked, which says who records and what to do."""

    def __init__(self, workspace: Path) -> None:
        super().__init__(
            workspace / RECORDER_LOCK_NAME,
            f"process {{pid}} is recording into {workspace} already; end that recording first (F6 or F7 there), "
            "or record into another workspace (--workspace)",
            f"another process begins to record into {workspace} at this moment; try again",
        )


@contextlib.contextmanager
def _exclusive(file: IO[bytes], contended: str) -> Generator[None]:
    if not try_lock(file):
        raise Locked(contended)
    try:
        yield
    finally:
        unlock(file)


@contextlib.contextmanager
def edit_lock(folder: Path) -> Generator[None]:
    """Held while a small file of a session (annotations, labels) is read, changed and written: edits come one by one.

    The lock file lies beside the session folders, and the system frees it when its process dies.
    Raises Locked after ``EDIT_WAIT_S``, OSError when the folder cannot be written.
    """
    path = folder.parent / EDIT_LOCK_NAME
    until_s = time.monotonic() + EDIT_WAIT_S
    with path.open("ab") as file:
        while not try_lock(file):
            if time.monotonic() > until_s:
                raise Locked(f"{folder.name}: another process has been changing its notes or labels for {EDIT_WAIT_S:.0f} s")
            time.sleep(0.002)
        yield


def try_lock(file: IO[bytes]) -> bool:
    """Takes the system's lock of an open file for this process, without waiting; whether it was free.

    It is gone when the file is closed or the process dies.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            # Windows keeps locked bytes from being read: one is locked that no file of ours has.
            with _at(file, _LOCKED_BYTE):
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # what a lock held elsewhere is called on POSIX, and on Windows
        return False
    return True


@contextlib.contextmanager
def only_one(path: Path) -> Generator[bool]:
    """Whether this process alone works behind the lock file ``path`` meanwhile. A folder that is missing is made; the lock, and a folder
    that was made for it and into which nothing else came, are gone afterwards. One whose process died is free."""
    made, alone = not path.parent.exists(), False
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("ab") as file:
            alone = try_lock(file) and _is_there(file, path)
            yield alone
    finally:
        if alone:
            with contextlib.suppress(OSError):
                path.unlink()
                if made:
                    path.parent.rmdir()


def _is_there(file: IO[bytes], path: Path) -> bool:
    """Whether an open file still is what lies at ``path``: its owner before may just have taken it away."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False


def unlock(file: IO[bytes]) -> None:
    """Gives a lock back that ``try_lock`` took; closing the file does it too."""
    if sys.platform == "win32":
        import msvcrt

        with _at(file, _LOCKED_BYTE):
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def _at(file: IO[bytes], place: int) -> Generator[None]:
    before = file.tell()
    file.seek(place)
    try:
        yield
    finally:
        file.seek(before)

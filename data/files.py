"""Small helpers for files that must survive a crash: whole-or-nothing writes, complete writes, folders' sizes."""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

HELD_S: Final = 1.0
"""How long a file that somebody reads may keep its name from being taken, on Windows."""


def write_whole(path: Path, content: bytes) -> None:
    """Replaces ``path`` by ``content``, whole or not at all: a temporary file of a unique name, fsync, rename.

    Raises OSError when the folder cannot be written or is full; the old content then stands untouched.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        replace_path(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def replace_path(source: Path | str, target: Path | str) -> None:
    """Gives ``source`` the name ``target``, in one step; a file of that name is replaced.

    On Windows a reader (a virus scanner, an indexer, another window of ours) holds files and folders where they are:
    it is tried again for a second before PermissionError is raised.
    """
    until_s = time.monotonic() + (HELD_S if sys.platform == "win32" else 0.0)
    while True:
        try:
            os.replace(source, target)
        except PermissionError:
            if time.monotonic() >= until_s:
                raise
            time.sleep(0.01)
        else:
            return


def write_json(path: Path, value: Any) -> None:
    """Writes ``value`` as UTF-8 JSON with ``write_whole``."""
    write_whole(path, (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8"))


def from_json(content: str | bytes, any_number: bool = False) -> Any:
    """The value of JSON text that may come from anywhere. Raises ValueError, also on text that is nested too deep to be read and on whole
    numbers of more than 128 bits (a random generator's state has so many): larger ones would fail far from here, as no float.
    any_number: the caller looks at each number itself, and what it says of them is of more use."""
    try:
        return json.loads(content, parse_int=None if any_number else _whole_number)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _whole_number(digits: str) -> int:
    if len(digits) > 40 or not -(2**127) <= int(digits) < 2**128:
        raise ValueError(f"a whole number of {len(digits.lstrip('-'))} digits: {digits[:12]}…")
    return int(digits)


def set_aside(path: Path) -> Path:
    """Gives a file that cannot be read the name ``<name>.corrupt`` (``.corrupt2``, …), under which it is kept."""
    number = 1
    while (kept := path.with_name(f"{path.name}.corrupt{number if number > 1 else ''}")).exists():
        number += 1
    replace_path(path, kept)
    return kept


def sync_folder(folder: Path) -> None:
    """Makes new names in ``folder`` survive a power loss, where the system can do that."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # some network and user-space file systems refuse it for folders
        pass
    finally:
        os.close(handle)


def free_bytes(folder: Path) -> int:
    """Free space for an ordinary user on the disk that holds ``folder`` (or its nearest existing parent)."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def folder_bytes(folder: Path) -> int:
    """The sum of the sizes of the plain files directly in ``folder``; files that vanish meanwhile count as 0."""
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if entry.is_file(follow_symlinks=False):
                    total += entry.stat(follow_symlinks=False).st_size
            except OSError:
                continue
    return total


def write_refusal(folder: Path) -> str | None:
    """Why nothing can be written under ``folder``, or None. Creates the folder and writes and removes a probe."""
    probe = folder / f".probe-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"probe")
        probe.unlink()
    except OSError as error:
        probe_gone(probe)
        return f"{folder}: {error.strerror or error}; choose a folder that can be written ([paths] workspace)"
    return None


def probe_gone(probe: Path) -> None:
    """Removes a probe if it is there; what cannot be removed stays."""
    try:
        probe.unlink(missing_ok=True)
    except OSError:
        return


class StreamFile(io.RawIOBase):
    """A file opened for writing whose ``write`` writes everything or raises; it counts what it wrote.

    Media and Arrow writers hand their blocks to it. Nothing is buffered in this process, so that what was written
    survives the death of the process; ``sync`` makes it survive the death of the machine.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("xb", buffering=0)
        self.end = 0
        """Bytes from the start to the furthest written one."""
        self.failure: OSError | None = None
        """What the disk said when it refused a write."""
        self._given_up = False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        done = 0
        try:
            while done < len(view) and not self._given_up:
                done += self._file.write(view[done:]) or 0
        except OSError as error:
            self.failure = error
            raise
        if self._given_up:
            return len(view)
        self.end = max(self.end, self._file.tell())
        return done

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        """Nothing is buffered here; libraries that call it at will do no harm."""

    def fileno(self) -> int:
        return self._file.fileno()

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def give_up(self) -> None:
        """From here on writes are accepted and dropped, so that a library can end what it holds in memory."""
        self._given_up = True

    def cut(self, length: int) -> None:
        """Cuts the file to ``length`` bytes and goes on from there."""
        self._file.truncate(length)
        self._file.seek(length)
        self.end = length

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class Syncer:
    """Synchronises files with the disk when asked, in a thread of its own; asked while busy, it does it once more."""

    def __init__(self, files: list[StreamFile]) -> None:
        self._files = files
        self._asked = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="session-sync", daemon=True)
        self._thread.start()

    def ask(self) -> None:
        self._asked.set()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            if self._stopping:
                return
            for file in self._files:
                try:
                    file.sync()
                except (OSError, ValueError):  # the write that follows, or the close, meets the same error and tells it
                    continue

    def stop(self) -> None:
        self._stopping = True
        self._asked.set()
        self._thread.join(timeout=2.0)

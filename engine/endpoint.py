"""Where a running engine can be reached: one name, one file in a folder that only the user can read.

On POSIX the file is a Unix socket; on Windows it holds a loopback port and a random token. Beside it lies a lock that
the engine holds while it lives: the system frees it however the engine ends, so that a file left behind is known to be
stale without asking anybody.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import tempfile
from pathlib import Path
from typing import IO, Final

from data.locks import try_lock
from data.names import name_refusal

DEFAULT_NAME: Final = "engine"
RUN_USER: Final = Path("/run/user")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_SUFFIX: Final = ".sock" if os.name == "posix" else ".json"
_LONGEST_SOCKET: Final = 100
"""The system takes 103 to 107 bytes."""


class RemoteError(Exception):
    """No engine answers, or it refused; the text says what to do."""


def runtime_folder() -> Path:
    """A folder of mode 0700, short enough for sockets. Raises RemoteError when it is not this user's alone."""
    base = _session_folder()
    if base is not None:
        folder = base / "secondseat"
    elif os.name == "posix":
        folder = Path(tempfile.gettempdir()) / f"secondseat-{os.getuid()}"
    else:
        folder = Path(os.environ.get("LOCALAPPDATA", tempfile.gettempdir())) / "secondseat" / "run"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise RemoteError(f"{folder} cannot be made ({error.strerror}); set XDG_RUNTIME_DIR to a folder of your own") from error
    if os.name == "posix":
        owner = folder.lstat()  # another user may have put a link there
        if not stat.S_ISDIR(owner.st_mode) or owner.st_uid != os.getuid() or owner.st_mode & 0o077:
            raise RemoteError(
                f"{folder} is not yours alone (owner {owner.st_uid}, mode {owner.st_mode & 0o777:o}); remove it or set XDG_RUNTIME_DIR"
            )
    return folder


def _session_folder() -> Path | None:
    """The user's runtime folder, also where a login (cron, a bare SSH command) does not name it: all must meet in one place."""
    named = os.environ.get("XDG_RUNTIME_DIR")
    if named:
        return Path(named) if Path(named).is_dir() and os.access(named, os.W_OK) else None
    if os.name != "posix":
        return None
    usual = RUN_USER / str(os.getuid())
    return usual if usual.is_dir() and os.access(usual, os.W_OK) and usual.stat().st_uid == os.getuid() else None


def endpoint_path(name: str = DEFAULT_NAME) -> Path:
    """The file of the engine with this name. Raises RemoteError for a name that is no name."""
    if not _NAME.fullmatch(name):
        raise RemoteError(f"{name!r} is not a name for an engine; use 1 to 32 letters, digits, - and _")
    if refusal := name_refusal(name):
        raise RemoteError(refusal)
    path = runtime_folder() / f"{name}{_SUFFIX}"
    if os.name == "posix" and len(os.fsencode(path)) > _LONGEST_SOCKET:
        raise RemoteError(f"{path} is too long for a socket; set XDG_RUNTIME_DIR to a shorter folder")
    return path


def endpoint_name(path: Path) -> str:
    return path.stem


def endpoints() -> list[Path]:
    """The files of engines that run or have run, the default name first."""
    found = sorted(path for path in runtime_folder().iterdir() if path.suffix == _SUFFIX and _NAME.fullmatch(path.stem))
    return sorted(found, key=lambda path: path.stem != DEFAULT_NAME)


class Place:
    """The right to be reached at ``path``, from construction to ``leave``. Raises RemoteError when a living engine has it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[bytes] = path.with_suffix(".lock").open("ab")
        if not try_lock(self._lock):
            self._lock.close()
            raise RemoteError(
                f"another engine runs as {endpoint_name(path)} ({path}); stop it first (secondseat stop --name {endpoint_name(path)}), "
                f"or give this one another --name"
            )
        with contextlib.suppress(FileNotFoundError):
            path.unlink()  # of an engine that was killed

    def tell(self, port: int, token: str) -> None:
        """Where there are no Unix sockets: write down where to knock, for this user alone."""
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump({"port": port, "token": token}, file)

    def leave(self) -> None:
        """Be gone. The lock's file stays: another engine may be about to lock it."""
        if not self._lock.closed:
            self.path.unlink(missing_ok=True)
            self._lock.close()


def take_place(path: Path, *, exact: bool = True) -> Place:
    """The right to be reached at ``path``; unless ``exact``, else at the first of ``<name>-2``, ``<name>-3``… that is free.

    Raises RemoteError.
    """
    if exact:
        return Place(path)
    for number in range(1, 100):
        with contextlib.suppress(RemoteError):
            return Place(path if number == 1 else path.with_stem(f"{path.stem}-{number}"))
    raise RemoteError(f"a hundred engines are called {endpoint_name(path)}; stop some of them (secondseat engines lists them)")

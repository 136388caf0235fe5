"""The workspace: the one folder that holds recordings, models and logs, and that can be moved whole.

Nothing inside it names an absolute path. Its folders are made when something is first written to them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

APP_NAME: Final = "secondseat"


class WorkspaceError(Exception):
    """A folder of the workspace cannot be used; the text says which, why and what to do."""


def user_data_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where this user's data of Secondseat lies by default (the XDG data folder, or its counterpart elsewhere)."""
    return _user_folder(os.environ if environ is None else environ, "XDG_DATA_HOME", (".local", "share"), ("LOCALAPPDATA", "Local"))


def user_config_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where this user's own ``config.toml`` lies by default."""
    return _user_folder(os.environ if environ is None else environ, "XDG_CONFIG_HOME", (".config",), ("APPDATA", "Roaming"))


def _user_folder(environ: Mapping[str, str], xdg: str, below_home: tuple[str, ...], windows: tuple[str, str]) -> Path:
    if sys.platform == "win32":
        base = environ.get(windows[0])
        return (Path(base) if base else _home() / "AppData" / windows[1]) / APP_NAME
    base = environ.get(xdg)
    if base and Path(base).is_absolute():  # the XDG specification: a relative value is to be ignored
        return Path(base) / APP_NAME
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support" / APP_NAME
    return _home().joinpath(*below_home) / APP_NAME


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise WorkspaceError("this user has no home folder; set HOME, or give --workspace FOLDER and --config FILE") from error


class Workspace:
    """The folders of one workspace. A property names a folder; ``made`` also creates it."""

    def __init__(self, root: Path | str) -> None:
        self.root: Final = Path(os.path.abspath(Path(root).expanduser()))

    def __repr__(self) -> str:
        return f"Workspace({str(self.root)!r})"

    @property
    def sessions(self) -> Path:
        return self.root / "sessions"

    @property
    def trash(self) -> Path:
        return self.root / "trash"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def state(self) -> Path:
        """What the face remembers between runs: the last pane, sizes, each action's last parameters."""
        return self.root / "state"

    def made(self, folder: Path) -> Path:
        """The folder, created when it is missing.

        Raises WorkspaceError when it cannot be created or written to.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError as error:
            reason = error.strerror or str(error)
            raise WorkspaceError(
                f"workspace {self.root}: cannot write to {folder}: {reason}; make it writable, or choose another folder with "
                f"--workspace FOLDER or [paths] workspace"
            ) from error

    def resolve(self, text: str, cwd: Path | None = None) -> Path:
        """The path that a setting or an option names.

        ``~`` is this user's home; an absolute path stays. A relative one lies under the workspace
        (``data/processed/x.npz``, ``recordings_v2/…``). With ``cwd`` (a path typed on the command line) ``./x`` and
        ``../x`` are meant from there, and so is a path that exists there but not in the workspace. Backslashes are
        understood everywhere.
        """
        given = text.strip()
        if os.name == "posix" and "\\" in given and not Path(given).exists():
            given = given.replace("\\", "/")
        path = Path(given).expanduser()
        if path.is_absolute():
            return path
        below = self.root / path
        if cwd is not None:
            here = cwd / path
            if given.split("/", 1)[0] in {".", ".."} or (here.exists() and not below.exists()):
                return Path(os.path.normpath(here))
        return Path(os.path.normpath(below))

    def relative(self, path: Path) -> str:
        """The path as it may be stored inside the workspace: relative to it and with forward slashes.

        A path outside stays absolute.
        """
        try:
            return Path(os.path.abspath(path)).relative_to(self.root).as_posix()
        except ValueError:
            return str(path)

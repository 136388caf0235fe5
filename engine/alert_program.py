"""Running a platform's own small program for a tone or a notification."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

from engine.alerts import AlertError

LONGEST_S: Final = 5.0


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Raises AlertError with the program's own last line when it fails or does not end."""
    try:
        done = subprocess.run(
            list(command),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AlertError(f"{command[0]} did not end within {LONGEST_S:g} s") from error
    except OSError as error:
        raise AlertError(f"{command[0]}: {error.strerror or error}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise AlertError(f"{command[0]} failed{f': {said[-1]}' if said else f' with status {done.returncode}'}")

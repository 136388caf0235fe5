"""One face for one browser: an attached ``secondseat`` as a child, on pipes.

The child speaks Textual's protocol for browsers (``textual.drivers.web_driver``): packets of a letter (D: bytes for or
from the terminal, M: JSON about it), four bytes of size, and the payload, after one line of greeting.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

GREETING: Final = b"__GANGLION__\n"
START_S: Final = 30.0
LEAVE_S: Final = 3.0
"""How long a face may take to leave when asked; then it is told by signals."""
MAX_PACKET: Final = 16_000_000
MAX_WAITING: Final = 1_000_000


class NoFace(Exception):
    """The face did not come up, or not leave as it should; the text is the child's own last word."""


def child_environment(columns: int, rows: int, environ: Mapping[str, str]) -> dict[str, str]:
    """A browser's terminal has all colours and signs, whatever terminal the server was started in."""
    mine = {name: value for name, value in environ.items() if name not in ("TMUX", "TERM_PROGRAM", "TERM_PROGRAM_VERSION")}
    return {
        **mine,
        "TEXTUAL_DRIVER": "tui.web_driver:BrowserDriver",
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_ALL": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PYTHONSAFEPATH": "1",
        "COLUMNS": str(columns),
        "ROWS": str(rows),
    }


def packet(kind: bytes, payload: bytes) -> bytes:
    return kind + len(payload).to_bytes(4, "big") + payload


class WebChild:
    """Start it, iterate over ``drawn``, feed it keys and sizes, and ``stop`` it in any case."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._said: deque[str] = deque(maxlen=20)
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, command: Sequence[str], columns: int, rows: int) -> WebChild:
        """Spawn the command. It has a session of its own: Ctrl-C in the server's terminal is the server's to pass on."""
        pipe = asyncio.subprocess.PIPE
        environment = child_environment(columns, rows, os.environ)
        return cls(
            await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True)
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    async def _listen(self) -> None:
        async for line in self._stderr:
            self._said.append(line.decode("utf-8", "replace").strip().removeprefix("secondseat: "))

    async def drawn(self) -> AsyncIterator[bytes]:
        """What the face draws, until it has left. Raises NoFace when it does not come up or ends by itself."""
        try:
            async with asyncio.timeout(START_S):
                while (line := await self._stdout.readline()) != GREETING:
                    if not line:
                        raise NoFace(await self._last_word())
        except TimeoutError as error:
            raise NoFace(f"nothing came within {START_S:g} s") from error
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                kind, size = await self._stdout.readexactly(1), int.from_bytes(await self._stdout.readexactly(4), "big")
                if size > MAX_PACKET:
                    raise NoFace(f"it sent {size} bytes in one piece")
                payload = await self._stdout.readexactly(size)
                if kind == b"D":
                    yield payload
                elif kind == b"M" and json.loads(payload).get("type") == "exit":
                    break
        with contextlib.suppress(TimeoutError):
            if await asyncio.wait_for(self._process.wait(), LEAVE_S):
                raise NoFace(await self._last_word())

    async def _last_word(self) -> str:
        """What the child said last on stderr; the pipe ends with it."""
        await self._listening
        return next((said for said in reversed(self._said) if said), "it ended without a word")

    def keys(self, text: str) -> None:
        self._send(packet(b"D", text.encode("utf-8", "replace")))

    def tell(self, **meta: Any) -> None:
        """``type="resize", width=…, height=…``, ``type="focus"``, ``type="blur"`` or ``type="quit"``."""
        self._send(packet(b"M", json.dumps(meta).encode()))

    def _send(self, data: bytes) -> None:
        """Never waits: what a face that hangs does not take is thrown away."""
        if not self._stdin.is_closing() and self._stdin.transport.get_write_buffer_size() < MAX_WAITING:
            self._stdin.write(data)

    async def stop(self) -> None:
        """End it: asked, then SIGTERM, then SIGKILL, ``LEAVE_S`` each."""
        self.tell(type="quit")
        try:
            # What it still draws is read away: a face that waits for its pipe could not leave.
            await asyncio.wait_for(asyncio.gather(self._read_away(), self._process.wait()), LEAVE_S)
        except TimeoutError:
            for end in (self._process.terminate, self._process.kill):
                with contextlib.suppress(ProcessLookupError):
                    end()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._process.wait(), LEAVE_S)
                    break
        finally:
            self._stdin.close()
            self._listening.cancel()

    async def _read_away(self) -> None:
        while await self._stdout.read(65536):
            pass

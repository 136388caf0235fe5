"""The page for boxes while the face is open: served by a thread with a loop of its own, so that drawing waits for nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from typing import Final

from engine.teach import TeachProject
from tui.opening import open_file, opener

CLOSE_S: Final = 5.0
"""How long closing waits; the page itself gives a browser that still asks something 3 s."""


class ServedPage:
    """Serves ``tui.teach_page`` on this machine alone, from ``start`` to ``stop`` or the page's own button.

    ``changed`` is called from the thread when the address is there and when it has ended. What stands here may be read
    from any thread: ``address`` is empty until it listens and after it has ended, ``problem`` tells why it could not
    listen, ``finished`` that the person pressed the page's button, ``going`` that it has not ended yet.
    """

    def __init__(self, project: TeachProject, changed: Callable[[], object] = lambda: None) -> None:
        self.project: Final = project
        self.address = ""
        self.tunnel = ""
        """What to type at another machine to reach it."""
        self.problem = ""
        self.finished = False
        self.going = False
        self._changed = changed
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._ending = threading.Event()
        self._at_end = contextlib.ExitStack()
        self._thread = threading.Thread(target=self._run, name="secondseat-teach-page", daemon=True)

    def start(self) -> None:
        self.going = True
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end, without waiting."""
        self._ending.set()
        loop = self._loop
        if loop is not None and not loop.is_closed():
            with contextlib.suppress(RuntimeError):  # closed between the two
                loop.call_soon_threadsafe(self._stop.set)

    def close(self) -> bool:
        """End it and wait; False when it would not end in time."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join(CLOSE_S)
        return not self._thread.is_alive()

    def open_browser(self) -> bool:
        """Show the page in the desktop's browser; False where there is no desktop. Raises OSError."""
        from tui.commands.web import redirect

        if not self.address or not opener(os.environ):
            return False
        return open_file(self._at_end.enter_context(redirect(self.address)))

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as error:
            self.problem = f"the page cannot be served: {error.strerror or error}"
        finally:
            self.address, self.going = "", False
            self._at_end.close()
            self._changed()

    async def _serve(self) -> None:
        from tui.commands.web import tunnel
        from tui.teach_page import TeachPage
        from tui.web_door import Door

        self._loop = asyncio.get_running_loop()
        if self._ending.is_set():
            return
        door = Door()
        page = TeachPage(self.project, door)

        def ready(port: int) -> None:
            self.tunnel = tunnel(port)
            self.address = door.address("127.0.0.1", port)
            self._changed()

        await page.serve("127.0.0.1", 0, ready, self._stop)
        self.finished = page.done.is_set()

"""What every page that this machine serves to its own person shares: who is let in, and for how long it listens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web

from tui.web_door import COOKIE, HEADERS, Door


def refused(door: Door, request: web.Request, *, from_own_page: bool) -> web.Response | None:
    """The answer to a request that may not come in; None lets it in. ``from_own_page``: it has to name our page as its origin."""
    why = door.refusal(
        request.headers.get("Host", ""),
        request.headers.get("Origin"),
        request.cookies.get(COOKIE, ""),
        request.query.get("token", ""),
        websocket=from_own_page,
    )
    return web.Response(status=403, text=f"{why}\n", headers=HEADERS) if why else None


async def serve(app: web.Application, host: str, port: int, ready: Callable[[int], None], *ends: asyncio.Event, shutdown_s: float) -> None:
    """Listen until one of ``ends`` is set; ``ready`` is told the port. Who is still there then has ``shutdown_s`` to go.

    Raises OSError when the port cannot be had.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=shutdown_s)
    await runner.setup()
    waiting = [asyncio.create_task(end.wait()) for end in ends]
    try:
        await web.TCPSite(runner, host, port).start()
        ready(runner.addresses[0][1])
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await runner.cleanup()

"""The page on which a person confirms, fixes and draws boxes: served on this machine alone, saved as they go.

Who comes in is asked by ``tui.web_door``, as for the face in a browser. The page is one file of our own; it fetches
nothing from elsewhere and works offline. Every change of boxes names the revision it was drawn on.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, cast

from aiohttp import web

from data.files import from_json
from engine.teach import STATES, Picture, Stale, TeachError, TeachProject, boxes_of_json
from tui.web_door import COOKIE, HEADERS, Door
from tui.web_serving import refused, serve

MAX_BODY: Final = 400_000
SHUTDOWN_S: Final = 3.0
PAGE: Final = Path(__file__).resolve().parent / "assets" / "teach.html"
NONCE: Final = "{{nonce}}"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class TeachPage:
    """Serves one teach project to the person who has the printed address. ``done`` is set when they press the button."""

    def __init__(self, project: TeachProject, door: Door) -> None:
        self._project, self._door = project, door
        self.done = asyncio.Event()

    def application(self) -> web.Application:
        place = self._door.place
        app = web.Application(middlewares=[self._guard], client_max_size=MAX_BODY)
        app.add_routes(
            [
                web.get("/", self._enter),
                web.get(place, self._page),
                web.get(f"{place}project", self._state),
                web.get(f"{place}picture/{{id}}", self._picture),
                web.get(f"{place}boxes/{{id}}", self._boxes),
                web.put(f"{place}boxes/{{id}}", self._save),
                web.post(f"{place}done", self._finish),
            ]
        )
        return app

    async def serve(self, host: str, port: int, ready: Callable[[int], None], stop: asyncio.Event) -> None:
        """Listen until ``stop`` or ``done``; ``ready`` is told the port. Raises OSError when it cannot be had."""
        await serve(self.application(), host, port, ready, stop, self.done, shutdown_s=SHUTDOWN_S)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        # Whatever changes something has to name our own page.
        if answer := refused(self._door, request, from_own_page=request.method not in ("GET", "HEAD")):
            return answer
        try:
            response = await handler(request)
        except Stale as error:
            response = _refused(409, str(error))
        except (TeachError, ValueError, KeyError, TypeError) as error:
            response = _refused(400, str(error))
        except OSError as error:
            response = _refused(507, f"not saved: {error.strerror or error}")
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        """The printed address: the secret goes into a cookie and out of the address line."""
        if not self._door.has_token(request.query.get("token", "")):
            return web.Response(status=303, headers={"Location": self._door.place})
        response = web.Response(status=303, headers={"Location": self._door.place})
        response.set_cookie(COOKIE, self._door.key, path=self._door.place, httponly=True, samesite="Strict")
        return response

    async def _page(self, request: web.Request) -> web.StreamResponse:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data:; connect-src 'self'; "
            "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
        text = PAGE.read_text("utf-8").replace(NONCE, nonce)
        return web.Response(text=text, content_type="text/html", headers={"Content-Security-Policy": policy})

    async def _state(self, request: web.Request) -> web.StreamResponse:
        """The game, its classes, and the pictures in the order in which to look at them."""
        project = self._project
        pictures = [{"id": p.id, "state": p.state, "unsure": p.unsure, "boxes": len(p.boxes)} for p in project.queue()]
        classes = [{"name": c.name, "role": c.role} for c in project.profile.classes]
        return web.json_response({"game": project.profile.name, "classes": classes, "pictures": pictures})

    async def _picture(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(self._project.file(request.match_info["id"]))

    async def _boxes(self, request: web.Request) -> web.StreamResponse:
        return web.json_response((await asyncio.to_thread(self._named, request.match_info["id"])).to_json())

    def _named(self, id: str) -> Picture:
        """The picture; proposals that have no class yet get one by likeness to what is confirmed by now."""
        from dataclasses import replace

        from engine.teach_guesses import with_classes
        from engine.teach_sampling import read_picture

        picture = self._project.get(id)
        if picture.state != "proposed" or all(box.name for box in picture.boxes):
            return picture
        return replace(picture, boxes=with_classes(read_picture(self._project.file(id)), picture.boxes, self._project))

    async def _save(self, request: web.Request) -> web.StreamResponse:
        """``{"revision": 3, "state": "confirmed", "boxes": […]}``; the answer tells the new revision."""
        if request.content_type != "application/json":
            raise ValueError("send JSON")
        try:
            raw: Any = from_json(await request.text())
        except ValueError as error:
            raise ValueError("this is not the page's JSON") from error
        if not isinstance(raw, dict):
            raise TypeError("send an object")
        said = cast("dict[str, Any]", raw)
        state, revision = said.get("state"), said.get("revision")
        if state not in STATES or not isinstance(revision, int) or isinstance(revision, bool):
            raise ValueError(f"state {str(state)[:30]!r} with revision {str(revision)[:30]} is none")
        boxes = boxes_of_json(said.get("boxes"))
        saved = await asyncio.to_thread(self._project.save, request.match_info["id"], boxes, state, revision)
        return web.json_response({"revision": saved.revision, "state": saved.state})

    async def _finish(self, request: web.Request) -> web.StreamResponse:
        self.done.set()
        return web.json_response({"done": True})


def _refused(status: int, text: str) -> web.Response:
    return web.json_response({"problem": text[:500]}, status=status)

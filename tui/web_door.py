"""Who may come in to the face in a browser: the person who has the printed address, with a page of our own.

Loopback is not enough: any program of any user of this machine reaches it, and so does every web page that the
person's browser shows. Hence: the host must be this machine's own name (against DNS rebinding), a request that names
its origin must come from our own page (against other pages, above all their websockets), and a secret is needed.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

COOKIE: Final = "secondseat"
LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""What a browser on this machine, or at the near end of an SSH tunnel, calls the server."""

NEEDS_ADDRESS: Final = "Open the whole address that `secondseat web` printed; it changes at each start."
NOT_OURS: Final = "This address is for a browser on the same machine, at the address that `secondseat web` printed."

HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""On every answer. The page cannot fetch from elsewhere, be framed, or tell another page where it is.
Styles inside the page are xterm's own."""


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Door:
    """The secrets of one run of the server.

    ``token`` stands in the printed address, ``key`` in the cookie that the first visit sets. Everything lies under the
    path ``place``, and the cookie is bound to it: cookies know no ports, and so another server on this machine would
    else be handed it.
    """

    token: str = field(default_factory=_secret, repr=False)
    key: str = field(default_factory=_secret, repr=False)
    place: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(9)}/", repr=False)

    def address(self, host: str, port: int) -> str:
        """What the person opens."""
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={self.token}"

    def has_token(self, token: str) -> bool:
        return _same(token, self.token)

    def refusal(self, host: str, origin: str | None, cookie: str, token: str, websocket: bool) -> str:
        """Why this request is refused, in words for the person; empty when it may come in."""
        if _hostname(host) not in LOCAL_NAMES:
            return NOT_OURS
        if (origin is not None or websocket) and origin != f"http://{host}":
            return NOT_OURS
        if not _same(cookie, self.key) and not self.has_token(token):
            return NEEDS_ADDRESS
        return ""


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _hostname(host: str) -> str:
    """The name in a Host header, without the port; empty when it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether the server would be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

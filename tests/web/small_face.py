"""A stand-in for the attached face: ``python small_face.py echo | deaf | fails``.

``echo`` draws each packet that it gets, and its own environment first; ``deaf`` neither reads nor obeys SIGTERM;
``fails`` says why on stderr, as the command line does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time


def draw(text: str) -> None:
    data = text.encode()
    sys.stdout.buffer.write(b"D" + len(data).to_bytes(4, "big") + data)
    sys.stdout.buffer.flush()


def main(what: str) -> int:
    if what == "fails":
        print("secondseat: no engine answers", file=sys.stderr)
        return 1
    if what == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stdout.buffer.write(b"__GANGLION__\n")
    draw(json.dumps(dict(os.environ)))
    if what == "deaf":
        time.sleep(60)
    read = sys.stdin.buffer.read
    while kind := read(1):
        payload = read(int.from_bytes(read(4), "big"))
        if kind == b"M" and json.loads(payload)["type"] == "quit":
            break
        draw(f"{kind.decode()}:{payload.decode()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

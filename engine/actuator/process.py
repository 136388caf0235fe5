"""The actuator's process: ``python -m engine.actuator.process``. It alone injects; it outlives a hung or killed engine.

It reads messages from standard input and answers on standard output. Whatever ends it (end of the pipe, a lost
parent, SIGTERM, a lost X server, an error), it lets go of every key and button first. It ignores SIGINT and SIGHUP.
Nothing heavy is imported here: it must start at once, also to clean up after a predecessor.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from data.geometry import Rect
from data.vocabulary import MOUSE_BUTTONS
from engine.actuator.null_injector import NullInjector
from engine.actuator.protocol import Decoder, encode
from engine.actuator.rules import Refused, Rules
from engine.platforms import PlatformError, current_port
from engine.platforms.port import Injector, Listener, RawInput

log = logging.getLogger("actuator")

STATUS_NS: Final = 200_000_000

Item = RawInput | dict[str, Any] | str
"""Something to do: an input event, a message from the engine, or the reason to end."""


class Output:
    """Messages to the engine, written by a thread of their own: an engine that does not read must not hold us up."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._queue: queue.Queue[bytes] = queue.Queue(512)
        self.dropped = 0
        threading.Thread(target=self._run, name="output", daemon=True).start()

    def put(self, message: dict[str, Any]) -> None:
        try:
            self._queue.put_nowait(encode(message))
        except queue.Full:
            self.dropped += 1

    def flush(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while self._queue.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.002)

    def _run(self) -> None:
        while True:
            data = self._queue.get()
            with contextlib.suppress(OSError):
                while data:
                    data = data[os.write(self._descriptor, data) :]
            self._queue.task_done()


class Worker:
    """Takes one thing after the other from the inbox and lets the rules decide."""

    def __init__(self, rules: Rules, inbox: queue.SimpleQueue[Item], output: Output, injector: Injector, listener: Listener | None) -> None:
        self._rules, self._inbox, self._output = rules, inbox, output
        self._injector, self._listener = injector, listener
        self._told: dict[str, Any] = {}
        self._next_status_ns = 0
        self._parent = os.getppid()

    def run(self) -> str:
        """Works until there is a reason to end, and returns it."""
        due_ns: int | None = None
        while True:
            now_ns = time.monotonic_ns()
            until_ns = min(due_ns if due_ns is not None else self._next_status_ns, self._next_status_ns)
            try:
                item: Item | None = self._inbox.get(timeout=max(0.0, (until_ns - now_ns) / 1e9))
            except queue.Empty:
                item = None
            now_ns = time.monotonic_ns()
            if isinstance(item, str):
                return item
            if isinstance(item, dict):
                if item.get("op") == "quit":
                    return "asked to"
                self._handle(item, now_ns)
            elif item is not None:
                self._rules.on_input(item, now_ns)
            due_ns = self._rules.poll(time.monotonic_ns())
            self._report(time.monotonic_ns())
            if os.getppid() != self._parent:
                return "the engine is gone"
            if self._listener is not None and self._listener.failure:
                return f"the stop key cannot be heard any more: {self._listener.failure}"

    def _handle(self, message: dict[str, Any], now_ns: int) -> None:
        operation = message.get("op")
        if operation == "intent":
            self._rules.intent(message, now_ns)
            return
        try:
            if operation == "arm":
                if isinstance(self._injector, NullInjector) and message.get("rect") is not None:
                    self._injector.rect = Rect(*(int(v) for v in message["rect"]))
                self._rules.arm(message, now_ns)
            elif operation == "resume":
                self._rules.resume(now_ns)
            elif operation == "disarm":
                self._rules.disarm(str(message.get("reason", "")), now_ns)
            elif operation == "release":
                self._rules.release_all(now_ns)
            elif operation == "stop":
                self._rules.stop(str(message.get("reason", "stopped")), now_ns)
            else:
                raise Refused(f"unknown operation {operation!r}")
            answer = {"ok": True, "text": ""}
        except (Refused, TypeError, ValueError) as problem:
            answer = {"ok": False, "text": str(problem)}
        if "id" in message:
            self._report(now_ns)
            self._output.put({"ev": "answer", "id": message["id"], **answer})

    def _report(self, now_ns: int) -> None:
        rules = self._rules
        for notice in rules.notices:
            self._output.put(notice)
        rules.notices.clear()
        if rules.journal:
            self._output.put({"ev": "journal", "entries": [entry.row() for entry in rules.journal]})
            rules.journal.clear()
        status = {"phase": rules.phase, "reason": rules.reason, "held": list(rules.held), "place": rules.place}
        counts = {name: getattr(rules.counts, name) for name in rules.counts.__slots__}
        if status != self._told or now_ns >= self._next_status_ns:
            self._told, self._next_status_ns = status, now_ns + STATUS_NS
            self._output.put({"ev": "status", "time_ns": now_ns, **status, "counts": counts})


def _read_messages(descriptor: int, inbox: queue.SimpleQueue[Item]) -> None:
    decoder = Decoder()
    try:
        while piece := os.read(descriptor, 65536):
            for message in decoder.feed(piece):
                inbox.put(message)
        inbox.put("the engine closed its end")
    except (OSError, ValueError) as problem:
        inbox.put(f"the engine's messages cannot be read: {problem}")


def _open(backend: str, callback: Callable[[RawInput], None]) -> tuple[Injector, Listener | None]:
    if backend == "null":
        return NullInjector(), None
    port = current_port()
    listener = port.listener(callback)
    listener.start()
    return port.injector(), listener


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="engine.actuator.process", description="Injects input for Secondseat; started by it.")
    parser.add_argument("--backend", choices=("port", "null"), default="port")
    parser.add_argument("--stop-key", default="f8")
    parser.add_argument("--release", default="", help="only let go of these keys and all mouse buttons, then end")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    arguments = _arguments(sys.argv[1:] if argv is None else argv)
    for name in ("SIGINT", "SIGHUP", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    # Letting go must not wait behind a training run; where the system does not allow it, it is not that bad.
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, 0, -5)
    # Whatever prints goes to the log: descriptor 1 carries messages only.
    answers = os.dup(1)
    os.dup2(2, 1)
    output = Output(answers)
    inbox: queue.SimpleQueue[Item] = queue.SimpleQueue()  # its put may be called from a signal handler
    signal.signal(signal.SIGTERM, lambda _number, _frame: inbox.put("SIGTERM"))
    try:
        if arguments.release:
            injector = current_port().injector()
            injector.release(list(dict.fromkeys([*arguments.release.split(","), *MOUSE_BUTTONS])))
            injector.close()
            return 0
        injector, listener = _open(arguments.backend, inbox.put)
    except PlatformError as problem:
        output.put({"ev": "failed", "text": str(problem)})
        output.flush(1.0)
        return 3
    rules = Rules(injector, arguments.stop_key)
    threading.Thread(target=_read_messages, args=(0, inbox), name="messages", daemon=True).start()
    gc.collect()
    gc.freeze()
    output.put({"ev": "ready", "pid": os.getpid()})
    reason = "an error"
    try:
        reason = Worker(rules, inbox, output, injector, listener).run()
    except Exception as problem:
        reason = f"an error: {problem}"
        log.exception("the actuator ends")
    finally:
        held = rules.held
        with contextlib.suppress(Exception):
            rules.disarm(reason, time.monotonic_ns())
        output.put({"ev": "bye", "text": reason, "held": list(held)})
        output.flush(0.2)
    return 0


if __name__ == "__main__":
    # Threads that wait for a pipe or a server must not keep the process.
    os._exit(main())

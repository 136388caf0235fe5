"""A window that writes down every input event it gets: run as a child, ``python x11_target.py LOG TITLE X Y W H RRGGBB``.

The log is JSON lines: ``{"time_ns", "kind", "code", "x", "y", "mods"}``; the first line is ``{"kind": "ready", "id"}``.
"""

from __future__ import annotations

import json
import select
import sys
import time

from Xlib import X, Xutil, display

MAP_AGAIN_S = 2.0
KINDS = {X.KeyPress: "key_press", X.KeyRelease: "key_release", X.ButtonPress: "button_press", X.ButtonRelease: "button_release"}


def main() -> None:
    log_path, title, x, y, width, height, colour = sys.argv[1:8]
    connection = display.Display()
    screen = connection.screen()
    window = screen.root.create_window(
        int(x),
        int(y),
        int(width),
        int(height),
        0,
        screen.root_depth,
        X.InputOutput,
        X.CopyFromParent,
        background_pixel=int(colour, 16),
        event_mask=X.KeyPressMask
        | X.KeyReleaseMask
        | X.ButtonPressMask
        | X.ButtonReleaseMask
        | X.PointerMotionMask
        | X.StructureNotifyMask
        | X.FocusChangeMask
        | X.ExposureMask,
    )
    window.set_wm_name(title.encode("ascii", "replace").decode())
    window.change_property(connection.intern_atom("_NET_WM_NAME"), connection.intern_atom("UTF8_STRING"), 8, title.encode())
    window.set_wm_normal_hints(flags=Xutil.USPosition | Xutil.USSize, x=int(x), y=int(y))
    window.set_wm_hints(flags=Xutil.InputHint, input=1)
    window.set_wm_protocols([connection.intern_atom("WM_DELETE_WINDOW")])
    window.map()
    ready = False
    with open(log_path, "a", buffering=1, encoding="utf-8") as log:
        while True:
            while not ready and not connection.pending_events() and not select.select([connection], [], [], MAP_AGAIN_S)[0]:
                window.map()  # a window manager that is just starting may have lost the first request
                connection.flush()
            event = connection.next_event()
            now = time.monotonic_ns()
            if event.type == X.Expose and not ready:
                ready = True
                log.write(json.dumps({"kind": "ready", "id": window.id}) + "\n")
            elif event.type in KINDS:
                row = {"time_ns": now, "kind": KINDS[event.type], "code": event.detail}
                log.write(json.dumps({**row, "x": event.event_x, "y": event.event_y, "mods": event.state}) + "\n")
            elif event.type == X.MotionNotify:
                log.write(json.dumps({"time_ns": now, "kind": "motion", "code": 0, "x": event.event_x, "y": event.event_y}) + "\n")
            elif event.type in (X.FocusIn, X.FocusOut):
                kind = "focus_in" if event.type == X.FocusIn else "focus_out"
                log.write(json.dumps({"time_ns": now, "kind": kind, "code": 0}) + "\n")
            elif event.type == X.ClientMessage:
                return


if __name__ == "__main__":
    main()

"""Windows of an X server: which there are, where they are, and which of them has the keyboard."""

from __future__ import annotations

from typing import Any

from data.geometry import Rect
from engine.platforms.port import WindowInfo
from engine.platforms.xlib import GONE, X

_ICONIC = 3


class X11Windows:
    """Questions about windows over one connection. Nothing is cached: windows move, and a stale place is a wrong click."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.root: Any = connection.screen().root
        self._atoms = {
            n: connection.intern_atom(n) for n in ("_NET_CLIENT_LIST", "_NET_WM_NAME", "UTF8_STRING", "WM_STATE", "_NET_WM_STATE")
        }
        self._hidden = connection.intern_atom("_NET_WM_STATE_HIDDEN")

    def resource(self, window_id: int) -> Any:
        return self._connection.create_resource_object("window", window_id)

    def all_windows(self) -> list[WindowInfo]:
        """All top-level windows with a title: those of the window manager's list, else those found under the root."""
        listed = self.root.get_full_property(self._atoms["_NET_CLIENT_LIST"], X.AnyPropertyType)
        windows = self._infos([int(i) for i in listed.value] if listed is not None else [])
        # The list of a window manager that has ended stays behind, and names windows that are gone.
        return windows or self._infos([i for child in self.root.query_tree().children if (i := self._titled_inside(child)) is not None])

    def _infos(self, ids: list[int]) -> list[WindowInfo]:
        return [info for i in ids if (info := self.info(i)) is not None and info.title]

    def info(self, window_id: int) -> WindowInfo | None:
        window = self.resource(window_id)
        try:
            visible = window.get_attributes().map_state == X.IsViewable
            minimised = not visible and self._is_minimised(window)
            return WindowInfo(window_id, self.title(window), self.rect(window) if visible else None, visible, minimised)
        except GONE:
            return None

    def rect(self, window: Any) -> Rect:
        """The client area on the screen now. Raises one of GONE when the window is destroyed."""
        size = window.get_geometry()
        corner = self.root.translate_coords(window, 0, 0)
        return Rect(int(corner.x), int(corner.y), int(size.width), int(size.height))

    def visible_rect(self, window_id: int) -> Rect | None:
        window = self.resource(window_id)
        try:
            return self.rect(window) if window.get_attributes().map_state == X.IsViewable else None
        except GONE:
            return None

    def title(self, window: Any) -> str:
        try:
            name = window.get_full_property(self._atoms["_NET_WM_NAME"], self._atoms["UTF8_STRING"])
            text = name.value if name is not None else window.get_wm_name()
        except (UnicodeDecodeError, ValueError):
            return ""
        if isinstance(text, bytes):
            return text.decode("utf-8", "replace")
        return text if isinstance(text, str) else ""

    def focused(self) -> int | None:
        """The window with a title that gets the keyboard now."""
        holder = self._connection.get_input_focus().focus
        if holder == X.NONE:
            return None
        if holder == X.PointerRoot or holder == self.root:
            below = self.root.query_pointer().child
            return None if below == X.NONE else self._titled_inside(below)
        try:
            for window in self._with_parents(holder):
                if self.title(window):
                    return int(window.id)
        except GONE:
            pass
        return None

    def has_focus(self, window_id: int) -> bool:
        """Whether keys pressed now go to the window or one of its parts."""
        holder = self._connection.get_input_focus().focus
        if holder == X.NONE:
            return False
        if holder == X.PointerRoot or holder == self.root:
            return self.under_pointer(window_id)
        return int(holder.id) == window_id or self._is_inside(holder, window_id)

    def under_pointer(self, window_id: int) -> bool:
        return self._is_part_of(self.root.query_pointer().child, window_id)

    def is_on_top(self, window_id: int, x: int, y: int) -> bool:
        """Whether a click at x, y would go to the window: no other top-level window lies over it there."""
        return self._is_part_of(self.root.translate_coords(self.root, x, y).child, window_id)

    def _is_part_of(self, below: Any, window_id: int) -> bool:
        """Whether the window lies inside the given child of the root (its frame, or itself)."""
        if below == X.NONE:
            return False
        try:
            return any(window.id == below.id for window in self._with_parents(self.resource(window_id)))
        except GONE:
            return False

    def _is_inside(self, window: Any, ancestor_id: int) -> bool:
        try:
            return any(w.id == ancestor_id for w in self._with_parents(window))
        except GONE:
            return False

    def _with_parents(self, window: Any) -> list[Any]:
        """The window, its parent and so on, without the root."""
        chain: list[Any] = []
        while window != X.NONE and window != self.root and len(chain) < 32:
            chain.append(window)
            window = window.query_tree().parent
        return chain

    def _titled_inside(self, window: Any, depth: int = 3) -> int | None:
        """The first window with a title among a window and its parts (a window manager's frame has none)."""
        try:
            if self.title(window):
                return int(window.id)
            for child in window.query_tree().children if depth > 0 else ():
                found = self._titled_inside(child, depth - 1)
                if found is not None:
                    return found
        except GONE:
            pass
        return None

    def _is_minimised(self, window: Any) -> bool:
        state = window.get_full_property(self._atoms["WM_STATE"], X.AnyPropertyType)
        if state is not None and len(state.value) and int(state.value[0]) == _ICONIC:
            return True
        states = window.get_full_property(self._atoms["_NET_WM_STATE"], X.AnyPropertyType)
        return states is not None and self._hidden in list(states.value)

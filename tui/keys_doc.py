"""``python -m tui.keys_doc`` writes docs/keys.md from the registry."""

from __future__ import annotations

from pathlib import Path

from data.settings import FACE_KEYS, TAKEN_KEYS
from tui.actions import PANES, REGISTRY
from tui.registry import SCOPE_TITLES

PATH = Path(__file__).resolve().parents[1] / "docs" / "keys.md"

HEAD = """# Keys of the face

Made from the registry by `python -m tui.keys_doc`; `?` in the face shows the same with your own keys.

Function keys work on every screen, in dialogs and while you type; letters only when nothing is typed. F5, F6, F7 and F8
work while the game has the focus, too. Where a pane or a screen has a key of its own, it goes before the same key of
the app while the focus is there.
"""

TAIL = """## With the mouse

A click chooses, a double click runs, a right click on a row of the actions opens its parameters. The wheel scrolls
lists and logs and zooms the chart; dragging moves the chart. Everything works without a mouse.

## Keys of your own

In `config.toml`, by an action's id; several keys stand with commas between them:

```toml
[keys]
record = "f9"                                  # the keys that also work in the game: record, save, discard
face = { sessions = "b", quit = "Q,ctrl+x" }   # every other one

[actuator]
stop_key = "f4"                                # the emergency stop
```

A key that two actions want stays with the one that you gave it, and the face says so when it starts. The emergency stop
always keeps a function key, and ctrl+c always leaves.
"""


def text() -> str:
    """The whole page."""
    parts = [HEAD]
    for scope in REGISTRY.scopes():
        parts.append(f"## {SCOPE_TITLES[scope]}\n")
        parts.append("| keys | what | id | |\n|---|---|---|---|")
        rows: list[str] = []
        for action in REGISTRY.in_scope(scope):
            keys = " ".join(f"`{key}`" for key in action.key_text().split(" / ") if key).replace("|", "\\|")
            rows.append(f"| {keys or '(enter on its row)'} | {action.title} | `{action.id}` | {action.help} |")
        if scope == "app":
            rows += [f"| `{key}` | the pane {title} | | |" for key, _, title, _ in PANES]
            rows.append("| `tab` `shift+tab` | the next pane, the one before | | |")
            rows.append("| `esc` | back | | |")
        parts.append("\n".join(rows) + "\n")
    parts.append(TAIL)
    parts.append("These can be used: " + " ".join(f"`{key}`" for key in FACE_KEYS) + ".\n")
    parts.append("These never reach the face, and are refused:\n")
    parts.append("\n".join(f"- `{key}`: {why}" for key, why in TAKEN_KEYS.items()) + "\n")
    return "\n".join(parts)


def main() -> None:
    PATH.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()

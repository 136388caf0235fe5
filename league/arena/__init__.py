"""The embedded game: a batched world, its rules, pilots, pictures and window."""

import os

# Its greeting would land on the terminal's screen or in a command's output.
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

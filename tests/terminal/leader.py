"""The command line with the terminal as its own, as a shell starts it: ``python leader.py WORDS...``."""

from __future__ import annotations

import fcntl
import os
import sys
import termios
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

if os.environ.pop("SECONDSEAT_TEST_CTTY", ""):
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

from tui.cli import main

sys.exit(main(sys.argv[1:]))

"""``secondseat games add``: a game from options alone; ``tui.commands.games_interview`` asks for what they leave open.

Nothing is written before everything is known; what an answer means and why it is refused stands in
``engine.game_builder``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.profile import GameProfile
from data.schema import Image
from data.settings_games import Change, save_game
from engine import game_builder as builder
from engine.game_builder import Draft, Step
from engine.game_builder_check import why_not_here
from engine.game_builder_names import classes_of_file
from engine.game_builder_window import WindowEye, find_window
from engine.platforms.port import PlatformError, WindowInfo
from tui.commands.games_ask import Asker
from tui.commands.invocation import Invocation, UsageError
from tui.commands.running import CommandError

if TYPE_CHECKING:
    from data.settings import Settings


@dataclass(frozen=True, slots=True)
class Given:
    """The options of the command line, as they were typed."""

    name: str = ""
    window: str = ""
    part: str = ""
    size: str = ""
    keys: str | None = None
    watch_s: float | None = None
    gauges: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    class_file: str = ""
    detector: str = ""
    edge_margin: str = ""
    hold: str = ""
    to: str = ""
    use: bool | None = None
    replace: bool = False
    unseen: bool = False

    def steps(self) -> set[Step]:
        """The questions that they answer."""
        answered: dict[Step, object] = {
            "window": self.window,
            "title": self.window,
            "part": self.part,
            "keys": self.keys is not None,
            "gauges": self.gauges,
            "classes": self.classes or self.class_file,
            "margin": self.edge_margin,
            "hold": self.hold,
            "name": self.name,
            "file": self.to,
        }
        return {step for step, answer in answered.items() if answer}


@dataclass(frozen=True, slots=True)
class Done:
    """What was written. ``readings``: the gauges' values as they were seen last."""

    profile: GameProfile
    change: Change
    readings: dict[str, float | None]
    used: bool

    def to_json(self) -> dict[str, Any]:
        backup = self.change.backup
        return {
            "name": self.profile.name,
            "path": str(self.change.path),
            "backup": None if backup is None else str(backup),
            "used": self.used,
            "readings": self.readings,
            "profile": self.profile.model_dump(mode="json"),
        }


def add_game(settings: Settings, invocation: Invocation, given: Given, ask: bool) -> Done:
    """Raises UsageError, CommandError, DraftError, FitError, PlatformError and SettingsError; then nothing was written."""
    if ask and not sys.stdin.isatty():
        raise UsageError("games add asks questions, and this is not a terminal; give the answers as options and --yes")
    if ask:
        from tui.commands.games_interview import Interview

        return Interview(settings, invocation, given).run()
    adding = Adding(settings, invocation, given)
    adding.from_options()
    return adding.save(bool(given.use))


class Adding:
    """One game on its way into the settings file."""

    def __init__(self, settings: Settings, invocation: Invocation, given: Given) -> None:
        self.settings, self.given, self.control = settings, given, settings.control_keys()
        self.asker = Asker()
        self.image: Image | None = None
        self.window: WindowInfo | None = None
        self.path: Path | None = self._settings_file(invocation)
        self.draft = Draft()
        if given.name:
            name = builder.check_name(given.name)
            self.draft = Draft.of(settings.games[name]) if name in settings.games else Draft(name=name)

    def _settings_file(self, invocation: Invocation) -> Path | None:
        """The file to write; None when none is in force and none was named."""
        from data.settings_io import find_settings_file

        if self.given.to:
            return Path(self.given.to).expanduser()
        return find_settings_file(Path(invocation.config) if invocation.config else None)[0]

    # ---- from options alone

    def from_options(self) -> None:
        """Everything that the options say, and defaults for the rest."""
        given, draft = self.given, self.draft
        self._refuse_taken(draft.name)
        if given.window or not draft.title:
            draft.set_title(given.window)
        if given.part:
            draft.part = builder.region_of_text(given.part, "--part")
        try:
            self.window = find_window(draft.title)
            self.look()
        except PlatformError as problem:
            if not given.size:
                raise CommandError(f"{problem}; or give --size WxH to describe a window that is not open") from problem
        if given.size:
            draft.size = builder.size_of_text(given.size)
        self.take_keys()
        self.take_rest()
        if not draft.name:
            name = builder.name_from(draft.title)
            if not name:
                raise CommandError(f"no name can be made from the title {draft.title!r}; give one: secondseat games add NAME …")
            self._refuse_taken(name)
            draft.name = name

    def _refuse_taken(self, name: str) -> None:
        if name in self.settings.games and not self.given.replace:
            raise CommandError(f"there is a game {name!r} already; give --replace to change it, or another name")

    def look(self) -> None:
        """A picture of the window as it is now; its size is the profile's."""
        with WindowEye(self.draft.title, self.draft.part) as eye:
            self.image = eye.wait().image
        self.draft.size = (self.image.shape[1], self.image.shape[0])

    def take_keys(self) -> None:
        given = self.given
        if given.keys is not None:
            self.draft.edit_keys(given.keys, self.control)
        if given.watch_s is not None:
            if self.window is None:
                raise CommandError("--watch needs the game's window to be open")
            self.watch(given.watch_s)

    def take_rest(self) -> None:
        given, draft = self.given, self.draft
        for text in given.gauges:
            gauge = builder.gauge_from_words(builder.gauge_of_text(text), self.image)
            draft.put_gauge(gauge, instead_of=gauge.name if given.replace else "")
        if given.class_file:
            draft.classes = classes_of_file(Path(given.class_file).expanduser())
        if given.classes:
            draft.classes = builder.classes_of_names([*map(builder.class_text, draft.classes), *given.classes])
        draft.detector = given.detector or draft.detector
        if given.edge_margin:
            draft.edge_margin_px = builder.whole_number(given.edge_margin, 0, 200, "--edge-margin")
        if given.hold:
            draft.hold_ms = builder.whole_number(given.hold, 10, 1000, "--hold")

    def watch(self, seconds: float) -> None:
        from tui.commands.games_live import counts_text, watch_keys

        assert self.window is not None
        counts, clicks = watch_keys(self.window.id, self.window.title, seconds, self.control)
        self.asker.say(f"seen: {counts_text(counts, clicks)}")
        self.draft.set_keys([*self.draft.keys, *(name for name, _ in counts)], self.control)

    def save(self, use: bool) -> Done:
        from data.settings_io import FILE_NAME
        from data.workspace import user_config_folder

        profile = self.draft.profile()
        if why := why_not_here(profile, self.image, self.given.unseen):
            hint = "; show the game with it, correct it, or give --unseen to take it all the same" if why.startswith("gauge") else ""
            raise CommandError(why + hint)
        change = save_game(self.path or user_config_folder() / FILE_NAME, profile, use=use)
        return Done(profile, change, builder.readings_of(profile.gauges, self.image), use)

"""Add a game, from the face: window, picture, keys, gauges, summary, then saved and watched. Nothing is written before.

What an answer means is known to ``engine.game_builder``; the command line asks the same with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.profile import GameProfile, Region
from data.settings import Settings, SettingsError
from data.settings_games import save_game
from data.settings_io import FILE_NAME, find_settings_file, load_settings
from data.workspace import user_config_folder
from engine.game_builder import Draft, DraftError, name_from
from engine.game_builder_check import why_not_here
from engine.game_builder_keys import KeyWatch
from engine.game_builder_rehearsal import Rehearsal
from engine.game_builder_window import WindowEye, open_windows
from engine.platforms.port import WindowInfo
from tui.pump import one_line
from tui.screens.dialogs import AskLetter
from tui.screens.game_gauges import GaugesScreen, PartScreen
from tui.screens.game_keys import GameKeysScreen, Watch
from tui.screens.game_screen import Eye, GameScreen, Outcome
from tui.screens.game_summary import Rehearses, SummaryScreen
from tui.screens.game_window import WindowScreen

if TYPE_CHECKING:
    from tui.app import SecondseatApp


def _eye(title: str, part: Region) -> Eye:
    return WindowEye(title, part)


def _watch(window_id: int, control_keys: frozenset[str]) -> Watch:
    return KeyWatch(window_id, control_keys)


def _rehearsal(profile: GameProfile, fps: float, control_keys: frozenset[str]) -> Rehearses:
    return Rehearsal(profile, fps, control_keys)


@dataclass(frozen=True, slots=True)
class World:
    """What the screens see of the machine."""

    windows: Callable[[], list[WindowInfo]] = open_windows
    eye: Callable[[str, Region], Eye] = _eye
    watch: Callable[[int, frozenset[str]], Watch] = _watch
    rehearsal: Callable[[GameProfile, float, frozenset[str]], Rehearses] = _rehearsal


@dataclass(frozen=True, slots=True)
class Ground:
    """The settings that the new game goes into. ``path`` None: no file is in force yet."""

    settings: Settings
    path: Path | None

    @staticmethod
    def find(config: str) -> Ground:
        """Raises SettingsError when the file cannot be read: it would be refused in the end."""
        given = Path(config) if config else None
        return Ground(load_settings(given, strict=True)[0], find_settings_file(given)[0])


class GameFlow:
    """One way through the steps; going back keeps what was answered."""

    def __init__(self, app: SecondseatApp, ground: Ground, world: World | None = None) -> None:
        self._app, self._ground, self._world = app, ground, world or World()
        self._control = ground.settings.control_keys()
        self.draft = Draft()
        self._window: WindowScreen | None = None
        self._window_id = 0
        self._at = 0

    def begin(self) -> None:
        self._show()

    def _show(self) -> None:
        screen = _STEPS[self._at](self)
        screen.with_status = True
        self._app.push_screen(screen, self._after)

    def _after(self, outcome: Outcome | None) -> None:
        if outcome not in ("next", "back") or (outcome == "back" and self._at == 0):
            self._app.tell("info", "no game was added; nothing was written", log=False)
            return
        if self._at == 0 and self._window is not None and self._window.chosen is not None:
            self._window_id = self._window.chosen.id
        self._at += 1 if outcome == "next" else -1
        if self._at < len(_STEPS):
            self._show()
        else:
            self._ask_save()

    # ---- the steps

    def ask_window(self) -> GameScreen:
        self._window = WindowScreen(self.draft, self._world.windows)
        return self._window

    def ask_part(self) -> GameScreen:
        return PartScreen(self.draft, self._look_at)

    def ask_keys(self) -> GameScreen:
        return GameKeysScreen(self.draft, lambda: self._world.watch(self._window_id, self._control), self._control)

    def ask_gauges(self) -> GameScreen:
        return GaugesScreen(self.draft, self._look_at)

    def ask_summary(self) -> GameScreen:
        if not self.draft.name:
            self.draft.name = name_from(self.draft.title) or "mygame"
        fps = self._ground.settings.capture.fps
        return SummaryScreen(self.draft, lambda profile: self._world.rehearsal(profile, fps, self._control), self._taken())

    def _look_at(self, part: Region) -> Eye:
        return self._world.eye(self.draft.title, part)

    def _taken(self) -> list[str]:
        return sorted(self._ground.settings.games)

    # ---- saving

    def _ask_save(self) -> None:
        own, here, in_force = user_config_folder() / FILE_NAME, Path.cwd() / FILE_NAME, self._ground.path
        name = self.draft.name
        lines = [f"games.{name} is there already and is changed." if name in self._taken() else f"games.{name} is new."]
        if in_force is not None:
            lines += [f"Into {in_force}; the file as it is now is kept beside it."]
            answers = [("y", "save, and watch this game from now on"), ("s", "save only")]
            places = {"y": (in_force, True), "s": (in_force, False)}
        else:
            lines += ["There is no settings file yet."]
            answers = [
                ("y", f"save into {own}, and watch this game"),
                ("s", "the same, save only"),
                ("f", f"save into {here}, and watch it"),
            ]
            places = {"y": (own, True), "s": (own, False), "f": (here, True)}

        def answered(letter: str | None) -> None:
            if not letter:
                self._at = len(_STEPS) - 1
                self._show()
            else:
                self._save(*places[letter])

        self._app.push_screen(AskLetter("Save the game", lines, answers), answered)

    def _save(self, path: Path, use: bool) -> None:
        def failed(error: Exception) -> None:
            self._app.tell("error", one_line(error))
            self._at = len(_STEPS) - 1
            self._show()

        def done(sentence: str) -> None:
            self._app.tell("info", sentence)
            if use:
                self._app.send("game", profile=profile.model_dump(mode="json"))

        try:
            self.draft.base = self._ground.settings.games.get(self.draft.name)
            profile = self.draft.profile()
        except DraftError as problem:
            failed(problem)
            return

        def save() -> str:
            if why := why_not_here(profile, None):
                raise DraftError(why)
            return save_game(path, profile, use=use).sentence()

        self._app.desk.quick(save, done, failed)


_STEPS: Final[tuple[Callable[[GameFlow], GameScreen], ...]] = (
    GameFlow.ask_window,
    GameFlow.ask_part,
    GameFlow.ask_keys,
    GameFlow.ask_gauges,
    GameFlow.ask_summary,
)


def add_game(app: SecondseatApp) -> None:
    """Read the settings, then ask. A settings file that cannot be read is told at once."""

    def failed(error: Exception) -> None:
        app.tell("error", one_line(error) if isinstance(error, SettingsError) else f"no game can be added: {one_line(error)}")

    app.desk.quick(lambda: Ground.find(app.config), lambda ground: GameFlow(app, ground).begin(), failed)

"""``secondseat games add`` by asking: one question after the other, each with a default and a way back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.profile import WHOLE
from engine import game_builder as builder
from engine.game_builder import DraftError
from engine.game_builder_gauges import FitError
from engine.game_builder_names import classes_of_file
from engine.game_builder_window import filtered, find_window, open_windows
from engine.platforms.port import PlatformError
from tui.commands.games_add import Adding, Done, Given
from tui.commands.games_ask import HELP, Back
from tui.commands.invocation import Invocation, UsageError, duration_s
from tui.commands.running import CommandError

if TYPE_CHECKING:
    from data.settings import Settings

WATCH_S: Final = 60.0
REHEARSE_S: Final = 10.0


class Interview(Adding):
    """What the options answered is not asked, but can be gone back to."""

    def __init__(self, settings: Settings, invocation: Invocation, given: Given) -> None:
        super().__init__(settings, invocation, given)
        self._filter = ""

    def run(self) -> Done:
        say = self.asker.say
        say(f"A game of your own. {HELP}")
        questions = {
            "window": self._ask_window,
            "title": self._ask_title,
            "part": self._ask_part,
            "keys": self._ask_keys,
            "gauges": self._ask_gauges,
            "classes": self._ask_classes,
            "margin": self._ask_margin,
            "hold": self._ask_hold,
            "name": self._ask_name,
            "file": self._ask_file,
            "save": self._ask_save,
        }
        self._open_given_window()
        self.take_keys()
        self.take_rest()
        answered = self.given.steps()
        if self.draft.name in self.settings.games and not self.given.replace:
            answered.discard("name")
        at, done = 0, None
        while at < len(builder.STEPS):
            step = builder.STEPS[at]
            if step in answered:
                at += 1
                continue
            asked = self.asker.asked
            try:
                done = questions[step]()
                at += 1
                continue
            except Back:
                pass
            except (DraftError, FitError, PlatformError, CommandError, UsageError) as problem:
                if step == "window" and isinstance(problem, PlatformError):
                    raise  # there is no screen: asking again would not help
                say(f"! {problem}")
                if self.asker.asked > asked:
                    continue  # the same question again; without one, an earlier answer is to be changed
            at = max(at - 1, 0)
            answered.discard(builder.STEPS[at])
        assert done is not None
        return done

    def _open_given_window(self) -> None:
        given = self.given
        if given.size:
            raise UsageError("games add --size describes a window that is not open, which can't be asked about: give --yes too")
        if given.part:
            self.draft.part = builder.region_of_text(given.part, "--part")
        if given.window:
            self.draft.set_title(given.window)
            self.window = find_window(given.window)
            self.look()

    def _ask_window(self) -> None:
        say = self.asker.say
        windows = open_windows()
        found = filtered(windows, self._filter)
        if not windows:
            self.asker.ask("no window is open: start the game; Enter looks again", "look")
            return self._ask_window()
        if not found:
            say(f"! no open window has {self._filter!r} in its title")
            self._filter = ""
            return self._ask_window()
        for number, window in enumerate(found, 1):
            place = f"{window.rect.width}x{window.rect.height}" if window.rect else "not on the screen"
            say(f"  {number:>2}  {window.title}  ({place})")
        likely = next((n for n, w in enumerate(found, 1) if self.draft.title and self.draft.title.casefold() in w.title.casefold()), 1)
        answer = self.asker.ask("Which window is the game in? A number, or words to filter by (all: every window)", str(likely))
        if not answer.isdigit():
            self._filter = "" if answer == "all" else answer
            return self._ask_window()
        if not 1 <= int(answer) <= len(found):
            raise DraftError(f"there is no window {answer}; use 1 to {len(found)}")
        window = found[int(answer) - 1]
        if window.rect is None:
            raise DraftError(f"{window.title!r} is not on the screen now; show it, then choose it")
        if self.window is None or self.window.id != window.id:
            self.draft.title = self.draft.title if self.draft.title.casefold() in window.title.casefold() else ""
        self.window = window
        return None

    def _ask_title(self) -> None:
        assert self.window is not None
        self.draft.set_title(
            self.asker.ask("Which part of its title stays the same?", self.draft.title or self.window.title), self.window.title
        )
        if self.given.part:  # nothing is asked of it, and so nothing looks at the picture later
            self.look()

    def _ask_part(self) -> None:
        part = self.draft.part
        default = "whole" if part == WHOLE else ",".join(f"{v:g}" for v in part)
        answer = self.asker.ask("Its picture: whole, m to mark a part, or left,top,right,bottom in 0..1", default)
        if answer == "m":
            from tui.screens.game_app import mark_part

            marked = mark_part(self.draft.title)
            if marked is None:
                raise DraftError("nothing was marked")
            self.draft.part = marked
        else:
            self.draft.part = builder.region_of_text(answer)
        self.look()
        self.asker.say(f"  the picture is {self.draft.size[0]}x{self.draft.size[1]} px")

    def _ask_keys(self) -> None:
        from engine.game_builder_keys import PRIVACY

        assert self.window is not None
        if not self.draft.keys:
            self.asker.say(f"Keys: play for a while, and they are seen. {PRIVACY}")
            answer = self.asker.ask("Enter begins; a time such as 30s; n to type them instead", f"{WATCH_S:.0f}s")
            if answer.casefold() not in ("n", "no"):
                self.watch(duration_s(answer))
        keys = self.draft.keys
        spoken = " ".join(keys) or "none"
        answer = self.asker.ask("The game's keys: +f adds, -q drops, or all of them; again: watch again", spoken)
        if answer == "again":
            self.draft.keys = ()
            return self._ask_keys()
        self.draft.edit_keys("" if answer == "none" else answer, self.control)
        if self.draft.keys != keys and answer != spoken:
            self.asker.say(f"  keys: {' '.join(self.draft.keys) or 'none: only the mouse is recorded'}")
        return None

    def _ask_gauges(self) -> None:
        draft, say = self.draft, self.asker.say
        while True:
            for gauge in draft.gauges:
                value = builder.readings_of((gauge,), self.image)[gauge.name]
                say(f"  {builder.gauge_text(gauge)}  reads {'nothing' if value is None else f'{value:.2f}'} now")
            answer = self.asker.ask("Gauges (health and the like): m marks them on the picture, -name drops one, or type one", "go on")
            try:
                if answer == "go on":
                    return
                if answer == "m":
                    from tui.screens.game_app import mark_gauges

                    marked = mark_gauges(draft)
                    draft.gauges = draft.gauges if marked is None else marked
                    self.look()
                elif answer.startswith("-"):
                    draft.drop_gauge(answer[1:].strip())
                else:
                    gauge = builder.gauge_from_words(builder.gauge_of_text(answer), self.image)
                    draft.put_gauge(gauge, instead_of=gauge.name)
            except (DraftError, FitError) as problem:
                say(f"! {problem}")

    def _ask_classes(self) -> None:
        text = builder.classes_text(self.draft.classes) or "none"
        answer = self.asker.ask("Object classes, for a detector now or later: name=role, …, or a YOLO data.yaml", text)
        if answer == text:
            return
        path = Path(answer).expanduser()
        if answer == "none":
            self.draft.classes = ()
        else:
            self.draft.classes = classes_of_file(path) if path.suffix and path.is_file() else builder.classes_of_text(answer)
        self.asker.say(f"  classes: {builder.classes_text(self.draft.classes) or 'none'}")

    def _ask_margin(self) -> None:
        answer = self.asker.ask("How many px inside the window's edge the bot's cursor stays", str(self.draft.edge_margin_px))
        self.draft.edge_margin_px = builder.whole_number(answer, 0, 200, "edge margin")

    def _ask_hold(self) -> None:
        answer = self.asker.ask("How many ms the bot holds a tapped key", str(self.draft.hold_ms))
        self.draft.hold_ms = builder.whole_number(answer, 10, 1000, "hold time")

    def _ask_name(self) -> None:
        default = self.draft.name or builder.name_from(self.draft.title) or "mygame"
        name = builder.check_name(self.asker.ask("The game's name here", default))
        there = name in self.settings.games
        if there and not self.given.replace and not self.asker.yes(f"there is a game {name!r} already: change it?", False):
            raise DraftError(f"{name!r} stays as it is; give another name")
        if there and self.draft.base is None:
            self.draft.base = self.settings.games[name]
        self.draft.name = name

    def _ask_file(self) -> None:
        from data.settings_io import FILE_NAME
        from data.workspace import user_config_folder

        if self.path is not None and self.path.exists():
            return  # the one in force
        own, here = user_config_folder() / FILE_NAME, Path.cwd() / FILE_NAME
        answer = self.asker.ask(f"No settings file yet. 1: {own} (for all your work)  2: {here} (for this folder)", "1")
        if answer not in ("1", "2"):
            raise DraftError(f"{answer!r}: answer 1 or 2")
        self.path = own if answer == "1" else here

    def _ask_save(self) -> Done:
        from tui.commands.games import profile_lines
        from tui.commands.games_live import rehearse

        profile = self.draft.profile()
        for line in profile_lines(profile):
            self.asker.say(f"  {line}")
        try:
            rehearse(profile, REHEARSE_S, self.settings.capture.fps, self.control)
        except PlatformError as problem:
            self.asker.say(f"! {problem}")
        if not self.asker.yes(f"Save games.{profile.name} to {self.path}?", True):
            raise Back
        use = self.given.use
        return self.save(self.asker.yes(f"Watch {profile.name} from now on?", True) if use is None else use)

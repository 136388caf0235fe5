"""The themes: what is chosen is seen at once, enter keeps it, esc goes back to the one before."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult

from engine.state import EngineState
from tui import theme
from tui.panes.base import LinesPane, face_of
from tui.panes.status import StatusLine
from tui.screens.lists import ListPane, ListScreen
from tui.screens.live import FooterLine, HintLine


class SampleLine(LinesPane):
    """Every state as it looks in the theme."""

    def show(self, state: EngineState) -> None:
        look = self.look
        samples = (
            (look.glyphs.recording, "recording", look.palette.bad),
            (look.glyphs.learning, "learning", look.palette.learn),
            (look.glyphs.good, "done", look.palette.good),
            (look.glyphs.needs, "needs you", look.palette.warn),
            (look.glyphs.failed, "failed", look.palette.bad),
            (look.glyphs.off, "off", look.palette.dim),
        )
        self.set_lines([Text.assemble(" ", *((f"{sign} {word}   ", style) for sign, word, style in samples))])


class ThemesPane(ListPane):
    scope = "themes"

    def __init__(self) -> None:
        super().__init__("themes", "Colours", choose=True)
        self._names: list[str] = []

    def on_mount(self) -> None:
        face = self.face
        others = sorted(name for name in face.available_themes if name not in theme.TITLES)
        self._names = [*theme.TITLES, *others] if face.many_colours else [theme.TERMINAL]
        self.selected = self._names.index(face.look.theme) if face.look.theme in self._names else 0

    def key_words(self) -> list[tuple[str, str]]:
        return [("enter", "keep"), ("esc", "as before")]

    def compose_all(self, state: EngineState) -> list[Text]:
        lines = [Text.assemble(f" {name:<22}", (theme.TITLES.get(name, ""), self.look.palette.dim)) for name in self._names]
        if not self.face.many_colours:
            lines.append(Text(" This terminal says that it has 16 colours or none (TERM, COLORTERM, NO_COLOR).", self.look.palette.dim))
        return lines

    def move(self, by: int) -> None:
        super().move(by)
        self.selected = min(self.selected, len(self._names) - 1)
        self.face.use_theme(self._names[self.selected])
        self.face.update_all()

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            self.face.memory.keep(theme=self.face.look.theme)
            self.screen.dismiss()


class ThemesScreen(ListScreen):
    def __init__(self) -> None:
        super().__init__()
        self._before = ""

    def body(self) -> LinesPane:
        pane = ThemesPane()
        pane.add_class("full-pane")
        return pane

    def compose(self) -> ComposeResult:
        self._before = self.face.look.theme
        yield StatusLine("status")
        yield self.body()
        sample = SampleLine("sample")
        sample.styles.height = 1
        yield sample
        yield HintLine("hint")
        yield FooterLine("footer")

    def on_unmount(self) -> None:
        """Whatever led away from here: only what was kept stays."""
        face = face_of(self)
        kept = face.memory.text("theme", "")
        if not face.leaving and face.look.theme != kept:
            face.use_theme(self._before)

"""The page of one evaluation, and the page of two beside each other."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text

from engine.comparison import Difference, Kept
from engine.state import EngineState
from tui.panes.base import LinesPane, cut
from tui.pump import one_line
from tui.screens import evaluation_deeds, evaluation_parts
from tui.screens.lists import ListPane, ListScreen
from tui.screens.session_deeds import busy_line


class PagePane(ListPane):
    """Lines that scroll; the last one tells what goes on meanwhile."""

    def __init__(self, id: str, title: str) -> None:
        super().__init__(id, title)
        self._made_for: tuple[object, ...] = ()
        self._page: list[Text] = []

    def key_words(self) -> list[tuple[str, str]]:
        return [*super().key_words(), ("up down", "scroll"), ("esc", "back")]

    def make(self, width: int) -> list[Text]:
        raise NotImplementedError

    def forget(self) -> None:
        """Make the page anew."""
        self._made_for = ()
        if self.is_attached:
            self.show(self.face.newest)

    def compose_all(self, state: EngineState) -> list[Text]:
        width = self.size.width
        key = (width, self.look)
        if width and key != self._made_for:
            self._made_for = key
            self._page = [cut(line, width, self.look.glyphs.ellipsis) for line in self.make(width)]
        return list(self._page)

    def show(self, state: EngineState) -> None:
        super().show(state)
        busy = busy_line(self.face, self.size.width)
        height = self.size.height
        if busy is not None and height:
            lines = [*self.lines[: height - 1], *[Text()] * (height - 1 - len(self.lines)), busy]
            self.set_lines(lines)


class EvaluationPane(PagePane):
    scope = "evaluation"

    def __init__(self, kept: Kept) -> None:
        super().__init__("evaluation", "")
        self.kept = kept
        self.set_title(f"Evaluation  {kept.id}")

    def make(self, width: int) -> list[Text]:
        return evaluation_parts.page(self.kept, width, self.look)

    def do_evaluation_plots(self) -> None:
        evaluation_deeds.save_page(self.face, self.kept)

    def do_evaluation_plots_open(self) -> None:
        evaluation_deeds.open_page(self.face, self.kept)

    def do_evaluation_stop(self) -> None:
        self.face.desk.cancel()


class ComparisonPane(PagePane):
    scope = "comparison"

    def __init__(self, first: Kept, second: Kept) -> None:
        super().__init__("comparison", "")
        self.first, self.second = first, second
        self.set_title("A and B compared")
        self.found: list[Difference] | None = None
        self._problem = ""

    def on_mount(self) -> None:
        self._compare()

    def _compare(self) -> None:
        """Off the drawing loop."""
        from engine.comparison import compare

        first, second = self.first, self.second

        def done(found: list[Difference]) -> None:
            self.found = found
            self.forget()

        def failed(error: Exception) -> None:
            self._problem = one_line(error)
            self.forget()

        self.face.desk.quick(lambda: compare(first, second), done, failed)

    def make(self, width: int) -> list[Text]:
        palette, glyphs = self.look.palette, self.look.glyphs
        if self._problem:
            return [Text(f"{glyphs.failed} {self._problem}", palette.bad)]
        if self.found is None:
            return [Text(f"{glyphs.waiting} comparing", palette.dim)]
        return evaluation_parts.comparison(self.first, self.second, self.found, width, self.look)

    def do_comparison_swap(self) -> None:
        self.first, self.second, self.found = self.second, self.first, None
        self.forget()
        self._compare()


class _PageScreen(ListScreen):
    def __init__(self, make: Callable[[], LinesPane]) -> None:
        super().__init__()
        self._make = make

    def body(self) -> LinesPane:
        pane = self._make()
        pane.add_class("full-pane")
        return pane


class EvaluationScreen(_PageScreen):
    def __init__(self, kept: Kept) -> None:
        super().__init__(lambda: EvaluationPane(kept))


class ComparisonScreen(_PageScreen):
    def __init__(self, first: Kept, second: Kept) -> None:
        super().__init__(lambda: ComparisonPane(first, second))

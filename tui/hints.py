"""The one next step for somebody who is new, and the line that shows it."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from engine.state import EngineState
from tui.pump import Phase
from tui.registry import Registry, is_function_key, key_name
from tui.theme import Look

_WORDS: Final = {
    "demo": "No sessions yet: {p} play, or {k} watch a pilot; then {r} records.",
    "record": "No sessions yet: {k} records; {v} saves.",
    "save": "The recording is not saved: {k} saves it, {x} discards it.",
    "train_all": "Recorded. {k} trains on it; {r} records more.",
    "arm": "Trained. {k} lets {flies} fly.",
    "newer": "Trained. {k} flies {flies}, not {newer}: promote it there first.",
}


def next_step(state: EngineState, phase: Phase, trained: bool) -> str:
    """The id of the action to do now; empty while something is under way."""
    if phase != "ready":
        return ""
    if state.recorder.phase == "unsaved":
        return "save"
    if state.recorder.phase != "idle" or state.bot.phase != "disarmed" or any(job.phase == "running" for job in state.jobs):
        return ""
    if not state.sessions:
        return "demo" if state.capture.source == "none" else "record"
    trained = trained or any(job.kind == "train" and job.phase == "done" for job in state.jobs)
    return "arm" if trained and state.policies else "train_all"


def hint(step: str, phase: Phase, failure: str, registry: Registry, look: Look, flies: str = "", newer: str = "") -> Text:
    """The line above the footer when no answer stands there. flies: the policy that would; newer: one that is newer and would not."""
    palette, glyphs = look.palette, look.glyphs
    if phase == "failed":
        return Text(f" {glyphs.failed} the engine did not start: {failure}", palette.bad)
    if phase == "starting":
        return Text(f" {glyphs.waiting} starting the engine", palette.dim)
    if not step:
        return Text("")
    names = {letter: registry[name].key_text() for letter, name in (("p", "play"), ("r", "record"), ("v", "save"), ("x", "discard"))}
    words = _WORDS["newer" if step == "arm" and flies and newer else step].format(
        k=registry[step].key_text(), flies=flies or "it", newer=newer, **names
    )
    return Text.assemble((f" {glyphs.pointer} Next: ", f"bold {palette.accent}"), (words, palette.accent))


def in_browser(registry: Registry) -> str:
    """The letters beside the function keys, of which a browser may keep some for itself (F5 loads the page anew)."""
    twins = (("record", "records"), ("save", "saves"), ("discard", "discards"), ("stop_all", "stops everything"))
    letters = [(next((key for key in registry[name].keys if not is_function_key(key)), ""), does) for name, does in twins]
    return f"in a browser, whatever it does with F5: {', '.join(f'{key_name(key)} {does}' for key, does in letters if key)}"


def answer(text: str, level: str, look: Look) -> Text:
    """The answer to a command."""
    palette, glyphs = look.palette, look.glyphs
    sign, style = {"error": (glyphs.failed, palette.bad), "warning": (glyphs.needs, palette.warn)}.get(level, (glyphs.good, palette.good))
    return Text(f" {sign} {text}", style)


def working(command: str, elapsed_s: float, look: Look) -> Text:
    """A command that takes its time."""
    slow = elapsed_s > 4 and command in ("source", "arena window", "record toggle")
    once = " (the first time the arena is compiled, which can take half a minute)" if slow else ""
    return Text(f" {look.glyphs.waiting} {command}: at work, {elapsed_s:.0f} s{once}", look.palette.warn)

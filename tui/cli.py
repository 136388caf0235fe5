"""The command line: finds the command, prepares the streams, turns errors into one line.

Each command is a small Typer app in ``tui.commands``, imported only when it is asked for: ``--help`` imports
neither Typer nor any library. The options of ``GLOBAL_OPTIONS`` may stand anywhere in the line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from tui.commands.invocation import Invocation, UsageError, say, say_error


class Entry(NamedTuple):
    module: str
    """In ``tui.commands``."""
    help: str
    app: str = "app"
    """The name of its ``typer.Typer`` in the module."""


COMMANDS: Final[dict[str, dict[str, Entry]]] = {
    "Play and record": {
        "arena": Entry("arena", "the embedded game: play it, or let a scripted pilot play"),
        "record": Entry("record", "record play in the arena or on the screen"),
        "sessions": Entry("sessions", "list | show | play | clip | cut | merge | tag | verify | trash: what was recorded"),
        "labels": Entry("labels", "list | set | undo: what a person says of stretches of a session"),
        "games": Entry("games", "add | list | show | check | use | remove | undo: games of one's own"),
        "import": Entry("import_", "take in recordings of the earlier scripts: JSON, PKL, NPZ"),
        "data": Entry("data", "stats | perceive: what the recordings hold, and looking at them anew"),
    },
    "Learn and fly": {
        "train": Entry("train", "strategist | tactician | executor | all | detector: learn from recordings"),
        "fly": Entry("fly", "let a policy fly the arena or a window"),
        "evaluate": Entry("evaluate", "score a policy between random and the demonstrator"),
        "evaluations": Entry("evaluations", "list | compare: scores that were kept"),
        "models": Entry("models", "list | show | promote | rollback: training runs and policies"),
        "tensorboard": Entry("tensorboard", "training curves in a browser"),
        "league": Entry("league", "data | imitate | refine | run | report | watch | replay | record: agents that learn"),
        "demo": Entry("demo", "record, learn and fly once in the arena, and say how well (about ten minutes)"),
    },
    "The running engine": {
        "headless": Entry("headless", "run the engine without the face"),
        "attach": Entry("attach", "the face of an engine that runs already, here or over SSH"),
        "web": Entry("web", "the face of an engine that runs already, in a browser on this machine"),
        "engines": Entry("engine_calls", "the engines that run", "engines_app"),
        "status": Entry("engine_calls", "what it does now", "status_app"),
        "stop": Entry("engine_calls", "disarm, save and end it", "stop_app"),
    },
    "Look after it": {
        "doctor": Entry("doctor", "what this machine can do: display, hotkeys, detector, disk, and remedies"),
        "trust": Entry("trust", "a detector from elsewhere (.pt) that you trust: makes it an ONNX file"),
        "config": Entry("config", "path | show | check: the settings in force and where they come from"),
    },
}
"""Heading -> command -> where it is and its line in ``--help``."""

GLOBAL_OPTIONS: Final[tuple[tuple[str, str, str], ...]] = (
    ("--config", "FILE", "settings file to use"),
    ("--set", "TABLE.KEY=VALUE", "one setting for this run; may be given more than once"),
    ("--workspace", "FOLDER", "folder of recordings, models and logs"),
    ("--debug", "", "more in the log, and where an error came from"),
    ("--version", "", "the version, and what it runs on"),
    ("--help", "", "this text; after a command, that command's options"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit status: 0 done, 1 an error, 2 a wrong command line, 130 interrupted."""
    if arguments is None:
        _speak_utf8()
    _prepare_process()
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        invocation, rest = _global_options(given)
        status = _dispatch(invocation, rest)
        sys.stdout.flush()
        return status
    except UsageError as error:
        say_error(f"{error}; see secondseat --help")
        return 2
    except KeyboardInterrupt:
        say_error("interrupted")
        return 130
    except BrokenPipeError:  # the reader of our output has left: not an error of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as error:
        if debug:
            raise
        say_error(_told(error))
        return 1


def _speak_utf8() -> None:
    """Start over in UTF-8 mode where the locale knows too few letters for file names and window titles (LC_ALL=C).

    What is printed stays in the terminal's own encoding, with replacements.
    """
    if os.name != "posix" or sys.getfilesystemencoding().lower() == "utf-8" or os.environ.get("PYTHONUTF8") == "1":
        return
    os.environ["PYTHONUTF8"] = "1"
    os.environ.setdefault("PYTHONIOENCODING", f"{getattr(sys.stdout, 'encoding', None) or 'ascii'}:replace")
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _prepare_process() -> None:
    """Streams that replace what they cannot encode, and children that never import from the present folder."""
    os.environ["PYTHONSAFEPATH"] = "1"
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # started with the descriptor closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - lives as long as the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _told(error: Exception) -> str:
    """One line for an error. Ours are written for the person; of others the kind is named too."""
    words = " ".join(str(error).split())
    if type(error).__module__.partition(".")[0] in {"data", "engine", "trainers", "league", "tui"} and words:
        return words
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ModuleNotFoundError):
        return f"{words}; install what is missing with: pip install -e . (or make setup)"
    if type(error) in (ValueError, RuntimeError) and words:
        return words
    return f"unexpected {type(error).__name__}: {words or 'no text'}; add --debug to see where it came from"


def _global_options(given: list[str]) -> tuple[Invocation, list[str]]:
    """Take our own options out of the line, and spell long options with hyphens (``--batch_size`` is taken too)."""
    valued = {name for name, value, _ in GLOBAL_OPTIONS if value}
    found: dict[str, list[str]] = {name: [] for name in valued}
    rest: list[str] = []
    debug = False
    words = iter(given)
    for word in words:
        if word == "--":
            rest += [word, *words]
            break
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            name = name.replace("_", "-")
            word = name + equals + value
        if name in valued:
            if not equals:
                value = next(words, "")
            if not value:
                raise UsageError(f"{name} needs a value")
            found[name].append(value)
        elif word == "--debug":
            debug = True
        else:
            rest.append(word)
    config, workspace = (found[name][-1] if found[name] else "" for name in ("--config", "--workspace"))
    return Invocation(config=config, overrides=tuple(found["--set"]), workspace=workspace, debug=debug), rest


def _dispatch(invocation: Invocation, rest: list[str]) -> int:
    name = rest[0] if rest else ""
    if name in {"--help", "-h", "help"}:
        say(help_text())
        return 0
    if name == "--version":
        say(_version())
        return 0
    if not name:
        from tui.start import run_app

        return run_app(lambda: invocation.load(strict=False), debug=invocation.debug, words=tuple(invocation.words()))
    entry = next((group[name] for group in COMMANDS.values() if name in group), None)
    if entry is None:
        raise UsageError(_unknown(name))
    from importlib import import_module

    if not invocation.debug and not sys.warnoptions:
        import warnings

        warnings.simplefilter("ignore")  # libraries warn programmers, not the person at the terminal

    import typer

    command = getattr(import_module(f"tui.commands.{entry.module}"), entry.app)
    try:
        status = command(args=rest[1:], prog_name=f"secondseat {name}", obj=invocation, standalone_mode=False)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    except typer.Abort:  # a question that was not answered
        say_error("not answered: nothing was done")
        return 1
    except Exception as error:
        show = getattr(error, "show", None)  # only Typer's own errors have one: a word on the command line that it does not take
        if show is None:
            raise
        error.__dict__["message"] = str(error.__dict__.get("message", "")).removeprefix("Value error, ")
        show()
        return int(getattr(error, "exit_code", 2))
    return status if isinstance(status, int) else 0


def _unknown(name: str) -> str:
    if name.startswith("-"):
        return f"no such option: {name}"
    from difflib import get_close_matches

    near = get_close_matches(name, [name for group in COMMANDS.values() for name in group], n=1)
    return f"no such command: {name}" + (f"; did you mean {near[0]}?" if near else "")


def help_text() -> str:
    """What ``secondseat --help`` prints."""
    lines = ["Usage: secondseat [COMMAND] [OPTIONS]", "", "Without a command the face opens: the terminal control centre.", ""]
    for heading, group in COMMANDS.items():
        lines += [f"{heading}:", *(f"  {name:<12} {entry.help}" for name, entry in group.items()), ""]
    lines.append("Options, anywhere in the line:")
    lines += [f"  {f'{name} {value}'.strip():<24} {text}" for name, value, text in GLOBAL_OPTIONS]
    lines += ["", "secondseat COMMAND --help tells the options of a command; commands that print facts take --json."]
    return "\n".join(lines)


def _version() -> str:
    import platform
    from importlib.metadata import version

    return f"secondseat {version('secondseat')} (Python {platform.python_version()}, {platform.system()} {platform.machine()})"


if __name__ == "__main__":
    sys.exit(main())

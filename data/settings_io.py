"""Finding, reading and writing ``config.toml``.

Where settings come from, the first that is there: ``--config FILE``, the environment's ``SECONDSEAT_CONFIG``,
``config.toml`` in the present folder, ``config.toml`` in the user's config folder, the built-in defaults. Single
values are then replaced by ``SECONDSEAT_<TABLE>__<KEY>=value`` and, last, by ``--set table.key=value``.

Two ways of reading: the command line is strict (a wrong value is an error), the face is lenient (a wrong value
becomes a notice and its default is used), so that it always starts. Unknown keys are notices in both, and stay in
the file when it is saved. A file that cannot be read as TOML is never overwritten: the face keeps a copy of it as
``config.toml.corrupt`` and saving sets the file itself aside.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from pydantic import ValidationError
from tomlkit import TOMLDocument, document, item, parse, table
from tomlkit import value as toml_value
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item

from data.files import replace_path, write_whole
from data.profile import ARENA_PROFILE
from data.settings import TABLES, Settings, SettingsError
from data.settings_text import Path as KeyPath
from data.settings_text import Problem, annotation_at, problem_of, sift
from data.workspace import WorkspaceError, user_config_folder

FILE_NAME: Final = "config.toml"
ENVIRONMENT_PREFIX: Final = "SECONDSEAT_"
CONFIG_VARIABLE: Final = "SECONDSEAT_CONFIG"


def find_settings_file(
    config: Path | None = None, environ: Mapping[str, str] | None = None, cwd: Path | None = None
) -> tuple[Path | None, str]:
    """The settings file in force and why it is this one; None when the built-in defaults are.

    Raises SettingsError when a file that was asked for by name is not there.
    """
    environ = os.environ if environ is None else environ
    for given, why in ((config, "--config"), (environ.get(CONFIG_VARIABLE), CONFIG_VARIABLE)):
        if given:
            path = Path(given).expanduser()
            if not path.is_file():
                raise SettingsError(f"{why} {path}: there is no such file; name an existing one, or leave it out")
            return path, why
    here = (cwd or Path.cwd()) / FILE_NAME
    if here.is_file() and _looks_like_ours(here):
        return here, "the present folder"
    with contextlib.suppress(WorkspaceError):  # no home folder: no file of the user's
        own = user_config_folder(environ) / FILE_NAME
        if own.is_file():
            return own, "your config folder"
    return None, "built-in defaults"


def settings_file_to_write(config: Path | None = None) -> Path:
    """Where something that a person wants saved goes: into the file in force, else into their config folder."""
    return find_settings_file(config)[0] or user_config_folder() / FILE_NAME


def _looks_like_ours(path: Path) -> bool:
    """Other programs have a ``config.toml`` too; one that parses and shares no table with ours is not ours."""
    try:
        names = set(parse(path.read_text(encoding="utf-8-sig")).unwrap())
    except (OSError, ValueError, TOMLKitError):
        return True  # damaged: reading it says so
    return not names or bool(names & {*TABLES, "games", "game"})


def load_settings(
    config: Path | None = None,
    overrides: Sequence[str] = (),
    *,
    strict: bool = True,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> tuple[Settings, tuple[str, ...]]:
    """The settings in force, and notices for the person (unknown keys; when lenient, also what was wrong).

    ``overrides`` are ``table.key=value``. Raises SettingsError on the first wrong value when ``strict``.
    """
    environ = os.environ if environ is None else environ
    notices: list[str] = []
    try:
        path, _ = find_settings_file(config, environ, cwd)
    except SettingsError as error:
        if strict:
            raise
        notices.append(str(error))
        path = None
    label = _label(path, cwd)
    raw: dict[str, Any] = {}
    if path is not None:
        try:
            raw = read_document(path).unwrap()
        except SettingsError as error:
            if strict:
                raise
            notices.append(f"{error}; the defaults are used{_keep_copy(path)}")
    origins: dict[KeyPath, str] = {}
    for name, text in environ.items():
        if name.startswith(ENVIRONMENT_PREFIX) and "__" in name:
            keys = tuple(part.lower() for part in name.removeprefix(ENVIRONMENT_PREFIX).split("__"))
            _override(raw, keys, text, origins, name)
    for text in overrides:
        dotted, equals, value = text.partition("=")
        keys = tuple(part.strip() for part in dotted.split("."))
        if not equals or not all(keys):
            raise SettingsError(f"--set {text}: write it as table.key=value, for example --set capture.fps=60")
        _override(raw, keys, value.strip(), origins, f"--set {dotted.strip()}")
    settings, problems, unknown = validated(raw, strict=strict)
    if strict:  # a mistyped --set would otherwise do nothing
        problems += [problem for problem in unknown if origins.get(problem.path, "").startswith("--set")]
    if problems and strict:
        raise SettingsError(problems[0].text(label, origins) + (f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""))
    notices += [f"{problem.text(label, origins)}; the default is used" for problem in problems]
    notices += [f"{problem.text(label, origins)}" for problem in unknown]
    return settings, tuple(notices)


def read_document(path: Path) -> TOMLDocument:
    """The file with its comments. Raises SettingsError when it cannot be read, is not text, or not TOML."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror or error}") from error
    if b"\0" in content:
        raise SettingsError(f"{path}: holds NUL bytes, as after a crash or a full disk; restore it, or remove it")
    if not content.strip():
        raise SettingsError(f"{path}: is empty; restore it, or remove it to use the defaults")
    try:
        return parse(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except (TOMLKitError, ValueError) as error:
        raise SettingsError(f"{path}: is not TOML: {error}; correct that line, or remove the file") from error


def validated(raw: dict[str, Any], *, strict: bool) -> tuple[Settings, list[Problem], list[Problem]]:
    """The settings that plain values describe, the wrong values, and the unknown keys.

    When lenient, what is wrong is left out (its default is used) until the rest is valid.
    """
    raw, unknown = sift(_with_names(raw))
    problems: list[Problem] = []
    while True:
        try:
            return Settings.model_validate(raw), problems, unknown
        except ValidationError as error:
            found = [problem_of(raw, detail) for detail in error.errors(include_url=False)]
            problems += found
            if strict:
                return Settings(), problems, unknown
            removed = [_remove(raw, problem.culprit or problem.path) for problem in found]
            if not any(removed):
                raise  # an error that removing values cannot heal is ours


def _with_names(raw: dict[str, Any]) -> dict[str, Any]:
    """Each game knows its name from its table; the arena's table changes single values of the built-in profile."""
    games = raw.get("games", {})
    if not isinstance(games, dict):
        return raw
    named: dict[str, Any] = {ARENA_PROFILE.name: ARENA_PROFILE.model_dump()}
    for name, game in cast(dict[str, Any], games).items():
        named[name] = {**named.get(name, {}), **game, "name": name} if isinstance(game, dict) else game
    return {**raw, "games": named}


def _remove(raw: dict[str, Any], path: KeyPath) -> bool:
    """Take the wrong value out: the key itself where it has a default, else the whole it belongs to."""
    keys = [key for key in path if isinstance(key, str)]
    if keys[0] == "games" and len(keys) > 1:  # half a profile is worse than none
        keys = keys[:2]
        if keys[1] == ARENA_PROFILE.name:
            cast(dict[str, Any], raw["games"])[ARENA_PROFILE.name] = ARENA_PROFILE.model_dump()
            return True
    if keys[:2] == ["capture", "region"]:
        keys = keys[:2]
    inner = raw
    for key in keys[:-1]:
        following = inner.get(key)
        if not isinstance(following, dict):
            return False
        inner = cast(dict[str, Any], following)
    there = keys[-1] in inner
    inner.pop(keys[-1], None)
    return there


def _override(raw: dict[str, Any], keys: tuple[str, ...], text: str, origins: dict[KeyPath, str], origin: str) -> None:
    inner = raw
    for key in keys[:-1]:
        following = inner.get(key)
        if not isinstance(following, dict):
            following = inner[key] = {}
        inner = cast(dict[str, Any], following)
    inner[keys[-1]] = _typed(keys, text)
    origins[keys] = origin


def _typed(keys: tuple[str, ...], text: str) -> Any:
    """A value given as text: as it stands for a text setting, else as TOML would read it."""
    if annotation_at(keys) is not str:
        with contextlib.suppress(TOMLKitError, ValueError):
            return cast(Any, toml_value(text)).unwrap()
    quoted = len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text


def _label(path: Path | None, cwd: Path | None) -> str:
    if path is None:
        return "settings"
    try:
        return str(path.absolute().relative_to((cwd or Path.cwd()).absolute()))
    except ValueError:
        return str(path)


def _keep_copy(path: Path) -> str:
    """Keep what is left of a damaged file beside it, once; says so, or why not."""
    copy = path.with_name(path.name + ".corrupt")
    try:
        content = path.read_bytes()
        if not content.strip():
            return ""
        if not copy.exists():
            write_whole(copy, content)
    except OSError as error:
        return f" (no copy was kept: {error.strerror or error})"
    return f", and a copy is kept as {copy.name}"


def save_settings(path: Path, changes: Mapping[str, Any]) -> str:
    """Write single values (``{"capture.fps": 60}``) to the file; its comments, order and unknown keys stay.

    None removes a key. A file that is not TOML is renamed to ``*.corrupt`` first. Returns a line for the person.
    Raises SettingsError when a value is not allowed or the file cannot be written; it is then as it was.
    """
    aside = ""
    content = document()
    if path.exists():
        try:
            content = read_document(path)
        except SettingsError:
            aside = f"; the damaged file is kept as {_set_aside(path).name}"
    for dotted, value in changes.items():
        put_value(content, tuple(dotted.split(".")), value)
    _, problems, _ = validated(content.unwrap(), strict=True)
    changed = {tuple(dotted.split(".")) for dotted in changes}
    for problem in problems:  # an old error elsewhere must not keep a person from saving something else
        if problem.path == () or any(problem.path[: len(keys)] == keys or keys[: len(problem.path)] == problem.path for keys in changed):
            raise SettingsError(problem.text(path.name, {}))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(Path(os.path.realpath(path)), content.as_string().encode("utf-8"))  # a link stays a link
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {error.strerror or error}; its old content is untouched") from error
    return f"saved {', '.join(changes)} to {path}{aside}"


def _set_aside(path: Path) -> Path:
    """Rename a damaged file to ``<name>.corrupt`` (``.corrupt-2`` …, never over another file)."""
    names = [".corrupt", *(f".corrupt-{number}" for number in range(2, 1000))]
    aside = next(p for p in (path.with_name(path.name + name) for name in names) if not p.exists())
    replace_path(path, aside)
    return aside


def put_value(content: TOMLDocument, keys: tuple[str, ...], value: Any) -> None:
    """Set one value of a document, making its tables; None removes it. The comment behind an old value stays."""
    inner = cast(MutableMapping[str, Any], content)
    for key in keys[:-1]:
        if not isinstance(inner.get(key), MutableMapping):
            inner[key] = table()
        inner = cast(MutableMapping[str, Any], inner[key])
    old = inner.get(keys[-1])
    if value is None:
        inner.pop(keys[-1], None)
        return
    fresh = cast(Item, item(value))
    if isinstance(old, Item):
        fresh.trivia.comment_ws, fresh.trivia.comment = old.trivia.comment_ws, old.trivia.comment
    inner[keys[-1]] = fresh

"""Games of one's own in ``config.toml``: written, removed and chosen without touching anything else in the file.

Each change keeps the file as it was in a backup beside it, and ``undo`` changes places with that. A file that is not
TOML is refused and stays as it is. Unknown keys, comments and the order of everything else are kept.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from tomlkit import TOMLDocument, array, document, inline_table, item, parse, table

from data.files import write_whole
from data.profile import ARENA_PROFILE, GameProfile
from data.settings import SettingsError
from data.settings_io import put_value, read_document, validated

BACKUP_SUFFIX: Final = ".games-backup"
_ALWAYS: Final = ("window_title", "picture_size", "keys")
"""Fields that are written also when they are at their defaults; the others only when they are not."""


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to which file. ``backup`` is the file as it was before; None when there was none."""

    path: Path
    backup: Path | None
    text: str

    def sentence(self) -> str:
        """The whole line for the person."""
        return self.text + (f"; as it was before: {self.backup}" if self.backup is not None else "")


def game_of_file(path: Path, name: str) -> bool:
    """Whether the file describes the game. Raises SettingsError when it cannot be read."""
    return path.exists() and name in _games(read_document(path).unwrap())


def save_game(path: Path, profile: GameProfile, *, use: bool = False) -> Change:
    """Write ``[games.<name>]``; with ``use`` also make it the game that is watched and played.

    Of a game that is there already the known values are replaced, and keys that are not ours stay. Raises SettingsError
    and leaves the file as it was when it cannot be read or written, or the profile does not fit into it.
    """
    if profile.name == ARENA_PROFILE.name:
        raise SettingsError(f"{profile.name!r} is the embedded game's own name; choose another one")

    def change(content: TOMLDocument) -> None:
        games = cast("dict[str, Any]", content)
        if "games" not in games:
            games["games"] = table(is_super_table=True)
        inner = cast("dict[str, Any]", games["games"])
        if profile.name not in inner:
            inner[profile.name] = table()
        _fill(cast("dict[str, Any]", inner[profile.name]), profile)
        if use:
            _use(content, profile.name)

    text = f"games.{profile.name} is in {path}" + (f", and {profile.name} is the game that is watched" if use else "")
    return _change(path, profile.name, change, text)


def remove_game(path: Path, name: str) -> Change:
    """Take ``[games.<name>]`` out of the file; when it was the game that is played, the arena is again."""

    def change(content: TOMLDocument) -> None:
        root = cast("dict[str, Any]", content)
        if name not in _games(content.unwrap()):
            raise SettingsError(f"{path} has no [games.{name}]; secondseat games list tells which games there are")
        del root["games"][name]
        if not _games(content.unwrap()):
            del root["games"]
        if root.get("game") == name:
            _use(content, ARENA_PROFILE.name)

    return _change(path, name, change, f"games.{name} is out of {path}")


def use_game(path: Path, name: str) -> Change:
    """Make it the game that is watched and played: ``game`` and ``[capture] source``."""
    text = f"{name} is the game that is watched"
    return _change(path, name, lambda content: _use(content, name), text)


def undo(path: Path) -> Change:
    """The file as it was before the last change of a game; doing it twice brings the change back."""
    target = Path(os.path.realpath(path))
    backup = _backup_of(target)
    if not backup.is_file():
        raise SettingsError(f"{backup}: there is no such file, so nothing can be taken back")
    old = _bytes(backup)
    read_document(backup)
    now = _bytes(target) if target.exists() else b""
    _write(target, old)
    _write(backup, now)
    return Change(path, None, f"{path} is as it was before the last change of a game; a second undo brings the change back")


def _use(content: TOMLDocument, name: str) -> None:
    put_value(content, ("game",), name)
    put_value(content, ("capture", "source"), "arena" if name == ARENA_PROFILE.name else "screen")


def _change(path: Path, name: str, change: Callable[[TOMLDocument], None], text: str) -> Change:
    target = Path(os.path.realpath(path))  # a link stays a link
    there = target.exists()
    content = read_document(path) if there else document()
    before = _rest(content.unwrap(), name)
    change(content)
    written = _spaced(content.as_string(), f"[games.{name}]")
    raw = parse(written).unwrap()
    if _rest(raw, name) != before:
        raise SettingsError(
            f"{path}: games.{name} cannot be changed without touching other lines; write it as one [games.{name}] table, then try again"
        )
    _, problems, _ = validated(raw, strict=True)
    for problem in problems:  # an old mistake elsewhere must not keep a person from saving a game
        if problem.path == () or problem.path[:2] == ("games", name) or problem.path[0] in ("game", "capture"):
            raise SettingsError(f"{problem.text(path.name, {})}; the file is untouched")
    backup = _backup_of(target) if there else None
    if backup is not None:
        _write(backup, _bytes(target))
    _write(target, written.encode("utf-8"))
    return Change(path, backup, text)


def _rest(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Everything of a file that a change of one game leaves alone."""
    rest = copy.deepcopy(dict(raw))
    rest.pop("game", None)
    for table_name, key in (("games", name), ("capture", "source")):
        inner = rest.get(table_name)
        if isinstance(inner, dict):
            cast("dict[str, Any]", inner).pop(key, None)
            if not inner:
                rest.pop(table_name)
    return rest


def _fill(game: dict[str, Any], profile: GameProfile) -> None:
    values = _values(profile)
    for field in GameProfile.model_fields:
        if field not in values:
            game.pop(field, None)
        elif game.get(field) != values[field]:
            old = game.get(field)
            fresh = _written(values[field])
            if old is not None and hasattr(old, "trivia") and hasattr(fresh, "trivia"):
                fresh.trivia.comment_ws, fresh.trivia.comment = old.trivia.comment_ws, old.trivia.comment
            if _are_tables(values[field]):
                game.pop(field, None)  # a list of tables of the long form cannot become one line in its place
            game[field] = fresh


def _values(profile: GameProfile) -> dict[str, Any]:
    """The profile as plain TOML values: what is not at its default, and what a person looks for."""
    default = GameProfile(name=profile.name).model_dump(mode="json")
    values = profile.model_dump(mode="json", exclude={"name", "gauges", "icons", "choices", "classes"})
    out = {k: v for k, v in values.items() if k in _ALWAYS or v != default[k]}
    for field in ("classes", "gauges", "icons", "choices"):
        rows = [one.model_dump(mode="json", exclude_defaults=True) for one in getattr(profile, field)]
        if rows:
            out[field] = rows
    return out


def _written(value: Any) -> Any:
    """A TOML item: lists of tables one a line."""
    if not _are_tables(value):
        return cast("Any", item(value))
    lines = array()
    for row in cast("list[dict[str, Any]]", value):
        line = cast("dict[str, Any]", inline_table())
        line.update(row)
        lines.add_line(line)
    lines.add_line(indent="")
    return lines


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) for one in cast("list[Any]", value))


def _spaced(text: str, header: str) -> str:
    """A blank line before the game's table and after it."""
    lines = text.splitlines(keepends=True)
    at = next((n for n, line in enumerate(lines) if line.strip() == header), None)
    if at is None:
        return text
    after = next((n for n in range(at + 1, len(lines)) if re.match(r"\[", lines[n])), None)
    for n in (after, at):
        if n and lines[n - 1].strip() and not lines[n - 1].lstrip().startswith("#"):
            lines.insert(n, "\n")
    return "".join(lines)


def _games(raw: Mapping[str, Any]) -> dict[str, Any]:
    games = raw.get("games")
    return cast("dict[str, Any]", games) if isinstance(games, dict) else {}


def _backup_of(target: Path) -> Path:
    return target.with_name(target.name + BACKUP_SUFFIX)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror or error}") from error


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {error.strerror or error}; its old content is untouched") from error

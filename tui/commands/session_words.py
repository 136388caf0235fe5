"""What a person says of a session: a note, tags, a title. The recording itself is not touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.invocation import say, say_json, workspace_of
from tui.commands.options import Json
from tui.commands.session_times import Id

if TYPE_CHECKING:
    from data.annotations import Annotations


def note(
    context: typer.Context,
    session: Id,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="the new note; left out: print it; empty: remove it")] = None,
    as_json: Json = False,
) -> None:
    """Print or set a session's note."""
    from data.annotations import read, update
    from data.catalog import find

    folder = find(workspace_of(context).root, session)
    said = read(folder) if text is None else update(folder, note=text)
    _tell(folder.name, said, as_json, said.note or f"{folder.name} has no note")


def tag(
    context: typer.Context,
    session: Id,
    tags: Annotated[list[str] | None, typer.Argument(metavar="[TAG]...", help="tags to add; left out: print them")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="TAG", help="a tag to take away (may be repeated)")] = None,
    as_json: Json = False,
) -> None:
    """Print, add or take away a session's tags."""
    from data.annotations import read, update
    from data.catalog import find

    folder = find(workspace_of(context).root, session)
    said = update(folder, add=tags or (), remove=remove or ()) if tags or remove else read(folder)
    _tell(folder.name, said, as_json, " ".join(said.tags) or f"{folder.name} has no tags")


def rename(
    context: typer.Context,
    session: Id,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="the new title; empty: none")],
    as_json: Json = False,
) -> None:
    """Give a session a title. Its id, by which everything else names it, stays."""
    from data.annotations import update
    from data.catalog import find

    folder = find(workspace_of(context).root, session)
    said = update(folder, title=title)
    _tell(folder.name, said, as_json, f"{folder.name} is called {said.title!r}" if said.title else f"{folder.name} has no title any more")


def _tell(name: str, said: Annotations, as_json: bool, text: str) -> None:
    if said.problem:
        from data.annotations import AnnotationError

        raise AnnotationError(f"{name}/{said.problem}")
    if as_json:
        say_json({"id": name, **said.to_json()})
    else:
        say(text)

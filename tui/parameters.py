"""The parameters of the actions as models: the edit forms are made from them, and what is kept is checked by them.

Imported when a form opens or an action with parameters runs, never at start-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

PilotName = Literal["expert", "novice", "random"]


class Parameters(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class DemoParameters(Parameters):
    """A scripted pilot plays the arena."""

    pilot: PilotName = Field(default="expert", description="who plays")


class SourceParameters(Parameters):
    """What is captured."""

    kind: Literal["arena", "screen"] = Field(default="arena", description="the embedded arena, or a window of the screen")
    window: str = Field(default="", max_length=500, description="screen: part of the window's title; empty: the game's own")


class TrainParameters(Parameters):
    """How a level is trained."""

    quick: bool = Field(default=False, description="fewer epochs: for a first look")
    epochs: int | None = Field(default=None, ge=1, le=100_000, description="empty: what the settings say")


class DetectorParameters(Parameters):
    """How the detector is trained."""

    quick: bool = Field(default=False, description="fewer pictures and epochs: for a first look")
    epochs: int | None = Field(default=None, ge=1, le=10_000, description="empty: the recipe's own")


class ArmParameters(Parameters):
    """Who flies, and whether it really presses anything."""

    policy: str = Field(default="", max_length=1000, description="name or folder of a policy; empty: the promoted one")
    dry_run: bool = Field(default=False, description="decide, but press nothing")


class EvaluateParameters(Parameters):
    """A policy is scored in the arena."""

    policy: str = Field(default="", max_length=1000, description="name or folder of a policy; empty: the promoted one")
    episodes: int = Field(default=20, ge=1, le=10_000, description="episodes of a minute each")


FORMS: Final[Mapping[str, type[Parameters]]] = {
    "demo": DemoParameters,
    "source": SourceParameters,
    "train": TrainParameters,
    "detector": DetectorParameters,
    "arm": ArmParameters,
    "evaluate": EvaluateParameters,
}


def from_kept(form: str, kept: Mapping[str, object]) -> tuple[Parameters, tuple[str, ...]]:
    """The kept values as a model; a value that no longer fits falls back to its default, with a line that says so."""
    model = FORMS[form]
    values: dict[str, Any] = {name: value for name, value in kept.items() if name in model.model_fields}
    wrong: list[str] = []
    while True:
        try:
            return model.model_validate(values), tuple(wrong)
        except ValidationError as error:
            for detail in error.errors():
                name = str(detail["loc"][0])
                if name in values:
                    wrong.append(f"{form}.{name} = {values.pop(name)!r}: {detail['msg'].lower()}; the default is used")


def arguments(parameters: Parameters) -> dict[str, Any]:
    """What goes to the engine: fields that are left to the settings (None or empty) are not sent."""
    return {name: value for name, value in parameters.model_dump().items() if value is not None and value != ""}

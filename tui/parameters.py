"""The parameters of the actions as models: the edit forms are made from them, and what is kept is checked by them.

Imported when a form opens or an action with parameters runs, never at start-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import ErrorDetails

from data.settings import LEVELS, Level, Preset, Settings
from engine.source_spec import LOOKS, region_from_text

PilotName = Literal["expert", "novice", "random"]


def _setting(path: str, quick: str = "") -> dict[str, Any]:
    """Which value of ``config.toml`` stands behind a field; ``{level}`` is the action's, ``quick`` the one of a quick run."""
    return {"setting": path, "quick_setting": quick or path}


def _known_look(look: str) -> str:
    if look and look not in LOOKS:
        raise ValueError(f"use {', '.join(LOOKS)}")
    return look


Look = Annotated[str, AfterValidator(_known_look)]


def _look() -> Any:
    return Field(default="", max_length=50, description="how the arena is drawn", json_schema_extra=_setting("arena.look"))


class Parameters(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class DemoParameters(Parameters):
    """A scripted pilot plays the arena."""

    pilot: PilotName = Field(default="expert", description="who plays")
    look: Look = _look()


class SourceParameters(Parameters):
    """What is captured."""

    kind: Literal["arena", "screen"] = Field(
        default="arena", description="the embedded arena, or a window of the screen", json_schema_extra=_setting("capture.source")
    )
    window: str = Field(
        default="",
        max_length=500,
        description="screen: part of the window's title; empty: the game's own",
        json_schema_extra=_setting("capture.window"),
    )
    region: str = Field(
        default="", max_length=100, description="screen: instead, left,top,width,height in px; the first two may be negative"
    )
    fps: int | None = Field(default=None, ge=1, le=240, description="pictures per second", json_schema_extra=_setting("capture.fps"))

    @field_validator("region")
    @classmethod
    def _one_place(cls, region: str, info: ValidationInfo) -> str:
        if region:
            region_from_text(region)
            if info.data.get("window"):
                raise ValueError("a window or a region: leave one of them empty")
        return region


class TrainParameters(Parameters):
    """How a level is trained. What is empty is as the settings say."""

    quick: bool = Field(default=False, description="fewer epochs: for a first look")
    epochs: int | None = Field(
        default=None,
        ge=1,
        le=100_000,
        description="passes over the sessions",
        json_schema_extra=_setting("training.{level}.epochs", "training.{level}.quick_epochs"),
    )
    batch_size: int | None = Field(
        default=None,
        ge=1,
        le=65_536,
        description="examples per step",
        json_schema_extra=_setting("training.{level}.batch_size", "training.{level}.quick_batch_size"),
    )
    lr: float | None = Field(
        default=None,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="highest learning rate",
        json_schema_extra=_setting("training.{level}.lr", "training.{level}.quick_lr"),
    )
    preset: Literal["", "auto", "small", "standard", "large"] = Field(
        default="",
        description="for how much play; auto: for what there is",
        json_schema_extra=_setting("training.preset"),
    )
    seed: int | None = Field(
        default=None, ge=0, le=2**31 - 1, description="seed of everything random", json_schema_extra=_setting("training.seed")
    )
    resume: bool = Field(default=False, description="go on with the newest run, or with the one of that name")
    name: str = Field(default="", max_length=80, description="of the run and of the policy; empty: the time")

    @field_validator("preset")
    @classmethod
    def _one_schedule(cls, preset: str, info: ValidationInfo) -> str:
        if preset and info.data.get("quick"):
            raise ValueError("quick is a schedule of its own: leave this as the settings say, or do not train quick")
        return preset

    @field_validator("name")
    @classmethod
    def _a_name(cls, name: str) -> str:
        if not name:
            return name
        from data.checkpoint import CheckpointError
        from data.models import check_name

        try:
            return check_name(name)
        except CheckpointError as error:
            raise ValueError(str(error)) from error


class DetectorParameters(Parameters):
    """How the detector is trained."""

    quick: bool = Field(default=False, description="fewer pictures and epochs: for a first look")
    epochs: int | None = Field(default=None, ge=1, le=10_000, description="passes over the pictures; empty: the recipe's own")


class TeachParameters(Parameters):
    """How a detector of one's own game is trained."""

    epochs: int | None = Field(default=None, ge=1, le=1_000, description="passes over the pictures; empty: by their number")
    resume: bool = Field(default=False, description="go on from the training before, also one that was stopped")


class ArmParameters(Parameters):
    """Who flies. Whether it really presses anything is asked each time."""

    policy: str = Field(default="", max_length=1000, description="name or folder of a policy; empty: the promoted one")


class EvaluateParameters(Parameters):
    """A policy is scored in the arena, or its levels are judged on recordings (``sessions``), which is all that is done then."""

    policy: str = Field(default="", max_length=1000, description="name or folder of a policy; empty: the promoted one")
    sessions: str = Field(default="", max_length=2000, description="to judge on (ids, last, with commas); empty: it flies")
    episodes: int = Field(default=20, ge=2, le=10_000, description="episodes of a minute each, for everybody")
    rungs: Literal["state,emulated,pixels", "state,emulated", "state"] = Field(
        default="state,emulated,pixels", description="how it sees; from pixels is slow, and what counts"
    )
    minutes: float = Field(default=3.0, ge=0, le=120, allow_inf_nan=False, description="of unseen play to judge on, 2 or more; 0: only fly")
    look: Look = _look()


class ImitateParameters(Parameters):
    """A first policy for the league, from play. What is empty is as usual."""

    pilot_matches: int = Field(default=500, ge=0, le=100_000, description="of scripted pilots, beside the workspace's own play")
    epochs: int | None = Field(default=None, ge=1, le=10_000, description="times through the data")
    judge_matches: int = Field(default=400, ge=0, le=100_000, description="afterwards, against each kind of pilot; 0: none")
    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="seed of everything random")


class RefineParameters(Parameters):
    """A policy goes on learning by playing. What is empty is as usual."""

    supervised: str = Field(default="", max_length=1000, description="name or file of a policy; empty: the newest first policy")
    minutes: float = Field(default=20.0, ge=0, le=100_000, allow_inf_nan=False, description="as many iterations as fit; 0: as said below")
    iterations: int = Field(default=10, ge=1, le=1_000_000, description="where no minutes are said")
    opponents: str = Field(default="", max_length=1000, description="self, expert, novice, random, pi_sup, policies; empty: as usual")
    ships: int = Field(default=4, ge=2, le=8, description="in a match")
    evaluate_every: int | None = Field(default=None, ge=0, le=1_000_000, description="iterations between two looks at it; 0: never")
    worlds: int | None = Field(default=None, ge=1, le=100_000, description="matches that are played at once")
    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="seed of everything random")


class LeagueParameters(Parameters):
    """Agents that learn from each other. What is empty is as usual."""

    supervised: str = Field(default="", max_length=1000, description="name or file of a policy; empty: the newest first policy")
    rounds: int = Field(default=20, ge=1, le=1_000_000, description="in all; it may go on with more")
    rl_iterations_per_round: int = Field(default=3, ge=1, le=1_000_000, description="of each learner in a round")
    mains: int = Field(default=1, ge=1, le=16, description="main agents")
    main_exploiters: int = Field(default=1, ge=0, le=16, description="set on the mains")
    league_exploiters: int = Field(default=1, ge=0, le=16, description="set on everyone")
    main_snapshot_frames: int | None = Field(default=None, ge=1, le=10**12, description="frames between a main's snapshots")
    ships: int = Field(default=4, ge=2, le=8, description="in a match")
    actors: int | None = Field(default=None, ge=1, le=1024, description="processes that play, for each learner")
    worlds: int | None = Field(default=None, ge=1, le=100_000, description="matches that each plays at once")
    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="seed of everything random")


FORMS: Final[Mapping[str, type[Parameters]]] = {
    "demo": DemoParameters,
    "source": SourceParameters,
    "train": TrainParameters,
    "detector": DetectorParameters,
    "teach": TeachParameters,
    "arm": ArmParameters,
    "evaluate": EvaluateParameters,
    "imitate": ImitateParameters,
    "refine": RefineParameters,
    "league": LeagueParameters,
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
                    wrong.append(f"{form}.{name} = {values.pop(name)!r}: {_why(detail)}; the default is used")


def arguments(parameters: Parameters) -> dict[str, Any]:
    """What goes to the engine: fields that are left to the settings (None or empty) are not sent."""
    return {name: value for name, value in parameters.model_dump().items() if value is not None and value != ""}


def setting_of(model: type[Parameters], name: str, level: str, quick: bool) -> str:
    """The place in ``config.toml`` of a field (``training.executor.epochs``); empty when it has none."""
    extra = model.model_fields[name].json_schema_extra
    if not isinstance(extra, dict):
        return ""
    path = cast("dict[str, str]", extra)["quick_setting" if quick else "setting"]
    return "" if "{level}" in path and level not in LEVELS else path.format(level=level)


def scheduled(settings: Settings, path: str, preset: str) -> str:
    """Of a level's epochs or batch size (``path``): what a preset makes of it, where the person's own settings do not say it."""
    _, level, name = path.split(".")
    found = settings.training.level(cast("Level", level))
    place = {"epochs": 0, "batch_size": 1}.get(name)
    if place is None or name in found.model_fields_set:
        return ""
    if preset != "auto":
        return f"{found.schedule(cast('Preset', preset))[place]}, by the preset {preset}"
    amounts: tuple[Preset, ...] = ("small", "standard", "large")
    return "by the amount of play: " + ", ".join(f"{amount} {found.schedule(amount)[place]}" for amount in amounts)


def in_force(settings: Settings, path: str) -> str:
    """What the settings say at a place, as a person would type it."""
    value: Any = settings
    for key in path.split("."):
        value = getattr(value, key)
    return f"{value:g}" if isinstance(value, float) else str(value)


def refusal(model: type[Parameters], values: Mapping[str, Any]) -> dict[str, str]:
    """For each field that cannot be used, what is wrong and what is allowed; empty when all can."""
    try:
        model.model_validate(values)
    except ValidationError as error:
        return {
            str(d["loc"][0]): _why(d) if d["type"] == "value_error" else f"{_why(d)}, not {d['input']!r}" for d in reversed(error.errors())
        }
    return {}


def _why(detail: ErrorDetails) -> str:
    """What is wrong with a value, in our own words where they are ours."""
    text = detail["msg"].removeprefix("Value error, ")
    return f"{text[:1].lower()}{text[1:]}"

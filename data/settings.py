"""The settings as models: one per table of ``config.toml``, with a word on every field.

``data.settings_io`` finds, reads and writes the file. A field's description stands beside it in ``config.toml`` and in
the face's forms; its bounds are what an error names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from data.profile import ARENA_PROFILE, GameProfile
from data.vocabulary import LookName
from data.workspace import Workspace, user_data_folder

Level = Literal["strategist", "tactician", "executor"]
LEVELS: Final[tuple[Level, ...]] = ("strategist", "tactician", "executor")

FUNCTION_KEYS: Final[tuple[str, ...]] = tuple(f"f{n}" for n in range(1, 13))
FACE_KEYS: Final[tuple[str, ...]] = (
    *"abcdefghijklmnopqrstuvwxyz",
    *"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    *"0123456789",
    *"!?/:<>+-=[].,",
    *FUNCTION_KEYS[:9],
    "space",
    "backspace",
    "insert",
    "delete",
    *(f"ctrl+{letter}" for letter in "defgklnoprtuvwxy"),
)
"""Keys that the face can be given: neither those that move about in lists and dialogs, nor those that never arrive."""
TAKEN_KEYS: Final[Mapping[str, str]] = {
    "ctrl+a": "GNU screen takes it",
    "ctrl+b": "tmux takes it",
    "ctrl+c": "it always leaves",
    "ctrl+h": "terminals send it for backspace",
    "ctrl+i": "terminals send it for tab",
    "ctrl+j": "terminals send it for enter",
    "ctrl+m": "terminals send it for enter",
    "ctrl+q": "terminals take it (flow control)",
    "ctrl+s": "terminals take it (flow control)",
    "ctrl+z": "shells take it",
    "f10": "desktops and terminals open their menu with it",
    "f11": "terminals go full screen with it",
    "f12": "desktops open a terminal with it",
}
"""Keys that would not reach the face, and who takes them."""


def face_key_problem(key: str) -> str:
    """Why the face cannot be given a key; empty when it can."""
    if key in FACE_KEYS:
        return ""
    if key.startswith("alt+"):
        return "terminals and desktops take keys with alt"
    return TAKEN_KEYS.get(key, "there is no such key for it")


class SettingsError(Exception):
    """A setting that cannot be used. The text says file, table, key, value and what is allowed."""


class SettingsModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PathsSettings(SettingsModel):
    """Where things are kept."""

    workspace: str = Field(
        default="", description="folder of recordings, models and logs; it can be moved whole. Empty: this user's data folder"
    )


class RegionSettings(SettingsModel):
    """A part of the desktop in px. Monitors left of or above the first one have negative coordinates."""

    left: int = Field(ge=-100_000, le=100_000, description="left edge in px, may be negative")
    top: int = Field(ge=-100_000, le=100_000, description="top edge in px, may be negative")
    width: int = Field(ge=16, le=16_384, description="width in px", json_schema_extra={"noun": "a width"})
    height: int = Field(ge=16, le=16_384, description="height in px", json_schema_extra={"noun": "a height"})


class CaptureSettings(SettingsModel):
    """What is watched. A window title goes before a region, a region before a monitor."""

    source: Literal["arena", "screen"] = Field(default="arena", description="the embedded arena, or the real screen")
    monitor: int = Field(default=1, ge=1, le=64, description="number of the monitor, from 1", json_schema_extra={"noun": "a monitor"})
    region: RegionSettings | None = Field(default=None, description="a fixed part of the desktop: left, top, width, height in px")
    window: str = Field(default="", max_length=500, description="part of the title of the window to follow; empty: the game's own")
    fps: int = Field(default=30, ge=1, le=240, description="pictures per second", json_schema_extra={"noun": "a rate"})


class RecorderSettings(SettingsModel):
    """How play is recorded."""

    notice: Literal["none", "bell", "sound", "desktop"] = Field(
        default="none",
        description="tells of start, stop, save, discard, pause, a full disk, arming and disarming, since a full-screen game "
        "hides the terminal: 'bell' rings the terminal, 'sound' plays a short tone, 'desktop' shows a notification",
    )
    prebuffer_s: int = Field(
        default=0,
        ge=0,
        le=30,
        description="seconds before F5 that a recording begins with, kept in memory while the game has focus; 0: off",
        json_schema_extra={"noun": "a time in seconds"},
    )


class LiveSettings(SettingsModel):
    """The live path: newest picture to action."""

    tick_hz: int = Field(default=20, ge=5, le=60, description="decisions per second", json_schema_extra={"noun": "a rate"})
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="where networks run; auto: the GPU when there is one")


class ActuatorSettings(SettingsModel):
    """The process that owns injection."""

    stop_key: str = Field(default="f8", description="emergency stop, from any focus", json_schema_extra={"noun": "a key for this"})

    @field_validator("stop_key")
    @classmethod
    def _is_a_function_key(cls, key: str) -> str:
        return _function_key(key)


class KeysSettings(SettingsModel):
    """Keys that steer Secondseat. The first three also work while the game has focus, so they are function keys."""

    record: str = Field(default="f5", description="start and stop recording")
    save: str = Field(default="f6", description="stop and save the recording")
    discard: str = Field(default="f7", description="stop and put the recording into the trash")
    face: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="the face's own keys: action id = key or keys with commas, as `?` in the face lists them",
    )

    @field_validator("record", "save", "discard")
    @classmethod
    def _is_a_function_key(cls, key: str) -> str:
        return _function_key(key)

    @field_validator("face")
    @classmethod
    def _are_face_keys(cls, keys: dict[str, str]) -> dict[str, str]:
        for action, given in keys.items():
            for key in (part.strip() for part in given.split(",")):
                if problem := face_key_problem(key):
                    raise ValueError(f"{action} = {given!r}: {key!r} cannot be used, {problem}; use {', '.join(FACE_KEYS)}")
        return keys

    @model_validator(mode="after")
    def _are_different(self) -> KeysSettings:
        keys = [self.record, self.save, self.discard]
        if len(set(keys)) < len(keys):
            raise ValueError(f"record, save and discard share a key ({', '.join(keys)}); give each its own")
        return self


def _function_key(key: str) -> str:
    name = key.strip().lower()
    if name not in FUNCTION_KEYS:
        raise ValueError(f"{key!r} is not a key for this; use one of {', '.join(FUNCTION_KEYS)}")
    return name


def _epochs(when: str) -> Any:
    return Field(ge=1, le=100_000, description=f"passes over the training sessions{when}", json_schema_extra={"noun": "a number of epochs"})


def _batch_size(when: str) -> Any:
    return Field(ge=1, le=65_536, description=f"examples per step{when}", json_schema_extra={"noun": "a batch size"})


def _lr(when: str) -> Any:
    return Field(gt=0, le=1, allow_inf_nan=False, description=f"highest learning rate{when}", json_schema_extra={"noun": "a learning rate"})


Epochs = Annotated[int, _epochs("")]
BatchSize = Annotated[int, _batch_size("")]
LearningRate = Annotated[float, _lr("")]
QuickEpochs = Annotated[int, _epochs(" with --quick")]
QuickBatchSize = Annotated[int, _batch_size(" with --quick")]
QuickLearningRate = Annotated[float, _lr(" with --quick")]


Preset = Literal["quick", "small", "standard", "large"]
Amount = Literal["small", "standard", "large"]
RECORDING_S: Final = 30.0
"""What is counted as one recording of the earlier scripts: 900 pictures at 30 a second."""


def amount_of(play_s: float) -> Amount:
    """How much play that is: below 100 recordings (50 min) small, above 200 (100 min) large."""
    recordings = play_s / RECORDING_S
    return "small" if recordings < 100 else "standard" if recordings <= 200 else "large"


class LevelSettings(SettingsModel):
    """How one level is trained, in full and with ``--quick``."""

    epochs: Epochs
    batch_size: BatchSize
    lr: LearningRate
    quick_epochs: QuickEpochs
    quick_batch_size: QuickBatchSize
    quick_lr: QuickLearningRate

    by_amount: ClassVar[Mapping[str, tuple[int, int]]] = {}
    """Epochs and batch size for other amounts of play than the standard one."""

    def schedule(self, preset: Preset) -> tuple[int, int, float]:
        """Epochs, batch size and learning rate. What the person's own settings say goes before a preset for an amount."""
        if preset == "quick":
            return self.quick_epochs, self.quick_batch_size, self.quick_lr
        epochs, batch_size = self.by_amount.get(preset, (self.epochs, self.batch_size))
        own = self.model_fields_set
        return self.epochs if "epochs" in own else epochs, self.batch_size if "batch_size" in own else batch_size, self.lr


class StrategistSettings(LevelSettings):
    """How the Strategist (mode, 1 Hz) is trained."""

    by_amount: ClassVar[Mapping[str, tuple[int, int]]] = {"small": (150, 16), "large": (80, 64)}

    epochs: Epochs = 100
    batch_size: BatchSize = 32
    lr: LearningRate = 3e-4
    quick_epochs: QuickEpochs = 20
    quick_batch_size: QuickBatchSize = 32
    quick_lr: QuickLearningRate = 3e-4


class TacticianSettings(LevelSettings):
    """How the Tactician (target, 5 Hz) is trained."""

    by_amount: ClassVar[Mapping[str, tuple[int, int]]] = {"small": (120, 32), "large": (60, 128)}

    epochs: Epochs = 80
    batch_size: BatchSize = 64
    lr: LearningRate = 3e-4
    quick_epochs: QuickEpochs = 15
    quick_batch_size: QuickBatchSize = 64
    quick_lr: QuickLearningRate = 3e-4


class ExecutorSettings(LevelSettings):
    """How the Executor (action, 20 Hz) is trained."""

    by_amount: ClassVar[Mapping[str, tuple[int, int]]] = {"small": (100, 64), "large": (40, 256)}

    epochs: Epochs = 60
    batch_size: BatchSize = 128
    lr: LearningRate = 3e-4
    quick_epochs: QuickEpochs = 10
    quick_batch_size: QuickBatchSize = 128
    quick_lr: QuickLearningRate = 5e-4


class TrainingSettings(SettingsModel):
    """Learning from recordings."""

    preset: Literal["auto", "small", "standard", "large"] = Field(
        default="auto",
        description="schedule by the amount of play: small below 50 minutes, large above 100; auto: as much as there is",
    )
    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="seed of everything random in a run")
    perturbed: Literal["with", "without"] = Field(
        default="with", description="learn from stretches in which the cursor was displaced on purpose, or leave them out"
    )
    live_sampling: bool = Field(default=True, description="rows as live flight would have seen them: jitter, late and missing ticks, noise")
    reaction_lag_ticks: int = Field(
        default=0, ge=0, le=20, description="how many ticks after what is seen the hand answers to it", json_schema_extra={"noun": "a lag"}
    )
    augment: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="mirrored pictures and trembling numbers as further examples; auto: where there is little play, and the Executor's "
        "mirrored pictures always",
    )
    mixed_precision: bool = Field(default=True, description="half precision on a GPU")
    strategist: StrategistSettings = StrategistSettings()
    tactician: TacticianSettings = TacticianSettings()
    executor: ExecutorSettings = ExecutorSettings()

    def level(self, name: Level) -> LevelSettings:
        return {"strategist": self.strategist, "tactician": self.tactician, "executor": self.executor}[name]


class FaceSettings(SettingsModel):
    """The terminal face."""

    theme: str = Field(default="", max_length=64, description="name of a theme; empty: Secondseat's own")
    refresh_hz: int = Field(
        default=4, ge=1, le=10, description="how often panes look at the newest state", json_schema_extra={"noun": "a rate"}
    )


class ArenaSettings(SettingsModel):
    """The embedded game."""

    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="seed of the world")
    look: LookName = Field(default="classic", description="how it is drawn: colours, background, sizes; what happens in it is the same")


class Clash(ValueError):
    """Settings that contradict each other. ``path``: the one that is left out where the rest is to be used."""

    def __init__(self, text: str, path: tuple[str, ...]) -> None:
        super().__init__(text)
        self.path = path


def _built_in_games() -> dict[str, GameProfile]:
    return {ARENA_PROFILE.name: ARENA_PROFILE}


class Settings(SettingsModel):
    """Everything that ``config.toml`` can say."""

    game: str = Field(default=ARENA_PROFILE.name, description="the game that is played: arena, or one of [games.<name>]")
    paths: PathsSettings = PathsSettings()
    capture: CaptureSettings = CaptureSettings()
    recorder: RecorderSettings = RecorderSettings()
    live: LiveSettings = LiveSettings()
    actuator: ActuatorSettings = ActuatorSettings()
    keys: KeysSettings = KeysSettings()
    training: TrainingSettings = TrainingSettings()
    face: FaceSettings = FaceSettings()
    arena: ArenaSettings = ArenaSettings()
    games: dict[str, GameProfile] = Field(default_factory=_built_in_games, description="what is particular to each game")

    @model_validator(mode="after")
    def _hang_together(self) -> Settings:
        if self.game not in self.games:
            text = f"game: {self.game!r} is not described; use {', '.join(sorted(self.games))}, or add [games.{self.game}]"
            raise Clash(text, ("game",))
        if self.actuator.stop_key in (self.keys.record, self.keys.save, self.keys.discard):
            text = f"[actuator] stop_key: {self.actuator.stop_key!r} is a key of [keys] too; give each its own"
            raise Clash(text, self._key_to_blame({self.actuator.stop_key}))
        clash = sorted(self.control_keys().intersection(self.profile().keys))
        if clash:
            text = f"[games.{self.game}] keys: {', '.join(clash)} steer Secondseat; choose other control keys in [keys]"
            raise Clash(text, self._key_to_blame(set(clash)))
        return self

    def _key_to_blame(self, clash: set[str]) -> tuple[str, str]:
        """Of the control keys in ``clash`` one that somebody chose: the others are as they come."""
        if self.actuator.stop_key in clash and "stop_key" in self.actuator.model_fields_set:
            return "actuator", "stop_key"
        names = [name for name in ("record", "save", "discard") if getattr(self.keys, name) in clash]
        return "keys", next((name for name in names if name in self.keys.model_fields_set), names[0])

    def profile(self) -> GameProfile:
        """The active game's profile."""
        return self.games[self.game]

    def control_keys(self) -> frozenset[str]:
        """The keys that steer Secondseat from any focus: never recorded, learnt or injected."""
        return frozenset({self.keys.record, self.keys.save, self.keys.discard, self.actuator.stop_key})

    def workspace(self) -> Workspace:
        """The workspace's folders. Nothing is created yet."""
        return Workspace(self.paths.workspace or user_data_folder())

    def resolve_path(self, text: str, cwd: Path | None = None) -> Path:
        """The path that a setting or an option names (see ``Workspace.resolve``)."""
        return self.workspace().resolve(text, cwd)


TABLES: Final[Mapping[str, type[SettingsModel]]] = {
    "paths": PathsSettings,
    "capture": CaptureSettings,
    "recorder": RecorderSettings,
    "live": LiveSettings,
    "actuator": ActuatorSettings,
    "keys": KeysSettings,
    "training": TrainingSettings,
    "face": FaceSettings,
    "arena": ArenaSettings,
}
"""The fixed tables of ``config.toml``; beside them stand ``game`` and ``[games.<name>]``."""


def plain(settings: BaseModel) -> dict[str, Any]:
    """The values as JSON knows them, for ``config show --json`` and checkpoints. No secret is ever in the settings."""
    return settings.model_dump(mode="json")

"""Every setting and its default, in one place; presets of models.toml override some of them.

Frozen and validated: an unknown name or a value that cannot be meant is refused when the settings are made. A run keeps
its settings in config.toml and is resumed with the same.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from srlite.errors import InputError

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Inside = Annotated[float, Field(gt=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Term = Literal["outcome", "unrelated", "relevance", "quality"]
QuestionId = Literal["evidence", "met", "relevant", "well_formed", "abstains", "echo"]
How = Literal["child", "per-item", "site", "column"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Video(_Part):
    """How a clip is read. `max_pixels` is the area of one picture; `limit_s` the seconds that reading one clip may take."""

    frames: Annotated[int, Field(ge=2, multiple_of=2)] = 32
    max_pixels: Annotated[int, Field(ge=1024)] = 200_704
    limit_s: Positive = 120.0


class Models(_Part):
    """Names of models.toml, or paths. `quantise`: the descriptor's base in 4 bit (NF4). `turns`: resident keeps both models on
    the card, swapped lets the descriptor wait in main memory while the judge has its turn, auto does what fits. `backend`:
    unsloth is used on a card where it computes the same as the default."""

    descriptor: str = "qwen3-vl-8b"
    judge: str = "qwen3-8b"
    quantise: bool = False
    device: Literal["auto", "cpu", "cuda"] = "auto"
    turns: Literal["auto", "resident", "swapped"] = "auto"
    backend: Literal["default", "unsloth"] = "default"


class Sampling(_Part):
    """A group of descriptions (paper: 16), of `pairs` pairs at once. Temperature 1 and top_p 1: the log-probabilities recorded
    are those trained on."""

    group: Annotated[int, Field(ge=2)] = 16
    pairs: Count = 4
    max_new_tokens: Count = 128
    temperature: Positive = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0


class RewardSettings(_Part):
    """Which of the four terms are in force (the paper's ablation leaves some out). `graded`: the judge's probability instead of
    0 or 1, so that descriptions with the same answers still differ."""

    terms: tuple[Term, ...] = ("outcome", "unrelated", "relevance", "quality")
    graded: bool = False


class Grpo(_Part):
    """The objective. `delta` is added to the group's standard deviation; `beta` weighs the KL to the base model."""

    clip: Positive = 0.2
    beta: Annotated[float, Field(ge=0)] = 0.04
    delta: Positive = 1e-4
    ratio: Literal["token", "sequence"] = "token"
    max_gradient_norm: Positive = 1.0


class Schedule(_Part):
    """Rounds over all training pairs, in slices: sample, judge, update. A slice is what is on disk between turns: `slice_pairs`
    pairs; where that is not given, 64, or more on a card on which swapping the models would take more than 2 % of the time.
    `max_imbalance`: a round takes at most so many times as many records of an item's commoner outcome as of its rarer one, the
    others take their turn in later rounds; without it every round takes all. Where nearly all pass, saying pass pays without
    looking. `learnt_at_once`: descriptions of a group that one row of an update holds, all of them where it is not given; fewer
    take less memory and give the same gradients."""

    rounds: Count = 5
    slice_pairs: Count | None = None
    epochs: Count = 2
    batch_pairs: Count = 8
    learning_rate: Positive = 1e-5
    mismatched_share: Annotated[float, Field(ge=0, lt=1)] = 0.25
    max_imbalance: Annotated[float, Field(ge=1)] | None = None
    learnt_at_once: Count | None = None


class SplitSettings(_Part):
    """`how`: child, per-item, site or column; without it by child when there is a child column, per item otherwise."""

    how: How | None = None
    test_fraction: Share = 0.10
    validation_fraction: Share = 0.10


class JudgeSettings(_Part):
    """The judge's window and thresholds. Yes from probability `threshold` on (`thresholds`: of single questions); less mass
    than `min_mass` is unscored, as is a probability within `unsure_band` of the threshold. Training stops when more than
    `max_unscored` of a slice's descriptions are unscored. `limit_s`: seconds that one portion of descriptions may take.
    `canaries`: a judge that decides a few known descriptions wrongly is refused. `mode`: direct reads the answer from the first
    token; reasoned lets the judge first write, in at most `thought_tokens`, whether the evidence is enough."""

    mode: Literal["direct", "reasoned"] = "direct"
    thought_tokens: Count = 48
    n_ctx: Count = 8192
    n_batch: Count = 2048
    n_seq_max: Annotated[int, Field(ge=8, le=256)] = 64
    gpu_layers: int = -1
    min_mass: Share = 0.5
    threshold: Inside = 0.5
    thresholds: dict[QuestionId, Inside] = {}
    unsure_band: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    max_unscored: Share = 0.5
    limit_s: Positive = 600.0
    canaries: bool = True

    @model_validator(mode="after")
    def _branches_fit(self) -> JudgeSettings:
        if self.n_seq_max > self.n_batch:
            raise ValueError("n_seq_max cannot be more than n_batch")
        return self


class Cache(_Part):
    """What is kept on the disk between runs: at most so many GB (1e9 bytes) of vision features and of frames. A clip that does
    not fit is read and encoded anew each time."""

    features_gb: Annotated[float, Field(ge=0)] = 100.0
    frames_gb: Annotated[float, Field(ge=0)] = 50.0


class Settings(_Part):
    """Everything random follows from `seed`. `threads` of the descriptor and of the judge; 0: the cores of this machine."""

    seed: Annotated[int, Field(ge=0)] = 0
    threads: Annotated[int, Field(ge=0)] = 0
    video: Video = Video()
    models: Models = Models()
    sampling: Sampling = Sampling()
    reward: RewardSettings = RewardSettings()
    grpo: Grpo = Grpo()
    schedule: Schedule = Schedule()
    split: SplitSettings = SplitSettings()
    judge: JudgeSettings = JudgeSettings()
    cache: Cache = Cache()


def settings_from(values: Mapping[str, object], *, where: str) -> Settings:
    """Validated settings. Raises InputError naming the setting."""
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"setting {name}: {first['msg']}",
            where=where,
            remedy="`srlite init DIR` writes an srlite.toml with every setting, its meaning and its default.",
        ) from None


def read_settings(path: Path) -> Settings:
    """The settings of a run (config.toml)."""
    return settings_from(_read_toml(path), where=str(path))


def read_overrides(path: Path) -> dict[str, object]:
    """Settings of a file that names only some (srlite.toml), checked. Raises InputError naming the file and the setting."""
    values = _read_toml(path)
    settings_from(values, where=str(path))
    return values


def _read_toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the settings cannot be read: {error}", where=str(path)) from None


def settings_template() -> str:
    """Every setting with its default, commented out, and what it means: the srlite.toml of `srlite init`."""
    parts = {n: v for n, v in Settings() if isinstance(v, _Part)}
    plain = Settings().model_dump(mode="json", exclude=set(parts))
    lines = [f"# {line}" for line in _meaning(Settings)] + _commented(plain)
    for name, part in parts.items():
        lines += ["", f"[{name}]", *(f"# {line}" for line in _meaning(type(part))), *_commented(part.model_dump(mode="json"))]
    return "\n".join(lines) + "\n"


def _meaning(part: type[BaseModel]) -> list[str]:
    return inspect.cleandoc(part.__doc__ or "").replace("`", "").splitlines()


def _commented(values: Mapping[str, object]) -> list[str]:
    """One line a setting; a list or table on one line too, so that taking away the # is enough."""
    return [f"#{name} = {json.dumps(value)}" if value is not None else f"#{name} =" for name, value in values.items()]


def settings_toml(settings: Settings) -> str:
    """As TOML text; read_settings of it gives the same settings."""
    return tomli_w.dumps(settings.model_dump(mode="json", exclude_none=True))


def merged(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Nested tables, `over` winning."""
    out = dict(base)
    for name, value in over.items():
        both = isinstance(value, Mapping) and isinstance(out.get(name), Mapping)
        out[name] = merged(out[name], value) if both else value
    return out

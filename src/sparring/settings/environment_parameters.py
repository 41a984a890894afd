"""What is handed to the game beside actions: numbers, samplers it draws from, and lessons that follow each other."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    Field,
    NonNegativeInt,
    SerializeAsAny,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from sparring.settings._section import OWN, Section, number_or, validated_as

__all__ = [
    "CompletionCriteria",
    "ConstantParameters",
    "Curriculum",
    "EnvironmentParameter",
    "GaussianParameters",
    "Lesson",
    "LessonValue",
    "MultiRangeParameters",
    "Sampler",
    "SamplerParameters",
    "UniformParameters",
    "sampler_types",
]


class SamplerParameters(Section):
    """What every sampler has."""

    seed: int = Field(default=-1, ge=-1, lt=2**31)
    """Seed of what is drawn; -1 takes a stream of the run's seed, another one for each sampler and game."""


class ConstantParameters(SamplerParameters):
    """Always the same number."""

    value: float = 0.0
    """The number."""


class UniformParameters(SamplerParameters):
    """Any number between two, each as likely."""

    min_value: float = 0.0
    """The least number."""
    max_value: float = 1.0
    """What is not reached."""

    @model_validator(mode="after")
    def _is_ordered(self) -> UniformParameters:
        if self.min_value > self.max_value:
            raise ValueError(f"min_value {self.min_value} is above max_value {self.max_value}")
        return self


class GaussianParameters(SamplerParameters):
    """Numbers of a normal distribution."""

    mean: float = 1.0
    """Its mean."""
    st_dev: float = Field(default=1.0, ge=0.0)
    """Its standard deviation."""


class MultiRangeParameters(SamplerParameters):
    """Any number of several intervals, the wider the likelier."""

    intervals: tuple[tuple[float, ...], ...] = ((0.0, 1.0),)
    """Pairs of the least number and what is not reached."""

    @field_validator("intervals")
    @classmethod
    def _are_ordered_pairs(cls, intervals: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
        if not intervals:
            raise ValueError("there is no interval to draw from")
        for interval in intervals:
            if len(interval) != 2:
                raise ValueError(f"an interval is a pair of numbers; {list(interval)} has {len(interval)}")
            if interval[0] > interval[1]:
                raise ValueError(f"the interval {list(interval)} begins above its end")
        return intervals


_SAMPLERS: Mapping[str, type[SamplerParameters]] = MappingProxyType(
    {
        "constant": ConstantParameters,
        "uniform": UniformParameters,
        "gaussian": GaussianParameters,
        "multirangeuniform": MultiRangeParameters,
    }
)


def sampler_types() -> Mapping[str, type[SamplerParameters]]:
    """The parameters of each kind of sampler."""
    return _SAMPLERS


class Sampler(Section):
    """Numbers drawn anew for every episode."""

    sampler_type: Literal["constant", "uniform", "gaussian", "multirangeuniform"]
    """How they are drawn."""
    sampler_parameters: SerializeAsAny[SamplerParameters]
    """The sampler's own numbers; which keys there are depends on sampler_type."""

    @classmethod
    def kind_of(cls, key: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a type annotation is anything
        """The parameters depend on the kind of sampler."""
        kind = _SAMPLERS.get(str(given.get("sampler_type")), SamplerParameters)
        return kind if key == "sampler_parameters" else None

    @field_validator("sampler_parameters", mode="wrap")
    @classmethod
    def _of_the_sampler(
        cls, value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> SamplerParameters | None:
        kind = _SAMPLERS.get(info.data.get("sampler_type", ""))
        if kind is None:  # the wrong kind is told already, and what belongs to it can't be known
            return None
        section: SamplerParameters = validated_as(kind, value, handler)
        return section


def _lesson_value(value: object, handler: ValidatorFunctionWrapHandler) -> float | Sampler:
    read: float | Sampler = number_or(Sampler, value, handler)
    return read


def _parameter(value: object, handler: ValidatorFunctionWrapHandler) -> float | Sampler | Curriculum:
    kind = Curriculum if isinstance(value, (Curriculum, Mapping)) and _is_curriculum(value) else Sampler
    read: float | Sampler | Curriculum = number_or(kind, value, handler)
    return read


def _is_curriculum(value: object) -> bool:
    return isinstance(value, Curriculum) or (isinstance(value, Mapping) and Curriculum.fits(value))


LessonValue: TypeAlias = Annotated[float | Sampler, WrapValidator(_lesson_value)]
"""A number, or a sampler."""


class CompletionCriteria(Section):
    """When a lesson is learned."""

    behavior: str
    """Whose learning is watched."""
    measure: str = "reward"
    """`reward` (mean return), `progress` (steps as a part of max_steps), and Sparring's own: `rating` (its Elo),
    `win_rate` (score of the latest matches against past selves), or the tag of any statistic in its summaries."""
    threshold: float = 0.0
    """What the measure has to exceed."""
    min_lesson_length: NonNegativeInt = 0
    """Episodes of the lesson before it can end, and those of the mean return; for `win_rate`, matches."""
    signal_smoothing: bool = True
    """Whether means and statistics are smoothed: a quarter of the last value, three quarters of the new one."""
    require_reset: bool = False
    """Whether all games begin anew when the lesson ends."""
    reward: Literal["sum", "own", "group"] = Field(default="sum", json_schema_extra=OWN)
    """Which reward `reward` measures: the agent's and its group's together, or one of them."""
    against: Literal["snapshots", "oldest"] = Field(default="snapshots", json_schema_extra=OWN)
    """Whom `win_rate` measures against: all past selves in the window, or its oldest, the anchor."""

    @model_validator(mode="after")
    def _can_be_reached(self) -> CompletionCriteria:
        if self.measure in ("progress", "win_rate") and not 0.0 <= self.threshold < 1.0:
            raise ValueError(f"{self.measure} runs from 0 to 1; the threshold {self.threshold} would never be passed")
        return self


class Lesson(Section):
    """One lesson."""

    name: str = Field(min_length=1)
    """What it is called."""
    value: LessonValue
    """The parameter during the lesson."""
    completion_criteria: CompletionCriteria | None = None
    """When the next one begins; the last has none."""


class Curriculum(Section):
    """Lessons that follow each other."""

    curriculum: tuple[Lesson, ...]
    """The lessons, in order."""

    @classmethod
    def fits(cls, value: Mapping[str, Any]) -> bool:
        """Whether a section is a curriculum; else it is a sampler."""
        return "curriculum" in value

    @field_validator("curriculum")
    @classmethod
    def _lessons_lead_on(cls, lessons: tuple[Lesson, ...]) -> tuple[Lesson, ...]:
        if not lessons:
            raise ValueError("there are no lessons")
        names = [lesson.name for lesson in lessons]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"lessons have names of their own; given twice: {', '.join(twice)}")
        endless = [lesson.name for lesson in lessons[:-1] if lesson.completion_criteria is None]
        if endless:
            raise ValueError(f"every lesson but the last needs completion_criteria; without: {', '.join(endless)}")
        return lessons


EnvironmentParameter: TypeAlias = Annotated[float | Sampler | Curriculum, WrapValidator(_parameter)]
"""A number, a sampler, or lessons."""

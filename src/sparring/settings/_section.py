"""The base of every settings section: frozen, unknown keys refused, values checked at construction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue, ValidatorFunctionWrapHandler
from pydantic_core import PydanticCustomError

__all__ = ["OWN", "Section", "not_among", "number_or", "validated_as"]

OWN: dict[str, JsonValue] = {"x-sparring": True}
"""Marks keys that Sparring adds to the format users know: `Field(default=…, json_schema_extra=OWN)`."""


class Section(BaseModel):
    """One section of a settings file; immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def kind_of(cls, key: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a type annotation is anything
        """The type of a key, where that depends on what else is given in the section; None where it does not."""
        del key, given

    @classmethod
    def cure_for_unknown(cls, key: str) -> str:
        """What to do about a key this section does not know, where more is known than the nearest name."""
        del key
        return ""


def validated_as(kind: type[BaseModel], value: object, handler: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401
    """The value as a section of the given kind; for fields whose kind depends on what they or their siblings say.

    Mistakes keep their path: pydantic puts those of the inner validation below the field.
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, Mapping):
        return kind.model_validate(value)
    return handler(value)


def number_or(kind: type[BaseModel], value: object, handler: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401
    """The value as a section of the given kind, or as a number."""
    if isinstance(value, (Mapping, kind)):
        return validated_as(kind, value, handler)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise PydanticCustomError("wrong_kind", "neither a number nor a section")


def not_among(name: str, allowed: list[str]) -> PydanticCustomError:
    """The error of a name that is none of those allowed."""
    return PydanticCustomError("choice", "one of {choices}", {"choices": ", ".join(allowed), "found": name})

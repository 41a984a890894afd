"""Looks things up in the settings models: which keys there are, what a value may be, and how its spelling is read."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types

from sparring.settings._section import Section

__all__ = ["Kind", "Unreadable", "keys_of", "kind_at", "kind_of_model", "sections_with_key", "typed", "value_at"]

_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d{1,3})?", re.ASCII)
_PREFIXED = re.compile(r"[-+]?0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)", re.ASCII)
_MAX_NUMBER_LENGTH = 100
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True)
class Kind:
    """What may stand in one place."""

    types: tuple[Any, ...]
    """The alternatives, without None."""
    nullable: bool = False
    bounds: tuple[Any, ...] = ()
    """Limits of numbers and lengths."""

    @property
    def section(self) -> type[Section] | None:
        """The section that stands here, if one does."""
        models = [kind for kind in self.types if isinstance(kind, type) and issubclass(kind, Section)]
        return models[0] if models else None

    @property
    def is_mapping(self) -> bool:
        """Whether keys stand below."""
        return self.section is not None or any(get_origin(kind) is dict for kind in self.types)

    def of(self, value: object) -> Kind:
        """The kind a value is of, where several sections may stand."""
        sections = [kind for kind in self.types if isinstance(kind, type) and issubclass(kind, Section)]
        if len(sections) < 2 or not isinstance(value, Mapping):
            return self
        fitting = [kind for kind in sections if getattr(kind, "fits", lambda _: False)(value)]
        return Kind(tuple(fitting[:1]) or tuple(sections[:1]), self.nullable, self.bounds)

    def below(self, key: str | int, given: object = None) -> Kind | None:
        """What may stand under a key or at a list position; None where nothing may.

        Args:
            key: the key or position.
            given: the section or list, for keys whose kind depends on their siblings.
        """
        for kind in self.of(given).types:
            if isinstance(kind, type) and issubclass(kind, Section):
                info = kind.model_fields.get(str(key))
                if info is None:
                    return None
                siblings = given if isinstance(given, Mapping) else {}
                special = kind.kind_of(str(key), siblings)
                return _kind(info.annotation, tuple(info.metadata)) if special is None else _kind(special)
            if get_origin(kind) in (dict, list, tuple):
                arguments = [argument for argument in get_args(kind) if argument is not Ellipsis]
                return _kind(arguments[-1])
        return None

    def __str__(self) -> str:
        words = list(dict.fromkeys(_words(kind, self.bounds) for kind in self.types))
        return " or ".join([*words, "null"] if self.nullable else words)


class Unreadable:
    """Stands for a value whose kind is wrong though pydantic would read it, such as `true` for a number."""

    def __init__(self, value: object) -> None:
        self.value = value


def kind_of_model(model: type[Section]) -> Kind:
    """The whole tree of a model."""
    return Kind((model,))


def kind_at(root: Kind, path: Sequence[str | int], tree: object = None) -> Kind | None:
    """What may stand at a place of a tree; None where nothing may."""
    kind: Kind | None = root
    for key in path:
        if kind is None:
            return None
        kind = kind.below(key, tree)
        tree = value_at(tree, key)
    return None if kind is None else kind.of(tree)


def value_at(tree: object, key: str | int) -> object:
    """What stands under a key or position; None where nothing does."""
    if isinstance(tree, Mapping):
        return tree.get(key)
    return tree[key] if isinstance(tree, (list, tuple)) and isinstance(key, int) and key < len(tree) else None


def keys_of(kind: Kind | None) -> list[str]:
    """The keys a section knows; none where the keys are free."""
    return list(kind.section.model_fields) if kind is not None and kind.section is not None else []


def sections_with_key(kind: Kind, key: str, given: object = None) -> Iterator[str]:
    """Dotted paths of the sections below that know the key; free keys (names of behaviors) are not looked into."""
    for name in keys_of(kind):
        child = kind.below(name, given)
        if child is not None and child.section is not None:
            if key in keys_of(child):
                yield name
            yield from (f"{name}.{deeper}" for deeper in sections_with_key(child, key, value_at(given, name)))


def typed(value: object, kind: Kind | None) -> object:
    """The value as its kind reads it; what cannot be read stays, so that validation can say what is wrong.

    Texts become numbers and truths where these are asked for: `5e4` and `50_000.0` are whole numbers; yes, no, on and
    off are truths, 0 and 1 are not. An empty section is a section with nothing set.
    """
    if kind is None:
        return value
    if value is None:
        return {} if kind.is_mapping and not kind.nullable else None
    if isinstance(value, Mapping):
        return {key: typed(item, kind.below(key, value)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [typed(item, kind.below(index, value)) for index, item in enumerate(value)]
    for alternative in kind.types:
        read = _READERS.get(alternative, _unchanged)(value)
        if not isinstance(read, Unreadable):
            return read
    return Unreadable(value)


def _kind(annotation: Any, bounds: tuple[Any, ...] = ()) -> Kind:  # noqa: ANN401 - a type annotation is anything
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        return _kind(inner, (*bounds, *_flat(metadata)))
    if get_origin(annotation) in (Union, types.UnionType):
        inner_kinds = [_kind(argument) for argument in get_args(annotation) if argument is not type(None)]
        return Kind(
            tuple(kind for inner in inner_kinds for kind in inner.types),
            nullable=type(None) in get_args(annotation),
            bounds=(*bounds, *(bound for inner in inner_kinds for bound in inner.bounds)),
        )
    return Kind((annotation,), bounds=_flat(bounds))


def _flat(metadata: Sequence[Any]) -> tuple[Any, ...]:
    """Limits one by one; pydantic's Field keeps several in one object."""
    return tuple(bound for item in metadata for bound in getattr(item, "metadata", [item]))


def _words(kind: Any, bounds: tuple[Any, ...]) -> str:  # noqa: ANN401 - a type annotation is anything
    if get_origin(kind) is Literal:
        choices = [str(choice) for choice in get_args(kind)]
        return choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"
    if get_origin(kind) in (list, tuple):
        return "a list"
    if get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, Section)):
        return "a section"
    if kind in (int, float):
        return ("a whole number" if kind is int else "a number") + _range(kind, bounds)
    return {bool: "true or false", str: "a text"}.get(kind, getattr(kind, "__name__", str(kind)))


def _range(kind: type, bounds: tuple[Any, ...]) -> str:
    parts = []
    for bound in bounds:
        if isinstance(bound, annotated_types.Ge):
            parts.append(f"of at least {bound.ge}")
        elif isinstance(bound, annotated_types.Gt):
            parts.append(f"of at least {bound.gt + 1}" if kind is int else f"above {bound.gt}")  # type: ignore[operator]
        elif isinstance(bound, annotated_types.Le):
            parts.append(f"of at most {bound.le}")
        elif isinstance(bound, annotated_types.Lt):
            parts.append(f"below {bound.lt}")
    return " " + " and ".join(parts) if parts else ""


def _unchanged(value: object) -> object:
    return value


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _as_bool(value: object) -> object:
    if isinstance(value, str):
        return _TRUTHS.get(value.casefold(), Unreadable(value))
    return value if isinstance(value, bool) else Unreadable(value)


def _as_int(value: object) -> object:
    if isinstance(value, str):
        return _int_of(value.strip())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else Unreadable(value)


def _int_of(text: str) -> object:
    if len(text) > _MAX_NUMBER_LENGTH:
        return Unreadable(text)
    if _PREFIXED.fullmatch(text):
        return int(text, 0)
    if not _NUMBER.fullmatch(text):
        return Unreadable(text)
    number = Decimal(text.replace("_", ""))  # exact: a float would round what is above 2**53
    return int(number) if number == number.to_integral_value() else Unreadable(text)


def _as_float(value: object) -> object:
    if isinstance(value, str):
        text = value.strip()
        is_number = len(text) <= _MAX_NUMBER_LENGTH and _NUMBER.fullmatch(text)
        return float(text.replace("_", "")) if is_number else Unreadable(value)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else Unreadable(value)


_READERS = {int: _as_int, float: _as_float, bool: _as_bool, str: _as_text}

"""Every key of settings files, made from the model that checks them: as JSON Schema and as tables to read."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, get_args

from pydantic_core import PydanticUndefined

from sparring.settings._schema import kind_of_model
from sparring.settings._section import Section
from sparring.settings.environment_parameters import CompletionCriteria, Curriculum, Lesson, Sampler, sampler_types
from sparring.settings.hyperparameters import Hyperparameters, hyperparameters_of
from sparring.settings.run import RunSettings

__all__ = ["json_schema", "key_tables"]

_BUILT_IN = ("ppo", "poca", "sac")
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of settings files.

    Keys whose kind depends on a neighbor allow each of its kinds.
    """
    schema: dict[str, Any] = {"$schema": _DRAFT, **RunSettings.model_json_schema(), "title": "Sparring settings"}
    definitions = schema["$defs"]
    _allow(definitions, "BehaviorSettings", "hyperparameters", [hyperparameters_of(name) for name in _BUILT_IN])
    _allow(definitions, "Sampler", "sampler_parameters", list(sampler_types().values()))
    sections = {section.__name__: section for section in _all_sections(Section)}
    for name, definition in [("RunSettings", schema), *definitions.items()]:
        for key, meaning in _meanings(sections[name]).items() if name in sections else ():
            if key in definition["properties"]:
                definition["properties"][key]["description"] = meaning
    return schema


def _all_sections(base: type[Section]) -> Iterator[type[Section]]:
    for section in base.__subclasses__():
        yield section
        yield from _all_sections(section)


def _meanings(section: type[Section]) -> dict[str, str]:
    """What is written under each key of a section, those of its bases included.

    Read from the source only where it is asked for: pydantic would do it whenever a settings file is read.
    """
    found: dict[str, str] = {}
    for own in reversed(section.__mro__):
        if own is Section or not issubclass(own, Section):
            continue
        body = ast.parse(inspect.getsource(own)).body[0]
        assert isinstance(body, ast.ClassDef), own
        for key, after in zip(body.body, body.body[1:], strict=False):
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name) and is_text:
                assert isinstance(after, ast.Expr), after
                assert isinstance(after.value, ast.Constant), after
                found[key.target.id] = inspect.cleandoc(str(after.value.value))
    return found


def _allow(definitions: dict[str, Any], section: str, key: str, kinds: list[type[Section]]) -> None:
    for kind in kinds:
        own = kind.model_json_schema()
        definitions |= own.pop("$defs", {})
        definitions[kind.__name__] = own
    place = definitions[section]["properties"][key]
    choices = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in kinds]
    definitions[section]["properties"][key] = {"anyOf": choices, "description": place.get("description", "")}


def key_tables() -> str:
    """Markdown with a table for every section: key, default, meaning; keys of Sparring's own are marked."""
    parts = [
        "# Settings",
        "",
        "Made from the model that checks settings files, with `sparring config keys`. Keys marked with + are",
        "Sparring's own; all others are those of the known toolkit, with its defaults. Numbers may be written `5e4`,",
        "`5.0e4`, `1_000` or in quotes.",
    ]
    for title, section in _sections():
        parts += ["", f"## {title}", "", _summary(section), "", "| key | default | meaning |", "|---|---|---|"]
        parts += list(_rows(section))
    return "\n".join(parts) + "\n"


def _sections() -> Iterator[tuple[str, type[Section]]]:
    yield "The file", RunSettings
    root = kind_of_model(RunSettings)
    for key in RunSettings.model_fields:
        if key == "environment_parameters":
            yield from _PARAMETERS.items()
            continue
        kind = root.below(key)
        if key == "behaviors" and kind is not None:
            kind = kind.below("any")
        if kind is not None and kind.section is not None and key != "default_settings":
            yield from _below(key if key != "behaviors" else "behaviors.NAME", kind.section)


_PARAMETERS: Mapping[str, type[Section]] = MappingProxyType(
    {
        "environment_parameters.NAME, a sampler": Sampler,
        **{f"sampler_parameters of {name}": section for name, section in sampler_types().items()},
        "environment_parameters.NAME, lessons": Curriculum,
        "a lesson": Lesson,
        "completion_criteria of a lesson": CompletionCriteria,
    }
)


def _below(title: str, section: type[Section]) -> Iterator[tuple[str, type[Section]]]:
    yield title, section
    kind = kind_of_model(section)
    for key in section.model_fields:
        if key == "hyperparameters":
            for name in _BUILT_IN:
                yield f"{title}.hyperparameters of {name}", hyperparameters_of(name)
            continue
        child = kind.below(key)
        if child is not None and child.section is not None and not issubclass(child.section, Hyperparameters):
            yield from _below(f"{title}.{key}", child.section)


def _summary(section: type[Section]) -> str:
    return (section.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ")


def _rows(section: type[Section]) -> Iterator[str]:
    meanings = _meanings(section)
    for key, info in section.model_fields.items():
        extra = info.json_schema_extra
        mark = " +" if isinstance(extra, dict) and extra.get("x-sparring") else ""
        meaning = " ".join(meanings.get(key, "").split()).replace("|", "\\|")
        yield f"| `{key}`{mark} | {_default(info)} | {meaning} |"


def _default(info: Any) -> str:  # noqa: ANN401 - pydantic's field
    value = info.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, Section) or value in ({}, ()) or any(_is_section(kind) for kind in get_args(info.annotation)):
        return "none" if value is None else "as below"
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def _is_section(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)

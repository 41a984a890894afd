"""Classes by the name users write for them, the built-in ones and those other packages offer by entry points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from sparring.errors import SettingsError, nearest

__all__ = ["find_plug_in", "plug_in_names", "plug_ins"]


def plug_in_names(group: str, built_in: Iterable[str]) -> list[str]:
    """The built-in names in their order, then those that other packages add, sorted; nothing is loaded."""
    added = {point.name for point in entry_points(group=group)}.difference(built_in)
    return [*built_in, *sorted(added)]


def plug_ins(group: str, built_in: Mapping[str, str]) -> dict[str, EntryPoint]:
    """Entry points by name; a built-in name can't be taken over by another package.

    Args:
        group: of the entry points.
        built_in: `module:class` of Sparring's own. They are declared in pyproject.toml as well, and named here so that
            they are also found where the package's metadata is missing (a source tree on the path, a frozen program).
    """
    found = {entry.name: entry for entry in entry_points(group=group)}
    return found | {name: EntryPoint(name, value, group) for name, value in built_in.items()}


def find_plug_in(name: str, found: Mapping[str, EntryPoint], base: type, *, noun: str, where: str, misfit: str) -> Any:  # noqa: ANN401 - a class made from `base`, which may be abstract
    """The class of a name, imported.

    Args:
        name: as the user wrote it.
        found: from `plug_ins`.
        base: what the class has to be made from.
        noun: what messages call such a thing.
        where: the setting that names it.
        misfit: what messages say of something that is no such class.

    Raises:
        SettingsError: no installed package offers it, or what one offers can't be loaded or is no such class.
    """
    if name not in found:
        near = nearest(name, found, limit=1)
        raise SettingsError(
            f"no {noun} is called {name!r}",
            where=where,
            expected=f"one of {', '.join(sorted(found))}",
            cure=f"did you mean {near[0]!r}?" if near else "install the package that offers it",
        )
    try:
        kind = found[name].load()
    except Exception as error:  # a plug-in may raise anything while it is imported
        raise SettingsError(
            f"the {noun} {name!r} can't be loaded",
            where=where,
            found=f"{type(error).__name__}: {error}",
            cure=f"reinstall the package that offers {found[name].value}",
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise SettingsError(
            f"the {noun} {name!r} {misfit}",
            where=where,
            found=found[name].value,
            expected=f"a class made from {base.__module__.rpartition('.')[0]}.{base.__name__}",
        )
    return kind

"""Code of a person's own, named on the command line as `FILE.py:NAME`."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparring.errors import SettingsError, nearest

__all__ = ["existing_script", "load_function", "run_name_of", "script_path"]


def script_path(place: str) -> Path | None:
    """The script of a place, None if the text names none."""
    path, _, name = place.rpartition(":")
    return Path(path) if path.endswith(".py") and name.isidentifier() else None


def existing_script(place: str, *, where: str) -> Path:
    """The script of a place, which is there.

    Raises:
        SettingsError: it is not.
    """
    path = script_path(place)
    if path is None or not path.is_file():
        raise SettingsError("there is no such script", where=where, found=place, expected="FILE.py:NAME")
    return path


def run_name_of(world: str) -> str:
    """What a run of a world is called if nobody names it: like the world, or like its script."""
    script = script_path(world)
    return world if script is None else script.stem


def load_function(place: str, *, where: str) -> Callable[..., Any]:
    """The function, or whatever can be called, that a person names.

    The script runs once for every call, as a module of its own; what lies beside it can be imported by it, now and
    later, as if Python had been started with it.

    Args:
        place: `FILE.py:NAME`.
        where: the option or key that names it, for messages.

    Raises:
        SettingsError: there is no such script or name, it can't be called, or the script can't be run.
    """
    path = existing_script(place, where=where)
    name = place.rpartition(":")[2]
    own_name = f"sparring_script_{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(own_name, path)
    assert spec is not None, f"{path} ends with .py"
    assert spec.loader is not None, f"{path} ends with .py"
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[own_name] = module  # dataclasses and pickle look a class's module up by its name
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a person's script may raise anything
        del sys.modules[own_name]
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = f":{lines[-1]}" if lines else ""
        raise SettingsError(
            "the script can't be run", where=f"{where} {path}{line}", found=f"{type(error).__name__}: {error}"
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        like = nearest(name, [each for each, value in vars(module).items() if callable(value)])
        raise SettingsError(
            f"the script has nothing to call by the name {name!r}",
            where=f"{where} {path}",
            cure=f"did you mean {like[0]!r}?" if like else "",
        )
    found: Callable[..., Any] = function
    return found

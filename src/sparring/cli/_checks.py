"""The pieces of an installation that can be broken, each checked by using it."""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

__all__ = ["Check", "State", "all_checks"]

State = Literal["ok", "note", "broken"]
"""A note is worth knowing but stops nothing."""

_ENOUGH_DISK = 2 * 1024**3
_PIP = "python -m pip"
_MODULES = {
    "ruamel-yaml": "ruamel.yaml",
    "ruamel.yaml": "ruamel.yaml",
    "grpcio": "grpc",
    "pillow": "PIL",
    "protobuf": "google.protobuf",
}  # packages whose module has another name


@dataclass(frozen=True, slots=True)
class Check:
    """One piece, how it is, and how to mend it."""

    name: str
    state: State
    value: str
    cure: str = ""


def all_checks(results_dir: Path) -> Iterator[Check]:
    """Checks one piece after the other; whatever one of them raises is its result and does not stop the others."""
    for name, check in (
        ("python", _python),
        ("packages", _packages),
        ("device", _device),
        ("threads", _threads),
        ("export", _export),
        ("results folder", lambda: _writable("results folder", results_dir, "give another --results-dir")),
        ("temporary folder", _temporary_folder),
        ("compiled worlds", _compiled_worlds),
        ("writers", _writers),
        ("disk", lambda: _disk(results_dir)),
    ):
        yield from _guarded(name, check)


def _guarded(name: str, check: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    try:
        yield from check()
    # A broken package may raise anything when it is used; that is what is being looked for.
    except Exception as error:
        yield Check(name, "broken", _first_line(error), _reinstall("sparring"))


def _python() -> Iterator[Check]:
    yield Check("python", "ok", f"{platform.python_version()} at {sys.executable}")
    yield Check("platform", "ok", platform.platform())


def _packages() -> Iterator[Check]:
    from sparring.runs.installation import required_packages  # noqa: PLC0415 - imports NumPy, which may be broken

    names = required_packages()
    if not names:
        yield Check("packages", "note", "Sparring is not installed, only on the path", "pip install -e .")
    for name in names:
        yield _package(name)


def _package(name: str) -> Check:
    try:
        version = metadata.version(name)
        importlib.import_module(_MODULES.get(name, name.replace("-", "_")))
    except metadata.PackageNotFoundError:
        return Check(name, "broken", "not installed", f"{_PIP} install {name}")
    # As above: a package that is half installed raises what it likes.
    except Exception as error:
        return Check(name, "broken", f"cannot be loaded: {_first_line(error)}", _reinstall(name))
    return Check(name, "ok", version)


def _device() -> Iterator[Check]:
    import torch  # noqa: PLC0415

    from sparring.training.device import choose_device  # noqa: PLC0415

    device, why = choose_device("auto")
    worked = (torch.ones(8, device=device) * 2).sum().item() == 16.0
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "no CUDA"
    value = f"{device}: {why} (torch {torch.__version__}, built with {build})"
    if not worked:
        yield Check("device", "broken", f"{value}; it adds up wrongly", "train with torch_settings.device=cpu")
    elif device.type == "cpu" and shutil.which("nvidia-smi"):
        cure = "the machine has an NVIDIA driver; for a build of torch that uses it see pytorch.org/get-started"
        yield Check("device", "note", value, cure)
    else:
        yield Check("device", "ok", value)


def _threads() -> Iterator[Check]:
    from sparring.training.device import arithmetic_threads  # noqa: PLC0415

    yield Check("threads", "ok", f"{arithmetic_threads(0)} of {os.cpu_count()} processors")


def _export() -> Iterator[Check]:
    from sparring.networks.export import exporter_available  # noqa: PLC0415

    fault = exporter_available()
    if fault is None:
        yield Check("export", "ok", "a model was written and gives what its policy gives")
    else:
        yield Check("export", "broken", str(fault).partition("\n")[0], fault.cure)


def _writable(name: str, folder: Path, cure: str) -> Iterator[Check]:
    existing = _existing(folder)
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        yield Check(name, "broken", f"{existing} cannot be written: {error.strerror or error}", cure)
    else:
        yield Check(name, "ok", f"{folder.absolute()} can be written")


def _temporary_folder() -> Iterator[Check]:
    try:
        folder = Path(tempfile.gettempdir())
    except OSError as error:
        yield Check("temporary folder", "broken", error.strerror or str(error), "set TMPDIR to a folder of yours")
    else:
        yield from _writable("temporary folder", folder, "set TMPDIR to a folder of yours")


def _compiled_worlds() -> Iterator[Check]:
    import numba  # noqa: PLC0415

    try:
        folder = str(numba.njit(cache=True)(_existing).stats.cache_path)
    except RuntimeError:
        cure = "set NUMBA_CACHE_DIR to a folder you can write, to save these seconds at each start"
        yield Check("compiled worlds", "note", "no folder to keep them in: they are compiled at each start", cure)
    else:
        yield Check("compiled worlds", "ok", f"kept on disk, as in {folder}")


def _writers() -> Iterator[Check]:
    for point in sorted(metadata.entry_points(group="sparring.writers"), key=lambda point: point.name):
        package = point.dist.name if point.dist is not None else point.value
        try:
            point.load()
        # A plug-in is foreign code; whatever it raises, the person must learn whose it is.
        except Exception as error:
            cure = f"{_reinstall(package)} (or uninstall it; other writers work without it)"
            yield Check(f"writer {point.name}", "broken", f"cannot be loaded: {_first_line(error)}", cure)
        else:
            yield Check(f"writer {point.name}", "ok", f"from package {package}")


def _disk(folder: Path) -> Iterator[Check]:
    free = shutil.disk_usage(_existing(folder)).free
    value = f"{free / 1024**3:,.1f} GiB free where results go"
    if free < _ENOUGH_DISK:
        yield Check("disk", "note", value, "make room, or give another --results-dir: checkpoints may not fit")
    else:
        yield Check("disk", "ok", value)


def _existing(folder: Path) -> Path:
    """The nearest folder above that exists; a check makes none."""
    folder = folder.absolute()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".strip().splitlines()[0]


def _reinstall(package: str) -> str:
    return f"{_PIP} install --force-reinstall {package}"

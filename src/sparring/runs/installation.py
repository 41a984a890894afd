"""What is installed, without importing it: the block that is stored with every run."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata
from typing import Any

import psutil

__all__ = ["installed", "required_packages"]


def installed() -> dict[str, Any]:
    """Python, the machine, and the version of every package that Sparring needs; ready to be written as JSON."""
    return {
        "sparring": _version("sparring"),
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "packages": {name: _version(name) for name in required_packages()},
    }


def required_packages() -> list[str]:
    """The packages that Sparring needs, extras excepted, as its own metadata names them."""
    try:
        requirements = metadata.requires("sparring") or []
    except metadata.PackageNotFoundError:
        return []
    return [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in requirements if "extra ==" not in line]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

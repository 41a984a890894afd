"""Kernels on disk: they work where nothing can be written, and know when what they call has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sparring import compilation

INNER = "from {package}.compilation import compiled\n\n\n@compiled\ndef inner():\n    return {answer}\n"
OUTER = (
    "from {package}.compilation import entry\nfrom {package}.inner import inner\n\n\n"
    "@entry\ndef outer():\n    return inner()\n"
)


@pytest.fixture
def package(tmp_path):
    """A package that holds a copy of the decorators and one kernel that calls another module."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    shutil.copy(compilation.__file__, folder / "compilation.py")
    (folder / "__init__.py").touch()
    (folder / "inner.py").write_text(INNER.format(package="tiny", answer=1))
    (folder / "outer.py").write_text(OUTER.format(package="tiny"))
    return folder


def answer(package: Path, *, home: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA")}
    environment |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"), str(home))
    code = "from tiny.outer import outer; print(outer())"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def kernels(folder: Path) -> list[Path]:
    return list(folder.rglob("*.nbc"))


def test_a_kernel_is_kept_beside_its_module_and_renewed_when_what_it_calls_changes(package, tmp_path):
    assert answer(package, home=tmp_path) == "1"
    assert len(kernels(package)) == 1
    (package / "inner.py").write_text(INNER.format(package="tiny", answer=2))
    assert answer(package, home=tmp_path) == "2"


def test_a_kernel_works_where_no_folder_can_be_written(package, tmp_path):
    # A file where a folder would have to be refuses even the administrator.
    (package / "__pycache__").touch()
    home = tmp_path / "home"
    home.touch()
    assert answer(package, home=home) == "1"
    assert not kernels(tmp_path)


def test_a_kernel_goes_to_the_user_when_the_package_cannot_be_written(package, tmp_path):
    (package / "__pycache__").touch()
    home = tmp_path / "home"
    home.mkdir()
    assert answer(package, home=home) == "1"
    assert len(kernels(home)) == 1

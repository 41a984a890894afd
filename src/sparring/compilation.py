"""How loops over columns are compiled: a decorator for functions Python calls, another for what those call.

Only entry kernels are cached on disk: what they call is compiled into them. Where no folder is writable (a read-only
install with a read-only home) they are compiled anew by every process, which takes seconds and is never an error.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

__all__ = ["compiled", "entry"]

# Documented with `register_jitable`, but not among the typed arguments of `njit`.
_WITHOUT_RUNTIME: dict[str, Any] = {"_nrt": False}
_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """Compiles a function that kernels call; it may not allocate, and Python cannot call it.

    No fast math: the same inputs give the same bits whatever the number of arenas or threads. Division by zero gives
    an infinity as in NumPy, because a branch that raises would keep the loops over rays from becoming vector code.
    Numba's runtime is off: it would count a reference for every array at every call, a third of the whole time.
    """
    return cast("_Function", numba.njit(nogil=True, error_model="numpy", **_WITHOUT_RUNTIME)(function))


def entry(function: _Function) -> _Function:
    """Compiles a kernel that Python calls; it runs without the interpreter lock and is cached on disk if possible."""
    try:
        kernel = numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:
        # Numba finds no folder to write to: neither beside the module nor in the user's cache.
        return cast("_Function", numba.njit(nogil=True, error_model="numpy")(function))
    _cover_whole_package(kernel)
    return cast("_Function", kernel)


def _cover_whole_package(kernel: Any) -> None:  # noqa: ANN401 - a Numba dispatcher has no public type
    """Makes the cached code depend on every module of its package.

    Numba looks only at the file that holds the entry, so a change in a function it calls would go unnoticed. A future
    Numba without these attributes would only bring that back, and only for those who edit kernels.
    """
    index: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        folder = Path(kernel.py_func.__code__.co_filename).parent
        index._source_stamp = (index._source_stamp, _digest_of(folder))  # noqa: SLF001


@functools.cache
def _digest_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for module in sorted(folder.glob("*.py")):
        digest.update(module.read_bytes())
    return digest.hexdigest()

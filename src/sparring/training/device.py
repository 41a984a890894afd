"""Which device the networks live on, and how many threads its arithmetic has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from sparring.errors import SettingsError

__all__ = ["arithmetic_threads", "choose_device", "one_network_threads"]

_MOST_THREADS = 8
_TYPES = ("cpu", "cuda", "mps", "xpu")


def choose_device(name: str) -> tuple[torch.device, str]:
    """The device for a name of the settings, and why it is this one.

    Raises:
        SettingsError: no such device, or this installation of torch cannot use it.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda"), f"a CUDA device is there ({torch.cuda.get_device_name()})"
        return torch.device("cpu"), "no CUDA device is usable by this installation of torch"
    try:
        device = torch.device(name)
        if device.type not in _TYPES:  # torch has devices for other ends, such as `meta`, which holds no numbers
            raise RuntimeError(f"nothing is trained on a device of type {device.type}")
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise SettingsError(
            f"the device {name!r} cannot be used",
            where="torch_settings.device",
            found=str(error).splitlines()[0],
            expected="auto, cpu, cuda, cuda:N, mps or xpu",
            cure="use cpu, or install the build of torch that fits your hardware",
        ) from None
    return device, "the settings ask for it"


def arithmetic_threads(setting: int) -> int:
    """Threads for the arithmetic: as set, or what this process may use, at most 8."""
    if setting:
        return setting
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, _MOST_THREADS)


@contextmanager
def one_network_threads(threads: int) -> Iterator[None]:
    """Gives each of two networks that are updated side by side half of the threads, and puts the number back after.

    The number belongs to the process, not to torch's objects, so it is set for the time of a run only.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, threads // 2))
    try:
        yield
    finally:
        torch.set_num_threads(before)

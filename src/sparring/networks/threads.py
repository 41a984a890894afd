"""A second thread for arithmetic."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

__all__ = ["second_thread"]


def second_thread(name: str) -> ThreadPoolExecutor:
    """One thread whose arithmetic has as many threads of its own as that of the thread that asks for it.

    The number of OpenMP threads belongs to each thread by itself, and a new one begins with all cores: its helpers
    would spin on the cores that the others work on.
    """
    return ThreadPoolExecutor(1, name, initializer=torch.set_num_threads, initargs=(torch.get_num_threads(),))

"""The states of networks and optimizers as arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sparring.errors import CheckpointError

__all__ = ["load_module_state", "load_optimizer_state", "load_what_fits", "module_state", "optimizer_state"]


def module_state(module: torch.nn.Module) -> dict[str, Any]:
    """Copies of a module's weights and buffers, by name."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in module.state_dict().items()}


def load_module_state(module: torch.nn.Module, state: dict[str, Any], *, where: str) -> None:
    """Loads what `module_state` gave.

    Raises:
        CheckpointError: a name is missing or unknown, or a shape differs; the module is unchanged.
    """
    own = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    stored = {name: tuple(np.shape(array)) for name, array in state.items()}
    if own != stored:
        odd = sorted(name for name in own.keys() | stored.keys() if own.get(name) != stored.get(name))
        raise CheckpointError(
            "the checkpoint's network is not the one the settings describe",
            where=f"{where}: {', '.join(odd[:3])}{' …' if len(odd) > 3 else ''}",
            found=str(stored.get(odd[0], "nothing")),
            expected=str(own.get(odd[0], "nothing")),
            cure="resume with the settings the run was made with, or start a new run with --initialize-from",
        )
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in state.items()})


def load_what_fits(module: torch.nn.Module, state: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Loads the arrays whose name and shape fit.

    Returns:
        The names that were loaded, and a line for each of the module's that stay as they are.
    """
    fitting, left = {}, []
    for name, tensor in module.state_dict().items():
        if name not in state:
            left.append(f"{name} is new")
        elif np.shape(state[name]) != tuple(tensor.shape):
            left.append(
                f"{name} is new because of its shape: {np.shape(state[name])} there, {tuple(tensor.shape)} here"
            )
        else:
            fitting[name] = torch.from_numpy(np.array(state[name]))
    module.load_state_dict(fitting, strict=False)
    return list(fitting), left


def optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Copies of the moments of every parameter, by its place."""
    entries = optimizer.state_dict()["state"]
    return {
        str(place): {name: torch.as_tensor(value).detach().cpu().numpy().copy() for name, value in moments.items()}
        for place, moments in entries.items()
    }


def load_optimizer_state(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Loads what `optimizer_state` gave."""
    whole = optimizer.state_dict()
    whole["state"] = {
        int(place): {name: torch.from_numpy(np.array(value)) for name, value in moments.items()}
        for place, moments in state.items()
    }
    optimizer.load_state_dict(whole)
    # Fused updates walk weights and moments through memory side by side, so both must lie in the same order.
    for parameter, moments in optimizer.state.items():
        for name, value in moments.items():
            if value.shape == parameter.shape:
                moments[name] = torch.empty_like(parameter).copy_(value)

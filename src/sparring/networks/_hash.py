"""A fingerprint of weights."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor, nn

__all__ = ["weights_hash"]


def weights_hash(weights: nn.Module | Mapping[str, Tensor]) -> str:
    """32 hexadecimal digits over the sorted names, dtypes, shapes and bytes of all weights and saved buffers.

    Equal on every device and whatever the order of the names; any change of a name, dtype, shape or bit changes it.
    """
    tensors = weights.state_dict() if isinstance(weights, nn.Module) else weights
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name].detach().to("cpu").contiguous()
        digest.update(f"{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()

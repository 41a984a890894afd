"""The message classes, made at run time from the descriptors in `communicator.desc`.

They live in a pool of their own: one file works with every protobuf runtime, and an installed package that registers
messages of the same names in the default pool is no clash.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["PACKAGE", "message_class"]

PACKAGE = "communicator_objects"


@functools.cache
def message_class(name: str) -> Any:  # noqa: ANN401 - a class that exists only at run time
    """The class of a message of `communicator.proto`, by its name there, such as `AgentInfoProto`.

    Raises:
        KeyError: there is no such message.
    """
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


@functools.cache
def _pool() -> descriptor_pool.DescriptorPool:
    descriptors = descriptor_pb2.FileDescriptorSet.FromString(
        files("sparring.wire").joinpath("communicator.desc").read_bytes()
    )
    pool = descriptor_pool.DescriptorPool()
    for file in descriptors.file:
        pool.Add(file)
    return pool

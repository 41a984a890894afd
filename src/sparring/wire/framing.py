"""Bytes of protobuf messages that are put together by hand."""

from __future__ import annotations

from sparring.errors import WireError

__all__ = ["LENGTH_DELIMITED", "delimited", "read_varint", "varint", "with_length"]

LENGTH_DELIMITED = 2


def varint(number: int) -> bytes:
    """A number that is not negative, seven bits a byte."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def with_length(content: bytes) -> bytes:
    """Content after its length."""
    return varint(len(content)) + content


def delimited(number: int, content: bytes) -> bytes:
    """A field of bytes with its number, below 16, and length."""
    return bytes([number << 3 | LENGTH_DELIMITED]) + with_length(content)


def read_varint(data: bytes, at: int, message: str) -> tuple[int, int]:
    """A number of at most 70 bits and the place behind it.

    Raises:
        WireError: it is cut short or longer; `message` says where.
    """
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise WireError("malformed bytes", where=message, found="a number cut short or too long")

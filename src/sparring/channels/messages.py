"""Messages of side channels: values written one behind the other, and read in the same order (wire spec 5.1)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from sparring.errors import SpecError, WireError

__all__ = ["IncomingMessage", "OutgoingMessage"]


class IncomingMessage:
    """Reads a message from its beginning. Reading at the end gives the default, so fields may be added later."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read_bool(self, default_value: bool = False) -> bool:
        """One byte; anything but 0 is true."""
        return default_value if self._is_over() else bool(self._take("<?", "a truth value"))

    def read_int32(self, default_value: int = 0) -> int:
        """A whole number of 32 bits.

        Raises:
            WireError: only a part of it is there.
        """
        return default_value if self._is_over() else int(self._take("<i", "a whole number"))

    def read_float32(self, default_value: float = 0.0) -> float:
        """A number of 32 bits.

        Raises:
            WireError: only a part of it is there.
        """
        return default_value if self._is_over() else float(self._take("<f", "a number"))

    def read_float32_list(self, default_value: Sequence[float] | None = None) -> list[float]:
        """A count and as many numbers.

        Raises:
            WireError: a negative count, or fewer numbers than that.
        """
        if self._is_over():
            return list(default_value or ())
        count = self.read_int32()
        if count < 0 or 4 * count > len(self._data) - self._at:
            raise WireError("a list is longer than its message", where="side channel", found=f"{count} numbers")
        values = struct.unpack_from(f"<{count}f", self._data, self._at)
        self._at += 4 * count
        return list(values)

    def read_string(self, default_value: str = "") -> str:
        """A length in bytes and as many ASCII characters; what is not ASCII becomes `?`, what is missing is cut off.

        Raises:
            WireError: a negative length.
        """
        if self._is_over():
            return default_value
        length = self.read_int32()
        if length < 0:
            raise WireError("a text has a negative length", where="side channel", found=str(length))
        raw = self._data[self._at : self._at + length]
        self._at += len(raw)
        return raw.decode("ascii", "replace").replace("\ufffd", "?")

    def get_raw_bytes(self) -> bytes:
        """The whole message."""
        return self._data

    def _is_over(self) -> bool:
        return self._at >= len(self._data)

    def _take(self, form: str, what: str) -> Any:  # noqa: ANN401 - what the form says
        size = struct.calcsize(form)
        if size > len(self._data) - self._at:
            raise WireError(f"{what} is cut short", where="side channel", found=self._data[self._at :].hex())
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += size
        return value


class OutgoingMessage:
    """Puts values one behind the other."""

    def __init__(self) -> None:
        self.buffer = bytearray()

    def write_bool(self, value: bool) -> None:
        """One byte."""
        self.buffer += struct.pack("<?", value)

    def write_int32(self, value: int) -> None:
        """A whole number of 32 bits.

        Raises:
            SpecError: it does not fit into 32 bits.
        """
        if not -(2**31) <= value < 2**31:
            raise SpecError("a number does not fit into 32 bits", where="side channel", found=str(value))
        self.buffer += struct.pack("<i", value)

    def write_float32(self, value: float) -> None:
        """A number, rounded to 32 bits; one that is too large becomes an infinity."""
        try:
            self.buffer += struct.pack("<f", value)
        except OverflowError:
            self.buffer += struct.pack("<f", float("inf") if value > 0 else float("-inf"))

    def write_float32_list(self, values: Sequence[float]) -> None:
        """A count and the numbers."""
        self.write_int32(len(values))
        for value in values:
            self.write_float32(value)

    def write_string(self, value: str) -> None:
        """A length in bytes and the characters.

        Raises:
            SpecError: there is a character that is not ASCII, which games can't read.
        """
        if not value.isascii():
            raise SpecError("a text of a side channel is not ASCII", where="side channel", found=repr(value))
        self.write_int32(len(value))
        self.buffer += value.encode("ascii")

    def set_raw_bytes(self, data: bytes) -> None:
        """Makes `data` the whole message.

        Raises:
            SpecError: something was written already.
        """
        if self.buffer:
            raise SpecError("raw bytes can't follow values that were written before", where="side channel")
        self.buffer += data

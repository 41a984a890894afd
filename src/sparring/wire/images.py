"""Images as games send them: PNGs of three channels each, one behind the other, in either layout."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sparring.errors import WireError

__all__ = ["decoded_image", "encoded_image"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def decoded_image(
    data: bytes, channels: int, height: int, width: int, mapping: Sequence[int] = ()
) -> NDArray[np.float32]:
    """The image of a compressed observation, float32 `[channels, height, width]` between 0 and 1 (wire spec 6.3).

    Args:
        data: PNGs of three channels, one behind the other.
        channels, height, width: what the sensor declares.
        mapping: for each stored channel the channel it goes to; several with the same are averaged, negative ones
            dropped. Empty: one channel is the mean of the first PNG, more are the first of those stored.

    Raises:
        WireError: no PNG, of another size, too few channels, or a mapping that does not fit.
    """
    stored = np.concatenate([_channels(png, height, width) for png in _split(data)])
    if not mapping:
        if channels == 1:
            return _mean(stored[:3])[None]
        if len(stored) < channels:
            raise WireError("an image has too few channels", found=str(len(stored)), expected=str(channels))
        return stored[:channels].astype(np.float32) / np.float32(255.0)
    targets = np.asarray(mapping)
    if len(targets) != len(stored) or sorted({*targets[targets >= 0].tolist()}) != list(range(channels)):
        raise WireError(
            "an image's channel mapping does not fit",
            found=f"{list(mapping)} for {len(stored)} stored channels",
            expected=f"one entry a stored channel, with every channel from 0 to {channels - 1}",
        )
    return np.stack([_mean(stored[targets == channel]) for channel in range(channels)])


def encoded_image(image: NDArray[np.float32]) -> bytes:
    """PNGs of an image `[channels, height, width]` between 0 and 1.

    Gray is stored three times over; else missing channels of the last PNG are black.
    """
    if len(image) == 1:
        image = np.repeat(image, 3, axis=0)
    channels = len(image)
    padded = np.zeros((-(-channels // 3) * 3, *image.shape[1:]), np.float32)
    padded[:channels] = image
    whole = np.rint(padded.clip(0.0, 1.0) * 255.0).astype(np.uint8)
    out = io.BytesIO()
    for first in range(0, len(whole), 3):
        Image.fromarray(np.ascontiguousarray(whole[first : first + 3].transpose(1, 2, 0))).save(out, "PNG")
    return out.getvalue()


def _split(data: bytes) -> list[bytes]:
    starts = []
    place = data.find(_SIGNATURE)
    while place >= 0:
        starts.append(place)
        place = data.find(_SIGNATURE, place + len(_SIGNATURE))
    if not starts:
        raise WireError("an image is no PNG", found=f"{len(data)} bytes that begin {data[:8].hex()}")
    return [data[begin:end] for begin, end in zip(starts, [*starts[1:], len(data)], strict=True)]


def _mean(stored: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The mean of channels between 0 and 1; of whole numbers, so that equal ones give themselves to the last bit."""
    total = stored.sum(axis=0, dtype=np.int32).astype(np.float32)
    mean: NDArray[np.float32] = total / np.float32(255.0 * len(stored))
    return mean


def _channels(png: bytes, height: int, width: int) -> NDArray[np.uint8]:
    """The three channels of one PNG; its size is looked at before anything is decoded."""
    try:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
            if image.size != (width, height):
                raise WireError(
                    "an image has another size than its sensor declares",
                    found=f"{image.size[1]} x {image.size[0]}",
                    expected=f"{height} x {width}",
                )
            if image.mode != "RGB":
                raise WireError("an image is not RGB", found=image.mode, expected="RGB")
            pixels = np.asarray(image)
    except WireError:
        raise
    except Exception as error:  # Pillow raises whatever a damaged file makes it stumble over
        raise WireError("an image is damaged", found=f"{type(error).__name__}: {error}") from None
    return pixels.transpose(2, 0, 1)

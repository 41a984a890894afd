"""Encoders of image observations, channels first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import torch.nn.functional as F  # noqa: N812 - the name torch users read
from torch import Generator, Tensor, nn

from sparring.errors import ExportError, Finding
from sparring.plug_ins import find_plug_in, plug_ins
from sparring.settings.network import ENCODER_GROUP

from ._layers import Convolution, Dense, kaiming_normal

if TYPE_CHECKING:
    from .export import GraphWriter

__all__ = [
    "LEAK",
    "SMALLEST_IMAGE",
    "ConvolutionalEncoder",
    "CustomEncoder",
    "ImageEncoder",
    "ResidualEncoder",
    "ResidualStack",
    "make_image_encoder",
    "too_small",
]

LEAK = 0.01
"""Slope of the leaky ReLU below zero."""

SMALLEST_IMAGE: dict[str, int] = {
    "fully_connected": 1,
    "match3": 5,
    "resnet": 15,
    "simple": 20,
    "nature_cnn": 36,
}
"""Least height and width each encoder can take, smallest first."""

_CONVOLUTIONS: dict[str, tuple[tuple[int, int, int], ...]] = {
    "fully_connected": (),
    "match3": ((35, 3, 1), (144, 3, 1)),
    "simple": ((16, 8, 4), (32, 4, 2)),
    "nature_cnn": ((32, 8, 4), (64, 4, 2), (64, 3, 1)),
}
"""Channels, kernel and stride of each convolution."""

_RESIDUAL_CHANNELS = (16, 32, 32)
_DENSE_SCALE = 1.41


def too_small(kind: str, shape: tuple[int, ...], *, title: str) -> Finding | None:
    """What to say about an image of `shape` (channels, height, width) that the encoder cannot take."""
    _, height, width = shape
    needed = SMALLEST_IMAGE[kind] if kind in SMALLEST_IMAGE else _class_of(kind).smallest
    if min(height, width) >= needed:
        return None
    fitting = [name for name, least in SMALLEST_IMAGE.items() if least <= min(height, width)]
    return Finding(
        f"the image is too small for the encoder {kind!r}",
        where=title,
        found=f"height {height}, width {width}",
        expected=f"at least {needed} each",
        cure=f"send a larger image, or set vis_encode_type to one that fits: {', '.join(fitting)}",
    )


class ConvolutionalEncoder(nn.Module):
    """Convolutions, each with a leaky ReLU, then one dense layer with a leaky ReLU."""

    def __init__(self, kind: str, shape: tuple[int, ...], outputs: int, *, generator: Generator) -> None:
        super().__init__()
        channels, height, width = shape
        convolutions: list[Convolution] = []
        for filters, kernel, stride in _CONVOLUTIONS[kind]:
            convolutions.append(Convolution(channels, filters, kernel=kernel, stride=stride, generator=generator))
            channels = filters
            height, width = (height - kernel) // stride + 1, (width - kernel) // stride + 1
        self.convolutions = nn.ModuleList(convolutions)
        self.flat_size = channels * height * width
        self.dense = Dense(kaiming_normal(outputs, self.flat_size, scale=_DENSE_SCALE, generator=generator))

    def forward(self, image: Tensor) -> Tensor:
        """`[B, channels, height, width]` to `[B, outputs]`."""
        x = image
        for convolution in self.convolutions:
            x = F.leaky_relu(convolution(x), LEAK)
        return F.leaky_relu(self.dense.forward(x.flatten(1)), LEAK)


class ResidualStack(nn.Module):
    """A convolution, a pool that halves the image, and two residual blocks of SiLU, conv, SiLU, conv."""

    def __init__(self, inputs: int, outputs: int, *, generator: Generator) -> None:
        super().__init__()
        self.first = Convolution(inputs, outputs, kernel=3, stride=1, padding=1, generator=generator)
        self.blocks = nn.ModuleList(
            nn.ModuleList(
                Convolution(outputs, outputs, kernel=3, stride=1, padding=1, generator=generator) for _ in range(2)
            )
            for _ in range(2)
        )

    def pairs(self) -> list[tuple[Convolution, Convolution]]:
        """The two convolutions of each block."""
        found = []
        for block in self.blocks:
            assert isinstance(block, nn.ModuleList), block
            first, second = block
            assert isinstance(first, Convolution), first
            assert isinstance(second, Convolution), second
            found.append((first, second))
        return found

    def forward(self, x: Tensor) -> Tensor:
        """`[B, inputs, h, w]` to `[B, outputs, (h - 1) // 2, (w - 1) // 2]`."""
        x = F.max_pool2d(self.first.forward(x), 3, 2)
        for first, second in self.pairs():
            x = x + second.forward(F.silu(first.forward(F.silu(x))))
        return x


class ResidualEncoder(nn.Module):
    """Three residual stacks, then one dense layer with a ReLU (after Espeholt et al. 2018)."""

    def __init__(self, shape: tuple[int, ...], outputs: int, *, generator: Generator) -> None:
        super().__init__()
        channels, height, width = shape
        stacks: list[ResidualStack] = []
        for filters in _RESIDUAL_CHANNELS:
            stacks.append(ResidualStack(channels, filters, generator=generator))
            channels = filters
            height, width = (height - 1) // 2, (width - 1) // 2
        self.stacks = nn.ModuleList(stacks)
        self.flat_size = channels * height * width
        self.dense = Dense(kaiming_normal(outputs, self.flat_size, scale=_DENSE_SCALE, generator=generator))

    def typed_stacks(self) -> list[ResidualStack]:
        """The stacks, first to last."""
        return [stack for stack in self.stacks if isinstance(stack, ResidualStack)]

    def forward(self, image: Tensor) -> Tensor:
        """`[B, channels, height, width]` to `[B, outputs]`."""
        x = image
        for stack in self.typed_stacks():
            x = stack.forward(x)
        return F.relu(self.dense.forward(F.silu(x).flatten(1)))


class CustomEncoder(nn.Module, ABC):
    """The base of image encoders that packages offer by an entry point of the group `sparring.encoders`.

    Weights come from the given generator alone, so that equal seeds give equal networks.

    Args:
        shape: of the image: channels, height, width, none of the last two below `smallest`.
        outputs: numbers to give for an image.
        generator: of the first weights.
    """

    smallest: ClassVar[int] = 1
    """Least height and width it can take."""

    @abstractmethod
    def __init__(self, shape: tuple[int, ...], outputs: int, *, generator: Generator) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, image: Tensor) -> Tensor:
        """`[B, channels, height, width]` between 0 and 1, or normalized, to `[B, outputs]`."""

    def write(self, graph: GraphWriter, image: str, name: str) -> str:
        """Writes the same to a model file; without this method models with it are not written.

        Args:
            graph: `weight` and `node` add to it.
            image: name of the input `[B, channels, height, width]`.
            name: what names of weights begin with.

        Returns:
            Name of the output `[B, outputs]`.

        Raises:
            ExportError: it can't be written.
        """
        del graph, image, name
        raise ExportError(
            "the image encoder can't be written to a model file",
            found=type(self).__name__,
            cure="give it a method `write`",
        )


ImageEncoder = ConvolutionalEncoder | ResidualEncoder | CustomEncoder


def make_image_encoder(kind: str, shape: tuple[int, ...], outputs: int, *, generator: Generator) -> ImageEncoder:
    """The encoder of one image of `shape` (channels, height, width), which `too_small` has not refused."""
    if kind == "resnet":
        return ResidualEncoder(shape, outputs, generator=generator)
    if kind not in SMALLEST_IMAGE:
        return _class_of(kind)(shape, outputs, generator=generator)
    return ConvolutionalEncoder(kind, shape, outputs, generator=generator)


def _class_of(kind: str) -> type[CustomEncoder]:
    found: type[CustomEncoder] = find_plug_in(
        kind,
        plug_ins(ENCODER_GROUP, {}),
        CustomEncoder,
        noun="image encoder",
        where="vis_encode_type",
        misfit="is no image encoder",
    )
    return found

"""One checkpoint is one file: a state tree in the safetensors format, guarded by a digest. No pickle.

Arrays become tensors named by their path in the tree (`learner/optimizer/step`). Everything else is JSON in the file's
metadata, which holds one text: a line about the file (format, step, measure, digest), then the tree, where an array's
place is marked. The digest is over both the JSON and the tensors.

Every number in a checkpoint is finite. Nothing in a run's state is rightly a NaN or an infinity: what is "not yet
known" is None, and a non-finite weight is never worth keeping. So both directions refuse one.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from sparring.environments import StateTree
from sparring.errors import CheckpointError, Finding, NonFiniteError
from sparring.runs._atomic import replace_file

__all__ = ["FORMAT", "CheckpointLabel", "encode_checkpoint", "read_checkpoint", "read_label", "write_checkpoint"]

FORMAT = 1
"""Version of the file format; raised when older Sparrings could not read the file rightly."""

_METADATA_KEY = "sparring"
_HEADER_LIMIT = 90_000_000  # safetensors refuses to read a header above 100 MB
_JSON_INT_LIMIT = 2**63  # longer integers (states of random streams) are hexadecimal: exact and linear to parse
_MARK = "@"
_TENSOR_KINDS = "biuf"
_CURE = "take another checkpoint of this run; the newest complete one is taken by itself on resume"

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class CheckpointLabel:
    """What a checkpoint says about itself."""

    step: int
    measure: float | None
    """By what the best checkpoint is chosen, at this step; None where nothing was measured yet."""


def write_checkpoint(path: Path, state: StateTree, *, step: int, measure: float | None = None) -> None:
    """Writes a checkpoint; a kill at any instant leaves the old file or the new one, never half of one.

    Args:
        path: The file; its folder exists.
        state: Arrays of boolean, integer or floating kind, Python numbers, texts, booleans, None, and lists and
            dictionaries of these. Tuples read back as lists, NumPy scalars as Python numbers.
        step: The step the state belongs to.
        measure: See `CheckpointLabel`.

    Raises:
        NonFiniteError: a number is NaN or infinite; nothing was written.
        OSError: the disk is full or refuses; nothing was changed.
    """
    replace_file(path, encode_checkpoint(state, step=step, measure=measure))


def encode_checkpoint(state: StateTree, *, step: int, measure: float | None = None) -> bytes:
    """The content of a checkpoint file; equal states give equal bytes."""
    tensors: dict[str, _Array] = {}
    bad: list[Finding] = []
    tree = json.dumps(_pack(state, (), tensors, bad), separators=(",", ":"), allow_nan=False)
    if measure is not None and not math.isfinite(measure):
        bad.append(Finding("a non-finite number is not saved", where="measure", found=str(measure)))
    if bad:
        raise NonFiniteError(bad)
    tensors = dict(sorted(tensors.items()))
    label: dict[str, object] = {
        "format": FORMAT,
        "step": int(step),
        "measure": None if measure is None else float(measure),
    }
    label["digest"] = _digest(label, tree, tensors)
    content: bytes = save(tensors, metadata={_METADATA_KEY: f"{json.dumps(label)}\n{tree}"})
    header_size = int.from_bytes(content[:8], "little")
    if header_size > _HEADER_LIMIT:
        raise AssertionError(f"{header_size} bytes of a state are not arrays; it could not be read back")
    return content


def read_checkpoint(path: Path) -> tuple[int, StateTree]:
    """The step and the state of a checkpoint; its arrays are fresh and writable.

    Raises:
        CheckpointError: the file cannot be read, is truncated, damaged, of a newer Sparring or not a checkpoint, or
            holds a number that is not finite.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        _refuse(path, "the checkpoint cannot be read", error.strerror or str(error))
    try:
        tensors: dict[str, _Array] = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])  # `load` has checked its bounds
        text = header.get("__metadata__", {}).get(_METADATA_KEY)
    # Whatever a library raises on bytes it does not understand means the same here: the file is not whole.
    except (SafetensorError, ArithmeticError, LookupError, MemoryError, OSError, TypeError, ValueError) as error:
        _refuse(path, "the checkpoint is damaged or truncated", f"{type(error).__name__}: {error}")
    fields, tree = _label_fields(path, text)
    if _digest({key: fields[key] for key in ("format", "step", "measure")}, tree, tensors) != fields["digest"]:
        _refuse(path, "the checkpoint is damaged", "content that does not match its digest")
    for name, tensor in tensors.items():
        if not _is_finite(tensor):
            _refuse(path, "the checkpoint holds numbers that are not finite", f"NaN or infinity in {name}")
    try:
        state = _unpack(json.loads(tree, parse_constant=_no_constant, parse_float=_finite), (), tensors)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        _refuse(path, "the checkpoint's state cannot be understood", f"{type(error).__name__}: {error}")
    if tensors or not isinstance(state, dict):
        _refuse(path, "the checkpoint's state cannot be understood", "arrays without a place in the state")
    return fields["step"], state


def read_label(path: Path) -> CheckpointLabel:
    """What the checkpoint says about itself, without reading or checking its content.

    Raises:
        CheckpointError: there is no label to be read.
    """
    try:
        with safe_open(path, framework="np") as file:
            text = (file.metadata() or {}).get(_METADATA_KEY)
    except (SafetensorError, OSError, TypeError, ValueError) as error:
        _refuse(path, "the checkpoint is damaged or truncated", f"{type(error).__name__}: {error}")
    fields, _ = _label_fields(path, text)
    return CheckpointLabel(step=fields["step"], measure=fields["measure"])


def _label_fields(path: Path, text: str | None) -> tuple[dict[str, Any], str]:
    """The label's checked fields and the text of the tree."""
    if text is None:
        _refuse(path, "this is no checkpoint of Sparring", "a safetensors file without Sparring's label")
    line, _, tree = text.partition("\n")
    try:
        fields = json.loads(line, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        _refuse(path, "the checkpoint is damaged", f"a label that is no JSON: {error}")
    version = fields.get("format") if isinstance(fields, dict) else None
    if type(version) is int and version > FORMAT:
        raise CheckpointError(
            "the checkpoint was written by a newer Sparring",
            where=str(path),
            found=f"format {version}",
            expected=f"at most {FORMAT}",
            cure="update with: pip install --upgrade sparring",
        )
    well_formed = (
        version == FORMAT
        and type(fields.get("step")) is int
        and isinstance(fields.get("digest"), str)
        and (fields.get("measure", 0) is None or isinstance(fields.get("measure"), float))
    )
    if not well_formed:
        _refuse(path, "the checkpoint is damaged", "an incomplete label")
    return fields, tree


def _refuse(path: Path, what: str, found: str) -> NoReturn:
    raise CheckpointError(what, where=str(path), found=found, expected="a complete checkpoint", cure=_CURE) from None


def _digest(label: dict[str, Any], tree: str, tensors: dict[str, _Array]) -> str:
    digest = hashlib.blake2b(digest_size=32)
    for part in (json.dumps(label), tree):
        digest.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{len(name)}:{name}{tensor.dtype.name}{tensor.shape}".encode())
        digest.update(np.ascontiguousarray(tensor).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _pack(node: object, path: tuple[str, ...], tensors: dict[str, _Array], bad: list[Finding]) -> object:
    """The node as JSON can hold it; arrays go to `tensors`, places of non-finite numbers to `bad`."""
    if isinstance(node, np.ndarray):
        return _pack_array(node, path, tensors, bad)
    if isinstance(node, np.generic):
        node = node.item()
    if node is None or isinstance(node, (bool, str)):
        return node
    if isinstance(node, int):
        return int(node) if abs(node) < _JSON_INT_LIMIT else {_MARK: hex(node)}
    if isinstance(node, float):
        if not math.isfinite(node):
            bad.append(Finding("a non-finite number is not saved", where="/".join(path), found=str(node)))
            return None
        return float(node)
    if isinstance(node, (list, tuple)):
        return [_pack(item, (*path, str(index)), tensors, bad) for index, item in enumerate(node)]
    if isinstance(node, dict):
        return _pack_mapping(node, path, tensors, bad)
    raise TypeError(f"a checkpoint cannot hold the {type(node).__name__} at {'/'.join(path)}")


def _pack_mapping(
    node: dict[object, object], path: tuple[str, ...], tensors: dict[str, _Array], bad: list[Finding]
) -> dict[str, object]:
    packed = {}
    for key, value in node.items():
        if not isinstance(key, str):
            raise TypeError(f"a checkpoint cannot hold the key {key!r} at {'/'.join(path)}: keys are texts")
        # A key that begins like our marks gets one more, so that no name can be taken for a mark.
        packed[_MARK + key if key.startswith(_MARK) else key] = _pack(value, (*path, key), tensors, bad)
    return packed


def _pack_array(
    array: _Array, path: tuple[str, ...], tensors: dict[str, _Array], bad: list[Finding]
) -> dict[str, object]:
    if array.dtype.kind not in _TENSOR_KINDS or array.dtype.itemsize > 8:
        raise TypeError(f"a checkpoint cannot hold the array of {array.dtype} at {'/'.join(path)}")
    if not _is_finite(array):
        count = int(array.size - np.isfinite(array).sum())
        bad.append(
            Finding("a non-finite number is not saved", where="/".join(path), found=f"{count} of {array.size} values")
        )
    # Not ascontiguousarray: it would give a 0-d array an axis.
    tensors[_tensor_name(path)] = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    return {_MARK: None}


def _unpack(node: object, path: tuple[str, ...], tensors: dict[str, _Array]) -> object:
    """What `_pack` was given; takes each array it places out of `tensors`."""
    if isinstance(node, list):
        return [_unpack(item, (*path, str(index)), tensors) for index, item in enumerate(node)]
    if not isinstance(node, dict):
        return node
    if _MARK in node:
        if node[_MARK] is None:
            array = tensors.pop(_tensor_name(path))
            return array if array.flags.writeable else array.copy()
        return int(node[_MARK], 16)
    state = {}
    for packed_key, value in node.items():
        key = packed_key[1:] if packed_key.startswith(_MARK) else packed_key
        state[key] = _unpack(value, (*path, key), tensors)
    return state


def _tensor_name(path: tuple[str, ...]) -> str:
    """The path with slashes; `~` escapes what could be mistaken, as JSON pointers do."""
    name = "/".join(part.replace("~", "~0").replace("/", "~1") for part in path)
    name = re.sub("[\ud800-\udfff]", lambda half: f"~2{ord(half[0]):x}", name)  # halves of a pair are no UTF-8
    return f"~3{name}" if name == "__metadata__" else name  # the one name the format keeps for itself


def _is_finite(array: _Array) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")

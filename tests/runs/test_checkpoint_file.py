"""A checkpoint reads back as it was written, or is refused with a reason."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load, save

from sparring.errors import CheckpointError, NonFiniteError
from sparring.runs import checkpoint_file, read_checkpoint, read_label, write_checkpoint

in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

SAVED_DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">f4", ">i8"]
dtypes = st.sampled_from([np.dtype(code) for code in SAVED_DTYPES])
arrays = dtypes.flatmap(
    lambda dtype: hnp.arrays(
        dtype,
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        elements={"allow_nan": False, "allow_infinity": False} if dtype.kind == "f" else None,
    )
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**62, max_value=2**200),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
)
keys = st.one_of(
    st.text(max_size=4), st.sampled_from(["", "@", "@@", "a/b", "a~1b", "__metadata__", "a", "b", "\ud800"])
)
trees = st.dictionaries(
    keys,
    st.recursive(
        st.one_of(arrays, scalars),
        lambda node: st.one_of(st.dictionaries(keys, node, max_size=3), st.lists(node, max_size=3)),
        max_leaves=8,
    ),
    max_size=4,
)


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found, expected, strict=False)
        assert found.shape == expected.shape
        assert found.flags.writeable
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            assert_same(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        assert type(found) is type(expected)
        assert repr(found) == repr(expected)  # repr tells -0.0 from 0.0


@in_one_folder
@given(tree=trees, step=st.integers(min_value=0, max_value=2**63))
@example(tree={"__metadata__": np.ones(2), "a": {"b": np.zeros(1)}, "a/b": np.ones(1)}, step=0)
@example(tree={"streams": {"torch": np.arange(5, dtype=np.uint8), "pcg": 2**127 + 1}, "none yet": []}, step=2**40)
def test_every_tree_reads_back_equal(tmp_path: Path, tree: dict[str, Any], step: int) -> None:
    path = tmp_path / "c.safetensors"
    write_checkpoint(path, tree, step=step)
    read_step, read_tree = read_checkpoint(path)
    assert read_step == step
    assert_same(read_tree, tree)
    assert [entry.name for entry in tmp_path.iterdir()] == ["c.safetensors"]


def test_equal_states_give_equal_bytes_whatever_their_memory_layout() -> None:
    grid = np.arange(12.0).reshape(3, 4)
    one = {"w": grid, "v": {"x": 1, "y": 2}}
    other = {"w": np.asfortranarray(grid), "v": {"x": 1, "y": 2}}
    assert checkpoint_file.encode_checkpoint(one, step=3) == checkpoint_file.encode_checkpoint(other, step=3)


def test_tuples_and_numpy_scalars_come_back_as_lists_and_numbers(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "c", {"t": (1, "a"), "f": np.float32(0.1), "i": np.int64(7), "b": np.bool_(1)}, step=0)
    assert read_checkpoint(tmp_path / "c")[1] == {"t": [1, "a"], "f": float(np.float32(0.1)), "i": 7, "b": True}


def test_arrays_are_named_by_their_path(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "c", {"learner": {"body/0": {"weight": np.ones(2)}, "steps": [np.zeros(1)]}}, step=1)
    assert set(load((tmp_path / "c").read_bytes())) == {"learner/body~10/weight", "learner/steps/0"}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_numbers_are_refused_all_at_once_before_anything_is_written(tmp_path: Path, bad: float) -> None:
    path = tmp_path / "c.safetensors"
    write_checkpoint(path, {"good": 1}, step=1)
    before = path.read_bytes()
    weights = np.ones((2, 3), np.float32)
    weights[1, 2] = bad
    with pytest.raises(NonFiniteError) as caught:
        write_checkpoint(
            path, {"learner": {"w": weights, "half": np.array([bad], np.float16)}, "ratings": [1.0, bad]}, step=2
        )
    assert [finding.where for finding in caught.value.findings] == ["learner/w", "learner/half", "ratings/1"]
    assert "1 of 6 values" in str(caught.value)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "leaf",
    [object(), {1: 2}, np.array(["text"]), np.array([None]), np.ones(1, np.complex64), np.ones(1, np.longdouble), b""],
)
def test_what_a_checkpoint_cannot_hold_is_a_bug_with_its_place(tmp_path: Path, leaf: object) -> None:
    with pytest.raises(TypeError, match="outer/inner"):
        write_checkpoint(tmp_path / "c", {"outer": {"inner": leaf}}, step=0)


def example_content() -> bytes:
    tree = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "n": {"count": np.array(3), "ids": ["a", "b"]}, "x": 0.1}
    return checkpoint_file.encode_checkpoint(tree, step=42, measure=1.5)


@in_one_folder
@given(data=st.data())
def test_a_flipped_bit_is_noticed(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(example_content())
    path = tmp_path / "c"
    bit = data.draw(st.integers(0, len(content) * 8 - 1))
    path.write_bytes(content)
    whole = read_checkpoint(path)
    content[bit // 8] ^= 1 << (bit % 8)
    path.write_bytes(content)
    try:
        read = read_checkpoint(path)
    except CheckpointError:
        return
    # A bit that carries nothing, as in the padding of the header; never one of the tensors.
    assert_same(list(read), list(whole))
    assert bit // 8 < 8 + int.from_bytes(content[:8], "little")


def test_every_flipped_byte_of_the_tensors_and_every_truncation_is_refused(tmp_path: Path) -> None:
    content, path = example_content(), tmp_path / "c"
    payload = 8 + int.from_bytes(content[:8], "little")
    damaged = [content[:end] for end in range(len(content))]
    damaged += [content[:i] + bytes([content[i] ^ 0xFF]) + content[i + 1 :] for i in range(payload, len(content))]
    damaged.append(content + b"\0")
    for piece in damaged:
        path.write_bytes(piece)
        with pytest.raises(CheckpointError, match="damaged"):
            read_checkpoint(path)


@in_one_folder
@given(content=st.binary(max_size=200), header=st.booleans())
def test_random_bytes_are_refused(tmp_path: Path, content: bytes, header: bool) -> None:
    path = tmp_path / "c"
    path.write_bytes((len(content).to_bytes(8, "little") if header else b"") + content)
    with pytest.raises(CheckpointError):
        read_checkpoint(path)
    with pytest.raises(CheckpointError):
        read_label(path)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda node: st.one_of(st.lists(node, max_size=3), st.dictionaries(st.text("@ab", max_size=2), node, max_size=3)),
    max_leaves=6,
)


@in_one_folder
@given(label=json_values, tree=json_values)
@example(label={}, tree="[" * 100_000)
def test_hostile_labels_are_refused_or_read_as_finite_dictionaries(tmp_path: Path, label: Any, tree: Any) -> None:
    """The author of this file knows the format and makes the digest right, whatever it holds."""
    path = tmp_path / "c"
    fields: dict[str, Any] = {"format": 1, "step": 5, "measure": None} | (label if isinstance(label, dict) else {})
    text = tree if isinstance(tree, str) and tree.startswith("[") else json.dumps(tree)
    fields["digest"] = checkpoint_file._digest({k: fields[k] for k in ("format", "step", "measure")}, text, {})
    path.write_bytes(save({}, metadata={"sparring": f"{json.dumps(fields)}\n{text}"}))
    try:
        step, state = read_checkpoint(path)
    except CheckpointError:
        return
    assert step == 5
    assert isinstance(state, dict)
    assert "NaN" not in (dumped := json.dumps(state))
    assert "Infinity" not in dumped


def test_a_checkpoint_filled_with_nan_is_refused_though_its_digest_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_file, "_is_finite", lambda array: True)
    write_checkpoint(tmp_path / "c", {"w": np.full(3, np.nan)}, step=1)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="not finite; found NaN or infinity in w"):
        read_checkpoint(tmp_path / "c")


def test_a_newer_format_says_to_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_file, "FORMAT", 7)
    write_checkpoint(tmp_path / "c", {}, step=1)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="newer Sparring") as caught:
        read_checkpoint(tmp_path / "c")
    assert "found format 7, expected at most 1" in str(caught.value)
    assert "pip install --upgrade" in str(caught.value)


def test_another_program_s_safetensors_file_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(save({"w": np.ones(2)}, metadata={"author": "someone"}))
    with pytest.raises(CheckpointError, match="no checkpoint of Sparring"):
        read_checkpoint(tmp_path / "c")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for read in (read_checkpoint, read_label):
        with pytest.raises(CheckpointError, match="gone"):
            read(tmp_path / "gone")


def test_the_label_is_read_without_the_content(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(example_content())
    label = read_label(tmp_path / "c")
    assert (label.step, label.measure) == (42, 1.5)

"""The message classes against recorded bytes."""

import pytest
from google.protobuf import json_format

from sparring.wire.behaviors import action_spec_of
from sparring.wire.messages import message_class
from tests.wire.compile_descriptors import SOURCE, compiled
from tests.wire.golden_vectors import messages

GOLDEN = messages()


@pytest.mark.parametrize("name", GOLDEN)
def test_fields_give_the_recorded_bytes_and_back(name: str) -> None:
    entry = GOLDEN[name]
    cls = message_class(entry["message"].partition(".")[2])
    written = json_format.ParseDict(entry["fields"], cls())
    assert written.SerializeToString(deterministic=True).hex() == entry["hex"]
    assert cls.FromString(bytes.fromhex(entry["hex"])) == written


@pytest.mark.parametrize("name", [name for name, entry in GOLDEN.items() if "decoded_action_spec" in entry])
def test_action_specs_of_both_generations_are_read(name: str) -> None:
    parameters = message_class("BrainParametersProto").FromString(bytes.fromhex(GOLDEN[name]["hex"]))
    spec = action_spec_of(parameters)
    expected = GOLDEN[name]["decoded_action_spec"]
    assert (spec.continuous_size, list(spec.discrete_branches)) == (
        expected["continuous_size"],
        expected["discrete_branches"],
    )


def test_the_shipped_descriptors_are_those_of_the_source() -> None:
    pytest.importorskip("grpc_tools")
    assert SOURCE.with_suffix(".desc").read_bytes() == compiled()


def test_an_unknown_message_is_no_class() -> None:
    with pytest.raises(KeyError):
        message_class("NoSuchProto")

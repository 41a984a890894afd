"""Image encoders: what they can take, and what is said when they can not."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from sparring.errors import SpecError
from sparring.specs import ObservationSpec
from tests.networks.builders import actor, behavior, tensors

LEAST = {"fully_connected": 1, "match3": 5, "resnet": 15, "simple": 20, "nature_cnn": 36}


@pytest.mark.parametrize(("encoder", "least"), LEAST.items())
def test_the_smallest_image_works(encoder, least):
    spec = behavior(ObservationSpec.image(3, least, least + 3))
    parameters, _ = actor(spec, vis_encode_type=encoder)(tensors(spec, 2))
    assert parameters.logits.shape == (2, 7)
    assert torch.isfinite(parameters.logits).all()


@pytest.mark.parametrize(("encoder", "least"), [(name, least) for name, least in LEAST.items() if least > 1])
@pytest.mark.parametrize("short_side", ["height", "width"])
def test_a_smaller_image_is_refused_with_the_size_needed_and_what_fits(encoder, least, short_side):
    sides = (least - 1, 50) if short_side == "height" else (50, least - 1)
    spec = behavior(ObservationSpec.image(3, *sides, name="camera"))
    with pytest.raises(SpecError, match=r"'camera'.*too small") as refused:
        actor(spec, vis_encode_type=encoder)
    finding = refused.value.findings[0]
    assert finding.found == f"height {sides[0]}, width {sides[1]}"
    assert str(least) in finding.expected
    fitting = {name for name, other in LEAST.items() if other < least}
    assert set(finding.cure.split(": ")[1].split(", ")) == fitting


def test_all_small_images_are_named_at_once():
    spec = behavior(ObservationSpec.image(1, 4, 4, name="near"), ObservationSpec.image(1, 4, 4))
    with pytest.raises(SpecError) as refused:
        actor(spec)
    assert [finding.where for finding in refused.value.findings] == ["sensor 'near'", "sensor 1"]


@pytest.mark.parametrize("encoder", LEAST)
def test_every_weight_of_an_encoder_learns(encoder):
    spec = behavior(ObservationSpec.image(2, 40, 44))
    network = actor(spec, vis_encode_type=encoder)
    network(tensors(spec, 4))[0].logits.square().sum().backward()
    assert all(weight.grad is not None and weight.grad.any() for weight in network.body.parameters())


def test_simple_is_two_convolutions_and_a_dense_layer():
    spec = behavior(ObservationSpec.image(1, 20, 20))
    encoder = actor(spec).body.images[0]
    (image,) = tensors(spec, 3)
    first, second = encoder.convolutions
    x = F.leaky_relu(F.conv2d(image, first.weight, first.bias, stride=4))
    x = F.leaky_relu(F.conv2d(x, second.weight, second.bias, stride=2))
    assert (first.weight.shape, second.weight.shape) == ((16, 1, 8, 8), (32, 16, 4, 4))
    expected = F.leaky_relu(F.linear(x.reshape(3, 32), encoder.dense.weight, encoder.dense.bias))
    torch.testing.assert_close(encoder(image), expected)


def test_images_and_vectors_are_joined_in_front_of_the_body():
    spec = behavior(ObservationSpec.image(1, 20, 20), ObservationSpec.vector(3), ObservationSpec.image(3, 24, 20))
    network = actor(spec, hidden_units=32)
    assert network.body.encoding_size == 3 + 2 * 32
    assert network(tensors(spec, 2))[0].logits.shape == (2, 7)

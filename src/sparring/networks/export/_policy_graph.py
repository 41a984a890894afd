"""The graph of a policy with the inputs and outputs Unity looks for (model version 3)."""

from __future__ import annotations

import numpy as np

from sparring.networks._actor import Actor
from sparring.networks._distributions import MASKED_LOGIT
from sparring.networks._heads import LOG_STD_RANGE, ActionHeads
from sparring.networks._layers import Dense

from ._blocks import array, write_body, write_dense
from ._graph import FLOAT, INT64, GraphWriter, Port

__all__ = ["VERSION", "write_policy"]

VERSION = 3
"""The model version of Unity packages 2.0 and later."""

_LEAST_PROBABILITY = 1e-37


def write_policy(actor: Actor, *, opset: int) -> GraphWriter:
    """Writes the whole graph, inputs and outputs in the order of the wire protocol's chapter on models."""
    graph = GraphWriter(opset)
    actions = actor.spec.action_spec
    sensors = [
        graph.input(Port(f"obs_{index}", (None, *sensor.shape)))
        for index, sensor in enumerate(actor.spec.observation_specs)
    ]
    masks = graph.input(Port("action_masks", (None, actions.total_choices))) if actions.total_choices else ""
    size = actor.memory_size
    memory = graph.input(Port("recurrent_in", (None, 1, size))) if size else ""

    graph.constant_output(Port("version_number", (1,)), np.array([VERSION], np.float32))
    graph.constant_output(Port("memory_size", (1,)), np.array([size], np.float32))
    features, memory = write_body(graph, actor.body, sensors, memory)
    if actions.continuous_size:
        _write_continuous(graph, actor.heads, features, actions.continuous_size)
    if actions.discrete_size:
        _write_discrete(graph, actor.heads, features, masks, actions.discrete_branches)
    if size:
        graph.output(Port("recurrent_out", (None, 1, size)), "Transpose", memory, perm=[1, 0, 2])
    return graph


def _write_continuous(graph: GraphWriter, heads: ActionHeads, features: str, size: int) -> None:
    assert heads.mean is not None, heads
    mean = write_dense(graph, features, heads.mean, "heads.mean")
    if isinstance(heads.log_std, Dense):
        log_std = graph.clip(write_dense(graph, features, heads.log_std, "heads.log_std"), *LOG_STD_RANGE)
        deviation = graph.node("Exp", log_std)
    else:
        assert heads.log_std is not None, heads
        deviation = graph.weight("heads.deviation", array(heads.log_std.exp()))
    noise = graph.node("Mul", graph.node("RandomNormalLike", mean), deviation)
    sampled = graph.node("Add", mean, noise)
    _write_scaled(graph, Port("continuous_actions", (None, size)), sampled, squash=heads.squash)
    graph.constant_output(Port("continuous_action_output_shape", (1,)), np.array([size], np.float32))
    _write_scaled(graph, Port("deterministic_continuous_actions", (None, size)), mean, squash=heads.squash)


def _write_scaled(graph: GraphWriter, port: Port, raw: str, *, squash: bool) -> None:
    """What the game is sent: see `scaled_for_environment`."""
    if squash:
        graph.output(port, "Tanh", raw)
    else:
        graph.output(port, "Div", graph.clip(raw, -3.0, 3.0), graph.number(3.0))


def _write_discrete(
    graph: GraphWriter, heads: ActionHeads, features: str, masks: str, branches: tuple[int, ...]
) -> None:
    assert heads.logits is not None, heads
    sampled: list[str] = []
    likeliest: list[str] = []
    start = 0
    for size in branches:
        stop = start + size
        logits = write_dense(graph, features, heads.logits, "heads.logits", slice(start, stop))
        logits, bars = _write_mask(graph, logits, graph.slice(masks, axis=1, start=start, stop=stop))
        sampled.append(_write_draw(graph, logits, bars))
        likeliest.append(graph.node("ArgMax", logits, axis=1, keepdims=1))
        start = stop
    ports = [
        Port(name, (None, len(branches)), is_index=True)
        for name in ("discrete_actions", "deterministic_discrete_actions")
    ]
    graph.output(ports[0], "Concat", *sampled, axis=1)
    shape = Port("discrete_action_output_shape", (1, len(branches)))
    graph.constant_output(shape, np.array([branches], np.float32))
    graph.output(ports[1], "Concat", *likeliest, axis=1)


def _write_mask(graph: GraphWriter, logits: str, allowed: str) -> tuple[str, str]:
    """Logits with those of masked choices at -1e8, and the row of 0 and -1e8 that did it.

    A branch in which nothing is allowed counts as one in which all is, as in `ActionDistribution`.
    """
    number = graph.reduce("ReduceSum", allowed, axis=1)
    nothing = graph.node("Cast", graph.node("Less", number, graph.number(0.5)), to=FLOAT)
    allowed = graph.node("Add", allowed, nothing)
    bars = graph.node("Mul", graph.node("Sub", allowed, graph.number(1.0)), graph.number(-MASKED_LOGIT))
    return graph.node("Add", graph.node("Mul", logits, allowed), bars), bars


def _write_draw(graph: GraphWriter, logits: str, bars: str) -> str:
    """One sampled choice a row.

    The bars are added once more after the softmax, so that a masked choice enters the draw at -1e8 and not at the
    logarithm of some smallest probability: its share of the draw is exactly 0.
    """
    probabilities = graph.softmax(logits, rank=2)
    logarithms = graph.node("Log", graph.node("Add", probabilities, graph.number(_LEAST_PROBABILITY)))
    return graph.node("Multinomial", graph.node("Add", logarithms, bars), dtype=INT64, sample_size=1)

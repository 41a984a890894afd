"""How each block of a network is written as nodes; one function a block, beside the block's own `forward`.

Every function takes the name of the block's input and returns the name of its output. `name` is the place of the
block's weights in the actor's state, so that a weight has the same name in a checkpoint and in an exported file.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sparring.networks._body import Body
from sparring.networks._entities import ABSENT_BELOW, ABSENT_SCORE, HEADS, NORM_EPSILON, EntityEncoder
from sparring.networks._goals import GoalLayer
from sparring.networks._images import LEAK, ConvolutionalEncoder, CustomEncoder, ImageEncoder, ResidualEncoder
from sparring.networks._layers import Convolution, Dense
from sparring.networks._layout import ObservationLayout
from sparring.networks._memory import Memory
from sparring.networks._normalizer import CLIP, Normalizer

from ._graph import FLOAT, GraphWriter

__all__ = ["array", "write_body", "write_dense"]


def array(tensor: Tensor) -> NDArray[np.float32]:
    """A float32 copy on the CPU."""
    return tensor.detach().to("cpu").numpy().astype(np.float32)


def write_dense(graph: GraphWriter, x: str, layer: Dense, name: str, rows: slice = slice(None)) -> str:
    """A linear layer over `[B, inputs]`, or only some of its outputs."""
    suffix = "" if rows == slice(None) else f".{rows.start}_{rows.stop}"
    weight = graph.weight(f"{name}.weight{suffix}", array(layer.weight)[rows])
    bias = graph.weight(f"{name}.bias{suffix}", array(layer.bias)[rows])
    return graph.node("Gemm", x, weight, bias, transB=1)


def write_body(graph: GraphWriter, body: Body, inputs: list[str], memory: str) -> tuple[str, str]:
    """The whole body.

    Args:
        graph: what is written to.
        body: what is written.
        inputs: names of the sensors' inputs, in the order of the sensors.
        memory: name of the memory `[B, 1, memory size]`; empty without memory.

    Returns:
        Names of the features `[B, features]` and of the memory afterwards `[1, B, memory size]` (empty without).
    """
    x, seen = _write_encoders(graph, body, inputs)
    for index, layer in enumerate(body.layers):
        assert isinstance(layer, Dense), layer
        x = graph.silu(write_dense(graph, x, layer, f"body.layers.{index}"))
    if body.goal is not None:
        x = graph.silu(_write_goal(graph, body.goal, x, _goal_of(graph, body, seen)))
    if body.memory is None:
        return x, ""
    return _write_memory(graph, body.memory, x, memory)


def _write_encoders(graph: GraphWriter, body: Body, inputs: list[str]) -> tuple[str, str]:
    """Names of all encodings joined, and of those of vectors and images alone (empty without)."""
    layout: ObservationLayout = body.layout
    parts: list[str] = []
    if layout.vector_size:
        joined = graph.concat([inputs[index] for index in layout.vector_sensors], axis=1)
        parts.append(joined if body.normalizer is None else _write_normalizer(graph, body.normalizer, joined))
    for index, (position, encoder) in enumerate(zip(layout.image_inputs, body.images, strict=True)):
        image = inputs[layout.sensor_of_input(position)]
        assert isinstance(encoder, ConvolutionalEncoder | ResidualEncoder | CustomEncoder), encoder
        parts.append(_write_image(graph, encoder, image, f"body.images.{index}"))
    seen = graph.concat(parts, axis=1) if parts else ""
    if body.entities is None:
        return seen, seen
    lists = [inputs[layout.sensor_of_input(position)] for position in layout.entity_inputs]
    counts = [layout.input_shapes[position][0] for position in layout.entity_inputs]
    entities = _write_entities(graph, body.entities, lists, counts, seen)
    return graph.concat([seen, entities] if seen else [entities], axis=1), seen


def _write_normalizer(graph: GraphWriter, normalizer: Normalizer, x: str) -> str:
    offset = graph.weight("body.normalizer.offset", array(normalizer.offset))
    scale = graph.weight("body.normalizer.scale", array(normalizer.scale))
    return graph.clip(graph.node("Mul", graph.node("Sub", x, offset), scale), -CLIP, CLIP)


def _write_image(graph: GraphWriter, encoder: ImageEncoder, x: str, name: str) -> str:
    if isinstance(encoder, CustomEncoder):
        return encoder.write(graph, x, name)
    if isinstance(encoder, ResidualEncoder):
        return _write_residual(graph, encoder, x, name)
    for index, convolution in enumerate(encoder.convolutions):
        assert isinstance(convolution, Convolution), convolution
        x = _write_convolution(graph, convolution, x, f"{name}.convolutions.{index}")
        x = graph.node("LeakyRelu", x, alpha=LEAK)
    flat = graph.reshape(x, [-1, encoder.flat_size])
    return graph.node("LeakyRelu", write_dense(graph, flat, encoder.dense, f"{name}.dense"), alpha=LEAK)


def _write_residual(graph: GraphWriter, encoder: ResidualEncoder, x: str, name: str) -> str:
    for number, stack in enumerate(encoder.typed_stacks()):
        place = f"{name}.stacks.{number}"
        x = _write_convolution(graph, stack.first, x, f"{place}.first")
        x = graph.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])
        for block, pair in enumerate(stack.pairs()):
            kept = x
            for index, convolution in enumerate(pair):
                x = _write_convolution(graph, convolution, graph.silu(x), f"{place}.blocks.{block}.{index}")
            x = graph.node("Add", kept, x)
    flat = graph.reshape(graph.silu(x), [-1, encoder.flat_size])
    return graph.node("Relu", write_dense(graph, flat, encoder.dense, f"{name}.dense"))


def _write_convolution(graph: GraphWriter, layer: Convolution, x: str, name: str) -> str:
    weight = graph.weight(f"{name}.weight", array(layer.weight))
    bias = graph.weight(f"{name}.bias", array(layer.bias))
    return graph.node(
        "Conv",
        x,
        weight,
        bias,
        kernel_shape=[layer.kernel] * 2,
        strides=[layer.stride] * 2,
        pads=[layer.padding] * 4,
    )


def _write_entities(graph: GraphWriter, encoder: EntityEncoder, lists: list[str], counts: list[int], seen: str) -> str:
    own = ""
    if encoder.self_embedding is not None:
        own = graph.silu(write_dense(graph, seen, encoder.self_embedding, "body.entities.self_embedding"))
    embedded: list[str] = []
    absent: list[str] = []
    for index, (entities, layer) in enumerate(zip(lists, encoder.embeddings, strict=True)):
        assert isinstance(layer, Dense), layer
        embedded.append(
            _write_embedding(graph, layer, entities, own, encoder.size, f"body.entities.embeddings.{index}")
        )
        norm = graph.reduce("ReduceSum", graph.node("Mul", entities, entities), axis=2, keep=False)
        absent.append(graph.node("Cast", graph.node("Less", norm, graph.number(ABSENT_BELOW)), to=FLOAT))
    return _write_attention(
        graph, encoder, graph.concat(embedded, axis=1), graph.concat(absent, axis=1), most=sum(counts)
    )


def _write_embedding(graph: GraphWriter, layer: Dense, entities: str, own: str, size: int, name: str) -> str:
    weight = array(layer.weight)
    bias = graph.weight(f"{name}.bias", array(layer.bias))
    if not own:
        x = graph.node("MatMul", entities, graph.weight(f"{name}.weight.entity", weight.T))
        return graph.silu(graph.node("Add", x, bias))
    shared = graph.node("Gemm", own, graph.weight(f"{name}.weight.self", weight[:, :size]), bias, transB=1)
    x = graph.node("MatMul", entities, graph.weight(f"{name}.weight.entity", weight[:, size:].T))
    return graph.silu(graph.node("Add", x, graph.reshape(shared, [-1, 1, size])))


def _write_attention(graph: GraphWriter, encoder: EntityEncoder, entities: str, absent: str, *, most: int) -> str:
    size = encoder.size
    x = graph.layer_norm(entities, rank=3, epsilon=NORM_EPSILON)
    query = _write_heads(graph, encoder.query, x, "body.entities.query", most, size)
    key = _write_heads(graph, encoder.key, x, "body.entities.key", most, size)
    value = _write_heads(graph, encoder.value, x, "body.entities.value", most, size)
    key = graph.node("Transpose", key, perm=[0, 1, 3, 2])
    scores = graph.node("Div", graph.node("MatMul", query, key), graph.number(float(np.sqrt(size))))
    hidden = graph.reshape(graph.node("Mul", absent, graph.number(ABSENT_SCORE)), [-1, 1, 1, most])
    weights = graph.softmax(graph.node("Add", scores, hidden), rank=4)
    attended = graph.node("Transpose", graph.node("MatMul", weights, value), perm=[0, 2, 1, 3])
    attended = graph.reshape(attended, [-1, most, size])
    attended = _write_rank_3_dense(graph, encoder.output, attended, "body.entities.output")
    x = graph.layer_norm(graph.node("Add", attended, x), rank=3, epsilon=NORM_EPSILON)
    present = graph.node("Sub", graph.number(1.0), absent)
    number = graph.node("Add", graph.reduce("ReduceSum", present, axis=1), graph.number(1e-7))
    share = graph.reshape(graph.node("Div", present, number), [-1, most, 1])
    return graph.reduce("ReduceSum", graph.node("Mul", x, share), axis=1, keep=False)


def _write_heads(graph: GraphWriter, layer: Dense, x: str, name: str, most: int, size: int) -> str:
    projected = graph.reshape(_write_rank_3_dense(graph, layer, x, name), [-1, most, HEADS, size // HEADS])
    return graph.node("Transpose", projected, perm=[0, 2, 1, 3])


def _write_rank_3_dense(graph: GraphWriter, layer: Dense, x: str, name: str) -> str:
    weight = graph.weight(f"{name}.weight", array(layer.weight).T)
    return graph.node("Add", graph.node("MatMul", x, weight), graph.weight(f"{name}.bias", array(layer.bias)))


def _goal_of(graph: GraphWriter, body: Body, seen: str) -> str:
    """The goal's columns of the encodings: one slice for each run of neighbors."""
    columns = body.goal_columns.tolist()
    runs: list[list[int]] = []
    for column in columns:
        if runs and column == runs[-1][1]:
            runs[-1][1] = column + 1
        else:
            runs.append([column, column + 1])
    parts = [graph.slice(seen, axis=1, start=start, stop=stop) for start, stop in runs]
    return graph.concat(parts, axis=1)


def _write_goal(graph: GraphWriter, goal_layer: GoalLayer, x: str, goal: str) -> str:
    hidden = graph.silu(write_dense(graph, goal, goal_layer.first, "body.goal.first"))
    hidden = graph.silu(write_dense(graph, hidden, goal_layer.second, "body.goal.second"))
    hidden = graph.layer_norm(hidden, rank=2, epsilon=NORM_EPSILON)
    weights = write_dense(graph, hidden, goal_layer.weights, "body.goal.weights")
    weights = graph.reshape(weights, [-1, goal_layer.inputs, goal_layer.outputs])
    row = graph.node("MatMul", graph.reshape(x, [-1, 1, goal_layer.inputs]), weights)
    bias = graph.weight("body.goal.bias", array(goal_layer.bias))
    return graph.node("Add", graph.reshape(row, [-1, goal_layer.outputs]), bias)


def _write_memory(graph: GraphWriter, memory: Memory, x: str, state: str) -> tuple[str, str]:
    """One step of the LSTM; the form (transposes, slices, squeeze) is the one Unity's importers know."""
    hidden = memory.hidden_size
    inputs = memory.lstm.input_size
    weights = {name: _in_onnx_order(array(weight)) for name, weight in memory.lstm.named_parameters()}
    state = graph.node("Transpose", state, perm=[1, 0, 2])
    step = graph.node("Transpose", graph.reshape(x, [-1, 1, inputs]), perm=[1, 0, 2])
    biases = np.concatenate((weights["bias_ih_l0"], weights["bias_hh_l0"]))
    outputs, hidden_state, cell_state = graph.node_with(
        "LSTM",
        step,
        graph.weight("body.memory.lstm.weight_ih_l0", weights["weight_ih_l0"][None]),
        graph.weight("body.memory.lstm.weight_hh_l0", weights["weight_hh_l0"][None]),
        graph.weight("body.memory.lstm.bias", biases[None]),
        "",
        graph.slice(state, axis=2, start=0, stop=hidden),
        graph.slice(state, axis=2, start=hidden, stop=2 * hidden),
        outputs=3,
        hidden_size=hidden,
    )
    features = graph.node("Transpose", graph.squeeze(outputs, axis=1), perm=[1, 0, 2])
    return graph.reshape(features, [-1, hidden]), graph.concat([hidden_state, cell_state], axis=2)


def _in_onnx_order(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Torch orders the gates input, forget, cell, output; ONNX input, output, forget, cell."""
    input_gate, forget, cell, output = np.split(rows, 4)
    return np.concatenate((input_gate, output, forget, cell))

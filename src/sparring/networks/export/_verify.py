"""The proof that an exported file does what its policy does."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.errors import ExportError, Finding
from sparring.networks._actor import Actor
from sparring.networks._distributions import MASKED_LOGIT, ActionDistribution, scaled_for_environment
from sparring.networks._entities import entity_gaps
from sparring.networks._hash import weights_hash
from sparring.networks._heads import ActionParameters
from sparring.specs import ActionSpec

from ._model import OLDEST_OPSET
from ._policy_graph import VERSION, write_policy
from ._runtime import DRAW_INPUTS, DRAWS, NOISE, Session, as_probe

__all__ = ["TOLERANCE", "ExportReport", "verify_bytes", "verify_export"]

Array = NDArray[Any]
Observations = Sequence[Sequence[NDArray[np.float32]]]
Masks = Sequence[NDArray[np.bool_] | None]

TOLERANCE = 1e-5
"""Largest difference allowed, absolute for ordinary rows and relative for rows of large numbers.

Both sides compute in float32 in an order of their own, so their last digits differ in proportion to the numbers on the
way. A row is large by the factor that its inputs exceed 10 or its means and logits exceed 1.
"""
_ORDINARY_INPUT = 10.0
_ORDINARY = np.ones(1)
_FAINT = -60.0
"""Log-probabilities below this are compared as if they were this: the file knows no smaller chance than 1e-37."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written and how well it agrees.

    Attributes:
        path: the file.
        weights_hash: hash of the actor it was compared with.
        max_difference: largest difference of each compared output, divided by how large its row is (see `TOLERANCE`);
            `sampled_*` were compared with fixed noise.
        rows: how many rows were compared.
        notices: what the person should know, though the file is right.
    """

    path: Path
    weights_hash: str
    max_difference: Mapping[str, float]
    rows: int
    notices: tuple[Finding, ...] = ()

    @property
    def worst(self) -> float:
        """The largest difference of all."""
        return max(self.max_difference.values(), default=0.0)


def verify_export(
    path: Path,
    actor: Actor,
    observations: Observations,
    masks: Masks | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> ExportReport:
    """Runs an exported file in onnxruntime and compares every output with the actor's.

    Compared on every row are the constants, the greedy outputs, the memory, the sampled continuous actions with the
    same noise on both sides, and the log-probabilities every choice is drawn from; then the draws themselves are
    counted for a few rows.

    Args:
        path: the file.
        actor: what it should do.
        observations: consecutive steps, each one array `[N, *sensor shape]` a sensor; real ones prove most. The memory
            starts as zeros and is carried from step to step on each side by itself.
        masks: for each step bool `[N, sum of branch sizes]`, True where a choice is not available, or None.
        tolerance: largest difference allowed; see `TOLERANCE`.

    Raises:
        ExportError: an output differs, is not finite, or a masked choice was drawn; names the output, the difference
            and the first row. Also when the file cannot be read or run.
    """
    try:
        model = path.read_bytes()
    except OSError as error:
        raise ExportError("the exported file cannot be read", where=str(path), found=str(error)) from error
    return verify_bytes(model, path, actor, observations, masks, tolerance=tolerance)


def verify_bytes(
    model: bytes,
    path: Path,
    actor: Actor,
    observations: Observations,
    masks: Masks | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> ExportReport:
    """As `verify_export`, for a file that is still in memory; `path` only names it."""
    # On an accelerator torch may compute with fewer digits than the file does; the weights are what is compared.
    actor = copy.deepcopy(actor).to("cpu")
    plain = Session(model)
    _refuse_other_ports(path, actor, plain)
    comparison = _Comparison(path, actor, plain, Session(as_probe(model)), tolerance)
    notice: Finding | None = None
    for step, obs in enumerate(observations):
        comparison.step(step, obs, None if masks is None else masks[step])
        notice = notice or entity_gaps(actor.spec, obs)
    return ExportReport(
        path,
        weights_hash(actor),
        comparison.max_difference,
        comparison.rows,
        () if notice is None else (notice,),
    )


def _refuse_other_ports(path: Path, actor: Actor, session: Session) -> None:
    """The inputs and outputs must be those the actor's own file has, in their order."""
    graph = write_policy(actor, opset=OLDEST_OPSET)
    for kind, found, ports in (
        ("inputs", session.inputs, graph.inputs),
        ("outputs", session.outputs, graph.outputs),
    ):
        expected = tuple(port.name for port in ports)
        if found != expected:
            raise ExportError(
                f"the file does not have the {kind} of this policy",
                where=str(path),
                found=", ".join(found),
                expected=", ".join(expected),
            )


def _scale_of(actor: Actor, inputs: Sequence[torch.Tensor], parameters: ActionParameters) -> Array:
    """How large each row is, float64 `[N, 1]`, at least 1; vectors count as they are after normalizing."""
    seen = list(inputs)
    if actor.normalizer is not None:
        seen[0] = actor.normalizer.forward(seen[0])
    parts = [column.flatten(1).abs().amax(1) / _ORDINARY_INPUT for column in seen]
    parts.extend(part.abs().amax(1) for part in (parameters.mean, parameters.logits) if part is not None)
    return torch.stack(parts).amax(0).clamp_min(1.0).double().unsqueeze(1).numpy()


class _Comparison:
    """Both sides of the comparison, each with its memory, and the differences so far."""

    def __init__(self, path: Path, actor: Actor, plain: Session, probe: Session, tolerance: float) -> None:
        self.path = path
        self.actor = actor
        self.actions: ActionSpec = actor.spec.action_spec
        self.plain = plain
        self.probe = probe
        self.tolerance = tolerance
        self.max_difference: dict[str, float] = {}
        self.rows = 0
        self._noise = np.random.default_rng(1)
        self._ours: torch.Tensor | None = None
        self._theirs: Array | None = None
        self._scale: Array = _ORDINARY

    def step(self, step: int, obs: Sequence[NDArray[np.float32]], mask: NDArray[np.bool_] | None) -> None:
        """Compares one batch and carries the memories on."""
        rows = len(obs[0])
        feeds = self._feeds(obs, mask)
        noise = self._noise.standard_normal((rows, self.actions.continuous_size), np.float32)
        with torch.inference_mode():
            inputs = [torch.tensor(column) for column in self.actor.body.layout.inputs(obs)]
            memory = None if self._ours is None or len(self._ours) != rows else self._ours
            parameters, self._ours = self.actor.forward(inputs, memory)
            blocked = None if mask is None else torch.tensor(mask)
            expected = ActionDistribution(parameters, self.actions, blocked, squash=self.actor.squash)
            self._scale = _scale_of(self.actor, inputs, parameters)
            found = self.plain.run(feeds)
            probed = self.probe.run({**feeds, NOISE: noise} if self.actions.continuous_size else feeds)
            if self.rows == 0:
                self._compare_constants(found)
            if self.actions.continuous_size:
                self._compare_continuous(step, expected, found, probed, torch.tensor(noise))
            if self.actions.discrete_size:
                self._compare_discrete(step, expected, found, probed)
        if self._ours is not None:
            self._theirs = found["recurrent_out"]
            self._compare("recurrent_out", step, self._theirs[:, 0], self._ours.numpy(), self._scale)
        self.rows += rows

    def _feeds(self, obs: Sequence[NDArray[np.float32]], mask: NDArray[np.bool_] | None) -> dict[str, Array]:
        rows = len(obs[0])
        feeds: dict[str, Array] = {f"obs_{index}": np.asarray(sensor, np.float32) for index, sensor in enumerate(obs)}
        if self.actions.discrete_size:
            allowed = np.ones((rows, self.actions.total_choices), np.float32)
            feeds["action_masks"] = allowed if mask is None else allowed - mask
        if self.actor.memory_size:
            size = (rows, 1, self.actor.memory_size)
            carried = self._theirs
            feeds["recurrent_in"] = carried if carried is not None and carried.shape == size else np.zeros(size, "f4")
        return feeds

    def _compare_constants(self, found: Mapping[str, Array]) -> None:
        branches = self.actions.discrete_branches
        expected = {"version_number": [VERSION], "memory_size": [self.actor.memory_size]}
        if self.actions.continuous_size:
            expected["continuous_action_output_shape"] = [self.actions.continuous_size]
        for name, values in expected.items():
            self._compare(name, 0, found[name], np.array(values, np.float32))
        if branches:
            name = "discrete_action_output_shape"
            self._compare(name, 0, found[name], np.array([branches], np.float32))

    def _compare_continuous(
        self,
        step: int,
        expected: ActionDistribution,
        found: Mapping[str, Array],
        probed: Mapping[str, Array],
        noise: torch.Tensor,
    ) -> None:
        squash = self.actor.squash
        greedy = scaled_for_environment(expected.most_likely()[0], squash)
        sampled = scaled_for_environment(expected.with_noise(noise), squash)
        name = "deterministic_continuous_actions"
        self._compare(name, step, found[name], greedy.numpy(), self._scale)
        self._compare("sampled_continuous_actions", step, probed["continuous_actions"], sampled.numpy(), self._scale)
        drawn = found["continuous_actions"]
        # Not exactly 1: a runtime's tanh may miss it by the last digit.
        is_within = (np.abs(drawn) <= 1.0 + self.tolerance).all(axis=1)
        if not is_within.all():
            row = int(np.argmin(is_within))
            found_there = f"{drawn[row]} in row {row} of step {step}"
            raise self._error("continuous_actions", found_there, "actions within [-1, 1]")

    def _compare_discrete(
        self, step: int, expected: ActionDistribution, found: Mapping[str, Array], probed: Mapping[str, Array]
    ) -> None:
        log_probs = expected.choice_log_probs().numpy()
        greedy = expected.most_likely()[1].numpy()
        name = "deterministic_discrete_actions"
        # Two choices may be equally likely but for the last digit; what counts is how much less likely the other is.
        ours, theirs = self._log_probs_of(log_probs, greedy), self._log_probs_of(log_probs, found[name])
        self._compare(name, step, theirs, ours, self._scale)
        laid_open = [probed[f"{DRAW_INPUTS}{branch}"] for branch in range(self.actions.discrete_size)]
        joined = np.concatenate(laid_open, axis=1)
        faint, ours = np.maximum(joined, _FAINT), np.maximum(log_probs, _FAINT)
        self._compare("sampled_discrete_actions", step, faint, ours, self._scale)
        drawn = self._log_probs_of(log_probs, found["discrete_actions"])
        # Barred on our side, but drawn, or given any chance at all, on the file's.
        barred = log_probs < 0.5 * MASKED_LOGIT
        leaks = (barred & (np.exp(joined) > 0.0)).any(axis=1) | (drawn < 0.5 * MASKED_LOGIT).any(axis=1)
        if leaks.any():
            row = int(np.argmax(leaks))
            found_there = f"a choice that is not available, in row {row} of step {step}"
            raise self._error("discrete_actions", found_there, "a chance of exactly 0 for it")
        self._count_draws(step, log_probs, probed["discrete_actions"])

    def _log_probs_of(self, log_probs: Array, choices: Array) -> Array:
        """Log-probability `[N, branches]` of chosen indices."""
        starts = np.cumsum((0, *self.actions.discrete_branches[:-1]))
        return np.take_along_axis(log_probs, choices + starts, axis=1)

    def _count_draws(self, step: int, log_probs: Array, drawn: Array) -> None:
        """How often each choice was drawn, over all rows, must be within six deviations of what is likely."""
        choices = drawn.reshape(len(drawn), -1, DRAWS)
        chances = np.exp(log_probs.astype(np.float64))
        start = 0
        for branch, size in enumerate(self.actions.discrete_branches):
            chance = chances[:, start : start + size]
            counts = (choices[:, branch, :, None] == np.arange(size)).sum(axis=(0, 1))
            likely = DRAWS * chance.sum(axis=0)
            deviation = np.sqrt(DRAWS * (chance * (1.0 - chance)).sum(axis=0))
            wrong = np.abs(counts - likely) > 6.0 * deviation + 6.0 * (likely > 0.0)
            if wrong.any():
                choice = int(np.argmax(wrong))
                found = f"choice {choice} of branch {branch} drawn {counts[choice]} times in step {step}"
                raise self._error("discrete_actions", found, f"about {likely[choice]:.0f} times")
            start += size

    def _compare(self, name: str, step: int, found: Array, expected: Array, scale: Array = _ORDINARY) -> None:
        """Notes the difference, and refuses it if it is too large; `scale` `[N, 1]` is how large each row is."""
        difference = np.abs(found.astype(np.float64) - expected) / np.maximum(scale, np.abs(expected))
        difference = np.where(np.isfinite(difference), difference, np.inf)
        worst = float(difference.max(initial=0.0))
        self.max_difference[name] = max(worst, self.max_difference.get(name, 0.0))
        if worst > self.tolerance:
            over = (difference > self.tolerance).reshape(len(difference), -1).any(axis=1)
            found_there = f"a difference of {worst:.3g}, first in row {int(np.argmax(over))} of step {step}"
            raise self._error(name, found_there, f"at most {self.tolerance:g}")

    def _error(self, output: str, found: str, expected: str) -> ExportError:
        return ExportError(
            f"the exported output {output!r} is not what the policy does",
            where=str(self.path),
            found=found,
            expected=expected,
            cure="the weights in the checkpoint are not touched by this; please report it with this message",
        )

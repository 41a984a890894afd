"""Choosing actions where no trainer does, and handing them over whoever chose."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from sparring.academy.agent import BehaviorType
from sparring.academy.models import Model
from sparring.academy.seats import Seat, asking_columns, give_actions
from sparring.errors import SpecError
from sparring.steps import ActionBatch, DecisionSteps

__all__ = ["choose_here", "hand_over", "model_of"]

_log = logging.getLogger(__name__)


def model_of(seat: Seat) -> Model | None:
    """What chooses for an agent without a trainer; None for its own rules."""
    return None if seat.agent.behavior_type is BehaviorType.HEURISTIC_ONLY else seat.model


def choose_here(seats: Sequence[Seat], warned: set[str]) -> None:
    """Lets the model that agents of one behavior share choose for all at once, or their own rules for each.

    Args:
        seats: of the agents, at least one.
        warned: behaviors of which it was said already that nobody chooses for them; added to.

    Raises:
        SpecError: an agent that is to act by its model has none, or what was chosen does not fit.
    """
    spec, model, name = seats[0].spec, model_of(seats[0]), seats[0].name
    if model is None and seats[0].agent.behavior_type is BehaviorType.INFERENCE_ONLY:
        raise SpecError("an agent is to act by its model and has none", where=name, cure="call set_model")
    steps = asking_columns(spec, seats)
    if model is not None:
        hand_over(seats, steps, _by_model(model, seats, steps))
        return
    batch = ActionBatch.zeros(spec.action_spec, len(seats))
    for row, seat in enumerate(seats):
        if not seat.choose_by_heuristic() and name not in warned:
            warned.add(name)
            _log.warning("%s: no trainer, no model and no heuristic: its agents do nothing", name)
        batch.continuous[row], batch.discrete[row] = seat.actions.continuous, seat.actions.discrete
    hand_over(seats, steps, batch)


def hand_over(seats: Sequence[Seat], steps: DecisionSteps, batch: ActionBatch) -> None:
    """Gives each agent its row of what was chosen, and its recorders what they write down.

    Raises:
        SpecError: wrong shapes, choices out of range or non-finite values.
    """
    batch.validate(seats[0].spec.action_spec, len(seats), behavior=seats[0].name)
    give_actions(seats, batch)
    for row, seat in enumerate(seats):
        for recorder in seat.recorders:
            recorder.write_decision(steps, row, batch)


def _by_model(model: Model, seats: Sequence[Seat], steps: DecisionSteps) -> ActionBatch:
    memory = np.zeros((len(seats), model.memory_size), np.float32)
    for row, seat in enumerate(seats):
        if seat.memory is not None:
            memory[row] = seat.memory
    chosen = model.choose(seats[0].spec, steps, memory)
    if chosen.memory.shape != memory.shape:
        raise SpecError(
            "a model remembers another number of numbers than it says",
            where=seats[0].name,
            found=str(chosen.memory.shape),
            expected=str(memory.shape),
        )
    for row, seat in enumerate(seats):
        seat.memory = chosen.memory[row]
    return chosen.actions

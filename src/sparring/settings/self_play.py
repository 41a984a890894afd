"""Settings of self-play: snapshots, turns, opponents, ratings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from sparring.settings._section import OWN, Section

__all__ = ["OutcomeRule", "SelfPlaySettings"]

OutcomeRule = Literal["auto", "returns", "last_reward"]


class SelfPlaySettings(Section):
    """Whom a behavior meets while it learns.

    The first six keys keep the meaning users know; those after them are Sparring's own.
    """

    save_steps: PositiveInt = 20_000
    """Learner steps between two snapshots."""
    team_change: PositiveInt = 100_000
    """Learner steps of a turn, after which the next team learns; five times save_steps unless given."""
    swap_steps: PositiveInt = 2_000
    """Opponent steps between two draws of opponents."""
    window: PositiveInt = 10
    """How many past snapshots one may meet; the oldest leaves when a new one comes."""
    play_against_latest_model_ratio: float = Field(default=0.5, ge=0.0, le=1.0)
    """Probability that a draw gives the latest policy rather than a snapshot."""
    initial_elo: float = 1200.0
    """Rating everyone starts with."""

    rating_k: PositiveFloat = Field(default=1.0, json_schema_extra=OWN)
    """Points at stake in a match (the K of the Elo formula); 1 keeps the scale of the curve users know."""
    outcome: OutcomeRule = Field(default="auto", json_schema_extra=OWN)
    """How a match is decided: `auto` takes the result the game states and else compares the teams' returns;
    `returns` always compares returns; `last_reward` takes the sign of the team's last reward."""

    @model_validator(mode="before")
    @classmethod
    def _turn_follows_save_steps(cls, values: object) -> object:
        """Without team_change of its own, a turn lasts five times save_steps."""
        if isinstance(values, dict) and "team_change" not in values and isinstance(values.get("save_steps"), int):
            return {**values, "team_change": 5 * values["save_steps"]}
        return values

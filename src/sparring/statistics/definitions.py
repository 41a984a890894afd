"""What each curve shows, in a sentence, for the place beside the curve."""

from __future__ import annotations

import re
from types import MappingProxyType

__all__ = ["definition"]

_EXACT = MappingProxyType(
    {
        "Environment/Cumulative Reward": (
            "Sum of the game's individual rewards over an episode, as the game gave them: not scaled, without group "
            "rewards. Mean over the episodes that ended in the window. In self-play the learning agents only; a "
            "game whose rewards cancel out keeps it near 0 however strong they are."
        ),
        "Environment/Group Cumulative Reward": (
            "Sum of the rewards that a group of agents shares over an episode. Mean over the groups that ended in the "
            "window."
        ),
        "Environment/Episode Length": "Length of the episodes that ended in the window, in one agent's decision steps.",
        "Policy/Entropy": "Mean entropy of the policy's choices: high is undecided, low is sure.",
        "Policy/Extrinsic Reward": (
            "Sum of the game's rewards over an episode as the learner sees them: multiplied by the signal's strength, "
            "with group rewards. Differs from Environment/Cumulative Reward by exactly that."
        ),
        "Policy/Learning Rate": "Step size of the optimizer.",
        "Policy/Epsilon": "How far one update may move the policy: the clipping range of PPO.",
        "Policy/Beta": "Weight of the entropy bonus.",
        "Losses/Policy Loss": "Mean size of the policy loss; no measure of success.",
        "Losses/Value Loss": "Mean squared error of the critic; rises when the agent starts to find more reward.",
        "Self-play/ELO": (
            "Rating of the learning policy against its opponents; 400 points more mean ten wins to one. Only "
            "differences mean something, and only between policies of this run."
        ),
    }
)
_PATTERNS = (
    (re.compile(r"Environment/Lesson Number/.+"), "Lesson of the curriculum this parameter is in, from 0."),
    (re.compile(r"Environment/Parameter/.+"), "Value of this environment parameter now; the mean of a sampler."),
    (re.compile(r"Environment/Parameter Deviation/.+"), "Standard deviation of what this parameter's sampler draws."),
    (
        re.compile(r"Environment/Drawn Parameter/.+"),
        "What was drawn for this environment parameter. Mean over the episodes that began in the window.",
    ),
    (re.compile(r"Policy/.+ Value Estimate"), "Mean of the return the critic expects from this reward signal."),
    (
        re.compile(r"Policy/.+ Reward"),
        "This signal's rewards over an episode, times its strength. Mean over the episodes that ended in the window.",
    ),
)


def definition(key: str) -> str | None:
    """What the curve `key` shows; None for keys that Sparring does not know, such as a game's own."""
    if key in _EXACT:
        return _EXACT[key]
    return next((text for pattern, text in _PATTERNS if pattern.fullmatch(key)), None)

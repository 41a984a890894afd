"""Networks: how observations become action distributions and values; export to ONNX is in `networks.export`.

Everything is a torch module whose weights come from a given generator; nothing here follows torch's global generator,
default device or default dtype. Losses and updates live in `algorithms`, files in `runs`.
"""

from ._action_critic import ActionCritic
from ._actor import Actor
from ._body import Body
from ._critic import Critic, SharedActorCritic
from ._distributions import ActionDistribution, scaled_for_environment
from ._entities import entity_gaps
from ._group_critic import GroupCritic
from ._hash import weights_hash
from ._heads import ActionParameters
from ._images import CustomEncoder
from ._layers import Dense, kaiming_normal
from ._layout import ObservationLayout
from ._normalizer import Normalizer

__all__ = [
    "ActionCritic",
    "ActionDistribution",
    "ActionParameters",
    "Actor",
    "Body",
    "Critic",
    "CustomEncoder",
    "Dense",
    "GroupCritic",
    "Normalizer",
    "ObservationLayout",
    "SharedActorCritic",
    "entity_gaps",
    "kaiming_normal",
    "scaled_for_environment",
    "weights_hash",
]

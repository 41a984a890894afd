"""Plays a game with the known toolkit's own client and prints what it saw; runs where its packages are installed.

Every discrete branch gets its second choice, every continuous action a half, at every decision.

python client.py GAME PORT SEED STEPS
"""

import hashlib
import json
import sys

import numpy as np
from mlagents_envs.environment import UnityEnvironment


def main() -> None:
    path, port, seed, steps = sys.argv[1], *map(int, sys.argv[2:])
    environment = UnityEnvironment(file_name=path, base_port=port, seed=seed, no_graphics=True, timeout_wait=60)
    digest, asked, ended = hashlib.sha256(), 0, 0
    environment.reset()
    for _ in range(steps):
        for name in sorted(environment.behavior_specs):
            decision, terminal = environment.get_steps(name)
            for column in (*decision.obs, decision.reward, *terminal.obs, terminal.reward):
                digest.update(np.ascontiguousarray(column, np.float32).tobytes())
            asked, ended = asked + len(decision), ended + len(terminal)
            if len(decision):
                actions = environment.behavior_specs[name].action_spec.empty_action(len(decision))
                actions.discrete[:] = 1
                actions.continuous[:] = 0.5
                environment.set_actions(name, actions)
        environment.step()
    names = sorted(environment.behavior_specs)
    print(json.dumps({"digest": digest.hexdigest(), "asked": asked, "ended": ended, "names": names}))
    environment.close()


if __name__ == "__main__":
    main()

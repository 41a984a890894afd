"""Damaged messages by the million: whatever bytes come, the readers agree, and nothing but a WireError is raised.

    python -m tests.wire.fuzz [--messages 1000000] [--seed 0]

`make fuzz` runs it. Lists of agents go through the compiled reader and the protobuf runtime, which have to agree;
whole requests go through `read_request`, which has to give a request or a `WireError`. What fails is told, with the
seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparring.errors import WireError
from sparring.wire import read_request
from sparring.wire.messages import message_class
from tests.wire.both_readers import BEHAVIOR, assert_read_alike, listed
from tests.wire.golden_vectors import messages

_MOST_DAMAGES = 4
_TELL_EVERY = 100_000


def some_list(rng: np.random.Generator) -> bytes:
    """A list of agents as a game writes it."""
    agents = []
    for _ in range(int(rng.integers(1, 5))):
        info: Any = message_class("AgentInfoProto")(
            reward=float(rng.standard_normal()),
            done=bool(rng.random() < 0.3),
            max_step_reached=bool(rng.random() < 0.3),
            id=int(rng.integers(0, 2**31)),
            group_id=int(rng.integers(0, 300)),
            action_mask=(rng.random(BEHAVIOR.spec.action_spec.total_choices) < 0.5).tolist(),
        )
        for shape in BEHAVIOR.wire_shapes:
            observation = info.observations.add(shape=shape, name="rays")
            observation.float_data.data.extend(rng.standard_normal(int(np.prod(shape))).tolist())
        agents.append(info)
    return listed(agents)


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with one to four of them set, inserted, doubled or cut off."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, _MOST_DAMAGES + 1))):
        place = int(rng.integers(0, max(1, len(found))))
        match int(rng.integers(0, 5)):
            case 0:
                del found[place:]
            case 1:
                found.insert(place, int(rng.integers(0, 256)))
            case 2:
                found[place:place] = found[place : place + int(rng.integers(1, 40))]
            case _:
                found[place : place + 1] = bytes([int(rng.integers(0, 256))])
    return bytes(found)


def check_request(data: bytes) -> bool:
    """Reads a whole request; True if it was one."""
    try:
        read_request(data)
    except WireError:
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Damages and reads; returns 0 if all went well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    requests = [bytes.fromhex(entry["hex"]) for name, entry in messages().items() if "request" in name]
    lists = [some_list(rng) for _ in range(200)]
    whole, start = 0, time.perf_counter()
    for number in range(1, options.messages + 1):
        is_list = number % 4 > 0
        originals = lists if is_list else requests
        data = damaged(originals[int(rng.integers(0, len(originals)))], rng)
        try:
            whole += assert_read_alike(data) if is_list else check_request(data)
        except BaseException:
            print(f"message {number} of seed {options.seed}: {data.hex()}", file=sys.stderr)
            raise
        if number % _TELL_EVERY == 0 or number == options.messages:
            print(f"{number} messages, {whole} of them readable, {time.perf_counter() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

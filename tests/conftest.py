"""For all tests: one thread of arithmetic a process, and no deadlines, for a busy machine is no fault."""

import os
import socket

import pytest
from hypothesis import settings

# Networks this small lose time, not win it, by sharing a core with each other.
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile("sparring", deadline=None)
settings.load_profile("sparring")


@pytest.fixture
def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

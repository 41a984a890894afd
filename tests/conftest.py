"""For all tests: one thread of arithmetic a process, and no deadlines, for a busy machine is no fault."""

import os

from hypothesis import settings

# Networks this small lose time, not win it, by sharing a core with each other.
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile("sparring", deadline=None)
settings.load_profile("sparring")

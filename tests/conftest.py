"""One thread of arithmetic a process: networks this small lose time, not win it, by sharing a core with each other."""

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

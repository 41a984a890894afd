"""Export to ONNX: a file that every Unity version loads, proven against its policy before it takes its place.

The graph is written from our own blocks, so its names, constants and operations never depend on a version of torch.
onnx and onnxruntime are imported when a function here is called, not before: a run without them trains and saves, and
is told what to install by `exporter_available`.
"""

from ._export import DEFAULT_OPSET, HASH_KEY, export_policy, exporter_available, policy_bytes
from ._graph import GraphWriter
from ._runtime import metadata_of
from ._verify import TOLERANCE, ExportReport, verify_export

__all__ = [
    "DEFAULT_OPSET",
    "HASH_KEY",
    "TOLERANCE",
    "ExportReport",
    "GraphWriter",
    "export_policy",
    "exporter_available",
    "metadata_of",
    "policy_bytes",
    "verify_export",
]

"""Compiles `communicator.proto` with grpcio-tools, a development tool: `python -m tests.wire.compile_descriptors`."""

import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/sparring/wire/communicator.proto"


def compiled() -> bytes:
    from grpc_tools import protoc  # noqa: PLC0415 - not everybody who runs the tests has it

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "communicator.desc"
        arguments = ["protoc", f"-I{SOURCE.parent}", f"--descriptor_set_out={target}", SOURCE.name]
        if protoc.main(arguments) != 0:
            sys.exit("communicator.proto does not compile")
        return target.read_bytes()


if __name__ == "__main__":
    SOURCE.with_suffix(".desc").write_bytes(compiled())

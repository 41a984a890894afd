"""Recorded bytes of the known toolkit's packages; facts, not code."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"


def vectors(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def messages() -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in vectors("messages")["messages"]}

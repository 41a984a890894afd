"""Settings as the text of a file that reads back to the same settings."""

from __future__ import annotations

import io

from ruamel.yaml import YAML

from sparring.settings.run import RunSettings

__all__ = ["settings_text"]


def settings_text(settings: RunSettings) -> str:
    """The whole of the settings as YAML, defaults written out."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    text = io.StringIO()
    yaml.dump(settings.model_dump(mode="json"), text)
    return text.getvalue()

"""A model behind a server as text: ``KIND:BASE_URL#MODEL``, and behind another ``#`` what is not as usual, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from monograph.errors import InputError


def spec_of(kind: str, base_url: str, model: str, changed: Mapping[str, Any]) -> str:
    """The text that names a model, with the settings that are not as usual.

    Raises
    ------
    InputError
        If the model's name could not be read out of it again.
    """
    if not model or "#" in model:
        raise InputError(f"{model!r} is no model's name", "give the name that the server knows it by")
    return f"{kind}:{base_url}#{model}" + (f"#{json.dumps(changed, sort_keys=True)}" if changed else "")


def parted(source: str) -> tuple[str, str, Any]:
    """Base URL, model and changed settings of what stands behind ``KIND:``; an empty object where there are none.

    Raises
    ------
    ValueError
        If the settings are no JSON.
    """
    base_url, _, rest = source.partition("#")
    model, _, changed = rest.partition("#")
    try:
        return base_url, model, json.loads(changed or "{}")
    except RecursionError as error:
        raise ValueError("its settings are nested too deeply") from error


def changed_of(settings: Any) -> dict[str, Any]:
    """The fields of settings, a dataclass, that are not as usual."""
    usual = asdict(type(settings)())
    return {name: value for name, value in asdict(settings).items() if value != usual[name]}

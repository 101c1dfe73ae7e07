"""The vectors in a server's reply, or what is wrong with them."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from monograph.derive.redaction import Redaction
from monograph.derive.server import BASE_URL_MEND, QUOTED
from monograph.errors import ModelUnavailable
from monograph.values import Float32

_MEND = "see that the model is one for embeddings, and that its server is sound: its log says more"


def vectors_of(reply: Mapping[str, Any], count: int, url: str, model: str, redaction: Redaction) -> Float32:
    """The vectors of so many texts, float32 (count, dimension), in order, of unit length or zero.

    Parameters
    ----------
    reply:
        As the OpenAI form has it: ``{"data": [{"index": 0, "embedding": [...]}, ...]}``; a vector may also be packed,
        as float32 in base64. Where no index is told they come in order.
    count, url, model:
        What was asked, and where: for errors.
    redaction:
        Takes the key out of what is quoted.

    Raises
    ------
    ModelUnavailable
        If these are not so many finite vectors of one length.
    """
    who = f"{url} gave"
    data = reply.get("data")
    if not isinstance(data, list):
        said = redaction.in_error(json.dumps(reply, ensure_ascii=False), QUOTED)
        raise ModelUnavailable(f"{url} replied without vectors: {said}", BASE_URL_MEND)
    if len(data) != count:
        raise ModelUnavailable(f"{who} {len(data)} vectors for {count} texts by {model!r}", _MEND)
    rows: list[Float32 | None] = [None] * count
    for place, one in enumerate(data):
        index = one.get("index", place) if isinstance(one, dict) else None
        if type(index) is not int or not 0 <= index < count or rows[index] is not None:
            raise ModelUnavailable(f"{who} vectors for {model!r} without telling of which text each is", _MEND)
        rows[index] = _vector(one.get("embedding"), who, model)
    made = [row for row in rows if row is not None]
    lengths = sorted({len(row) for row in made})
    if len(lengths) > 1:
        raise ModelUnavailable(f"{who} vectors of {lengths[0]} and of {lengths[-1]} values by {model!r}", _MEND)
    return _of_unit_length(np.array(made, dtype=np.float32))


def _vector(given: Any, who: str, model: str) -> Float32:
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            made = (
                np.frombuffer(base64.b64decode(given, validate=True), dtype="<f4").astype(np.float32)
                if isinstance(given, str)
                else np.asarray(given, dtype=np.float32)
            )
    except (TypeError, ValueError, OverflowError, binascii.Error):
        made = np.empty(0, dtype=np.float32)
    if made.ndim != 1 or not len(made):
        raise ModelUnavailable(f"{who} no vector of numbers for a text by {model!r}", _MEND)
    if not np.isfinite(made).all():
        raise ModelUnavailable(f"{who} a vector with values that are not finite by {model!r}", _MEND)
    return made


def _of_unit_length(rows: Float32) -> Float32:
    """Rows divided by their lengths, which are reckoned in double precision: the squares may be too large or small."""
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    np.divide(wide, lengths, out=wide, where=lengths > 0)
    return wide.astype(np.float32)

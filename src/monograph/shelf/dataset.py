"""Documents from the rows of a Ray data set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from monograph.errors import InputError
from monograph.values import Document


@runtime_checkable
class Dataset(Protocol):
    """The part of ``ray.data.Dataset`` that is used."""

    def iter_rows(self) -> Iterable[Mapping[str, Any]]:
        """Return the rows, one after the other."""
        ...


def documents_in(rows: Dataset) -> Iterator[Document]:
    """Yield a document for each row: its ``text``, and ``id``, ``title``, ``uri`` and ``metadata`` where it has them.

    Metadata is an object, or JSON of one; values that are None are left out.

    Raises
    ------
    InputError
        If a row has no text, or is no document.
    """
    for number, row in enumerate(rows.iter_rows()):
        text, held = row.get("text"), row.get("metadata") or {}
        if not isinstance(text, str):
            raise InputError(f"row {number} of the data set has no text", "give it a column text, and in each row one")
        try:
            metadata = dict(json.loads(held) if isinstance(held, str) else held)
        except (ValueError, TypeError) as error:
            raise InputError(f"the metadata of row {number} is no object", "give an object, or JSON of one") from error
        name, title, uri = (str(row.get(column) or "") for column in ("id", "title", "uri"))
        yield Document(text, name, title, uri, {key: one for key, one in metadata.items() if one is not None})

"""Files of documents on their way through a shelf's objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from monograph import Monograph
from monograph.errors import InputError
from monograph.shelf.versions.cache import Cache
from monograph.shelf.versions.objects import objects_at
from monograph.shelf.versions.pieces import name_of
from monograph.shelf.versions.publish import publish
from monograph.values import Document


def test_a_file_that_is_open_is_refused(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "a.mono") as archive:
        archive.add([Document(id="letter", text="The harbour was closed in the winter of 1963.")])
        with pytest.raises(InputError, match="is still open, or was not closed: a.mono-wal"):
            name_of(tmp_path / "a.mono")
    assert name_of(tmp_path / "a.mono").bytes == (tmp_path / "a.mono").stat().st_size
    with pytest.raises(InputError, match=r"none\.mono cannot be read"):
        name_of(tmp_path / "none.mono")


def test_a_file_comes_back_from_a_place_and_is_searched(tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "a.mono") as archive:
        archive.add([Document(id="letter", text="The harbour was closed in the winter of 1963.")])
    objects = objects_at(tmp_path / "shelf", create=True)
    manifest = publish(objects, [tmp_path / "a.mono"], tmp_path / "a.mono", None, {})
    path = Cache(tmp_path / "cache").path(objects, manifest.shards[0])
    with Monograph.open(path) as found:
        assert [hit.chunk.document_id for hit in found.search("When was the harbour closed?")] == ["letter"]
    assert name_of(path) == manifest.shards[0]  # To read it changes nothing of it.

"""Copies of an open file, and files that are pickled and opened anew elsewhere."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from pathlib import Path

import pytest

from monograph import Document, Monograph
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import ClosedFile, InputError, ModelUnavailable, NotAMonograph, ReadOnlyFile
from support.models import HashEmbedder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "x.mono"
    with Monograph.open(made, HashEmbedder(16)) as monograph:
        monograph.add([Document("Ann met Otto in Riga.", id="a"), Document("The lathe is red.", id="b")])
    return made


def found(monograph: Monograph) -> tuple[int, list[str]]:
    """Which process, and what it finds there by meaning."""
    with monograph:
        return os.getpid(), [hit.chunk.document_id for hit in monograph.search("the red lathe", 2, "dense")]


def test_pickled_archive_opens_in_another_process(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    with (
        Monograph.open("x.mono", HashEmbedder(16)) as monograph,
        multiprocessing.get_context("spawn").Pool(1, initializer=os.chdir, initargs=("/",)) as pool,
    ):
        process, ids = pool.apply(found, (monograph,))
        assert process != os.getpid()
        assert ids == ["b", "a"]
        assert monograph.search("the red lathe", 1, "dense")[0].chunk.document_id == "b"


def test_pickle_keeps_open_options(path: Path) -> None:
    trusted = ["http://127.0.0.1:9/v1"]
    with Monograph.open(path, HashEmbedder(16), read_only=True, target_recall=0.5, trusted=trusted) as monograph:
        assert monograph.graph.extractor is not None  # Made again from what the file says, and so it is there.
        again = pickle.loads(pickle.dumps(monograph))
    with again:
        assert again.path == path
        assert again.embedder.key == HashEmbedder(16).key
        assert again.stats().index.target_recall == 0.5
        assert again._file.models.trusted == trusted
        assert again._file.models.given_extractor is None
        with pytest.raises(ReadOnlyFile):
            again.add([Document("x")])
    with Monograph.open(path) as without:
        other = pickle.loads(pickle.dumps(without))
    with other, pytest.raises(ModelUnavailable):
        other.search("x", how="dense")


def test_copied_archive_is_the_same_open_file(path: Path) -> None:
    monograph = Monograph.open(path, HashEmbedder(16))
    for made in (copy.copy(monograph), copy.deepcopy(monograph), copy.deepcopy({"deep": [monograph]})["deep"][0]):
        assert made.path == path
        made.add([Document("Bo left.", id="c")])
        assert len(monograph.documents()) == 3
    monograph.close()
    with pytest.raises(ClosedFile):
        made.documents()


def test_pickling_an_unpicklable_archive_raises_at_once(path: Path, tmp_path: Path) -> None:
    monograph = Monograph.open(
        path, HashEmbedder(16), model=OpenAICompatible("http://127.0.0.1:9/v1", "x", "sk-secret")
    )
    with pytest.raises(InputError, match="cannot be pickled"):
        pickle.dumps(monograph)
    monograph.close()
    with pytest.raises(ClosedFile):
        pickle.dumps(monograph)
    with Monograph.open(path, HashEmbedder(16)) as opened:
        bytes_of_it = pickle.dumps(opened)
    path.rename(tmp_path / "elsewhere.mono")
    with pytest.raises(NotAMonograph, match="does not exist"):
        pickle.loads(bytes_of_it)

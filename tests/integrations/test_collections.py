"""Collections: of several stores over one file each sees its own, in LlamaIndex and in LangChain."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

for package in ("llama_index.core", "langchain_core"):
    pytest.importorskip(package, reason="an extra is not installed")

from langchain_core.documents import Document as LangChainDocument
from langchain_core.load import dumps
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

import langchain_monograph as langchain
from llama_index.indices.monograph import EraRAGIndex
from llama_index.retrievers import monograph as llama_retrievers
from llama_index.vector_stores.monograph import EcoVectorStore
from monograph import Monograph
from monograph.errors import InputError, OutsideView
from support.llama_index_values import node

TEXTS = {"notes": "The boiler is serviced by Ines Faro in October.", "recipes": "Ines Faro bakes the almond cake."}


def llama_store(file: Monograph, collection: str) -> EcoVectorStore:
    store = EcoVectorStore(file, collection=collection)
    store.add(
        [
            node(f"{collection}-1", TEXTS[collection], f"{collection}-doc", {"k": f"{collection}-1"}),
            node(f"{collection}-2", "More.", "x" + collection),
        ]
    )
    return store


def test_llama_index_store_keeps_to_its_collection(monograph: Monograph) -> None:
    notes, recipes = (llama_store(monograph, name) for name in TEXTS)
    for mode in (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.HYBRID, "mmr"):
        asked = VectorStoreQuery(query_str="Ines Faro", similarity_top_k=9, mode=mode)  # type: ignore[arg-type]
        assert {one.split("-")[0] for one in notes.query(asked).ids or []} == {"notes"}
        named = VectorStoreQuery(query_str="Ines", node_ids=["recipes-1"], mode=mode)  # type: ignore[arg-type]
        assert notes.query(named).ids == []
    assert {one.node_id for one in notes.get_nodes()} == {"notes-1", "notes-2"}
    assert notes.get_nodes(["recipes-1"]) == []
    assert notes.get_nodes(["notes-1"])[0].metadata == {"k": "notes-1"}
    notes.delete("recipes-doc")
    notes.delete_nodes(["recipes-2"])
    assert len(recipes.get_nodes()) == 2
    with pytest.raises(OutsideView):
        notes.add([node("recipes-1", "Mine.", "notes-doc")])
    for one in (copy.deepcopy(notes), copy.copy(notes)):
        assert {found.node_id for found in one.get_nodes()} == {"notes-1", "notes-2"}
    notes.delete("notes-doc")
    assert [one.node_id for one in notes.get_nodes()] == ["notes-2"]
    notes.clear()
    assert notes.get_nodes() == []
    assert len(EcoVectorStore(monograph).get_nodes()) == 2
    with pytest.raises(InputError, match="give a name"):
        EcoVectorStore(monograph, collection="")


def test_a_store_of_a_collection_is_pickled(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    for name, text, collection in (("a", "A note.", "notes"), ("b", "A recipe.", "recipes")):
        with EcoVectorStore(path, collection=collection) as store:
            store.add([node(name, text, name + "!")])
            with pickle.loads(pickle.dumps(store)) as again:
                assert [one.node_id for one in again.get_nodes()] == [name]
    with langchain.EcoVectorStore(path, collection="notes") as chain, pickle.loads(pickle.dumps(chain)) as again:
        assert [one.id for one in again.similarity_search("note", k=9)] == ["a"]
    retriever = llama_retrievers.HybridRetriever(path, collection="recipes")
    for _ in range(2):
        assert [one.node.node_id for one in retriever.retrieve("a note or a recipe?")] == ["b"]
        retriever.close()


def test_langchain_store_keeps_to_its_collection(monograph: Monograph) -> None:
    stores = {name: langchain.EcoVectorStore(monograph, collection=name) for name in TEXTS}
    for name, store in stores.items():
        store.add_texts([TEXTS[name]], [{"k": 1}], ids=[name])
    notes, recipes = stores.values()
    for how in ("dense", "lexical", "hybrid", "graph"):
        assert [one.id for one in notes.similarity_search("Ines Faro", k=9, how=how)] == ["notes"]
    assert notes.similarity_search("Ines", filter={"monograph_collection": "recipes"}) == []
    assert notes.similarity_search("Ines", filter=lambda one: one.id == "recipes") == []
    assert notes.get_by_ids(["recipes", "notes"]) == [
        LangChainDocument(id="notes", page_content=TEXTS["notes"], metadata={"k": 1})
    ]
    with pytest.raises(OutsideView):
        notes.add_texts(["Mine."], ids=["recipes"])
    notes.delete(["recipes"])
    notes.delete(filter={"k": 1})
    assert notes.get_by_ids(["notes"]) == []
    assert [one.id for one in recipes.get_by_ids(["recipes"])] == ["recipes"]
    # What one collection gave may be added to another.
    notes.add_documents([one.model_copy(update={"id": "copied"}) for one in recipes.get_by_ids(["recipes"])])
    assert [one.id for one in notes.similarity_search("cake")] == ["copied"]
    recipes.delete()
    assert [one.id for one in langchain.EcoVectorStore(monograph).similarity_search("cake")] == ["copied"]


def test_retrievers_keep_to_their_collection(monograph: Monograph) -> None:
    for name in TEXTS:
        llama_store(monograph, name)
    monograph.tree.rebuild()
    for kind in ("HybridRetriever", "MiniRAGRetriever", "TreeRetriever"):
        found = getattr(llama_retrievers, kind)(monograph, collection="notes").retrieve("Ines Faro")
        assert found
        assert not any("cake" in one.node.get_content() for one in found)
        documents = getattr(langchain, kind)(monograph=monograph, collection="notes").invoke("Ines Faro")
        assert documents
        assert not any("cake" in one.page_content or "monograph_collection" in one.metadata for one in documents)
    written = dumps(langchain.HybridRetriever(monograph=monograph, collection="notes"))
    assert '"collection": "notes"' in written
    view = monograph.within({"monograph_collection": "notes"})
    with pytest.raises(InputError, match="view"):
        dumps(langchain.HybridRetriever(monograph=view))
    with pytest.raises(InputError, match="whole file"):
        EraRAGIndex([], view)

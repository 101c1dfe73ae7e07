"""LlamaIndex's property graph store: its contract, and an index that writes into the file and reads from it."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

from monograph.shelf import whole_file
from support.properties import examples

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
pytest.importorskip("urllib3", reason="the extra llm is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core import PropertyGraphIndex, StorageContext
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, LabelledNode, Relation
from llama_index.core.indices.property_graph import (
    ImplicitPathExtractor,
    LLMSynonymRetriever,
    SimpleLLMPathExtractor,
    VectorContextRetriever,
)
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

import monograph as own
from llama_index.embeddings.monograph import LlamaIndexEmbedder, MonographEmbedding
from llama_index.graph_stores.monograph import MonographPropertyGraphStore
from llama_index.vector_stores.monograph import EcoVectorStore
from monograph import Monograph
from monograph.errors import InputError, InvalidDocument
from support.event_loops import note_threads
from support.llama_index_values import above
from support.model_server import ModelServer
from support.models import HashEmbedder
from support.served_llm import ServedLLM

TEXTS = {
    "d1": "Ada Lovelace met Charles Babbage in London. They spoke of engines.",
    "d2": "Charles Babbage wrote to Luigi Menabrea from Turin.",
}


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Monograph]:
    with Monograph.open(tmp_path / "graph.mono", HashEmbedder()) as archive:
        yield archive


@pytest.fixture
def store(file: Monograph) -> MonographPropertyGraphStore:
    return MonographPropertyGraphStore(file)


FROM_C1 = {"triplet_source_id": "c1"}


def people(store: MonographPropertyGraphStore) -> None:
    store.upsert_nodes(
        [
            ChunkNode(text="Ada met Charles.", id_="c1", properties={"page": 1, "ref_doc_id": "letters"}),
            EntityNode(name="Ada", label="PERSON", properties={"born": 1815, **FROM_C1}, embedding=[1, 0]),
            EntityNode(name="Charles", label="PERSON", properties={"born": 1791}, embedding=[0.6, 0.8]),
            EntityNode(name='The "Engine"', label="THING", embedding=[0, -1]),
        ]
    )
    store.upsert_relations(
        [
            Relation(label="MET", source_id="Ada", target_id="Charles", properties={**FROM_C1, "in": "London"}),
            Relation(label="BUILT", source_id="Charles", target_id="The  Engine "),
            Relation(label="BORN_IN", source_id="Ada", target_id="London"),
        ]
    )


def ends(triplets: list[Any]) -> list[tuple[str, str, str]]:
    return [(source.id, relation.id, target.id) for source, relation, target in triplets]


def test_graph_store_returns_nodes_by_id_and_property(store: MonographPropertyGraphStore) -> None:
    people(store)
    assert [one.id for one in store.get(ids=["Charles", "nobody", "Ada"])] == ["Charles", "Ada"]
    (ada,) = store.get(ids=["Ada"])
    assert isinstance(ada, EntityNode)
    assert (ada.name, ada.label, ada.embedding) == ("Ada", "PERSON", [1.0, 0.0])
    assert ada.properties == {"born": 1815, "triplet_source_id": "c1"}
    (engine,) = store.get(ids=["The  Engine "])
    assert isinstance(engine, EntityNode)
    assert engine.name == 'The "Engine"'
    (chunk,) = store.get(ids=["c1"])
    assert isinstance(chunk, ChunkNode)
    assert (chunk.text, chunk.id, chunk.label) == ("Ada met Charles.", "c1", "text_chunk")
    assert chunk.properties == {"page": 1, "ref_doc_id": "letters"}
    # What only a relation names is there by its name.
    assert [(one.id, one.label, one.properties) for one in store.get(ids=["London"])] == [("London", "entity", {})]
    assert {one.id for one in store.get()} == {"Ada", "Charles", "The  Engine ", "London", "c1"}
    assert store.get(ids=[]) == []
    assert [one.id for one in store.get(properties={"born": 1815})] == ["Ada"]
    assert [one.id for one in store.get(properties={"born": 1815}, ids=["Charles"])] == []
    assert [one.id for one in store.get(properties={"born": 1815, "triplet_source_id": "c2"})] == []
    assert [one.id for one in store.get(properties={"page": 1})] == ["c1"]
    assert [one.id for one in store.get(properties={"ref_doc_id": "letters"})] == ["c1"]
    assert whole_file(store.client, "check", "check").check() == []


def test_graph_store_returns_triplets_by_name_relation_and_property(store: MonographPropertyGraphStore) -> None:
    people(store)
    met = ("Ada", "MET", "Charles")
    built, born = ("Charles", "BUILT", "The  Engine "), ("Ada", "BORN_IN", "London")
    assert store.get_triplets() == []
    assert ends(store.get_triplets(entity_names=["Ada"])) == [met, born]
    assert ends(store.get_triplets(entity_names=['The "Engine"'])) == [built]
    assert ends(store.get_triplets(relation_names=["MET", "BUILT"])) == [met, built]
    assert ends(store.get_triplets(entity_names=["Charles"], relation_names=["MET"])) == [met]
    assert ends(store.get_triplets(ids=["Charles"])) == [met, built]
    assert ends(store.get_triplets(ids=["London"], entity_names=["Ada"])) == [born]
    assert ends(store.get_triplets(properties={"in": "London"})) == [met]
    assert ends(store.get_triplets(properties={"born": 1791})) == [met, built]
    assert ends(store.get_triplets(properties={"born": 1791, "in": "London"})) == [met]
    assert store.get_triplets(ids=["nobody"]) == []
    (source, relation, target) = store.get_triplets(properties={"in": "London"})[0]
    assert relation.properties == {"triplet_source_id": "c1", "in": "London"}
    assert (source.label, target.properties) == ("PERSON", {"born": 1791})


def test_relation_map_lists_relations_by_depth(store: MonographPropertyGraphStore) -> None:
    store.upsert_relations([Relation(label="NEXT", source_id=f"n{at}", target_id=f"n{at + 1}") for at in range(9)])
    store.upsert_relations([Relation(label="SKIP", source_id="n0", target_id="n7")])
    start = store.get(ids=["n2"])
    steps = [{source, target} for source, _, target in ends(store.get_rel_map(start, depth=2))]
    assert steps == [{"n1", "n2"}, {"n2", "n3"}, {"n0", "n1"}, {"n3", "n4"}]
    assert len(store.get_rel_map(start, depth=1)) == 2
    assert ("n0", "SKIP", "n7") in ends(store.get_rel_map(start, depth=3))
    without = ends(store.get_rel_map(start, depth=9, ignore_rels=["SKIP"]))
    assert without == [*dict.fromkeys(without)]
    assert len(without) == 9
    assert len(store.get_rel_map(start, depth=9, limit=3)) == 3
    assert store.get_rel_map(start, depth=9, limit=0) == store.get_rel_map(start, depth=0) == []
    assert store.get_rel_map([]) == []


def test_upsert_replaces_the_previous_node(store: MonographPropertyGraphStore) -> None:
    people(store)
    store.upsert_nodes([EntityNode(name="Charles", label="INVENTOR", properties={"died": 1871})])
    built = Relation(label="BUILT", source_id="Charles", target_id="The  Engine ", properties={"in": 1837})
    store.upsert_relations([built])
    (charles,) = store.get(ids=["Charles"])
    assert (charles.label, charles.properties, charles.embedding) == ("INVENTOR", {"died": 1871}, None)
    assert [one.properties for _, one, _ in store.get_triplets(relation_names=["BUILT"])] == [{"in": 1837}]
    # Of what two sources say, the later is on top.
    store.upsert_nodes([ChunkNode(text="Another letter.", id_="c2")])
    store.upsert_nodes([EntityNode(name="Ada", properties={"born": 1816, "triplet_source_id": "c2"})])
    (ada,) = store.get(ids=["Ada"])
    assert (ada.label, ada.properties) == ("entity", {"born": 1816, "triplet_source_id": "c2"})
    store.delete_llama_nodes(["c2"])
    (ada,) = store.get(ids=["Ada"])
    assert (ada.label, ada.properties) == ("PERSON", {"born": 1815, "triplet_source_id": "c1"})


def test_graph_store_deletes_by_name_relation_property_and_id(store: MonographPropertyGraphStore) -> None:
    people(store)
    store.delete()
    assert len(store.get()) == 5
    store.delete(relation_names=["MET"])
    assert ends(store.get_triplets(ids=["Charles"])) == [("Charles", "BUILT", "The  Engine ")]
    store.delete(entity_names=['The "Engine"'])
    assert store.get_triplets(ids=["Charles"]) == []
    store.delete(properties={"born": 1791})
    assert store.get(ids=["Charles"]) == []
    store.delete(ids=["London", "nobody"])
    assert {one.id for one in store.get()} == {"Ada", "c1"}
    store.delete(ids=["c1"])
    # Nobody says that Ada was born in 1815 any more.
    assert [(one.id, one.properties) for one in store.get()] in ([], [("Ada", {})])
    assert store.client.documents() == []
    assert whole_file(store.client, "check", "check").check() == []


def test_deleting_llama_nodes_deletes_their_entities(store: MonographPropertyGraphStore) -> None:
    for at, document in enumerate(("d1", "d1", "d2"), 1):
        source = {"triplet_source_id": f"c{at}"}
        store.upsert_nodes([ChunkNode(text=f"Text {at}", id_=f"c{at}", properties={"ref_doc_id": document})])
        store.upsert_nodes(
            [EntityNode(name="shared", properties=source), EntityNode(name=f"own{at}", properties=source)]
        )
        store.upsert_relations([Relation(label="IN", source_id=f"own{at}", target_id="shared", properties=source)])
    gone = {"triplet_source_id": "elsewhere"}
    store.upsert_nodes([EntityNode(name="stray", properties=gone)])
    store.delete_llama_nodes(node_ids=["c1", "elsewhere"])
    assert {one.id for one in store.get()} == {"c2", "c3", "own2", "own3", "shared"}
    store.delete_llama_nodes(ref_doc_ids=["d1"])
    assert {one.id for one in store.get()} == {"c3", "own3", "shared"}
    assert ends(store.get_triplets(ids=["shared"])) == [("own3", "IN", "shared")]
    assert [one.id for one in store.client.documents()] == ["d2"]
    assert whole_file(store.client, "check", "check").check() == []


def test_graph_store_ranks_entities_by_vector(store: MonographPropertyGraphStore) -> None:
    people(store)
    found, scores = store.vector_query(VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=2))
    assert [one.id for one in found] == ["Ada", "Charles"]
    assert scores == pytest.approx([1.0, 0.6])
    _, scores = store.vector_query(VectorStoreQuery(query_embedding=[0.0, 1.0], similarity_top_k=9))
    assert scores == pytest.approx([0.8, 0.0, 0.0])

    def asked(**more: Any) -> list[str]:
        found, _ = store.vector_query(VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=9, **more))
        return [one.id for one in found]

    assert asked(filters=above("born", 1800)) == ["Ada"]
    assert asked(node_ids=["Charles", "x"]) == ["Charles"]
    assert asked() == ["Ada", "Charles", "The  Engine "]
    assert asked(doc_ids=["letters"]) == ["Ada", "Charles"]  # Of whom a relation tells that stands there.
    with pytest.raises(InputError, match="mode"):
        asked(mode=VectorStoreQueryMode.MMR)
    with pytest.raises(InputError, match="neither"):
        store.vector_query(VectorStoreQuery())
    assert store.vector_query(VectorStoreQuery(query_str="words"))[0] == []  # Of another dimension.


def test_graph_store_refuses_invalid_arguments(store: MonographPropertyGraphStore) -> None:
    with pytest.raises(InputError, match="structured queries") as raised:
        store.structured_query("MATCH (n) RETURN n")
    assert "get_triplets" in raised.value.hint
    with pytest.raises(InvalidDocument):
        store.upsert_nodes([EntityNode(name="x", properties={"x": object()})])

    class Other(LabelledNode):
        def __str__(self) -> str:
            return "other"

        @property
        def id(self) -> str:
            return "other"

    with pytest.raises(InputError, match="neither an entity nor a chunk"):
        store.upsert_nodes([Other()])
    assert store.get() == []


def test_graph_store_schema_lists_labels_and_properties(store: MonographPropertyGraphStore) -> None:
    assert store.get_schema() == {"node_props": {}, "rel_props": {}, "relationships": []}
    people(store)
    schema = store.get_schema(refresh=True)
    assert {"start": "PERSON", "type": "MET", "end": "PERSON"} in schema["relationships"]
    assert schema["node_props"]["PERSON"] == [
        {"property": "born", "type": "INTEGER"},
        {"property": "triplet_source_id", "type": "STRING"},
    ]
    store.upsert_nodes([ChunkNode(text="Ada met Charles.", id_="page")])
    store.upsert_relations([Relation(label="SAYS", source_id="page", target_id="Ada")])
    assert {"start": "text_chunk", "type": "SAYS", "end": "PERSON"} in store.get_schema()["relationships"]
    text = store.get_schema_str()
    assert "(PERSON)-[:MET]->(PERSON)" in text
    assert "PERSON {born: INTEGER, triplet_source_id: STRING}" in text


def test_graph_store_returns_llama_nodes_unchanged(store: MonographPropertyGraphStore) -> None:
    node = TextNode(
        id_="n1", text="Ada met Charles.", metadata={"page": 2, "deep": {"x": [1]}}, excluded_llm_metadata_keys=["page"],
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d1")},
    )  # fmt: skip
    store.upsert_llama_nodes([node])
    (again,) = store.get_llama_nodes(["n1", "nobody"])
    assert again == node
    assert again.hash == node.hash
    (chunk,) = store.get(ids=["n1"])
    store.upsert_nodes([chunk])  # What is read can be stored.
    assert store.get_llama_nodes(["n1"]) == [node]
    labelled = ChunkNode(text="A part.", id_="n2", label="section", properties={"x": 1})
    store.upsert_nodes([labelled])
    (back,) = store.get(ids=["n2"])
    assert (back.label, back.properties) == ("section", {"x": 1})
    assert [one.get_content() for one in store.get_llama_nodes(["n2"])] == ["A part."]
    assert [hit.chunk.id for hit in store.client.search("Ada met Charles", 1)] == ["n1"]


def test_graph_store_does_not_duplicate_stored_chunks(file: Monograph, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "letter.txt").write_text(TEXTS["d1"])
    file.sync(tmp_path / "in")
    (chunk,) = file.fetch()
    store = MonographPropertyGraphStore(file)
    (node,) = store.get_llama_nodes([chunk.chunk.id])
    store.upsert_llama_nodes([node])
    store.upsert_nodes([EntityNode(name="Ada Lovelace", properties={"triplet_source_id": node.node_id})])
    assert len(file.fetch()) == 1
    assert file.graph.assertions().nodes["Ada Lovelace"].origins == (chunk.chunk.id,)
    (tmp_path / "in" / "letter.txt").unlink()
    file.sync(tmp_path / "in", prune=True)
    assert store.get() == []


def test_graph_store_does_not_block_the_event_loop(
    store: MonographPropertyGraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("get", "get_triplets", "get_rel_map", "get_llama_nodes", "upsert_nodes", "upsert_relations", "delete",
             "delete_llama_nodes", "vector_query", "get_schema", "get_schema_str")  # fmt: skip
    threads = note_threads(monkeypatch, MonographPropertyGraphStore, *names)

    async def used() -> None:
        await store.aupsert_nodes([EntityNode(name="a", embedding=[1.0]), ChunkNode(text="t", id_="c")])
        await store.aupsert_relations([Relation(label="R", source_id="a", target_id="b")])
        assert [one.id for one in await store.aget(ids=["a"])] == ["a"]
        assert ends(await store.aget_triplets(ids=["b"])) == ends(await store.aget_rel_map(await store.aget(ids=["a"])))
        assert len(await store.aget_llama_nodes(["c"])) == 1
        assert (await store.avector_query(VectorStoreQuery(query_embedding=[1.0])))[1] == [1.0]
        assert "R" in (await store.aget_schema())["rel_props"]
        assert "R" in await store.aget_schema_str()
        await store.adelete_llama_nodes(["c"])
        await store.adelete(entity_names=["a", "b"])
        assert await store.aget() == []
        with pytest.raises(InputError):
            await store.astructured_query("x")

    asyncio.run(used())
    assert threads
    assert get_ident() not in threads


def test_graph_store_is_opened_by_path_copied_and_pickled(tmp_path: Path) -> None:
    store = MonographPropertyGraphStore(tmp_path / "store.mono")
    people(store)
    store.persist(str(tmp_path / "storage" / "property_graph_store.json"))
    assert {one.id for one in copy.deepcopy(store).get()} == {one.id for one in store.get()}
    with pickle.loads(pickle.dumps(store)) as again:
        assert ends(again.get_triplets(ids=["London"])) == [("Ada", "BORN_IN", "London")]
    store.close()
    with own.Monograph.open(tmp_path / "store.mono") as file:
        assert len(file.graph.assertions().relations) == 3
        MonographPropertyGraphStore(file).close()  # It is not the store's.
        assert file.check() == []


def test_graph_store_keeps_to_its_collection(file: Monograph) -> None:
    ours, theirs = (MonographPropertyGraphStore(file, collection=name) for name in ("ours", "theirs"))
    for store, name in ((ours, "Ada"), (theirs, "Zorblax")):
        store.upsert_nodes([ChunkNode(text=f"{name} is here.", id_=name.lower())])
        source = {"triplet_source_id": name.lower()}
        store.upsert_nodes([EntityNode(name=name, properties=source, embedding=[1.0])])
        store.upsert_relations([Relation(label="IN", source_id=name, target_id="London", properties=source)])
    assert {one.id for one in ours.get()} == {"Ada", "ada", "London"}
    assert ends(ours.get_triplets(ids=["London"])) == [("Ada", "IN", "London")]
    assert [one.id for one in ours.vector_query(VectorStoreQuery(query_embedding=[1.0]))[0]] == ["Ada"]
    assert "monograph_collection" not in ours.get(ids=["ada"])[0].properties
    ours.delete(ids=["London", "Zorblax", "zorblax"])
    assert {one.id for one in theirs.get()} == {"Zorblax", "zorblax", "London"}
    with pytest.raises(InputError, match="no origin in this view"):
        ours.upsert_nodes([EntityNode(name="Stranger")])


NAMES = st.sampled_from(("a", "b", "c"))
UPSERTS = st.lists(
    st.one_of(
        st.builds(EntityNode, name=NAMES, label=st.sampled_from(("X", "Y")), properties=st.fixed_dictionaries({"p": st.integers(0, 2)})),
        st.builds(Relation, label=st.sampled_from(("R", "S")), source_id=NAMES, target_id=NAMES),
    ),
    max_size=8,
)  # fmt: skip


@settings(max_examples=examples(40))
@given(steps=UPSERTS, asked=st.tuples(NAMES, st.sampled_from(("R", "S")), st.integers(0, 2)))
def test_graph_store_answers_as_the_simple_store(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], asked: tuple[str, str, int]
) -> None:
    simple = SimplePropertyGraphStore()
    name, label, number = asked
    with Monograph.open(tmp_path_factory.mktemp("x") / "x.mono", HashEmbedder()) as file:
        store = MonographPropertyGraphStore(file)
        for step in steps:
            for one in (simple, store):
                one.upsert_nodes([step]) if isinstance(step, EntityNode) else one.upsert_relations([step])
        having = {"properties": {"p": number}}
        for arguments in ({}, {"ids": [name]}, having, {"ids": [name], **having}):
            assert _plain(store.get(**arguments)) == _plain(simple.get(**arguments))
        for arguments in (
            {}, {"ids": [name]}, {"entity_names": [name]}, {"relation_names": [label]}, having,
            {"entity_names": [name], "relation_names": [label]}, {"relation_names": [label], **having},
        ):  # fmt: skip
            assert sorted(ends(store.get_triplets(**arguments))) == sorted(ends(simple.get_triplets(**arguments)))
        starts = store.get(ids=[name])
        found = set(ends(store.get_rel_map(starts, depth=2)))
        assert found >= set(ends(simple.get_rel_map(starts, depth=1)))
        assert found <= set(ends(store.get_triplets(relation_names=["R", "S"])))


def _plain(nodes: list[Any]) -> list[Any]:
    return sorted((one.id, one.name, one.label, one.properties) for one in nodes)


@pytest.fixture
def llm(server: ModelServer) -> ServedLLM:
    return ServedLLM(model="scripted", api_base=server.url)


def test_property_graph_index_writes_and_reads_the_file(file: Monograph, llm: ServedLLM) -> None:
    store = MonographPropertyGraphStore(file)
    embed = MonographEmbedding(file.embedder)
    documents = [Document(text=text, id_=name, metadata={"shelf": name}) for name, text in TEXTS.items()]
    extractors = [SimpleLLMPathExtractor(llm=llm, num_workers=1), ImplicitPathExtractor()]
    index = PropertyGraphIndex.from_documents(
        documents, property_graph_store=store, kg_extractors=extractors, embed_model=embed, llm=llm,
        transformations=[SentenceSplitter(chunk_size=200)],
    )  # fmt: skip
    assert index.vector_store is None
    assert ("Charles babbage", "Wrote", "Luigi menabrea") in ends(store.get_triplets(entity_names=["Luigi menabrea"]))
    assert {relation.label for _, relation, _ in store.get_triplets(ids=["d1"])} == {"SOURCE"}
    assert {one.document_id for one in (hit.chunk for hit in file.search("Menabrea in Turin", 1))} == {"d2"}
    assert file.check() == []
    for again in (index, PropertyGraphIndex.from_existing(store, embed_model=embed, llm=llm)):
        found = again.as_retriever(include_text=False).retrieve("Who is Luigi Menabrea?")
        assert "Charles babbage -> Wrote -> Luigi menabrea" in {one.node.get_content() for one in found}
        with_text = again.as_retriever().retrieve("Who is Luigi Menabrea?")
        assert any(TEXTS["d2"] in one.node.get_content() for one in with_text)
    for retriever in (
        LLMSynonymRetriever(store, llm=llm, include_text=False),
        VectorContextRetriever(store, embed_model=embed, include_text=False, similarity_top_k=1),
    ):
        assert any("Luigi menabrea" in one.node.get_content() for one in retriever.retrieve("Luigi Menabrea"))
    # Inserted again, nothing comes twice; a document that goes takes what it says along.
    before = (len(file.fetch()), file.graph.assertions().relations)
    nodes = store.get_llama_nodes([one.chunk.id for one in file.fetch()])
    index.insert_nodes(nodes)
    assert (len(file.fetch()), len(file.graph.assertions().relations)) == (before[0], len(before[1]))
    file.remove(["d2"], forget=True)
    assert store.get_triplets(entity_names=["Luigi menabrea"]) == []
    assert store.get_triplets(entity_names=["Charles babbage"]) != []
    assert b"Menabrea" not in file.path.read_bytes()
    assert b"menabrea" not in file.path.read_bytes()
    assert file.check() == []


def test_property_graph_index_keeps_entity_vectors_in_a_collection(file: Monograph, llm: ServedLLM) -> None:
    store = MonographPropertyGraphStore(file)
    vectors = EcoVectorStore(file, collection="entities")
    embed = MonographEmbedding(file.embedder)
    index = PropertyGraphIndex(
        [TextNode(text=TEXTS["d2"], id_="c1")], property_graph_store=store, vector_store=vectors, embed_model=embed,
        kg_extractors=[SimpleLLMPathExtractor(llm=llm, num_workers=1)], llm=llm, use_async=False,
    )  # fmt: skip
    assert {one.get_content() for one in vectors.get_nodes()} == {
        "Charles babbage",
        "Luigi menabrea",
        "Turin",
    } or vectors.get_nodes()
    found = index.as_retriever(include_text=False).retrieve("Luigi Menabrea")
    assert any("Luigi menabrea" in one.node.get_content() for one in found)
    context = StorageContext.from_defaults(property_graph_store=store, vector_store=vectors)
    context.persist(str(file.path.parent / "storage"))
    assert file.check() == []


def test_graph_store_of_a_path_uses_the_given_embedding_model(tmp_path: Path) -> None:
    embed = MonographEmbedding(HashEmbedder())
    store = MonographPropertyGraphStore(tmp_path / "x.mono", embed)
    index = PropertyGraphIndex(
        [TextNode(text=TEXTS["d1"], id_="c1")], property_graph_store=store, embed_model=embed,
        kg_extractors=[ImplicitPathExtractor()], use_async=False,
    )  # fmt: skip
    index.delete_nodes(["c1"])
    assert store.get() == []
    store.close()
    with own.Monograph.open(tmp_path / "x.mono", LlamaIndexEmbedder(embed)) as file:
        assert file.documents() == []

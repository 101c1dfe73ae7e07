"""LlamaIndex index in a .mono file, with a tree of summaries that every change updates (Zhang et al., EraRAG)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from inspect import signature
from itertools import compress
from typing import Any, cast

from monograph.lazy import requires

with requires("LlamaIndex", "llama-index", __name__):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.data_structs.data_structs import IndexStruct
    from llama_index.core.data_structs.registry import INDEX_STRUCT_TYPE_TO_INDEX_STRUCT_CLASS
    from llama_index.core.data_structs.struct_type import IndexStructType
    from llama_index.core.indices.base import BaseIndex
    from llama_index.core.indices.registry import INDEX_STRUCT_TYPE_TO_INDEX_CLASS
    from llama_index.core.ingestion import run_transformations
    from llama_index.core.schema import BaseNode, Document
    from llama_index.core.storage.docstore.types import RefDocInfo

from llama_index.embeddings.monograph import LlamaIndexEmbedder
from llama_index.retrievers.monograph import TreeRetriever
from llama_index.vector_stores.monograph.nodes import as_documents, as_node
from monograph import Monograph
from monograph.errors import InputError
from monograph.values import Cost
from monograph_tools import AnyArchive, ClosesFile, in_thread, opened, refuse_unknown, to_write, warn_of_problems

__all__ = ["EraRAGIndex"]

STRUCT_TYPE = cast(IndexStructType, "monograph_erarag")
"""Type of the index in LlamaIndex's registries. LlamaIndex's own types are an enumeration, but any string works."""


@dataclass
class EraRAGStruct(IndexStruct):
    """Data of the index that LlamaIndex persists: the path of its file. Everything else is in the file."""

    path: str = ""

    @classmethod
    def get_type(cls) -> IndexStructType:
        """Return the type of this struct in the registries."""
        return STRUCT_TYPE


class EraRAGIndex(ClosesFile, BaseIndex[EraRAGStruct]):
    """Nodes in a .mono file, with a tree of summaries. Every insertion, update and deletion of nodes updates the tree.

    The file stores the whole nodes and the hashes of their documents. The docstore of a storage context gets no nodes,
    and a refresh needs no docstore. ``load_index_from_storage`` opens the file again.

    Parameters
    ----------
    nodes:
        First nodes of the index; None or empty for none.
    monograph:
        Path of a file, or an open file or store. The constructor opens a file at a path, or creates it if there
        is none; ``close`` closes it. An open file or store stays open. A shelf or a view is refused. Not needed to
        load an index.
    embed_model:
        Model that computes the vectors of nodes and queries that have no vector. Give it only with a path. If it is
        None, the file's own embedder is used.
    key:
        Key of an encrypted file. Give it only with a path. It is not persisted: give it again to
        ``load_index_from_storage(..., key=...)``.
    index_struct:
        Data of a persisted index, with the path of its file. ``load_index_from_storage`` passes it.
    **options:
        Options of LlamaIndex's ``BaseIndex``: ``storage_context``, ``transformations``, …

    Raises
    ------
    InputError
        If no file is given, if a view or a shelf is given, or if a model or a key is given with an open file.
    """

    index_struct_cls = EraRAGStruct
    monograph: Monograph
    """The open file."""

    def __init__(
        self,
        nodes: Sequence[BaseNode] | None = None,
        monograph: AnyArchive | None = None,
        *,
        embed_model: BaseEmbedding | None = None,
        key: str | None = None,
        index_struct: EraRAGStruct | None = None,
        **options: Any,
    ) -> None:
        source = monograph if monograph is not None or index_struct is None else index_struct.path
        if source is None:
            raise InputError("an index needs a file", 'give its path: EraRAGIndex(nodes, "notes.mono")')
        self._file = opened(source, embed_model, LlamaIndexEmbedder, key)
        try:
            file = to_write(self._file.monograph)
            if not isinstance(file, Monograph):
                raise InputError("an index with a tree needs a whole file", "give the file, not a view of it")
        except InputError:
            self.close()
            raise
        self.monograph = file
        first_nodes = list(nodes or []) if index_struct is None else None
        super().__init__(nodes=first_nodes, index_struct=index_struct, **options)

    def build_index_from_nodes(self, nodes: Sequence[BaseNode], **build_kwargs: Any) -> EraRAGStruct:
        """Store the first nodes in the file, and none of them in the docstore."""
        refuse_unknown("EraRAGIndex", build_kwargs)
        return self._build_index_from_nodes(nodes, **build_kwargs)

    def _build_index_from_nodes(self, nodes: Sequence[BaseNode], **build_kwargs: Any) -> EraRAGStruct:
        self._insert(nodes)
        return EraRAGStruct(path=str(self.monograph.path.absolute()))

    def _insert(self, nodes: Sequence[BaseNode], *, replaces: bool = False, **insert_kwargs: Any) -> None:
        if not nodes:
            return
        # Only put can make a new file one whose vectors are given.
        store = self.monograph.add if replaces and self.monograph.brief().documents else self.monograph.put
        warn_of_problems(store(as_documents(nodes)))
        if not self.monograph.brief().has_tree:
            self.monograph.tree.rebuild()

    def insert_nodes(self, nodes: Sequence[BaseNode], **insert_kwargs: Any) -> None:
        """Store nodes; a node replaces the stored node with the same id."""
        with self._callback_manager.as_trace("insert_nodes"):
            self._insert(nodes)

    def _delete_node(self, node_id: str, **delete_kwargs: Any) -> None:
        warn_of_problems(self.monograph.remove_chunks([node_id]))

    def delete_nodes(self, node_ids: list[str], delete_from_docstore: bool = False, **delete_kwargs: Any) -> None:
        """Delete nodes in one operation; skip ids that are not stored."""
        warn_of_problems(self.monograph.remove_chunks(node_ids))

    def delete_ref_doc(self, ref_doc_id: str, delete_from_docstore: bool = False, **delete_kwargs: Any) -> None:
        """Delete all nodes of a document; do nothing if it has none."""
        warn_of_problems(self.monograph.remove_chunks(where={"$document": ref_doc_id}))
        self.docstore.delete_document(ref_doc_id, raise_error=False)

    def update_ref_doc(self, document: Document, **update_kwargs: Any) -> None:
        """Replace all nodes of a document by its new nodes, in one write."""
        with self._callback_manager.as_trace("update_ref_doc"):
            self._replace([document])

    def refresh_ref_docs(self, documents: Sequence[Document], **update_kwargs: Any) -> list[bool]:
        """Insert new documents and replace changed documents; return for each document whether it was stored.

        A document has changed if its hash differs from the hash in the file. So no persisted docstore is needed. A
        document that was deleted from the file counts as new. One write stores all documents and updates the tree. Of
        documents with the same id, the last one is stored.
        """
        changed = self._find_changed(documents)
        with self._callback_manager.as_trace("refresh_ref_docs"):
            self._replace(list(compress(documents, changed)))
        return changed

    def _find_changed(self, documents: Sequence[Document]) -> list[bool]:
        """Return for each document whether it is the last one of its id, and differs from the stored one."""
        last = {document.id_: index for index, document in enumerate(documents)}
        return [index == last[document.id_] and self._is_changed(document) for index, document in enumerate(documents)]

    def _is_changed(self, document: Document) -> bool:
        chunks = self.monograph.fetch(where={"$document": document.id_})
        source = as_node(chunks[0]).source_node if chunks else None
        return source is None or source.hash != document.hash

    def _replace(self, documents: Sequence[Document]) -> None:
        nodes, without_nodes = self._make_nodes(documents)
        if without_nodes:
            warn_of_problems(self.monograph.remove_chunks(where={"$document": {"in": without_nodes}}))
        self._insert(nodes, replaces=True)
        for one in documents:
            self.docstore.set_document_hash(one.id_, one.hash)

    def _make_nodes(self, documents: Sequence[Document]) -> tuple[Sequence[BaseNode], list[str]]:
        """Return (nodes of documents, ids of documents without nodes)."""
        nodes = run_transformations(documents, self._transformations, show_progress=self._show_progress)
        made_from = {node.ref_doc_id or node.node_id for node in nodes}
        return nodes, sorted({document.id_ for document in documents} - made_from)

    def price(self, nodes: Sequence[BaseNode] = (), *, delete: Sequence[str] = ()) -> Cost:
        """Return the cost of a change of the index. Nothing is stored, and no model makes vectors or summaries.

        - ``insert`` of new documents, ``update_ref_doc`` and ``refresh_ref_docs``: give the documents as ``nodes``. A
          document that the file has already, with the same hash, costs nothing.
        - ``insert_nodes``: give the nodes.
        - ``delete_ref_doc``: give the ids of documents as ``delete``.

        ``summaries``, ``model_calls`` and ``model_tokens`` of the cost are upper bounds for one write;
        ``typical_summaries`` is an estimate (docs/explanation/tree.md).
        """
        documents = [node for node in nodes if isinstance(node, Document)]
        changed = self._find_changed(documents)
        made, without_nodes = self._make_nodes(list(compress(documents, changed)))
        given = [node for node in nodes if not isinstance(node, Document)]
        if not self.monograph.brief().documents:
            made, given = [], [*made, *given]  # As in _insert.
        return self.monograph.price(
            as_documents(made),
            put=as_documents(given),
            remove=[*delete, *without_nodes],
            summarizer=self.monograph.tree.summarizer,
        )

    ainsert_nodes = in_thread("insert_nodes")
    adelete_nodes = in_thread("delete_nodes")
    adelete_ref_doc = in_thread("delete_ref_doc")
    aupdate_ref_doc = in_thread("update_ref_doc")
    arefresh_ref_docs = in_thread("refresh_ref_docs")

    @property
    def ref_doc_info(self) -> dict[str, RefDocInfo]:
        """Node ids and metadata of every document, by document id."""
        infos: dict[str, RefDocInfo] = {}
        for chunk in self.monograph.fetch():
            node = as_node(chunk)
            info = infos.setdefault(chunk.chunk.document_id, RefDocInfo(metadata=dict(node.metadata)))
            info.node_ids.append(chunk.chunk.id)
        return infos

    def as_retriever(self, **kwargs: Any) -> BaseRetriever:
        """Return a ``TreeRetriever`` over the file.

        It takes ``similarity_top_k``, ``detail``, ``budget``, ``filters``, ``reranker``, ``as_of``, ``stop``,
        ``ranked_recall`` and ``callback_manager``. Arguments of query and chat engines, which LlamaIndex also passes,
        are ignored. Raises InputError if an argument belongs neither to the retriever nor to an engine.
        """
        own = {
            "similarity_top_k", "detail", "budget", "filters", "reranker", "as_of", "stop", "ranked_recall",
            "callback_manager",
        }  # fmt: skip
        refuse_unknown("EraRAGIndex.as_retriever", kwargs.keys() - _engine_arguments(), own)
        return TreeRetriever(self.monograph, **{name: value for name, value in kwargs.items() if name in own})


@cache
def _engine_arguments() -> frozenset[str]:
    """Return the names of the engine arguments (query and chat) that LlamaIndex also passes to ``as_retriever``."""
    from llama_index.core.chat_engine import (
        CondensePlusContextChatEngine,
        CondenseQuestionChatEngine,
        ContextChatEngine,
        SimpleChatEngine,
    )
    from llama_index.core.query_engine import RetrieverQueryEngine

    chats = (CondensePlusContextChatEngine, CondenseQuestionChatEngine, ContextChatEngine, SimpleChatEngine)
    makers = [RetrieverQueryEngine.from_args, *(engine.from_defaults for engine in chats)]
    return frozenset(name for maker in makers for name in signature(maker).parameters) - {"kwargs"}


INDEX_STRUCT_TYPE_TO_INDEX_STRUCT_CLASS[STRUCT_TYPE] = EraRAGStruct
INDEX_STRUCT_TYPE_TO_INDEX_CLASS[STRUCT_TYPE] = EraRAGIndex

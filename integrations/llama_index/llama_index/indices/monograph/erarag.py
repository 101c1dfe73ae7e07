"""A LlamaIndex index in a .mono file, with a tree of summaries that follows every change (Zhang et al., EraRAG)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any, cast

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.data_structs.data_structs import IndexStruct
from llama_index.core.data_structs.registry import INDEX_STRUCT_TYPE_TO_INDEX_STRUCT_CLASS
from llama_index.core.data_structs.struct_type import IndexStructType
from llama_index.core.indices.base import BaseIndex
from llama_index.core.indices.registry import INDEX_STRUCT_TYPE_TO_INDEX_CLASS
from llama_index.core.schema import BaseNode, Document
from llama_index.core.storage.docstore.types import RefDocInfo

from llama_index.embeddings.monograph import LlamaIndexEmbedder
from llama_index.retrievers.monograph import TreeRetriever
from llama_index.vector_stores.monograph.nodes import as_documents, as_node
from monograph import Monograph
from monograph.errors import InputError
from monograph_tools import ClosesFile, Given, in_thread, is_address, opened, refuse_unknown, to_write, warn_of_problems

STRUCT_TYPE = cast(IndexStructType, "monograph_erarag")
"""What a persisted index says it is. The framework's own kinds are a closed enumeration of texts; any text will do."""


@dataclass
class EraRAGStruct(IndexStruct):
    """Data that LlamaIndex persists of the index: the path of its file. All else is in the file."""

    path: str = ""

    @classmethod
    def get_type(cls) -> IndexStructType:
        """Its name in the registries."""
        return STRUCT_TYPE


class EraRAGIndex(ClosesFile, BaseIndex[EraRAGStruct]):
    """Nodes in a .mono file under a tree of summaries, kept in step with every insertion, update and deletion.

    The file holds the nodes whole, and with them the hashes of the documents they come from: the docstore of a storage
    context is not needed to refresh, and holds no nodes. ``load_index_from_storage`` opens the file again.

    Parameters
    ----------
    nodes:
        To begin with; None or empty for none.
    monograph:
        An open file, which stays the caller's to close; or the path of one, which is opened here, made if it is
        missing, and closed by :meth:`close`. Not needed where an index is loaded.
    embed_model:
        Makes the vectors; with a path only. Without it the file's own embedder does.
    key:
        Of an encrypted file; with a path only. It is not persisted: ``load_index_from_storage(..., key=...)``.
    options:
        As for LlamaIndex's ``BaseIndex``: ``storage_context``, ``transformations``, …

    Raises
    ------
    InputError
        If no file is named, a view is, or a model or a key is given besides an open file.
    """

    index_struct_cls = EraRAGStruct

    def __init__(
        self,
        nodes: Sequence[BaseNode] | None = None,
        monograph: Given | None = None,
        *,
        embed_model: BaseEmbedding | None = None,
        key: str | None = None,
        index_struct: EraRAGStruct | None = None,
        **options: Any,
    ) -> None:
        given = monograph if monograph is not None or index_struct is None else index_struct.path
        if given is None:
            raise InputError("an index needs a file", 'EraRAGIndex(nodes, "notes.mono")')
        archive = opened(given, embed_model, LlamaIndexEmbedder, key)
        self._own = is_address(given)
        try:
            file = to_write(archive)
            if not isinstance(file, Monograph):
                raise InputError("an index with a tree is over a whole file", "give the file, not a view of it")
        except InputError:
            if self._own:
                archive.close()
            raise
        self._monograph = file
        begun = list(nodes or []) if index_struct is None else None
        super().__init__(nodes=begun, index_struct=index_struct, **options)

    def close(self) -> None:
        """Close the file if it was opened here."""
        if self._own:
            self._monograph.close()

    @property
    def monograph(self) -> Monograph:
        """The open file."""
        return self._monograph

    def build_index_from_nodes(self, nodes: Sequence[BaseNode], **build_kwargs: Any) -> EraRAGStruct:
        """Store the first nodes; none goes to the docstore."""
        refuse_unknown("EraRAGIndex", build_kwargs)
        return self._build_index_from_nodes(nodes, **build_kwargs)

    def _build_index_from_nodes(self, nodes: Sequence[BaseNode], **build_kwargs: Any) -> EraRAGStruct:
        self._insert(nodes)
        return EraRAGStruct(path=str(self._monograph.path.absolute()))

    def _insert(self, nodes: Sequence[BaseNode], **insert_kwargs: Any) -> None:
        if not nodes:
            return
        warn_of_problems(self._monograph.put(as_documents(nodes)))
        if not self._monograph.brief().has_tree:
            self._monograph.tree.rebuild()

    def insert_nodes(self, nodes: Sequence[BaseNode], **insert_kwargs: Any) -> None:
        """Store nodes; one of a known id takes that node's place."""
        with self._callback_manager.as_trace("insert_nodes"):
            self._insert(nodes)

    def _delete_node(self, node_id: str, **delete_kwargs: Any) -> None:
        warn_of_problems(self._monograph.remove_chunks([node_id]))

    def delete_nodes(self, node_ids: list[str], delete_from_docstore: bool = False, **delete_kwargs: Any) -> None:
        """Take nodes out, all at once; ids that are not there are passed over."""
        warn_of_problems(self._monograph.remove_chunks(node_ids))

    def delete_ref_doc(self, ref_doc_id: str, delete_from_docstore: bool = False, **delete_kwargs: Any) -> None:
        """Take out all nodes that come from a document; nothing happens where there is none."""
        warn_of_problems(self._monograph.remove_chunks(where={"$document": ref_doc_id}))
        self.docstore.delete_document(ref_doc_id, raise_error=False)

    def refresh_ref_docs(self, documents: Sequence[Document], **update_kwargs: Any) -> list[bool]:
        """Insert what is new and update what has changed; which of them did is returned.

        What the file holds is what counts, so that it works after any deletion, and without a persisted docstore.
        """
        done = []
        for document in documents:
            known = self._known_hash(document.id_)
            if known is None:
                self.insert(document, **update_kwargs.get("insert_kwargs", {}))
            elif known != document.hash:
                self.update_ref_doc(document, **update_kwargs.get("update_kwargs", {}))
            done.append(known != document.hash)
        return done

    ainsert_nodes = in_thread("insert_nodes")
    adelete_nodes = in_thread("delete_nodes")
    adelete_ref_doc = in_thread("delete_ref_doc")
    arefresh_ref_docs = in_thread("refresh_ref_docs")

    def _known_hash(self, ref_doc_id: str) -> str | None:
        stored = self._monograph.fetch(where={"$document": ref_doc_id})
        if not stored:
            return None
        source = as_node(stored[0]).source_node
        return "" if source is None else source.hash or ""

    @property
    def ref_doc_info(self) -> dict[str, RefDocInfo]:
        """Ids of the nodes of every document, and its metadata."""
        found: dict[str, RefDocInfo] = {}
        for one in self._monograph.fetch():
            node = as_node(one)
            known = found.setdefault(one.chunk.document_id, RefDocInfo(metadata=dict(node.metadata)))
            known.node_ids.append(one.chunk.id)
        return found

    def as_retriever(self, **kwargs: Any) -> BaseRetriever:
        """A :class:`~llama_index.retrievers.monograph.TreeRetriever` over the file.

        It takes ``similarity_top_k``, ``detail``, ``budget``, ``filters``, ``reranker``, ``as_of`` and
        ``callback_manager``. LlamaIndex hands over the arguments of a query or chat engine as well: they are left out.

        Raises
        ------
        InputError
            If an argument is neither the retriever's nor an engine's.
        """
        own = {"similarity_top_k", "detail", "budget", "filters", "reranker", "as_of", "callback_manager"}
        refuse_unknown("EraRAGIndex.as_retriever", kwargs.keys() - _engine_arguments(), own)
        return TreeRetriever(self._monograph, **{name: value for name, value in kwargs.items() if name in own})


@cache
def _engine_arguments() -> frozenset[str]:
    """Arguments of LlamaIndex's query and chat engines, all of which it hands over to ``as_retriever``."""
    from llama_index.core.chat_engine import (
        CondensePlusContextChatEngine,
        CondenseQuestionChatEngine,
        ContextChatEngine,
        SimpleChatEngine,
    )
    from llama_index.core.query_engine import RetrieverQueryEngine

    chats = (CondensePlusContextChatEngine, CondenseQuestionChatEngine, ContextChatEngine, SimpleChatEngine)
    makers = [RetrieverQueryEngine.from_args, *(one.from_defaults for one in chats)]
    return frozenset(name for maker in makers for name in signature(maker).parameters) - {"kwargs"}


INDEX_STRUCT_TYPE_TO_INDEX_STRUCT_CLASS[STRUCT_TYPE] = EraRAGStruct
INDEX_STRUCT_TYPE_TO_INDEX_CLASS[STRUCT_TYPE] = EraRAGIndex

"""What making every vector anew with another embedder would take."""

from __future__ import annotations

from dataclasses import replace

from monograph.derive.tokens import count_tokens
from monograph.store import documents, memo, settings
from monograph.store import vectors as stored_vectors
from monograph.values import Cost, content_hash
from monograph.write import price_tree
from monograph.write.name_codes import lacking
from monograph.write.pipeline import Pipeline
from monograph.write.rebuild_vectors import vectors_to_be


def price_reembed(pipeline: Pipeline) -> Cost:
    """The texts that :func:`monograph.write.rebuild_vectors.reembed` would give the embedder; it is not asked.

    ``embeddings`` are those of chunks and of names that the memo lacks, each text once. In a file with a tree that is
    made anew as well, at most so many ``summaries``, and what these ask of a language model; each is embedded too.
    """
    embedder = pipeline.embedder
    texts: dict[bytes, str] = {}
    with pipeline.database.read() as connection:
        for row in documents.every(connection):
            texts.update((vector.key, vector.text) for _, vector in vectors_to_be(connection, pipeline, row))
        texts = {key: texts[key] for key in texts.keys() - memo.rows(connection, memo.VECTOR, list(texts)).keys()}
        named = {content_hash("code", embedder.key, name): name for name in lacking(connection, pipeline)}
        held = memo.rows(connection, memo.CODE, list(named))
        texts.update((key, name) for key, name in named.items() if key not in held)
        stored = settings.load_model(connection, settings.StoredEmbedder)
        other = stored is None or stored.key != embedder.key
        above = price_tree.price(connection, pipeline, stored_vectors.count(connection)) if other else Cost()
    return replace(above, embeddings=len(texts), embedding_tokens=sum(count_tokens(list(texts.values()))))

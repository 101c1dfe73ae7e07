"""Extractor that runs an installed spaCy pipeline (extra ``spacy``)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from monograph.derive.extract.kinds import kind_of
from monograph.derive.loading import folder_of
from monograph.errors import MissingExtra, ModelUnavailable
from monograph.values import Chunk, Extraction, Mention

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

BATCH = 32
"""Number of chunks that the pipeline processes in one batch."""
MAX_TERM = 6
"""Most words of a noun phrase that becomes a term. Longer phrases are skipped."""

_INTRODUCING = {"DET", "PRON", "NUM", "PUNCT", "SPACE", "ADP", "CCONJ"}


class SpacyExtractor:
    """Extractor that runs a spaCy pipeline. If the pipeline has a parser, noun phrases become entities of kind term.

    Entity labels of any scheme are mapped to :data:`monograph.values.ENTITY_KINDS`. Numbers written as words (``two``,
    ``first``) are left out. It finds no relations.

    Parameters
    ----------
    pipeline:
        Name of an installed pipeline (``en_core_web_sm``), or folder of a saved one. Nothing is downloaded.

    Raises
    ------
    MissingExtra
        If spaCy is not installed.
    ModelUnavailable
        If there is no such pipeline on this machine, or it cannot be loaded.
    """

    def __init__(self, pipeline: str) -> None:
        folder = folder_of(pipeline)
        name = pipeline if folder is None else str(folder.absolute())
        try:
            import spacy
        except ImportError as error:
            raise MissingExtra("SpacyExtractor needs spaCy", 'pip install "monograph[spacy]"') from error
        try:
            self._pipeline = spacy.load(name)
        except Exception as error:  # OSError if there is none; many kinds if it needs another version of spaCy
            hint = f"python -m spacy download {name}, or name the folder of a saved pipeline"
            if Path(name).is_dir():
                hint = "save it again with this version of spaCy, and install the packages of its components"
            raise ModelUnavailable(f"spaCy cannot load the pipeline {name!r}: {error}", hint) from error
        self.spec = f"spacy:{name}"
        """Spec of this extractor."""
        digest = hashlib.sha256()
        for path in sorted(path for path in self._pipeline.path.rglob("*") if path.is_file()):
            digest.update(path.relative_to(self._pipeline.path).as_posix().encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        self.key = f"spacy/{self._pipeline.lang}_{self._pipeline.meta['name']}/{digest.hexdigest()[:16]}"
        """Name of the pipeline and a hash of its files."""

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        """Yield one extraction per chunk, in order. See :class:`monograph.models.Extractor`."""
        texts = (chunk.text[: self._pipeline.max_length] for chunk in chunks)
        for document in self._pipeline.pipe(texts, batch_size=BATCH):
            mentions: list[Mention] = []
            for span in document.ents:
                kind = kind_of(span.label_.replace("_", " "))
                if kind != "quantity" or any(map(str.isdigit, span.text)):
                    mentions += _make_mention(span, kind or ("name" if span.text[:1].isupper() else "term"))
            mentions += _find_terms(document)
            yield Extraction(tuple(sorted(mentions, key=lambda mention: (mention.start, -mention.end))))


def _find_terms(document: Doc) -> Iterator[Mention]:
    """Yield the noun phrases that overlap no entity, without the words that introduce them, such as articles."""
    if document.vocab.get_noun_chunks is None or not document.has_annotation("DEP"):
        return
    named = {index for span in document.ents for index in range(span.start, span.end)}
    for span in document.noun_chunks:
        first = next((token.i for token in span if token.pos_ not in _INTRODUCING and not token.is_stop), span.end)
        term = document[first : span.end]
        is_free = named.isdisjoint(range(first, span.end))
        if is_free and len(term) <= MAX_TERM and any(token.is_alpha and len(token) > 2 for token in term):
            yield from _make_mention(term, "term")


def _make_mention(span: Span, kind: str) -> Iterator[Mention]:
    name = span.text.strip()
    if name:
        start = span.start_char + span.text.index(name)
        yield Mention(re.sub(r"\s+", " ", name), kind, start, start + len(name))

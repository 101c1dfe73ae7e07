"""Derived values: each is a function of content, computed once and stored in the memo under the hash of its inputs.

``files.plan`` computes the cost of the missing values, and ``files.apply`` derives and stores them.
``Monograph.check`` compares the stored keys with the keys of the present content. A key depends on the model. When the
model changes, all values of the new model are derived first. Then they replace the old values in one transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from types import MappingProxyType
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from monograph.derive import describe
from monograph.derive.embed.given import GivenVectors
from monograph.derive.embed.static import StaticEmbedder
from monograph.derive.extract.pattern import PatternExtractor
from monograph.derive.ordered_threads import in_order
from monograph.derive.tokens import count_tokens
from monograph.errors import BusyFile, InvalidDocument, ModelUnavailable
from monograph.models import Describer, Embedder, Extractor, Summarizer, is_paid
from monograph.read.compose import clean
from monograph.read.kept import Picture
from monograph.store.file import memo
from monograph.store.file.database import Connection, Database
from monograph.store.graph.extractions import pack as pack_extraction
from monograph.store.tree import pack as pack_summary
from monograph.store.vectors.vectors import STORED
from monograph.values import Chunk, Cost, Float32, Metadata, content_hash

AT_ONCE = 256
"""Number of values that are stored in one transaction, and of texts that an embedder gets in one call."""
PAID_AT_ONCE = 32
"""Replaces AT_ONCE for an embedder that may charge for each text: a crash loses at most one request of 32 texts."""
SUMMARIES_AT_ONCE = 64
"""Number of summaries that are stored in one transaction."""
SUMMARY_WORKERS = 4
"""Number of concurrent calls of a summarizer that has no ``workers`` setting."""
PATIENCE = 0.5
"""Seconds after which the values that a slow model has returned are stored, even if they are few."""
TRIES = 5
"""Attempts to derive values while another process keeps emptying the memo."""

Input = TypeVar("Input")
Result = TypeVar("Result")
Packed: TypeAlias = tuple[bytes, bytes, int]
"""A derived value: its key, its stored bytes, and the number of tokens that a model read and wrote for it."""
NOTHING: Mapping[bytes, bytes] = MappingProxyType({})


class MissingValue(Exception):
    """Signal to :func:`retry` that a derived value is no longer in the memo: another process has emptied the memo."""


@dataclass(frozen=True, slots=True)
class Derivation(Generic[Input]):
    """Definition of one kind of derived value.

    Parameters
    ----------
    kind:
        Name of this kind in the memo, whose rows are found by kind and key.
    key:
        Returns the memo key of an input: the hash of the input, of the model and of its settings.
    make:
        Derives the values of the inputs in a dict {memo key: input}. Yields groups of values as soon as they exist.
    price:
        Returns an upper bound of the cost of deriving the values of some inputs.
    at_once:
        Number of values that are stored in one transaction.
    is_quick:
        Whether deriving a value is free and takes no longer than storing it. Such a value needs no transaction of its
        own: it can be stored together with its document.
    is_moved:
        Whether the memo keeps a value only until the value is moved to another table.
    """

    kind: str
    key: Callable[[Input], bytes]
    make: Callable[[Mapping[bytes, Input]], Iterator[Sequence[Packed]]]
    price: Callable[[Sequence[Input]], Cost]
    at_once: int = AT_ONCE
    is_quick: bool = False
    is_moved: bool = False

    def keyed(self, inputs: Iterable[Input]) -> dict[bytes, Input]:
        """Return the inputs as {memo key: input}; equal inputs have one key."""
        return {self.key(item): item for item in inputs}

    def missing(self, connection: Connection, wanted: Mapping[bytes, Input]) -> dict[bytes, Input]:
        """Return the items of ``wanted``, a dict {memo key: input}, for which the memo has no value."""
        stored = memo.rows(connection, self.kind, list(wanted))
        return {key: item for key, item in wanted.items() if key not in stored}

    def price_missing(self, connection: Connection, wanted: Mapping[bytes, Input], priced: set[bytes]) -> Cost:
        """Return the cost of deriving the values of ``wanted`` that are not in the memo.

        ``wanted`` has inputs by memo key. Keys in ``priced`` cost nothing, as they were counted before. All other
        missing keys are added to ``priced``.
        """
        missing = {key: item for key, item in self.missing(connection, wanted).items() if key not in priced}
        priced.update(missing)
        return self.price(list(missing.values()))

    def derive_missing(
        self,
        database: Database,
        wanted: Mapping[bytes, Input],
        waiting: dict[bytes, bytes] | None = None,
        ahead: Mapping[bytes, bytes] = NOTHING,
        on_stored: Callable[[int], None] | None = None,
    ) -> list[Packed]:
        """Derive the values that the memo lacks, and store each group in a transaction of its own as soon as it exists.

        If a model fails, the values that it has returned are stored before the error is raised.

        Parameters
        ----------
        database:
            The file with the memo.
        wanted:
            Inputs by memo key.
        waiting:
            Values by memo key that are not stored yet. :meth:`rows` stores them later, in the transaction that stores
            their documents. Values in this dict are not derived again. If ``is_quick``, new values are added to this
            dict instead of being stored. Without a dict (None), all new values are stored.
        ahead:
            Values by memo key that other processes have derived. If the memo lacks one of these values, the value is
            not derived again, but added to ``waiting``, or stored if ``waiting`` is None.
        on_stored:
            Called after each group with the number of ``wanted`` values that exist so far.

        Returns
        -------
        The values that this call has added to the memo or to ``waiting``.
        """
        if waiting is not None and self.is_quick and self.is_moved:
            missing = dict(wanted)  # Moved values do not stay in the memo: all are missing.
        else:
            with database.read() as connection:
                missing = self.missing(connection, wanted)
        if waiting:
            missing = {key: item for key, item in missing.items() if key not in waiting}
        derived: list[Packed] = []

        def store(group: Sequence[Packed], *, waits: bool) -> None:
            if waits and waiting is not None:
                waiting.update((key, value) for key, value, _ in group)
            elif group:
                with database.write() as connection:
                    memo.put(connection, self.kind, group)
            derived.extend(group)
            if group and on_stored is not None:
                on_stored(len(wanted) - len(missing) + len(derived))

        store([(key, ahead[key], 0) for key in missing if key in ahead], waits=True)
        remaining = {key: item for key, item in missing.items() if key not in ahead}
        group: list[Packed] = []
        since = monotonic()
        try:
            for values in self.make(remaining) if remaining else ():
                group += values
                if len(group) >= self.at_once or monotonic() - since > PATIENCE:
                    full, group = group, []
                    store(full, waits=self.is_quick)
                    since = monotonic()
        finally:
            store(group, waits=self.is_quick)
        return derived

    def rows(
        self, connection: Connection, keys: Iterable[bytes], waiting: Mapping[bytes, bytes] = NOTHING
    ) -> dict[bytes, int]:
        """Return the memo row number of each key. Values that are only in ``waiting`` are stored first.

        ``waiting`` has values by key: see :meth:`derive_missing`. Needs a write transaction. Raises MissingValue if the
        value of a key is neither stored nor in ``waiting``.
        """
        distinct_keys = list(dict.fromkeys(keys))
        stored = memo.rows(connection, self.kind, distinct_keys)
        missing = [key for key in distinct_keys if key not in stored]
        if any(key not in waiting for key in missing):
            raise MissingValue
        return stored | memo.put(connection, self.kind, ((key, waiting[key], 0) for key in missing))


def retry(database: Database, work: Callable[[], Result]) -> Result:
    """Call ``work``, which derives and stores values, until it does not raise MissingValue, and return its result.

    Raises
    ------
    BusyFile
        If each of :data:`TRIES` calls of ``work`` raises MissingValue.
    """
    for _ in range(TRIES):
        try:
            return work()
        except MissingValue:
            continue
    raise BusyFile(f"another process keeps emptying the memo of {database.path}", "try again when it is done")


def vector_key(embedder: str, text: str) -> bytes:
    """Return the memo key of a text's vector. ``embedder`` is the embedder's key."""
    return content_hash("embed", embedder, text)


def extraction_key(extractor: str, text: str) -> bytes:
    """Return the memo key of a chunk's extraction. ``extractor`` is the extractor's key, ``text`` the chunk's text."""
    return content_hash("extract", extractor, text)


def summary_key(summarizer: str, max_tokens: int, texts: Sequence[str]) -> bytes:
    """Return the memo key of one summary of several texts. If the order of the texts changes, so does the key.

    ``summarizer`` is the summarizer's key, and ``max_tokens`` the most tokens of the summary.
    """
    return content_hash("summarize", summarizer, max_tokens, list(texts))


def embedded_text(title: str, metadata: Metadata, text: str) -> str:
    """Return the text to embed for a chunk: its document's title, its headings, its table columns, then its own text.

    ``title`` is the document's title, ``metadata`` and ``text`` are the chunk's. Each of the four parts begins a line.
    Empty parts are left out. The headings are also left out if the chunk's text begins with the innermost heading.
    """
    above = [title]
    section = str(metadata.get("section", ""))
    if section and not text.startswith(section.rpartition(" > ")[2]):
        above.append(section.removeprefix(f"{title} > ") if section != title else "")
    above.append(str(metadata.get("columns", "")))
    return "\n".join([*(part for part in above if part), text])


def vectors(embedder: Embedder) -> Derivation[str]:
    """Return the derivation of vectors from texts. A stored value is one vector, as bytes of little-endian float32."""

    def pack(matrix: Float32) -> list[bytes]:
        return [row.tobytes() for row in np.ascontiguousarray(matrix, dtype=STORED)]

    return _derive_embeddings(embedder, memo.VECTOR, lambda text: vector_key(embedder.key, text), pack)


def name_codes(embedder: Embedder) -> Derivation[str]:
    """Return the derivation of binary codes from names.

    An input is the key of a name: the form under which the graph stores the name. The key is embedded as a text. The
    code has one bit for each dimension of the vector: 1 if the value is positive.
    """
    prefix_hash = hashlib.sha256(content_hash("code", embedder.key))

    def key(name: str) -> bytes:
        # A large document has thousands of names: copying a hash takes a third of the time of content_hash.
        hasher = prefix_hash.copy()
        hasher.update(name.encode("utf-8", "surrogatepass"))
        return hasher.digest()

    def pack(matrix: Float32) -> list[bytes]:
        return [row.tobytes() for row in np.packbits(matrix > 0, axis=1)]

    return _derive_embeddings(embedder, memo.CODE, key, pack)


def _derive_embeddings(
    embedder: Embedder, kind: str, key: Callable[[str], bytes], pack: Callable[[Float32], list[bytes]]
) -> Derivation[str]:
    is_quick = isinstance(embedder, StaticEmbedder | GivenVectors)
    at_once = PAID_AT_ONCE if not is_quick and is_paid(embedder) else AT_ONCE

    def make(inputs: Mapping[bytes, str]) -> Iterator[list[Packed]]:
        keys = list(inputs)
        for first in range(0, len(keys), at_once):
            batch = keys[first : first + at_once]
            rows = embedder.embed([inputs[key] for key in batch], "document")
            if rows.shape != (len(batch), embedder.dimension) or not np.isfinite(rows).all():
                raise InvalidDocument(
                    f"the embedder {embedder.key!r} returned shape {rows.shape}, or values that are not finite",
                    f"it must return {len(batch)} finite rows of {embedder.dimension}",
                )
            yield [(key, value, 0) for key, value in zip(batch, pack(rows), strict=True)]

    def price(texts: Sequence[str]) -> Cost:
        return Cost(embeddings=len(texts), embedding_tokens=sum(count_tokens(list(texts))))

    return Derivation(kind, key, make, price, at_once, is_quick, is_moved=kind == memo.CODE)


def extractions(extractor: Extractor) -> Derivation[Chunk]:
    """Return the derivation of extractions from chunks.

    ``make`` raises ModelUnavailable if the extractor returns fewer extractions than it got chunks.
    """

    def make(inputs: Mapping[bytes, Chunk]) -> Iterator[list[Packed]]:
        count = 0
        for (key, chunk), extraction in zip(inputs.items(), extractor.extract(list(inputs.values())), strict=False):
            count += 1
            yield [(key, pack_extraction(extraction, chunk.text), extraction.tokens)]
        if count != len(inputs):
            raise ModelUnavailable(
                f"the extractor {extractor.key!r} returned {count} extractions for {len(inputs)} chunks",
                "it must return one per chunk, in order",
            )

    def price(chunks: Sequence[Chunk]) -> Cost:
        from monograph.derive.extract.llm import LLMExtractor

        calls, tokens = extractor.price(chunks) if isinstance(extractor, LLMExtractor) else (0, 0)
        return Cost(extractions=len(chunks), model_calls=calls, model_tokens=tokens)

    return Derivation(
        memo.EXTRACTION,
        lambda chunk: extraction_key(extractor.key, chunk.text),
        make,
        price,
        is_quick=isinstance(extractor, PatternExtractor),
    )


def summaries(summarizer: Summarizer, max_tokens: int) -> Derivation[tuple[str, ...]]:
    """Return the derivation of summaries. Each input is a tuple of texts, which get one summary together.

    ``max_tokens`` is the most tokens of a summary. ``make`` raises ModelUnavailable if a summary is blank although at
    least one of its texts is not.
    """
    from monograph.derive.summarize.extractive import ExtractiveSummarizer
    from monograph.derive.summarize.llm import LLMSummarizer

    llm_summarizer = summarizer if isinstance(summarizer, LLMSummarizer) else None
    workers = 1 if isinstance(summarizer, ExtractiveSummarizer) else SUMMARY_WORKERS

    def summarize(work: tuple[bytes, tuple[str, ...]]) -> list[Packed]:
        key, texts = work
        summary = summarizer.summarize(texts, max_tokens)
        if not summary.text.strip() and any(text.strip() for text in texts):
            raise ModelUnavailable(
                f"the summarizer {summarizer.key!r} returned an empty summary", "it must return a text"
            )
        return [(key, pack_summary(summary), summary.tokens_in + summary.tokens_out)]

    def make(inputs: Mapping[bytes, tuple[str, ...]]) -> Iterator[list[Packed]]:
        return in_order(summarize, inputs.items(), llm_summarizer.workers if llm_summarizer else workers)

    def price(groups: Sequence[tuple[str, ...]]) -> Cost:
        calls, tokens = llm_summarizer.price(groups, max_tokens) if llm_summarizer else (0, 0)
        return Cost(summaries=len(groups), model_calls=calls, model_tokens=tokens)

    return Derivation(
        memo.SUMMARY, lambda texts: summary_key(summarizer.key, max_tokens, texts), make, price, SUMMARIES_AT_ONCE
    )


def descriptions(describer: Describer, errors: dict[bytes, Exception]) -> Derivation[Picture]:
    """Return the derivation of descriptions from pictures. Each description is stored as soon as it exists.

    If the describer fails on a picture, the picture is skipped, and the error is added to ``errors`` under the
    picture's memo key. After ``describe.MOST_FAILURES`` failures in a row the describer is not called again.
    """
    failures = 0

    def ask(work: tuple[bytes, Picture]) -> list[Packed]:
        nonlocal failures
        key, picture = work
        if failures >= describe.MOST_FAILURES:
            errors[key] = ModelUnavailable(
                f"{describer.key} failed {failures} times in a row, and was not called again",
                "check that it answers, then run monograph retry FILE",
            )
            return []
        try:
            answer = describer.describe(picture.data, picture.media_type)
            text = clean(answer.text).strip()[: describe.MOST_CHARACTERS].rstrip()
            if not text:
                raise ModelUnavailable(
                    f"{describer.key} returned an empty description of a picture", "use another model"
                )
        except Exception as error:  # Any error of a describer is a problem of one picture, and the batch goes on.
            errors[key] = error
            failures += 1
            return []
        failures = 0
        return [(key, text.encode(), answer.tokens_in + answer.tokens_out)]

    def make(inputs: Mapping[bytes, Picture]) -> Iterator[list[Packed]]:
        return in_order(ask, inputs.items(), describe.WORKERS)

    def price(pictures: Sequence[Picture]) -> Cost:
        pixels = [picture.pixels for picture in pictures]
        calls, tokens = describer.price(pixels) if isinstance(describer, describe.ModelDescriber) else (0, 0)
        return Cost(pictures=len(pictures), model_calls=calls, model_tokens=tokens)

    def key(picture: Picture) -> bytes:
        return content_hash("describe", describer.key, picture.digest.hex())

    return Derivation(memo.DESCRIPTION, key, make, price, at_once=1)

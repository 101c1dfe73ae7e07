"""The one-method protocols of what is plugged in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from monograph.errors import InputError
from monograph.values import Chunk, Extraction, Float32, Float64, SummaryText, arguments

TextKind: TypeAlias = Literal["document", "query"]

Allow: TypeAlias = Callable[[str], None]
"""Told an address before a model that is made from a spec asks it; raises where it is not to be asked."""

Trusted: TypeAlias = Collection[str] | Callable[[str, str], bool]
"""Addresses that a file's own models may ask; or whether they may, by the file's id and the address."""


class Keyed(Protocol):
    """A model with a key."""

    @property
    def key(self) -> str:
        """Name of the model and every setting that changes its output; part of every hash of that."""
        ...


class Specified(Keyed, Protocol):
    """A model with a key, and a spec by which a file makes it again; one of your own may have any text as its spec."""

    @property
    def spec(self) -> str:
        """The text that names the model: ``static``, ``onnx:/path/to/folder``. Files store it to load the model."""
        ...


@runtime_checkable
class Embedder(Specified, Protocol):
    """Turns texts into vectors.

    :func:`monograph.derive.loading.load_embedder` makes one from its ``spec``: so the command line can open a file.

    One that reads words in their context, as transformers do, may say so by an attribute ``contextual`` that is True:
    searches along the graph then embed three more texts, and find more (:func:`monograph.search.graph.feedback`). One
    that may cost something for every text may say so by an attribute ``paid`` that is True: what it gives is then
    remembered a few texts at a time, and prices are told without asking it.
    """

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Embed texts.

        Parameters
        ----------
        texts:
            Any texts; empty ones are allowed.
        kind:
            Some models want another prefix for a query than for a document.

        Returns
        -------
        float32 array of shape (len(texts), dimension), in the order of ``texts``; every row has
        unit length, except that a text without any known token may be a zero row.
        """
        ...


def is_paid(embedder: Embedder) -> bool:
    """Return whether an embedder says that a text may cost something."""
    return getattr(embedder, "paid", False) is True


def is_given(embedder: Embedder) -> bool:
    """Return whether an embedder makes no vectors: its file takes those that come with chunks and queries."""
    return getattr(embedder, "given", False) is True


@runtime_checkable
class LearnsDimension(Protocol):
    """An embedder that learns from its first vector how long they are."""

    def expect(self, dimension: int) -> None:
        """Let no other dimension pass than that of the vectors that a file holds."""
        ...


@runtime_checkable
class Reranker(Specified, Protocol):
    """Says how well texts answer a question, which it reads each together with the question.

    :func:`monograph.derive.loading.load_reranker` makes one from its ``spec``.

    What its scores count beside those of the search it may say by an attribute ``weight``, 0 or more: 1 where it says
    nothing, which is as much (:mod:`monograph.search.rerank`).
    """

    def score(self, question: str, texts: Sequence[str]) -> Float64:
        """Return how well each text answers a question. Safe to call from several threads.

        Returns
        -------
        float64 (len(texts),), finite, in their order: the higher the better. A text's score hangs on no other text, and
        only how scores of one question compare counts: they may be probabilities, logits or cosines.

        Raises
        ------
        ModelUnavailable
            If the model does not answer, or its answer will not do.
        """
        ...


def weight_of(reranker: Reranker) -> float:
    """Return the weight of a reranker's scores beside those of the search. Raises InputError if it is not 0 or more."""
    weight = arguments.finite(getattr(reranker, "weight", 1.0), "the reranker's weight")
    if weight < 0:
        raise InputError(f"the reranker's weight is {weight}", "give 0 or more")
    return weight


@runtime_checkable
class Extractor(Specified, Protocol):
    """Finds what a chunk names, and what it says of how these belong together.

    :func:`monograph.derive.loading.load_extractor` makes one from its ``spec``.
    """

    def extract(self, chunks: Sequence[Chunk]) -> Iterable[Extraction]:
        """Return one extraction a chunk, in the order of ``chunks``; each is stored as soon as it comes.

        A chunk that a model fails on still gets an extraction (see :attr:`~monograph.values.Extraction.failure`).
        """
        ...


@runtime_checkable
class Summarizer(Specified, Protocol):
    """Says in few words what many texts say.

    :func:`monograph.derive.loading.load_summarizer` makes one from its ``spec``.
    """

    def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
        """Summarize texts in at most ``max_tokens`` tokens. Safe to call from several threads.

        Raises
        ------
        ModelError
            If a model does not answer, or its answer will not do.
        """
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """Text that a language model wrote, and the tokens it read and wrote.

    Half a surrogate pair, which JSON can say and no file can store, becomes a question mark.
    """

    text: str
    tokens_in: int = 0
    tokens_out: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.text.encode("utf-8", "replace").decode("utf-8"))


@runtime_checkable
class LanguageModel(Keyed, Protocol):
    """Completes a prompt."""

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        """Answer a prompt in at most ``max_tokens`` tokens. Safe to call from several threads.

        Raises
        ------
        ModelUnavailable
            If the model does not answer.
        """
        ...


@runtime_checkable
class Describer(Specified, Protocol):
    """Says in words what a picture shows.

    :func:`monograph.derive.loading.load_describer` makes one from its ``spec``.
    """

    def describe(self, image: bytes, media_type: str) -> Completion:
        """Describe a picture. Safe to call from several threads.

        It is shown the picture alone, so that one that stands in many documents is described once, and alike in all.

        Parameters
        ----------
        image:
            A PNG or JPEG file.
        media_type:
            ``image/png`` or ``image/jpeg``.

        Raises
        ------
        ModelUnavailable
            If it cannot.
        """
        ...


@runtime_checkable
class StreamingModel(LanguageModel, Protocol):
    """A language model that can say what it writes while it writes it."""

    def stream(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        """Answer a prompt piece by piece, and at the end give the whole :class:`Completion`.

        Raises
        ------
        ModelUnavailable
            If the model does not answer, or breaks off: what came until then is no answer.
        """
        ...


@runtime_checkable
class VisionModel(StreamingModel, Protocol):
    """A language model that takes a picture with its prompt."""

    def complete_with_image(self, prompt: str, image: bytes, media_type: str, max_tokens: int) -> Completion:
        """Answer a prompt about a picture. Safe to call from several threads.

        Parameters
        ----------
        prompt, max_tokens:
            As for :meth:`LanguageModel.complete`.
        image:
            A PNG or JPEG file.
        media_type:
            ``image/png`` or ``image/jpeg``.

        Raises
        ------
        ModelUnavailable
            If the model does not answer, or takes no images.
        """
        ...

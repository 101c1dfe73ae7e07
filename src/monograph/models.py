"""Protocols of the models that can be plugged in: embedders, rerankers, extractors, summarizers, language models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from monograph.errors import InputError
from monograph.values import Chunk, Extraction, Float32, Float64, SummaryText, arguments

TextKind: TypeAlias = Literal["document", "query"]

Allow: TypeAlias = Callable[[str], None]
"""Function that allows or refuses an address: a server's URL, a folder, a package or a Hugging Face page.

The loader of a model calls the function with the address before the model opens it. To refuse, the function raises an
error.
"""

Trusted: TypeAlias = Collection[str] | Callable[[str, str], bool]
"""Addresses (see :data:`Allow`) that a model may open if a Monograph file names the model.

A collection of addresses, or a function. The function gets the id of the Monograph file and an address, and returns
whether the model may open the address.
"""


class Keyed(Protocol):
    """Model with a key: a name that tells apart models with different outputs."""

    @property
    def key(self) -> str:
        """Name of the model, including every setting that changes its output.

        The memo stores each output of the model under a hash that includes this name.
        """
        ...


class Specified(Keyed, Protocol):
    """Model with a key, and with a spec: a text from which Monograph loads one of its own models again.

    The spec of a model that you wrote may be any text. Monograph cannot load such a model, so pass the model each
    time you open the file.
    """

    @property
    def spec(self) -> str:
        """Text that names the model, such as ``static`` or ``onnx:/path/to/folder``. A file stores this text."""
        ...


@runtime_checkable
class Embedder(Specified, Protocol):
    """Model that turns texts into vectors.

    :func:`monograph.derive.loading.load_embedder` loads an embedder from its ``spec``. So the command line can use the
    embedder that a file names.

    Two attributes are optional:

    - ``contextual``: set it to True if the embedder reads words in their context, as transformers do. Each graph search
      then also embeds the question together with the beginning of each of the three best chunks, and ranks chunks by
      these vectors too (:func:`monograph.search.graph.feedback`).
    - ``paid``: set it to True if each text may cost money. Vectors are then stored after every 32 texts: a crash
      loses at most 32 paid vectors. An estimate of a write's cost then also counts the entity names to embed.
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
            Any texts; empty texts are allowed.
        kind:
            Whether the texts are documents or queries: some models need a different prefix for each.

        Returns
        -------
        float32 array of shape (len(texts), dimension), in the order of ``texts``; every row has
        unit length, except that a text without any known token may be a zero row.
        """
        ...


def is_paid(embedder: Embedder) -> bool:
    """Return whether an embedder states that each text may cost money."""
    return getattr(embedder, "paid", False) is True


def is_given(embedder: Embedder) -> bool:
    """Return whether the caller gives the vectors of chunks and queries, so that an embedder computes none."""
    return getattr(embedder, "given", False) is True


@runtime_checkable
class LearnsDimension(Protocol):
    """Embedder that learns the dimension of its vectors from the first vector that it returns."""

    def expect(self, dimension: int) -> None:
        """Accept only vectors of ``dimension`` values from now on. The vectors in the file have this dimension."""
        ...


@runtime_checkable
class Reranker(Specified, Protocol):
    """Model that scores how well each text answers a question, reading the text together with the question.

    :func:`monograph.derive.loading.load_reranker` loads a reranker from its ``spec``.

    The attribute ``weight`` is optional. It is the weight of the reranker's scores relative to the scores of the
    search, 0 or more. With the default, 1, both have the same weight (:mod:`monograph.search.rerank`).
    """

    def score(self, question: str, texts: Sequence[str]) -> Float64:
        """Return how well each text answers a question. Safe to call from several threads.

        Returns
        -------
        float64 array of shape (len(texts),) in the order of ``texts``; finite, and higher is better. A score does not
        depend on other texts. Scores are compared only within one question: probabilities, logits or cosines will do.

        Raises
        ------
        ModelUnavailable
            If the model does not answer, or its answer is unusable.
        """
        ...


def weight_of(reranker: Reranker) -> float:
    """Return the weight of a reranker relative to the search. Raises InputError unless it is a number of 0 or more."""
    weight = arguments.finite(getattr(reranker, "weight", 1.0), "the reranker's weight")
    if weight < 0:
        raise InputError(f"the reranker's weight is {weight}", "give 0 or more")
    return weight


@runtime_checkable
class Extractor(Specified, Protocol):
    """Model that finds the entities in a chunk, and the relations between entities.

    :func:`monograph.derive.loading.load_extractor` loads an extractor from its ``spec``.
    """

    def extract(self, chunks: Sequence[Chunk]) -> Iterable[Extraction]:
        """Yield one extraction per chunk, in the order of ``chunks``. Each extraction is stored when it is yielded.

        If the model fails on a chunk, the chunk still gets an extraction, with the reason in
        :attr:`~monograph.values.Extraction.failure`.
        """
        ...


@runtime_checkable
class Summarizer(Specified, Protocol):
    """Model that turns several texts into a short one.

    :func:`monograph.derive.loading.load_summarizer` loads a summarizer from its ``spec``.
    """

    def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
        """Return a summary of the texts, at most ``max_tokens`` tokens long. Safe to call from several threads.

        Raises
        ------
        ModelError
            If the model does not answer, or its answer is unusable.
        """
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """Text that a language model wrote, and the numbers of tokens that the model read and wrote.

    In ``text``, a question mark replaces each lone surrogate, which JSON can express and UTF-8 cannot.
    """

    text: str
    tokens_in: int = 0
    tokens_out: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.text.encode("utf-8", "replace").decode("utf-8"))


@runtime_checkable
class LanguageModel(Keyed, Protocol):
    """Language model that completes a prompt."""

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        """Return the answer to a prompt, at most ``max_tokens`` tokens long. Safe to call from several threads.

        Raises
        ------
        ModelUnavailable
            If the model does not answer.
        """
        ...


@runtime_checkable
class Describer(Specified, Protocol):
    """Model that describes a picture in words.

    :func:`monograph.derive.loading.load_describer` loads a describer from its ``spec``.
    """

    def describe(self, image: bytes, media_type: str) -> Completion:
        """Return a description of a picture. Safe to call from several threads.

        The model sees the picture alone, not its document. So a picture that occurs in several documents is described
        once, and has the same description in all of them.

        Parameters
        ----------
        image:
            A PNG or JPEG file.
        media_type:
            ``image/png`` or ``image/jpeg``.

        Raises
        ------
        ModelUnavailable
            If the model cannot describe the picture.
        """
        ...


@runtime_checkable
class StreamingModel(LanguageModel, Protocol):
    """Language model that can stream its answer."""

    def stream(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        """Yield the pieces of the answer as the model writes them, then one :class:`Completion` with the whole answer.

        Raises
        ------
        ModelUnavailable
            If the model does not answer, or stops before the end. Discard the pieces that were yielded before.
        """
        ...


@runtime_checkable
class VisionModel(StreamingModel, Protocol):
    """Language model that accepts a picture with its prompt."""

    def complete_with_image(self, prompt: str, image: bytes, media_type: str, max_tokens: int) -> Completion:
        """Return the answer to a prompt about a picture. Safe to call from several threads.

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
            If the model does not answer, or does not accept images.
        """
        ...

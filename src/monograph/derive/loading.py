"""Models built from their specs, such as ``onnx:FOLDER``, and the addresses (URLs, folders) that specs open."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

from monograph.errors import InputError, ModelUnavailable, UnknownModel

if TYPE_CHECKING:
    from monograph.models import Allow, Describer, Embedder, Extractor, LanguageModel, Reranker, Summarizer

Settings = TypeVar("Settings", bound=Any)
Kind: TypeAlias = Literal["embedder", "extractor", "summarizer", "reranker", "describer", "language model"]

_MAKERS: Mapping[tuple[Kind, str], str] = {
    ("embedder", "static"): "embed.static:StaticEmbedder",
    ("embedder", "given"): "embed.given:GivenVectors.from_spec",
    ("embedder", "onnx"): "embed.onnx:OnnxEmbedder.from_spec",
    ("embedder", "sentence-transformers"): "embed.sentence_transformers:SentenceTransformerEmbedder",
    ("embedder", "model2vec"): "embed.model2vec:Model2VecEmbedder",
    ("embedder", "openai"): "embed.openai_compatible:OpenAIEmbedder.from_spec",
    ("extractor", "pattern"): "extract.pattern:PatternExtractor",
    ("extractor", "spacy"): "extract.spacy:SpacyExtractor",
    ("summarizer", "extractive"): "summarize.extractive:ExtractiveSummarizer",
    ("reranker", "onnx"): "rerank.onnx:OnnxReranker.from_spec",
    ("reranker", "rerank"): "rerank.served:ServedReranker.from_spec",
    ("describer", "openai"): "openai_compatible:OpenAICompatible.from_spec",
    ("language model", "openai"): "openai_compatible:OpenAICompatible.from_spec",
}
"""Constructor of each model, as ``module:name`` below ``monograph.derive``, by (kind, scheme of the spec)."""

_OWN = ("static", "pattern", "extractive")
"""Schemes of the models that are part of Monograph. Each of these schemes is a complete spec by itself."""
_SERVED = ("openai", "rerank")
_HINTS: Mapping[Kind, str] = {
    "embedder": "give static, openai:URL#MODEL, model2vec:FOLDER, onnx:FOLDER or sentence-transformers:NAME; in Python:"
    " pass an embedder of your own to Monograph.open",
    "extractor": "give pattern, spacy:PIPELINE or llm:openai:BASE_URL#NAME; in Python: pass one of your own to"
    " Monograph.open",
    "summarizer": "give extractive or llm:openai:BASE_URL#NAME; in Python: pass one of your own to Monograph.open",
    "reranker": "give onnx:FOLDER, rerank:URL#MODEL or embedder:EMBEDDER; in Python: pass one of your own as an object",
    "describer": "give openai:BASE_URL#MODEL; in Python: pass one of your own to Monograph.open",
    "language model": "give openai:BASE_URL#MODEL",
}


def load_embedder(spec: str, api_key: str = "", allow: Allow | None = None) -> Embedder:
    """Return the embedder that a spec names.

    Parameters
    ----------
    spec:
        ``static``; ``given:DIMENSION`` (the caller gives the vectors); ``onnx:FOLDER`` or ``onnx:ORGANISATION/NAME``;
        ``sentence-transformers:FOLDER_OR_NAME``; ``model2vec:FOLDER``; ``openai:BASE_URL#MODEL``.
    api_key:
        API key for a server. By default the key in the environment is sent: see :func:`api_key_of`. Files store the
        spec, which never contains the key.
    allow:
        Called with each address (URL, folder, package or Hugging Face page) before the model uses the address. It
        raises an error to refuse. None allows everything: use it if the user gave the spec.

    Raises
    ------
    ModelUnavailable
        If the spec is unknown, or its model cannot be loaded here.
    MissingExtra
        If the package that the model needs is not installed.
    """
    return cast("Embedder", _load("embedder", spec, api_key, allow))


def load_extractor(spec: str, api_key: str = "", allow: Allow | None = None) -> Extractor:
    """Return the extractor that a spec names. Parameters and errors are those of :func:`load_embedder`.

    ``spec`` has one of these forms:

    - ``pattern``;
    - ``spacy:PIPELINE``, where PIPELINE is the name of an installed pipeline, or a folder;
    - ``llm:MODEL``, where MODEL is ``openai:BASE_URL#NAME``;
    - ``llm/MAX_TOKENS:MODEL``, where MAX_TOKENS is the most tokens of an answer.

    A spec with ``llm`` may end with `` else FALLBACK``, the spec of the extractor for chunks on which the model fails.
    """
    scheme, _, source = spec.partition(":")
    kind, _, tokens = scheme.partition("/")
    if kind == "llm" and source:
        from monograph.derive.extract.llm import MAX_TOKENS, LLMExtractor

        name, _, fallback = source.partition(" else ")
        tokens = tokens or str(MAX_TOKENS)
        if not tokens.isascii() or not tokens.isdigit() or int(tokens) < 1:
            raise UnknownModel(f"{tokens!r} in {spec!r} is not a number of tokens", "give llm:MODEL or llm/1024:MODEL")
        model = load_model(name, api_key, allow)
        return LLMExtractor(model, load_extractor(fallback or "pattern", allow=allow), max_tokens=int(tokens))
    return cast("Extractor", _load("extractor", spec, api_key, allow))


def load_summarizer(spec: str, api_key: str = "", allow: Allow | None = None) -> Summarizer:
    """Return the summarizer that a spec names. Parameters and errors are those of :func:`load_embedder`.

    ``spec`` is either ``extractive`` or ``llm:MODEL``, where MODEL is ``openai:BASE_URL#NAME``.
    """
    if _scheme(spec) == "llm":
        from monograph.derive.summarize.llm import LLMSummarizer

        return LLMSummarizer(load_model(spec.partition(":")[2], api_key, allow))
    return cast("Summarizer", _load("summarizer", spec, api_key, allow))


def load_reranker(spec: str, api_key: str = "") -> Reranker:
    """Return the reranker that a spec names. Parameters and errors are those of :func:`load_embedder`.

    ``spec`` is ``onnx:FOLDER`` for a cross-encoder, ``rerank:BASE_URL#MODEL`` for a server, or ``embedder:SPEC`` for
    the cosines of the embedder with that spec.
    """
    if _scheme(spec) == "embedder":
        from monograph.derive.rerank.cosines import EmbedderReranker

        return EmbedderReranker(load_embedder(spec.partition(":")[2], api_key))
    return cast("Reranker", _load("reranker", spec, api_key, None))


def load_describer(spec: str, api_key: str = "", allow: Allow | None = None) -> Describer:
    """Return the describer of pictures that a spec names. Parameters and errors are those of :func:`load_embedder`.

    ``spec`` is ``openai:BASE_URL#MODEL``.
    """
    from monograph.derive.describe import ModelDescriber

    return ModelDescriber(_load("describer", spec, api_key, allow))


def load_model(spec: str, api_key: str = "", allow: Allow | None = None) -> LanguageModel:
    """Return the language model that a spec names. Parameters and errors are those of :func:`load_embedder`.

    ``spec`` is ``openai:BASE_URL#MODEL``. ``allow`` is called before the first request. ``api_key`` is never taken from
    the environment.
    """
    return cast("LanguageModel", _load("language model", spec, api_key, allow))


def _scheme(spec: str) -> str:
    """Return the part of a spec before its first colon; empty if there is no colon, or nothing after the colon."""
    scheme, _, source = spec.partition(":")
    return scheme if source else ""


def _load(kind: Kind, spec: str, api_key: str, allow: Allow | None) -> Any:
    scheme = spec if spec in _OWN else _scheme(spec)
    path = _MAKERS.get((kind, scheme))
    if path is None or (scheme in _OWN) != (spec in _OWN):
        raise UnknownModel(f"unknown {kind} {spec!r}", _HINTS[kind])
    is_asked_later = kind in ("describer", "language model")
    if allow is not None and not is_asked_later:
        for address in addresses(spec):
            allow(address)
    module, _, name = path.partition(":")
    make = attrgetter(name)(import_module(f"monograph.derive.{module}"))
    arguments = [] if spec in _OWN else [spec.partition(":")[2]]
    if scheme in _SERVED:
        arguments.append(api_key if is_asked_later else api_key_of(kind, api_key))
    model = make(*arguments)
    if is_asked_later:
        model.allow = allow
    return model


# Settings in specs.


def changed_settings(settings: Any) -> dict[str, Any]:
    """Return {name: value} of the fields of a settings dataclass whose values are not the defaults."""
    defaults = asdict(type(settings)())
    return {name: value for name, value in asdict(settings).items() if value != defaults[name]}


def write_spec(spec: str, changed: Mapping[str, Any], separator: str = "#") -> str:
    """Append settings to a spec, as JSON after ``separator``. Return the spec unchanged if ``changed`` is empty.

    ``changed`` has the settings whose values are not the defaults, by name.
    """
    return spec + (f"{separator}{json.dumps(changed, sort_keys=True)}" if changed else "")


def read_spec(source: str, defaults: Settings) -> tuple[str, Settings]:
    """Return (folder or name of the model, settings) of an ``onnx`` spec.

    ``source`` is the spec without ``onnx:``: a folder or name and, after ``#``, settings as JSON. Settings that are not
    in the spec are those of ``defaults``.

    Raises
    ------
    ModelUnavailable
        If the settings cannot be read.
    """
    name, _, changed = source.partition("#")
    try:
        return name, replace(defaults, **json.loads(changed or "{}"))
    except (TypeError, ValueError, RecursionError, InputError) as error:
        raise ModelUnavailable(f"cannot read the settings in {source!r}: {error}", "give onnx:FOLDER") from error


# API keys for servers.

VARIABLE = "MONOGRAPH_API_KEY"
"""Environment variable with the API key for the servers of embedders and rerankers alike."""


def api_key_of(kind: str, given: str = "") -> str:
    """Return the API key for a server; an empty text if no key is to be sent.

    ``kind`` is ``embedder`` or ``reranker``. The first of these that exists is returned:

    1. ``given``, the caller's key. This key is passed over if it equals the value of the environment variable
       :data:`VARIABLE`, because an option of a command may have read the key from this variable.
    2. The environment variable for this kind of model. If it is set but empty, no key is sent.
    3. The environment variable :data:`VARIABLE`.
    """
    common = os.environ.get(VARIABLE, "")
    if given and given != common:
        return given
    specific = os.environ.get(_variable_of(kind))
    return common if specific is None else specific


def key_hint(kind: str) -> str:
    """Return the hint of the error if a server refuses its key. ``kind`` is ``embedder`` or ``reranker``."""
    return f"put the server's key into the environment variable {_variable_of(kind)}, or {VARIABLE}"


def _variable_of(kind: str) -> str:
    return f"MONOGRAPH_{kind.upper()}_API_KEY"


# Permission to open the addresses that a file's specs name.

HUB = "https://huggingface.co/"
"""Prefix of the address of a model on the hub. The model's name follows it."""


def addresses(spec: str) -> tuple[str, ...]:
    """Return the addresses that the model of a spec opens; empty for models that are part of Monograph.

    ``spec`` is a spec that a file stores: of an embedder, extractor, summarizer or describer. The addresses are:

    - of a server: its URL;
    - of a folder: its absolute path without symbolic links;
    - of an installed spaCy pipeline: its spec;
    - of a ``model2vec`` folder that does not exist: none;
    - of any other model: its page on the hub;
    - of an ``llm`` spec with a fallback: those of the language model, then those of the fallback.
    """
    kind, _, source = spec.partition(":")
    if kind.partition("/")[0] == "llm":
        model, _, fallback = source.partition(" else ")
        return (*addresses(model), *addresses(fallback))
    if kind == "openai" and source:
        return (source.partition("#")[0].rstrip("/"),)
    if kind in ("onnx", "sentence-transformers", "model2vec", "spacy") and source:
        name = source.partition("#")[0] if kind == "onnx" else source
        if folder_of(name) is not None:
            return (normal(name),)
        return {"spacy": (spec,), "model2vec": ()}.get(kind, (HUB + name,))
    return ()


def is_named(spec: str) -> bool:
    """Return whether the command line can load the model of a spec; False if the model is a caller's Python object."""
    scheme, colon, _ = spec.partition(":")
    schemes = {"llm", *(name for kind, name in _MAKERS if kind != "reranker")}.difference(_OWN)
    return spec in _OWN or (bool(colon) and scheme.partition("/")[0] in schemes)


def normal(address: str) -> str:
    """Return an address in the form of :func:`addresses`: a folder with links resolved, a URL without a final slash."""
    folder = None if "://" in address else folder_of(address)
    return address.rstrip("/") if folder is None else os.path.realpath(folder)


def folder_of(name: str) -> Path | None:
    """Return the path of the folder with this name; None if it does not exist, or the name is not a valid path."""
    with suppress(ValueError, OSError, RuntimeError):
        folder = Path(name).expanduser()
        if folder.is_dir():
            return folder
    return None

"""Id, settings and models of a file. Every write must use the settings and models that the file was built with."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from monograph.derive import loading
from monograph.derive.loading import addresses, is_named, normal
from monograph.errors import DamagedFile, InputError, ModelMismatch, ModelUntrusted
from monograph.models import Describer, LearnsDimension, Reranker
from monograph.settings import Settings
from monograph.store.file import settings as stored_settings
from monograph.store.file.database import Database
from monograph.store.vectors.clusters import has_stale
from monograph.values.arguments import shown
from monograph.vectors.cluster import MOST_DIMENSIONS
from monograph.vectors.design import DESIGNS, Design, Kind, design_of

if TYPE_CHECKING:
    from monograph.models import Embedder, Extractor, LanguageModel, Specified, Summarizer, Trusted
    from monograph.values import Document
    from monograph.vectors.index import EcoVectorIndex


def load_settings(
    database: Database, given: Settings | None = None, vector_index: Kind | None = None
) -> tuple[Settings, Design]:
    """Return the settings of a file and the design of its vector indexes. A new file gets the given ones.

    For an existing file, ``given.graph`` is ignored. Raises InputError if the file was built with other settings or
    another vector index than the given ones. Raises DamagedFile if the file names a design that does not exist.
    """
    with database.read() as connection:
        stored, kind = stored_settings.load(connection), stored_settings.load_vector_index(connection)
    if stored is None and not database.read_only:
        with database.write() as connection:
            if stored_settings.load(connection) is None:
                stored_settings.save(connection, given or Settings())
                stored_settings.save_vector_index(connection, design_of(vector_index or "codes").kind)
                stored_settings.save_id(connection, secrets.token_hex(16))
            stored, kind = stored_settings.load(connection), stored_settings.load_vector_index(connection)
    built = stored or Settings()
    if given is not None and replace(given, graph=built.graph) != built:
        hint = "open it without settings, or make a new file"
        raise InputError(f"{database.path} was built with {built}, not with {given}", hint)
    if kind not in DESIGNS:
        raise DamagedFile(f"{database.path} is damaged: its vector index is {kind!r}", "restore it from a copy")
    if vector_index is not None and design_of(vector_index) != design_of(kind):
        raise InputError(
            f"the vector index of {database.path} is {kind!r}, not {vector_index!r}",
            "open it without vector_index, or make a new file",
        )
    return built, design_of(kind)


def identity(database: Database) -> str:
    """Return the id of a file. It is random, created with the file, and kept when the file is moved or copied.

    A file that has lost its id gets a new one. If such a file is read-only, the result is empty.
    """
    with database.read() as connection:
        stored_id = stored_settings.load_id(connection)
    if not stored_id and not database.read_only:
        with database.write() as connection:
            stored_id = stored_settings.load_id(connection) or secrets.token_hex(16)
            stored_settings.save_id(connection, stored_id)
    return stored_id


def flush_vectors(database: Database, indexes: Sequence[EcoVectorIndex]) -> None:
    """Update the vector indexes if a repair was killed before it updated them."""
    if database.read_only:
        return
    with suppress(DamagedFile):  # The undamaged rows can still be read, and a check reports the damage.
        with database.read() as connection:
            waiting = [index for index in indexes if has_stale(connection, index.space)]
        if waiting:
            with database.write() as connection:
                for index in waiting:
                    index.flush(connection)


Given = TypeVar("Given", bound="Specified")


@dataclass(frozen=True, slots=True)
class ModelSlot(Generic[Given]):
    """One kind of model of a file: how the file's model is stored, compared with a given one, and loaded.

    ``name`` is the kind, such as ``embedder``. The function ``load_`` + ``name`` of :mod:`monograph.derive.loading`
    loads a model from its spec. ``default_spec`` is the spec of the default model. The other fields are parts of the
    error message for a file that was built with another model:

    - ``made_by`` comes before the key of the stored model.
    - ``keep`` says how to open the file with its stored model. Its ``{}`` is replaced by words such as "with the
      embedder 'key'" or "without an embedder".
    - ``rebuild`` says how to change to the given model by a command.
    - ``in_python`` replaces ``rebuild`` if no command can name the given model.
    """

    name: stored_settings.ModelKind
    default_spec: str
    made_by: str
    keep: str
    rebuild: str
    in_python: str

    def known(self, database: Database) -> stored_settings.StoredModel | None:
        """Return the stored model of the file; None if the file has none of this kind yet."""
        with database.read() as connection:
            return stored_settings.load_model(connection, self.name)

    def check(self, database: Database, given: Given) -> None:
        """Raise ModelMismatch if the file was built with another model than the given one.

        A file without a model of this kind accepts any.
        """
        stored = self.known(database)
        if stored is None or stored.key == given.key:
            return
        fields = {"path": database.path, "file": str(database.path), "given": given}
        article = "an" if self.name[0] in "aeiou" else "a"
        own = f"without {article} {self.name}" if is_named(stored.spec) else f"with the {self.name} {stored.key!r}"
        rebuild = (self.rebuild if is_named(given.spec) else self.in_python).format_map(fields)
        values = f" ({stored.dimension} values)" if stored.dimension else ""
        raise ModelMismatch(
            f"{self.made_by.format_map(fields)} {stored.key!r}{values}, not {self.made_by.split()[-1]} {given.key!r}",
            f"{self.keep.format(own)}: {rebuild}",
        )

    def load(self, database: Database, trusted: Trusted = ()) -> Given:
        """Load the file's model from its stored spec. For a file without a stored model, load the default model.

        The model may open only trusted servers, folders, hubs and packages. Any other raises ModelUntrusted, either
        here or when the model is used. Raises ModelUnavailable or MissingExtra if the model cannot be loaded on this
        machine. Raises ModelMismatch if the loaded model has another key than the stored one.
        """
        stored = self.known(database)
        spec = self.default_spec if stored is None else stored.spec

        def allow(address: str) -> None:
            if isinstance(trusted, str):
                raise InputError(f"trusted is a text, {trusted!r}", "give a list of addresses")
            is_trusted = trusted(identity(database), address) if callable(trusted) else address in map(normal, trusted)
            if not is_trusted:
                raise ModelUntrusted(
                    f"{database.path} names {spec!r} as its {self.name}; {address!r} is not trusted and was not opened",
                    f"to let this file open it, add --trust; or give it another {self.name}; "
                    f"in Python: Monograph.open(path, trusted=[{address!r}])",
                )

        model: Given = getattr(loading, f"load_{self.name}")(spec, allow=allow)
        self.check(database, model)
        return model

    def adopt(self, database: Database, given: Given) -> None:
        """Store a model as the file's model of this kind if the file has none.

        Raises ModelMismatch if the file has another one.
        """
        if self.known(database) is None:
            # The dimension is read before the file is locked, because that may take a call to a server.
            stored = stored_settings.StoredModel(given.key, given.spec, getattr(given, "dimension", 0))
            with database.write() as connection:
                if stored_settings.load_model(connection, self.name) is None:
                    stored_settings.save_model(connection, self.name, stored)
        self.check(database, given)


EMBEDDER: ModelSlot[Embedder] = ModelSlot(
    "embedder",
    "static",
    "{path} has vectors of",
    "open it {}, or compute its vectors again",
    "monograph reembed {path} {given.spec}",
    "Monograph.open({file!r}).vectors.rebuild(embedder)",
)
EXTRACTOR: ModelSlot[Extractor] = ModelSlot(
    "extractor",
    "pattern",
    "the graph of {path} is made with",
    "open it {}, or rebuild it",
    "monograph reextract {path} {given.spec}",
    "Monograph.open({file!r}).graph.rebuild(extractor)",
)
SUMMARIZER: ModelSlot[Summarizer] = ModelSlot(
    "summarizer",
    "extractive",
    "the tree of {path} is made with",
    "open it {}, or rebuild it",
    "monograph resummarize {path} {given.spec}",
    "Monograph.open({file!r}).tree.rebuild(summarizer)",
)
DESCRIBER: ModelSlot[Describer] = ModelSlot(
    "describer",
    "",
    "the pictures of {path} are described by",
    "open it with a describer, which replaces that one",
    "monograph sync {path} FOLDER --describer {given.spec}",
    "Monograph.open({file!r}, describer=describer)",
)


def addresses_named(database: Database) -> tuple[str, ...]:
    """Return the addresses (URLs, folders, hub pages) that the file's stored models open, without repeats."""
    stored = [kind.known(database) for kind in (EMBEDDER, EXTRACTOR, SUMMARIZER, DESCRIBER)]
    return tuple(dict.fromkeys(address for model in stored if model is not None for address in addresses(model.spec)))


def pass_dimension(database: Database, embedder: Embedder) -> None:
    """Pass the dimension of the file's vectors to an embedder that learns its dimension from its first vector.

    Other embedders are left unchanged. Raises ModelUnavailable if the embedder has returned vectors of another
    dimension.
    """
    stored = EMBEDDER.known(database)
    if stored is not None and stored.key == embedder.key and isinstance(embedder, LearnsDimension):
        embedder.expect(stored.dimension)


def adopt_embedder(database: Database, embedder: Embedder) -> None:
    """Store an embedder as the embedder of the file if the file has none.

    Raises ModelMismatch if the file has another embedder, and InputError if no vector index can hold its vectors.
    """
    if EMBEDDER.known(database) is None:
        _require_dimension(embedder.dimension)
    EMBEDDER.adopt(database, embedder)
    pass_dimension(database, embedder)


def _require_dimension(dimension: int) -> None:
    if not 0 < dimension <= MOST_DIMENSIONS:
        raise InputError(
            f"the vectors have {dimension:,} dimensions", f"give vectors of 1 to {MOST_DIMENSIONS:,} dimensions"
        )


NOBODY = "none"
"""Stored spec that says that the file's describer was removed."""


class FileModels:
    """Models of an open file.

    A model that the caller gave is used. Otherwise, the model that the file was built with is loaded at first use.
    """

    def __init__(self, database: Database, language_model: LanguageModel | None, trusted: Trusted) -> None:
        self._database = database
        self.language_model = language_model
        self.trusted = trusted
        self.given_embedder: Embedder | None = None
        self.given_extractor: Extractor | None = None
        self.given_summarizer: Summarizer | None = None
        self.given_describer: Describer | None = None
        self.given_reranker: Reranker | str | None = None
        self.describer_disabled = False
        """Whether the file has no describer from now on, even if one is stored."""
        self.loaded: list[Specified] = []
        """Models that were loaded from their stored specs, and not given by the caller."""
        self._rerankers: dict[str, Reranker] = {}

    def use_models(
        self, embedder: Embedder | None = None, extractor: Extractor | None = None, summarizer: Summarizer | None = None
    ) -> None:
        """Use the given models for the file; None leaves the present one.

        Raises ModelMismatch if the file was built with another model of the same kind.
        """
        if embedder is not None:
            EMBEDDER.check(self._database, embedder)
            pass_dimension(self._database, embedder)
            self.given_embedder = embedder
        if extractor is not None:
            EXTRACTOR.check(self._database, extractor)
            self.given_extractor = extractor
        if summarizer is not None:
            SUMMARIZER.check(self._database, summarizer)
            self.given_summarizer = summarizer

    def adopt(self, passages: Sequence[Document] = ()) -> None:
        """Store the embedder and a given summarizer if the file has none. Raises ModelMismatch if its models differ.

        ``passages`` are documents about to be stored. If all passages have vectors, a new file without a given embedder
        becomes a file whose vectors the caller gives.
        """
        embedder = self.embedder_for(passages)
        adopt_embedder(self._database, embedder)
        self.given_embedder = embedder
        if self.given_summarizer is not None:
            SUMMARIZER.adopt(self._database, self.given_summarizer)
        EXTRACTOR.check(self._database, self.extractor)

    def embedder_for(self, passages: Sequence[Document]) -> Embedder:
        """Return the embedder of the file after these documents are stored: see :meth:`adopt`."""
        optional_vectors = [passage.vector for document in passages for passage in document.passages]
        vectors = [vector for vector in optional_vectors if vector is not None]
        # A search, plan or price may have loaded the default embedder before.
        is_default = self.given_embedder is None or any(self.given_embedder is one for one in self.loaded)
        if not is_default or not vectors or len(vectors) < len(optional_vectors):
            return self.embedder
        if EMBEDDER.known(self._database) is not None:
            return self.embedder
        from monograph.derive.embed.given import GivenVectors

        _require_dimension(len(vectors[0]))
        return GivenVectors(len(vectors[0]))

    def _load(self, kind: ModelSlot[Given]) -> Given:
        model = kind.load(self._database, self.trusted)
        self.loaded.append(model)
        return model

    @property
    def embedder(self) -> Embedder:
        """The model that makes vectors. Raises ModelError if the file's stored model cannot be loaded here."""
        if self.given_embedder is None:
            self.given_embedder = self._load(EMBEDDER)
            pass_dimension(self._database, self.given_embedder)
        return self.given_embedder

    @property
    def extractor(self) -> Extractor:
        """The model that finds names in chunks. Raises ModelError if the file's stored model cannot be loaded here."""
        if self.given_extractor is None:
            self.given_extractor = self._load(EXTRACTOR)
        return self.given_extractor

    @property
    def summarizer(self) -> Summarizer:
        """The model that writes the summaries of the tree, or will write them if the file has no tree yet.

        Raises ModelError if the file's stored model cannot be loaded here.
        """
        if self.given_summarizer is None:
            self.given_summarizer = self._load(SUMMARIZER)
        return self.given_summarizer

    @property
    def describer(self) -> Describer | None:
        """The model that describes pictures in synced files; None if the file has none."""
        if self.given_describer is None and not self.describer_disabled:
            stored = DESCRIBER.known(self._database)
            if stored is not None and stored.spec != NOBODY:
                self.given_describer = self._load(DESCRIBER)
        return self.given_describer

    def describe_by(self, given: Describer | str | None) -> None:
        """Set the describer: a describer object, the spec of one, or ``none`` to remove the file's describer.

        Raises ModelError if it cannot be loaded on this machine, and InputError if the value is neither a describer nor
        a text.
        """
        self.describer_disabled = given == NOBODY
        if self.describer_disabled or given is None or given == "":
            self.given_describer = None
            return
        if isinstance(given, str):
            given = loading.load_describer(given)
        if not isinstance(given, Describer) or isinstance(given, type):
            hint = "give a describer, or a text that names one: openai:URL#MODEL"
            raise InputError(f"the describer is {shown(given)}", hint)
        self.given_describer = given

    def adopt_describer(self) -> None:
        """Store the given describer as the file's describer, or store that the file's describer was removed.

        A given describer replaces any stored one. The describer is removed if :meth:`describe_by` was called with
        ``none``. If no describer was given or removed, nothing changes. After a change to another describer, the next
        sync reads again all files that may contain pictures.
        """
        describer = self.given_describer
        if describer is None and not self.describer_disabled:
            return
        previous = DESCRIBER.known(self._database)
        key, spec = (NOBODY, NOBODY) if describer is None else (describer.key, describer.spec)
        stored = stored_settings.StoredModel(key, spec)
        if previous != stored and (previous is not None or describer is not None):
            with self._database.write() as connection:
                stored_settings.save_model(connection, DESCRIBER.name, stored)
                if describer is None:  # A later describer must also see the files that are synced until then.
                    from monograph.store.documents import sources

                    sources.forget_describers(connection)

    def reranker(self, given: Reranker | str | None = None) -> Reranker | None:
        """Return a reranker: the given object, or the one that a spec names.

        For None, return the reranker that the file was opened with; for an empty text, return None. Raises ModelError
        if the reranker cannot be loaded on this machine, and InputError if the value is neither a reranker nor a text.
        """
        chosen = self.given_reranker if given is None else given
        if chosen is None or chosen == "":
            return None
        if not isinstance(chosen, str):
            if not isinstance(chosen, Reranker) or isinstance(chosen, type):
                hint = "give a reranker, or a text that names one: onnx:FOLDER"
                raise InputError(f"the reranker is {shown(chosen)}", hint)
            return chosen
        if chosen not in self._rerankers:
            self._rerankers[chosen] = loading.load_reranker(chosen)
        return self._rerankers[chosen]

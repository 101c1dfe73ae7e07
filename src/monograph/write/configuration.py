"""Id, settings and models of a file: it must be written with those that it was built with."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from monograph.derive import loading
from monograph.derive.loading import addresses, is_named, normal
from monograph.errors import DamagedFile, InputError, ModelMismatch, ModelUntrusted
from monograph.settings import Settings
from monograph.store.file import settings as stored_settings
from monograph.store.file.database import Database
from monograph.store.vectors.clusters import has_stale
from monograph.values.arguments import shown
from monograph.vectors.cluster import MOST_DIMENSIONS
from monograph.vectors.design import DESIGNS, Design, Kind, design_of

if TYPE_CHECKING:
    from monograph.models import Describer, Embedder, Extractor, LanguageModel, Reranker, Specified, Summarizer, Trusted
    from monograph.values import Document
    from monograph.vectors.index import EcoVectorIndex


def load_settings(
    database: Database, given: Settings | None = None, vector_index: Kind | None = None
) -> tuple[Settings, Design]:
    """Return the settings of a file, and the design of its vector indexes; a new file gets those given.

    Whether it has a ``graph`` may differ: a file that is there stays as it is.

    Raises
    ------
    InputError
        If it was built with others than those given.
    DamagedFile
        If the file names a design that does not exist.
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
    """Return the file's own id: random, made with the file, and kept when the file is moved or copied.

    A file that lost it gets another when it is first asked for; empty where that cannot be written.
    """
    with database.read() as connection:
        known = stored_settings.load_id(connection)
    if not known and not database.read_only:
        with database.write() as connection:
            known = stored_settings.load_id(connection) or secrets.token_hex(16)
            stored_settings.save_id(connection, known)
    return known


def flush_vectors(database: Database, indexes: Sequence[EcoVectorIndex]) -> None:
    """Bring the vector indexes up to date where a killed repair left vectors that wait for it."""
    if database.read_only:
        return
    with suppress(DamagedFile):  # Whatever is damaged, the rest can be read; and a check tells of it.
        with database.read() as connection:
            waiting = [index for index in indexes if has_stale(connection, index.space)]
        if waiting:
            with database.write() as connection:
                for index in waiting:
                    index.flush(connection)


Given = TypeVar("Given", bound="Specified")


@dataclass(frozen=True, slots=True)
class PluggedIn(Generic[Given]):
    """One kind of model: how a file says with which one it was made, and how that is made again.

    Parameters
    ----------
    name:
        Its name: ``load_...`` of :mod:`monograph.derive.loading` makes it from its spec at first use.
    usual:
        The spec for a file that has none.
    made_by:
        Subject and verb of the error for a file that has another: the stored model follows.
    keep:
        How to open the file with its own model; ``{}`` is "with" or "without" it.
    rebuild, in_python:
        How to use the given one instead, as a command, and in Python if no command can name it.
    """

    name: stored_settings.ModelKind
    usual: str
    made_by: str
    keep: str
    rebuild: str
    in_python: str

    def known(self, database: Database) -> stored_settings.StoredModel | None:
        """Return the model that the file was made with; None if it holds nothing of the kind yet."""
        with database.read() as connection:
            return stored_settings.load_model(connection, self.name)

    def check(self, database: Database, given: Given) -> None:
        """Raise ModelMismatch if the file was made with another."""
        stored = self.known(database)
        if stored is None or stored.key == given.key:
            return
        said = {"path": database.path, "file": str(database.path), "given": given}
        article = "an" if self.name[0] in "aeiou" else "a"
        own = f"without {article} {self.name}" if is_named(stored.spec) else f"with the {self.name} {stored.key!r}"
        rebuild = (self.rebuild if is_named(given.spec) else self.in_python).format_map(said)
        values = f" ({stored.dimension} values)" if stored.dimension else ""
        raise ModelMismatch(
            f"{self.made_by.format_map(said)} {stored.key!r}{values}, not {self.made_by.split()[-1]} {given.key!r}",
            f"{self.keep.format(own)}: {rebuild}",
        )

    def made_again(self, database: Database, trusted: Trusted = ()) -> Given:
        """Make the file's model again from its spec; the usual model for a file without one.

        It opens no server, folder, hub or package but those that are trusted: another raises ModelUntrusted, then or
        when it is used.

        Raises
        ------
        ModelUnavailable, MissingExtra
            If it cannot be made here.
        ModelMismatch
            If its model is another by now.
        """
        stored = self.known(database)
        spec = self.usual if stored is None else stored.spec

        def allow(address: str) -> None:
            if isinstance(trusted, str):
                raise InputError(f"trusted is a text, {trusted!r}", "give a list of addresses")
            named = trusted(identity(database), address) if callable(trusted) else address in map(normal, trusted)
            if not named:
                raise ModelUntrusted(
                    f"{database.path} wants {spec!r} as its {self.name}, which opens {address!r}: it was not opened",
                    f"to let this file open it, add --trust; or give it another {self.name}; "
                    f"in Python: Monograph.open(path, trusted=[{address!r}])",
                )

        made: Given = getattr(loading, f"load_{self.name}")(spec, allow=allow)
        self.check(database, made)
        return made

    def adopt(self, database: Database, given: Given) -> None:
        """Make it the file's own, unless that has one. Raises ModelMismatch if that is another."""
        if self.known(database) is None:
            # A server may have to be asked for the dimension: before the file is locked.
            stored = stored_settings.StoredModel(given.key, given.spec, getattr(given, "dimension", 0))
            with database.write() as connection:
                if stored_settings.load_model(connection, self.name) is None:
                    stored_settings.save_model(connection, self.name, stored)
        self.check(database, given)


EMBEDDER: PluggedIn[Embedder] = PluggedIn(
    "embedder",
    "static",
    "{path} holds vectors of",
    "open it {}, or make its vectors anew",
    "monograph reembed {path} {given.spec}",
    "Monograph.open({file!r}).vectors.rebuild(embedder)",
)
EXTRACTOR: PluggedIn[Extractor] = PluggedIn(
    "extractor",
    "pattern",
    "the graph of {path} is made with",
    "open it {}, or make it anew",
    "monograph reextract {path} {given.spec}",
    "Monograph.open({file!r}).graph.rebuild(extractor)",
)
SUMMARIZER: PluggedIn[Summarizer] = PluggedIn(
    "summarizer",
    "extractive",
    "the tree of {path} is made with",
    "open it {}, or make it anew",
    "monograph resummarize {path} {given.spec}",
    "Monograph.open({file!r}).tree.rebuild(summarizer)",
)
DESCRIBER: PluggedIn[Describer] = PluggedIn(
    "describer",
    "",
    "the pictures of {path} are described by",
    "open it with a describer, which takes that one's place",
    "monograph sync {path} FOLDER --describer {given.spec}",
    "Monograph.open({file!r}, describer=describer)",
)


def addresses_named(database: Database) -> tuple[str, ...]:
    """Return the addresses that the file's own models open, each once."""
    stored = [one.known(database) for one in (EMBEDDER, EXTRACTOR, SUMMARIZER, DESCRIBER)]
    return tuple(dict.fromkeys(one for model in stored if model is not None for one in addresses(model.spec)))


def tell_dimension(database: Database, embedder: Embedder) -> None:
    """Tell an embedder that learns its dimension that of the vectors which the file holds of it.

    Raises ModelUnavailable if it gives vectors of another.
    """
    from monograph.models import LearnsDimension

    stored = EMBEDDER.known(database)
    if stored is not None and stored.key == embedder.key and isinstance(embedder, LearnsDimension):
        embedder.expect(stored.dimension)


def adopt_embedder(database: Database, embedder: Embedder) -> None:
    """Make an embedder the file's own, unless it has one.

    Raises ModelMismatch if that is another, and InputError if no vector index can hold its vectors.
    """
    if EMBEDDER.known(database) is None:
        _require_dimension(embedder.dimension)
    EMBEDDER.adopt(database, embedder)
    tell_dimension(database, embedder)


def _require_dimension(dimension: int) -> None:
    """Raise InputError if a vector index cannot hold vectors of a dimension."""
    if not 0 < dimension <= MOST_DIMENSIONS:
        raise InputError(
            f"the vectors have {dimension:,} dimensions", f"give vectors of 1 to {MOST_DIMENSIONS:,} dimensions"
        )


NOBODY = "none"
"""The spec of a file's describer that was given up."""


class FileModels:
    """Models of a file: those that were given, else those that it was built with, which are loaded at first use."""

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
        """Whether the file is to have no describer from now on."""
        self.loaded: list[Embedder | Extractor | Summarizer | Describer] = []
        """Models that the file named itself."""
        self._rerankers: dict[str, Reranker] = {}

    def plug_in(
        self, embedder: Embedder | None = None, extractor: Extractor | None = None, summarizer: Summarizer | None = None
    ) -> None:
        """Use these models for the file from now on. Raises ModelMismatch if the file was built with another."""
        if embedder is not None:
            EMBEDDER.check(self._database, embedder)
            tell_dimension(self._database, embedder)
            self.given_embedder = embedder
        if extractor is not None:
            EXTRACTOR.check(self._database, extractor)
            self.given_extractor = extractor
        if summarizer is not None:
            SUMMARIZER.check(self._database, summarizer)
            self.given_summarizer = summarizer

    def adopt(self, passages: Sequence[Document] = ()) -> None:
        """Make these models the file's own, unless it has some. Raises ModelMismatch if it has others.

        A new file takes the vectors of ``passages``, if all bring some, for those of a model.
        """
        found = [passage.vector for document in passages for passage in document.passages]
        vectors = [one for one in found if one is not None]
        all_given = self.given_embedder is None and vectors and len(vectors) == len(found)
        if all_given and EMBEDDER.known(self._database) is None:
            from monograph.derive.embed.given import GivenVectors

            _require_dimension(len(vectors[0]))
            self.given_embedder = GivenVectors(len(vectors[0]))
        adopt_embedder(self._database, self.embedder)
        if self.given_summarizer is not None:
            SUMMARIZER.adopt(self._database, self.given_summarizer)
        EXTRACTOR.check(self._database, self.extractor)

    @property
    def embedder(self) -> Embedder:
        """The model that makes vectors. Raises ModelError if the file's own cannot be loaded here."""
        if self.given_embedder is None:
            self.given_embedder = EMBEDDER.made_again(self._database, self.trusted)
            tell_dimension(self._database, self.given_embedder)
            self.loaded.append(self.given_embedder)
        return self.given_embedder

    @property
    def extractor(self) -> Extractor:
        """The model that finds names in chunks. Raises as :attr:`embedder`."""
        if self.given_extractor is None:
            self.given_extractor = EXTRACTOR.made_again(self._database, self.trusted)
            self.loaded.append(self.given_extractor)
        return self.given_extractor

    @property
    def summarizer(self) -> Summarizer:
        """The model that makes summaries; in a file without a tree the one that would. Raises as :attr:`embedder`."""
        if self.given_summarizer is None:
            self.given_summarizer = SUMMARIZER.made_again(self._database, self.trusted)
            self.loaded.append(self.given_summarizer)
        return self.given_summarizer

    @property
    def describer(self) -> Describer | None:
        """The model that describes pictures in synced files; None if the file has none."""
        if self.given_describer is None and not self.describer_disabled:
            stored = DESCRIBER.known(self._database)
            if stored is not None and stored.spec != NOBODY:
                self.given_describer = DESCRIBER.made_again(self._database, self.trusted)
                self.loaded.append(self.given_describer)
        return self.given_describer

    def describe_by(self, given: Describer | str | None) -> None:
        """Use a describer, or the one that a text names; ``none`` gives up the file's own.

        Raises
        ------
        ModelError
            If it cannot be made here.
        InputError
            If it is none.
        """
        self.describer_disabled = given == NOBODY
        self.given_describer = None
        if not self.describer_disabled and given is not None and given != "":
            from monograph.models import Describer

            if isinstance(given, str):
                given = loading.load_describer(given)
            if not isinstance(given, Describer) or isinstance(given, type):
                hint = "give one, or the text that names one: openai:URL#MODEL"
                raise InputError(f"the describer is {shown(given)}", hint)
            self.given_describer = given

    def adopt_describer(self) -> None:
        """Make the given describer the file's own in place of any other, or none if that was given up.

        With another one, what may hold pictures is read again by the next sync. Without a given one nothing changes.
        """
        describer = self.given_describer
        if describer is None and not self.describer_disabled:
            return
        known = DESCRIBER.known(self._database)
        stored = stored_settings.StoredModel(NOBODY, NOBODY)
        if describer is not None:
            stored = stored_settings.StoredModel(describer.key, describer.spec)
        if known != stored and (known is not None or describer is not None):
            with self._database.write() as connection:
                stored_settings.save_model(connection, DESCRIBER.name, stored)
                if describer is None:  # What comes until there is one again, that is to see.
                    from monograph.store.documents import sources

                    sources.forget_describers(connection)

    def reranker(self, given: Reranker | str | None = None) -> Reranker | None:
        """Return a reranker, or the one that a text names; the file's own for None, and none for an empty text.

        Raises
        ------
        ModelError
            If it cannot be made here.
        InputError
            If it is neither.
        """
        chosen = self.given_reranker if given is None else given
        if chosen is None or chosen == "":
            return None
        if not isinstance(chosen, str):
            from monograph.models import Reranker

            if not isinstance(chosen, Reranker) or isinstance(chosen, type):
                hint = "give one, or the text that names one: onnx:FOLDER"
                raise InputError(f"the reranker is {shown(chosen)}", hint)
            return chosen
        if chosen not in self._rerankers:
            self._rerankers[chosen] = loading.load_reranker(chosen)
        return self._rerankers[chosen]

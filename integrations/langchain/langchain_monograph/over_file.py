"""Base classes of components over a .mono file: they open and close the file, and are serialized with its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from langchain_core.load.serializable import Serializable
from pydantic import BaseModel, ConfigDict, PrivateAttr, SecretStr, field_validator

from langchain_monograph.vectorstores import EcoVectorStore
from monograph import Monograph, Reader
from monograph.errors import InputError
from monograph.models import Embedder
from monograph.shelf import Shelf
from monograph_tools import ClosesFile, FileHandle, archive_of


class FileFields(ClosesFile, BaseModel):
    """Fields of a component over a file or shelf."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    monograph: Reader | Shelf | EcoVectorStore | Path | str
    """Path of a file or address of a shelf, or an open file, store or shelf.

    The first use opens a path or an address, and ``close`` or the end of a ``with`` block closes it. An open
    file, store or shelf stays open.
    """
    key: SecretStr | None = None
    """Key of an encrypted file. Give it only with a path. It is never serialized."""
    _file: FileHandle = PrivateAttr()

    @field_validator("monograph", mode="before")
    @classmethod
    def _as_archive(cls, given: Any) -> Any:
        """Convert a store to its file or shelf, and a string to a path unless it is an address."""
        return Path(given) if isinstance(given, str) and "://" not in given else archive_of(given)

    @property
    def _secret(self) -> str | None:
        return None if self.key is None else self.key.get_secret_value()


class OverFile(FileFields, Serializable):
    """Component over a file or shelf. LangChain's ``dumps`` and ``loads`` serialize it with the file's path."""

    collection: str | None = None
    """Name of a collection: only its documents are read. None: all documents are read. Shelves have no collections."""
    _reads_only: ClassVar[bool] = True

    def model_post_init(self, context: Any, /) -> None:
        """Create a handle that opens the file at first use."""
        super().model_post_init(context)
        self._file = FileHandle(
            self.monograph,
            read_only=self._reads_only,
            key=self._secret,
            collection=self.collection,
            embedder=self._embedder(),
        )

    def _embedder(self) -> Embedder | None:
        """Return the embedder of queries; None for the file's own embedder."""
        return None

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Return True: the path of the file is serialized, and the file is opened again after loading."""
        return True

    @property
    def lc_secrets(self) -> dict[str, str]:
        """Names of secrets by field: ``loads`` sets the field ``key`` to the secret ``MONOGRAPH_KEY``.

        ``loads`` gets the secret from its argument ``secrets_map`` or, with ``secrets_from_env=True``, from an
        environment variable of this name.
        """
        return {"key": "MONOGRAPH_KEY"}

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """Fields to serialize: the path of the file or the address of the shelf.

        Raises InputError for a view or a snapshot: no path opens it.
        """
        if isinstance(self.monograph, Reader) and not isinstance(self.monograph, Monograph):
            raise InputError("a view cannot be serialized as a path", "give the file and a collection")
        return {"monograph": self._file.address}

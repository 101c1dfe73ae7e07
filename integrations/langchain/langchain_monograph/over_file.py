"""What components over a .mono file share: the file, open or by its path, and how they are written down with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from langchain_core.load.serializable import Serializable
from pydantic import ConfigDict, PrivateAttr

from monograph import Monograph
from monograph_tools import HeldFile


class OverFile(Serializable):
    """A component over a file; LangChain's ``dumps`` and ``loads`` take it along, its file as a path."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    monograph: Monograph | Path
    """An open file, which stays the caller's to close; or the path of one, which is opened with the first question and
    closed by :meth:`close`."""
    _file: HeldFile = PrivateAttr()
    _reads_only: ClassVar[bool] = True

    def model_post_init(self, context: Any, /) -> None:
        """Hold the file."""
        super().model_post_init(context)
        self._file = HeldFile(self.monograph, read_only=self._reads_only)

    def close(self) -> None:
        """Close the file if it was given as a path; the next question opens it again."""
        self._file.close()

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """True: where its file is goes with it, and it is opened there again."""
        return True

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """The file as its path."""
        return {"monograph": str(self._file.path)}

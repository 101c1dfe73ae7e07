"""Notes that an agent can add to a file, change and delete.

A note's id is a hash of its title and text, so a document that merely looks like a note is never treated as one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from monograph import Document, Monograph, View
from monograph.errors import BusyFile, InputError, NotFound
from monograph.values import content_id
from monograph_tools.calls import warn_of_problems
from monograph_tools.replies import ForgottenReply, NoteReply
from monograph_tools.tools import cite

NoteId = Annotated[str, Field(min_length=1, description="Id of the note, from add_note or a citation")]
Text = Annotated[str, Field(min_length=1, max_length=100_000, description="Text of the note")]
Title = Annotated[str, Field(max_length=500, description="Title of the note")]


class Notes:
    """The tools that write notes into one open file. The caller closes the file."""

    def __init__(self, monograph: Monograph | View) -> None:
        self.monograph = monograph

    def add_note(self, text: Text, title: Title = "") -> NoteReply:
        """Store a note in the file, so that later searches find it. The same note is stored only once."""
        return self._store_note(text, title, {})

    def change_note(self, note: NoteId, text: Text, title: Title = "") -> NoteReply:
        """Replace a note that was stored with add_note: give its whole new text. The note gets a new id."""
        old = self._load_note(note)
        reply = self._store_note(text, title, {"written": old.metadata["written"], "changed": _now()})
        if reply.document != old.id:
            warn_of_problems(self.monograph.remove([old.id]))
        return reply

    def forget_note(self, note: NoteId) -> ForgottenReply:
        """Delete a note that was stored with add_note. No trace of its text is left in the file."""
        identifier = self._load_note(note).id
        try:
            warn_of_problems(self.monograph.remove([identifier], forget=True))
        except BusyFile:
            if self._has(identifier):
                raise
            return ForgottenReply(document=identifier, traces=True)
        return ForgottenReply(document=identifier, traces=False)

    def _store_note(self, text: str, title: str, metadata: dict[str, str]) -> NoteReply:
        if not text.strip():
            raise InputError("the note is blank", "give it a text")
        identifier = note_id(title, text, self.monograph.view)
        new = not self._has(identifier)
        if new:
            note_metadata = {"kind": "note", "written": _now(), **metadata}
            report = warn_of_problems(
                self.monograph.add([Document(text, id=identifier, title=title, metadata=note_metadata)])
            )
            new = report.added == 1
        return NoteReply(document=identifier, new=new, citation=cite(identifier, title, "", 0, len(text)))

    def _has(self, identifier: str) -> bool:
        try:
            self.monograph.document(identifier)
        except NotFound:
            return False
        return True

    def _load_note(self, name: str) -> Document:
        document = self.monograph.document(name)
        if (
            document.id != note_id(document.title, document.text, self.monograph.view)
            or "written" not in document.metadata
        ):
            raise InputError(
                f"{name!r} is not a note", "only notes that were stored with add_note can be changed or deleted"
            )
        return document


def note_id(title: str, text: str, view: str = "") -> str:
    """Return the id of a note in the view with the name ``view``; the name is empty for a whole file.

    The id depends on the view, so that an id does not reveal notes of other views.
    """
    return f"note/{content_id('note', title, text, *([view] if view else []))}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

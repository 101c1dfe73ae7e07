"""What was said of pictures, put in their places in a document's text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from monograph.read.kept import Picture
from monograph.values import Document, Place

_SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class Said:
    """What is to stand for a picture: nothing, its words, or, if it is ``described``, what was said of it."""

    text: str
    described: bool = False


@dataclass(frozen=True, slots=True)
class _Edit:
    """A stretch of the text that is replaced; ``number`` is the picture's that the new text describes, or 0."""

    start: int
    end: int
    text: str
    number: int


def woven(document: Document, pictures: Sequence[Picture], said: Mapping[str, Said]) -> Document | None:
    """A document with texts in place of its marks; None where nothing is left of it.

    A description is a place of its own, so that a chunk of it is cited as that picture; behind it goes on the place in
    which the picture stands. Offsets of sections and places follow.

    Parameters
    ----------
    document:
        Read while describing.
    pictures:
        Of its file: those whose marks do not stand in it are passed over.
    said:
        What is to stand for each, by its mark.
    """
    edits = sorted(_edits(document.text, pictures, said), key=lambda one: one.start)
    if not edits:
        return document
    parts, at = [], 0
    for edit in edits:
        parts += [document.text[at : edit.start], edit.text]
        at = edit.end
    text = "".join([*parts, document.text[at:]]).rstrip()
    if not text:
        return None
    moved = _Moved(edits)
    sections = tuple(replace(one, start=moved.at(one.start)) for one in document.sections)
    return replace(document, text=text, sections=sections, places=_places(document, edits, moved, len(text)))


def _edits(text: str, pictures: Sequence[Picture], said: Mapping[str, Said]) -> list[_Edit]:
    found = []
    for picture in pictures:
        start = text.find(picture.mark)
        if start < 0:
            continue
        end, one = start + len(picture.mark), said[picture.mark]
        if one.described:
            name = f"Picture {picture.number}" if picture.number else "Picture"
            found.append(_Edit(start, end, f"{name}: {one.text}", picture.number))
            continue
        if not one.text and text.startswith(_SEPARATOR, end):
            end += len(_SEPARATOR)
        found.append(_Edit(start, end, one.text, 0))
    return found


class _Moved:
    """Where an offset of the old text is in the new one."""

    def __init__(self, edits: Sequence[_Edit]) -> None:
        self._ends = [edit.end for edit in edits]
        self._edits = edits
        self._shifts = [0]
        for edit in edits:
            self._shifts.append(self._shifts[-1] + len(edit.text) - (edit.end - edit.start))

    def at(self, offset: int) -> int:
        """One within a stretch that was replaced is its beginning."""
        count = bisect_right(self._ends, offset)
        if count < len(self._edits):
            offset = min(offset, self._edits[count].start)
        return offset + self._shifts[count]


def _places(document: Document, edits: Sequence[_Edit], moved: _Moved, length: int) -> tuple[Place, ...]:
    starts = [place.start for place in document.places]
    found: dict[int, Place] = {}
    for edit in edits:
        if edit.number:  # Behind a description goes on what was before it.
            after = moved.at(edit.end) + len(_SEPARATOR) * document.text.startswith(_SEPARATOR, edit.end)
            found[after] = replace(_around(document, starts, edit.start), start=after, boundary=True)
    for place in document.places:
        at = moved.at(place.start)
        found[at] = replace(place, start=at, boundary=place.boundary or at in found)
    for edit in edits:
        if edit.number:
            at = moved.at(edit.start)
            found[at] = replace(_around(document, starts, edit.start), start=at, boundary=True, picture=edit.number)
    return tuple(found[start] for start in sorted(found) if start < length)


def _around(document: Document, starts: Sequence[int], offset: int) -> Place:
    """The place in which an offset stands; none of any kind where there is no such."""
    before = bisect_right(starts, offset)
    return document.places[before - 1] if before else Place(0)

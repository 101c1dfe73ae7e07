"""Descriptions of pictures: each is made once, and replaces the mark at the picture's position in a document's text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import accumulate

from monograph.derive.derivation import Derivation, descriptions
from monograph.errors import MonographError, SourceError
from monograph.models import Describer
from monograph.read.child import ChildPool
from monograph.read.file import Part, is_harmless
from monograph.read.image import PictureTask
from monograph.read.kept import Picture
from monograph.read.limits import Limits
from monograph.read.paths import text_to_path
from monograph.read.source import is_installed
from monograph.store.documents import sources
from monograph.store.file import memo
from monograph.store.file.database import Database
from monograph.values import Change, Cost, Document, Place, Plan, Problem
from monograph.write.changes import Tally
from monograph.write.pipeline import Pipeline

_OCR = "rapidocr"
_SEPARATOR = "\n\n"


@dataclass(slots=True)
class PictureReplacer:
    """Function object of a sync that replaces the pictures in documents by descriptions.

    Each description is stored in the memo at once, and ``tally`` counts it. If the model fails on a picture, the
    failure becomes a problem. The picture is then replaced by the words recognised in it, if the extra ``ocr`` is
    installed. ``closing`` is an exit stack that ends the process that recognises words.
    """

    database: Database
    describer: Describer
    limits: Limits
    closing: ExitStack
    tally: Tally
    _errors: dict[bytes, Exception] = field(default_factory=dict)
    _pool: ChildPool | None = None
    _derivation: Derivation[Picture] = field(init=False)

    def __post_init__(self) -> None:
        self._derivation = descriptions(self.describer, self._errors)

    def __call__(self, uri: str, part: Part, problems: list[Problem]) -> tuple[Document, ...]:
        """Return the documents of a part of a file, with texts in place of pictures.

        Failures are added to ``problems``.
        """
        pictures = self._derivation.keyed(part.pictures)
        derived = self._derivation.derive_missing(self.database, pictures)
        self.tally.described += len(derived)
        texts = _load_descriptions(self.database, list(pictures)) | {key: value.decode() for key, value, _ in derived}
        failed = [key for key in pictures if key not in texts]
        errors = [self._errors[key] for key in failed if key in self._errors]
        if errors:
            first = errors[0]
            many = f"{len(errors)} pictures in it were" if len(errors) > 1 else "a picture in it was"
            reason = first.message if isinstance(first, MonographError) else f"{type(first).__name__}: {first}"
            hint = (first.hint if isinstance(first, MonographError) else "") or "monograph retry FILE"
            problems.append(Problem(uri, f"{many} not described: {reason}", hint))
        captions = {key: Caption(text, described=True) for key, text in texts.items()}
        captions |= {key: Caption(self._recognise_words(pictures[key])) for key in failed}
        return _caption_documents(uri, part, self._derivation, captions, problems)

    def _recognise_words(self, picture: Picture) -> str:
        if not is_installed(_OCR):
            return ""
        if self._pool is None:
            self._pool = self.closing.enter_context(ChildPool())
        try:
            return "".join(self._pool.call(PictureTask(picture.data, self.limits)))
        except SourceError:
            return ""  # The failed description is a problem already.


@dataclass(slots=True)
class PicturePricer:
    """Cost of the pictures that a sync would describe. No model is called, and each picture is counted once.

    In the documents, a placeholder line stands for each description that is missing in the memo. ``priced`` has the
    keys of derived values whose cost is already counted; new keys are added.
    """

    database: Database
    describer: Describer
    priced: set[bytes]
    cost: Cost = field(default_factory=Cost)

    def __call__(self, uri: str, part: Part, problems: list[Problem]) -> tuple[Document, ...]:
        """Return the documents of a part of a file as :class:`PictureReplacer` does.

        A placeholder stands for each missing description.
        """
        derivation = descriptions(self.describer, {})
        pictures = derivation.keyed(part.pictures)
        stored = _load_descriptions(self.database, list(pictures))
        with self.database.read() as connection:
            self.cost += derivation.price_missing(connection, pictures, self.priced)
        texts = {key: key.hex() for key in pictures} | stored
        captions = {key: Caption(text, described=True) for key, text in texts.items()}
        return _caption_documents(uri, part, derivation, captions, problems)


def read_again(pipeline: Pipeline, describer: Describer, plan: Plan) -> Plan:
    """Return a plan that also reads unchanged files whose pictures this describer has not described.

    These are the files that may have pictures, below roots that were last synced with another describer or with none.
    """
    with pipeline.database.read() as connection:
        describers = sources.described(connection)
    roots = {root.name: root for root in plan.roots if describers.get(root.name) != describer.key}

    def may_have_pictures(change: Change) -> bool:
        return change.root in roots and not is_harmless(text_to_path(roots[change.root].path(change.uri)))

    changes = (
        replace(change, kind="changed", touched=False)
        if change.kind == "same" and may_have_pictures(change)
        else change
        for change in plan.changes
    )
    return replace(plan, changes=tuple(changes))


def _load_descriptions(database: Database, keys: Sequence[bytes]) -> dict[bytes, str]:
    """Return the descriptions that the memo holds, by key. Keys without a description are left out."""
    with database.read() as connection:
        rows = memo.rows(connection, memo.DESCRIPTION, keys)
        values = memo.values(connection, rows.values())
    return {key: values[row].decode("utf-8", "replace") for key, row in rows.items() if row in values}


def _caption_documents(
    uri: str,
    part: Part,
    derivation: Derivation[Picture],
    captions: Mapping[bytes, Caption],
    problems: list[Problem],
) -> tuple[Document, ...]:
    """Return the documents of a part of a file with captions in place of picture marks."""
    if not part.pictures:
        return part.documents
    by_mark = {picture.mark: captions[derivation.key(picture)] for picture in part.pictures}
    captioned = [insert_captions(document, part.pictures, by_mark) for document in part.documents]
    for document, new in zip(part.documents, captioned, strict=True):
        if new is None:
            problems.append(Problem(document.uri or uri, "it has no text: nothing to index"))
    return tuple(new for new in captioned if new is not None)


@dataclass(frozen=True, slots=True)
class Caption:
    """Text that replaces a picture.

    If ``described`` is True, it is the model's description. Otherwise it is the words recognised in the picture, or
    empty.
    """

    text: str
    described: bool = False


@dataclass(frozen=True, slots=True)
class _TextEdit:
    """Replacement of the characters from ``start`` to ``end``.

    ``number`` is the number of the picture if the new text is its description; otherwise 0.
    """

    start: int
    end: int
    text: str
    number: int


def insert_captions(
    document: Document, pictures: Sequence[Picture], captions: Mapping[str, Caption]
) -> Document | None:
    """Return a document with captions in place of its picture marks; None if no text is left.

    ``captions`` maps the mark of a picture to its caption. Each description becomes a new
    :class:`~monograph.values.Place` of the document, so that chunks of the description are cited as the picture. The
    place that contained the picture, such as a page, continues after the description. The offsets of sections and
    places are adapted to the new text. Pictures whose marks are not in the document are skipped.
    """
    edits = []
    for picture in pictures:
        start = document.text.find(picture.mark)
        if start < 0:
            continue
        end, caption = start + len(picture.mark), captions[picture.mark]
        if caption.described:
            name = f"Picture {picture.number}" if picture.number else "Picture"
            edits.append(_TextEdit(start, end, f"{name}: {caption.text}", picture.number))
            continue
        if not caption.text and document.text.startswith(_SEPARATOR, end):
            end += len(_SEPARATOR)
        edits.append(_TextEdit(start, end, caption.text, 0))
    if not edits:
        return document
    edits.sort(key=lambda edit: edit.start)
    parts, position = [], 0
    for edit in edits:
        parts += [document.text[position : edit.start], edit.text]
        position = edit.end
    text = "".join([*parts, document.text[position:]]).rstrip()
    if not text:
        return None
    ends = [edit.end for edit in edits]
    shifts = [0, *accumulate(len(edit.text) - (edit.end - edit.start) for edit in edits)]

    def moved(offset: int) -> int:
        """Return the new value of an offset. An offset within replaced text moves to the start of the replacement."""
        count = bisect_right(ends, offset)
        return min([offset, *(edit.start for edit in edits[count : count + 1])]) + shifts[count]

    sections = tuple(replace(section, start=moved(section.start)) for section in document.sections)
    return replace(document, text=text, sections=sections, places=_shift_places(document, edits, moved, len(text)))


def _shift_places(
    document: Document, edits: Sequence[_TextEdit], moved: Callable[[int], int], length: int
) -> tuple[Place, ...]:
    starts = [place.start for place in document.places]

    def around(offset: int) -> Place:
        before = bisect_right(starts, offset)
        return document.places[before - 1] if before else Place(0)

    places: dict[int, Place] = {}
    for edit in edits:
        if edit.number:  # After a description, the place around the picture continues.
            after = moved(edit.end) + len(_SEPARATOR) * document.text.startswith(_SEPARATOR, edit.end)
            places[after] = replace(around(edit.start), start=after, boundary=True)
    for place in document.places:
        position = moved(place.start)
        places[position] = replace(place, start=position, boundary=place.boundary or position in places)
    for edit in edits:
        if edit.number:
            position = moved(edit.start)
            places[position] = replace(around(edit.start), start=position, boundary=True, picture=edit.number)
    return tuple(places[start] for start in sorted(places) if start < length)

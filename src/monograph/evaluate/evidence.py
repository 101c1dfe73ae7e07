"""Lookup of the documents that a question names as its evidence."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain
from pathlib import PurePosixPath

from monograph.errors import InputError
from monograph.evaluate.datasets import EvaluationQuestion, file_stem
from monograph.values import Document

SUGGESTED = 3
_LEAST_ALIKE = 0.6
_HINT = "give a document's id, its uri, the end of its uri, its file's name or its title"


def resolve(
    questions: Iterable[EvaluationQuestion], documents: Sequence[Document], place: str
) -> tuple[EvaluationQuestion, ...]:
    """Return the questions with the documents that their evidence names.

    A piece of evidence is a name: a document's id or uri, the end of its uri's path, its file name, or its title (case
    is ignored). The file name may lack the suffix. If one file has several documents, its name means all of them. If
    two names of one question mean the same documents, only the first name is kept. The texts of ``documents`` are not
    read. ``place`` is the name of the searched file, for error messages.

    Raises InputError if a name matches no document; the hint then suggests similar names. Raises InputError also if a
    name matches documents with different uris.
    """
    names = _EvidenceNames(documents, place)
    answered = []
    unknown: list[tuple[str, str]] = []
    for question in questions:
        matched: dict[frozenset[str], str] = {}
        for name in question.evidence_ids:
            if meant := names.find(name, question.id):
                matched.setdefault(meant, name)
            else:
                unknown.append((question.id, name))
        answered.append(replace(question, evidence_ids=tuple(matched.values()), documents=tuple(matched)))
    if unknown:
        (question_id, name), *more = unknown
        rest = f", nor do {len(more)} others" if len(more) > 1 else ", nor does one other" if more else ""
        similar = ", ".join(map(repr, names.suggest(name)))
        raise InputError(
            f"question {question_id!r}: evidence {name!r} matches no document in {place}{rest}",
            f"perhaps {similar}; {_HINT}" if similar else _HINT,
        )
    return tuple(answered)


class _EvidenceNames:
    """Names by which a piece of evidence may refer to the documents of a file."""

    def __init__(self, documents: Sequence[Document], place: str) -> None:
        self._place = place
        self._ids_by_uri: dict[str, list[str]] = defaultdict(list)
        self._ids = {document.id: document.uri or document.id for document in documents}
        for document in documents:
            self._ids_by_uri[document.uri or document.id].append(document.id)
        self._paths = {uri: _split_path(uri) for uri in self._ids_by_uri}
        self._files: dict[str, list[str]] = defaultdict(list)
        self._stems: dict[str, list[str]] = defaultdict(list)
        for uri, parts in self._paths.items():
            if parts:
                self._files[parts[-1]].append(uri)
                self._stems[PurePosixPath(parts[-1]).stem].append(uri)
        self._titles: dict[str, list[Document]] = defaultdict(list)
        for document in documents:
            if document.title.strip():
                self._titles[_fold(document.title)].append(document)

    def find(self, name: str, question: str) -> frozenset[str]:
        """Return the ids of the documents that a name means, or none. ``question`` is an id for error messages."""
        if name in self._ids:
            return frozenset([name])
        if name in self._ids_by_uri:
            return frozenset(self._ids_by_uri[name])
        if parts := _split_path(name):
            *folders, last = parts
            named = self._files.get(last, [])
            uris = (
                # The name is the end of a path.
                [uri for uri in named if _ends_with(self._paths[uri], parts)]
                # The name ends with a whole path: the longest counts.
                or sorted(
                    (uri for uri in named if _ends_with(parts, self._paths[uri])),
                    key=lambda uri: -len(self._paths[uri]),
                )[:1]
                # The name is the end of a path without its suffix.
                or [uri for uri in self._stems.get(last, []) if _ends_with(self._paths[uri][:-1], folders)]
                # The file that write_texts writes for a document with this id.
                or self._stems.get(file_stem(name), [])
            )
            if uris:
                return frozenset(self._ids_by_uri[self._require_single(uris, name, question)])
        titled = [document.id for document in self._titles.get(_fold(name), ())]
        if titled:
            self._require_single({self._ids[document_id] for document_id in titled}, name, question)
        return frozenset(titled)

    def _require_single(self, uris: Collection[str], name: str, question: str) -> str:
        if len(uris) > 1:
            examples = ", ".join(sorted(uris)[:SUGGESTED])
            raise InputError(
                f"question {question!r}: evidence {name!r} matches {len(uris)} documents in {self._place}",
                f"give more of the path, or the id: {examples}{' …' if len(uris) > SUGGESTED else ''}",
            )
        return next(iter(uris))

    def suggest(self, name: str) -> list[str]:
        """Return at most SUGGESTED file names, ids and titles of documents that are spelt similarly to a name."""
        names: dict[str, str] = {}
        titles = (documents[0].title for documents in self._titles.values())
        for spelling in chain(self._files, self._stems, self._ids, titles):
            names.setdefault(_fold(spelling), spelling)
        forms = dict.fromkeys((_fold(name), _fold(PurePosixPath(name).name), _fold(PurePosixPath(name).stem)))
        matches = [names[key] for form in forms for key in get_close_matches(form, names, SUGGESTED, _LEAST_ALIKE)]
        return list(dict.fromkeys(matches))[:SUGGESTED]


def _split_path(path: str) -> tuple[str, ...]:
    return tuple(part for part in unicodedata.normalize("NFC", path).split("/") if part not in ("", "."))


def _ends_with(path: Sequence[str], end: Sequence[str]) -> bool:
    return len(end) <= len(path) and (not end or tuple(path[-len(end) :]) == tuple(end))


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())

"""Documents that a question names as its evidence."""

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
    """Return the questions, each with the documents that its evidence names.

    A piece of evidence may be a document's id, its uri, the end of its uri's path, its file's name with or without the
    suffix, or its title in any case. If one file has several documents, its name means any of them. A piece that a
    question names twice counts once.

    Parameters
    ----------
    questions:
        Questions with the names of their evidence.
    documents:
        All documents of the file; their texts are not read.
    place:
        Name of the file, for errors.

    Raises
    ------
    InputError
        If a piece of evidence names no document, with suggestions of similar names; or if it names several.
    """
    return EvidenceNames(documents, place).resolved(questions)


class EvidenceNames:
    """Names by which evidence may refer to the documents of a file."""

    def __init__(self, documents: Sequence[Document], place: str) -> None:
        self._place = place
        self._of_file: dict[str, list[str]] = defaultdict(list)
        self._ids = {document.id: document.uri or document.id for document in documents}
        for document in documents:
            self._of_file[document.uri or document.id].append(document.id)
        self._paths = {uri: _parts(uri) for uri in self._of_file}
        self._files: dict[str, list[str]] = defaultdict(list)
        self._stems: dict[str, list[str]] = defaultdict(list)
        for uri, parts in self._paths.items():
            if parts:
                self._files[parts[-1]].append(uri)
                self._stems[PurePosixPath(parts[-1]).stem].append(uri)
        self._titles: dict[str, list[Document]] = defaultdict(list)
        for document in documents:
            if document.title.strip():
                self._titles[_folded(document.title)].append(document)

    def resolved(self, questions: Iterable[EvaluationQuestion]) -> tuple[EvaluationQuestion, ...]:
        """Return the questions with their documents: see :func:`resolve`."""
        made = []
        unknown: list[tuple[str, str]] = []
        for question in questions:
            found: dict[frozenset[str], str] = {}
            for name in question.evidence_ids:
                meant = self._meant(name, question.id)
                if meant:
                    found.setdefault(meant, name)
                else:
                    unknown.append((question.id, name))
            made.append(replace(question, evidence_ids=tuple(found.values()), documents=tuple(found)))
        if unknown:
            raise self._error(unknown)
        return tuple(made)

    def _meant(self, name: str, question: str) -> frozenset[str]:
        if name in self._ids:
            return frozenset([name])
        if name in self._of_file:
            return frozenset(self._of_file[name])
        parts = _parts(name)
        for uris in (self._ending(parts), self._ended(parts), self._stemmed(parts, name)):
            if uris:
                return frozenset(self._of_file[self._only(uris, name, question)])
        titled = [document.id for document in self._titles.get(_folded(name), ())]
        if titled:
            self._only({self._ids[one] for one in titled}, name, question)
        return frozenset(titled)

    def _ending(self, parts: Sequence[str]) -> Collection[str]:
        """Return the uris whose paths end in the given path."""
        return [one for one in self._files.get(parts[-1], ()) if _ends(self._paths[one], parts)] if parts else ()

    def _ended(self, parts: Sequence[str]) -> Collection[str]:
        """Return the uri with the longest path in which the given path ends; none if there is no such uri."""
        ends = [one for one in self._files.get(parts[-1], ()) if _ends(parts, self._paths[one])] if parts else []
        return [max(ends, key=lambda one: len(self._paths[one]))] if ends else ()

    def _stemmed(self, parts: Sequence[str], name: str) -> Collection[str]:
        """Return the uris whose paths end in the given path, except for the suffix.

        If there is none, return the file that :func:`write_texts` would name by this id.
        """
        if not parts:
            return ()
        near = [one for one in self._stems.get(parts[-1], ()) if _ends(self._paths[one][:-1], parts[:-1])]
        return near or self._stems.get(file_stem(name), ())

    def _only(self, uris: Collection[str], name: str, question: str) -> str:
        if len(uris) > 1:
            some = ", ".join(sorted(uris)[:SUGGESTED])
            raise InputError(
                f"question {question!r}: evidence {name!r} matches {len(uris)} documents in {self._place}",
                f"give more of the path, or the id: {some}{' …' if len(uris) > SUGGESTED else ''}",
            )
        return next(iter(uris))

    def _error(self, unknown: Sequence[tuple[str, str]]) -> InputError:
        (question, name), *more = unknown
        others = f", nor do {len(more)} others" if len(more) > 1 else ", nor does one other" if more else ""
        near = ", ".join(map(repr, self._near(name)))
        return InputError(
            f"question {question!r}: evidence {name!r} matches no document in {self._place}{others}",
            f"perhaps {near}; {_HINT}" if near else _HINT,
        )

    def _near(self, name: str) -> list[str]:
        """Return names that are spelt similarly."""
        called: dict[str, str] = {}
        titles = (some[0].title for some in self._titles.values())
        for one in chain(self._files, self._stems, self._ids, titles):
            called.setdefault(_folded(one), one)
        asked = dict.fromkeys((_folded(name), _folded(PurePosixPath(name).name), _folded(PurePosixPath(name).stem)))
        near = [called[key] for one in asked for key in get_close_matches(one, called, SUGGESTED, _LEAST_ALIKE)]
        return list(dict.fromkeys(near))[:SUGGESTED]


def _parts(path: str) -> tuple[str, ...]:
    return tuple(one for one in unicodedata.normalize("NFC", path).split("/") if one not in ("", "."))


def _ends(path: Sequence[str], end: Sequence[str]) -> bool:
    return len(end) <= len(path) and (not end or tuple(path[-len(end) :]) == tuple(end))


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())

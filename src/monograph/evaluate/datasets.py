"""Question sets: ``corpus.jsonl`` and ``queries.jsonl``, plain or gzip, one JSON object a line.

A line of the corpus has ``id``, ``title``, ``text`` and optionally ``meta``, the metadata of the document. A line of
the queries has ``question`` and optionally ``id``, ``answers``, ``evidence_ids`` and ``type``. A query without an
``id`` has the number of its line as id.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monograph.errors import InputError, SourceMissing
from monograph.regex import regex
from monograph.values import Document, content_id

_SAFE_NAME = regex(r"[\w][\w.-]{0,99}")


@dataclass(frozen=True, slots=True)
class EvaluationQuestion:
    """A question of a question set.

    ``answers`` are the correct answers. ``evidence_ids`` are names of the documents that answer the question; each name
    is a piece of evidence. ``type`` is the kind of question; it is empty if the question set has no kinds.
    ``documents`` has, for each name, the ids of all documents with this name. ``documents`` is empty until
    :func:`monograph.evaluate.evidence.resolve` has looked up the names.
    """

    id: str
    question: str
    answers: tuple[str, ...] = ()
    evidence_ids: tuple[str, ...] = ()
    type: str = ""
    documents: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A corpus of documents, and the questions about it."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[EvaluationQuestion, ...]


def load_dataset(folder: Path) -> QuestionSet:
    """Return the question set in a folder.

    Raises SourceMissing if the folder has no corpus or no queries. Raises InputError if a file cannot be read, or if a
    line is invalid. The message names the file and the line; if the line is not JSON, only the file.
    """
    documents = tuple(
        Document(
            _read_text(row, "text", where),
            _read_text(row, "id", where),
            str(row.get("title") or ""),
            metadata=row.get("meta") or row.get("metadata") or {},
        )
        for where, row in _read_lines(_find_file(folder, "corpus"))
    )
    return QuestionSet(folder.resolve().name, documents, questions_of(folder))


def load_questions(path: Path) -> tuple[EvaluationQuestion, ...]:
    """Return the questions in a file that has the format of ``queries.jsonl``.

    Raises SourceMissing if the file does not exist, and InputError if the file or one of its lines is invalid.
    """
    return tuple(_read_question(row, where) for where, row in _read_lines(path))


def questions_of(folder: Path) -> tuple[EvaluationQuestion, ...]:
    """Return the questions of the question set in a folder, without its corpus.

    Raises SourceMissing if the folder has no queries, and InputError if the queries cannot be read or are invalid.
    """
    return load_questions(_find_file(folder, "queries"))


def write_texts(dataset: QuestionSet, folder: Path) -> None:
    """Write each document as a text file in UTF-8, so that the folder can be synced.

    The file name is the result of :func:`file_stem` for the document's id, followed by ``.txt``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for document in dataset.documents:
        (folder / f"{file_stem(document.id)}.txt").write_text(document.text, encoding="utf-8")


def file_stem(document_id: str) -> str:
    """Return the name of a document's text file, without the suffix.

    It is the id of the document, or a hash of it if the id cannot be a file name.
    """
    return document_id if _SAFE_NAME.fullmatch(document_id) else content_id("file name", document_id)


def _find_file(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.jsonl.gz", folder / f"{name}.jsonl"):
        if path.is_file():
            return path
    raise SourceMissing(f"{folder} has no {name}.jsonl or {name}.jsonl.gz", "give the folder of a question set")


def _read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise InputError(f"{path}:{number} is not an object", "write one JSON object per line")
                    yield f"{path}:{number}", row
    except FileNotFoundError as error:
        raise SourceMissing(f"{path} does not exist", "check the path") from error
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}", "write one JSON object per line, in UTF-8") from error


def _read_question(row: dict[str, Any], where: str) -> EvaluationQuestion:
    answers, evidence = row.get("answers") or [], row.get("evidence_ids") or []
    if not isinstance(answers, list) or not isinstance(evidence, list):
        raise InputError(f"{where}: answers and evidence_ids must be lists", "correct the line")
    return EvaluationQuestion(
        id=str(row.get("id") or where.rpartition(":")[2]),
        question=_read_text(row, "question", where),
        answers=tuple(str(answer) for answer in answers),
        evidence_ids=tuple(str(name) for name in evidence),
        type=str(row.get("type") or ""),
    )


def _read_text(row: dict[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if value is None or not str(value).strip():
        raise InputError(f"{where} has no {name!r}", "correct the line")
    return str(value)

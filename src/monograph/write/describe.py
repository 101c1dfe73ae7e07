"""Pictures on their way in are described, each once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, ExitStack, nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from types import TracebackType

from monograph.derive.describe import WORKERS, description_price
from monograph.errors import ModelUnavailable, MonographError, SourceError
from monograph.models import Completion, Describer
from monograph.read.compose import clean
from monograph.read.file import Part, is_harmless
from monograph.read.kept import Picture
from monograph.read.limits import Limits
from monograph.read.paths import text_to_path
from monograph.read.recogniser import Recogniser
from monograph.read.source import is_installed
from monograph.store.file import memo, settings
from monograph.store.file.database import Database
from monograph.values import Change, Document, Plan, Problem, Root, content_hash
from monograph.write.pipeline import Pipeline
from monograph.write.woven import Said, woven

MOST_CHARACTERS = 8_000
"""Of a description; what is beyond is left out."""

PATIENCE = 3
"""Calls that fail one after the other, after which no more are made by the same sync."""

_OCR = "rapidocr"


def description_key(describer: Describer, digest: bytes) -> bytes:
    """The memo key of what a describer says of a picture, by the SHA-256 of its bytes."""
    return content_hash("describe", describer.key, digest.hex())


@dataclass(slots=True)
class Describing:
    """Puts descriptions into the documents of a sync, file after file. A context manager.

    What a model says is remembered at once. A picture that it fails on gets the words that are recognised in it, where
    the extra ``ocr`` is installed, and is a problem.

    Parameters
    ----------
    database:
        Whose memo has what was said before.
    describer:
        Asked for the rest.
    limits:
        For recognition.
    """

    database: Database
    describer: Describer
    limits: Limits
    described: int = 0
    _failed: int = 0
    _closing: ExitStack = field(default_factory=ExitStack)
    _recogniser: Recogniser | None = None

    def __enter__(self) -> Describing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    def documents(self, uri: str, part: Part, problems: list[Problem]) -> tuple[Document, ...]:
        """The documents of a part of a file, with texts in place of pictures; what failed is added to the problems."""
        if not part.pictures:
            return part.documents
        keys = {one.mark: description_key(self.describer, one.digest) for one in part.pictures}
        known = remembered(self.database, list(keys.values()))
        lacking = {keys[one.mark]: one for one in part.pictures if keys[one.mark] not in known}
        errors: dict[bytes, Exception] = {}
        for key, answer in self._asked(lacking):
            if isinstance(answer, Completion):
                known[key] = answer.text
            else:
                errors[key] = answer
        if errors:
            problems.append(_problem(uri, list(errors.values())))
        words = {key: self._words(lacking[key]) for key in errors}
        said = {
            mark: Said(known[key], described=True) if key in known else Said(words[key]) for mark, key in keys.items()
        }
        return in_places(uri, part, said, problems)

    def _asked(self, lacking: dict[bytes, Picture]) -> Iterator[tuple[bytes, Completion | Exception]]:
        """(key, what was said, or why nothing) of each picture, as it comes."""
        left = iter(lacking.items())
        threads = ThreadPoolExecutor(WORKERS, thread_name_prefix="describe")
        try:
            while some := [pair for pair, _ in zip(left, range(WORKERS), strict=False)]:
                calls = {threads.submit(copy_context().run, self._describe, picture): key for key, picture in some}
                for call in as_completed(calls):
                    answer = call.result()
                    if isinstance(answer, Completion):
                        self._failed, self.described = 0, self.described + 1
                        value = (calls[call], answer.text.encode(), answer.tokens_in + answer.tokens_out)
                        with self.database.write() as connection:
                            memo.put(connection, memo.DESCRIPTION, [value])
                    else:
                        self._failed += 1
                    yield calls[call], answer
        finally:
            threads.shutdown(cancel_futures=True)

    def _describe(self, picture: Picture) -> Completion | Exception:
        if self._failed >= PATIENCE:
            return ModelUnavailable(
                f"{self.describer.key} failed {self._failed} times running, and was not asked any more",
                "see that it answers, then monograph retry FILE",
            )
        try:
            answer = self.describer.describe(picture.data, picture.media_type)
            text = clean(answer.text).strip()[:MOST_CHARACTERS].rstrip()
        except Exception as error:  # Whatever a model of somebody's own raises, the batch goes on.
            return error
        if not text:
            return ModelUnavailable(f"{self.describer.key} said nothing of a picture", "use another model")
        return Completion(text, answer.tokens_in, answer.tokens_out)

    def _words(self, picture: Picture) -> str:
        if not is_installed(_OCR):
            return ""
        if self._recogniser is None:
            self._recogniser = self._closing.enter_context(Recogniser(self.limits))
        try:
            return self._recogniser.words(picture.data)
        except SourceError:
            return ""  # Why it was not described is told already.


@dataclass(slots=True)
class Pricing:
    """Counts the pictures that a sync would have described, each once, and asks nobody.

    ``tokens`` are about those of the calls. In the documents a line stands for each description that is still to be
    made.
    """

    database: Database
    describer: Describer
    pictures: int = 0
    calls: int = 0
    tokens: int = 0
    _seen: set[bytes] = field(default_factory=set)

    def documents(self, uri: str, part: Part, problems: list[Problem]) -> tuple[Document, ...]:
        """As :meth:`Describing.documents`."""
        if not part.pictures:
            return part.documents
        keys = {one.mark: description_key(self.describer, one.digest) for one in part.pictures}
        known = remembered(self.database, list(keys.values()))
        lacking = {keys[one.mark]: one for one in part.pictures if keys[one.mark] not in known}
        fresh = [one.pixels for key, one in lacking.items() if key not in self._seen]
        self._seen.update(lacking)
        calls, tokens = description_price(self.describer, fresh)
        self.pictures, self.calls, self.tokens = self.pictures + len(fresh), self.calls + calls, self.tokens + tokens
        said = {mark: Said(known.get(key, key.hex()), described=True) for mark, key in keys.items()}
        return in_places(uri, part, said, problems)


def describing(pipeline: Pipeline, limits: Limits) -> AbstractContextManager[Describing | None]:
    """What describes pictures while files are read; None where the file has no describer."""
    if pipeline.describer is None:
        return nullcontext()
    return Describing(pipeline.database, pipeline.describer, limits)


def read_again(pipeline: Pipeline, plan: Plan) -> Plan:
    """A plan in which the files that may hold pictures are read again, where another describer saw them, or none."""
    if pipeline.describer is None:
        return plan
    with pipeline.database.read() as connection:
        known = settings.load_described(connection)
    roots = {root.name: root for root in plan.roots if known.get(root.name) != pipeline.describer.key}
    return replace(
        plan, changes=tuple(_again(one, roots[one.root]) if one.root in roots else one for one in plan.changes)
    )


def _again(change: Change, root: Root) -> Change:
    if change.kind != "same" or is_harmless(text_to_path(root.path(change.uri))):
        return change
    return replace(change, kind="changed", touched=False)


def remember_described(pipeline: Pipeline, plan: Plan) -> None:
    """Note of the roots that were looked through whole by whom their pictures are described."""
    if pipeline.describer is None:
        return
    key = pipeline.describer.key
    whole = {root.name: key for root in plan.roots if root.name in plan.seen}
    with pipeline.database.read() as connection:
        known = settings.load_described(connection)
    if whole and known != known | whole:
        with pipeline.database.write() as connection:
            settings.save_described(connection, settings.load_described(connection) | whole)


def remembered(database: Database, keys: Sequence[bytes]) -> dict[bytes, str]:
    """What was said of pictures before, by key."""
    with database.read() as connection:
        held = memo.rows(connection, memo.DESCRIPTION, keys)
        values = memo.values(connection, held.values())
    return {key: values[row].decode("utf-8", "replace") for key, row in held.items() if row in values}


def in_places(uri: str, part: Part, said: dict[str, Said], problems: list[Problem]) -> tuple[Document, ...]:
    """The documents of a part with these texts in place of its marks; one of which nothing is left is a problem."""
    made = [woven(document, part.pictures, said) for document in part.documents]
    for document, left in zip(part.documents, made, strict=True):
        if left is None:
            problems.append(Problem(document.uri or uri, "it has no text: nothing to index"))
    return tuple(one for one in made if one is not None)


def _problem(uri: str, errors: Sequence[Exception]) -> Problem:
    first = errors[0]
    many = f"{len(errors)} pictures in it were" if len(errors) > 1 else "a picture in it was"
    told = isinstance(first, MonographError)
    reason = first.message if isinstance(first, MonographError) else f"{type(first).__name__}: {first}"
    mend = first.mend if isinstance(first, MonographError) else ""
    return Problem(uri, f"{many} not described: {reason}", mend if told and mend else "monograph retry")

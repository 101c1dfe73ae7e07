"""Routes that answer questions, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from monograph.app.command import where_of
from monograph.app.serve.events import Event
from monograph.app.serve.finding import MOST_HITS
from monograph.app.serve.served import Served
from monograph.values import Answer, Citation, Context, Turn
from monograph.values.arguments import BUDGET, FOUND


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: parameters as for ``monograph ask``."""

    q: str
    budget: int = BUDGET
    k: int = FOUND
    how: str = "auto"
    where: tuple[str, ...] = ()
    threshold: float | None = None
    file: str = ""
    as_of: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """A turn of a conversation, as the page keeps it.

    Parameters
    ----------
    question:
        As it was asked.
    answer:
        The text of the answer.
    query:
        The answer's ``query``.
    title:
        The title of the first citation of its context.
    """

    question: str
    answer: str = ""
    query: str = ""
    title: str = ""

    def turn(self) -> Turn:
        """What the library takes for it."""
        first = (Citation(1, self.title, "", "", (), (), "", summary=False, value=0.0),) if self.title else ()
        context = Context(self.question, first)
        return Turn(self.question, Answer(self.answer, (), context, query=self.query))


@dataclass(frozen=True, slots=True)
class Chatted:
    """What is asked in a conversation: parameters as for ``ask``, and the turns before it."""

    q: str
    history: tuple[Said, ...] = ()
    budget: int = BUDGET
    k: int = FOUND
    how: str = "auto"
    where: tuple[str, ...] = ()
    threshold: float | None = None
    file: str = ""
    as_of: str = ""


def ask(served: Served, asked: Question) -> Iterator[Event]:
    """Answer a question: as ``monograph ask --json`` prints it, or piece by piece."""
    return _answered(served, asked, ())


def chat(served: Served, asked: Chatted) -> Iterator[Event]:
    """Answer a question in the light of those before it."""
    return _answered(served, asked, asked.history)


def _answered(served: Served, asked: Question | Chatted, history: tuple[Said, ...]) -> Iterator[Event]:
    pieces = served.archive(asked.file).stream(
        asked.q,
        asked.budget,
        history=[one.turn() for one in history],
        k=min(asked.k, MOST_HITS),
        how=asked.how,
        where=where_of(list(asked.where)),
        threshold=asked.threshold,
        as_of=asked.as_of or None,
    )
    for piece in pieces:
        yield Event("answer", piece) if isinstance(piece, Answer) else Event("piece", {"text": piece})

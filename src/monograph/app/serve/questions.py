"""Operations that search, build contexts and answer questions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Interval
from fastapi import Body, Query, Request
from pydantic import BaseModel, ConfigDict
from sse_starlette import ServerSentEvent
from starlette.responses import Response

from monograph.app import answer_output, document_output
from monograph.app.command import combine_filters
from monograph.app.serve.operations import (
    EVENTS,
    FROM_WHOLE_FLOAT,
    AsOf,
    FromArchive,
    FromArchiveInBody,
    How,
    Items,
    MostHits,
    Operations,
    Question,
    RankedRecall,
    ServedFiles,
    Stop,
    Where,
)
from monograph.app.serve.pieces import Marks, Piece, Words
from monograph.app.serve.replies import Fault, Json, event, fault_of, streamed
from monograph.app.serve.served import Served
from monograph.app.serve.threads import iterate_on
from monograph.errors import MonographError
from monograph.values import DEFAULT_CUT, Answer, Citation, Context, Hit, PassageOrder, Turn, cite
from monograph.values.arguments import BUDGET, FOUND

router = Operations()

Share = Annotated[float, Interval(ge=0, le=1)]
Threshold = Annotated[Share | None, Query(description="Minimum confidence of an answer, from 0 to 1.")]
Budget = Annotated[int, Query(ge=1, description="Maximum number of tokens of the context.")]


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A hit, and how to show it.

    Parameters
    ----------
    hit:
        As ``monograph search --json`` prints it.
    why:
        How it was found, on one line.
    way:
        Its path through the graph, in words; empty if it has none.
    place:
        ``page 3``, ``sheet Sales, rows 4-9``; empty if it has none.
    section:
        The headings above it, without its document's title.
    pieces:
        Its text, with the words of the query marked; offsets into the document, or into a summary.
    """

    hit: Hit
    why: str
    way: str
    place: str
    section: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class FoundInFile:
    """Hits in one file.

    Parameters
    ----------
    file:
        Name of the file.
    relevance:
        Probability, 0 to 1, that the file answers the query.
    doubt:
        A warning that perhaps nothing relevant was found; empty if there is no doubt.
    hits:
        The hits, best first.
    error:
        Why the file could not be searched; null if it was.
    """

    file: str
    relevance: float = 0.0
    doubt: str = ""
    hits: tuple[FoundHit, ...] = ()
    error: Fault | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Hits grouped by file; scores of different files are not comparable."""

    query: str
    files: tuple[FoundInFile, ...]


@router.get("/search")
def search(
    served: ServedFiles,
    q: Question,
    k: MostHits = 5,
    how: How = "auto",
    where: Where = (),
    file: Annotated[tuple[str, ...], Query(description="Names of served files; by default all.")] = (),
    as_of: AsOf = "",
    stop: Stop = "",
    ranked_recall: RankedRecall = None,
) -> Found:
    """Find passages, grouped by file."""
    archives = [served.named(name) for name in dict.fromkeys(file)] or list(served.files.items())
    words, results = Words(q), []
    for name, archive in archives:
        try:
            context = archive.context(
                q, k=k, how=how, where=combine_filters(where), as_of=as_of or None, stop=stop or None,
                ranked_recall=ranked_recall,
            )  # fmt: skip
        except MonographError as error:
            # The error of a single file is raised; among several files, it is reported next to the hits of the others.
            if len(archives) == 1:
                raise
            results.append(FoundInFile(name, error=fault_of(error)))
        else:
            hits = tuple(_as_found_hit(hit, words) for hit in context.hits)
            doubt = answer_output.doubt_warning(q, context.hits, context.relevance)
            results.append(FoundInFile(name, context.relevance, doubt, hits))
    return Found(q, tuple(results))


def _as_found_hit(hit: Hit, words: Words) -> FoundHit:
    offset = 0 if hit.summary else hit.chunk.start
    cut = Marks(words=words).cut(hit.text, 0, len(hit.text))
    pieces = tuple(replace(piece, start=piece.start + offset, end=piece.end + offset) for piece in cut)
    way = "" if hit.path is None else str(hit.path)
    if hit.summary:
        return FoundHit(hit, hit.explain(), way, "", "", pieces)
    section = document_output.section_of(hit.title, hit.metadata)
    return FoundHit(hit, hit.explain(), way, cite(hit.metadata), section, pieces)


@router.get("/context")
def context(
    archive: FromArchive,
    q: Question,
    budget: Budget = BUDGET,
    k: MostHits = FOUND,
    cut: Annotated[Share, Query(description="Share of the passages to cut away, from 0 to 1.")] = DEFAULT_CUT,
    order: PassageOrder = "relevance",
    how: How = "auto",
    where: Where = (),
    threshold: Annotated[Share, Query(description="Minimum relevance of the passages, from 0 to 1.")] = 0.0,
    as_of: AsOf = "",
) -> Context:
    """Build the context for a model's answer to a question, as `monograph context --json` prints it."""
    condition, moment = combine_filters(where), as_of or None
    return archive.context(
        q, budget, k=k, how=how, where=condition, cut=cut, order=order, threshold=threshold, as_of=moment
    )


class Said(BaseModel):
    """A previous turn of a conversation; ``title`` is the title of its context's first citation."""

    model_config = ConfigDict(extra="forbid")

    question: str
    answer: str = ""
    query: str = ""
    title: str = ""

    def turn(self) -> Turn:
        """Convert the turn to a :class:`monograph.values.Turn`."""
        first = (Citation(1, self.title, "", "", (), (), "", summary=False, value=0.0),) if self.title else ()
        return Turn(self.question, Answer(self.answer, (), Context(self.question, first), query=self.query))


@router.get("/ask", response_model=Answer, responses=EVENTS)
async def ask(
    request: Request,
    archive: FromArchive,
    q: Question,
    budget: Budget = BUDGET,
    k: MostHits = FOUND,
    how: How = "auto",
    where: Where = (),
    threshold: Threshold = None,
    as_of: AsOf = "",
) -> Response:
    """Answer a question: as `monograph ask --json` prints it, or as a stream of events."""

    def answer() -> Iterator[str | Answer]:
        return archive.stream(
            q, budget, k=k, how=how, where=combine_filters(where), threshold=threshold, as_of=as_of or None
        )

    return await _answer(request, answer)


@router.post("/chat", response_model=Answer, responses=EVENTS)
async def chat(
    request: Request,
    archive: FromArchiveInBody,
    q: Annotated[str, Body()],
    history: Annotated[tuple[Said, ...], Body()] = (),
    budget: Annotated[int, Interval(ge=1), FROM_WHOLE_FLOAT, Body(strict=True)] = BUDGET,
    k: Annotated[Items, FROM_WHOLE_FLOAT, Body(strict=True)] = FOUND,
    how: Annotated[str, Body()] = "auto",
    where: Annotated[tuple[str, ...], Body()] = (),
    threshold: Annotated[Share | None, Body()] = None,
    as_of: Annotated[str, Body()] = "",
) -> Response:
    """Answer a question of a conversation: parameters as for `ask`, and the previous turns."""
    turns, condition, moment = [turn.turn() for turn in history], combine_filters(where), as_of or None

    def answer() -> Iterator[str | Answer]:
        return archive.stream(
            q, budget, history=turns, k=k, how=how, where=condition, threshold=threshold, as_of=moment
        )

    return await _answer(request, answer)


async def _answer(request: Request, answer: Callable[[], Iterator[str | Answer]]) -> Response:
    """Respond with an answer: as events, piece by piece, to clients that accept them, else as JSON."""
    served: Served = request.app.state.served

    def events() -> Generator[ServerSentEvent]:
        for piece in answer():
            yield event("answer", piece) if isinstance(piece, Answer) else event("piece", {"text": piece})

    if "text/event-stream" in request.headers.get("accept", ""):
        return await streamed(iterate_on(served.slow, events))
    return await served.run(lambda: Json([*answer()][-1]), slow=True)

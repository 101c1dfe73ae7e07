"""Evaluation of search modes on a question set: runs, scores, tables and plots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from monograph.derive.tokens import count_tokens
from monograph.errors import MissingExtra
from monograph.evaluate import metrics
from monograph.evaluate.answers import AnswerScores
from monograph.evaluate.datasets import EvaluationQuestion, file_stem
from monograph.search.query import Strategy
from monograph.values import Hit

CURVE = 10
"""Recall is computed for each k from 1 to this value."""

CHUNKS_A_DOCUMENT = 4
"""Number of chunks to request for each of the max(k, CURVE) documents that the metrics need. If the chunks belong to
fewer documents, the search is repeated with twice as many."""

MOST_CHUNKS = 400


class Searcher(Protocol):
    """Interface of a search that is measured, such as :meth:`monograph.Monograph.search`."""

    def search(self, query: str, k: int = 5, how: str | Strategy = "auto") -> list[Hit]:
        """Return at most k hits, best first."""
        ...


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """Mean scores of a search mode over questions.

    ``questions`` is the number of questions that have evidence. ``recall`` has one value for each k from 1 to 10.
    ``all_evidence``, ``ranked_recall`` and ``answered`` are computed for the k of the run. ``answered`` is the mean
    over the questions that have answers; all other scores are means over the questions that have evidence.
    """

    questions: int
    recall: tuple[float, ...]
    all_evidence: float
    reciprocal_rank: float
    ranked_recall: float
    answered: float


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one search mode on one question set.

    ``how`` is the search mode and ``scores`` are its mean scores. ``by_type`` has the scores for each type of question.
    ``without_evidence`` is the number of questions without evidence. ``p50``, ``p95`` and ``p99`` are percentiles of
    the time of a search for k chunks, in milliseconds. ``context_tokens`` is the mean number of tokens of the first k
    chunks together. ``answers`` has the scores of answers, if they were measured.
    """

    how: str
    k: int
    scores: RetrievalScores
    by_type: tuple[tuple[str, RetrievalScores], ...]
    without_evidence: int
    p50: float
    p95: float
    p99: float
    context_tokens: float
    answers: AnswerScores | None = None


@dataclass(frozen=True, slots=True)
class _AskedQuestion:
    question: EvaluationQuestion
    found: tuple[str, ...]
    context: str
    milliseconds: float


def evaluate(searcher: Searcher, questions: Sequence[EvaluationQuestion], how: str | Strategy, k: int = 5) -> Result:
    """Return the scores of a search mode on questions.

    ``k`` is the number of documents for the metrics, and the number of chunks for latency and context. Questions
    without evidence count only for latency, context and answers.

    First, a warm-up search is made. Then one search for k chunks is timed for each question. Further searches, not
    timed, find enough documents for the metrics.

    Metrics are computed from the documents of the hits. If :func:`monograph.evaluate.evidence.resolve` has looked up
    the evidence, a document is evidence if a name in the evidence means it. Documents of one name count once.
    Without this lookup, a document is evidence if the evidence has its id, or its file name without suffix.
    """
    names = {file_stem(name): name for question in questions for name in question.evidence_ids}
    if questions:
        searcher.search(questions[0].question, k, how=how)
    answers = [_ask(searcher, question, how, k, names) for question in questions]
    latencies = [answer.milliseconds for answer in answers]
    kinds = sorted({answer.question.type for answer in answers if answer.question.evidence_ids})
    tokens = count_tokens([answer.context for answer in answers])
    return Result(
        how=str(how),
        k=k,
        scores=_compute_scores(answers, k),
        by_type=tuple(
            (kind, _compute_scores([answer for answer in answers if answer.question.type == kind], k)) for kind in kinds
        ),
        without_evidence=sum(not question.evidence_ids for question in questions),
        p50=metrics.percentile(latencies, 0.5),
        p95=metrics.percentile(latencies, 0.95),
        p99=metrics.percentile(latencies, 0.99),
        context_tokens=metrics.mean(tokens),
    )


def _ask(
    searcher: Searcher, question: EvaluationQuestion, how: str | Strategy, k: int, names: Mapping[str, str]
) -> _AskedQuestion:
    started = time.perf_counter()
    hits = searcher.search(question.question, k, how=how)
    milliseconds = (time.perf_counter() - started) * 1000
    context = "\n\n".join(hit.chunk.text for hit in hits)
    needed = max(k, CURVE)
    requested = CHUNKS_A_DOCUMENT * needed
    while True:
        more = searcher.search(question.question, requested, how=how)
        document_ids = tuple(dict.fromkeys(_document_of(hit, question, names) for hit in more))
        if len(document_ids) >= needed or len(more) < requested or requested >= MOST_CHUNKS:
            return _AskedQuestion(question, document_ids, context, milliseconds)
        requested *= 2


def _document_of(hit: Hit, question: EvaluationQuestion, names: Mapping[str, str]) -> str:
    """Return the name of a hit's document in the evidence, or else the document's id."""
    for name, documents in zip(question.evidence_ids, question.documents, strict=False):
        if hit.chunk.document_id in documents:
            return name
    if question.documents:
        return hit.chunk.document_id
    # ``names`` maps the file stems of the pieces of evidence to the pieces.
    return names.get(PurePosixPath(hit.uri).stem, hit.chunk.document_id)


def _compute_scores(answers: Sequence[_AskedQuestion], k: int) -> RetrievalScores:
    with_evidence = [answer for answer in answers if answer.question.evidence_ids]
    with_answers = [answer for answer in answers if answer.question.answers]

    def mean(metric: Callable[..., float], *cutoff: int) -> float:
        return metrics.mean([metric(answer.found, answer.question.evidence_ids, *cutoff) for answer in with_evidence])

    return RetrievalScores(
        questions=len(with_evidence),
        recall=tuple(mean(metrics.recall_at_k, cutoff) for cutoff in range(1, CURVE + 1)),
        all_evidence=mean(metrics.all_evidence_at_k, k),
        reciprocal_rank=mean(metrics.reciprocal_rank),
        ranked_recall=mean(metrics.ranked_recall_at_k, k),
        answered=metrics.mean(
            [metrics.contains_answer(answer.context, answer.question.answers) for answer in with_answers]
        ),
    )


def compare(
    searcher: Searcher, questions: Sequence[EvaluationQuestion], hows: Iterable[str | Strategy], k: int = 5
) -> list[Result]:
    """Return the results of several search modes on the same questions, in the order of ``hows``."""
    return [evaluate(searcher, questions, how, k) for how in hows]


def headings(k: int) -> tuple[str, ...]:
    """Return the headings of the columns of :func:`row`. ``k`` is the k of the run."""
    return ("how", "questions", "R@1", f"R@{k}", "R@10", f"all@{k}", "MRR", f"ranked@{k}", f"answer@{k}")


def row(result: Result) -> tuple[str, ...]:
    """Return the scores of a result as a row of a table: see :func:`headings`."""
    scores = result.scores
    at_k = scores.recall[min(result.k, CURVE) - 1]
    shares = (scores.recall[0], at_k, scores.recall[-1], scores.all_evidence, scores.reciprocal_rank)
    more = (scores.ranked_recall, scores.answered)
    return (result.how, str(scores.questions), *(f"{share:.3f}" for share in (*shares, *more)))


COST_HEADINGS = ("how", "p50 ms", "p95 ms", "p99 ms", "context tokens")
"""Headings of the columns of :func:`cost_row`."""


def cost_row(result: Result) -> tuple[str, ...]:
    """Return the latencies and the tokens of a result as a row of a table: see COST_HEADINGS."""
    times = (result.p50, result.p95, result.p99)
    return (result.how, *(f"{latency:.2f}" for latency in times), f"{result.context_tokens:.0f}")


def type_row(kind: str, scores: RetrievalScores, k: int) -> tuple[str, ...]:
    """Return the scores of one type of question as a row of a table.

    The columns are the type, the number of questions, recall at k, all evidence at k, and the mean reciprocal rank.
    """
    shares = (scores.recall[min(k, CURVE) - 1], scores.all_evidence, scores.reciprocal_rank)
    return (kind, str(scores.questions), *(f"{share:.3f}" for share in shares))


def save_plot(results: Sequence[Result], name: str, path: Path) -> None:
    """Write two plots into a PNG file: recall@k by search mode, and recall against latency.

    ``name`` is the title of the first plot. Raises MissingExtra if matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("plots need matplotlib", 'pip install "monograph[bench]"') from error
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    curve, speed = figure.subplots(1, 2)
    for result in results:
        ks = range(1, len(result.scores.recall) + 1)
        curve.plot(ks, result.scores.recall, marker="o", markersize=3, label=result.how)
        at_k = result.scores.recall[min(result.k, len(result.scores.recall)) - 1]
        speed.scatter(result.p50, at_k, label=result.how)
        speed.annotate(result.how, (result.p50, at_k), textcoords="offset points", xytext=(6, 4))
    curve.set(xlabel="k (documents)", ylabel="recall@k", title=name, ylim=(0, 1))
    curve.grid(alpha=0.3)
    curve.legend(loc="lower right")
    speed.set(
        xlabel="p50 latency (ms)", ylabel=f"recall@{results[0].k}", title="recall against latency", xlim=(0, None)
    )
    speed.grid(alpha=0.3)
    figure.savefig(path, dpi=150)

"""Output of answers and their sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from monograph.app import output

if TYPE_CHECKING:
    from monograph.values import Answer, BestSentence, Citation, Hit

NO_MODEL = "No model is set. To let one answer: --model openai:URL#MODEL."
NOTHING_RELEVANT = "nothing relevant was found; the nearest passages:"
OTHER_WORDS = "perhaps nothing relevant: these passages are nearest in meaning, but contain no word of the query:"
NEAREST = 3


def print_doubt(question: str, hits: Sequence[Hit], confidence: float, *, stderr: bool = False) -> None:
    """Print the warning of :func:`doubt_warning`, if there is one, before passages are printed."""
    warning = doubt_warning(question, hits, confidence)
    if warning:
        output.print_text(f"{warning}\n", stderr=stderr)


def doubt_warning(question: str, hits: Sequence[Hit], confidence: float) -> str:
    """Return a warning that passages may be irrelevant to the question; empty if there is no doubt."""
    from monograph.answer.confidence import LEAST_FOR_A_MODEL, shares_words

    if hits and confidence < LEAST_FOR_A_MODEL:
        return NOTHING_RELEVANT
    if hits and not shares_words(question, hits):
        return OTHER_WORDS
    return ""


def print_end(answer: Answer, *, with_model: bool, explain: bool) -> None:
    """Print the remarks and sources that follow an answer.

    With ``with_model=False``, a remark says how to choose a model. ``explain`` adds the lines of :func:`explanation`.
    """
    output.print_line()
    if answer.unknown:
        numbers = ", ".join(f"[{number}]" for number in answer.unknown)
        output.print_line()
        output.print_line(f"{numbers}: no passage has this number")
    if answer.best is not None and not answer.model:
        output.print_line()
        output.print_line(f"most likely: {best(answer.best)}")
    if answer.citations:
        output.print_text("\nsources:")
        for citation in answer.citations:
            output.print_line(f"  {source(citation)}")
    elif answer.context.citations and (answer.model or answer.abstained):
        output.print_text("\nnearest passages:" if answer.abstained else "\nthe answer cites nothing; the model read:")
        for citation in answer.context.citations[:NEAREST]:
            output.print_line(f"  {source(citation)}")
    if not with_model:
        output.print_text(f"\n{NO_MODEL}")
    if explain:
        output.print_line()
        for line in explanation(answer):
            output.print_line(line)


def source(citation: Citation) -> str:
    """Return a citation as one line: its number, the document's name, and the place in the document."""
    positions = ", ".join(f"{span.start}–{span.end}" for span in citation.spans)
    where = " · ".join(part for part in (citation.uri, f"characters {positions}" if positions else "") if part)
    return f"{citation.heading}  {where}".rstrip()


def best(sentence: BestSentence) -> str:
    """Return the best sentence as one line: its confidence, the answer in it, its document, and its place."""
    span, answer_span = sentence.span, sentence.within
    parts = (f"{sentence.confidence:.0%}", answer_span.text if answer_span else "", sentence.title or sentence.uri)
    return " · ".join(part for part in (*parts, f"characters {span.start}–{span.end}") if part)


def explanation(answer: Answer) -> list[str]:
    """Return the lines that explain an answer: the query, the confidence, the tokens and the times."""
    context, seconds = answer.context, answer.seconds
    cut = 1 - context.tokens / context.tokens_found if context.tokens_found else 0.0
    less = f", {cut:.0%} less" if cut > 0 else ""  # Titles can make a short context longer than its chunks.
    lines = [
        f"searched for: {answer.query}",
        f"confidence {answer.confidence:.2f} · {context.tokens} of {context.tokens_found} tokens found{less}",
        f"retrieval {seconds.retrieval * 1000:.0f} ms · reduction {seconds.reduction * 1000:.0f} ms",
    ]
    if answer.model:
        took = f"first word after {seconds.first_token:.2f} s, the rest in {seconds.generation:.2f} s"
        spent = f"{answer.tokens_in} tokens read, {answer.tokens_out} written"
        lines.append(f"{answer.model}: " + ("cached" if answer.cached else f"{took} · {spent}"))
    return lines

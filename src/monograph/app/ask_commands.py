"""Commands that answer questions: ``ask``, ``chat`` and ``context``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from monograph.app import answer_output, options, output
from monograph.app.command import Result, command, query_and_filter, warn_of_no_hits
from monograph.app.opening import opened_archive
from monograph.errors import InputError
from monograph.values.arguments import BUDGET, DEFAULT_CUT, FOUND, PassageOrder

if TYPE_CHECKING:
    from monograph.models import LanguageModel

QuestionArgument = Annotated[str, typer.Argument(metavar="QUESTION", help="In plain words; - reads standard input.")]
BudgetOption = Annotated[int, typer.Option("--budget", "-b", help="Maximum number of tokens in the passages.")]
ThresholdOption = Annotated[
    float | None, typer.Option("--threshold", help="Minimum confidence, 0 to 1; below it there is no answer.")
]
FoundOption = Annotated[int, typer.Option("-k", "-n", help="Maximum number of hits to take passages from.")]


@command
def ask(
    file: options.FileOrShelf,
    question: QuestionArgument,
    model: options.Model = "",
    api_key: options.ApiKey = "",
    budget: BudgetOption = BUDGET,
    k: FoundOption = FOUND,
    how: options.How = "auto",
    where: options.Where = None,
    within: options.Within = None,
    as_of: options.AsOf = "",
    threshold: ThresholdOption = None,
    explain: Annotated[bool, typer.Option("--explain", "-e", help="Print confidence, tokens and times.")] = False,
    reranker: options.Reranker = "",
    trust: options.Trust = False,
    json_output: options.Json = False,
) -> None:
    r"""Answer a question from FILE, with its sources.

    Without a model it prints the best passages, cut down to the sentences that the question needs, and marks the most
    likely answer. If nothing relevant is found, it says so.

      monograph ask notes.mono "who repaired the generator?"
      monograph ask notes.mono "who repaired the generator?" \
          --model "openai:http://localhost:11434/v1#qwen3:1.7b"
    """
    language_model = load(model, api_key)
    with opened_archive(file, within, as_of, trust=trust, model=language_model, reranker=reranker) as archive:
        query, condition = query_and_filter(archive, question, where, k)
        choices: dict[str, Any] = {"k": k, "how": how, "where": condition, "threshold": threshold}
        if json_output:
            output.print_json(archive.ask(query, budget, **choices))
            return
        from monograph.values import Answer

        for piece in archive.stream(query, budget, **choices):
            if isinstance(piece, Answer):
                answer_output.print_end(piece, with_model=language_model is not None, explain=explain)
            else:
                output.print_piece(piece)


@command
def context(
    file: options.FileOrShelf,
    question: QuestionArgument,
    budget: BudgetOption = BUDGET,
    k: FoundOption = FOUND,
    cut: Annotated[
        float, typer.Option("--cut", help="Approximate share of the tokens to leave out; 0 fills the budget.")
    ] = DEFAULT_CUT,
    order: Annotated[str, typer.Option("--order", help="relevance, or edges: best first and last.")] = "relevance",
    how: options.How = "auto",
    where: options.Where = None,
    within: options.Within = None,
    as_of: options.AsOf = "",
    threshold: ThresholdOption = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown: quotes with places.")] = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the whole prompt for a model.")] = False,
    reranker: options.Reranker = "",
    trust: options.Trust = False,
) -> Result:
    """Print the passages that a model needs to answer a question.

    They are cut down and packed into a budget of tokens.

    monograph context notes.mono "who repaired the generator?" --budget 500
    monograph context notes.mono "who repaired the generator?" --prompt | llm
    """
    if order not in get_args(PassageOrder):
        raise InputError(f"unknown order {order!r}", "orders are relevance, edges")
    with opened_archive(file, within, as_of, trust=trust, reranker=reranker) as archive:
        query, condition = query_and_filter(archive, question, where, k)
        result = archive.context(
            query,
            budget,
            k=k,
            how=how,
            where=condition,
            cut=cut,
            order=cast("PassageOrder", order),
            threshold=threshold or 0.0,
        )

    def show() -> None:
        # Standard output may be piped to a model, so the warning goes to standard error.
        answer_output.print_doubt(query, result.hits, result.relevance, stderr=True)
        text = result.prompt() if prompt else result.markdown() if markdown else result.text
        output.print_text(text or "nothing found")

    return Result(result, show)


@command
def chat(
    file: options.FileOrShelf,
    model: options.Model = "",
    api_key: options.ApiKey = "",
    budget: BudgetOption = BUDGET,
    k: FoundOption = FOUND,
    how: options.How = "auto",
    within: options.Within = None,
    as_of: options.AsOf = "",
    reranker: options.Reranker = "",
    trust: options.Trust = False,
    json_output: options.Json = False,
) -> None:
    r"""Answer one question after the other.

    Each question is understood in the context of those before it.

    /sources lists the sources of the last answer, /open N prints source N with its neighbours, /why explains how it
    was found, /new starts a new conversation, /quit or the end of the input ends the chat. With --json, each line of
    input gives one line of JSON.

      monograph chat notes.mono \
          --model "openai:http://localhost:11434/v1#qwen3:1.7b"
    """
    from monograph.app.chat import Chat

    language_model = load(model, api_key)
    with opened_archive(file, within, as_of, trust=trust, model=language_model, reranker=reranker) as archive:
        warn_of_no_hits(k)
        Chat(archive, {"budget": budget, "k": k, "how": how}, with_model=bool(model)).run(as_json=json_output)


def load(model: str, api_key: str) -> LanguageModel | None:
    """Return the model that ``model`` names, such as ``openai:URL#MODEL``, or None if ``model`` is empty."""
    from monograph.derive.loading import load_model

    return load_model(model, api_key) if model else None

"""Commands that answer questions: ``ask``, ``chat`` and ``context``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from monograph.app import answer_output, output
from monograph.app.command import (
    ApiKeyOption,
    AsOfOption,
    HowOption,
    JsonOption,
    RerankerOption,
    TrustOption,
    WhereOption,
    WithinOption,
    command,
    query_of,
    warn_of_keys,
    warn_of_no_hits,
    where_of,
)
from monograph.app.opening import ArchiveArgument, narrowed_archive, opened_archive
from monograph.errors import InputError
from monograph.values.arguments import BUDGET, DEFAULT_CUT, FOUND, PassageOrder

if TYPE_CHECKING:
    from monograph.models import LanguageModel

QuestionArgument = Annotated[
    str, typer.Argument(metavar="QUESTION", help="In plain words; - reads standard input.", show_default=False)
]
BudgetOption = Annotated[int, typer.Option("--budget", "-b", help="Maximum number of tokens in the passages.")]
ThresholdOption = Annotated[
    float | None,
    typer.Option("--threshold", help="Minimum confidence, 0 to 1; below it there is no answer.", show_default=False),
]
FoundOption = Annotated[int, typer.Option("-k", "-n", help="Maximum number of hits to take passages from.")]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        envvar="MONOGRAPH_MODEL",
        help="Model that answers: openai:URL#MODEL, for Ollama, llama.cpp, vLLM and similar servers.",
        show_default=False,
    ),
]


@command
def ask(
    file: ArchiveArgument,
    question: QuestionArgument,
    model: ModelOption = "",
    api_key: ApiKeyOption = "",
    budget: BudgetOption = BUDGET,
    k: FoundOption = FOUND,
    how: HowOption = "auto",
    where: WhereOption = None,
    within: WithinOption = None,
    as_of: AsOfOption = "",
    threshold: ThresholdOption = None,
    explain: Annotated[bool, typer.Option("--explain", "-e", help="Print confidence, tokens and times.")] = False,
    reranker: RerankerOption = "",
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    r"""Answer a question from FILE, with its sources.

    Without a model it prints the best passages, cut down to the sentences that the question needs, and marks the most
    likely answer. If nothing relevant is found, it says so.

      monograph ask notes.mono "who repaired the generator?"
      monograph ask notes.mono "who repaired the generator?" \
          --model "openai:http://localhost:11434/v1#qwen3:1.7b"
    """
    language_model = load(model, api_key)
    with opened_archive(file, trust=trust, create=False, model=language_model, reranker=reranker) as full_archive:
        archive = narrowed_archive(full_archive, within, as_of)
        query, condition = query_of(question), where_of(where or [])
        warn_of_no_hits(k, query)
        warn_of_keys(archive, condition)
        choices: dict[str, Any] = {"k": k, "how": how, "where": condition, "threshold": threshold}
        if json_output:
            output.print_json(answer_output.as_object(archive.ask(query, budget, **choices)))
            return
        from monograph.values import Answer

        for piece in archive.stream(query, budget, **choices):
            if isinstance(piece, Answer):
                answer_output.print_end(piece, with_model=language_model is not None, explain=explain)
            else:
                output.print_piece(piece)


@command
def context(
    file: ArchiveArgument,
    question: QuestionArgument,
    budget: BudgetOption = BUDGET,
    k: FoundOption = FOUND,
    cut: Annotated[
        float, typer.Option("--cut", help="Approximate share of the tokens to leave out; 0 fills the budget.")
    ] = DEFAULT_CUT,
    order: Annotated[str, typer.Option("--order", help="relevance, or edges: best first and last.")] = "relevance",
    how: HowOption = "auto",
    where: WhereOption = None,
    within: WithinOption = None,
    as_of: AsOfOption = "",
    threshold: ThresholdOption = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown: quotes with places.")] = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the whole prompt for a model.")] = False,
    reranker: RerankerOption = "",
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Print the passages that a model needs to answer a question.

    They are cut down and packed into a budget of tokens.

    monograph context notes.mono "who repaired the generator?" --budget 500
    monograph context notes.mono "who repaired the generator?" --prompt | llm
    """
    with opened_archive(file, trust=trust, create=False, reranker=reranker) as full_archive:
        archive = narrowed_archive(full_archive, within, as_of)
        query, condition = query_of(question), where_of(where or [])
        warn_of_no_hits(k, query)
        warn_of_keys(archive, condition)
        result = archive.context(
            query,
            budget,
            k=k,
            how=how,
            where=condition,
            cut=cut,
            order=_order(order),
            threshold=threshold or 0.0,
        )
        if json_output:
            output.print_json(answer_output.as_object(result))
            return
        # Standard output may be piped to a model, so the warning goes to standard error.
        answer_output.print_doubt(query, result.hits, result.relevance, stderr=True)
        text = result.prompt() if prompt else result.markdown() if markdown else result.text
        output.console().print_text(text or "nothing found")


@command
def chat(
    file: ArchiveArgument,
    model: ModelOption = "",
    api_key: ApiKeyOption = "",
    budget: BudgetOption = BUDGET,
    k: FoundOption = FOUND,
    how: HowOption = "auto",
    within: WithinOption = None,
    as_of: AsOfOption = "",
    reranker: RerankerOption = "",
    trust: TrustOption = False,
    json_output: JsonOption = False,
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

    with opened_archive(file, trust=trust, create=False, model=load(model, api_key), reranker=reranker) as full_archive:
        warn_of_no_hits(k)
        Chat(
            narrowed_archive(full_archive, within, as_of),
            {"budget": budget, "k": k, "how": how},
            with_model=bool(model),
        ).run(as_json=json_output)


def load(model: str, api_key: str) -> LanguageModel | None:
    """Return the model that a spec names, or None if the spec is empty."""
    from monograph.derive.loading import load_model

    return load_model(model, api_key) if model else None


def _order(name: str) -> PassageOrder:
    orders: tuple[PassageOrder, ...] = get_args(PassageOrder)
    for order in orders:
        if order == name:
            return order
    raise InputError(f"unknown order {name!r}", "orders are relevance, edges")

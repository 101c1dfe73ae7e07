"""Commands that derive values again: ``reembed``, ``reextract``, ``resummarize`` and ``build``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from monograph.app import options, output
from monograph.app.command import Result, command, report_result, working
from monograph.app.opening import opened

if TYPE_CHECKING:
    from monograph.values import Cost

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what it would cost; write nothing.")]


@command
def reembed(
    file: options.File,
    embedder: Annotated[
        str,
        typer.Argument(
            metavar="EMBEDDER",
            help="static, openai:URL#MODEL, model2vec:FOLDER, onnx:FOLDER, or sentence-transformers:NAME.",
        ),
    ],
    dry_run: DryRunOption = False,
    api_key: options.ApiKey = "",
    trust: options.Trust = False,
    quiet: options.Quiet = False,
) -> Result:
    r"""Compute every vector again with another embedder.

    Until it ends, searches use the old vectors. Interrupt it at any time: finished embeddings are kept.

      monograph reembed notes.mono --trust \
          "openai:http://localhost:11434/v1#nomic-embed-text"
    """
    from monograph.derive.loading import load_embedder

    with opened(file, trust=trust, named=[embedder]) as monograph, working("reembed", quiet=quiet) as on_progress:
        loaded_embedder = load_embedder(embedder, api_key=api_key)
        if dry_run:
            cost = monograph.vectors.price(loaded_embedder)
            summaries = f", at most {cost.summaries:,} summaries, each embedded too{_model_cost(cost)}"
            counts = f"{file}: {cost.embeddings:,} embeddings ({cost.embedding_tokens:,} tokens)"
            return Result(cost, [counts + (summaries if cost.summaries else "")])
        return report_result(monograph.vectors.rebuild(loaded_embedder, progress=on_progress), file)


@command
def reextract(
    file: options.File,
    extractor: Annotated[
        str, typer.Argument(metavar="EXTRACTOR", help="pattern, spacy:PIPELINE, or llm:openai:URL#MODEL.")
    ] = "",
    api_key: options.ApiKey = "",
    trust: options.Trust = False,
    quiet: options.Quiet = False,
) -> Result:
    """Rebuild the graph with another extractor.

    Without EXTRACTOR, it retries the chunks that a model failed on. Earlier results of an extractor are reused.
    Until it ends, searches use the old graph.
    """
    from monograph.derive.loading import load_extractor

    loaded_extractor = load_extractor(extractor, api_key) if extractor else None
    with opened(file, trust=trust, named=[extractor]) as monograph, working("reextract", quiet=quiet) as on_progress:
        return report_result(monograph.graph.rebuild(loaded_extractor, progress=on_progress), file)


@command
def resummarize(
    file: options.File,
    summarizer: Annotated[
        str,
        typer.Argument(
            metavar="SUMMARIZER", help="extractive, or llm:openai:URL#MODEL; by default the file's own, or extractive."
        ),
    ] = "",
    dry_run: DryRunOption = False,
    api_key: options.ApiKey = "",
    trust: options.Trust = False,
    quiet: options.Quiet = False,
) -> Result:
    r"""Build or rebuild the tree of summaries.

    From then on every change updates the tree. Earlier summaries of the same texts are reused. Until it ends,
    searches use the old tree.

      monograph resummarize notes.mono
      monograph resummarize notes.mono --dry-run \
          "llm:openai:http://localhost:11434/v1#qwen3:1.7b"
    """
    from monograph.derive.loading import load_summarizer

    loaded_summarizer = load_summarizer(summarizer, api_key) if summarizer else None
    with opened(file, trust=trust, named=[summarizer]) as monograph:
        if dry_run:
            cost = monograph.tree.price(loaded_summarizer)
            counts = f"about {cost.typical_summaries:,} summaries, at most {cost.summaries:,}"
            return Result(cost, [f"{file}: {counts}{_model_cost(cost)}"])
        with working("resummarize", quiet=quiet) as on_progress:
            return report_result(monograph.tree.rebuild(loaded_summarizer, progress=on_progress), file)


def _model_cost(cost: Cost) -> str:
    return f", at most {cost.model_calls:,} model calls, {cost.model_tokens:,} tokens" if cost.model_calls else ""


@command
def build(
    file: options.File, dry_run: DryRunOption = False, trust: options.Trust = False, quiet: options.Quiet = False
) -> Result:
    """Build the graph of FILE.

    A file that was made by a framework's vector store has no graph and no substring index until this command builds
    them. Other programs may read and write FILE meanwhile. Interrupt it at any time: the next run continues.
    """
    with opened(file, trust=trust) as monograph, working("build", quiet=quiet) as on_progress:
        if dry_run:
            cost = monograph.graph.price()
            return Result(cost, [output.described_cost(cost)])
        return report_result(monograph.graph.build(progress=on_progress), file)

"""The command that makes vectors anew: ``reembed``."""

from __future__ import annotations

from typing import Annotated

import typer

from monograph.app import output
from monograph.app.command import ApiKeyOption, FileArgument, JsonOption, QuietOption, TrustOption, outcome, working
from monograph.app.trust import opened


def reembed(  # noqa: PLR0913, PLR0917 - options are arguments
    file: FileArgument,
    embedder: Annotated[
        str,
        typer.Argument(
            metavar="EMBEDDER",
            help="static, openai:URL#MODEL, model2vec:FOLDER, onnx:FOLDER, or sentence-transformers:NAME.",
            show_default=False,
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost; write nothing.")] = False,
    api_key: ApiKeyOption = "",
    trust: TrustOption = False,
    quiet: QuietOption = False,
    json_output: JsonOption = False,
) -> None:
    r"""Make every vector anew with another embedder.

    Until the end, the file answers with the old one. What was embedded once is remembered: interrupt it at any time.

      monograph reembed notes.mono --trust \
          "openai:http://localhost:11434/v1#nomic-embed-text"
    """
    with outcome(as_json=json_output):
        from monograph.derive.embed import load_embedder
        from monograph.values import Cost

        with (
            opened(file, trust=trust, named=[embedder], create=False) as monograph,
            working("reembed", quiet=quiet or json_output) as on_progress,
        ):
            chosen = load_embedder(embedder, api_key=api_key)
            result = (
                monograph.vectors.price(chosen) if dry_run else monograph.vectors.rebuild(chosen, progress=on_progress)
            )
        if json_output:
            output.print_json(result)
        elif isinstance(result, Cost):
            output.print_embedding_cost(result, str(file))
        else:
            output.print_report(result, str(file))

"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monograph.search.strategies import strategies

ENGINE_VARIABLE = "MONOGRAPH_ENGINE"

FileOrShelf = Annotated[str, typer.Argument(metavar="FILE", help="The .mono file, or the address of a shelf.")]
Url = Annotated[str, typer.Argument(metavar="URL", help="The shelf: a folder, or s3://bucket/path, gs://, az://.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The .mono file.")]
Query = Annotated[str, typer.Argument(metavar="QUERY", help="A question, words, or a code; - reads standard input.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress; by default it goes to standard error.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a drawing: one HTML page that works offline.")]
ApiKey = Annotated[
    str, typer.Option("--api-key", envvar="MONOGRAPH_API_KEY", help="API key of the model's server; never stored.")
]
Reranker = Annotated[
    str,
    typer.Option(
        "--reranker",
        envvar="MONOGRAPH_RERANKER",
        help="Reranker of the first hits: onnx:FOLDER, rerank:URL#MODEL, or embedder:EMBEDDER.",
    ),
]
Trust = Annotated[bool, typer.Option("--trust", help="From now on, let FILE use the models that it names.")]


def how_to_search() -> list[str]:
    """Return the completions of --how."""
    return list(strategies())


How = Annotated[
    str,
    typer.Option(
        "--how",
        help=f"Search mode: {', '.join(strategies())}; with options after a colon: tree:detail=0.5,budget=800.",
        autocompletion=how_to_search,
    ),
]
Stop = Annotated[
    str,
    typer.Option(
        "--stop",
        metavar="CONDITION",
        help="When to stop reading the vector index: rankaware:window=8,epsilon=0.1,tau=1.8,beta=0.5, "
        "vbase:e=10,window=4, budget:loads=20, or never.",
    ),
]
RankedRecall = Annotated[
    float | None,
    typer.Option("--ranked-recall", help="Stop reading the vector index at this ranked recall, above 0 to 1."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        "-w",
        metavar="FILTER",
        help="Only hits that match: 'year >= 2020', since=2026-03, or a JSON filter. May be repeated.",
    ),
]
Within = Annotated[
    list[str] | None,
    typer.Option(
        "--within",
        metavar="KEY=VALUE",
        help="Use only documents that match: owner=ann, or a filter as for --where. May be repeated.",
    ),
]
History = Annotated[
    bool, typer.Option("--history", help="Create FILE with history: it keeps previous versions of documents.")
]
VectorIndex = Annotated[str, typer.Option("--vector-index", help="Vector index of a new FILE: codes or graph.")]
AsOf = Annotated[
    str,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="Use FILE as it was then: 2026-03 or 2026-03-01T09:30:00Z. FILE must have been made with --history.",
    ),
]
MaxSeconds = Annotated[float, typer.Option("--max-seconds", help="Skip a file that takes longer to read.")]
Forget = Annotated[
    bool | None,
    typer.Option(
        "--forget/--no-forget",
        help="Erase every trace of removed text from FILE; sources --always-forget sets the default.",
    ),
]
Verify = Annotated[bool, typer.Option("--verify", help="Compare contents even if size and time are unchanged.")]
Prune = Annotated[bool, typer.Option("--prune", help="Remove documents even if a whole folder is empty now.")]
MaxBytes = Annotated[int, typer.Option("--max-bytes", help="Skip files larger than this.")]
FollowLinks = Annotated[
    bool | None,
    typer.Option(
        "--follow-links/--no-follow-links",
        help="Follow links that lead out of a folder, or not; stored for the folder, at first off.",
    ),
]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        envvar="MONOGRAPH_MODEL",
        help="Model that answers: openai:URL#MODEL, for Ollama, llama.cpp, vLLM and similar servers.",
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        envvar=ENGINE_VARIABLE,
        help="Where the shards of a shelf are searched: local, ray, or ray:replicas=2,groups=4,deadline=30.",
    ),
]

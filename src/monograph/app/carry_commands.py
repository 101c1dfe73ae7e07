"""Commands that move contents between stores: ``export`` and ``import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monograph.app import options, output
from monograph.app.command import Result, command, report_result, working
from monograph.app.opening import opened
from monograph.carry.imported import KINDS


@command
def export(
    file: options.File,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing export.")] = False,
    no_graph: Annotated[bool, typer.Option("--no-graph", help="Leave out the graph, which takes longest.")] = False,
    quiet: options.Quiet = False,
) -> Result:
    """Write all contents of FILE as JSON Lines, with vectors.

    It writes documents, chunks with their places, metadata, vectors for NumPy, and the graph. Other programs may read
    and write FILE meanwhile. The export is not encrypted, even if FILE is.

      monograph export notes.mono notes-export
      monograph import jsonl notes-export again.mono
    """
    with opened(file) as monograph, working("export", quiet=quiet) as on_progress:
        exported = monograph.export(folder, overwrite=overwrite, graph=not no_graph, progress=on_progress)

    counts = f"{exported.documents:,} documents, {exported.chunks:,} chunks, {exported.vectors:,} vectors"
    if exported.graph:
        counts += f", {exported.entities:,} entities"
    lines = [f"{exported.path}: {counts}; {output.in_bytes(exported.size)}"]
    if not exported.graph and not no_graph:
        lines.append(f"no graph; to build it: monograph build {file}")
    return Result(exported, lines)


@command
def take_over(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f"{', '.join(KINDS)}.", autocompletion=lambda: list(KINDS))
    ],
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="File or folder of that store.")],
    file: options.File,
    collection: Annotated[str, typer.Option("--collection", help="Chroma's collection, if it has several.")] = "",
    no_vectors: Annotated[bool, typer.Option("--no-vectors", help="Compute all vectors again.")] = False,
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder",
            help="Embedder of a new file, for questions and for texts without a vector: static, onnx:FOLDER, …",
        ),
    ] = "",
    history: options.History = False,
    vector_index: options.VectorIndex = "",
    trust: options.Trust = False,
    quiet: options.Quiet = False,
) -> Result:
    """Import the contents of another store into FILE.

    It imports texts and metadata from an export of Monograph, or from Chroma, LightRAG, GraphRAG or RAGdb, and vectors
    if FILE can use them. See docs/how-to/coming-from.md.

      monograph import jsonl notes-export notes.mono
      monograph import chroma ./chroma notes.mono --collection notes
      monograph import chroma ./chroma notes.mono --no-vectors
      monograph import lightrag ./working_dir notes.mono
      monograph import graphrag ./output notes.mono
      monograph import ragdb notes.ragdb notes.mono
    """
    from monograph.derive.loading import load_embedder
    from monograph.library import carrying
    from monograph.settings import Settings

    store = carrying.store_of(kind, source, collection)  # This fails before a new file is created.
    loaded_embedder = load_embedder(embedder) if embedder else None
    settings = Settings(history=True) if history else None
    with (
        opened(
            file,
            trust=trust,
            named=[embedder],
            create=True,
            embedder=loaded_embedder,
            settings=settings,
            vector_index=vector_index or None,
        ) as monograph,
        working("import", quiet=quiet) as on_progress,
    ):
        report = monograph.files.take(store, vectors=not no_vectors, progress=on_progress)
        has_given_vectors = monograph.embedder.spec.startswith("given:")
    remark = (
        "the vectors were imported, but no model embeds questions: searches use words and names. To search by meaning"
        f" too, import into a new file with --embedder or --no-vectors, or run monograph reembed {file} static"
    )
    return report_result(report, file, *([remark] if has_given_vectors else []))

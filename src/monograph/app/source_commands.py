"""Commands for the sources of documents: ``sync``, ``sources``, ``retry`` and ``watch``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from monograph.app import options, output
from monograph.app.command import Result, command, report_result, working
from monograph.app.opening import opened
from monograph.read.limits import DEFAULT_LIMITS, Limits

SummarizerOption = Annotated[
    str,
    typer.Option(
        "--summarizer",
        help="Build a tree of summaries with extractive, or llm:openai:URL#MODEL; by default there is none.",
    ),
]
DescriberOption = Annotated[
    str,
    typer.Option(
        "--describer",
        help="Model that describes pictures from now on: openai:URL#MODEL, or none to read only the words in them.",
    ),
]


@command
def sync(
    file: options.File,
    sources: Annotated[list[Path], typer.Argument(metavar="FOLDER", help="Folders and files to follow.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be done and its cost; write nothing.")
    ] = False,
    verify: options.Verify = False,
    prune: options.Prune = False,
    forget: options.Forget = None,
    max_bytes: options.MaxBytes = DEFAULT_LIMITS.max_bytes,
    max_seconds: options.MaxSeconds = DEFAULT_LIMITS.max_seconds,
    follow_links: options.FollowLinks = None,
    extractor: Annotated[
        str,
        typer.Option(
            "--extractor", help="Extractor of names in a new FILE: pattern, spacy:PIPELINE, or llm:openai:URL#MODEL."
        ),
    ] = "",
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder", help="Embedder of a new FILE: static, openai:URL#MODEL, model2vec:FOLDER, onnx:FOLDER."
        ),
    ] = "",
    summarizer: SummarizerOption = "",
    describer: DescriberOption = "",
    history: options.History = False,
    vector_index: options.VectorIndex = "",
    api_key: options.ApiKey = "",
    trust: options.Trust = False,
    quiet: options.Quiet = False,
) -> Result:
    r"""Update FILE from folders, and create it if it is missing.

    It adds new files, updates changed ones, and removes missing ones. Hidden files are skipped. No text is embedded
    twice by one embedder, or sent twice to a model for extraction. Interrupt it at any time: the next run continues.

      monograph sync notes.mono ~/notes ~/Documents/letters
      monograph sync notes.mono ~/notes --dry-run
      monograph sync notes.mono ~/notes --summarizer extractive
      monograph sync diary.mono ~/diary --history
      monograph sync notes.mono ~/notes \
          --extractor "llm:openai:http://localhost:11434/v1#qwen3:1.7b"
      monograph sync notes.mono ~/notes --trust --dry-run \
          --embedder "openai:http://localhost:11434/v1#nomic-embed-text"
    """
    from monograph.derive.loading import load_describer, load_embedder, load_extractor, load_summarizer
    from monograph.settings import Settings

    limits = Limits(max_bytes, max_seconds)
    loaded_embedder = load_embedder(embedder, api_key=api_key) if embedder else None
    loaded_extractor = load_extractor(extractor, api_key) if extractor else None
    loaded_summarizer = load_summarizer(summarizer, api_key) if summarizer else None
    loaded_describer = load_describer(describer, api_key) if describer not in ("", "none") else describer
    with (
        opened(
            file,
            trust=trust,
            named=[embedder, extractor, summarizer, describer],
            create=True,
            embedder=loaded_embedder,
            extractor=loaded_extractor,
            summarizer=loaded_summarizer,
            describer=loaded_describer,
            settings=Settings(history=True) if history else None,
            vector_index=vector_index or None,
        ) as monograph,
        working("sync", quiet=quiet) as on_progress,
    ):
        plan = monograph.files.plan(
            *sources,
            verify=verify,
            prune=prune,
            follow_links=follow_links,
            price=dry_run,
            limits=limits,
            progress=on_progress,
        )
        if not dry_run:
            report = monograph.files.apply(plan, forget=forget, limits=limits, progress=on_progress)
            return report_result(report, file)

    def show() -> None:
        output.print_plan(plan)
        output.print_problems(plan.problems)

    return Result(plan, show, problems=bool(plan.problems))


@command
def sources(
    file: options.File,
    move: Annotated[
        tuple[str, Path] | None,
        typer.Option("--move", metavar="OLD NEW", help="Set the new path of a folder that was moved."),
    ] = None,
    remove: Annotated[
        str, typer.Option("--remove", metavar="ROOT", help="Stop following ROOT, and remove its documents.")
    ] = "",
    forget: options.Forget = None,
    always_forget: Annotated[
        bool | None,
        typer.Option(
            "--always-forget/--no-always-forget",
            help="Whether removals erase every trace of text from FILE, from now on.",
        ),
    ] = None,
) -> Result:
    """List the followed folders, and the files that failed.

    For each folder it prints what is stored, and when it was last synced.

    monograph sources notes.mono
    monograph sources notes.mono --move notes /media/disk/notes
    monograph sources notes.mono --always-forget
    """
    with opened(file) as monograph:
        moved = None if move is None else monograph.files.move(*move)
        if always_forget is not None:
            monograph.files.always_forget = always_forget
        removed = monograph.files.remove(remove, forget=forget) if remove else None
        synced_sources = monograph.files.sources()

    def show() -> None:
        if moved is not None:
            output.print_moves([moved])
        if removed is not None:
            output.print_report(removed, str(file))
        headings = ("source", "place", "files", "documents", "size", "last sync", "failed")
        rows = []
        for source in synced_sources:
            counts = (f"{source.files:,}", f"{source.documents:,}", output.in_bytes(source.size))
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(source.synced)) if source.synced else "-"
            rows.append((source.root, source.place, *counts, when, f"{len(source.failures):,}"))
        output.print_table(headings, rows, right=set(headings[2:]) - {"last sync"}, folding=headings[:2])
        output.print_problems([failure for source in synced_sources for failure in source.failures])

    return Result(removed or synced_sources, show)


@command
def retry(
    file: options.File,
    max_bytes: options.MaxBytes = DEFAULT_LIMITS.max_bytes,
    max_seconds: options.MaxSeconds = DEFAULT_LIMITS.max_seconds,
    forget: options.Forget = None,
    trust: options.Trust = False,
    quiet: options.Quiet = False,
) -> Result:
    """Read failed files again.

    Run it after you installed an extra, or with a higher limit.

    monograph retry notes.mono --max-seconds 600
    """
    limits = Limits(max_bytes, max_seconds)
    with opened(file, trust=trust) as monograph, working("retry", quiet=quiet) as on_progress:
        return report_result(monograph.files.retry(forget=forget, limits=limits, progress=on_progress), file)


@command
def watch(
    file: options.File,
    sources: Annotated[list[Path], typer.Argument(metavar="FOLDER", help="Folders and files to follow.")],
    max_bytes: options.MaxBytes = DEFAULT_LIMITS.max_bytes,
    max_seconds: options.MaxSeconds = DEFAULT_LIMITS.max_seconds,
    forget: options.Forget = None,
    follow_links: options.FollowLinks = None,
    trust: options.Trust = False,
    json_output: options.Json = False,
) -> None:
    """Update FILE whenever folders change.

    It prints one line per change until it is interrupted, and needs the extra watch. If a folder vanishes, such as an
    unplugged disk, its documents stay in FILE.

      monograph watch notes.mono ~/notes
    """
    limits = Limits(max_bytes, max_seconds)
    with opened(file, trust=trust, create=True) as monograph:
        if not json_output:
            output.print_line(f"{file} follows {', '.join(map(str, sources))}; Ctrl-C stops it", stderr=True)
        for event in monograph.files.watch(*sources, forget=forget, follow_links=follow_links, limits=limits):
            if json_output:
                output.print_json(event, indent=None)
            else:
                before = f"  (was {event.before})" if event.before else ""
                why = f": {event.reason}" if event.reason else ""
                hint = f"  ({output.shell_hint(event.hint)})" if output.shell_hint(event.hint) else ""
                output.print_line(f"{time.strftime('%H:%M:%S')}  {event.kind:8} {event.uri}{before}{why}{hint}")

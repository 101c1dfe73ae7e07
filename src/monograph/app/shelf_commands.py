"""The commands for a shelf: ``monograph shelf …``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monograph.app import output, shelf_dealing, shelf_output, source_commands
from monograph.app.archives import UrlArgument, opened_shelf
from monograph.app.command import DONE_WITH_PROBLEMS, ApiKeyOption, JsonOption, TrustOption, outcome, unseen
from monograph.app.manual import as_written
from monograph.read.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from monograph.shelf import Shelf

app = typer.Typer(
    help="Many files that answer as one, when one is not enough.", no_args_is_help=True, rich_markup_mode=None
)

PublishOption = Annotated[bool, typer.Option("--publish", help="Publish it as well, so that it is searched.")]


@app.command()
def create(  # noqa: PLR0913, PLR0917 - options are arguments
    url: UrlArgument,
    shards: shelf_dealing.ShardsOption = 8,
    embedder: shelf_dealing.EmbedderOption = "",
    extractor: shelf_dealing.ExtractorOption = "",
    api_key: ApiKeyOption = "",
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Make a shelf without documents.

    A folder is made; a bucket must be there, and who may write it is known from the environment.

    monograph shelf create ~/shelf --shards 3
    monograph shelf create s3://bucket/shelf --shards 40
    """
    with outcome(as_json=json_output):
        from monograph.derive.embed import load_embedder
        from monograph.derive.extract import load_extractor
        from monograph.shelf import Shelf

        vectors = load_embedder(embedder, api_key=api_key) if embedder else None
        names = load_extractor(extractor, api_key) if extractor else None
        with Shelf.create(url, shards, embedder=vectors, extractor=names) as shelf:
            if trust:
                shelf_dealing.trust_models(url, embedder, extractor)
            found = shelf.stats()
        output.print_json(found) if json_output else shelf_output.print_created(found)


@app.command()
def sync(  # noqa: PLR0913, PLR0917 - options are arguments
    url: UrlArgument,
    sources: Annotated[
        list[Path], typer.Argument(metavar="FOLDER", help="Folders and files to follow.", show_default=False)
    ],
    publish: PublishOption = False,
    verify: source_commands.VerifyOption = False,
    prune: source_commands.PruneOption = False,
    forget: source_commands.ForgetOption = None,
    max_bytes: source_commands.BytesOption = DEFAULT_LIMITS.max_bytes,
    max_seconds: source_commands.SecondsOption = DEFAULT_LIMITS.max_seconds,
    follow_links: source_commands.FollowLinksOption = None,
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Bring the next version of a shelf up to date with folders.

    It is written on this machine, and nothing of it is searched before it is published. Interrupt it at any time: the
    same command goes on from there.

    monograph shelf sync ~/shelf ~/notes
    monograph shelf sync ~/shelf ~/notes ~/letters --publish
    """
    with outcome(as_json=json_output):
        limits = Limits(max_bytes, max_seconds)
        version = None
        with opened_shelf(url, trust=trust) as shelf:
            with output.progress_bar("sync", quiet=unseen(json_output)) as on_progress:
                report = shelf.sync(
                    *sources,
                    verify=verify,
                    prune=prune,
                    forget=forget,
                    follow_links=follow_links,
                    limits=limits,
                    progress=on_progress,
                )
            if publish:
                version = _published(shelf, json_output=json_output)
        if json_output:
            output.print_json({**output.as_json(report), "version": version})
        else:
            shelf_output.print_written(report, url, version)
            output.print_problems(report.problems)
        if report.problems:
            raise typer.Exit(DONE_WITH_PROBLEMS)


@app.command()
def remove(
    url: UrlArgument,
    names: Annotated[list[str], typer.Argument(metavar="ID", help="Ids or paths of documents.", show_default=False)],
    publish: PublishOption = False,
    forget: source_commands.ForgetOption = None,
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Take documents out of the next version.

    Older versions hold them until they are forgotten (shelf forget).

    monograph shelf remove ~/shelf notes/boiler.md --publish
    """
    with outcome(as_json=json_output):
        with opened_shelf(url, trust=trust) as shelf:
            report = shelf.remove(names, forget=forget)
            version = _published(shelf, json_output=json_output) if publish else None
        if json_output:
            output.print_json({**output.as_json(report), "version": version})
        else:
            shelf_output.print_written(report, url, version)
            output.print_problems(report.problems)


@app.command()
def publish(url: UrlArgument, trust: TrustOption = False, json_output: JsonOption = False) -> None:
    """Make what was written here the next version.

    Readers see one version or the next, never a mix. The last two are kept.

    monograph shelf publish ~/shelf
    """
    with outcome(as_json=json_output):
        with opened_shelf(url, trust=trust) as shelf:
            _published(shelf, json_output=json_output)
            found = shelf.stats()
        output.print_json(found) if json_output else shelf_output.print_published(found)


def _published(shelf: Shelf, *, json_output: bool) -> int:
    with output.progress_bar("publish", quiet=unseen(json_output)):
        return shelf.publish()


@app.command()
def show(
    url: UrlArgument,
    name: Annotated[str, typer.Argument(metavar="ID", help="A document's id or uri.", show_default=False)],
    json_output: JsonOption = False,
) -> None:
    """Read a document.

    monograph shelf show ~/shelf notes/boiler.md
    """
    with outcome(as_json=json_output):
        with opened_shelf(url) as shelf:
            found = shelf.document(name)
        output.print_json(found) if json_output else output.print_document(found)


@app.command()
def stats(url: UrlArgument, json_output: JsonOption = False) -> None:
    """Count and weigh what the newest version holds."""
    with outcome(as_json=json_output):
        with opened_shelf(url) as shelf:
            found = shelf.stats()
        output.print_json(found) if json_output else shelf_output.print_stats(found)


@app.command()
def check(url: UrlArgument, trust: TrustOption = False, json_output: JsonOption = False) -> None:
    """Hold every table against every other, shard by shard."""
    with outcome(as_json=json_output):
        with opened_shelf(url, trust=trust) as shelf, output.progress_bar("check", quiet=unseen(json_output)):
            findings = [
                replace(one, repairable=False, mend=one.mend or "make the shelf anew from its sources")
                for one in shelf.check()
            ]
        output.print_json(findings) if json_output else output.print_findings(findings)
        if findings:
            raise typer.Exit(DONE_WITH_PROBLEMS)


@app.command()
def forget(url: UrlArgument, json_output: JsonOption = False) -> None:
    """Remove every version but the newest.

    With them goes what only they held, in the shelf and in what this machine keeps of it. It is complete when no other
    machine keeps any: give the command on each that has opened the shelf, or remove its folder there.

    monograph shelf remove ~/shelf notes/secret.md --forget --publish
    monograph shelf forget ~/shelf
    """
    with outcome(as_json=json_output):
        with opened_shelf(url) as shelf, output.progress_bar("forget", quiet=unseen(json_output)):
            made = shelf.forget()
            version = shelf.version
        if json_output:
            output.print_json({"version": version, "removed": list(made.removed), "digests": sorted(made.digests)})
        else:
            shelf_output.print_forgotten(made, url, version)


@app.command()
def discard(url: UrlArgument, json_output: JsonOption = False) -> None:
    """Drop what was written here and not published.

    monograph shelf discard ~/shelf
    """
    with outcome(as_json=json_output):
        from monograph.shelf.place import place_of
        from monograph.shelf.versions.writer import writing
        from monograph.shelf.write import working

        place = place_of(url)
        base = working.base_of(place.work)
        written = base is not None and base.written
        with writing(place.objects):
            working.discard(place.work)
        place.drop_building()
        if json_output:
            output.print_json({"discarded": written})
        else:
            said = "what was written here and not published is dropped" if written else "nothing was written here"
            output.console().print(f"{url}: {said}")


@app.command()
def release(url: UrlArgument, json_output: JsonOption = False) -> None:
    """Declare that the writer at work is gone.

    Only a writer on another machine needs that: one that was killed on this machine is known to be gone.

    monograph shelf release s3://bucket/shelf
    """
    with outcome(as_json=json_output):
        from monograph.shelf.place import place_of
        from monograph.shelf.versions.writer import release as release_writer

        gone = release_writer(place_of(url).objects)
        if json_output:
            output.print_json({"released": None if gone is None else str(gone)})
        else:
            said = "nobody was writing" if gone is None else f"released from {gone}"
            output.console().print(f"{url}: {output.visible(said)}")


app.command()(shelf_dealing.build)
app.command()(shelf_dealing.split)
app.command()(shelf_dealing.join)
app.command()(shelf_dealing.reshard)

for _command in app.registered_commands:
    _command.help = as_written(getattr(_command.callback, "__doc__", None) or "")

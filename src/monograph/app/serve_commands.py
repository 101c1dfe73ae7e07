"""Commands that serve files: ``serve`` to browsers and programs, ``mcp`` to agents."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import secrets
import select
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from monograph.app import options, output
from monograph.app.ask_commands import load
from monograph.app.command import command
from monograph.app.opening import opened_archive

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from monograph.shelf import Archive

PortOption = Annotated[int, typer.Option("--port", help="0 chooses a free port.", min=0, max=65_535)]
HostOption = Annotated[str, typer.Option("--host", help="A loopback address.")]
TokenOption = Annotated[
    str,
    typer.Option(
        "--token", envvar="MONOGRAPH_TOKEN", help="Token that HTTP clients must send; by default a random one."
    ),
]

GRACE_SECONDS = 2.0
"""Seconds that calls may run after their client disconnects; then the process ends."""


@command
def mcp(
    file: options.FileOrShelf,
    http: Annotated[bool, typer.Option("--http", help="Serve HTTP on this machine instead of standard input.")] = False,
    host: HostOption = "127.0.0.1",
    port: PortOption = 0,
    token: TokenOption = "",
    notes: Annotated[bool, typer.Option("--notes", help="Let agents add notes; else FILE is read-only.")] = False,
    within: options.Within = None,
    as_of: options.AsOf = "",
    reranker: options.Reranker = "",
    engine: options.Engine = "",
    trust: options.Trust = False,
    json_output: options.Json = False,
) -> None:
    """Serve FILE to agents by the Model Context Protocol.

    It needs the extra mcp. By default the agent's program starts it, and uses its standard input and output. With
    --http it serves /mcp to this machine only, and requires the token; it first prints address and token. With
    --within, agents see only documents that match, and their notes get the same metadata.

      monograph mcp notes.mono
      monograph mcp notes.mono --http --port 8765 --notes
      monograph mcp shared.mono --within owner=ann
      monograph mcp ~/shelf
    """
    with contextlib.nullcontext() if http else _end_with_client():
        output.escape_logs()
        gc.disable()  # During these imports it takes an eighth of a server's start and finds nothing.
        try:
            from monograph_mcp import serve_http, serve_stdio
        finally:
            gc.enable()
        with opened_archive(
            file, within, as_of, trust=trust, engine=engine, read_only=not notes, reranker=reranker
        ) as archive:
            if not http:
                serve_stdio(archive, notes=notes)
                return
            server_token = token or secrets.token_urlsafe(24)

            def ready(address: str) -> None:
                connection = {"address": address, "token": server_token}
                if json_output:
                    output.print_json(connection)
                else:
                    output.print_text(f"{address}\nAuthorization: Bearer {server_token}")

            serve_http(archive, server_token, host=host, port=port, notes=notes, ready=ready)


@contextlib.contextmanager
def _end_with_client() -> Iterator[None]:
    """End this process at most GRACE_SECONDS after its client closes standard input or is killed."""
    # The descriptor is duplicated, because the protocol redirects standard input while it runs.
    client = select.poll()
    client.register(os.dup(0), 0)  # With an event mask of 0 only a hang-up is reported.
    finished = threading.Event()

    def watch() -> None:
        client.poll()
        if not finished.wait(GRACE_SECONDS):
            # Threads may be writing: transactions keep the file consistent.
            os._exit(1)

    threading.Thread(target=watch, name="monograph-client", daemon=True).start()
    try:
        yield
    finally:
        finished.set()


@command
def serve(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="The .mono files, and addresses of shelves.")],
    write: Annotated[bool, typer.Option("--write", help="Let the page change files; else they are read-only.")] = False,
    model: options.Model = "",
    api_key: options.ApiKey = "",
    host: HostOption = "127.0.0.1",
    port: PortOption = 0,
    token: TokenOption = "",
    agents: Annotated[
        bool, typer.Option("--mcp", help="Serve agents at /mcp as well (extra mcp); with --write they may add notes.")
    ] = False,
    within: options.Within = None,
    as_of: options.AsOf = "",
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    reranker: options.Reranker = "",
    engine: options.Engine = "",
    trust: options.Trust = False,
    json_output: options.Json = False,
) -> None:
    r"""Show FILE in the browser, and answer programs over HTTP.

    It needs the extra serve. It serves this machine only, and requires the token, which is in the printed address. With
    --write, missing files are created. With --within, every request sees only documents that match.

      monograph serve notes.mono --open
      monograph serve notes.mono letters.mono --write --port 8765
      monograph serve shared.mono --within owner=ann --port 8766
      monograph serve s3://bucket/shelf --engine ray
      monograph serve notes.mono \
          --model "openai:http://localhost:11434/v1#qwen3:1.7b"
    """
    with contextlib.ExitStack() as stack:
        from monograph.app.serve.served import Served, names_of
        from monograph.app.serve.server import server
        from monograph.loopback import address_of, listen

        output.escape_logs()
        answering = load(model, api_key)
        archives: dict[str, Archive] = {}
        for name, file in zip(names_of(files), files, strict=True):
            choices = {"create": write, "read_only": not write, "model": answering, "reranker": reranker}
            archive = opened_archive(file, within, as_of, trust=trust, engine=engine, **choices)
            archives[name] = stack.enter_context(archive)
        server_token = token or secrets.token_urlsafe(24)
        listening = stack.enter_context(listen(host, port))
        agent_apps = _agent_apps(archives, notes=write) if agents else []
        served = Served(archives, write=write, model="" if answering is None else answering.key, agents=agents)
        web_server = server(served, server_token, listening, agent_apps=agent_apps)
        address = address_of(listening)
        page = f"{address}/#token={server_token}"
        if json_output:
            output.print_json({"address": address, "token": server_token, "page": page})
        else:
            output.print_line(page)
        if open_browser:
            import webbrowser

            webbrowser.open(page)
        web_server.run(sockets=[listening])


def _agent_apps(files: dict[str, Archive], *, notes: bool) -> list[Starlette]:
    """Return MCP applications: the first file at ``/mcp``, others at ``/mcp/NAME``. ``notes`` lets agents add notes."""
    from monograph.library import Monograph, View
    from monograph_mcp import make_server

    apps = []
    for number, (name, file) in enumerate(files.items()):
        path = "/mcp/" + re.sub(r"[^\w.-]+", "-", name) if number else "/mcp"
        mcp_server = make_server(file, notes=notes and isinstance(file, Monograph | View))
        apps.append(mcp_server.streamable_http_app(host="127.0.0.1", streamable_http_path=path))
    return apps

"""The command that serves a file to agents."""

from __future__ import annotations

import secrets
import sys
from typing import Annotated

import typer

from monograph.app import output
from monograph.app.command import FileArgument, JsonOption, TrustOption, outcome
from monograph.app.trust import opened


def mcp(  # noqa: PLR0913, PLR0917 - options are arguments
    file: FileArgument,
    http: Annotated[bool, typer.Option("--http", help="Serve HTTP on this machine instead of standard input.")] = False,
    host: Annotated[str, typer.Option("--host", help="A loopback address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 takes a free one.", min=0, max=65_535)] = 0,
    token: Annotated[
        str,
        typer.Option(
            "--token",
            envvar="MONOGRAPH_TOKEN",
            help="What clients of --http must know; made up if it is not given.",
            show_default=False,
        ),
    ] = "",
    notes: Annotated[bool, typer.Option("--notes", help="Let agents add notes; else FILE is only read.")] = False,
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Serve FILE to agents by the Model Context Protocol.

    It needs the extra mcp. Over standard input and output it is for an agent's program to start. Over HTTP it answers
    at /mcp, on this machine alone, to those who give the token; address and token are printed first.

      monograph mcp notes.mono
      monograph mcp notes.mono --http --port 8765 --notes
    """
    with outcome(as_json=json_output):
        from monograph_mcp import serve_http, serve_stdio

        with opened(file, trust=trust, create=False, read_only=not notes) as monograph:
            if not http:
                serve_stdio(monograph, notes=notes)
                return
            chosen = token or secrets.token_urlsafe(24)

            def ready(address: str) -> None:
                said = {"address": address, "token": chosen}
                if json_output:
                    output.print_json(said)
                else:
                    output.console().print(f"{address}\nAuthorization: Bearer {chosen}")
                sys.stdout.flush()

            serve_http(monograph, chosen, host=host, port=port, notes=notes, ready=ready)

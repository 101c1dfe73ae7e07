"""MCP server with the tools and resources of one file or shelf: on standard input and output, or over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import anyio.to_thread
from mcp.server.mcpserver import MCPServer, ResourceSecurity
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.tools import Tool as ServedTool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp_types import Resource, ToolAnnotations

import monograph as library
from monograph import Reader
from monograph.errors import MonographError
from monograph.loopback import Credentials, GuardedApp, address_of, listen
from monograph_tools import for_agents, offered
from monograph_tools.faults import where
from monograph_tools.tools import address

if TYPE_CHECKING:
    from monograph.shelf import Archive
    from monograph_tools import Tool

LISTED = 200
"""Maximum number of documents listed as resources. Every document can be read and searched."""

INSTRUCTIONS = """{what}. Use search for questions, read for the text around a hit, entity and paths for connections
between people, places and things, and outline (if it is offered) for an overview. Every reply gives the places of its
texts: cite them by the document's title and the span."""

_READING = ToolAnnotations(read_only_hint=True, idempotent_hint=True, destructive_hint=False, open_world_hint=False)
_ADDING = ToolAnnotations(read_only_hint=False, idempotent_hint=True, destructive_hint=False, open_world_hint=False)
_TAKING_OUT = ToolAnnotations(read_only_hint=False, idempotent_hint=False, destructive_hint=True, open_world_hint=False)
_ANNOTATIONS = {"reads": _READING, "adds": _ADDING, "takes out": _TAKING_OUT}


class FileServer(MCPServer[Any]):
    """A server whose listed resources are the documents of a file or a shelf."""

    def __init__(self, archive: Archive, tools: list[ServedTool]) -> None:
        if isinstance(archive, Reader):
            name, what = archive.path.name, "A file of documents"
        else:
            name, what = archive.url.rstrip("/").rpartition("/")[2], "Many files of documents, searched as one"
        super().__init__(
            name="monograph",
            title=f"Monograph: {name}",
            instructions=INSTRUCTIONS.format(what=what),
            version=library.__version__,
            log_level="WARNING",
            tools=tools,
        )
        self._archive = archive

    async def list_resources(self) -> list[Resource]:
        """Return the documents of the file or shelf, at most LISTED."""
        page = await anyio.to_thread.run_sync(lambda: self._archive.listed(limit=LISTED))
        return [
            Resource(
                uri=address(document.id),
                name=document.title or document.uri or document.id,
                title=document.title or None,
                description=document.uri or None,
                mime_type="text/plain",
            )
            for document in page.documents
        ]


def make_server(monograph: Archive, *, notes: bool = False) -> FileServer:
    """Return an MCP server over an open file or shelf, which the caller closes.

    ``notes`` is whether to offer the three tools that write: ``add_note``, ``change_note`` and ``forget_note``. The
    last two accept only notes that ``add_note`` stored. Raises InputError if ``notes`` is True for a shelf or a
    snapshot, because these can only be read.
    """
    server = FileServer(monograph, [_as_served_tool(tool) for tool in offered(monograph, notes=notes)])

    # An id that looks like a path is safe: it is only looked up in the file, never on the disk.
    @server.resource(
        "monograph://document/{identifier}",
        name="document",
        description="The whole text of a document, by its id",
        mime_type="text/plain",
        security=ResourceSecurity(exempt_params={"identifier"}),
    )
    def document(identifier: str) -> str:
        try:
            return monograph.document(identifier).text
        except MonographError as error:
            message = for_agents(error, where(monograph))
        raise ResourceNotFoundError(message)

    return server


def serve_stdio(monograph: Archive, *, notes: bool = False) -> None:
    """Serve a file or shelf over standard input and output, until the input ends and all calls have returned.

    Parameters are as for :func:`make_server`.
    """
    anyio.run(make_server(monograph, notes=notes).run_stdio_async)


def serve_http(
    monograph: Archive,
    token: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    notes: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a file or shelf over streamable HTTP at ``/mcp`` until interrupted, to clients that send the token.

    Parameters
    ----------
    monograph, notes:
        As for :func:`make_server`.
    token:
        Secret that clients must send in the header ``Authorization: Bearer``; at least 16 characters.
    host, port:
        A loopback address, and the number of the port. Port 0 means any free port.
    ready:
        Called with the server's address as soon as clients can connect.

    Raises
    ------
    InputError
        If the token is too short, the host is not a loopback address, or the port is taken.
    """
    import uvicorn

    Credentials(token, port)  # Refuses a bad token before a port is taken.
    with listen(host, port) as bound:
        credentials = Credentials(token, bound.getsockname()[1])
        app = GuardedApp(make_server(monograph, notes=notes).streamable_http_app(host="127.0.0.1"), credentials)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        if ready is not None:
            ready(f"{address_of(bound)}/mcp")
        server.run(sockets=[bound])


class UncheckedArguments(FuncMetadata):
    """Metadata of a tool whose arguments the MCP library does not validate: the tool validates its arguments itself.

    The library's validation would drop unknown arguments.
    """

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as they were sent; parse objects that were sent as JSON text."""
        return self.pre_parse_json(arguments_to_validate)


def _as_served_tool(tool: Tool) -> ServedTool:
    served = ServedTool.from_function(
        tool.as_function(lambda reply: reply, _failed),
        name=tool.name,
        description=tool.description,
        annotations=_ANNOTATIONS[tool.effect],
        structured_output=True,
    )
    metadata = served.fn_metadata
    served.fn_metadata = UncheckedArguments(
        arg_model=metadata.arg_model, output_schema=metadata.output_schema, output_model=metadata.output_model
    )
    served.parameters = tool.arguments().model_json_schema()
    return served


def _failed(message: str) -> NoReturn:
    raise ToolError(message)

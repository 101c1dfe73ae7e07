"""Operations of the API: their parameters, their execution on threads, and their OpenAPI description."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Annotated, Any, TypeAlias, get_origin

from annotated_types import Ge
from fastapi import APIRouter, Body, Depends, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.params import Body as InBody
from pydantic import AfterValidator, BeforeValidator
from pydantic.fields import FieldInfo
from starlette.responses import Response

from monograph.app.serve.replies import Fault, Json
from monograph.app.serve.served import Served
from monograph.errors import InputError
from monograph.library import Monograph, Reader
from monograph.library.original_files import Pages
from monograph.shelf import Archive, only_file
from monograph.values.arguments import MOST, shown

BASE = "/api/v1"
MOST_ITEMS = 1_000
"""Maximum number of hits, entities or documents in one response."""
SLOW = ("/document/page", "/document/boxes", "/check", "/names/apart", "/names/unite")
"""Operations that may take minutes; they run on separate threads."""
EVENTS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}
"""OpenAPI description of a stream of events."""
_ERRORS: dict[int | str, str] = {
    400: "A value is invalid.",
    401: "The token is missing or wrong.",
    403: "Another origin, a read-only file, or a model's server that the file may not use.",
    404: "No such address, file, document, entity, summary or job.",
    408: "The body did not arrive in time.",
    409: "A name is taken, or a source file has changed or cannot be read.",
    413: "Too many bytes.",
    421: "The header Host names another server.",
    429: "Too many requests, jobs or uploads at once.",
    500: "The file is damaged, or the server has a bug.",
    502: "A model failed or did not answer.",
    503: "The file is in use or closed, the shelf cannot be reached, or memory ran out.",
    507: "The disk is full.",
    "default": "Any other error.",
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Fault, "description": text} for status, text in _ERRORS.items()
}
"""OpenAPI description of the errors of every operation."""


class Operations(APIRouter):
    """Router that calls synchronous endpoints on threads, and returns their results as the JSON of the command line."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add an operation; OpenAPI shows the docstring of ``endpoint``."""
        options |= {"summary": " ".join(inspect.getdoc(endpoint).split()), "operation_id": endpoint.__name__}  # type: ignore[union-attr]
        if not inspect.iscoroutinefunction(endpoint):
            endpoint = _on_thread(endpoint, options.get("status_code") or 200, slow=path in SLOW)
        super().add_api_route(path, endpoint, **options)


def _on_thread(call: Callable[..., Any], status: int, *, slow: bool) -> Callable[..., Awaitable[Response]]:
    def reply(values: dict[str, Any]) -> Response:
        value = call(**values)
        return value if isinstance(value, Response) else Json(value, status)

    @wraps(call)
    async def endpoint(request_: Request, **values: Any) -> Response:
        served: Served = request_.app.state.served
        return await served.run(reply, values, slow=slow)

    signature = inspect.signature(call, eval_str=True)
    request = inspect.Parameter("request_", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
    endpoint.__signature__ = signature.replace(parameters=[*signature.parameters.values(), request])  # type: ignore[attr-defined]
    return endpoint


async def only_known(request: Request) -> None:
    """Refuse a body that is not a JSON object, and parameters that are unknown or given twice."""
    parameters = parameters_of(request.scope["route"].dependant)
    names, in_body = list(request.query_params), any(isinstance(parameter, InBody) for parameter in parameters.values())
    if in_body:
        if request.headers.get("content-type", "").partition(";")[0].strip() != Json.media_type:
            raise InputError("the body is not JSON", f"send it with Content-Type: {Json.media_type}")
        body = await request.json() if await request.body() else {}
        if not isinstance(body, dict):
            raise InputError(f"the body is {shown(body)}", "give a JSON object")
        names += body
    for name in names:
        if name not in parameters:
            raise InputError(f"unknown parameter {shown(name)}", f"known parameters: {', '.join(parameters) or 'none'}")
        if len(request.query_params.getlist(name)) > 1 and get_origin(parameters[name].annotation) is not tuple:
            raise InputError(f"{name} is given twice", "give it once")


def parameters_of(dependant: Dependant) -> dict[str, FieldInfo]:
    """Return {name: parameter} of an operation; parameters of dependencies come last."""
    parameters = {
        parameter.alias: parameter.field_info for parameter in (*dependant.query_params, *dependant.body_params)
    }
    for dependency in dependant.dependencies:
        parameters |= parameters_of(dependency)
    return parameters


async def _served(request: Request) -> Served:
    served: Served = request.app.state.served
    return served


ServedFiles: TypeAlias = Annotated[Served, Depends(_served)]
FileName: TypeAlias = Annotated[str, Query(description="Name of a served file; by default the first.")]
FileInBody: TypeAlias = Annotated[str, Body(description="Name of a served file; by default the first.")]


async def _archive(served: ServedFiles, file: FileName = "") -> Archive:
    return served.named(file)[1]


async def _archive_in_body(served: ServedFiles, file: FileInBody = "") -> Archive:
    return served.named(file)[1]


async def _file(archive: Annotated[Archive, Depends(_archive)]) -> Reader:
    return only_file(archive, "files or folders of its own")


async def _pages(served: ServedFiles, file: Annotated[Reader, Depends(_file)]) -> Pages:
    return served.pages[file]


def to_change(call: str) -> Any:
    """Return a FastAPI dependency that provides the file that a request changes, as (name, file).

    ``call``, such as ``files.sync``, is the method that changes the file. The error for a view names this method.
    """

    async def file_to_change(served: ServedFiles, file: FileInBody = "") -> ToChange:
        return served.writable_file(file, call)

    return Depends(file_to_change)


def at_most(most: int) -> AfterValidator:
    """Return a validator that lowers a number to ``most``, so that responses have a bounded size."""
    return AfterValidator(lambda number: max(min(number, most), -MOST))


ToChange: TypeAlias = tuple[str, Monograph]
FromArchive: TypeAlias = Annotated[Archive, Depends(_archive)]
FromArchiveInBody: TypeAlias = Annotated[Archive, Depends(_archive_in_body)]
FromFile: TypeAlias = Annotated[Reader, Depends(_file)]
FromPages: TypeAlias = Annotated[Pages, Depends(_pages)]
Count: TypeAlias = Annotated[int, Ge(0), at_most(MOST)]
Items: TypeAlias = Annotated[int, Ge(0), at_most(MOST_ITEMS)]
FROM_WHOLE_FLOAT = BeforeValidator(
    lambda value: int(value) if isinstance(value, float) and value.is_integer() else value
)
"""Converts 5.0 to 5 before validation: both are integers in JSON Schema."""
Flag: TypeAlias = Annotated[bool, BeforeValidator(lambda value: value == "" or value)]
"""Boolean parameter. It is true if it is given without a value, as in ``?why``; else it has its value: ``?why=0``."""

DocumentId: TypeAlias = Annotated[str, Query(alias="id", description="Id or uri of the document.")]
Question: TypeAlias = Annotated[str, Query(description="A question, words, or a code.")]
MostHits: TypeAlias = Annotated[Items, Query(description="Maximum number of hits, at most 1,000.")]
How: TypeAlias = Annotated[str, Query(description="Search mode, as on the command line: `tree:detail=0.5`.")]
Stop: TypeAlias = Annotated[
    str, Query(description="When to stop reading the vector index, as on the command line: `budget:loads=20`.")
]
RankedRecall: TypeAlias = Annotated[
    float | None, Query(gt=0, le=1, description="Stop reading the vector index at this ranked recall.")
]
Where: TypeAlias = Annotated[
    tuple[str, ...], Query(description="Filters that hits must match, as on the command line: `year >= 2020`, or JSON.")
]
AsOf: TypeAlias = Annotated[str, Query(description="Search files as they were at the end of this time: `2026-03`.")]

"""HTML page that draws a part of the graph, and the paths that led to an answer.

The page contains its styles, scripts and data. Its content security policy allows only the page's two scripts, and no
requests. The title is escaped. All other text from files is JSON, in a block that browsers do not execute. The scripts
insert this text into the page as plain text, never as HTML.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from importlib import resources

from monograph.app.picture.data import data_of, shortened
from monograph.regex import regex
from monograph.values import Neighbourhood, Path

TITLE_CHARACTERS = 300
_LIBRARIES = ("d3-dispatch", "d3-quadtree", "d3-timer", "d3-force")
_PARTS = ("graph", "layout", "stage", "pointer", "panel", "details", "page")
_PLACEHOLDER = regex(r"\{\{(\w+)\}\}")


def picture_of(neighbourhood: Neighbourhood, paths: Sequence[Path] = (), *, title: str) -> str:
    """Return an HTML page that draws a neighbourhood and the paths through it; it makes no network requests.

    Large inputs are truncated, and the page says so: see :func:`monograph.app.picture.data.data_of`.

    Parameters
    ----------
    neighbourhood:
        The part of the graph to draw.
    paths:
        Paths to list next to the picture, in this order. Their nodes outside the neighbourhood are drawn too.
    title:
        Heading: an entity's name or the question.

    Returns
    -------
    The page's text; write it as UTF-8.
    """
    style = _asset("page.css")
    libraries = "\n".join(_asset("vendor", f"{name}.min.js") for name in _LIBRARIES)
    library = f"/*\n{_asset('vendor', 'LICENSE')}*/\n{libraries}"
    program = "(() => {\n" + '"use strict";\n' + "\n".join(_asset(f"{name}.js") for name in _PARTS) + "})();"
    heading = shortened(title, TITLE_CHARACTERS).encode("utf-8", "replace").decode()
    parts = {
        "policy": (
            f"default-src 'none'; script-src {_source(library)} {_source(program)}; style-src {_source(style)}; "
            "base-uri 'none'; form-action 'none'"
        ),
        "title": html.escape(heading.replace("\0", "")),
        "style": style,
        "data": data_of(neighbourhood, paths),
        "library": library,
        "program": program,
    }
    return _PLACEHOLDER.sub(lambda match: parts[match.group(1)], _asset("page.html"))


def _source(text: str) -> str:
    """Return the source expression that allows a script or style in a content security policy: its SHA-256 hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(*path: str) -> str:
    return resources.files(__name__).joinpath(*path).read_text("utf-8")

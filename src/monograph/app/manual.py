"""What ``--help`` says: prose that is wrapped to the terminal, and examples that stand as they are written."""

from __future__ import annotations

import inspect
import textwrap

PROGRAM = "monograph"

MANUAL = """Graph RAG in one file: point it at a folder, then ask.

  monograph sync notes.mono ~/notes       make or update the file
  monograph search notes.mono "boiler"    find passages, with their sources
  monograph ask notes.mono "who repaired the boiler?"
                                          answer, with a model or without
  monograph show notes.mono ID            read a document, or a passage of it
  monograph graph notes.mono "Mrs Grubb"  see what is named together with her
  monograph outline notes.mono            see what it is all about
  monograph serve notes.mono --open       look at it in the browser

The file is one SQLite database; nothing leaves this machine. Every command takes --json. Exit codes: 0 done; 1
failed; 2 wrong usage; 3 done, but some sources could not be taken in, or faults were found; 130 interrupted.
"""


def as_written(text: str) -> str:
    """Help text whose examples are not wrapped: the paragraphs that begin with the name of the program.

    They are indented by two, and marked by the line that click takes for "leave this paragraph as it is".
    """
    return "\n\n".join(map(_paragraph, inspect.cleandoc(text).split("\n\n")))


def _paragraph(text: str) -> str:
    lines = textwrap.dedent(text)
    return "\b\n" + textwrap.indent(lines, "  ") if lines.startswith(f"{PROGRAM} ") else text

"""Source code: keeps the text unchanged, and treats definitions (functions, classes, tables, …) as headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from monograph.read.source import Items, SourceFile
from monograph.read.text import Heading, decoded, sections_of
from monograph.regex import regex
from monograph.values import Document, content_id

_LONGEST_LINE = 400
_DEEPEST = 24
"""Largest indentation of a definition, in characters. A line that is indented more does not begin a section."""

_WORDS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|virtual|inline|unsafe"
    r"|pub(?:\([a-z]+\))?|open|sealed|data|partial|const|extern|local|suspend|fileprivate)[ \t]+)*"
)
_KEYWORD = regex(
    rf"[ \t]*{_WORDS}(?:class|struct|enum|interface|trait|impl|union|record|object|protocol|extension|namespace|module"
    r"|package|def|defp|defmodule|fn|func|fun|function\*?|sub|proc|type|macro|macro_rules!|sig|instance)\b[ \t]*"
    r"(?:\([^()]*\)[ \t]*)?(?:<[^<>]*>[ \t]*)?([\w.$?!~]+(?:::[\w~]+)*)"
)
_ARROW = regex(
    rf"[ \t]*{_WORDS}(?:const|let|var)[ \t]+([\w$]+)[ \t]*(?::[^=]+)?=[ \t]*(?:async[ \t]*)?"
    r"(?:function\b|\(|\w+[ \t]*=>)"
)
_C = regex(r"[ \t]{0,8}(?:[\w:*&<>,\[\]~]+[ \t]+){1,6}[*&]*([\w:~]+)[ \t]*\([^;]*$")
_SQL = regex(
    r"\s*create\s+(?:or\s+replace\s+)?(?:table|view|function|procedure|trigger|index)\s+"
    r"(?:if\s+not\s+exists\s+)?([\w.\"`]+)",
    re.I,
)
_NO_NAME = regex(r"[ \t]*(?:return|if|else|elif|for|while|switch|case|new|throw|await|yield|in|not|and|or|do|goto)\b")
_SHELL = regex(r"[ \t]*([\w-]+)[ \t]*\(\)[ \t]*\{?[ \t]*$")
_DEFINITIONS = (_KEYWORD, _ARROW, _SQL, _SHELL, _C)
_LEADING_LINE = regex(r"[ \t]*(?:@|#(?!include|define|if|endif|pragma)|//|/\*|\*|\"\"\"|--|;;|%%)")


def read_code(opened: SourceFile) -> Items:
    """Yield a source file as one document, with a section for each definition."""
    text = yield from decoded(opened)
    if not text:
        return
    address = opened.address
    yield Document(
        text, content_id("file", address.uri), address.name, address.uri, opened.metadata("code"),
        sections_of(_definitions(text)),
    )  # fmt: skip


def _definitions(text: str) -> Iterator[Heading]:
    """Yield a heading for each definition. Its level is the indentation in characters."""
    start = above = 0
    attached = False
    for line in text.split("\n"):
        indent, name = len(line) - len(line.lstrip()), ""
        if len(line) <= _LONGEST_LINE and indent <= _DEEPEST and not _NO_NAME.match(line):
            matches = (pattern.match(line) for pattern in _DEFINITIONS)
            name = next((match[1] for match in matches if match), "")
        if name:
            # Comments and decorators directly above belong to the definition.
            yield Heading(above if attached else start, indent, name)
            attached = False
        elif _LEADING_LINE.match(line):
            above, attached = (above if attached else start), True
        else:
            attached = False
        start += len(line) + 1

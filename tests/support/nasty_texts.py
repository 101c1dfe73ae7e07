"""Texts that are expensive to process, and the stages that process a text."""

from __future__ import annotations

from collections.abc import Callable

from monograph import Document, Settings
from monograph.derive import sentences
from monograph.derive.chunk import cut
from monograph.derive.embed.static import StaticEmbedder
from monograph.derive.extract.pattern import PatternExtractor, key_phrases
from monograph.derive.tokens import count_tokens, first_tokens
from monograph.graph.build import document_part
from monograph.values import Chunk

NASTY = {
    "fences": "```\n", "backticks": "`", "tildes": "~~~\n", "fences in prose": "```\nword\n", "double backticks": "``",
    "straight quotes": '"', "apostrophes": "'", "two apostrophes": "''", "opening quotes": "“", "closing quotes": "”",
    "quotes that nothing closes": "“a. ", "guillemets": "«", "guillemets the other way": "» a. « ",
    "low quotes": "„", "quotes of all kinds": "\"'`“‘«", "quotes in brackets": '("a." [‘b.’] {', "CJK quotes": "「",
    "CJK quotes closed": "「啊。", "nested quotes": "“‘’", "quotes that alternate": "‛‟", "low quotes and stops": "。‚《",
    "quotes and backticks": "“``« é ", "quotes in items": "\n- :漢‘›''", "stops and quotes": '." ' + ".' ",
    "round brackets": "(", "closed brackets": "()", "square brackets": "[", "braces": "{", "angle brackets": "<",
    "references": "[1]", "references after stops": "a.[1] ", "dots": ".", "dots and blanks": ". ", "ellipses": "…",
    "ellipses and marks": "…!", "marks": "?!", "digits": "1", "digits and dots": "1.", "numbers and dots": "1. ",
    "items": "1) a ", "capitals and dots": "A.", "initials": "A. ", "abbreviations": "Mr. ", "small abbreviations": "e.g. ",
    "combining marks": "\u0301", "zero-width joiners": "\u200d", "families": "👩\u200d", "emoji": "🦉", "one word": "a",
    "one name": "A", "one name of parts": "Ab", "Han": "漢字", "Han with stops": "漢字。", "kana": "あ", "Hangul": "가",
    "Thai": "กิ", "Hebrew": "א", "Devanagari": "क्", "Devanagari with stops": "क। ", "scripts that alternate": "aжא漢",
    "newlines": "\n", "lines": "a\n", "paragraphs": "A\n\n", "blanks": " ", "tabs": "\t", "blank lines": " \n",
    "carriage returns": "\r\n", "no-break blanks": "\u00a0", "byte order marks": "\ufeff", "line separators": "\u2028",
    "bars": "|", "rows": "|a|b|\n", "tables": "|a|\n|-|\n", "dashes": "-", "words with dashes": "a-", "headings": "# a\n",
    "underscores": "_", "stars": "**a", "addresses": "a@", "mail": "a@b.c ", "paths": "/a", "commas": ",",
    "names and commas": "Ann, ", "names and ands": "Ann and ", "names and ofs": "Bank of ", "speakers": "Ann: hi\n",
    "elisions": "O'", "possessives": "Ann's ", "dates": "1 May 2020 ", "entities": "&amp;", "tags": "<p>", "zeros": "\0",
}  # fmt: skip
"""Units that are repeated to make a long text, by description."""

EMBEDDER = StaticEmbedder()
SMALL = Settings(chunk_tokens=16, chunk_overlap=4)


def of_length(unit: str, length: int) -> str:
    """Repeat a unit up to a length."""
    return (unit * (length // len(unit) + 1))[:length]


def whole(text: str) -> Chunk:
    return Chunk("c", "d", text, 0, len(text), 0)


def extract(text: str) -> object:
    return list(PatternExtractor().extract([whole(text)]))


def part(text: str) -> Callable[[], object]:
    extractions = list(PatternExtractor().extract([whole(text)]))
    return lambda: document_part("Notes", [text], extractions, set())


STAGES: dict[str, Callable[[str], Callable[[], object]]] = {
    "sentences": lambda text: lambda: sentences.sentence_spans(text),
    "chunks": lambda text: lambda: cut(Document(text, id="d"), Settings()),
    "small chunks": lambda text: lambda: cut(Document(text, id="d"), SMALL),
    "tokens": lambda text: lambda: (count_tokens([text]), first_tokens(text, 200)),
    "names": lambda text: lambda: extract(text),
    "phrases": lambda text: lambda: list(key_phrases(text, "english")),
    "graph": part,
    "vector": lambda text: lambda: EMBEDDER.embed([text]),
}
"""For each stage, a function that prepares its work on a text, and returns the work as a callable."""

"""Scripted model server of the examples, which here also extracts in the formats of Monograph and other projects.

It returns the capitalised phrases of a text as entities, and a relation between successive ones.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from support.paths import EXAMPLES

sys.path.append(str(EXAMPLES / "model"))

import scripted_model as scripted

ANSWERS = scripted.ANSWERS


def kind(name: str) -> str:
    """Return ``person`` for a name of several words, else ``place``."""
    return "person" if " " in name else "place"


def _pairs(found: list[str]) -> Iterator[tuple[str, str, int]]:
    for source, target in zip(found, found[1:], strict=False):
        yield source, target, 1 + (len(source) + len(target)) % 10


def _lines(prompt: str) -> str:
    _, _, rest = prompt.partition("=====")
    found = scripted.names(prompt.split(f"\n====={rest[:12]}\n")[1])[:12]
    lines = [f"entity | {name} | {kind(name)} | {name} is named in the text." for name in found]
    lines += [f"relation | {a} | {b} | {a} comes before {b}. | order | {strength}" for a, b, strength in _pairs(found)]
    return "\n".join(lines)


def _lightrag(prompt: str) -> str:
    text = prompt.rpartition("---Input Text---")[2].partition("```\n")[2].rpartition("\n```")[0]
    found = scripted.names(text)[:20]
    if "`entities` and `relationships` arrays" in prompt:
        things = [{"name": name, "type": kind(name), "description": f"{name} is named."} for name in found]
        pairs = [
            {"source": a, "target": b, "keywords": "order", "description": f"{a} comes before {b}."}
            for a, b, _ in _pairs(found)
        ]
        return json.dumps({"entities": things, "relationships": pairs})
    match = re.search(r"`entity(\S+?)entity_name", prompt)
    bar = match[1] if match else "<|#|>"
    lines = [bar.join(("entity", name, kind(name), f"{name} is named.")) for name in found]
    lines += [bar.join(("relation", a, b, "order", f"{a} comes before {b}.")) for a, b, _ in _pairs(found)]
    return "\n".join([*lines, "<|COMPLETE|>"])


def _minirag(prompt: str) -> str:
    match = re.search(r'\("entity"(\S+?)<entity_name>', prompt)
    bar = match[1] if match else "<|>"
    found = scripted.names(prompt.rpartition("-Real Data-")[2].partition("Text:")[2].rpartition("Output:")[0])[:20]
    records = [bar.join(('("entity"', f'"{name}"', f'"{kind(name)}"', f'"{name} is named.")')) for name in found]
    records += [
        bar.join(('("relationship"', f'"{a}"', f'"{b}"', f'"{a} comes before {b}."', '"order"', f"{strength})"))
        for a, b, strength in _pairs(found)
    ]
    return "##\n".join([*records, f'("content_keywords"{bar}"{", ".join(found[:3])}")<|COMPLETE|>'])


def _nothing_missed(prompt: str) -> str:
    return '{"entities": [], "relationships": []}' if "JSON" in prompt else "<|COMPLETE|>"


def _keywords(prompt: str) -> str:
    query = prompt.rpartition("Query:")[2].strip().partition("\n")[0]
    found = scripted.names(query) or query.split()[-2:]
    if "answer_type_keywords" in prompt:
        return json.dumps({"answer_type_keywords": ["PERSON", "LOCATION"], "entities_from_query": found})
    return json.dumps({"high_level_keywords": query.split()[:2], "low_level_keywords": found})


def _synonyms(prompt: str) -> str:
    return "^".join(scripted.names(prompt.rpartition("QUERY:")[2].partition("----")[0]))


def _triplets(prompt: str) -> str:
    """Return triplets in LlamaIndex's format: a name, the first word after it, and the next name of the sentence."""
    text = prompt.rpartition("Text:")[2].rpartition("Triplets:")[0]
    found = []
    for sentence in re.split(r"(?<=[.?!])\s+", text):
        for source, target in zip(some := scripted.names(sentence), some[1:], strict=False):
            between = sentence.partition(source)[2].partition(target)[0].split()
            found.append(f"({source}, {' '.join(between[:1]) or 'beside'}, {target})")
    return "\n".join(found)


def _structured(prompt: str) -> str:
    """Return a query in LangChain's format; a year in the question becomes a filter."""
    question = prompt.rpartition("User Query:")[2].partition("Structured Request:")[0].strip()
    year = re.search(r"\b(\d{4})\b", question)
    found = {"query": question, "filter": f'eq("year", {year[1]})' if year else "NO_FILTER"}
    return f"```json\n{json.dumps(found)}\n```"


FORMS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("entity | name | type | description", _lines),
    ("missed in the last extraction", _nothing_missed),
    ("Based on the last extraction task", _nothing_missed),
    ("Answer YES | NO", lambda _: "NO"),
    ("---Input Text---", _lightrag),
    ('("entity"', _minirag),
    ("answer_type_keywords", _keywords),
    ('"high_level_keywords"', _keywords),
    ("Structured Request:", _structured),
    ("knowledge triplets in the form of", _triplets),
    ("separated by '^' symbols", _synonyms),
    ("Description List:", lambda prompt: " ".join(prompt.rpartition("Description List:")[2].split())[:300]),
)
"""(Text in a prompt, function that answers such prompts); the first match is used."""


def answer_prompt(prompt: str) -> str:
    """Return the answer of the scripted model in the format that the prompt asks for."""
    return next((form for text, form in FORMS if text in prompt), scripted.answer_prompt)(prompt)


@dataclass
class ModelServer(scripted.ModelServer):
    """Server of the examples, with :func:`answer_prompt` as its script."""

    script: Callable[[str], str] | None = answer_prompt

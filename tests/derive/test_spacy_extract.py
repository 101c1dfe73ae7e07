"""Extraction by small spaCy pipelines that the tests save."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

spacy: Any = pytest.importorskip("spacy", reason="the extra spacy is not installed")

from monograph.derive.extract.spacy import SpacyExtractor
from monograph.derive.loading import load_extractor
from monograph.errors import ModelUnavailable
from monograph.models import Extractor
from monograph.values import ENTITY_KINDS, Chunk

TEXT = "  Ada Lovelace met Charles\nBabbage in London in 1843. Two owls watched. The 12 old calculating engines stood still."
PATTERNS = [
    {"label": "PERSON", "pattern": "Ada Lovelace"},
    {"label": "PER", "pattern": [{"LOWER": "charles"}, {"IS_SPACE": True}, {"LOWER": "babbage"}]},
    {"label": "GPE", "pattern": "London"},
    {"label": "DATE", "pattern": "1843"},
    {"label": "CARDINAL", "pattern": "Two"},
    {"label": "WORK_OF_ART", "pattern": "Hamlet"},
    {"label": "BIRD", "pattern": "owls"},
    {"label": "GADGET", "pattern": "Xylo"},
]
NOUNS = {
    "engines": ("NOUN", "nsubj"),
    "owls": ("NOUN", "nsubj"),
    "Lovelace": ("PROPN", "nsubj"),
    "it": ("PRON", "nsubj"),
}


def chunks(*texts: str) -> list[Chunk]:
    return [Chunk(f"c{number}", "d", text, 0, len(text), number) for number, text in enumerate(texts)]


def saved(folder: Path, *components: str, patterns: Sequence[object] | None = None) -> Path:
    """Save a blank pipeline with entity rules and the given components, and return its folder."""
    pipeline = spacy.blank("en")
    pipeline.add_pipe("entity_ruler").add_patterns(PATTERNS if patterns is None else patterns)
    for name in components:
        pipeline.add_pipe(name)
    pipeline.to_disk(folder)
    return folder


@spacy.Language.component("tests_parser")  # type: ignore[untyped-decorator]
def parse(document: Any) -> Any:
    """Parse by the table NOUNS: every noun is a subject, and the listed words before it modify it."""
    head = None
    for token in reversed(list(document)):
        pos, dep = NOUNS.get(token.text, ("", ""))
        if pos:
            token.pos_, token.dep_, token.head, head = pos, dep, token, token
        elif head is not None and token.text.lower() in ("the", "12", "old", "calculating", "ada"):
            token.pos_ = {"the": "DET", "12": "NUM", "ada": "PROPN"}.get(token.text.lower(), "ADJ")
            token.dep_, token.head = "compound" if token.pos_ == "PROPN" else "amod", head
        else:
            token.pos_, token.dep_, head = "X", "ROOT", None
    return document


def found(extractor: SpacyExtractor, text: str) -> list[tuple[str, str]]:
    (extraction,) = extractor.extract(chunks(text))
    for mention in extraction.mentions:
        assert " ".join(text[mention.start : mention.end].split()) == mention.name
        assert mention.kind in ENTITY_KINDS
    return [(mention.name, mention.kind) for mention in extraction.mentions]


def test_spacy_extracts_entities(tmp_path: Path) -> None:
    extractor = load_extractor(f"spacy:{saved(tmp_path / 'rules')}")
    assert isinstance(extractor, SpacyExtractor)
    assert isinstance(extractor, Extractor)
    assert found(extractor, TEXT) == [
        ("Ada Lovelace", "person"),
        ("Charles Babbage", "person"),
        ("London", "place"),
        ("1843", "date"),
        ("owls", "term"),
    ]
    assert found(extractor, "Xylo plays Hamlet") == [("Xylo", "name"), ("Hamlet", "work")]


def test_spacy_returns_one_extraction_per_chunk_in_order(tmp_path: Path) -> None:
    extractor = SpacyExtractor(str(saved(tmp_path / "rules")))
    texts = [("London " if number % 2 else "nothing ") * (number % 3) for number in range(70)]
    extractions = list(extractor.extract(chunks(*texts)))
    assert [len(one.mentions) for one in extractions] == [text.count("London") for text in texts]
    assert {(one.tokens, one.failure, one.relations) for one in extractions} == {(0, "", ())}
    assert list(extractor.extract([])) == []


def test_noun_phrases_are_terms_where_the_pipeline_parses(tmp_path: Path) -> None:
    extractor = SpacyExtractor(str(saved(tmp_path / "parsing", "tests_parser")))
    assert found(extractor, TEXT)[-1] == ("old calculating engines", "term")
    assert found(extractor, "it stood. the engines moved.") == [("engines", "term")]
    assert found(extractor, "Ada Lovelace wrote.") == [("Ada Lovelace", "person")]


def test_language_without_noun_phrases_is_extracted(tmp_path: Path) -> None:
    pipeline = spacy.blank("zh")
    pipeline.add_pipe("entity_ruler").add_patterns([{"label": "LOC", "pattern": "东京"}])
    pipeline.add_pipe("tests_parser")
    pipeline.to_disk(tmp_path / "zh")
    assert found(SpacyExtractor(str(tmp_path / "zh")), "我住在东京。") == [("东京", "place")]


def test_spacy_key_depends_on_the_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = SpacyExtractor(str(saved(tmp_path / "one")))
    again = load_extractor(first.spec)
    assert (again.key, again.spec) == (first.key, first.spec)
    monkeypatch.chdir(tmp_path)
    assert SpacyExtractor("one").spec == f"spacy:{tmp_path / 'one'}"
    other = SpacyExtractor(str(saved(tmp_path / "two", patterns=PATTERNS[:2])))
    assert other.key != first.key


def test_unusable_pipelines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no_such_pipeline") as caught:
        load_extractor("spacy:no_such_pipeline")
    assert "python -m spacy download no_such_pipeline" in caught.value.hint
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelUnavailable, match="empty"):
        load_extractor(f"spacy:{tmp_path / 'empty'}")
    broken = saved(tmp_path / "broken")
    (broken / "config.cfg").write_text("[nlp]\nlang = en\npipeline = 3\n")
    with pytest.raises(ModelUnavailable, match="broken") as caught:
        load_extractor(f"spacy:{broken}")
    assert "save it again" in caught.value.hint


def test_missing_spacy_names_its_extra() -> None:
    """Without the package, the error names the extra, and importing the loader needs no spaCy."""
    code = (
        "import sys; sys.modules['spacy'] = None\n"
        "from monograph.derive.loading import load_extractor\n"
        "from monograph.errors import MissingExtra\n"
        "try:\n    load_extractor('spacy:en_core_web_sm')\n"
        "except MissingExtra as error:\n    print(error.hint)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == 'pip install "monograph[spacy]"'

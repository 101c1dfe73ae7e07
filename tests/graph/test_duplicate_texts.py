"""Copies of a text in the graph: counted once, and ranked last."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph
from support.models import HashEmbedder
from support.properties import examples

PEOPLE = ("Ada", "Blaise", "Carl", "Dora", "Emmy", "Felix")
TEXTS = [
    f"{one} Stone met {other} Stone by the mill of Worms, and spoke of the bridge."
    for one in PEOPLE
    for other in PEOPLE
    if one < other
]
QUESTION = "Who met Ada Stone by the mill of Worms?"


def texts(monograph: Monograph, k: int) -> list[str]:
    return [hit.text for hit in monograph.search(QUESTION, k, how="graph")]


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(1, 3), min_size=len(TEXTS), max_size=len(TEXTS)))
def test_copies_rank_after_distinct_texts(tmp_path_factory: pytest.TempPathFactory, often: list[int]) -> None:
    copies = [Document(text, id=f"{place}-{copy}") for place, text in enumerate(TEXTS) for copy in range(often[place])]
    with Monograph.open(tmp_path_factory.mktemp("same") / "a.mono", HashEmbedder()) as monograph:
        monograph.add(copies)
        hits = monograph.search(QUESTION, len(copies), how="graph")
        found = [hit.text for hit in hits]
        distinct = list(dict.fromkeys(found))
        # Copies are ranked last only if all chunks fit into the 40 that a search orders (`evidence.COVERED`).
        assert len(copies) > 40 or found[: len(distinct)] == distinct
        assert sorted(found) == sorted(copy.text for copy in copies)
        assert all(one.score >= other.score for one, other in zip(hits, hits[1:], strict=False))
        assert texts(monograph, 5) == found[:5]


def test_copies_lead_to_the_second_hop_once(monograph: Monograph) -> None:
    one = "The film Payment on Demand was shown in Ulm. Its director was Curtis Bernhardt."
    other = "The film Silent Harbour was made long before. Its director was Erna Vogt."
    films = [Document(one, id=f"film-{copy}", title="Payment on Demand") for copy in range(9)]
    monograph.add([*films, Document(other, id="other", title="Silent Harbour")])
    monograph.add([Document("Curtis Bernhardt came from Worms.", id="curtis", title="Curtis Bernhardt")])
    monograph.add([Document("Erna Vogt came from Speyer.", id="erna", title="Erna Vogt")])
    asked = "Did the directors of Payment on Demand and Silent Harbour come from the same place?"
    ids = {hit.chunk.document_id.partition("-")[0] for hit in monograph.search(asked, k=4, how="graph")}
    assert ids == {"film", "other", "curtis", "erna"}


def test_a_code_is_found_in_every_copy(monograph: Monograph) -> None:
    notes = [Document("Invoice INV-2024 of Ada Stone is paid.", id=f"invoice-{copy}") for copy in range(3)]
    monograph.add([*notes, *(Document(text) for text in TEXTS)])
    hits = monograph.search("Did Ada Stone pay INV-2024?", k=4, how="graph")
    assert [hit.text for hit in hits[:3]] == [note.text for note in notes]
    assert hits[3].text in TEXTS

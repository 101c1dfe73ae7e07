"""Documents for trees of summaries, the nodes of a tree, and the tree of a fresh build."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from monograph import Document, Monograph, Passage, Settings
from monograph.store import tree as store
from monograph.write import apply
from monograph.write.batch import Parcel
from support.models import HashEmbedder

WORDS = ("boat", "gull", "net", "storm", "light", "rope", "fish", "quay", "tide", "bell", "crew", "salt", "mast", "oar")


def tree_of(monograph: Monograph) -> list[tuple[object, ...]]:
    """Return the nodes of a tree without row numbers: layers, ranks, keys, parents' keys and texts."""
    with monograph._file.database.read() as connection:
        rows = store.load(connection, store.nodes_above(connection, -1))
    return sorted(
        (
            row.layer, row.rank, row.key, rows[row.parent].key if row.parent is not None else b"",
            monograph.tree.outline(row.key.hex(), 0)[0].text if row.layer else "",
        )
        for row in rows.values()
    )  # fmt: skip


def text_of(number: int, draw: int = 0) -> str:
    words = [WORDS[(number * 7 + draw * 5 + step * step * (1 + number % 3)) % len(WORDS)] for step in range(6)]
    return (
        f"Note {number} of draft {draw}: the {' and the '.join(words)} were seen. Nobody wrote down who counted them."
    )


def document(number: int, draw: int = 0) -> Document:
    passages = tuple(
        Passage(f"{text_of(number, draw)} Part {part}.", metadata={"part": part}) for part in range(1 + number % 3)
    )
    return Document(id=f"d{number}", passages=passages, metadata={"owner": "ann" if number % 2 else "bo"})


def built_anew(path: Path, documents: Sequence[Document], chosen: Settings) -> list[tuple[object, ...]]:
    """Return the tree of documents in a new file."""
    with Monograph.open(path, HashEmbedder(16), settings=chosen) as monograph:
        monograph.add(documents)
        monograph.tree.rebuild()
        assert monograph.check() == []
        return tree_of(monograph)


def store_alone(monograph: Monograph, documents: Sequence[Document]) -> None:
    """Store documents without updating the tree, as a writer does before it builds summaries."""
    apply.store(monograph._file.writing_pipeline(), [Parcel(None, (one,)) for one in documents], strict=True)


def write_and_forget(monograph: Monograph, name: str, rounds: int) -> list[list[str]]:
    """Write documents and remove some; return the remaining ids, the errors, and the reasons of problems."""
    chosen = random.Random(name)
    kept: list[str] = []
    raised: list[str] = []
    problems: list[str] = []
    for step in range(rounds):
        document_id = f"{name}-{step}"
        text = f"Captain {chosen.choice('ABCDEFGH')}ndersen of {name} wrote note {step} in Harbour {step % 7}."
        try:
            problems += [problem.reason for problem in monograph.add([Document(text, id=document_id)]).problems]
            kept.append(document_id)
            if step % 10 == 9:
                removed = kept[chosen.randrange(len(kept))]
                report = monograph.remove([removed], forget=step % 20 == 19)
                problems += [problem.reason for problem in report.problems]
                kept.remove(removed)
        except Exception as error:
            raised.append(f"{document_id}: {type(error).__name__}: {error}")
    return [kept, raised, problems]

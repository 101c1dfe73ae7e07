"""Short letters (correspondence), filler text that makes them longer, and names of people, things and places."""

from __future__ import annotations

from monograph import Document, Monograph

FACTS = [
    "Mrs Grubb wrote to Tobias Renk about the boiler in Salzburg.",
    "Tobias Renk met Anna Calder in Vienna in 1963.",
    "Anna Calder gave the comet plates to Peter Okafor.",
    "The lathe was painted red and stood in the yard.",
]
STRANGERS = ["Mary Poole rowed from Genoa to Corsica.", "Tobias Renk sold Mary Poole a compass in Genoa."]
FILLER = " ".join(f"On day {n} the weather was fair and nothing else was written down." for n in range(12))


def with_filler(monograph: Monograph) -> Monograph:
    """Add the letters, each long enough for content reduction."""
    monograph.add(
        Document(f"{fact} {FILLER}", id=f"d{n}", title=f"Letter {n}", uri=f"/l/{n}", metadata={"n": n})
        for n, fact in enumerate(FACTS)
    )
    return monograph


def of_different_lengths(monograph: Monograph) -> Monograph:
    """Add the letters with different lengths, and build the tree."""
    monograph.add(
        Document(f"{fact} {'More of it. ' * (n * 7 % 11)}", id=f"d{n}", title=f"Letter {n}")
        for n, fact in enumerate(FACTS)
    )
    monograph.tree.rebuild()
    return monograph


PEOPLE = ("Mrs Grubb", "Tobias Renk", "Anna Calder", "Peter Okafor", "Ines Amsel")
THINGS = ("boiler", "telescope", "dome", "plate", "lathe", "comet", "generator")
PLACES = ("Salzburg", "Vienna", "Berlin", "Trieste")

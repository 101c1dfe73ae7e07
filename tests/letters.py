"""A few letters, for tests: what they tell, and what they are long by."""

from __future__ import annotations

FACTS = [
    "Mrs Grubb wrote to Tobias Renk about the boiler in Salzburg.",
    "Tobias Renk met Anna Calder in Vienna in 1963.",
    "Anna Calder gave the comet plates to Peter Okafor.",
    "The lathe was painted red and stood in the yard.",
]
STRANGERS = ["Mary Poole rowed from Genoa to Corsica.", "Tobias Renk sold Mary Poole a compass in Genoa."]
FILLER = " ".join(f"On day {n} the weather was fair and nothing else was written down." for n in range(12))

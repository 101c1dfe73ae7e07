"""The tree of summaries on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from monograph.app.output import console

if TYPE_CHECKING:
    from monograph.values import Cost, OutlineNode, TreeStats

SHOWN_ID = 8
SHOWN_CHARACTERS = 100


def print_outline(branches: Sequence[OutlineNode]) -> None:
    """Branches as a table of contents: numbers by place, what they say, the passages under them, ids to open them."""
    out = console()
    if not branches:
        out.print("nothing to outline: the tree has no chunks yet")
    for place, branch in enumerate(branches, start=1):
        _print(branch, f"{place}" if len(branches) > 1 else "", 0)


def _print(branch: OutlineNode, number: str, depth: int) -> None:
    out = console()
    said = " ".join(branch.text.split())
    said = said if len(said) <= SHOWN_CHARACTERS or not depth else said[:SHOWN_CHARACTERS].rstrip() + " …"
    head = f"{'  ' * depth}{number + ' ' if number else ''}"
    if branch.layer:
        out.print(f"{head}{said}", style="bold" if not depth else None)
        out.print(f"{'  ' * depth}  {branch.count:,} passages  [{branch.id[:SHOWN_ID]}]", style="dim")
    else:
        title = f"{branch.title}: " if branch.title else ""
        out.print(f"{head}{title}{said}  [{branch.id}]")
    for place, child in enumerate(branch.children, start=1):
        _print(child, f"{number}.{place}" if number else f"{place}", depth + 1)


def print_price(cost: Cost, path: str) -> None:
    """What making the tree would take."""
    asked = f", at most {cost.model_calls:,} model calls, {cost.model_tokens:,} tokens" if cost.model_calls else ""
    console().print(f"{path}: about {cost.typical_summaries:,} summaries, at most {cost.summaries:,}{asked}")


def tree_rows(tree: TreeStats | None) -> list[tuple[str, str]]:
    """Lines of the table of stats."""
    if tree is None:
        return [("summaries", "no tree")]
    sizes = " ".join(f"{size}:{count}" for size, count in tree.sizes)
    planes = f"learned from {tree.learned_from:,} chunks" if tree.learned_from else "random"
    rows = [
        ("summaries", f"{tree.summaries:,}"),
        ("  by layer", " ".join(f"{count:,}" for count in tree.layers) or "-"),
        ("  segments by size", sizes or "-"),
        ("  cosine in a segment", f"{tree.cosine:.3f}"),
        ("  planes", planes),
        ("  made last / ever", f"{tree.last_made:,} / {tree.ever_made:,}"),
        ("  tokens last / ever", f"{tree.last_tokens:,} / {tree.ever_tokens:,}"),
    ]
    return rows + ([("  places that wait for summaries", f"{tree.waiting:,}")] if tree.waiting else [])

"""The command that tells what models were asked: ``costs``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from monograph.app import output
from monograph.app.archives import ArchiveArgument, opened_archive
from monograph.app.command import JsonOption, outcome
from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph.values import LedgerEntry


def costs(
    file: ArchiveArgument,
    since: Annotated[
        str, typer.Option("--since", metavar="DAY", help="From this day on: 2026-11-01.", show_default=False)
    ] = "",
    price: Annotated[
        list[str] | None,
        typer.Option(
            "--price",
            metavar="MODEL=READ/WRITTEN",
            help="What a million tokens cost that it reads, and that it writes; may be given again for another.",
            show_default=False,
        ),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Tell what models were asked for FILE, and the tokens it took.

    By day of UTC, model and purpose. What was remembered cost nothing and is not in it.

      monograph costs notes.mono
      monograph costs notes.mono --since 2026-11-01 --price gpt-4o-mini=0.15/0.60
    """
    with outcome(as_json=json_output):
        from monograph.shelf import whole_file

        prices = [_price(one) for one in price or ()]
        with opened_archive(file, create=False) as archive:
            found = [one for one in whole_file(archive, "ledger of costs", "costs").costs() if one.day >= since]
        if json_output:
            priced = [output.as_json(one) | {"price": _of(one, prices)} for one in found]
            output.print_json(priced if prices else found)
        else:
            _print(found, prices)


def _price(said: str) -> tuple[str, float, float]:
    """A model, and what a million tokens of it cost that are read and written."""
    model, _, both = said.rpartition("=")
    try:
        read, written = map(float, both.split("/"))
        if not model or not (0 <= read < math.inf and 0 <= written < math.inf):
            raise ValueError
    except ValueError:
        raise InputError(f"{said!r} is no price", "give --price MODEL=READ/WRITTEN: gpt-4o-mini=0.15/0.60") from None
    return model, read, written


def _of(entry: LedgerEntry, prices: Sequence[tuple[str, float, float]]) -> float | None:
    """What it cost by the first price whose model's name is in that of the entry; None where there is none."""
    for model, read, written in prices:
        if model in entry.model:
            return (entry.tokens_in * read + entry.tokens_out * written) / 1e6
    return None


def _print(found: Sequence[LedgerEntry], prices: Sequence[tuple[str, float, float]]) -> None:
    out = output.console()
    if not found:
        out.print("no model was asked")
        return
    numbers = ["calls", "tokens read", "written", *(["price"] if prices else [])]
    made = output.Table("day", "model", "for", *numbers, right=numbers)
    total = 0.0
    for one in found:
        cost = _of(one, prices)
        total += cost or 0.0
        shown = [f"{cost:,.4f}" if cost is not None else ""] if prices else []
        counts = (f"{one.calls:,}", f"{one.tokens_in:,}", f"{one.tokens_out:,}")
        made.add_row(one.day, one.model, one.purpose, *counts, *shown)
    out.print(made)
    calls, read, written = (sum(getattr(one, name) for one in found) for name in ("calls", "tokens_in", "tokens_out"))
    said = f"{calls:,} calls, {read:,} tokens read, {written:,} written"
    out.print(said + (f", {total:,.4f} in all" if prices else ""))

"""Page of the documentation, and its figures as JSON, from a benchmark's sections."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

NOISE = " Differences below 1.5x between times on the same machine are noise."


def write_page(
    results: Mapping[str, Any],
    path: Path,
    title: str,
    sections: Mapping[str, tuple[str, Callable[[Any], list[str]]]],
    *,
    remark: str = "",
) -> list[Path]:
    """Write a page and its figures as JSON; return both paths.

    Parameters
    ----------
    results:
        Measurements by section, as :func:`machine.run_sections` returns them.
    path:
        Path of the page. ``make bench-NAME`` writes it, where NAME is the file's name without its suffix.
    title:
        Heading of the page.
    sections:
        Heading and function that makes the paragraphs of each section, in order; unmeasured sections are skipped.
    remark:
        Text at the end of the page's first paragraph.
    """
    figures = path.with_suffix(".json")
    machines = list(dict.fromkeys(one["machine"] for one in results.values()))
    measured_on = f"Machine: {'; '.join(machines)}."
    if len(machines) > 1:
        measured_on = f"Machines: {'; '.join(machines)}. The JSON file names the machine of each section."
    seconds = sum(one["seconds"] for one in results.values())
    parts = [
        f"# {title}",
        f"{measured_on} Written by `make bench-{path.stem}` in {seconds / 60:.0f} minutes; the figures are in"
        f" [{figures.name}]({figures.name}).{remark}",
    ]
    for section, (heading, made) in sections.items():
        if section in results:
            limits = results[section]["limits"]
            parts += [f"## {heading}", *([f"*This section is not from a complete run: {limits}.*"] if limits else [])]
            parts += made(results[section]["found"])
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    figures.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return [path, figures]

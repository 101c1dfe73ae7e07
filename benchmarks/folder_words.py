"""Words that Monograph keeps of the files in build/folder (folder_fetch.py), compared with reference extractors.

The reference is pandoc for HTML and EPUB, pdftotext for PDF, man for manual pages, and a plain text's own content.
Elements that are marked as navigation, footer or table of contents, and lines that stand on most pages of a package,
are counted apart. trafilatura is measured beside pandoc if it is installed. Texts of the references are cached in
build/folder/reference: delete that folder after a change of the packages or tools.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from folder_fetch import FILES, FOLDER, PACKAGES
from machine import console, show
from monograph import Limits
from monograph.read.file import ReadTask
from monograph.read.pool import ReaderPool
from monograph.values import Root

NAVIGATION = (
    "nav, footer, [role=navigation], [role=search], .navigation, .navheader, .navfooter, .docnav, .footer,"
    " .toc, .toctree-wrapper, .ChildLinks"
)
REFERENCES = FOLDER / "reference"
TOOLS = FOLDER / "tools" / "usr"
ENVIRONMENT = {
    **os.environ, "LD_LIBRARY_PATH": str(TOOLS / "lib" / "x86_64-linux-gnu"), "MANWIDTH": "200", "LC_ALL": "C.UTF-8",
}  # fmt: skip
_TEXT = re.compile(r"(\.(txt|md|fortunes|debian|info|\d\d))?")
_MANUAL = re.compile(r"\.[1-9][a-z]*$")
_HYPHEN = re.compile(r"(?<=\w)[-\u00ad\u2010]\s*(?=\w)")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_PHRASE = 3
FEW = 5
"""Number of pages that can have a line in common without it being a menu."""
ENOUGH = 0.97
"""Share of words from which a file counts as kept."""


def words(text: str) -> list[str]:
    """Return the words in order, without case; each Chinese, Japanese or Korean character is one. Hyphens join words."""
    return _WORD.findall(_HYPHEN.sub("", unicodedata.normalize("NFKC", text).casefold()))


def form(path: Path) -> str:
    """Return the file's format, with ``.gz`` if it is compressed; empty if it has no reference."""
    packed = ".gz" if path.suffix == ".gz" else ""
    inner = path.with_suffix("") if packed else path
    suffix = inner.suffix.lower()
    if "/man/" in path.as_posix() and _MANUAL.search(inner.name):
        return "man" + packed
    if suffix in (".html", ".htm"):
        return "html" + packed
    if suffix in (".pdf", ".epub"):
        return suffix[1:] + packed
    return "text" + packed if _TEXT.fullmatch(suffix) and b"\0" not in content(path)[:4096] else ""


def content(path: Path) -> bytes:
    """Return the file's bytes, unpacked if it is compressed."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def run(*command: str | Path, given: bytes = b"") -> bytes:
    """Return the output of a tool of this machine, or of build/folder/tools if the machine does not have it."""
    name = str(command[0])
    tool = shutil.which(name) or TOOLS / "bin" / name
    return subprocess.run([tool, *command[1:]], input=given, capture_output=True, check=True, env=ENVIRONMENT).stdout


def pages(path: Path) -> list[bytes]:
    """Return the page of an HTML file, or the pages of an EPUB in the order of its archive."""
    data = content(path)
    if ".epub" not in path.suffixes:
        return [data]
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        return [book.read(name) for name in book.namelist() if name.endswith((".html", ".xhtml"))]


def of_pages(path: Path) -> tuple[str, str]:
    """Return the text of an HTML file or EPUB that pandoc finds outside of navigation, and the text of the navigation."""
    navigation = ""
    with tempfile.TemporaryDirectory() as place:
        files = []
        for number, data in enumerate(pages(path)):
            page = LexborHTMLParser(data)
            while (marked := page.css_first(NAVIGATION)) is not None:
                navigation += marked.text(separator=" ") + "\n"
                marked.decompose()
            files.append(Path(place) / f"{number}.html")
            files[-1].write_text(page.html or "")
        data_folder = TOOLS / "share" / "pandoc" / "data"
        parsed = run("pandoc", "-f", "html", "-t", "json", "--data-dir", data_folder, *files)
    return "".join(strings(json.loads(parsed)["blocks"])), navigation


def strings(node: Any) -> Iterator[str]:
    """Yield the texts below a node of pandoc's JSON. Blocks and lines end with a line break."""
    if isinstance(node, list):
        for one in node:
            yield from strings(one)
        return
    if not isinstance(node, dict):
        return
    match node.get("t"), node.get("c"):
        case "Str", text:
            yield text
        case (("Code" | "CodeBlock" | "Math"), [_, text]):
            yield text
        case (("RawInline" | "RawBlock"), _):
            pass
        case (("Space" | "SoftBreak" | "LineBreak"), _):
            yield " "
        case _, inner:
            yield from strings(inner)
    if node.get("t") in ("Para", "Plain", "Header", "CodeBlock"):
        yield "\n"


def reference(path: Path) -> tuple[str, str]:
    """Return the text that the reference extractor finds outside of navigation, and the text of the navigation."""
    cached = REFERENCES / f"{path.relative_to(FILES)}.json"
    if not cached.exists():
        navigation = ""
        match form(path).removesuffix(".gz"):
            case "html" | "epub":
                text, navigation = of_pages(path)
            case "pdf":
                text = run("pdftotext", "-", "-", given=content(path)).decode()
            case "man" if content(path).startswith(b".so "):
                text = ""  # another name of a page
            case "man":
                options = ("--no-hyphenation", "--no-justification", "-Tutf8", "-l", "-")
                text = re.sub(r"\x1b\[[\d;]*m|.\x08", "", run("man", *options, given=content(path)).decode())
            case _:
                text = content(path).decode(errors="replace")
        cached.parent.mkdir(parents=True, exist_ok=True)
        cached.write_text(json.dumps([text, navigation], ensure_ascii=False))
    text, navigation = json.loads(cached.read_text())
    return text, navigation


def repeated_lines(texts: list[str]) -> set[str]:
    """Return the lines that stand on more than half of the pages of a package, and on more than FEW, such as menus."""
    counts = Counter(line for text in texts for line in set(text.splitlines()))
    return {line for line, count in counts.items() if count > max(len(texts) / 2, FEW)}


def of_trafilatura(path: Path) -> str | None:
    """Return the text that trafilatura finds in a page; None if it is not installed."""
    try:
        from trafilatura import extract
    except ImportError:
        return None
    return extract(content(path), favor_recall=True) or ""


def share(found: list[str], kept: list[str]) -> float:
    """Return the share of the found words, counted with repeats, that are among the kept words."""
    return (Counter(found) & Counter(kept)).total() / len(found)


def longest_lost(found: list[str], kept: list[str]) -> str:
    """Return the longest row of words whose phrases of three words are not among the kept words."""
    phrases = set(zip(*(kept[start:] for start in range(_PHRASE)), strict=False))
    longest, begun = (0, 0), 0
    last = len(found) - _PHRASE + 1
    for place in range(last + 1):
        if place == last or tuple(found[place : place + _PHRASE]) in phrases:
            longest = max(longest, (place - begun, begun))
            begun = place + 1
    length, begun = longest
    return " ".join(found[begun : begun + length])


def measure(paths: list[Path]) -> Iterator[dict[str, Any]]:
    """Yield, for each file of a package, its format, words, shares kept, words of navigation, lost text and error."""
    root = Root("folder", str(FILES))
    references: dict[Path, tuple[str, str]] = {}
    for path in paths:
        try:
            references[path] = reference(path)
        except (subprocess.CalledProcessError, UnicodeDecodeError) as error:
            console.print(f"{path.relative_to(FILES)} has no reference: {error}")
    menus = repeated_lines([text for path, (text, _) in references.items() if form(path).startswith("html")])
    with ReaderPool(1) as pool:
        for path, (text, navigation) in references.items():
            found = words("\n".join(line for line in text.splitlines() if line not in menus))
            if not found:
                continue
            parts = [part for _, part in pool.read([ReadTask(path, root, Limits())])]
            kept = words("\n".join(f"{one.title}\n{one.text}" for part in parts for one in part.documents))
            rival = of_trafilatura(path) if form(path) == "html" else None
            yield {
                "file": str(path.relative_to(FILES)),
                "package": path.relative_to(FILES).parts[0],
                "format": form(path),
                "words": len(found),
                "kept": share(found, kept),
                "trafilatura": None if rival is None else share(found, words(rival)),
                "navigation": len(words(navigation)) + len(words(text)) - len(found),
                "lost": longest_lost(found, kept)[:300],
                "error": " ".join(str(part.error) for part in parts if part.error is not None),
            }


def summary(title: str, rows: list[dict[str, Any]]) -> None:
    """Print files, words, words of navigation and shares kept by format and package, and the errors by format."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        for package in (row["package"], "all"):
            groups.setdefault((row["format"], package), []).append(row)
    lines = []
    for (kind, package), some in sorted(groups.items()):
        kept = [row["kept"] for row in some]
        rival = [row["trafilatura"] for row in some if row["trafilatura"] is not None]
        counts = len(some), *(sum(row[name] for row in some) for name in ("words", "navigation"))
        lines.append(
            [
                f"{kind} {package}",
                *(f"{count:,}" for count in counts),
                f"{min(kept):.3f}",
                f"{mean(kept):.3f}",
                f"{sum(one >= ENOUGH for one in kept) / len(kept):.0%}",
                *((f"{min(rival):.3f}", f"{mean(rival):.3f}") if rival else ("", "")),
            ]
        )
    headings = ["format, package", "files", "words", "navigation", "worst", "mean", f"≥ {ENOUGH}"]
    show(title, [*headings, "trafilatura worst", "mean"], lines)
    for (kind, error), count in Counter((row["format"], row["error"]) for row in rows if row["error"]).items():
        console.print(f"{count:,} files, {kind}: {error}")


def worst(rows: list[dict[str, Any]]) -> None:
    """Print the 30 files of each format that lose most, and what they lose. Files with an error are left out."""
    for kind in sorted({row["format"] for row in rows}):
        losing = [row for row in rows if row["format"] == kind and row["kept"] < 1 and not row["error"]]
        if losing:
            console.print(f"\n{kind}: share kept, words, file, longest row of words lost")
        for row in sorted(losing, key=lambda row: row["kept"])[:30]:
            console.print(f"{row['kept']:.3f} {row['words']:>7,} {row['file']}: {row['lost'][:150]}")


def main() -> None:
    """Measure the files of one half, print a table and the worst files, and write build/folder/words-HALF.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("dev", "held-out"), default="dev")
    parser.add_argument("--every", type=int, default=1, help="measure the first of each EVERY files (default: all)")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for package in PACKAGES:
        if package.half == options.half:
            paths = [path for path in sorted((FILES / package.name).rglob("*")) if path.is_file() and form(path)]
            rows += measure(paths[:: options.every])
    summary(f"Words kept, {options.half}", rows)
    worst(rows)
    (FOLDER / f"words-{options.half}.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()

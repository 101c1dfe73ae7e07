"""Store the example texts in one file, and search it."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from monograph import Monograph
from monograph.app import document_output, output

TEXTS = Path(__file__).parent / "texts"
FILE = Path("demo.mono")
QUESTIONS = (
    "Who discovered the comet?",
    "Was INV-2031 paid?",
    "Wie oft wird die Kuppel geschmiert?",
    "Why was plate 4417 lost?",
)


def program() -> str:
    """Return the command for monograph: its name if the shell finds it, else its path relative to this folder."""
    beside = shutil.which("monograph", path=str(Path(sys.executable).parent))
    if beside is None or beside == shutil.which("monograph"):
        return "monograph"
    return shlex.quote(os.path.relpath(beside))


with Monograph.open(FILE) as monograph:
    with output.progress("sync", quiet=False) as on_progress:
        report = monograph.sync(TEXTS, progress=on_progress)
    stats = monograph.stats()
    output.print_line(
        f"{FILE}: {stats.documents} documents, {stats.chunks} chunks, {stats.file_bytes / 1e6:.1f} MB;"
        f" {report.embedded} embedded in {report.seconds:.2f} s"
    )
    for question in QUESTIONS:
        output.print_line()
        output.print_line(f"? {question}", style="bold green")
        document_output.print_hits(monograph.search(question, k=2), explain=False)

output.print_line("Next, type:", style="bold")
for command in (
    'search demo.mono "What did the lightning damage?" --explain',
    'search demo.mono "comet" --where "year >= 1963"',
    'ask demo.mono "Why was plate 4417 lost?"',
    "show demo.mono plate-4417",
    "stats demo.mono",
    f"sync demo.mono {shlex.quote(os.path.relpath(TEXTS))}  # nothing changed: nothing is done",
    "--help",
):
    output.print_line(f"  {program()} {command}")
output.print_line('And look at it in the browser (pip install "monograph[serve]"):', style="bold")
output.print_line(f"  {program()} serve demo.mono --open")

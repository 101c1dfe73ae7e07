"""Every example in README and docs is run, and says what it is said to say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OFFLINE = """
import runpy, sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise RuntimeError(f"{event} {arguments}")
sys.addaudithook(refuse)
sys.argv = sys.argv[1:]
sys.path.insert(0, "")
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def blocks(page: Path, kind: str) -> list[str]:
    return [body for found, body in BLOCK.findall(page.read_text()) if found == kind]


def pages_with(kind: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, kind)]


def place(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples" / "texts", tmp_path / "examples" / "texts")
    return tmp_path


def run(script: Path, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(script)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", pages_with("python"), ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    """One after the other in one namespace, in a folder that holds nothing but examples/texts."""
    code = "\n".join(blocks(page, "python"))
    if "llama_index" in code or "langchain" in code:
        pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
        pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    if "import mcp" in code or "from mcp" in code:
        pytest.importorskip("mcp", reason="the extra mcp is not installed")
    script = tmp_path / "page.py"
    script.write_text(code)
    run(script, place(tmp_path))


@pytest.mark.parametrize("page", pages_with("console"), ids=lambda page: page.name)
def test_console_blocks_print_what_they_show(page: Path, tmp_path: Path) -> None:
    """``…`` stands for anything. Each block starts afresh."""
    for number, block in enumerate(blocks(page, "console")):
        folder = place(tmp_path / str(number))
        for part in block.split("$ ")[1:]:
            command, _, expected = part.partition("\n")
            program = str(Path(sys.executable).parent / "monograph")
            done = subprocess.run(
                command.replace("monograph", program, 1),
                shell=True,
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            said = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
            pattern = re.escape(expected.strip()).replace("…", r"(?s:.*)")
            assert re.fullmatch(pattern, said), f"{command}\nsaid\n{said}\nnot\n{expected}"


def test_every_command_is_documented() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text()
    program = str(Path(sys.executable).parent / "monograph")
    manual = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  ([a-z]+)  +", manual.partition("Commands")[2], re.MULTILINE)
    assert len(commands) >= 10
    assert [command for command in commands if f"`{command} FILE" not in page and f"`{command} SET" not in page] == []


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"

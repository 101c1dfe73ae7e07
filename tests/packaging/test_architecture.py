"""Rules of docs/explanation/architecture.md: imports between packages, and the layout of tests."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.built_pages import built
from support.paths import ROOT, TESTS

FLOORS = (
    {"app", "evaluate", "shelf"},
    {"library"},
    {"sync", "write", "search", "explore", "answer", "carry"},
    {"derive", "vectors", "graph", "tree"},
    {"store", "read"},
    {
        "values",
        "models",
        "settings",
        "errors",
        "where",
        "loopback",
        "spending",
        "telemetry",
        "text_pass",
        "dates",
        "regex",
        "lazy",
    },
)
LEAVES = FLOORS[-1]
ALLOWED_SIDEWAYS = {
    ("app", "evaluate"),  # the command line has an eval command
    ("app", "shelf"),  # the command line has shelf commands, and takes a shelf where it takes a file
    ("write", "sync"),  # a write detects renamed files and stores the followed folders
    ("explore", "search"),
    ("answer", "search"),
    ("tree", "derive"),  # a check compares the keys of summaries
    ("carry", "explore"),  # an export contains entities as explore returns them
}
FRAMEWORKS = ("llama_index", "langchain", "langchain_core", "langchain_classic", "mcp")
HEAVY = (
    "onnxruntime",
    "torch",
    "sentence_transformers",
    "matplotlib",
    "sentencex",
    "safetensors",
    "rich",
    "networkx",
    "obstore",
    "ray",
    "spacy",
    "urllib3",
    "docx",
    "openpyxl",
    "oxmsg",
    "PIL",
    "chromadb",
    "pptx",
    "pyarrow",
    "pypdfium2",
    "python_calamine",
    "rapidocr",
    "selectolax",
    "striprtf",
    "watchfiles",
    "yaml",
)
SERVING = ("fastapi", "pydantic", "sse_starlette", "starlette", "uvicorn")
"""Modules that only the server may import at the top of a module."""
PUBLIC = {
    "monograph",
    "monograph.errors",
    "monograph.values",
    "monograph.models",
    "monograph.settings",
    "monograph.loopback",
    "monograph.shelf",
    "monograph.lazy",
}
PAST_THE_PORT = ("monograph.store.file.database", "monograph.vectors.index", "monograph.search.one_file")
VAGUE = {"utils", "helpers", "manager", "base", "impl"}

parsed = functools.cache(ast.parse)


def floor_of(part: str) -> int:
    return next(number for number, names in enumerate(FLOORS) if part in names)


def imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield (module, whether at the top of the file) of every import; ``from a import b`` counts as a.b."""
    top = {id(node) for node in getattr(tree, "body", [])}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", id(node) in top) for alias in node.names)


def modules_of(root: Path) -> dict[str, Path]:
    """Return the path of every module of the package, by name."""
    return {
        path.relative_to(root / "src").with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"): path
        for path in sorted((root / "src" / "monograph").rglob("*.py"))
    }


def faults(root: Path) -> list[str]:
    """Return all violations of the rules in a source tree."""
    found: list[str] = []
    for name, path in modules_of(root).items():
        found.extend(f"{name}: {fault}" for fault in _faults_of(path, name))
    for path in sorted((root / "integrations").rglob("*.py")):
        for module, _ in imports(parsed(path.read_text())):
            ours = module.startswith("monograph.") and module.rpartition(".")[0] not in PUBLIC
            if ours and module not in PUBLIC:
                found.append(f"{path.name}: {module} is not public")
    space = root / "integrations" / "llama_index" / "llama_index"
    return found + [str(path) for path in (space / "__init__.py", *space.glob("*/__init__.py")) if path.exists()]


def _faults_of(path: Path, name: str) -> Iterator[str]:
    tree = parsed(path.read_text())
    parts = name.split(".")
    if VAGUE & set(parts):
        yield "a name that says nothing"
    for module, top in imports(tree):
        first = module.split(".")[0]
        if first in FRAMEWORKS:
            yield f"imports the framework {first}"
        if first in HEAVY and top:
            yield f"imports {first} at the top"
        if first in SERVING and top and parts[1:3] != ["app", "serve"]:
            yield f"imports {first} at the top"
        if first == "sqlite3" and parts[1:2] != ["store"]:
            yield "SQL belongs in the store"
        if (
            parts[1:2] == ["search"]
            and parts[2:3] not in (["one_file"], ["names"])
            and module.startswith(PAST_THE_PORT)
        ):
            yield f"imports {module}, past the port"
        if first == "monograph" and len(parts) > 1 and not _may(parts[1], module.split(".")[1]):
            yield f"imports {module}"


def _may(own: str, other: str) -> bool:
    if own == other or other not in set().union(*FLOORS) or (own, other) in ALLOWED_SIDEWAYS:
        return True
    return floor_of(other) > floor_of(own) or (own in LEAVES and other in LEAVES)


def circles(modules: dict[str, Path]) -> list[str]:
    """Return all import cycles, direct or indirect, wherever in a module the import is."""
    graph = {
        name: {
            target
            for module, _ in imports(parsed(path.read_text()))
            for target in (module, module.rpartition(".")[0])
            if target in modules and target != name and not name.startswith(target + ".")
        }
        for name, path in modules.items()
    }
    found = []
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            found.append(" -> ".join((*above[above.index(name) :], name)))
        elif name not in done:
            for target in sorted(graph[name]):
                visit(target, (*above, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())
    return found


def test_imports_go_downward_only() -> None:
    assert faults(ROOT) == []


def test_no_import_cycles() -> None:
    assert circles(modules_of(ROOT)) == []
    assert circles({path.stem: path for path in (ROOT / "benchmarks").glob("*.py")}) == []


def test_no_two_packages_import_each_other() -> None:
    graph: dict[str, set[str]] = {}
    for name, path in modules_of(ROOT).items():
        own = name.split(".")[1:2]
        named = (module.split(".") for module, _ in imports(parsed(path.read_text())))
        others = {parts[1] for parts in named if parts[0] == "monograph" and len(parts) > 1}
        graph.setdefault("".join(own), set()).update(others.difference(own))
    assert [(one, other) for one in graph for other in graph[one] if one < other and one in graph.get(other, ())] == []


def test_architecture_page_lists_every_folder_in_one_line() -> None:
    source = ROOT / "src" / "monograph"
    folders = {path.parent.relative_to(source).as_posix() for path in source.rglob("*.py")} - {"."}
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    told = dict(re.findall(r"^\| `([a-z_/]+)/` \| (.+) \|$", page, re.MULTILINE))
    assert folders == {name for name in told if not name.startswith("integrations")}
    assert [line for line in told.values() if re.search(r"\band\b", line)] == []


def test_architecture_page_has_the_first_line_of_each_module() -> None:
    source = ROOT / "src" / "monograph"
    packages = ("library", "write", "store", "search", "answer", "explore", "graph", "tree", "vectors", "shelf")
    paths = [path for name in (*packages, "sync", "read", "derive") for path in (source / name).rglob("*.py")]
    modules = {}
    for path in (path for path in paths if path.name != "__init__.py"):
        docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
        modules[path.relative_to(source).as_posix()] = " ".join(docstring.split("\n\n")[0].split())
    page = built("explanation/architecture.md")
    assert dict(re.findall(r"^\| `([a-z0-9_/]+\.py)` \| (.+) \|$", page, re.MULTILINE)) == modules


@pytest.mark.parametrize("name", ["one-sync.md", "one-search.md"])
def test_pages_that_follow_a_call_name_files_that_exist(name: str) -> None:
    page = (ROOT / "docs" / "explanation" / name).read_text()
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)+\.py)`", page))
    assert len(named) > 20
    assert [name for name in named if not (ROOT / "src" / "monograph" / name).is_file()] == []


@pytest.mark.parametrize(
    ("module", "line", "fault"),
    [
        ("store/file/memo.py", "from monograph.library import Monograph", "imports monograph.library.Monograph"),
        ("sync/plan.py", "from monograph.write import apply", "imports monograph.write.apply"),
        ("values/content.py", "import llama_index.core", "imports the framework llama_index"),
        ("library/monograph.py", "import sqlite3", "SQL belongs in the store"),
        ("library/monograph.py", "import torch", "imports torch at the top"),
        ("search/tree.py", "from monograph.store.file.database import Connection", "past the port"),
        ("app/serve_commands.py", "import uvicorn", "imports uvicorn at the top"),
    ],
)
def test_forbidden_import_is_reported(tmp_path: Path, module: str, line: str, fault: str) -> None:
    path = tmp_path / "src" / "monograph" / module
    path.parent.mkdir(parents=True)
    path.write_text((ROOT / "src" / "monograph" / module).read_text())
    assert faults(tmp_path) == []
    path.write_text(path.read_text() + f"\n{line}\n")
    assert any(fault in one for one in faults(tmp_path))


def test_import_of_monograph_loads_no_heavy_module() -> None:
    code = "import sys, monograph; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "monograph" in loaded
    assert not set(loaded) & {*FRAMEWORKS, *HEAVY, *SERVING, "tokenizers", "typer", "wordllama"}


def test_folders_of_tests_mirror_the_packages() -> None:
    source = ROOT / "src" / "monograph"
    mirrored = {path.parent.relative_to(source) for path in source.rglob("*.py")} - {Path()}
    integrations = {Path("integrations", path.name) for path in (ROOT / "integrations").iterdir()}
    others = {Path(name) for name in ("app/page", "docs", "fuzz", "integrations", "packaging", "soak")}
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    assert folders - mirrored - integrations == others


def test_names_of_test_modules_are_unique() -> None:
    count = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, many in count.items() if many > 1] == []


def test_names_of_tests_are_unique_and_no_questions() -> None:
    line = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)
    names = [name for path in TESTS.rglob("test_*.py") for name in line.findall(path.read_text(encoding="utf-8"))]
    assert [name for name, many in Counter(names).items() if many > 1] == []
    assert [name for name in names if re.match("test_(?:what|who|whose|where|it)_", name)] == []


def test_no_test_module_is_imported() -> None:
    """The programs that tests hold as text import none either."""
    names = "|".join(path.stem for path in TESTS.rglob("test_*.py"))
    line = re.compile(rf"^\s*(?:from|import)\b.*\b(?:{names})\b", re.MULTILINE)
    assert [path.name for path in TESTS.rglob("*.py") if line.search(path.read_text())] == []

"""Examples in README and docs, executed and compared with the documented output."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest

import monograph
from monograph.app import cli
from support.built_pages import anchors, built, sections
from support.forks import COMMANDS, Forks
from support.model_server import ModelServer
from support.paths import ROOT, TESTS

REFERENCE = ROOT / "docs" / "reference"
TUTORIAL = ROOT / "docs" / "tutorial" / "index.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OFFLINE = """
import runpy, sys
import {modules}
def refuse(event, arguments):
    if {forbidden}:
        raise RuntimeError(f"{{event}} {{arguments}}")
sys.addaudithook(refuse)
sys.path.insert(0, "")
"""
SCRIPT = 'runpy.run_path(sys.argv[0], run_name="__main__")'
ANY_CALL = 'event in ("socket.connect", "socket.getaddrinfo", "socket.sendto")'
SCRIPTS = Forks(OFFLINE.format(modules="monograph", forbidden=ANY_CALL), SCRIPT)
PROGRAM = Path(sys.executable).parent / "monograph"
SERVED = {
    "llama-index": ("llama_index.llms.openai_like import OpenAILike", "served_llm", "ServedLLM as OpenAILike"),
    "langchain": ("langchain_openai import ChatOpenAI", "served_chat", "ServedChat as ChatOpenAI"),
}
"""Imports of the frameworks' model clients, which are not installed, and the modules and classes that replace them."""
COMPONENTS = {
    "llama-index": ("llama_index.core", "llama_index.vector_stores.monograph"),
    "langchain": ("langchain_core", "langchain_monograph"),
}


OURS = re.compile(r"llama_index\.\w+\.monograph|langchain_monograph")
"""Pattern of the modules of our components."""


def blocks(page: Path, kind: str) -> list[str]:
    return [body for found, body in BLOCK.findall(page.read_text()) if found == kind]


def pages_with(kind: str) -> list[Path]:
    return [page for page in PAGES if page != TUTORIAL and blocks(page, kind)]


def parameters_of(pages: list[Path], quick: str) -> list[object]:
    """Parameters for a test that executes pages: all but the page named ``quick`` belong to the long suite."""
    return [page if page.name == quick else pytest.param(page, marks=pytest.mark.long) for page in pages]


def place(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples" / "texts", tmp_path / "examples" / "texts")
    return tmp_path


def run(scripts: Forks, script: Path) -> None:
    """Run a page's script in its own folder."""
    done = scripts.run(script, cwd=script.parent)
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(autouse=True)
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the page about shelves a temporary home folder, for the files that a shelf stores on this machine."""
    if "page" in request.fixturenames and request.getfixturevalue("page").name == "shelf.md":
        monkeypatch.setenv("HOME", str(tmp_path / "home"))


def is_component(page: Path) -> bool:
    return page.parent.name in COMPONENTS


NEEDS = {
    "llama_index": "llama_index.core",
    "langchain": "langchain_core",
    "PIL": "PIL",
    'key="': "sqlcipher3",
    "opentelemetry": "opentelemetry.sdk",
}
"""Module that a page needs, by a part of its code."""
OF_A_SERVER = ("http.md",)
SINGLE = [one for one in pages_with("python") if not is_component(one) and one.name not in OF_A_SERVER]


@pytest.mark.parametrize("page", parameters_of(SINGLE, "searching.md"), ids=lambda page: page.name)
def test_python_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    """The examples run in order in one namespace, in a folder with only examples/texts."""
    code = "\n".join(blocks(page, "python"))
    for part, module in NEEDS.items():
        if part in code:
            pytest.importorskip(module, reason=f"{module} is not installed")
    script = place(tmp_path) / "page.py"
    script.write_text(code)
    run(SCRIPTS, script)


@pytest.mark.long
@pytest.mark.parametrize("kind", COMPONENTS)
def test_component_pages_run_with_a_scripted_model(kind: str, tmp_path: Path) -> None:
    framework, package = COMPONENTS[kind]
    pytest.importorskip(framework, reason=f"the extra {kind} is not installed")
    pages = [page for page in pages_with("python") if page.parent.name == kind]
    assert len(pages) == len(list((REFERENCE / kind).iterdir())) > 5
    with ModelServer() as server:
        address = ("127.0.0.1", int(server.url.rpartition(":")[2].partition("/")[0]))
        other = f'event in ("socket.connect", "socket.sendto") and arguments[1] != {address}'
        modules = f"{framework}, {package}, monograph.derive.openai_compatible"
        # Imports take longest, so the pages share them.
        with Forks(OFFLINE.format(modules=modules, forbidden=other), SCRIPT) as scripts:
            for page in pages:
                script = place(tmp_path / page.stem) / "page.py"
                client, module, instead = SERVED[kind]
                shutil.copy(TESTS / "support" / f"{module}.py", script.parent)
                code = "\n".join(blocks(page, "python")).replace(client, f"{module} import {instead}")
                script.write_text(code.replace("http://localhost:11434/v1", server.url))
                run(scripts, script)
    assert server.calls >= 2


def own_parameters(component: type) -> set[str]:
    """Return the parameters of a component's constructors in our modules, or else its fields there."""
    ours = [base for base in component.__mro__ if OURS.match(base.__module__)]
    made = [vars(base)["__init__"] for base in ours if "__init__" in vars(base)]
    fields = [name for base in ours for name in inspect.get_annotations(base) if not name.startswith("_")]
    named = [name for one in made for name in inspect.signature(one).parameters] or fields
    return {*named} - {"self", "options", "kwargs"}


def documented_parameters(component: type, *, inherited: bool) -> set[str]:
    """Return the parameters that a docstring describes, and documented attributes (``inherited``: of bases too)."""
    names: set[str] = set()
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", inspect.getdoc(component) or "", re.MULTILINE | re.DOTALL
    )
    for listed in re.findall(r"^(\S.*):\n {4}\S", section[1] if section else "", re.MULTILINE):
        names.update(name.strip("*") for name in listed.split(", "))
    for base in component.__mro__ if inherited else (component,):
        if OURS.match(base.__module__):
            (found,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            assert isinstance(found, ast.ClassDef)
            for field, text in pairwise(found.body):
                value = ast.literal_eval(text.value) if isinstance(text, ast.Expr) else None
                if isinstance(field, ast.AnnAssign) and isinstance(value, str) and value.strip():
                    names.add(ast.unparse(field.target))
    return names


def parameters_on(page: str, component: type) -> set[str]:
    """Return a component's parameters that a page describes by the docstrings of the component and of its bases."""
    names: set[str] = set()
    for path, options in re.findall(r"^::: (\S+)\n((?: {4}.*\n?)*)", page, re.MULTILINE):
        shown = [base for base in component.__mro__ if base.__name__ == path.rpartition(".")[2]]
        if shown and pkgutil.resolve_name(path) is shown[0]:
            names |= documented_parameters(shown[0], inherited="inherited_members: false" not in options)
    return names


@pytest.mark.parametrize("kind", COMPONENTS)
def test_component_pages_name_every_parameter(kind: str) -> None:
    """The docstring of each public component is on a page, and describes every parameter."""
    framework, _ = COMPONENTS[kind]
    pytest.importorskip(framework, reason=f"the extra {kind} is not installed")
    overview = (REFERENCE / f"{kind}.md").read_text()
    pages = [overview, *(page.read_text() for page in (REFERENCE / kind).iterdir())]
    checked = 0
    for package in sorted(set(OURS.findall(overview))):
        module = importlib.import_module(package)
        for name in module.__all__:
            page = next((text for text in pages if re.search(rf"^::: {package}\.{name}$", text, re.MULTILINE)), None)
            assert page is not None, f"{package}.{name} is on no page"
            component = getattr(module, name)
            parameters = own_parameters(component)
            assert parameters - parameters_on(page, component) == set(), name
            checked += len(parameters)
    assert checked > 20


def typed(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line as a terminal does. A line with only ``monograph`` needs no shell."""
    words = shlex.split(command)
    if words[0] == "monograph" and "|" not in words:
        return COMMANDS.run(*words, cwd=folder)
    line = command.replace("monograph", str(PROGRAM), 1)
    return subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("page", parameters_of(pages_with("console"), "README.md"), ids=lambda page: page.name)
def test_commands_of_a_page_print_the_documented_output(page: Path, tmp_path: Path) -> None:
    """Each block starts in a new folder. A scripted model replaces the named one."""
    if any("MONOGRAPH_KEY=" in block for block in blocks(page, "console")):
        pytest.importorskip("sqlcipher3", reason="the extra encrypt is not installed")
    with ModelServer() as server:
        for number, block in enumerate(blocks(page, "console")):
            check_output(block.replace("http://localhost:11434/v1", server.url), place(tmp_path / str(number)))


def check_output(block: str, folder: Path) -> None:
    """Run the commands of a block, and compare their output. ``…`` matches any text."""
    for part in block.split("$ ")[1:]:
        command, _, expected = part.partition("\n")
        done = typed(command, folder)
        assert done.returncode == 0, done.stderr
        said = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
        pattern = re.escape(expected.strip()).replace("…", r"(?s:.*)")
        assert re.fullmatch(pattern, said), f"{command}\nsaid\n{said}\nnot\n{expected}"


@pytest.mark.long
def test_the_tutorial_works_from_top_to_bottom(tmp_path: Path) -> None:
    """All its commands and examples run in one folder, with a scripted model instead of the named one."""
    pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    with ModelServer() as server:
        text = TUTORIAL.read_text().replace("http://localhost:11434/v1", server.url)
        for number, (kind, body) in enumerate(BLOCK.findall(text)):
            if kind == "console":
                check_output(body, tmp_path)
            elif kind == "python":
                script = tmp_path / f"step{number}.py"
                script.write_text(body)
                run(SCRIPTS, script)
        assert server.calls == 1


def test_command_line_page_documents_every_command() -> None:
    """It documents every option of ``sync`` too, in the order of ``--help``."""
    texts = sections(built("reference/command-line.md"))
    listed = {}
    for group in ((), ("shelf",)):
        manual = subprocess.run([PROGRAM, *group, "--help"], capture_output=True, text=True, check=True).stdout
        for name, summary in re.findall(r"^  ([a-z]+)  +(.+)", manual.partition("Commands:")[2], re.MULTILINE):
            listed[" ".join([*group, name])] = summary
    assert len(listed) > 30
    assert texts.keys() == listed.keys()
    for name, summary in listed.items():
        assert re.match(rf"\n```text\nmonograph {name} .+\n```\n\n{re.escape(summary)}\n", texts[name]), name
    manual = subprocess.run([PROGRAM, "sync", "--help"], capture_output=True, text=True, check=True).stdout
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", manual.partition("Options:")[2], re.MULTILINE)
    documented = re.findall(r"^\| `(?:-\w, )?(--[\w-]+).*` \| \S.* \|$", texts["sync"], re.MULTILINE)
    assert len(documented) > 10
    assert [*documented, "--json", "--help"] == options


def test_calls_that_pages_and_errors_name_exist(tmp_path: Path) -> None:
    """Prose, tables and hints of errors are checked too, not only examples."""
    modules = [*(ROOT / "src").rglob("*.py"), *(ROOT / "integrations").rglob("*.py")]
    texts = [(page.name, page.read_text()) for page in PAGES]
    texts += [(one.name, text) for one in modules for text in re.findall(r'"[^"\n]*"', one.read_text())]
    named = {call: name for name, text in texts for call in re.findall(r"\barchive((?:\.[a-z_]+)+)\(", text)}
    assert len(named) > 20
    with monograph.Monograph.open(tmp_path / "a.mono") as archive:
        for call, source in named.items():
            attributes = call.removeprefix(".").split(".")
            found: object = archive
            for attribute in attributes:
                assert hasattr(found, attribute), f"{source}: archive{call}"
                found = getattr(found, attribute)
    commands = {
        command: name
        for name, text in texts
        for command in re.findall(r"\bmonograph ([a-z]+) (?:\{|[A-Z]{3}|[\w-]+\.mono\b)", text)
    }
    assert len(commands) > 10
    assert {one: source for one, source in commands.items() if one not in cli.COMMANDS} == {}


def test_the_python_reference_has_every_public_name() -> None:
    named = re.findall(r"^::: (\S+)$", (REFERENCE / "python.md").read_text(), re.MULTILINE)
    assert {name.rpartition(".")[2] for name in named} >= set(monograph.__all__) - {"MonographError"}
    for name in named:
        pkgutil.resolve_name(name)


def test_links_between_pages_resolve() -> None:
    """A link leads to a file, and its anchor to a heading of the page as mkdocs builds it."""
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?[)\s]", page.read_text()):
            path = page.parent / target if target else page
            assert path.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in anchors(path.resolve()), f"{page.name}: {target}#{anchor}"


def test_navigation_lists_every_page() -> None:
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:])

"""Help, version and completion of the command line."""

from __future__ import annotations

import functools
import inspect
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest

from monograph.app import cli, shelf_commands
from monograph.app.cli import MANUAL

BIN = Path(sys.executable).parent
ALL_HELP = """
import json, sys
from contextlib import redirect_stdout
from io import StringIO
from monograph.app.cli import app
pages = {}
for name in sys.argv[1:]:
    with redirect_stdout(StringIO()) as out:
        try:
            app([*name.split(), "--help"], prog_name="monograph")
        except SystemExit:
            pages[name] = out.getvalue()
print(json.dumps(pages))
"""


def monograph(*arguments: str, **environment: str) -> str:
    """Return what the installed program prints."""
    command = [str(BIN / "monograph"), *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return done.stdout


def documented() -> dict[str, str]:
    """Return the docstring of each command, by name, and the manual under the empty name."""
    of_a_shelf = [one.callback for one in shelf_commands.app.registered_commands if one.callback is not None]
    shelf = {f"shelf {function.__name__}": function for function in of_a_shelf}
    named = {name: resolve_name(f"monograph.app.{place}") for name, place in cli.COMMANDS.items() if name != "shelf"}
    return {"": MANUAL, **{name: inspect.getdoc(function) or "" for name, function in (named | shelf).items()}}


def examples(text: str) -> list[list[str]]:
    """Return the lines of each paragraph of a text that begins with ``monograph``, without common indentation."""
    paragraphs = [inspect.cleandoc(f"\n{one}").split("\n") for one in text.strip("\n").split("\n\n")]
    return [lines for lines in paragraphs if lines[0].startswith("monograph ")]


@functools.cache
def rendered(columns: int) -> dict[str, str]:
    """Return the help of every command for a terminal of ``columns`` columns."""
    environment = {**os.environ, "COLUMNS": str(columns)}
    command = [sys.executable, "-c", ALL_HELP, "shelf", *documented()]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("columns", [80, 120])
def test_help_prints_examples_unwrapped(columns: int) -> None:
    pages = rendered(columns)
    wanted = {name: examples(text) for name, text in documented().items()}
    assert sum(len(one) for some in wanted.values() for one in some) > 40
    for name, paragraphs in wanted.items():
        lines = pages[name].splitlines()
        for paragraph in paragraphs:
            shown = [f"    {line}" for line in paragraph]
            assert any(lines[at : at + len(shown)] == shown for at in range(len(lines))), f"{name}\n{pages[name]}"


def test_help_fits_80_columns() -> None:
    pages = rendered(80)
    for name, text in pages.items():
        assert not [line for line in text.splitlines() if len(line) > 80], name
        assert not any(sign in text for sign in ("\b", "\x1b", "\\[", "[[")), name
    for group in ("", "shelf"):
        listed = pages[group].partition("Commands:")[2]
        assert "..." not in listed, "a summary that is cut off"
        inner = [name for name in pages if name.rpartition(" ")[0] == group and name]
        assert len(listed.strip().splitlines()) == len(inner)


def test_version_command_prints_the_version() -> None:
    project = tomllib.loads((Path(cli.__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert monograph("--version") == f"monograph {project['version']}\n"


def test_n_is_an_alias_of_k() -> None:
    with_k = [text for text in rendered(80).values() if " -k" in text.partition("Options:")[2]]
    assert len(with_k) == 6
    for text in with_k:
        assert "-k, -n " in text.partition("Options:")[2]


COMPLETE = """
eval "$(monograph --show-completion)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_monograph_completion monograph
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.long
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("sear",), ["search"]),
        (("re",), ["remove", "reextract", "resummarize", "retry", "reembed"]),
        (("search", "notes.mono", "x", "--expl"), ["--explain"]),
        (("search", "notes.mono", "x", "--how", "gr"), ["graph"]),
        (("search", "no"), [""]),
    ],
)
def test_bash_completes_commands_and_options(words: tuple[str, ...], offered: list[str]) -> None:
    """For a file, no name is offered, so that the shell completes it."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "--norc", "-c", COMPLETE, "bash", "monograph", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == offered


def complete_in_zsh(words: str) -> str:
    """Return the completions that zsh gets, by the protocol of typer's script."""
    return monograph(_MONOGRAPH_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=words)


@pytest.mark.long
def test_zsh_completes_commands_and_options() -> None:
    assert '"search":"Find passages' in complete_in_zsh("monograph sea")
    assert '"graph"' in complete_in_zsh("monograph search notes.mono x --how gr")
    assert complete_in_zsh("monograph search no").strip() == "_files"
    assert monograph(_MONOGRAPH_COMPLETE="source_zsh").lstrip().startswith("#compdef monograph")


@pytest.mark.long
@pytest.mark.parametrize(("shell", "startup"), [("bash", ".bashrc"), ("zsh", ".zshrc")])
def test_install_completion_writes_the_script(shell: str, startup: str, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    assert shell in monograph("--install-completion", shell, **environment)
    assert (tmp_path / startup).read_text()
    (script,) = (path for path in tmp_path.rglob("*monograph*") if path.is_file())
    assert "_monograph_completion" in script.read_text()

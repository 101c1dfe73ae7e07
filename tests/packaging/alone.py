"""Tests of the wheel in separate environments: with one framework, and with none (``make alone``).

Each environment has the packages of its extra and no other framework. It runs the tests that need nothing else, and
none of ours may be skipped. A framework's own suite may skip tests of capabilities that a model does not claim.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "alone"
FRAMEWORKS = {"langchain": "langchain-core", "llama-index": "llama-index-core", "mcp": "mcp"}
"""Package of each framework, by the extra that requires it."""

INSTALLED = "from importlib.metadata import distributions; print(*{one.name for one in distributions()})"
SUITE = "/site-packages/langchain_tests/"
RUNNER = ("hypothesis", "pytest", "pytest-asyncio", "pytest-timeout", "pytest-xdist")


@dataclass(frozen=True)
class Environment:
    """Extra and other packages to install, and tests to run besides those of missing extras."""

    extra: str
    tests: tuple[str, ...]
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.extra or "core"

    @property
    def asked(self) -> list[str]:
        """Tests to run, including those of this extra's component pages."""
        pages = f"tests/docs/test_docs.py::test_component_pages_run_with_a_scripted_model[{self.extra}]"
        return ["tests/packaging/test_extras.py", *self.tests, *([pages] if self.extra else [])]


CORE = Environment("", ("-m=core", "tests/store", "tests/write"), ("sqlcipher3",))
LANGCHAIN = Environment(
    "langchain",
    ("tests/integrations/langchain",),
    ("langchain-tests", "langchain-classic", "langchain", "langchain-graph-retriever", "lark", "sqlcipher3"),
)
LLAMA_INDEX = Environment("llama-index", ("tests/integrations/llama_index",), ("sqlcipher3",))


def run(command: Sequence[object], what: str) -> str:
    """Return the output of a command; exit if it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise SystemExit(f"{what} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def pip(*arguments: object) -> None:
    run([sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments], "pip")


def tried(environment: Environment, wheel: Path) -> str:
    """Test the wheel in a new environment; return one line about the result."""
    place = PLACE / environment.name
    venv.create(place, symlinks=True)
    python = place / "bin" / "python"
    package = f"{wheel}[{environment.extra}]" if environment.extra else str(wheel)
    pip("--python", python, "install", "--quiet", "--no-compile", package, *RUNNER, *environment.others)
    installed = run([python, "-c", INSTALLED], "looking").split()
    there = [extra for extra, name in FRAMEWORKS.items() if name in installed]
    if there != [extra for extra in FRAMEWORKS if extra == environment.extra]:
        raise SystemExit(f"{environment.name} has the frameworks {there}")
    tests = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-m=", *environment.asked]
    said = run(tests, f"tests with {environment.name}")
    if any(line.startswith("SKIPPED") and SUITE not in line for line in said.splitlines()):
        raise SystemExit(f"with {environment.name} tests were skipped:\n{said}")
    return f"{environment.name}: {said.strip().splitlines()[-1]}"


def main() -> None:
    """Build the wheel and test it in all environments, two at a time."""
    shutil.rmtree(PLACE, ignore_errors=True)
    pip("wheel", "--quiet", "--no-deps", "--wheel-dir", PLACE / "wheel", ROOT)
    (wheel,) = (PLACE / "wheel").glob("monograph-*.whl")

    def in_turn(environments: Sequence[Environment]) -> list[str]:
        return [tried(one, wheel) for one in environments]

    with ThreadPoolExecutor() as pool:
        for lines in pool.map(in_turn, [(LLAMA_INDEX,), (CORE, LANGCHAIN)]):
            print(*lines, sep="\n")


if __name__ == "__main__":
    main()

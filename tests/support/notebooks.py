"""Execution of notebooks as plain Python, with the output of each cell.

    cd tests && python -m support.notebooks --write

runs the notebooks in examples/notebooks and stores their output in the files.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.paths import EXAMPLES, TESTS

NOTEBOOKS = EXAMPLES / "notebooks"
FORBIDDEN = ("socket.connect", "socket.getaddrinfo", "socket.sendto")


def shown(path: Path) -> list[list[dict[str, Any]]]:
    """Run a notebook in a new process, in its folder, without a network; return the outputs of each code cell."""
    done = subprocess.run(
        [sys.executable, "-m", "support.notebooks", str(path)],
        cwd=path.parent,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{path}\n{done.stderr}"
    outputs: list[list[dict[str, Any]]] = json.loads(done.stdout)
    return outputs


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def as_written(notebook: dict[str, Any]) -> str:
    """Return the text of a notebook's file."""
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _run(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the outputs of a cell: its printed text, then the value of its last line if that is an expression."""
    body = ast.parse(source).body
    last = None
    if body and isinstance(body[-1], ast.Expr):
        last = ast.Expression(body[-1].value)
        body.pop()
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(last, f"cell {count}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in FORBIDDEN:
        raise RuntimeError(f"{event} {arguments}")


def main() -> None:
    if sys.argv[1] == "--write":
        for path in sorted(NOTEBOOKS.glob("*.ipynb")):
            notebook = json.loads(path.read_text(encoding="utf-8"))
            cells = code_cells(notebook)
            for count, (cell, outputs) in enumerate(zip(cells, shown(path), strict=True), start=1):
                cell["execution_count"], cell["outputs"] = count, outputs
            path.write_text(as_written(notebook), encoding="utf-8")
        return
    sys.addaudithook(_refuse)
    cells = code_cells(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    names: dict[str, Any] = {"__name__": "__main__"}
    print(json.dumps([_run("".join(cell["source"]), names, count) for count, cell in enumerate(cells, start=1)]))


if __name__ == "__main__":
    main()

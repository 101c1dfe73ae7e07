"""Conversation on the command line: questions, and commands that begin with a slash."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from monograph.app import answer_output, document_output, output
from monograph.errors import ModelError, MonographError
from monograph.shelf import place_of
from monograph.values import Answer, Citation, Turn

if TYPE_CHECKING:
    from monograph.shelf import Archive

REMEMBERED = 8
"""Number of last turns that are kept."""

_HELP = "/sources  /open N  /why  /new  /quit"


class Chat:
    """A conversation about one file or shelf."""

    def __init__(self, archive: Archive, choices: dict[str, Any], *, with_model: bool) -> None:
        self._archive = archive
        self._choices = choices
        self._with_model = with_model
        self._turns: list[Turn] = []
        self._commands: dict[str, Callable[[str], None]] = {
            "/sources": self._sources,
            "/open": self._open,
            "/why": self._why,
            "/new": self._new,
        }

    def run(self, *, as_json: bool) -> None:
        """Read and answer lines until the input ends or ``/quit`` is entered."""
        if not as_json and sys.stdin.isatty():
            output.console().print(f"{place_of(self._archive)}: type a question.  {_HELP}")
        for line in _lines():
            if line == "/quit":
                return
            if as_json:
                self._answer_as_json(line)
            elif line.startswith("/"):
                self._command(line)
            else:
                self._answer(line)

    def _answer(self, question: str) -> None:
        try:
            for piece in self._archive.stream(question, history=self._turns, **self._choices):
                if isinstance(piece, Answer):
                    self._keep(question, piece)
                    answer_output.print_end(piece, with_model=self._with_model or len(self._turns) > 1, explain=False)
                else:
                    output.print_piece(piece)
        except ModelError as error:
            output.print_piece("\n")
            output.console(stderr=True).print(f"error: {error}", style="red")

    def _answer_as_json(self, question: str) -> None:
        try:
            answer = self._archive.ask(question, history=self._turns, **self._choices)
            self._keep(question, answer)
            made = answer_output.as_object(answer)
        except MonographError as error:
            made = {"error": error.message, "hint": error.hint, "kind": type(error).__name__}
        output.print_json(made, indent=None)

    def _keep(self, question: str, answer: Answer) -> None:
        self._turns = [*self._turns, Turn(question, answer)][-REMEMBERED:]

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        known = self._commands.get(name)
        if known is None:
            output.console().print(_HELP)
        elif not self._turns and name != "/new":
            output.console().print("no question was asked yet")
        else:
            known(rest.strip())

    def _shown(self) -> tuple[Citation, ...]:
        return self._turns[-1].answer.context.citations

    def _sources(self, _: str) -> None:
        for one in self._shown():
            output.console().print(answer_output.source(one))

    def _open(self, number: str) -> None:
        found = next((one for one in self._shown() if str(one.number) == number.strip("[]")), None)
        if found is None or not self._opened(found):
            output.console().print(f"/open takes a number from 1 to {len(self._shown())}")

    def _opened(self, found: Citation) -> bool:
        """Print the chunks of a citation with their neighbours; return False if they are not stored."""
        stored = self._archive.fetch(found.chunks[:1])
        for chunk in (one.chunk for one in stored):
            chunks = self._archive.chunks(chunk.document_id)
            near = chunks[max(0, chunk.ordinal - 1) : chunk.ordinal + len(found.chunks) + 1]
            document_output.print_neighbours(chunk, near, len(chunks))
        return bool(stored)

    def _why(self, _: str) -> None:
        answer = self._turns[-1].answer
        out = output.console()
        for line in answer_output.explanation(answer):
            out.print(line)
        for hit in answer.context.hits:
            out.print(f"{hit.rank + 1}. {hit.title or hit.uri}: {hit.explain()}")

    def _new(self, _: str) -> None:
        self._turns = []


def _lines() -> Iterator[str]:
    """Yield the entered lines, without empty ones."""
    shown = sys.stdin.isatty()
    while True:
        if shown:
            output.print_piece("\n? ")
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()

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
        for line in _read_lines():
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
                    self._add_turn(question, piece)
                    answer_output.print_end(piece, with_model=self._with_model or len(self._turns) > 1, explain=False)
                else:
                    output.print_piece(piece)
        except ModelError as error:
            output.print_piece("\n")
            output.console(stderr=True).print(f"error: {error}", style="red")

    def _answer_as_json(self, question: str) -> None:
        try:
            answer = self._archive.ask(question, history=self._turns, **self._choices)
            self._add_turn(question, answer)
            reply = answer_output.as_object(answer)
        except MonographError as error:
            reply = {"error": error.message, "hint": error.hint, "kind": type(error).__name__}
        output.print_json(reply, indent=None)

    def _add_turn(self, question: str, answer: Answer) -> None:
        self._turns = [*self._turns, Turn(question, answer)][-REMEMBERED:]

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        run_command = self._commands.get(name)
        if run_command is None:
            output.console().print(_HELP)
        elif not self._turns and name != "/new":
            output.console().print("no question was asked yet")
        else:
            run_command(rest.strip())

    def _citations(self) -> tuple[Citation, ...]:
        return self._turns[-1].answer.context.citations

    def _sources(self, _: str) -> None:
        for citation in self._citations():
            output.console().print(answer_output.source(citation))

    def _open(self, number: str) -> None:
        citation = next(
            (candidate for candidate in self._citations() if str(candidate.number) == number.strip("[]")), None
        )
        if citation is None or not self._print_chunks(citation):
            output.console().print(f"/open takes a number from 1 to {len(self._citations())}")

    def _print_chunks(self, citation: Citation) -> bool:
        """Print the chunks of a citation with their neighbours; return False if they are not stored."""
        stored = self._archive.fetch(citation.chunks[:1])
        for chunk in (stored_chunk.chunk for stored_chunk in stored):
            chunks = self._archive.chunks(chunk.document_id)
            neighbours = chunks[max(0, chunk.ordinal - 1) : chunk.ordinal + len(citation.chunks) + 1]
            document_output.print_neighbours(chunk, neighbours, len(chunks))
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


def _read_lines() -> Iterator[str]:
    """Yield the entered lines, without empty ones."""
    is_terminal = sys.stdin.isatty()
    while True:
        if is_terminal:
            output.print_piece("\n? ")
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()

"""Conversation on the command line: questions, and commands that begin with a slash."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from monograph.app import answer_output, document_output, output
from monograph.errors import ModelError, MonographError
from monograph.shelf import place_of
from monograph.values import Answer, Turn

if TYPE_CHECKING:
    from monograph.shelf import Archive

REMEMBERED = 8
"""Maximum number of turns (a question and its answer) kept as context for the next question."""

_HELP = "/sources  /open N  /why  /new  /quit"


class Chat:
    """A conversation about one file or shelf."""

    def __init__(self, archive: Archive, choices: dict[str, Any], *, with_model: bool) -> None:
        self._archive = archive
        self._choices = choices
        self._with_model = with_model
        self._turns: list[Turn] = []

    def run(self, *, as_json: bool) -> None:
        """Read and answer lines until the input ends or ``/quit`` is entered."""
        is_terminal = sys.stdin.isatty()
        if not as_json and is_terminal:
            output.print_line(f"{place_of(self._archive)}: type a question.  {_HELP}")
        while True:
            if is_terminal:
                output.print_piece("\n? ")
            line = sys.stdin.readline()
            if not line or line.strip() == "/quit":
                return
            line = line.strip()
            if as_json and line:
                self._answer_as_json(line)
            elif line.startswith("/"):
                self._command(line)
            elif line:
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
            output.print_line(f"error: {error}", style="red", stderr=True)

    def _answer_as_json(self, question: str) -> None:
        try:
            answer = self._archive.ask(question, history=self._turns, **self._choices)
        except MonographError as error:
            output.print_json({"error": error.message, "hint": error.hint, "kind": type(error).__name__}, indent=None)
        else:
            self._add_turn(question, answer)
            output.print_json(answer, indent=None)

    def _add_turn(self, question: str, answer: Answer) -> None:
        self._turns = [*self._turns, Turn(question, answer)][-REMEMBERED:]

    def _command(self, entered: str) -> None:
        name, _, argument = entered.partition(" ")
        if name not in ("/sources", "/open", "/why", "/new"):
            output.print_line(_HELP)
        elif name == "/new":
            self._turns = []
        elif not self._turns:
            output.print_line("no question was asked yet")
        elif name == "/sources":
            for citation in self._turns[-1].answer.context.citations:
                output.print_line(answer_output.source(citation))
        elif name == "/open":
            self._open(argument)
        else:
            answer = self._turns[-1].answer
            for line in answer_output.explanation(answer):
                output.print_line(line)
            for hit in answer.context.hits:
                output.print_line(f"{hit.rank + 1}. {hit.title or hit.uri}: {hit.explain()}")

    def _open(self, number: str) -> None:
        """Print the chunks of citation ``number`` of the last answer, and the chunks around them."""
        citations = self._turns[-1].answer.context.citations
        chosen = [citation for citation in citations if str(citation.number) == number.strip("[] ")]
        stored = self._archive.fetch(chosen[0].chunks[:1]) if chosen else []
        if not stored:
            output.print_line(f"/open takes a number from 1 to {len(citations)}")
            return
        chunk = stored[0].chunk
        chunks = self._archive.chunks(chunk.document_id)
        neighbours = chunks[max(0, chunk.ordinal - 1) : chunk.ordinal + len(chosen[0].chunks) + 1]
        document_output.print_neighbours(chunk, neighbours, len(chunks))

"""What a server of the OpenAI form says in a reply or an event: text, calls of tools, why it ends, tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from monograph.models import ReplyPiece, ToolCall


class Joining:
    """Puts together what comes of a reply, be it whole or in pieces.

    Servers differ in how they tell calls apart: by an index each, by the same index and another id, or by nothing but
    that a call begins with its name.

    Parameters
    ----------
    clean:
        Takes out of a text what may not be shown.
    prefix:
        Begins the ids of calls that the server gave none.
    """

    def __init__(self, clean: Callable[[str], str], prefix: str) -> None:
        self._clean = clean
        self._prefix = prefix
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._places: dict[int, int] = {}
        self.answered = False
        """Whether there was anything that a reply may be made of."""

    def take(self, reply: Mapping[str, Any]) -> ReplyPiece:
        """What is new in a reply or an event."""
        said = _said(reply)
        if said is None:
            return ReplyPiece()
        self.answered = True
        text = self._clean(_text(said))
        self._texts.append(text)
        return ReplyPiece(text, tuple(self._called(said)))

    @property
    def text(self) -> str:
        """All text until now."""
        return self._clean("".join(self._texts))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All calls until now, but those without a name; one without arguments has an empty object."""
        return tuple(
            ToolCall(place, call.id, call.name, self._clean(call.arguments) or "{}")
            for place, call in enumerate(call for call in self._calls if call.name)
        )

    def _called(self, said: Mapping[str, Any]) -> Iterator[ToolCall]:
        listed = said.get("tool_calls")
        for part in listed if isinstance(listed, list) else ():
            function = part.get("function") if isinstance(part, Mapping) else None
            if not isinstance(function, Mapping):
                continue
            name, given = _word(function.get("name")), _word(part.get("id"))
            place = self._place(part.get("index"), given, name)
            if place is None:
                continue
            old = self._calls[place]
            # What a server says with every piece is told once.
            name = "" if old.name else self._clean(name)
            made = "" if old.id or not name else given or f"{self._prefix}{place}"
            arguments = self._clean(_arguments(function.get("arguments")))
            self._calls[place] = ToolCall(place, old.id or made, old.name or name, old.arguments + arguments)
            yield ToolCall(place, made, name, arguments)

    def _place(self, index: object, given: str, name: str) -> int | None:
        """Where a piece of a call belongs; None where it belongs to none."""
        numbered = isinstance(index, int)
        known = self._places.get(index) if isinstance(index, int) else len(self._calls) - 1
        if known is None or known < 0 or (name and not numbered) or self._another(known, given, name):
            if not name and not numbered:
                return None
            known = len(self._calls)
            self._calls.append(ToolCall(known, "", "", ""))
        if isinstance(index, int):
            self._places[index] = known
        return known

    def _another(self, place: int, given: str, name: str) -> bool:
        old = self._calls[place]
        return bool(name and given and old.id and given != old.id)


def ends(reply: Mapping[str, Any]) -> str | None:
    """Why a reply ends, if it or an event says so."""
    try:
        reason = reply["choices"][0].get("finish_reason")
    except (AttributeError, IndexError, KeyError, TypeError):
        return None
    return None if reason is None else str(reason)


def usage(reply: Mapping[str, Any]) -> tuple[int, int] | None:
    """Tokens read and written, as the server counted them."""
    before, after = tokens_read(reply), _counted(reply, "completion_tokens")
    return None if before is None or after is None else (before, after)


def tokens_read(reply: Mapping[str, Any]) -> int | None:
    """Tokens read, as the server counted them."""
    return _counted(reply, "prompt_tokens")


def _counted(reply: Mapping[str, Any], what: str) -> int | None:
    counted = reply.get("usage")
    number = counted.get(what) if isinstance(counted, dict) else None
    return number if isinstance(number, int) and number >= 0 else None


def text_of(content: object) -> str:
    """The text of a message's content, which some write in parts."""
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return _word(content)


def _said(reply: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The message of the first choice, or what an event adds to it; None where there is no choice."""
    try:
        choice = reply["choices"][0]
        said = choice["delta"] if "delta" in choice else choice["message"]
    except (IndexError, KeyError, TypeError):
        return None
    return said if isinstance(said, Mapping) else None


def _text(said: Mapping[str, Any]) -> str:
    return text_of(said.get("content")) or _word(said.get("refusal"))


def _arguments(value: object) -> str:
    """Arguments as JSON; some servers write them as an object."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else _word(value)


def _word(value: object) -> str:
    """A text; half a surrogate pair in it becomes a question mark. Empty for anything else."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""

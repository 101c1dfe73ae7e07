"""Texts divided into pieces with marked words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monograph.app.serve.pieces import Block, Marks, Piece, Words, blocks, window
from monograph.values import Section

LINES = st.sampled_from(
    (
        "",
        "plain words",
        "name: Ann; price: 3; of: 😀",
        "name: Ben; price: 4",
        "# Heading",
        "| a | b |",
        "|---|---|",
        "| 1 | 😀 |",
        "  indented",
        "क्या है",
        "汉字",
        "\t",
        "e\u0301",
        "|",
        "||",
    )
)
TEXTS = st.lists(LINES, max_size=12).map("\n".join) | st.text(alphabet="ab \n|-#\\😀é\u0301क्ि汉", max_size=60)
SPANS = st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=4)


def leaves(found: list[Block]) -> list[Piece]:
    return [
        piece
        for block in found
        for piece in (*block.pieces, *(one for row in block.rows for cell in row for one in cell))
    ]


@given(TEXTS, SPANS, st.integers(-5, 90), st.integers(-5, 90))
def test_pieces_join_to_the_text(text: str, spans: list[tuple[int, int]], start: int, length: int) -> None:
    first, last = window(text, start, length)
    assert 0 <= first <= last <= len(text)
    assert first <= min(max(start, 0), len(text))
    marks = Marks(tuple(spans), Words("plain words क्या 汉字"))
    found = blocks(text, first, last, [Section(at, ("x",)) for at, one in enumerate(text) if one == "#"], marks)
    at = first
    for block in found:
        assert at <= block.start <= block.end <= last
        assert not text[at : block.start].strip()
        at = block.end
        if block.kind != "table":
            inner = "".join(piece.text for piece in block.pieces)
            assert text[block.start : block.end].endswith(inner)
            assert text[block.start : block.end].removesuffix(inner).strip("# \t") == ""
    assert not text[at:last].strip()
    for piece in leaves(found):
        assert text[piece.start : piece.end] == piece.text
        inside = tuple(n for n, (a, b) in enumerate(spans) if a < piece.end and b > piece.start and a < b)
        assert piece.marks == inside


@given(TEXTS, st.integers(1, 40))
def test_windows_follow_each_other(text: str, length: int) -> None:
    seen, start = [], 0
    while start < len(text):
        first, last = window(text, start, length)
        assert first == start
        assert last > first
        seen.append(text[first:last])
        start = last
    assert "".join(seen) == text


def marked(question: str, text: str) -> list[str]:
    return [one.text for one in Marks(words=Words(question)).cut(text, 0, len(text)) if one.word]


def test_inflected_words_of_the_question_are_marked() -> None:
    assert marked("who directed the film?", "The director's films, DIRECTED by Ann.") == [
        "director",
        "films",
        "DIRECTED",
    ]
    assert marked("Müller", "Herr MULLER und Frau Müller 😀 Müllers") == ["MULLER", "Müller", "Müllers"]
    assert marked("नमस्ते दुनिया", "😀 दुनिया को नमस्ते") == ["दुनिया", "नमस्ते"]
    assert marked("观测站在哪里", "高墙观测站建于") == ["观测站"]
    assert marked("", "nothing") == []
    assert marked("???", "nothing") == []
    assert marked("e\u0301clair", "Un éclair") == ["éclair"]


def test_tables_and_headings_become_pieces() -> None:
    text = "# Prices\n\nOf 1963:\n| what | price |\n|---|---:|\n| lamp \\| oil | 3 |\n| | 4 |\nand so on\n\n1 Foo\nbar"
    found = blocks(
        text, 0, len(text), [Section(0, ("Prices",)), Section(text.index("Foo"), ("Prices", "Foo"))], Marks()
    )
    kinds = [(block.kind, block.level) for block in found]
    assert kinds == [("heading", 1), ("text", 0), ("table", 0), ("text", 0), ("heading", 2), ("text", 0)]
    rows = [["".join(piece.text for piece in cell) for cell in row] for row in found[2].rows]
    assert rows == [["what", "price"], ["lamp \\| oil", "3"], ["", "4"]]
    assert [piece.text for piece in found[0].pieces] == ["Prices"]


def test_rows_of_readers_become_tables() -> None:
    text = "Prices\n\nname: Ann; price: 3; note: a: b; c\n\nprice: 4; name: Ben\n\nname: Cy; price: 5\n\nAnd: so on; they: say"
    found = blocks(text, 0, len(text), [], Marks(((text.index("Ben"), text.index("Ben") + 3),)))
    assert [block.kind for block in found] == ["text", "table", "text"]
    rows = [["".join(piece.text for piece in cell) for cell in row] for row in found[1].rows]
    assert rows == [["name", "price", "note"], ["Ann", "3", "a: b; c"], ["Ben", "4", ""], ["Cy", "5", ""]]
    assert [piece.text for piece in leaves(found) if piece.marks] == ["Ben"]

"""Tokens are the tokenizer's own, however they are come by."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.derive.tokens import count_tokens, first_tokens, token_ids, token_spans
from support.oracles.tokens import tokenizer

PIECES = st.sampled_from(
    ["a", "word", "Word,", " ", "  ", "   ", "\n", "\r\n", "\t", "▁", "<s>", "</s>", "<unk>", "é", "e\u0301", "中文", "🙂",
     ".", "...", "'s", "\u00a0", "x" * 40, "1984", "\0"]
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(st.lists(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=40), max_size=8))
def test_the_tokens_of_words_are_those_of_the_text(texts: list[str]) -> None:
    wanted = [tokenizer().encode(text, add_special_tokens=False) for text in texts]
    assert list(map(token_ids, texts)) == [one.ids for one in wanted]
    assert list(map(token_spans, texts)) == [one.offsets for one in wanted]
    assert count_tokens(texts) == [len(one.ids) for one in wanted]


def test_no_token_has_a_blank_behind_another_sign() -> None:
    assert [one for one in tokenizer().get_vocab() if "▁" in one.lstrip("▁")] == []


def test_the_first_tokens_of_a_text_are_at_most_so_many() -> None:
    text = "One two three, four five six. " * 20
    for most in (0, 1, 7, 50):
        head = first_tokens(text, most)
        assert text.startswith(head)
        assert count_tokens([head])[0] <= most

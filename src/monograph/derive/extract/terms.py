"""Key phrases: two or three words in lower case that belong together, as RAKE finds them.

RAKE: Rose et al., Automatic keyword extraction from individual documents, 2010. Function words and punctuation part
candidates; a word's worth is how many words it stands beside, over how often it stands at all.
"""

from __future__ import annotations

from monograph.derive.extract.function_words import compiled_words

WORDS_A_PHRASE = 40
"""One key phrase is kept for this many words of a text."""

MOST_PHRASES = 64


def key_phrases(text: str, language: str) -> list[tuple[int, int]]:
    """Spans of the phrases that tell most about a text of a language, in order; few, and none with a capital."""
    return compiled_words().key_phrases(text, language, MOST_PHRASES, WORDS_A_PHRASE)

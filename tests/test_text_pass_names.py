"""What a text names, by patterns: compiled, by parts, and in Python it is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scripts
from monograph.derive.extract.clues import KIND_BY_DEFINITION
from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.derive.extract.lexicon import KINDS, MENTIONED, compiled_lexicon, compiled_patterns
from monograph.derive.extract.measures import MAGNITUDES, MONTHS, UNITS
from monograph.derive.extract.names import plain_proper_names, proper_names
from monograph.derive.extract.number_words import is_number_word
from monograph.derive.extract.pattern import mentions, mentions_by_parts
from monograph.derive.extract.typed import VERBS, kind_of_name
from monograph.text_pass import compiled
from monograph.values import Mention

if compiled is None:
    pytest.skip("nothing was compiled on this machine", allow_module_level=True)

thousand = settings(deadline=None, max_examples=1_000)


def joined(words: st.SearchStrategy[str], most: int = 40) -> st.SearchStrategy[str]:
    """Texts of some words, with blanks between them or none."""
    parts = st.lists(words, max_size=most)
    return parts.flatmap(lambda some: st.sampled_from(["", " "]).map(lambda joint: joint.join(some)))


DIGITS = st.sampled_from(
    [
        "0",
        "1",
        "2",
        "12",
        "31",
        "19",
        "20",
        "99",
        "123",
        "1234",
        "1984",
        "2024",
        "20240501",
        "123456",
        "٣",
        "٢٠٢٤",
        "1999",
        "1980s",
        "200",
        "2000",
    ]
)
NUMBERS = joined(
    DIGITS
    | st.sampled_from(sorted(MONTHS | UNITS | MAGNITUDES))
    | st.sampled_from(
        [".", ",", ":", "/", "-", "_", " ", "\n", "\t", "st", "nd", "rd", "th", "er", "º", "°", "°C", "°F", "%", "$", "€", "£", "¥", " de ", " del ",
         "de", "del", " of ", "of", "am", "p.m.", "PM", "Uhr", " Uhr", "Z", "a", "é", "A", "AB", "B-52", "X1", "v", "V1", "年", "月", "日", "号", "点", "半",
         "分", "万", "亿", "公里", "公斤", "美元", "元", "人", "[", "x" * 70, "\u0301", "s", "٪", "\0", "K", "k"]
    ),
    24,
)  # fmt: skip


QUOTED = joined(
    st.sampled_from(
        ['"', "“", "”", "„", "‘", "’", "'", "«", "»", "「", "」", "『", "』", "《", "》", " ", "\n", ".", ",", "，", "。", "；", ";", "a", "B", "é", "中", "word",
         "x" * 39, "x" * 78, "s", "\u3000"]
    )
)  # fmt: skip


SPOKEN = joined(
    st.sampled_from(
        ["Ann", "ann", "Ann Lee", "J. R.", "O’Neil", "Time", "NOTE", "note", "ſubject", "DateK", "Weiß", "http", "Ünal", "ǅo", "2", "_", "[10:30] ", "[", "]",
         "(she)", " (", ")", ": ", ":", " ", "\n", "\n", "> ", "- ", "*", "\t", "hi", ".", "-", "é", "x" * 30, "x" * 37, "\0", "\u3000"]
    )
)  # fmt: skip


DEFINED = joined(
    st.sampled_from(["Ann Lee", "Rock", "Green River", "Dr. Kim", "Queen of", "Élan Vital", "Straße", "ſmith Lee", "Иван Петров", "O’Brien’s Bar", "King the"])
    | st.sampled_from([f" {verb} " for verb in VERBS])
    | st.sampled_from(sorted(KIND_BY_DEFINITION))
    | st.sampled_from(
        [" (", ") ", ")", ", ", ",", " is a ", " was the ", " ist ein ", " è stato un ", " era STATA una ", " IS AN ", " iſ a ", " été ", " est la ", "  ", "\n",
         "born", "born 1950)", "b. ", "née", "né ", "nées", "geb. 3", "* 1950", "*3", "nacida", "nato a", "nata", "3 May 1950 – ", "3. de mayo de 1950-",
         "c. 5 June 1900–", "1950 – 1999)", "1950-1999", "; ", " fine ", " old film", ".", ";", "x" * 155, "x" * 198, "the", "a", "K", "ß", "é", "‑"]
    ),
    16,
)  # fmt: skip


@settings(deadline=None, max_examples=3_000)
@given(DEFINED)
@example("Ann Lee is a " + "x " * 79 + "film")
def test_kinds_by_definition(text: str) -> None:
    fast = compiled_lexicon()
    assert fast is not None
    for start, end, kind, _ in fast.names(text, "english", []) or ():
        assert kind < 0 or KINDS[kind] == kind_of_name(text, start, end)
    assert [(one.start, one.end) for one in plain_proper_names(text, "english")] == [
        (start, end)
        for start, end, kind, unless in fast.names(text, "english", []) or ()
        if not (unless and text[start:end] == "One")
    ]


GERMAN = joined(
    st.sampled_from(
        ["Haus", "der", "Kunst", "von", "zum", "zur", "den", "des", "an", "auf", "im", "in", "und", "Stadt", "Worms", "Einundzwanzig", "Kein", "Eine", "Zwei",
         "Zwei-und-zwanzig", "1999", "Jahre", "Jahren", "Goethe", "Goethes", "Forschung", "die", "das", "nicht", ". ", "\n", "Köln", "Berlin", "ist", "Dr.",
         "Regisseur", "KdF", "Anna", "Müller", "A1", "-", ",", "d'Arc", "St.", "Die", "Straße"]
    ),
    24,
)  # fmt: skip


@thousand
@given(GERMAN, st.sampled_from(["german", "english", "dutch"]))
def test_german_names(text: str, language: str) -> None:
    assert list(proper_names(text, language)) == list(plain_proper_names(text, language))
    assert mentions(text) == mentions_by_parts(text)


NUMBER_PARTS = st.sampled_from(
    ["ein", "eine", "zwei", "sechs", "sieben", "und", "zwanzig", "dreißig", "dreissig", "vierzig", "sechzig", "zig", "tausend", "hundert", "zehn", "sech",
     "elf", "zwölf", "een", "drie", "en", "ën", "twintig", "tachtig", "vent", "trent", "novant", "i", "a", "uno", "tré", "nove", "-", "-and-", "and", "twenty",
     "One", "x", "é", "'", ".", "_", ""]
)  # fmt: skip


@settings(deadline=None, max_examples=3_000)
@given(st.lists(NUMBER_PARTS, max_size=6).map("".join) | scripts.WORDS)
def test_number_words(word: str) -> None:
    fast = compiled_lexicon()
    assert fast is not None
    if not set("İΣ") & set(word):
        assert fast.is_number_word(word) == is_number_word(word)


ALL = joined(
    NUMBERS | QUOTED | SPOKEN | DEFINED | scripts.WORDS | st.sampled_from(scripts.SENTENCES)
    | st.sampled_from(
        ["Eleven", "Einstein", "Vierzig", "Twenty-one", "Ventuno", "Zwölf", "“Guns N' Roses”", '"One"', "“12:30 pm”", "1999 Open", "Boeing B-52", "“The” Wall",
         "machine learning models", "http://a.b/c", "www.x", "a@b.cd", "der und die das Haus", "x" * 130, f"A{'b' * 130}", "May 5, 2020", "Name: "]
    ),
    12,
)  # fmt: skip


def assert_same_mentions(text: str) -> None:
    wanted = mentions_by_parts(text)
    made = mentions(text)
    assert made == wanted
    assert all(type(one) is Mention and hash(one) == hash(other) for one, other in zip(made, wanted, strict=True))


@thousand
@given(ALL | scripts.TEXTS)
@example("see http://a.b")
@example("at www.a.b")
@example("a@b.cd")
@example("于是他说")
@example("İz")
@example("ΟΔΟΣ")
@example("der und die das nicht")
@example("Weiß: hi")
@example("a " + "de " * 3_000 + "5")
def test_mentions(text: str) -> None:
    assert_same_mentions(text)


def test_mentions_are_bounded() -> None:
    text = " ".join(f"Ann{number} and 12:{number % 60:02} pm" for number in range(2_000))
    assert_same_mentions(text)
    assert len(mentions(text)) == 2_000


def test_what_does_not_fit_is_refused() -> None:
    fast, lexicon = compiled_patterns(), compiled_lexicon()
    assert fast is not None
    assert lexicon is not None
    with pytest.raises(ValueError, match="one word at least"):
        fast.mentions("a", [], [], [], (1, 1), (1, 0), 1, 1)
    for shapes, taken, speakers in (
        ([(0, 2, 0)], [], []),
        ([(0, 1, 14)], [], []),
        ([], [(1, 0)], []),
        ([], [], [(0, 2)]),
    ):
        with pytest.raises(ValueError, match="beyond the text"):
            fast.mentions("a", shapes, taken, speakers, (1, 1), (1, 1), 1, 1)
    with pytest.raises(ValueError, match="patterns take a lexicon"):
        compiled.Patterns(lexicon, lexicon, [], Mention, kind_of_name)  # type: ignore[arg-type]
    words = compiled.FunctionWords(FUNCTION_WORDS)
    odd = compiled.Patterns(lexicon, words, [str(n) for n in range(len(MENTIONED))], Mention, lambda *_: "starship")
    with pytest.raises(ValueError, match="a kind that patterns do not know"):
        odd.mentions("They saw Łódź Lee.", [], [], [], (4_000, 200), (64, 40), 120, 2_000)


@pytest.mark.long
@pytest.mark.parametrize("name", scripts.CORPORA)
def test_mentions_of_corpora(shared: Path, name: str) -> None:
    for text in scripts.corpus(shared, name, 1_000):
        assert_same_mentions(text)

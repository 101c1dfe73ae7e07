"""Names in texts, compared with plain regular expressions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monograph.derive.extract.clues import (
    GERMAN_LOOSE,
    INSIDE,
    KIND_BY_DEFINITION,
    LOOSE,
    NO_SPEAKERS,
    SHORTENED,
    TAILS,
    TELLING,
    TITLES,
    VERBS,
)
from monograph.derive.extract.function_words import FUNCTION_WORDS, JOINING, NUMBER_WORDS
from monograph.derive.extract.pattern import _lexicon, mentions, proper_names
from monograph.derive.extract.shapes import MAGNITUDES, MONTHS, UNITS
from monograph.text_pass import compiled
from monograph.values import ENTITY_KINDS, Mention
from support import evaluation_data, multilingual
from support.multilingual import joined
from support.oracles import names as oracle
from support.oracles.phrases import language_of
from support.properties import examples

thousand = settings(max_examples=examples(1_000))


DIGITS = st.sampled_from(
    ["0", "1", "2", "12", "31", "19", "20", "99", "123", "1234", "1984", "2024", "20240501", "123456", "٣",
     "٢٠٢٤", "1999", "1980s", "200", "2000"]
)  # fmt: skip
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


def assert_same_names(text: str, language: str, cuts: Iterable[int] = ()) -> None:
    """Compare the names of a text in which the spans between pairs of cuts are taken."""
    borders = sorted({cut for cut in cuts if cut <= len(text)})
    taken = list(zip(borders[::2], borders[1::2], strict=False))
    assert proper_names(text, language, taken) == list(oracle.proper_names(text, language, taken))


@pytest.mark.long
@settings(max_examples=examples(3_000))
@given(DEFINED)
@example("Ann Lee is a " + "x " * 79 + "film")
def test_character_kinds_equal_their_definition(text: str) -> None:
    assert_same_names(text, "english")


NAMES = joined(
    st.sampled_from(
        ["Ann", "Lee", "the", "The", "and", "of", "de", "la", "van", "N'", "Roses", "In", "1999", "5th", "21st", "12345", "7", "U.S.", "Dr.",
         "Prof.", "J.", "R.R.", "AT&T", "O'Brien's", "Stoker’s", "L'Oréal", "d'Arc", "dell'Arte", "D’Artagnan", "Jr.", "Sr", "Jr", "'69", "’07x",
         "iPhone", "eBay", "3Com", "x-Ray", "7-Eleven", "Paris-based", "Rock-like", "River", "University", "King", "Queen", "Mr", "director",
         "Director", "is", "was", "a", "an", "German", "film", "band", "(born", "1950)", "born", "Time:", "Name:", "Will", "May", "Die", "Hard",
         "One", "Twelve", "Zwölf", "!", "Go!", "go", "VERY", "LOUD", "WORDS", "HERE", "It's", "Don't", "Ça", "Élan", "Łódź", "Σίσυφος", "İz",
         "ǅungla", "Ⓐ", "Москва", "и", "В", "北京", "\u00adSoft", "Zero\u200bWidth", "_x", "A_b", "2.5", "3.14.15", "10%", "St.", "Co.", "X",
         "C", "é", "Ü", "señor", "Doña", "straße", "Straße", "F.C", "L'中", "l'中", "City", "War", "Tour"]
    )
    | st.sampled_from([",", ".", ". ", "!", "? ", ": ", "; ", "\n", "\"", "“", "”", "('", ") ", "«", "»", "-", " ", "  ", "…", "🎉", "。", "'", "’"]),
)  # fmt: skip


@settings(max_examples=examples(1_000))
@given(NAMES | multilingual.TEXTS, st.sampled_from(sorted(FUNCTION_WORDS)), st.lists(st.integers(0, 200), max_size=4))
@oracle.possessive
def test_compiled_names_equal_plain_ones(text: str, language: str, cuts: list[int]) -> None:
    assert_same_names(text, language, cuts)


LOWERED = joined(
    st.sampled_from(
        ["İ", "İ.", "İz", "i̇z", "iz", "Σ", "Σ.", "Σίσυφος", "σίσυφος", "ΟΔΟΣ", "οδος", "οδοσ", "ΑΣ:β", "ΑΣ-Β", "Σ'α", "xΣ", "χΣα", "'s", "’s", "İl", "director",
         "is", "İs", "a", "Dr.", "Einstein", "İki", "İzehn", "Ⰰ", "ⰰ", ". ", "! ", ": ", "\n", "-", "7-", "L'", "(", ")", "2020", "Ann", "and", "the", "The"]
    )
)  # fmt: skip


@settings(max_examples=examples(3_000))
@given(LOWERED, st.sampled_from(["english", "french", "german"]), st.lists(st.integers(0, 60), max_size=2))
@example("Σίσυφος's. σίσυφος 's", "english", [7, 9])
@oracle.possessive
def test_capitals_with_a_long_small_form_are_found(text: str, language: str, cuts: list[int]) -> None:
    assert_same_names(text, language, cuts)


def test_no_known_word_has_such_a_capital_or_its_small_form() -> None:
    known = {
        *INSIDE,
        *LOOSE,
        *GERMAN_LOOSE,
        *NO_SPEAKERS,
        *SHORTENED,
        *TAILS,
        *TITLES,
        *TELLING,
        *NUMBER_WORDS,
        *JOINING,
    }
    known = known.union(*FUNCTION_WORDS.values())
    assert not [word for word in known if set("İΣσς\u0307") & set(word)]


def test_name_rules_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="reaches beyond"):
        proper_names("abc", "english", [(1, 4)])
    with pytest.raises(ValueError, match="no language klingon"):
        proper_names("abc", "klingon")
    with pytest.raises(ValueError, match="no set strange"):
        compiled.Lexicon({"strange": ["a"]}, {})


def test_errors_of_callbacks_reach_the_caller() -> None:
    def fail(*_: object) -> bool:
        raise LookupError("asked")

    with pytest.raises(LookupError, match="asked"):
        _lexicon().names("Zwölf Boxer", "german", [], fail, lambda *_: "name")
    with pytest.raises(LookupError, match="asked"):
        _lexicon().names("Ann is a director", "english", [], fail, fail)  # type: ignore[arg-type]


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
@oracle.possessive
def test_compiled_german_names_equal_plain_ones(text: str, language: str) -> None:
    assert_same_names(text, language)
    assert mentions(text) == oracle.mentions(text)


ALL = joined(
    NUMBERS | QUOTED | SPOKEN | DEFINED | multilingual.WORDS | st.sampled_from(multilingual.SENTENCES)
    | st.sampled_from(
        ["Eleven", "Einstein", "Vierzig", "Twenty-one", "Ventuno", "Zwölf", "“Guns N' Roses”", '"One"', "“12:30 pm”", "1999 Open", "Boeing B-52", "“The” Wall",
         "machine learning models", "http://a.b/c", "www.x", "a@b.cd", "der und die das Haus", "x" * 130, f"A{'b' * 130}", "May 5, 2020", "Name: "]
    ),
    12,
)  # fmt: skip


def assert_same_mentions(text: str) -> None:
    wanted = oracle.mentions(text)
    made = mentions(text)
    assert made == wanted
    assert all(type(one) is Mention and hash(one) == hash(other) for one, other in zip(made, wanted, strict=True))


@thousand
@given(ALL | multilingual.TEXTS)
@example("see http://a.b")
@example("at www.a.b")
@example("a@b.cd")
@example("于是他说")
@example("İz")
@example("ΟΔΟΣ")
@example("der und die das nicht")
@example("Weiß: hi")
@example("a " + "de " * 3_000 + "5")
@oracle.possessive
def test_compiled_mentions_equal_plain_ones(text: str) -> None:
    assert_same_mentions(text)


def test_mentions_are_bounded() -> None:
    text = " ".join(f"Ann{number} and 12:{number % 60:02} pm" for number in range(2_000))
    assert_same_mentions(text)
    assert len(mentions(text)) == 2_000


def test_mentions_that_do_not_fit_are_refused() -> None:
    fast = compiled.Mentions(list(ENTITY_KINDS), Mention)
    assert fast.made("Ann", [[1, 0, 3]]) == [Mention("Ann", ENTITY_KINDS[1], 0, 3)]
    for row in ([1, -1, 3], [len(ENTITY_KINDS), 0, 3], [-1, 0, 3], [True, 0, 3], [1, 0, 1 << 70], [1, 0, 2.0]):
        with pytest.raises(ValueError, match="no such place|no kind"):
            fast.made("Ann", [row])  # type: ignore[list-item]
    with pytest.raises(IndexError):
        fast.made("Ann", [[1, 0]])
    with pytest.raises(ValueError, match="no kind"):
        fast.merged("Ann", [(0, 3, "starship")], [], [], 120, 2_000)
    with pytest.raises(ValueError, match="no kind"):
        compiled.Mentions(["name"], Mention)


@pytest.mark.long
@pytest.mark.parametrize("name", evaluation_data.CORPORA)
@oracle.possessive
def test_compiled_mentions_and_names_of_corpora_equal_plain_ones(shared: Path, name: str) -> None:
    for text in evaluation_data.corpus(shared, name, 1_000):
        assert_same_mentions(text)
        assert_same_names(text, language_of(text))

"""Pattern extractor: golden texts, single cases and properties of any text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monograph.derive.extract.function_words import FUNCTION_WORDS, language_of
from monograph.derive.extract.pattern import LONGEST_NAME, MOST_MENTIONS, PatternExtractor, mentions
from monograph.derive.extract.shapes import shapes
from monograph.values import ENTITY_KINDS, Chunk
from support.paths import DATA
from support.properties import examples

GOLDEN = DATA / "extraction"
PIECES = st.sampled_from(
    ["Ann Lee ", "the ", "and ", "of ", "In 1999 ", "U.S. ", "Dr. ", "J. R. ", "AT&T", "O'Brien's ", "L'Oréal ", "d'", "\n", "\n\n", '"', "“", "”",
     "«", "»", "《", "》", "王小明说", "卡万·肖特", "的", "人工智能", "5 May 2010 ", "20%", "$ 5", "10:30", "A-1", "v1.2.3 ", "a@b.cd ", "https://x.yz/ ",
     "Name: ", ", ", ". ", "! ", "🎉", "\u200b", "e\u0301", "\0", "\ud800", "שלום ", "İI", "ǅ", "die Katze ", "lower case words ", "'s ", "(", ")"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200)


def rows(text: str) -> list[tuple[str, str, int, int]]:
    """Return (name, kind, start, end) of each mention, as golden files store them."""
    return [(one.name, one.kind, one.start, one.end) for one in mentions(text)]


def write_golden() -> None:
    """Extract every golden text again. Check the differences before you commit them.

    ``PYTHONPATH=tests python -c "from derive import test_pattern_extract as t; t.write_golden()"``
    """
    for path in sorted(GOLDEN.glob("*.json")):
        text = json.loads(path.read_text("utf-8"))["text"]
        lines = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in rows(text))
        path.write_text(
            f'{{\n  "text": {json.dumps(text, ensure_ascii=False)},\n  "mentions": [\n{lines}\n  ]\n}}\n', "utf-8"
        )


def found(text: str) -> set[str]:
    """Return the mentions of a text as ``name/kind``."""
    return {f"{one.name}/{one.kind}" for one in mentions(text)}


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_pattern_extractor_matches_the_golden_files(path: Path) -> None:
    golden = json.loads(path.read_text("utf-8"))
    assert rows(golden["text"]) == [tuple(row) for row in golden["mentions"]]


def test_golden_texts_exist() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} >= {
        "chat", "chinese", "english", "french", "german", "italian", "oddities", "russian", "spanish", "table", "technical",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Barack Obama's wife met Dr. King.", {"Barack Obama/name", "Dr. King/person"}),
        ("He read J. R. R. Tolkien, of the U.S. capital.", {"J. R. R. Tolkien/name", "U.S./name"}),
        ("They sued AT&T, O'Brien and St. Louis.", {"AT&T/name", "O'Brien and St. Louis/name", "O'Brien/name", "St. Louis/name"}),
        ("Ann, Bob and Carol left.", {"Ann/name", "Bob and Carol/name", "Bob/name", "Carol/name"}),
        ("The Lord of the Rings is a novel.", {"Lord of the Rings/work"}),
        ("We like Apollo 11, Windows 95, Python 3.11.", {"Apollo 11/name", "Windows 95/name", "Python 3.11/name"}),
        ("I saw the 1999 St. Louis Rams season.", {"1999 St. Louis Rams/name", "St. Louis Rams/name", "1999/date"}),
        ("In 1999 Bob Dylan sang.", {"1999/date", "Bob Dylan/name"}),
        ("On 5 May 2010 Bob Dylan sang.", {"5 May 2010/date", "Bob Dylan/name"}),
        ("She likes Bram Stoker's Dracula.", {"Bram Stoker's Dracula/name", "Bram Stoker/name", "Dracula/name"}),
        ("We saw Schindler's List.", {"Schindler's List/name"}),
        ("They fought World War II. The war ended.", {"World War II/name"}),
        ("He left the U.S. In Rome it rained.", {"U.S./name", "Rome/name"}),
        ("A firm of Paris-based Ann Lee.", {"Paris/name", "Ann Lee/name"}),
        ("An iPhone, eBay, macOS and 3Com.", {"iPhone/name", "eBay/name", "macOS/name", "3Com/name"}),
        ('It was Robert "Bob" Smith.', {"Robert/name", "Bob/name", "Smith/name"}),
        ('They sang "Thriller" there.', {"Thriller/work"}),
        ("Mr. Church lives in King County.", {"Mr. Church/person", "King County/place"}),
        ("It is by director Agnès Varda.", {"Agnès Varda/person"}),
        ("Hamlet (born 5 May 1990) sang.", {"Hamlet/person", "5 May 1990/date"}),
        ("Oslo is the capital of Norway.", {"Oslo/place", "Norway/name"}),
        ("Ann was born in the city of Oslo.", {"Ann/name", "Oslo/name"}),
        ("THE END OF THE WORLD AS WE KNOW IT", set()),
        ("Production stopped. Its production began.", {"production began/term"}),
        ("Awesome! Great!", set()),
        ("It’s fine. Don't go. I'm here.", set()),
        ("Jeanne d'Arc est une sainte que les enfants et L'Oréal aiment.", {"Jeanne d'Arc/name", "L'Oréal/name"}),
        ("L'Italie est dans le monde.", {"Italie/name"}),
        ("Die Katze und der Hund sind in Berlin bei Angela Merkel.", {"Katze/term", "Hund/term", "Berlin/name", "Angela Merkel/name"}),
        ("他在NASA工作。", {"NASA/name"}),
        ("王小明说好。王小明来。", {"王小明/person"}),
        ("New\u200bYork is here.", {"New\u200bYork/name"}),
        # A number at the start of a sentence is no name.
        ("Eleven people took turns. Twelve left.", {"people took turns/term"}),
        ("- Eleven eggs\n- Four hens\n- Twenty-one ducks", set()),
        ("NINE lives. Dozens came! Hundreds: gone.", set()),
        ("Zwölf Räder sind unter der Kuppel. Elf fehlen noch, und die anderen nicht.", {"Räder/term", "Kuppel/term"}),
        ("Einundzwanzig Leute und der Hund. Zweihundert sind in das Haus gegangen.", {"Leute/term", "Hund/term", "Haus/term"}),
        ("Once personas están en la casa. Doce no.", set()),
        ("Onze personnes sont dans la maison. Vingt-et-un non.", set()),
        ("Dodici persone sono nella casa con gli altri. Ventotto no.", set()),
        ("Двенадцать человек были в доме и не знали.", set()),
        # A number is a name within a sentence, as a part of a name, or if the sentence defines it.
        ("She met Eleven at 7-Eleven.", {"Eleven/name"}),
        ("Twelve Angry Men is a film.", {"Twelve Angry Men/work"}),
        ("Seven is a film.", {"Seven/work"}),
        ("Elfriede Zehnder lives here. Tenby does not.", {"Elfriede Zehnder/name", "Tenby/name"}),
        # German common nouns have capitals too.
        ("Die Stadt Steinwiek und der Fluss Orle sind nicht weit.", {"Steinwiek/name", "Orle/name"}),
        ("Windhafen wurde an der Küste und nicht im Land gegründet.", {"Windhafen/name", "Küste/term", "Land/term"}),
        ("Die Komödie Goldener Steg kam mit dem Regisseur Fritz Lang.", {"Goldener Steg/name", "Fritz Lang/name"}),
        ("Sie hat 2300 Einwohner und ist im Jahr nicht groß.", {"2300 Einwohner/term", "Einwohner/term", "Jahr/term"}),
        ("Die Insel der Seligen ist mit dem Boot nicht weit.", {"Insel der Seligen/term", "Insel/term", "Seligen/term", "Boot/term"}),
        ("Hoffnung ist das, was wir mit euch haben.", {"Hoffnung/term"}),
        # Chinese names are found by their context.
        ("该片由陈国安执导,首映在石门古城举行。", {"陈国安/person", "石门古城/place"}),
        ("导演周玉兰来自柳溪市。", {"周玉兰/person", "柳溪市/place"}),
        ("青河镇位于沧江河畔。", {"青河镇/name"}),
        ("林海涛(1880年生于白沙县)很有名。", {"林海涛/name", "白沙县/place", "1880年/date"}),
        ("马丁·韦伯于1924年去世。", {"马丁·韦伯/person", "1924年/date"}),
        ("这部电影是好的,他是人。", set()),
        ("由于大雨,我们在这个地区停留。", set()),
    ],
)  # fmt: skip
def test_pattern_extractor_finds_names(text: str, names: set[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("3 May 1999", "date"), ("May 3, 1999", "date"), ("3 de mayo de 1999", "date"), ("3. Mai 1999", "date"), ("1er mai 1999", "date"),
        ("1999-05-03", "date"), ("03.05.1999", "date"), ("June 2020", "date"), ("1990s", "date"), ("1999年5月3日", "date"), ("6 июня 1799", "date"),
        ("5:30 pm", "time"), ("17:30", "time"), ("10:30 Uhr", "time"), ("3点30分", "time"), ("$3.5 million", "quantity"), ("20%", "quantity"),
        ("10 €", "quantity"), ("12 km", "quantity"), ("2 Millionen Euro", "quantity"), ("2亿人", "quantity"), ("16 GB", "quantity"), ("ERR-404", "code"),
        ("CVE-2021-44228", "code"), ("v2.3.1", "code"), ("192.168.0.17", "code"), ("W124", "code"), ("a.b@c.de", "email"), ("https://a.bc/d?e=f#g", "url"),
        ("www.a.bc", "url"),
    ],
)  # fmt: skip
def test_pattern_extractor_finds_dates_codes_and_numbers(text: str, kind: str) -> None:
    for around in (f"so {text} ok", f"({text}),", f"一{text}。" if kind in ("date", "time") else text):
        assert [(around[start:end], found) for start, end, found in shapes(around)] == [(text, kind)]


def test_ranges_hold_two_years() -> None:
    text = "from 1939–1945 on, in November–December 2008"
    assert [text[start:end] for start, end, _ in shapes(text)] == ["1939", "1945", "December 2008"]


def test_quotes_pair_up() -> None:
    long = "a long saying " * 8
    assert shapes(f'He said "{long.strip()}" and "no".') == [(127, 129, "quote")]


@pytest.mark.parametrize(
    ("text", "language"),
    [("", "english"), ("Der Hund ist im Haus und die Katze auch", "german"), ("El perro está en la casa y no quiere salir", "spanish"),
     ("Le chien est dans la maison avec nous", "french"), ("Il cane è nella casa con gli altri", "italian"), ("Он был в Москве и не знал", "russian"),
     ("The dog is in the house", "english")],
)  # fmt: skip
def test_language_of_a_text_is_guessed(text: str, language: str) -> None:
    assert language_of(text) == language


def test_function_words_are_small() -> None:
    assert all(word == word.lower() for known in FUNCTION_WORDS.values() for word in known)


@settings(max_examples=examples(300))
@given(TEXTS)
@example("\ud800 Ann \udfff Lee")
@example("İstanbul İİ İ. A")
@example("«Ann Lee , »")
def test_mentions_of_any_text_are_valid(text: str) -> None:
    found = mentions(text)
    assert found == mentions(text)
    assert [(one.start, -one.end) for one in found] == sorted({(one.start, -one.end) for one in found})
    for one in found:
        assert text[one.start : one.end] == one.name != ""
        assert one.name.strip() == one.name
        assert one.kind in ENTITY_KINDS
        assert len(one.name) <= LONGEST_NAME or one.kind in ("url", "email", "quantity", "code")


@settings(max_examples=examples(100))
@given(TEXTS, TEXTS)
def test_shapes_do_not_depend_on_a_later_paragraph(one: str, two: str) -> None:
    assert [found for found in shapes(f"{one}\n\n{two}") if found[1] <= len(one)] == shapes(one)


HUNDRED_KILOBYTES = {
    "one word": ("A" * 100_000, 0), "hyphens": ("a-" * 50_000, 0), "quotes": ('"' * 100_000, 0), "open quotes": ("“" * 100_000, 0),
    "nested quotes": ("«“„《" * 25_000, None), "capitals": ("Aa " * 33_000, 0), "initials": ("A. " * 33_000, 0), "loose": ("Aa and " * 14_000, MOST_MENTIONS),
    "inside": ("Ab of " * 16_000, 0), "digits": ("1" * 100_000, 0), "codes": ("A1" * 50_000, 0), "numbers": ("1-" * 50_000, 0),
    "dates": ("On 5 May 2010 Bob went. " * 4_000, MOST_MENTIONS), "addresses": ("a@" * 50_000, 0), "dots": ("a." * 50_000, 0),
    "schemes": ("http://" * 14_000, None), "parentheses": ("A (" * 33_000, 0), "definitions": ("Ab is the " * 10_000, MOST_MENTIONS),
    "speakers": ("Name: x\n" * 12_000, 0), "ten thousand names": ("".join(f"Na{n:x} lee, " for n in range(10_000)), MOST_MENTIONS),
    "blanks": (" " * 100_000, 0), "lines": ("\n" * 100_000, 0), "accents": ("I\u0300" * 50_000, 0), "middle dots": ("卡·" * 50_000, None),
    "surnames": ("王小明说，" * 20_000, MOST_MENTIONS), "characters": ("".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(100_000)), None),
    "genitives": ("Aa Bb's " * 12_000, None), "phrases": ("abcd efgh of " * 7_000, MOST_MENTIONS), "months": ("January " * 12_000, 0),
    "articles before a number": ("de " * 33_000 + "5", 0), "nulls": ("\0" * 100_000, 0), "currencies": ("$ " * 50_000, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", HUNDRED_KILOBYTES)
def test_long_text_is_extracted(name: str) -> None:
    # A regular expression with quadratic work would not finish here.
    text, count = HUNDRED_KILOBYTES[name]
    found = mentions(text)
    assert len(found) <= MOST_MENTIONS
    assert count is None or len(found) == count
    assert all(text[one.start : one.end] == one.name for one in found)


def test_pattern_extractor_returns_one_extraction_per_chunk() -> None:
    texts = ["Ann Lee sang.", "", "Bob Dylan sang."]
    chunks = [Chunk(f"c{n}", "d", text, 0, len(text), n) for n, text in enumerate(texts)]
    extractions = list(PatternExtractor().extract(chunks))
    assert [[one.name for one in extraction.mentions] for extraction in extractions] == [["Ann Lee"], [], ["Bob Dylan"]]
    assert all(extraction.relations == () and extraction.tokens == 0 for extraction in extractions)

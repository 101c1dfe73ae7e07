"""Proper names, known by their capitals."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from monograph.derive.extract.clues import (
    ADDRESSES,
    FIRM,
    GERMAN_LOOSE,
    GERMAN_PARTS,
    INSIDE,
    KIND_BY_DEFINITION,
    KIND_BY_LAST_WORD,
    LOOSE,
    NO_SPEAKERS,
    SHORTENED,
    TAILS,
    TITLES,
    words,
)
from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.text_pass import compiled

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Lexicon

NEAR = 2_000
"""Characters around a word at the head of a sentence where its small form is looked for."""

ALSO_NAMES = frozenset(("will", "may"))
"""Function words that are first names too: at the head of a sentence both readings are given."""

_SHORTEST_NAME = 2
_GENITIVES = ("'s", "’s")
_MASKS = [chr(code) for code in range(0x2C00, 0x2C2F)]
"""Glagolitic capitals: no word that is known has one."""

NUMBER_WORDS = words(
    """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen
hundreds thousands millions billions dozens
null ein eins eine zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn
siebzehn achtzehn neunzehn zwanzig dreißig dreissig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend
dutzend hunderte tausende dutzende millionen milliarden
cero uno una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis dieciseis
diecisiete dieciocho diecinueve veinte veintiuno veintiún veintidós veintitrés veinticuatro veinticinco veintiséis
veintisiete veintiocho veintinueve treinta cuarenta cincuenta sesenta setenta ochenta noventa cien ciento doscientos
quinientos mil cientos miles millones
zéro un une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize vingt vingts trente
quarante cinquante soixante septante octante nonante cent cents mille millions milliers
due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette
diciotto diciannove venti trenta quaranta cinquanta sessanta settanta ottanta novanta cento duecento mila milioni
dois duas três quatro cinco sete oito nove dez onze doze treze catorze quinze dezesseis dezasseis dezessete
dezassete dezoito dezenove dezanove vinte trinta quarenta cinquenta sessenta oitenta cem cento
nul een twee drie zes zeven negen tien twaalf dertien veertien vijftien zestien zeventien achttien negentien twintig
dertig veertig vijftig zestig zeventig tachtig negentig honderd duizend vier vijf acht elf
ноль один одна два две три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать
четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать двадцать тридцать сорок пятьдесят
шестьдесят семьдесят восемьдесят девяносто сто двести триста тысяча тысячи миллион миллионы
"""
)
JOINING = words("and und et y e en")
_UNITS = "ein|eine|zwei|drei|vier|fünf|sechs|sieben|acht|neun"
_COMPOUND = re.compile(
    rf"(?:(?:{_UNITS})?tausend)?(?:(?:{_UNITS})?hundert)?"
    rf"(?:(?:{_UNITS})?und(?:zwanzig|drei(?:ß|ss)ig|(?:vier|fünf|sech|sieb|acht|neun)zig)|\w*zehn|elf|zwölf|{_UNITS})?"
    r"|(?:een|twee|drie|vier|vijf|zes|zeven|acht|negen)[eë]n(?:twintig|(?:der|veer|vijf|zes|zeven|tach|negen)tig)"
    r"|(?:vent|trent|quarant|cinquant|sessant|settant|ottant|novant)[ia]?(?:uno|due|tre|tré|quattro|cinque|sei|sette"
    r"|otto|nove)"
)

VERBS = ("is", "was", "are", "were", "ist", "war", "es", "fue", "era", "est", "était", "fut", "è", "fu")
ARTICLES = words("a an the one among ein eine einer der die das un una une uno unos unas el la le les il lo i gli su")
_DEFINED = re.compile(
    rf"\s*(?:\([^)]{{0,200}}\)\s*)?,?\s*(?:{'|'.join(VERBS)})\s+(?:stat[oa]\s+)?"
    rf"(?:{'|'.join(sorted(ARTICLES))})\b(?P<what>[^.\n;]{{3,160}})",
    re.IGNORECASE,
)
_BORN = re.compile(
    r"\s*\((?:[^()]{0,60}[;,] ?)?(?:born|b\.|née?\b|geb\.|geboren|\* ?\d|nacid[oa]|nat[oa]\b"
    r"|(?:c\. ?)?\d{1,2}\.? (?:de )?\w+ (?:de )?\d{4} ?[–-]|\d{4} ?[–-] ?\d{4}\))"
)
_DEFINES = (" (", ", ", *(f" {verb} " for verb in VERBS))
TELLING = frozenset((*TITLES, *VERBS, *KIND_BY_LAST_WORD, *KIND_BY_DEFINITION))
"""Words one of which stands in or beside every name of which the type is told, if no bracket stands behind it."""

_WORD = re.compile(r"\w+")
_MOST_WORDS = 14
"""Words of a definition that are looked at."""

_LONGEST_WORD = 16


@functools.cache
def _lexicon() -> Lexicon:
    """The words that tell what is a name, compiled. Made once."""
    sets = {
        "also_names": ALSO_NAMES,
        "firm": FIRM,
        "german_loose": GERMAN_LOOSE,
        "german_parts": GERMAN_PARTS,
        "inside": INSIDE,
        "links": INSIDE | LOOSE | GERMAN_LOOSE,
        "loose": LOOSE,
        "no_speakers": NO_SPEAKERS,
        "shortened": SHORTENED,
        "tails": TAILS,
        "telling": TELLING,
        "titles": TITLES,
    }
    return compiled.Lexicon(sets, FUNCTION_WORDS)


def proper_names(text: str, language: str, taken: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int, str]]:
    """Return (start, end, kind) of the names in a text, in order of start; readings of one run of words overlap.

    Parameters
    ----------
    text, language:
        A text and its language, one of FUNCTION_WORDS.
    taken:
        The spans, ascending, that hold no part of a name.
    """
    masked = _masked(text)

    def is_number(start: int, end: int) -> bool:
        return is_number_word(text[start:end])

    def kind_of(start: int, end: int, opens: bool, may_be_told: bool) -> str:
        if end - start <= _SHORTEST_NAME and len(bare(text[start:end])) < _SHORTEST_NAME:
            return ""
        if opens and masked is not text and _is_written_small(text, start, end, taken):
            return ""
        kind = kind_of_name(text, start, end) if may_be_told else "name"
        # At the head of a sentence a number names nothing; in 7-Eleven it does.
        is_number_alone = opens and kind == "name" and not _hangs(text, start) and is_number(start, end)
        return "" if is_number_alone else kind

    return _lexicon().names(masked, language, taken, is_number, kind_of)


def _masked(text: str) -> str:
    """A text with another capital for İ and Σ.

    The small form of the one is two characters, that of the other depends on its neighbours.
    """
    if "İ" not in text and "Σ" not in text:
        return text
    mask = next((one for one in _MASKS if one.lower() not in text), _MASKS[0])
    return text.replace("İ", mask).replace("Σ", mask)


def _is_written_small(text: str, start: int, end: int, taken: Sequence[tuple[int, int]]) -> bool:
    """Whether the text near a word, with its genitive, has it in small letters."""
    stop = next((first for first, _ in taken if first >= end), len(text))
    if text.startswith(_GENITIVES, end, stop):
        end += len(_GENITIVES[0])
    return text.find(f" {bare(text[start:end])} ", max(0, start - NEAR), end + NEAR) >= 0


def _hangs(text: str, start: int) -> bool:
    """Whether a word goes on another: 7-Eleven."""
    return start > 1 and text[start - 1] == "-" and text[start - 2].isalnum()


def bare(word: str) -> str:
    """A word in small letters, without the signs around it."""
    return word.strip(".,'’").lower()


def is_number_word(word: str) -> bool:
    """Whether a word is a number, in whichever of the languages whose function words are known: Eleven, Zwölf."""
    written = bare(word)
    if written in NUMBER_WORDS or (written and _COMPOUND.fullmatch(written) is not None):
        return True
    parts = written.split("-")
    return len(parts) > 1 and NUMBER_WORDS.issuperset(part for part in parts if part not in JOINING)


def kind_of_name(text: str, start: int, end: int) -> str:
    """The type of the name at text[start:end]; ``name`` where nothing tells."""
    own = _WORD.findall(text[start:end].casefold()) if " " in text[start:end] else []
    if len(own) > 1:
        titled = own[0] in TITLES and own[1] not in ("of", "the") and LOOSE.isdisjoint(own)
        if titled and own[0] in ADDRESSES:
            return "person"
        if own[-1] in KIND_BY_LAST_WORD:
            return KIND_BY_LAST_WORD[own[-1]]
        if titled:
            return "person"
    if text.startswith(_DEFINES, end):
        if _BORN.match(text, end):
            return "person"
        defined = _DEFINED.match(text, end)
        if defined is not None:
            for word in _WORD.findall(defined["what"].casefold())[:_MOST_WORDS]:
                if word in KIND_BY_DEFINITION:
                    return KIND_BY_DEFINITION[word]
    return _kind_before(text, start) if LOOSE.isdisjoint(own) else "name"


def _kind_before(text: str, start: int) -> str:
    """``person`` after a title or a profession: Queen Victoria, the director Agnès Varda."""
    if text[start - 1 : start] != " ":
        return "name"
    at = text.rfind(" ", max(0, start - _LONGEST_WORD), start - 1) + 1
    word = text[at : start - 1]
    if word.rstrip(".").casefold() in TITLES or KIND_BY_DEFINITION.get(word) == "person":
        return "person"
    return "name"

"""Resolution of names: which names are joined, and which stay apart."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from monograph.graph import resolve
from monograph.graph.names import is_never_merged, key_of, signature, title_of
from monograph.graph.resolve import LARGEST_GROUP, Candidate, heads, related
from support.properties import examples


def group_of(names: Sequence[str], subjects: Sequence[str] = (), things: Sequence[str] = ()) -> list[Candidate]:
    """Return candidates without embeddings. Names with a capital are persons, except ``things``."""
    return [
        Candidate(row, key_of(name), name in subjects, name != name.lower() and name not in things, b"")
        for row, name in enumerate(names)
    ]


def joined(group: Sequence[Candidate], apart: Sequence[tuple[str, str]] = ()) -> dict[str, tuple[str, str]]:
    """Return {key: (key of its head, reason)} for the candidates of all signatures."""
    keys = {one.name: one.key for one in group}
    signatures = {signature(one.key) for one in group}
    found = [
        head
        for number in sorted(signatures)
        for head in heads([one for one in group if signature(one.key) == number], apart)
    ]
    return {keys[one.name]: (keys[one.head], one.reason) for one in found}


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("J. Smith", "John Smith", "initials"),
        ("J. R. R. Tolkien", "John Ronald Reuel Tolkien", "initials"),
        ("John R. Tolkien", "John Ronald Tolkien", "initials"),
        ("Arthur Lane", "Arthur Francis Lane", "middle name"),
        ("Arthur Lane", "Arthur F. Lane", "middle name"),
        ("solar panels", "solar panel", "plural"),
        ("private companies", "private company", "plural"),
        ("Wolfgang Schulz", "Wolfgang Schultz", "spelling"),
        ("Fyodor Dostoyevsky", "Fyodor Dostoevsky", "spelling"),
    ],
)
def test_forms_of_a_name_are_joined(one: str, other: str, reason: str) -> None:
    assert joined(group_of([one, other])) == {key_of(one): (key_of(other), reason)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Elizabeth I", "Elizabeth II"),
        ("Henry VII", "Henry VIII"),
        ("World War I", "World War II"),
        ("John Smith", "Jane Smith"),
        ("J. Smith", "Peter Smith"),
        ("Francis Lane", "Arthur Francis Lane"),
        ("East Ham United", "West Ham United"),
        ("Northern Ireland", "Southern Ireland"),
        ("Windows 95", "Windows 98"),
        ("1998 World Championship", "1999 World Championship"),
        ("Apollo 11 mission", "Apollo 12 mission"),
        ("Kansas City", "Kansas Small City"),
        ("New University", "New York University"),
        ("University of York", "University of New York"),
        ("Bank of England", "Bank of New England"),
        ("Paris", "Pariss"),
        ("boss", "bos"),
        ("Austria", "Australia"),
        ("Adam", "Adam Smith"),
        ("A", "B"),
        ("Mary Ann", "Mary Anne Evans"),
        ("Louisiana State", "Louisiana State House"),
        ("first lady", "first ladys maid"),
    ],
)
def test_different_names_are_not_joined(one: str, other: str) -> None:
    assert joined(group_of([one, other])) == {}


def test_only_persons_leave_out_a_middle_name() -> None:
    names = ["Arthur Lane", "Arthur Francis Lane"]
    assert joined(group_of(names, things=names)) == {}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        # A name that may shorten two names is joined with neither.
        (["J. Smith", "John Smith", "Jane Smith"], {}),
        (["Arthur Lane", "Arthur Francis Lane", "Arthur Paul Lane"], {}),
        # Two names are forms of the third.
        (
            ["J. Smith", "John Smith", "John Paul Smith"],
            {"j smith": ("john paul smith", "initials"), "john smith": ("john paul smith", "middle name")},
        ),
        # The head of a name has another head.
        (
            ["solar energy panels", "solar energy panel", "solar enargy panel"],
            {"solar energy panel": ("solar enargy panel", "spelling"), "solar energy panels": ("solar enargy panel", "plural")},
        ),
    ],
)  # fmt: skip
def test_homonyms_are_not_joined(names: list[str], expected: dict[str, tuple[str, str]]) -> None:
    assert joined(group_of(names)) == expected


def test_a_subject_is_the_head_of_a_spelling() -> None:
    names = ["Wolfgang Schultz", "Wolfgang Schulz"]
    assert joined(group_of(names, subjects=names[:1])) == {"wolfgang schulz": ("wolfgang schultz", "spelling")}


def test_distinct_meanings_have_distinct_spellings() -> None:
    one, other = (
        Candidate(row, key, False, True, code)
        for row, (key, code) in enumerate([("wolfgang schultz", b"\xff" * 8), ("wolfgang schulz", b"\x00" * 8)])
    )
    assert heads([one, other], ()) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("J. Smith", "John Smith"), ("solar panels", "solar panel"), ("Wolfgang Schulz", "Wolfgang Schultz"), ("Arthur Lane", "Arthur F. Lane")],
)  # fmt: skip
def test_parted_names_stay_apart(one: str, other: str) -> None:
    assert joined(group_of([one, other]), [(key_of(one), key_of(other))]) == {}
    assert joined(group_of([one, other]), [(key_of(other), key_of(one))]) != {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Beatles", "beatles"), ("Beatles'", "BEATLES"), ("J.R.R. Tolkien", "JRR Tolkien"), ("Jean-Luc Picard", "Jean Luc Picard"),
        ("José Martí", "Jose\u0301 Marti\u0301"), ("Straße", "STRASSE"), ("U.S.", "US"), ("McDonald's", "McDonald"), ("O’Brien", "O'Brien"),
        ("Bram Stoker’s", "Bram Stoker"), ("New\nYork", "New  York"), ("MAX_VALUE", "max value"),
    ],
)  # fmt: skip
def test_spellings_of_a_name_have_one_key(one: str, other: str) -> None:
    assert key_of(one) == key_of(other) != ""


@pytest.mark.parametrize(
    ("one", "other"), [("Elizabeth I", "Elizabeth II"), ("Green", "Greene"), ("A", "The A Team"), ("C 3", "C 4")]
)
def test_spellings_of_different_names_have_different_keys(one: str, other: str) -> None:
    assert key_of(one) != key_of(other)


def test_a_qualifier_is_no_part_of_a_name() -> None:
    assert title_of("Green (album)") == ("green", "album")
    assert title_of("(album)") == ("album", "")


def test_a_large_group_is_not_spelt_out() -> None:
    names = [f"Wolfgang {'ab'[n % 2]}{'cd'[n // 2 % 2]}{n:04x}".replace("0", "q") for n in range(LARGEST_GROUP)]
    names += ["Wolfgang Schultz", "Wolfgang Schulz", "W. Zuckerberg", "Wolfgang Zuckerberg"]
    found = heads(group_of(names), ())
    assert [(one.reason, one.head) for one in found] == [("initials", len(names) - 1)]


WORDS = st.sampled_from(
    ["j", "john", "jon", "paul", "p", "smith", "smiths", "smyth", "schulz", "schultz", "of", "ii", "i", "1999", "city",
     "wolfgang"]
)  # fmt: skip
KEYS = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=14, unique=True)


@settings(max_examples=examples(400))
@given(keys=KEYS, data=st.data())
def test_heads_of_any_group_equal_brute_force(keys: list[str], data: st.DataObject) -> None:
    flags = st.lists(st.booleans(), min_size=len(keys), max_size=len(keys))
    codes = data.draw(
        st.lists(st.sampled_from([b"", b"\x0f", b"\x0e", b"\xf0"]), min_size=len(keys), max_size=len(keys))
    )
    group = [
        Candidate(row, *rest)
        for row, rest in enumerate(zip(keys, data.draw(flags), data.draw(flags), codes, strict=True))
    ]
    apart = set(data.draw(st.lists(st.tuples(st.sampled_from(keys), st.sampled_from(keys)), max_size=4)))
    found = heads(group, apart)
    shuffled = list(group)
    random.Random(len(keys)).shuffle(shuffled)
    assert sorted(heads(shuffled, apart), key=lambda one: one.name) == sorted(found, key=lambda one: one.name)
    living = {one.name: one.key for one in group}
    headed = {one.name for one in found}
    assert len(headed) == len(found)
    for one in found:
        assert one.name in living
        assert one.head in living.keys() - headed
        assert one.reason in ("plural", "initials", "middle name", "spelling")


CHAINS = (
    "solar energy panels", "solar energy panel", "solar enargy panel", "solar enargy panal", "solar enorgy panal",
    "j smith", "john smith", "john smiths", "john p smith", "john paul smith", "jon smith", "j paul smith",
    "wolfgang schulz", "wolfgang schultz", "wolfgang schultze", "wolfgang k schultze", "w schultze",
)  # fmt: skip


@settings(max_examples=examples(800))
@given(keys=KEYS | st.lists(st.sampled_from(CHAINS), min_size=2, unique=True), data=st.data())
def test_names_unrelated_to_a_change_keep_their_head(keys: list[str], data: st.DataObject) -> None:
    def drawn() -> list[Candidate]:
        flags = st.tuples(st.booleans(), st.booleans(), st.sampled_from([b"", b"\x0f", b"\xf0"]))
        return [Candidate(row, key, *data.draw(flags)) for row, key in enumerate(keys)]

    changed = data.draw(st.sets(st.sampled_from(range(len(keys))), min_size=1))
    earlier, later = drawn(), drawn()
    later = [other if one.name in changed else one for one, other in zip(earlier, later, strict=True)]
    gone = data.draw(st.sets(st.sampled_from(sorted(changed))))
    come = data.draw(st.sets(st.sampled_from(sorted(changed))))
    earlier = [one for one in earlier if one.name not in come]
    later = [one for one in later if one.name not in gone]
    touched = related([keys[row] for row in sorted(changed)], [one.key for one in later])
    before, after = ({one.name: (one.head, one.reason) for one in heads(group, ())} for group in (earlier, later))
    again = heads([one for one in later if one.key in touched], ())
    assert {one.name: (one.head, one.reason) for one in again} == {
        name: head for name, head in after.items() if keys[name] in touched
    }
    for one in later:
        if one.key not in touched and one.name not in changed:
            assert before.get(one.name) == after.get(one.name)
        elif one.key not in touched:
            assert one.name not in after


FIRST = st.sampled_from(["", "a ", "a bb ", "ab bb ", "a 1 ", "a² "])
LAST = (
    st.text("xyz", min_size=2, max_size=6)
    | st.text("xyz", min_size=7, max_size=9)
    | st.text("x1²", min_size=2, max_size=6)
)
ENDINGS = st.sampled_from(["", "s", "ies", "y", "e", "1", "1s"])


@settings(max_examples=examples(1_000))
@example(first="", last="wolfgang", ends=("s", ""), flags=(False, False, False, False))
@given(first=FIRST, last=LAST, ends=st.tuples(ENDINGS, ENDINGS), flags=st.tuples(*[st.booleans()] * 4))
def test_no_rule_joins_a_key_that_stands_alone(
    first: str, last: str, ends: tuple[str, str], flags: tuple[bool, bool, bool, bool]
) -> None:
    one, other = (
        Candidate(row, f"{first}{last}{end}", flags[row], flags[2 + row], b"") for row, end in enumerate(ends)
    )
    assume(one.key != other.key and signature(one.key) == signature(other.key))
    by_rules = (
        resolve._singular(one, {other.key: other})
        or resolve._fuller(one, [one, other])
        or resolve._respelt(one, [one, other])
    )
    assert not (by_rules and (is_never_merged(one.key) or is_never_merged(other.key)))

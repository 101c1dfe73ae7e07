"""Patterns of ignore files: as Git has them, and in bounded time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from monograph import Monograph
from monograph.sync.ignore import IGNORE_FILE, MOST_PATTERNS, compiled
from support.properties import examples

segments = st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]"]), min_size=1, max_size=6).map("".join)
patterns = st.builds(
    lambda first, parts, last: first + "/".join(parts) + last,
    st.sampled_from(["", "/", "!", "**/"]),
    st.lists(st.one_of(segments, st.just("**")), min_size=1, max_size=5),
    st.sampled_from(["", "/", "/**"]),
)
paths = st.builds(
    lambda parts, last: "/".join(parts) + last,
    st.lists(st.text("ab", min_size=1, max_size=6), min_size=1, max_size=6),
    st.sampled_from(["", "/"]),
)


@settings(max_examples=examples(300))
@given(lines=st.lists(patterns, min_size=1, max_size=3), names=st.lists(paths, min_size=1, max_size=6))
def test_patterns_say_the_same_as_those_of_pathspec(lines: list[str], names: list[str]) -> None:
    ours, theirs = compiled(lines), GitIgnoreSpec.from_lines(lines)
    for name in names:
        assert ours.check_file(name).include == theirs.check_file(name).include


def test_class_of_characters_fits_no_slash_as_in_git() -> None:
    spec = compiled(["*[!a]ba*a"])
    assert spec.check_file("bba/baa").include is None
    assert spec.check_file("x/bbcbaxa").include is True


@pytest.mark.parametrize(
    "line",
    [
        "*a" * 40 + "b",
        "*a?" * 40 + "*b",
        "**/a/" * 40 + "b",
        "/**/*a" * 20 + "/**/*b",
        "**" * 30 + "b",
        "*" * 200 + "b",
    ],
)
def test_pattern_with_many_wildcards_does_not_hang_sync(folder: Path, monograph: Monograph, line: str) -> None:
    (folder / IGNORE_FILE).write_text(f"{line}\n")
    deep = folder.joinpath(*["a"] * 60)
    deep.mkdir(parents=True)
    (deep / f"{'a' * 200}.txt").write_text("The lighthouse.")
    (folder / f"{'a' * 100}b").write_text("It is ignored where the line says so.")
    assert monograph.sync(folder).added >= 1


def test_ignore_file_with_very_many_lines_is_a_problem(folder: Path, monograph: Monograph) -> None:
    (folder / IGNORE_FILE).write_text("a*\n" * (MOST_PATTERNS + 1))
    (problem,) = monograph.sync(folder).problems
    assert "2,001 lines" in str(problem)

"""Titles of plain texts."""

from __future__ import annotations

import pytest

from monograph.read.title import title_of

CHAT = "Time: 20310302_18:10\nMira Holm: I signed for the boat today!\nJonas Veit: How bad is the hull?\n"


@pytest.mark.parametrize(
    ("stem", "text", "title"),
    [
        ("20310302_1810", CHAT, "2031-03-02, Mira Holm, Jonas Veit: I signed for the boat today!"),
        ("20310302_1810", "On 4 March 2031 we sail.", "2031-03-02"),
        ("0017", CHAT, "Mira Holm, Jonas Veit: I signed for the boat today!"),
        ("0017", "\n----\nOne two three four five six seven eight nine.", "One two three four five six seven eight …"),
        ("0017", "1 2 3", "0017"),
        ("chat-17", CHAT, "chat-17"),
        ("南京", CHAT, "南京"),
    ],
)
def test_name_without_letters_gives_way_to_day_speakers_and_first_words(stem: str, text: str, title: str) -> None:
    assert title_of(text, stem) == title

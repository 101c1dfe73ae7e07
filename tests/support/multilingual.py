"""Texts in more than eight scripts, and unusual characters, for tests of text processing."""

from __future__ import annotations

from hypothesis import strategies as st


def joined(words: st.SearchStrategy[str], most: int = 40) -> st.SearchStrategy[str]:
    """Return a strategy for texts of up to ``most`` words, with or without spaces between them."""
    parts = st.lists(words, max_size=most)
    return parts.flatmap(lambda some: st.sampled_from(["", " "]).map(lambda joint: joint.join(some)))


SENTENCES = (
    "The Director of the University's press, J. S. Bach’s editor, didn't re-read “Guns N' Roses” on 3 May 1999.",
    "Ännchen Müller-Lüdenscheidt aß in Österreich Straßenbahn-Käse; groß geschrieben: GROẞ, ſtill.",
    "L’été à Besançon où Zoë œuvre naïvement… Ça va? İstanbul'da ığdır, Dvořák, Łódź, Ångström, ﬁne ﬂow.",
    "北京大学的研究人员在2023年发现了新的方法。他们认为，这是重要的！真的吗？是的。",
    "ذهب الطالبُ إلى الجامعةِ في مدينة القاهرة، وقرأَ كتابًا. هل هذا صحيح؟ آلاء أحمد ﷺ ﻻ.",
    "विश्वविद्यालय के छात्र ने किताब पढ़ी। क्या यह सच है? हिन्दी में क़लम, फ़र्क़, ড়, ক্ষ।",
    "Московский университет открыл новую лабораторию, где учёные и их коллеги работают. Ёлка, Йод!",
    "東京の大学で新しい研究が始まりました。カタカナ、ひらがな、漢字ｶﾞﾊﾞ！が゙、パ。",
    "한국어 문장도 있습니다. 각각 가나다라 \u1100\u1161\u11a8.",
    "ภาษาไทยไม่มีช่องว่าง ลาว: ພາສາລາວ ខ្មែរ မြန်မာ",
    "Ελληνικά: ΟΔΥΣΣΕΥΣ, ᾳ ᾼ ὕβρις, ΐ.",
    "🙂👍🏽👨‍👩‍👧 ok ☃️ 🇩🇪 x² ½ Ⅷ ① ℃ ﹏ Ａｂｃ１２３ 𝔘𝔫𝔦 𝟘",
    "machine learning methods and neural network models need good training data, and machine learning helps",
    "der die das und nicht mit einer großen neuen Methode wird sie von uns wieder gemacht",
)
ODD = (
    " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\0", "\x1c", "\x1f", "\x85", "\u2028", "\u00a0", "\u3000", "\u200b", "\u00ad",
    "▁", "<s>", "</s>", "<unk>", "<", ".", "!", "?", "。", "！", "...", "'s", "’s", "-", "_", "\u0301", "\u0327\u0301", "\u0345",
    "\u034f", "\u0653", "\u0655", "\u064e\u0651", "\u093c", "\u094d", "\u3099", "\u309a", "\u1161", "\u11a8", "\u0300\u0323",
    "\ue000", "\uffff", "\U0010ffff", "\U0002f800", "\U000323af", "\u0378", "\ud800", "\udfff", "ẞ", "ß", "İ", "ı", "ſ", "Σ", "ς",
    "K", "Å", "x" * 40, "1984", "ﬀ", "ŉ", "ǆ", "ǅ", "\u1e9b\u0323",
)  # fmt: skip
"""Characters and words that some code treats specially."""

WORDS = st.sampled_from([word for sentence in SENTENCES for word in sentence.split()])
TEXTS = (
    st.lists(st.sampled_from(SENTENCES) | st.sampled_from(ODD) | WORDS, max_size=12).map("".join)
    | st.lists(st.sampled_from(ODD) | WORDS.map("{} ".format), max_size=40).map("".join)
    | st.text(max_size=60)
    | st.text(st.characters(codec="utf-8", max_codepoint=0x2FFF), max_size=60)
    | st.text(st.characters(categories=("Mn", "Mc", "Lo", "Lm", "Nd")), max_size=30)
    | st.text(st.characters(max_codepoint=127), max_size=80)
)

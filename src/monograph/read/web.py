"""HTML: reads the main text with its headings, lists and tables, without navigation, footers and menus."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from monograph.dates import span
from monograph.errors import SourceDamaged
from monograph.read.compose import Composer
from monograph.read.rows import add_table
from monograph.read.source import Items, SourceFile, needs
from monograph.read.text import decode
from monograph.regex import regex

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MOST_LINKS = 20
_CHARSET = regex(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w-]+)", re.I)
_BOILERPLATE = (
    "nav, aside, footer, body > header, form, button, dialog, [role=navigation], [role=banner], [role=contentinfo],"
    " [role=complementary], [role=search], [hidden], [aria-hidden=true]"
)
_NOT_CONTENT = "script, style, noscript, template, iframe, object, head > *:not(title)"
_DRAWINGS = "svg"
_BLOCKS = frozenset(
    """address article aside blockquote body br center dd details div dl dt fieldset figcaption figure footer form
    header hr li main nav ol p section summary td th tr ul""".split()  # noqa: SIM905 - a list of them is a page long
)
_DEEPEST = 2_000
_MOST_OPEN = 10_000
_NESTING = regex(r"<(/?)(?!(?:p|li|br|img|hr|input|meta|link|td|tr|th|dt|dd|option)\b)[a-z][^<>]*?(/?)>", re.I)
_LISTS = "ul, ol, div, section, p, table"
_MENU_LINK_SHARE = 0.6
_PUBLISHED = ", ".join(
    f"meta[{key}='{name}']"
    for key, name in (
        ("property", "article:published_time"), ("itemprop", "datePublished"), ("name", "date"),
        ("name", "dcterms.date"), ("name", "DC.date"), ("name", "pubdate"),
    )
)  # fmt: skip
"""Selector of the elements that state when a page was published."""

_LEAST_MAIN = 0.25
"""A ``main`` or ``article`` element is treated as the main part if it has at least this share of the page's text."""


def read_html(opened: SourceFile) -> Items:
    """Yield a page as one document. Its metadata has the first MOST_LINKS links and the time of publication."""
    parsed = parse(opened.data)
    composer = Composer()
    title = parsed.css_first("title")
    page_title = title.text(strip=True) if title is not None else ""
    add_page(composer, parsed)
    urls = (node.attributes.get("href") or "" for node in parsed.css("a[href]"))
    links = list(dict.fromkeys(url for url in urls if url.startswith(("http://", "https://"))))[:MOST_LINKS]
    times = ((node.attributes.get("content") or "").strip() for node in parsed.css(_PUBLISHED))
    published = next((time for time in times if span.parse(time) is not None), "")
    metadata = opened.metadata("html", links=links, published=published)
    yield from composer.items(opened, metadata, composer.first_heading() or page_title)


def parse(data: bytes) -> LexborHTMLParser:
    """Decode and parse a page. If it does not declare its encoding, the encoding is guessed from its bytes.

    Raises
    ------
    SourceDamaged
        If the page has too many unclosed tags.
    ReaderMissing
        If the extra ``documents`` is not installed.
    """
    with needs("an HTML page", "documents"):
        from selectolax.lexbor import LexborHTMLParser
    declared = _CHARSET.search(data[:4096])
    text = None
    if declared and declared.group(1).lower() not in (b"utf-16", b"utf-32"):
        try:
            text = data.decode(declared.group(1).decode("ascii").lower().replace("iso-8859-1", "cp1252"))
        except (LookupError, UnicodeDecodeError):
            text = None
    text = _decode_by_guess(data) if text is None else text
    # The time of parsing grows with the square of the depth.
    open_tags = 0
    for tag in _NESTING.finditer(text):
        open_tags += -1 if tag.group(1) else not tag.group(2)
        if open_tags > _MOST_OPEN:
            raise SourceDamaged(f"it has more than {_MOST_OPEN:,} unclosed tags", "do not trust it")
    return LexborHTMLParser(text)


def _decode_by_guess(data: bytes) -> str:
    """Decode a page that declares no encoding, or a wrong one."""
    text, _ = decode(data)
    # The HTML standard suggests cp1252 for Latin text that is not UTF-8.
    if not any("\u024f" < character < "\u2000" or character > "\u2fff" for character in text):
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return data.decode("cp1252", "replace")
    return text


def add_page(composer: Composer, parsed: LexborHTMLParser, picture: Callable[[str], str] | None = None) -> None:
    """Add the main text of a page to the composer.

    ``picture`` is called with the link of each picture, and returns the words in the picture. These words are added at
    the position of the picture. If ``picture`` is None, pictures are skipped.
    """
    body = parsed.body
    if body is None:
        return
    stack = [(body, 0)]
    while stack:  # The time of selectors grows with the square of the depth.
        node, depth = stack.pop()
        if depth > _DEEPEST:
            raise SourceDamaged(f"it is nested more than {_DEEPEST:,} deep", "do not trust it")
        stack.extend((child, depth + 1) for child in node.iter())
    for node in body.css(f"{_NOT_CONTENT}, {_DRAWINGS}" if picture is None else _NOT_CONTENT):
        node.decompose()
    text_length = len(body.text())
    main = _main_element(body, text_length)
    for node in main.css(_BOILERPLATE):
        node.decompose()
    saved_html, text_length = main.html, len(main.text())
    for node in main.css(_LISTS):
        if _is_menu(node):
            node.decompose()
    if saved_html is not None and len(main.text().strip()) < 0.1 * text_length:
        # Nearly all of the page was removed as menus: keep them rather than lose the text.
        main = type(parsed)(saved_html).body or main
    _add(composer, main, picture)


def _main_element(body: LexborNode, text_length: int) -> LexborNode:
    for selector in ("main, [role=main]", "article"):
        candidates = body.css(selector)
        if len(candidates) == 1 and len(candidates[0].text()) >= _LEAST_MAIN * text_length:
            return candidates[0]
    return body


def _is_menu(node: LexborNode) -> bool:
    """Return whether an element is a menu: its text is mostly links (at least three), without h1, h2 or h3."""
    links = node.css("a")
    if len(links) < 3 or node.css_matches("h1, h2, h3"):
        return False
    text = len(" ".join(node.text().split()))
    return sum(len(" ".join(link.text().split())) for link in links) > _MENU_LINK_SHARE * text


def _add(composer: Composer, root: LexborNode, picture: Callable[[str], str] | None) -> None:
    """Add the text below ``root`` to the composer, one paragraph per block element."""
    gathered: list[str] = []
    for node, entering in _walk(root):
        tag = node.tag or ""
        if tag == "-text" and entering:
            gathered.append(node.text_content or "")
        elif tag == "table" and entering:
            _flush(composer, gathered)
            rows = node.css("tr")
            add_table(composer, ([cell.text(separator=" ") for cell in row.css("td, th")] for row in rows))
        elif tag in _PICTURES and entering and picture is not None:
            links = (node.attributes.get(name) for name in _PICTURES[tag])
            words = picture(next(filter(None, links), ""))
            if words:
                _flush(composer, gathered)
                composer.add(words)
        elif tag == "pre" and entering:
            _flush(composer, gathered)
            composer.add(node.text())
        elif tag[:1] == "h" and tag[1:].isdigit():
            heading = "".join(gathered)
            if not entering:
                gathered.clear()
                composer.heading(int(tag[1:]), heading)
            else:
                _flush(composer, gathered)
        elif tag in _BLOCKS:
            _flush(composer, gathered, "- " if tag == "li" and not entering else "")
    _flush(composer, gathered)


def _flush(composer: Composer, gathered: list[str], prefix: str = "") -> None:
    text = " ".join("".join(gathered).split())
    gathered.clear()
    if text:
        composer.add(prefix + text)


_PICTURES = {"img": ("src",), "image": ("xlink:href", "href")}
_ATOMIC = frozenset({"table", "pre"})


def _walk(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Yield each node of a tree twice: as (node, True) before its children, and as (node, False) after them."""
    stack: list[tuple[LexborNode, bool]] = [(root, False), (root, True)]
    while stack:
        node, entering = stack.pop()
        yield node, entering
        if entering and (node.tag or "") not in _ATOMIC:
            for child in reversed(list(node.iter(include_text=True))):
                stack += [(child, False), (child, True)]

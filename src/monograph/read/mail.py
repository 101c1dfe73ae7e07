"""E-mail: messages in the Internet format (.eml) and in Outlook's (.msg), with their attachments."""

from __future__ import annotations

import email
import email.policy
import io
from collections.abc import Callable, Iterator, Mapping
from email.message import EmailMessage
from functools import partial
from typing import Any, TypeAlias

from monograph.errors import SourceError
from monograph.read.compose import Composer
from monograph.read.file import read
from monograph.read.source import Items, SourceFile, needs, problem_of, text_of
from monograph.read.text import decode
from monograph.read.web import add_page, parse
from monograph.values import Problem

_DEEPEST = 2
"""Nesting depth of messages whose attachments are not read. A file on disk has depth 0, its attachments depth 1."""

Attachments: TypeAlias = Iterator[tuple[str, Callable[[], bytes | None]]]
"""Attachments of a message: (name, function that returns the bytes).

The name is empty if the attachment has no name. The function returns None if the attachment has no bytes.
"""

_HEADERS = ("from", "to", "cc", "date", "subject")


def read_email(opened: SourceFile) -> Items:
    """Yield a message as one document, and the documents of each of its attachments."""
    data = opened.data.split(b"\n", 1)[-1] if opened.data.startswith(b"From ") else opened.data
    message = email.message_from_bytes(data, policy=email.policy.default)
    headers = {name: text_of(_header(message, name)) for name in _HEADERS}
    attachments = ((_file_name(part), partial(_attachment_bytes, part)) for part in _attachments(message))
    yield from _message(opened, headers, *_body(message), attachments)


def read_msg(opened: SourceFile) -> Items:
    """Yield a message of Outlook as one document, and the documents of each of its attachments."""
    with needs("an Outlook message", "documents"):
        from oxmsg import Message
    message = Message.load(io.BytesIO(opened.data))
    to = ", ".join(recipient.email_address or recipient.name for recipient in message.recipients)
    headers = {
        "from": text_of(message.sender).replace('"', ""), "to": to, "date": text_of(message.sent_date),
        "subject": text_of(message.subject),
    }  # fmt: skip
    attachments = (
        (text_of(attachment.file_name).replace("/", "_"), partial(getattr, attachment, "file_bytes"))
        for attachment in message.attachments
    )
    yield from _message(opened, headers, message.body or "", (message.html_body or "").encode(), attachments)


def _message(opened: SourceFile, headers: Mapping[str, str], body: str, html: bytes, attachments: Attachments) -> Items:
    """Yield a message as one document, then, for each attachment, its documents or a problem."""
    composer = Composer()
    composer.add("\n".join(f"{name.capitalize()}: {value}" for name, value in headers.items() if value))
    if body.strip():
        composer.add(body)
    elif html:
        add_page(composer, parse(html))
    yield from composer.items(opened, opened.metadata("email", **headers), headers.get("subject", ""))
    for number, (name, extract) in enumerate(attachments, start=1):
        opened.check_time()
        opened.check_pages(number, "attachments")
        inner_name = name or f"attachment {number}"
        uri = opened.address.inside(inner_name).uri
        if opened.depth >= _DEEPEST:
            yield Problem(uri, "it is attached to a file within a file", "save it by itself")
            continue
        try:
            data = extract()
        except Exception as error:
            yield Problem(uri, f"it cannot be extracted from its message: {type(error).__name__}", "save it by itself")
            continue
        try:
            yield from read(opened.inside(inner_name, data)) if data else ()
        except SourceError as error:
            yield problem_of(uri, error)


def _attachment_bytes(part: EmailMessage) -> bytes | None:
    """Return the bytes of an attachment; None if the part has no bytes of its own, such as a delivery report."""
    content = part.get_content() if part.get_content_type() == "message/rfc822" else part.get_payload(decode=True)
    inner = content.as_bytes() if isinstance(content, EmailMessage) else content
    return inner if isinstance(inner, bytes) else None


def _header(message: EmailMessage, name: str) -> Any:
    try:
        return message[name]
    except Exception:
        return None


def _file_name(part: EmailMessage) -> str:
    try:
        return text_of(part.get_filename()).replace("/", "_")
    except Exception:
        return ""


def _body(message: EmailMessage) -> tuple[str, bytes]:
    """Return (plain text, first HTML part as UTF-8 bytes) of a message. Each of the two may be empty."""
    plain, html = [], b""
    for part in _parts(message):
        if part.is_multipart() or part.is_attachment():
            continue
        data = part.get_payload(decode=True)
        if not isinstance(data, bytes):
            continue
        if part.get_content_type() == "text/plain":
            plain.append(_decode_text(data, part.get_content_charset() or ""))
        elif part.get_content_type() == "text/html":
            html = html or _decode_text(data, part.get_content_charset() or "").encode()
    return "\n\n".join(plain), html


def _decode_text(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset)
    except (LookupError, UnicodeDecodeError, ValueError):
        return decode(data)[0]


def _parts(message: EmailMessage) -> Iterator[EmailMessage]:
    """Yield all parts of a message, without the parts of attached messages."""
    stack = [message]
    while stack:
        part = stack.pop()
        yield part
        if part.get_content_maintype() == "multipart":
            stack.extend(subpart for subpart in reversed(list(part.iter_parts())) if isinstance(subpart, EmailMessage))


def _attachments(message: EmailMessage) -> Iterator[EmailMessage]:
    for part in _parts(message):
        is_attached = part.is_attachment() or (part.get_filename() and part.get_content_maintype() != "multipart")
        if is_attached or part.get_content_type() == "message/rfc822":
            yield part

"""Images by RapidOCR: PaddleOCR's models on ONNX, which lie in its package."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from monograph.errors import SourceDamaged, SourceTooLarge, SourceTooSlow
from monograph.read.compose import Composer
from monograph.read.kept import Kept
from monograph.read.limits import Limits
from monograph.read.source import Items, Opened, missing
from monograph.values import Place, Problem

if TYPE_CHECKING:
    from PIL.Image import Image
    from rapidocr import RapidOCR

Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

_LEAST_SCORE = 0.5
_SAME_LINE = 0.5
"""Boxes whose middles are closer than this share of a line's height stand in one line."""

_MOST_FRAMES = 200

_ICON_SIDE, _ICON_PIXELS = 32, 20_000
"""A picture within a document that is smaller is an icon, a bullet, a line."""

_DETECTED_AT = 736
"""Pixels that RapidOCR enlarges the shorter side of an image to."""

_TALL = 1.5
"""Times as high as wide, above which a line stands on end."""

_ASKED, _JUDGED = 9, 4
"""Lines whose beginnings are judged as upright or not, and how many times as long as high these are."""


def read_image(opened: Opened) -> Items:
    """The words of an image; every frame of a TIFF is a page. An icon that is attached to something is passed over."""
    image = unpacked_image(opened.data, opened.limits)
    from PIL import ImageSequence

    if opened.depth and is_icon(image):
        return
    composer, kept = Composer(), Kept()
    frames = min(getattr(image, "n_frames", 1), _MOST_FRAMES) if image.format == "TIFF" else 1
    for number, frame in enumerate(ImageSequence.Iterator(image), start=1):
        if number > frames:
            break
        refuse_size(*frame.size, opened.limits)
        if frames > 1:
            composer.place(Place(0, page=number, boundary=True))
        composer.add(
            _marked(kept, frame, b"" if frames > 1 else opened.data) if opened.describing else _words(opened, frame)
        )
    yield from kept.take()
    document = composer.document(opened, opened.metadata("image"))
    yield document if document is not None else Problem(opened.address.uri, "no words were found in the image")


def _words(opened: Opened, frame: Image) -> str:
    refuse_when_late(opened)
    return recognise(upright(frame))


def _marked(kept: Kept, frame: Image, data: bytes) -> str:
    try:
        return kept.mark(frame, data, numbered=False)
    except (OSError, SyntaxError, ValueError) as error:
        raise _broken(error) from error


def unpacked_image(data: bytes, limits: Limits) -> Image:
    """An image whose pixels are not looked at yet.

    Raises
    ------
    SourceError
        If it is broken or has too many pixels, or what reads it is not installed.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise missing("an image", "ocr", error) from error
    try:
        image = Image.open(io.BytesIO(data))
    except Image.DecompressionBombError as error:
        raise SourceTooLarge(f"an image of too many pixels: {error}", "make it smaller") from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise _broken(error) from error
    refuse_size(*image.size, limits)
    return image


def upright(image: Image) -> Pixels:
    """The pixels of an image, turned as its EXIF says, for :func:`recognise`.

    Raises
    ------
    SourceDamaged
        If it is broken.
    """
    from PIL import ImageOps

    try:
        turned = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise _broken(error) from error
    return turned[..., ::-1]


def is_icon(image: Image) -> bool:
    """Whether an image is too small to be worth recognising where it stands in something else."""
    return min(image.size) < _ICON_SIDE or image.size[0] * image.size[1] < _ICON_PIXELS


def _broken(error: BaseException) -> SourceDamaged:
    return SourceDamaged(f"a broken image: {error}", "save it anew")


def refuse_size(width: int, height: int, limits: Limits) -> None:
    """Raise SourceTooLarge for an image of too many pixels, before it is unpacked."""
    if width * height > limits.max_pixels:
        raise SourceTooLarge(
            f"an image of {width:,} x {height:,}, more than the limit of {limits.max_pixels:,} pixels",
            "make it smaller",
        )


def refuse_when_late(opened: Opened) -> None:
    """Raise SourceTooSlow where there is hardly time left to recognise another page."""
    if opened.late():
        raise SourceTooSlow("there was no time to recognise the words in its pictures", "--max-seconds, then retry")


def recognise(image: Pixels) -> str:
    """The words of an image of shape (height, width, 3), blue first, line by line from the top.

    One whose lines stand on end or on their heads is turned, and recognised again: every line alone would be read
    either way, but not as well, and in no order.

    Raises
    ------
    UnknownFormat
        If the extra is not installed.
    """
    image = _padded(image)
    boxes = _boxes(image)
    turns = _turns(image, [box for box, _ in boxes])
    if turns:
        boxes = _boxes(np.ascontiguousarray(np.rot90(image, turns)))
    return "\n".join(_in_lines(boxes))


def _padded(image: Pixels) -> Pixels:
    """A small image as broad as high: its shorter side is enlarged, and a narrow strip would become a long one."""
    height, width = image.shape[:2]
    side = min(max(height, width), _DETECTED_AT)
    more = ((0, max(0, side - height)), (0, max(0, side - width)), (0, 0))
    return np.pad(image, more, mode="edge") if any(after for _, after in more) else image


def _boxes(image: Pixels) -> list[tuple[Any, str]]:
    """Four corners and the words of each piece of a line."""
    # The classifier takes long upright lines for reversed ones: below, it is asked of pieces that it can judge.
    found: Any = _engine()(image, use_det=True, use_cls=False, use_rec=True)
    if found.boxes is None or found.txts is None:
        return []
    return [
        (np.asarray(box), text) for box, text, score in zip(found.boxes, found.txts, found.scores or (), strict=True)
        if score >= _LEAST_SCORE
    ]  # fmt: skip


def _turns(image: Pixels, boxes: Sequence[Any]) -> int:
    """Return the number of quarter turns, against the clock, after which the longest lines of an image are upright."""
    corners = [(*np.floor(box.min(axis=0)).astype(int), *np.ceil(box.max(axis=0)).astype(int)) for box in boxes]
    lines = [(right - left, bottom - top, left, top) for left, top, right, bottom in corners]
    lines.sort(key=lambda line: max(line[:2]), reverse=True)
    whole = sum(max(wide, high) for wide, high, *_ in lines)
    on_end = 2 * sum(high for wide, high, *_ in lines if high >= _TALL * wide) > whole
    alike = [line for line in lines if (line[1] >= _TALL * line[0]) == on_end]
    reversed_ = 0.0
    for wide, high, left, top in alike[:_ASKED]:
        most = _JUDGED * min(wide, high)
        piece = np.rot90(image[top : top + min(high, most), left : left + min(wide, most)], int(on_end))
        if piece.size:
            found: Any = _engine()(np.ascontiguousarray(piece), use_det=False, use_cls=True, use_rec=False)
            ((label, score),) = found.cls_res
            reversed_ += float(score) if label == "180" else -float(score)
    return int(on_end) + (2 if reversed_ > 0 else 0)


def _in_lines(boxes: list[tuple[Any, str]]) -> list[str]:
    """Boxes of one height stand in one line, from left to right."""
    lines: list[list[tuple[float, str]]] = []
    middle = height = 0.0
    for box, text in sorted(boxes, key=lambda one: float(one[0][:, 1].mean())):
        own, tall = float(box[:, 1].mean()), float(np.ptp(box[:, 1]))
        if not lines or own - middle > _SAME_LINE * min(height, tall):
            lines.append([])
            middle, height = own, tall
        lines[-1].append((float(box[:, 0].min()), text))
    return ["  ".join(text for _, text in sorted(line)) for line in lines]


@functools.cache
def _engine() -> RapidOCR:
    """Loaded once a process, on one thread: files are read side by side."""
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        raise missing("a picture of text", "ocr", error) from error
    return RapidOCR(params={"EngineConfig.onnxruntime.intra_op_num_threads": 1, "Global.log_level": "error"})

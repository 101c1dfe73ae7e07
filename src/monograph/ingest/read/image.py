"""Images by RapidOCR: PaddleOCR's models on ONNX, which lie in its package."""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from monograph.errors import SourceDamaged, SourceTooLarge, SourceTooSlow
from monograph.ingest.limits import Limits
from monograph.ingest.read.compose import Composer
from monograph.ingest.read.source import Items, Opened, missing
from monograph.values import Place, Problem

if TYPE_CHECKING:
    from rapidocr import RapidOCR

_LEAST_SCORE = 0.5
_SAME_LINE = 0.5
"""Boxes whose middles are closer than this share of a line's height stand in one line."""

_MOST_FRAMES = 200


def read_image(opened: Opened) -> Items:
    """The words of an image, turned upright by its EXIF orientation; every frame of a TIFF is a page."""
    try:
        from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError
    except ImportError as error:
        raise missing("an image", "ocr") from error
    try:
        image = Image.open(io.BytesIO(opened.data))
    except Image.DecompressionBombError as error:
        raise SourceTooLarge(f"an image of too many pixels: {error}", "make it smaller") from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise _broken(error) from error
    refuse_size(*image.size, opened.limits)
    composer = Composer()
    frames = min(getattr(image, "n_frames", 1), _MOST_FRAMES) if image.format == "TIFF" else 1
    for number, frame in enumerate(ImageSequence.Iterator(image), start=1):
        if number > frames:
            break
        refuse_size(*frame.size, opened.limits)
        refuse_when_late(opened)
        try:
            upright = np.asarray(ImageOps.exif_transpose(frame).convert("RGB"))
        except (OSError, SyntaxError, ValueError) as error:
            raise _broken(error) from error
        if frames > 1:
            composer.place(Place(0, page=number, apart=True))
        composer.add(recognise(upright[..., ::-1]))
    document = composer.document(opened, opened.metadata("image"))
    yield document if document is not None else Problem(opened.address.uri, "no words were found in the image")


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


def recognise(image: np.ndarray[Any, np.dtype[np.uint8]]) -> str:
    """The words of an image of shape (height, width, 3), blue first, line by line from the top.

    Raises
    ------
    UnknownFormat
        If the extra is not installed.
    """
    found: Any = _engine()(image)
    if found.boxes is None or found.txts is None:
        return ""
    lines = [
        (np.asarray(box), text) for box, text, score in zip(found.boxes, found.txts, found.scores or (), strict=True)
        if score >= _LEAST_SCORE
    ]  # fmt: skip
    return "\n".join(_in_lines(lines))


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
        raise missing("a picture of text", "ocr") from error
    return RapidOCR(params={"EngineConfig.onnxruntime.intra_op_num_threads": 1, "Global.log_level": "error"})

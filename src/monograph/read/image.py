"""Recognises the words of images with RapidOCR, whose package contains PaddleOCR's models in ONNX form."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from monograph.errors import SourceDamaged, SourceTooLarge, SourceTooSlow
from monograph.read.compose import Composer, clean
from monograph.read.kept import KeptPictures
from monograph.read.limits import Limits
from monograph.read.source import Items, SourceFile, needs
from monograph.values import Place, Problem

if TYPE_CHECKING:
    from PIL.Image import Image
    from rapidocr import RapidOCR

Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

_LEAST_SCORE = 0.5
_SAME_LINE = 0.5
"""Highest vertical distance between the centres of two word boxes in one line, as a share of the smaller height."""

_MOST_FRAMES = 200

_ICON_SIDE, _ICON_PIXELS = 32, 20_000
"""Minimum shorter side and minimum area, in pixels, of a picture in a document. Smaller pictures are icons."""

_DETECTION_SIDE = 736
"""RapidOCR enlarges an image until its shorter side has at least this many pixels."""

_VERTICAL_RATIO = 1.5
"""A line of text counts as vertical if its height divided by its width is at least this ratio."""

_CLASSIFIED_LINES, _BEGINNING_HEIGHTS = 9, 4
"""Maximum number of lines tested for being upside down; length of the tested beginning of a line, in line heights."""


def read_image(opened: SourceFile) -> Items:
    """Yield the words of an image as one document; every frame of a TIFF is a page.

    If the image is inside another file, such as a mail, and has the size of an icon, nothing is yielded.
    """
    image = unpacked_image(opened.data, opened.limits)
    from PIL import ImageSequence

    if opened.depth and is_icon(image):
        return
    composer, kept = Composer(), KeptPictures()
    frames = min(getattr(image, "n_frames", 1), _MOST_FRAMES) if image.format == "TIFF" else 1
    for number, frame in enumerate(ImageSequence.Iterator(image), start=1):
        if number > frames:
            break
        refuse_size(*frame.size, opened.limits)
        if frames > 1:
            composer.place(Place(0, page=number, boundary=True))
        if opened.describing:
            try:
                composer.add(kept.mark(frame, b"" if frames > 1 else opened.data, numbered=False))
            except (OSError, SyntaxError, ValueError) as error:
                raise _damaged_image(error) from error
        else:
            refuse_when_late(opened)
            composer.add(recognise(upright(frame)))
    yield from kept.take()
    document = composer.document(opened, opened.metadata("image"))
    yield document if document is not None else Problem(opened.address.uri, "no words were found in the image")


def unpacked_image(data: bytes, limits: Limits) -> Image:
    """Open an image from the bytes of its file. Its pixels are not decoded yet.

    Raises SourceError if the image is broken or has too many pixels, or the extra ``ocr`` is not installed.
    """
    with needs("an image", "ocr"):
        from PIL import Image, UnidentifiedImageError
    try:
        image = Image.open(io.BytesIO(data))
    except Image.DecompressionBombError as error:
        raise SourceTooLarge(f"an image of too many pixels: {error}", "make it smaller") from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise _damaged_image(error) from error
    refuse_size(*image.size, limits)
    return image


def upright(image: Image) -> Pixels:
    """Return the pixels of an image for :func:`recognise`, rotated as its EXIF orientation says.

    Pixels are uint8 of shape (height, width, 3), in the order blue, green, red. Raises SourceDamaged if the image is
    broken.
    """
    from PIL import ImageOps

    try:
        rotated = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise _damaged_image(error) from error
    return rotated[..., ::-1]


def is_icon(image: Image) -> bool:
    """Return whether an image has the size of an icon: a side below 32 pixels or an area below 20,000 pixels.

    If a picture inside another file is an icon, the callers of this function skip the picture.
    """
    return min(image.size) < _ICON_SIDE or image.size[0] * image.size[1] < _ICON_PIXELS


def _damaged_image(error: BaseException) -> SourceDamaged:
    return SourceDamaged(f"a broken image: {error}", "save it again")


def refuse_size(width: int, height: int, limits: Limits) -> None:
    """Raise SourceTooLarge if an image has more pixels than the limit. Call it before the pixels are decoded."""
    if width * height > limits.max_pixels:
        raise SourceTooLarge(
            f"an image of {width:,} x {height:,}, more than the limit of {limits.max_pixels:,} pixels",
            "make it smaller",
        )


def refuse_when_late(opened: SourceFile) -> None:
    """Raise SourceTooSlow if too little time is left to recognise another page."""
    if opened.late():
        raise SourceTooSlow(
            "there was no time to recognise the words in its pictures", "give a higher --max-seconds, then retry"
        )


@dataclass(frozen=True, slots=True)
class PictureTask:
    """Task of recognising the words of a picture, given as the bytes of its file."""

    data: bytes
    limits: Limits

    def parts(self) -> Iterator[str]:
        """Yield the words of the picture; an empty text if there are none."""
        yield clean(recognise(upright(unpacked_image(self.data, self.limits)))).strip()


def recognise(image: Pixels) -> str:
    """Return the words of an image as lines of text, from top to bottom.

    ``image`` is uint8 of shape (height, width, 3), in the order blue, green, red. If the lines are vertical or upside
    down, the whole image is rotated and recognised again. RapidOCR could rotate single lines instead, but then
    makes more errors, and puts the lines in a wrong order.

    Raises
    ------
    UnknownFormat
        If the extra ``ocr`` is not installed.
    """
    # A narrow strip would be scaled up to a huge image, so a small image is padded to a square.
    height, width = image.shape[:2]
    side = min(max(height, width), _DETECTION_SIDE)
    if side > min(height, width):
        image = np.pad(image, ((0, max(0, side - height)), (0, max(0, side - width)), (0, 0)), mode="edge")
    boxes = _recognise_boxes(image)
    turns = _count_turns(image, [box for box, _ in boxes])
    if turns:
        boxes = _recognise_boxes(np.ascontiguousarray(np.rot90(image, turns)))
    return "\n".join(_join_lines(boxes))


def _recognise_boxes(image: Pixels) -> list[tuple[Any, str]]:
    """Return (corners, words) of each recognised piece of a line. Corners are an array (4, 2) of x and y."""
    # The classifier treats long upright lines as reversed. So it is off here; _count_turns gives it shorter pieces.
    output: Any = _engine()(image, use_det=True, use_cls=False, use_rec=True)
    if output.boxes is None or output.txts is None:
        return []
    return [
        (np.asarray(box), text) for box, text, score in zip(output.boxes, output.txts, output.scores or (), strict=True)
        if score >= _LEAST_SCORE
    ]  # fmt: skip


def _count_turns(image: Pixels, boxes: Sequence[Any]) -> int:
    """Return how many counter-clockwise quarter turns (0-3) make text upright. A box is an array (4, 2) of corners."""
    corners = [(*np.floor(box.min(axis=0)).astype(int), *np.ceil(box.max(axis=0)).astype(int)) for box in boxes]
    lines = [(right - left, bottom - top, left, top) for left, top, right, bottom in corners]
    lines.sort(key=lambda line: max(line[:2]), reverse=True)
    total_length = sum(max(wide, high) for wide, high, *_ in lines)
    vertical = 2 * sum(high for wide, high, *_ in lines if high >= _VERTICAL_RATIO * wide) > total_length
    same_direction = [line for line in lines if (line[1] >= _VERTICAL_RATIO * line[0]) == vertical]
    # A classifier says of the longest lines whether they are upside down.
    reversed_ = 0.0
    # The piece begins at the left end of a line, or at the upper end of a vertical line.
    for wide, high, left, top in same_direction[:_CLASSIFIED_LINES]:
        length = _BEGINNING_HEIGHTS * min(wide, high)
        piece = np.rot90(image[top : top + min(high, length), left : left + min(wide, length)], int(vertical))
        if piece.size:
            output: Any = _engine()(np.ascontiguousarray(piece), use_det=False, use_cls=True, use_rec=False)
            ((label, score),) = output.cls_res
            reversed_ += float(score) if label == "180" else -float(score)
    return int(vertical) + (2 if reversed_ > 0 else 0)


def _join_lines(boxes: list[tuple[Any, str]]) -> list[str]:
    """Return the text of each line, from top to bottom. Boxes at about the same height are one line."""
    lines: list[list[tuple[float, str]]] = []
    middle = height = 0.0
    for box, text in sorted(boxes, key=lambda pair: float(pair[0][:, 1].mean())):
        box_middle, box_height = float(box[:, 1].mean()), float(np.ptp(box[:, 1]))
        if not lines or box_middle - middle > _SAME_LINE * min(height, box_height):
            lines.append([])
            middle, height = box_middle, box_height
        lines[-1].append((float(box[:, 0].min()), text))
    return ["  ".join(text for _, text in sorted(line)) for line in lines]


@functools.cache
def _engine() -> RapidOCR:
    """Return the RapidOCR engine, loaded once per process. It has one thread, because files are read in parallel."""
    with needs("a picture of text", "ocr"):
        from rapidocr import RapidOCR
    return RapidOCR(params={"EngineConfig.onnxruntime.intra_op_num_threads": 1, "Global.log_level": "error"})

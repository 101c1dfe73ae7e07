"""What agents can do with a .mono file, whatever framework they belong to."""

from monograph.errors import MissingExtra

try:
    import pydantic  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "monograph_tools needs a framework",
        'pip install "monograph[llama-index]", "monograph[langchain]" or "monograph[mcp]"',
    ) from error

from monograph_tools.tools import Tools, has_tree, reading, resolved

__all__ = ["Tools", "has_tree", "reading", "resolved"]

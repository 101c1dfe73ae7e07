IS_GUARDED: bool

class Watch:
    """Guard of a mapped file. It keeps the process alive if the file, or the index of its log, is truncated."""

    def __init__(self, path: bytes, device: int, inode: int, /) -> None: ...
    def end(self) -> None:
        """Stop watching."""
    @property
    def file_is_cut(self) -> bool:
        """Whether a read was beyond the end of the file, because the file was truncated."""
    @property
    def index_is_cut(self) -> bool:
        """Whether a read was beyond the end of the index of its log, because the index was truncated."""

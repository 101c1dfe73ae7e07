IS_GUARDED: bool

class Watch:
    """Guard that keeps the process alive if a mapped file, or the index of its log, is cut off, and notes it."""

    def __init__(self, path: bytes, device: int, inode: int, /) -> None: ...
    def end(self) -> None:
        """Stop watching."""
    @property
    def file_is_cut(self) -> bool:
        """Whether a read met an end of the file that was not there before."""
    @property
    def index_is_cut(self) -> bool:
        """Whether a read met an end of the index of its log that was not there before."""

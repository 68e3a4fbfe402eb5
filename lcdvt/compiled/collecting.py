"""Let a compiler work without Python's collector of objects."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collecting() -> Iterator[None]:
    """Look for no objects that nobody holds: of the many that a compiler makes, nearly all are needed to its end."""
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()

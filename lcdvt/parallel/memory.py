"""Keep the memory of one step of work for the next one.

A step of training makes and drops the same arrays of about a megabyte each time. The C library gives such memory back
to the system at once and has to fault it in again page by page, which measured as much as a third of the
step of ten members. A batch of an ingest does the same with its arrays.

Only processes of our own are changed, the command line's and the workers': how a notebook's process handles its memory
is not ours to decide. Whoever trains large models in one may call `keep_freed_memory` there.
"""

import ctypes
import sys
from typing import Final

FRUGAL_ARROW: Final = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Arrow's own allocator takes from the system a second time what Python and NumPy have freed: measured, that was half
of what the peak memory of an ingest grew by with the survey. Arrow looks at this once, when it is first used."""

# From malloc.h of the GNU C library.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_KEPT_BYTES = 1 << 30  # more than any step of ours makes and drops


def keep_freed_memory() -> None:
    """Let freed memory wait for its next use, up to a gigabyte; without the GNU C library do nothing."""
    if not sys.platform.startswith("linux"):
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_MMAP_THRESHOLD, _KEPT_BYTES)
        library.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def give_freed_memory_back() -> None:
    """Return to the system what is free now, where it takes it: between two requests a server needs little."""
    import pyarrow as pa  # which takes its allocator from the environment when it is imported

    pa.default_memory_pool().release_unused()
    if sys.platform.startswith("linux"):
        library = ctypes.CDLL(None)
        if hasattr(library, "malloc_trim"):
            library.malloc_trim(0)

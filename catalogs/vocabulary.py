"""How files write that there is no value."""

from typing import Final

MISSING_WORDS: Final = (
    b"nan",
    b"-nan",
    b"+nan",
    b"null",
    b"none",
    b"na",
    b"n/a",
    b"--",
    b"-",
    b"\\n",
    b"inf",
    b"-inf",
    b"+inf",
    b"untrusted",
)

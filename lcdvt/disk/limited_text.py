"""Text files of a run or a description, read only if they are as small as such a file is.

Nobody writes a configuration of a gigabyte: a file beyond the limit is damaged or meant to do harm, and is refused
before it fills the memory. The refusals are ValueErrors, like those of a JSON or TOML text that is not well-formed.
"""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

TOML_LIMIT: Final = 1 << 20
"""A configuration has a few kilobytes."""
JSON_LIMIT: Final = 64 << 20
"""A scaler of thousands of features has a few megabytes."""


def read_limited(path: Path, limit: int) -> str:
    """Return a text file's content; one that is too large or no text is a ValueError."""
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"larger than {limit >> 20} MiB")
    return content.decode("utf-8")


def parse_toml(text: str) -> dict[str, Any]:
    """Return a TOML text as a nested table; whatever is wrong with it is a ValueError."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def read_json_object(path: Path) -> dict[str, Any]:
    """Return a JSON file's names and values; whatever is wrong with it is a ValueError."""
    try:
        found = json.loads(read_limited(path, JSON_LIMIT))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("it holds no names and values")
    return found

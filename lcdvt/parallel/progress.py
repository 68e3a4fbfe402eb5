"""How long work reports where it is, without knowing who listens."""

from typing import Protocol


class Progress(Protocol):
    """Called by a verb each time a piece of work is finished."""

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        """Say that `done` of `total` (None: not known yet) pieces are finished."""


def silent(done: int, total: int | None, note: str = "") -> None:
    """Listen to nothing: the default of the Python verbs."""

"""The folder that a made-up survey is written to: new, empty, or one of our own that is to be replaced."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from lcdvt.errors import LcdvtError


def make_room(folder: Path, force: bool, mark: str, ours: Iterable[str]) -> None:
    """Make a folder, or empty one that was written before.

    Parameters
    ----------
    folder
        Where files are to be written.
    force
        Whether an earlier survey there may go.
    mark
        The file by which it is known as one of ours.
    ours
        Patterns of all that we leave in such a folder: nothing else is removed.
    """
    if folder.exists() and not folder.is_dir():
        raise LcdvtError(f"{folder} is a file: give a folder for the simulated survey.")
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        return
    if not force:
        raise LcdvtError(
            f"{folder} is not empty: choose another folder, or replace what was written there before with force=True."
        )
    if not (folder / mark).exists():
        raise LcdvtError(f"{folder} holds no {mark}, so it is no simulation of ours to replace: choose another folder.")
    for pattern in ours:
        for entry in folder.glob(pattern):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

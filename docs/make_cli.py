"""Write docs/cli.md from the `--help` of every verb: `python docs/make_cli.py`.

The width is fixed and the plain layout is taken, so that the page does not depend on a terminal.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

PAGE = Path(__file__).parent / "cli.md"
WIDTH = 100
BEGINNING = """# The command line

Made from `--help` by `python docs/make_cli.py`. Every verb that gives a result writes it with `--json FILE`, too.
A mistake of the caller is one sentence and exit code 2; Ctrl-C ends with 130, and the same command goes on.
"""


def commands(command: Any, path: tuple[str, ...], parent: Any = None) -> Iterator[tuple[str, str]]:
    """Yield each command's words and its help, verbs before their own verbs."""
    command.rich_markup_mode = None
    context = typer.Context(command, info_name=path[-1], parent=parent, terminal_width=WIDTH, max_content_width=WIDTH)
    yield " ".join(path), command.get_help(context)
    for name, verb in getattr(command, "commands", {}).items():
        yield from commands(verb, (*path, name), context)


def page() -> str:
    """Return the whole page."""
    from lcdvt.cli.main import app

    parts = [BEGINNING]
    for words, text in commands(typer.main.get_command(app), ("lcdvt",)):
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        parts.append(f"## `{words}`\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Pieces of HTML to one page: no script, no link to anything outside, every name from a file escaped."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from lcdvt import __version__
from lcdvt.tables.escapes import html

# Even if a name slipped through the escapes, the browser would run nothing and fetch nothing.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Part:
    """A run's part of the page, or another one with an entry of its own in the list of contents."""

    anchor: str
    title: str
    content: str


def page(title: str, introduction: str, parts: Sequence[Part]) -> str:
    """Return the whole file."""
    style = files("lcdvt.reports").joinpath("style.css").read_text(encoding="utf-8")
    contents = "".join(f'<li><a href="#{part.anchor}">{html(part.title)}</a></li>' for part in parts)
    bodies = "\n".join(
        f'<section class="part" id="{part.anchor}">\n<h2>{html(part.title)}</h2>\n{part.content}\n</section>'
        for part in parts
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{html(_POLICY)}">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="lcdvt {__version__}">
<link rel="icon" href="data:,">
<title>{html(title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{html(title)}</h1>
{introduction}
<nav aria-label="Contents"><ul>{contents}</ul></nav>
</header>
<main>
{bodies}
</main>
<footer>Written by lcdvt {__version__}.</footer>
</body>
</html>
"""


def section(title: str, content: str) -> str:
    """Return a titled piece of a part."""
    return f"<section>\n<h3>{html(title)}</h3>\n{content}\n</section>"


def mark(simulated: bool) -> str:
    """Return the mark that every number from simulated surveys carries."""
    return '<strong class="simulated">simulated</strong> ' if simulated else ""


def figure(drawing: str, caption: str, *, simulated: bool) -> str:
    """Return a drawing with its caption; `caption` is text."""
    return f"<figure>\n{drawing}\n<figcaption>{mark(simulated)}{html(caption)}</figcaption>\n</figure>"


def missing(sentence: str) -> str:
    """Return the sentence that stands where a figure or table cannot be."""
    return f'<p class="missing">{html(sentence)}</p>'


def paragraph(sentence: str) -> str:
    """Return a paragraph of text."""
    return f"<p>{html(sentence)}</p>"


def scrolling(content: str, name: str) -> str:
    """Return content that scrolls in a box of its own where the screen is too narrow for it."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{html(name)}">{content}</div>'


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """Return names and values as a list."""
    return f'<dl class="facts">{"".join(f"<dt>{html(name)}</dt><dd>{html(value)}</dd>" for name, value in rows)}</dl>'


def text_block(text: str, name: str) -> str:
    """Return a file's text, line by line as it is."""
    lines = "\n".join(html(line.expandtabs(4)) for line in text.splitlines())
    return scrolling(f"<pre>{lines}</pre>", name)

"""A report's HTML taken apart, for the tests that look into it."""

from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Elements with their attributes and the text inside them, in order of their start."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag, attrs):
        element = (tag, dict(attrs), [])
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1][0] == tag, f"</{tag}> closes <{self.open[-1][0]}>"
        self.open.pop()

    def handle_data(self, data):
        for _, _, text in self.open:
            text.append(data)

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes, _ in self.elements if name == tag]

    def texts(self, tag: str, **wanted: str) -> list[str]:
        """Return the text of elements with these attributes (`class_` for class)."""
        named = {name.rstrip("_"): value for name, value in wanted.items()}
        return [
            "".join(text)
            for name, attributes, text in self.elements
            if name == tag and all(attributes.get(key) == value for key, value in named.items())
        ]

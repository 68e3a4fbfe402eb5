"""Names from data, made harmless for each format they are written in."""

import unicodedata
from html import escape as escape_html

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    # without the braces, two of these side by side would be set as one sign
    "'": "{'}",
    "`": "{`}",
    # after a line's end, a bare one of these would be read as an option of the line break
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "→": r"$\rightarrow$",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
}
_MARKDOWN_SIGNS = frozenset("\\`*_[]|~$")
_FORMULA_STARTS = ("=", "+", "-", "@")
# capital letters that look Latin, and omicron, have no command of their own in LaTeX
_GREEK_COMMANDS = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)


def printable(text: str) -> str:
    """Replace control characters, which could move a terminal's cursor or break a line, by a visible sign."""
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(sign).startswith("C") else sign for sign in text)


def html(text: str) -> str:
    """Return text for HTML, also inside attributes."""
    return escape_html(printable(text), quote=True)


def markdown(text: str) -> str:
    """Return text that Markdown shows as it is, also inside a table cell."""
    marked = "".join(f"\\{sign}" if sign in _MARKDOWN_SIGNS else sign for sign in printable(text))
    return marked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def latex(text: str) -> str:
    """Return text that pdflatex sets as it is; a letter its usual fonts lack becomes its code point."""
    # two hyphens side by side would be set as one dash
    parts = printable(text).split("--")
    return "-{}-".join("".join(map(_latex_sign, part)) for part in parts)


def csv_cell(text: str) -> str:
    """Return text that a spreadsheet does not run as a formula."""
    cleaned = printable(text)
    return f"'{cleaned}" if cleaned.startswith(_FORMULA_STARTS) else cleaned


def _latex_sign(sign: str) -> str:
    if sign in _LATEX:
        return _LATEX[sign]
    # accented letters of Latin-1 and Latin Extended-A are in every T1 font
    if sign.isascii() or (sign.isalpha() and ord(sign) < 0x180):
        return sign
    words = unicodedata.name(sign, "").split()
    if words[:1] == ["GREEK"] and words[2:3] == ["LETTER"] and len(words) == 4:
        command = words[3].capitalize() if words[1] == "CAPITAL" else words[3].lower()
        command = command.replace("lamda", "lambda").replace("Lamda", "Lambda")
        if command in _GREEK_COMMANDS:
            return f"$\\{command}$"
    return f"{{[}}U+{ord(sign):04X}{{]}}"

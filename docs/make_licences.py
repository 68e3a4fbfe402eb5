"""Write docs/licences.md: the licence of every package that constraints.txt pins, as the package itself names it.

python docs/make_licences.py
"""

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST = 60
"""Some packages put the whole text of their licence where its name belongs."""
HEAD = """# Licences

What each package of the pinned environment (`constraints.txt`) says of its licence; made by
`python docs/make_licences.py` in the environment with every extra. lcdvt itself needs those of `dependencies`
in pyproject.toml and what these bring along; the others are for tests, notebooks, documentation and extras.

| package | version | licence |
|---|---|---|
"""


def licence(name: str) -> str:
    """Return what a package calls its licence: its SPDX name, else its classifiers, else the first line of its text."""
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return "not installed on this system"
    classifiers = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier", []) if line.startswith("License")]
    named = about.get("License-Expression") or " and ".join(classifiers) or about.get("License") or "not named"
    first = named.strip().splitlines()[0]
    return (first if len(first) <= LONGEST else f"{first[:LONGEST]}…").replace("|", "or")


def main() -> None:
    """Write the page."""
    pinned = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE)
    rows = [f"| {name} | {version} | {licence(name)} |" for name, version in pinned]
    (ROOT / "docs" / "licences.md").write_text(HEAD + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()

"""Write the SHA-256 sums of all files of every pinned package, as the package registry states them.

python docs/make_hashes.py INDEX

INDEX is the address of a package registry's simple index, of the reader's choice. Run it in the environment with every
extra (`make docs`) after a change of constraints.txt. Two files come out: hashes/package.txt has what `pip install .`
needs, hashes/tests.txt what tests and notebooks need on top. `make env` and `make demo` install from them, so that no
file is accepted that is not the one we tested. torch is left out: which build of it is installed, for which processor
or graphics card, is the machine's choice, and not all of them come from the registry.
"""

import re
import sys
from collections.abc import Iterable
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from urllib.request import urlopen

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

ROOT = Path(__file__).parents[1]
TEST_EXTRAS = ("dev", "notebooks", "dask", "lsdb", "label", "avro")
"""The extras of `make env`."""
LEFT_OUT = frozenset({"torch"})
HEAD = "# {what}: `python docs/make_hashes.py INDEX` wrote this from constraints.txt.\n"
SECONDS = 60.0


class Links(HTMLParser):
    """Collects name and SHA-256 of the files on a page of the index."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the file a link leads to."""
        address = dict(attrs).get("href") or ""
        found = re.search(r"/([^/]+)#sha256=([0-9a-f]{64})$", address)
        if tag == "a" and found:
            self.files[found[1]] = found[2]


def version_of(file: str) -> str | None:
    """Return the version a file is of, None for what pip would not install."""
    try:
        if file.endswith(".whl"):
            return str(parse_wheel_filename(file)[1])
        return str(parse_sdist_filename(file)[1])
    except ValueError:
        return None


def sums(index: str, name: str, version: str) -> list[str]:
    """Return the sums of all files of one version."""
    links = Links()
    with urlopen(f"{index.rstrip('/')}/{canonicalize_name(name)}/", timeout=SECONDS) as page:
        links.feed(page.read().decode())
    return sorted({checksum for file, checksum in links.files.items() if version_of(file) == version})


def needed_by(requirements: Iterable[str], extras: Iterable[str] = ("",)) -> set[str]:
    """Return the names of all packages that requirements lead to on this system, by what installed packages say."""
    found: set[str] = set()
    waiting = [(Requirement(line), tuple(extras)) for line in requirements]
    while waiting:
        wanted, asked_with = waiting.pop()
        if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in asked_with):
            continue
        name = canonicalize_name(wanted.name)
        inner = ("", *sorted(wanted.extras))
        key = f"{name}[{','.join(inner)}]"
        if key in found:
            continue
        found |= {key, name}
        try:
            waiting += [(Requirement(line), inner) for line in requires(name) or []]
        except PackageNotFoundError:
            sys.exit(f"{name} is not installed here: run this in the environment with every extra (make docs).")
    return {name for name in found if "[" not in name}


def main(index: str) -> None:
    """Write both files."""
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE))
    own = requires("lcdvt") or []
    package = needed_by(own)
    tests = needed_by(own, ("", *TEST_EXTRAS)) - package
    (ROOT / "hashes").mkdir(exist_ok=True)
    for file, what, names in (
        ("package.txt", "what `pip install .` needs", package),
        ("tests.txt", "what tests and notebooks need on top", tests),
    ):
        lines = [HEAD.format(what=what)]
        for name, version in pinned.items():
            if canonicalize_name(name) in names - LEFT_OUT:
                checksums = sums(index, name, version) or sys.exit(f"{name} {version}: the index has no such file.")
                lines.append(" \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{sum_}" for sum_ in checksums)]))
        (ROOT / "hashes" / file).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])

"""The documentation site as `make docs` left it, where nothing was changed since."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "docs" / "_build" / "html"
EXECUTED = ROOT / "docs" / "_build" / "jupyter_execute" / "notebooks"
SOURCES = ("docs/*.md", "docs/*.py", "docs/_static/*", "docs/_templates/*/*", "notebooks/*.ipynb", "CONTRIBUTING.md")


def is_fresh() -> bool:
    """Say whether the site was built from the files as they are."""
    stamp = BUILT / "objects.inv"  # the last file that a build without a warning writes
    return stamp.is_file() and stamp.stat().st_mtime >= _newest_source()


def executed_notebook(name: str) -> Path | None:
    """Return a notebook with its outputs, if the build of a fresh site has executed it."""
    path = EXECUTED / name
    return path if is_fresh() and path.is_file() else None


def _newest_source() -> float:
    written = [path.stat().st_mtime for pattern in SOURCES for path in ROOT.glob(pattern)]
    package = (
        path.stat().st_mtime for folder in ("lcdvt", "cli", "catalogs") for path in (ROOT / folder).rglob("*.py")
    )
    return max(*written, *package)

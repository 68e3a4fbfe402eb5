"""How the documentation site is built: `make docs`.

The source folder is the whole repository, of which only docs/, notebooks/ and the files named below are pages. So a
link from one page to another is the same relative path on the site and on GitHub.
"""

import hashlib
import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))  # the scripts that make pages and pictures lie beside this file

import draw_rooms  # noqa: E402
import make_features  # noqa: E402
import make_surveys  # noqa: E402

project = "lcdvt"
author = "The lcdvt developers"
copyright = author
release = version = installed_version("lcdvt")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
]
root_doc = "docs/index"
include_patterns = ["docs/**", "notebooks/*.ipynb", "CONTRIBUTING.md", "CHANGELOG.md"]
# These folders are named so that Sphinx does not walk through an environment of thousands of files.
exclude_patterns = [".venv*", "build", "demo", "lcdvt*", "cli", "catalogs", "tests", "benchmarks"]
exclude_patterns += ["docs/_build", "docs/_templates", "docs/redirect", "docs/generated/*.md", "**/.ipynb_checkpoints"]
templates_path = [str(DOCS / "_templates")]

# Pages
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.strikethrough"]

# Notebooks are executed again when their code, or any line of the package, has changed.
SOURCES = sorted(path for folder in ("lcdvt", "cli", "catalogs") for path in (ROOT / folder).rglob("*.py"))
SOURCES += sorted((ROOT / "catalogs" / "data").glob("*.toml"))
fingerprint = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()[:16]
nb_execution_mode = "cache"
nb_execution_cache_path = str(DOCS / "_build" / "cache" / fingerprint)
nb_execution_timeout = 500
nb_execution_raise_on_error = True
nb_merge_streams = True
os.environ.pop("LCDVT_DATA", None)  # a notebook works in its own scratch folder, never in the reader's workspace

# The Python reference
autosummary_generate = True
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
numpydoc_show_class_members = False
default_role = "code"  # docstrings write `names` between single backticks

# Looks: everything comes from the theme's own files, nothing from the network.
html_theme = "pydata_sphinx_theme"
html_title = f"lcdvt {release}"
html_static_path = ["_static"]
html_css_files = ["lcdvt.css"]
html_extra_path = ["redirect"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}  # without it the theme complains at the first visit
html_theme_options: dict[str, Any] = {
    "logo": {"text": "lcdvt"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "show_nav_level": 1,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def make_pages(app: Any) -> None:
    """Write what is made from the code: the picture of the rooms, the features and the surveys."""
    generated = DOCS / "generated"
    generated.mkdir(exist_ok=True)
    draw_rooms.draw(generated / "rooms.svg")
    make_surveys.write(generated)
    make_features.write(generated, DOCS / "_build" / "cache" / f"features-{fingerprint}.parquet")


def skip_member(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator: its text refers to pages of scikit-learn's own site."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app: Any) -> None:
    """Make the generated pages before Sphinx looks for pages."""
    app.connect("autodoc-skip-member", skip_member)
    app.connect("builder-inited", make_pages, priority=100)  # before autosummary, which reads every page

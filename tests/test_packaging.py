"""What is built is what is in the folders."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"lcdvt": "lcdvt", "cli": "lcdvt/cli", "catalogs": "lcdvt/catalogs"}


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_three_folders(tmp_path):
    for folder in FOLDERS:  # a copy, because a build folder left here would be packed too
        shutil.copytree(ROOT / folder, tmp_path / "src" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, tmp_path / "src" / file)
    wheels = []
    for place in ("first", "second"):
        command = ["pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path / place, tmp_path / "src"]
        # The date of the commit, as `make wheel` sets it: when the files were written is no part of the wheel.
        environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
        subprocess.run([sys.executable, "-m", *command], check=True, env=environment)
        wheels.append(next((tmp_path / place).glob("*.whl")))
        for path in (tmp_path / "src").rglob("*"):
            os.utime(path, (1_600_000_000, 1_600_000_000))
    assert wheels[0].read_bytes() == wheels[1].read_bytes(), "two builds of the same files differ"
    with zipfile.ZipFile(wheels[0]) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("lcdvt/")}
    expected = {
        f"{target}/{path.relative_to(ROOT / folder)}"
        for folder, target in FOLDERS.items()
        for pattern in ("*.py", "*.toml", "*.csv", "*.css", "*.json", "*.html", "*.js", "*.svg", "py.typed")
        for path in (ROOT / folder).rglob(pattern)
    }
    assert packed == expected


def test_the_list_of_licences_has_every_pinned_package():
    page = (ROOT / "docs" / "licences.md").read_text()
    listed = {line.split("|")[1].strip() for line in page.splitlines() if "|" in line}
    pinned = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    assert pinned <= listed, pinned - listed


def test_each_dependency_says_why_it_is_there():
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    start, stop = lines.index("dependencies = ["), lines.index("[project.scripts]")
    for line in lines[start + 1 : stop]:
        if line.strip().startswith('"'):
            assert "#" in line, line


def test_every_dependency_is_pinned_in_the_constraints():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    names = {line.split(">")[0].split("=")[0].strip().lower().replace("_", "-") for line in wanted}
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    assert names <= pinned, names - pinned
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text()


def test_what_make_installs_is_pinned_and_its_checksums_are_known():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = {line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    known: dict[str, set[str]] = {}
    for name in ("package", "tests"):
        lines = (ROOT / "hashes" / f"{name}.txt").read_text().replace("\\\n", " ").splitlines()
        entries = [line.split() for line in lines if line and not line.startswith("#")]
        for pin, *checksums in entries:
            assert pin in pins, f"{pin} is not in constraints.txt: python docs/make_hashes.py INDEX"
            assert checksums and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in checksums), pin
        known[name] = {pin.split("==")[0].lower().replace("_", "-") for pin, *_ in entries}
    assert not known["package"] & known["tests"]
    makefile = (ROOT / "Makefile").read_text()
    extras = re.findall(r"'\.\[(dev[a-z,]+)\]'", makefile)[0].split(",")
    for wanted, found in (
        (project["dependencies"], known["package"]),
        (
            [line for extra in extras for line in project["optional-dependencies"][extra]],
            known["package"] | known["tests"],
        ),
    ):
        names = {line.split(">")[0].split("=")[0].strip().lower().replace("_", "-") for line in wanted}
        assert names - found <= {"torch"}, "python docs/make_hashes.py INDEX"


def test_make_lets_python_keep_what_it_compiled():
    """The packages are installed uncompiled: where Python kept nothing, each process would compile torch once more."""
    command = ["make", "--silent", "--eval", "show-it:; @echo kept:$$PYTHONDONTWRITEBYTECODE", "show-it"]
    variables = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    shown = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "kept:"


def test_help_needs_no_heavy_import():
    for arguments in (["--help"], ["ingest", "--help"], ["surveys"], ["features"]):
        code = (
            "import sys; from lcdvt.cli.main import main; sys.argv = ['lcdvt'] + sys.argv[1:]\n"
            "try: main()\nexcept SystemExit: pass\n"
            "heavy = ('torch', 'numba', 'pandas', 'pyarrow', 'sklearn')\n"
            "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
        )
        answer = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        assert answer.stderr.splitlines()[-1] == "[]", arguments


def test_public_names_exist_and_no_module_hides_a_verb():
    import lcdvt

    for name in lcdvt.__all__:
        assert getattr(lcdvt, name) is not None
    modules = {path.stem for path in (ROOT / "lcdvt").iterdir()}
    assert modules & set(lcdvt.__all__) == {"features"}, "a room that can be called; every other would hide its verb"

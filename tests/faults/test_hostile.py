"""Files made to do harm: archives, run folders, and a walk through our own code for doors that must stay shut."""

import ast
import io
import json
import resource
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from helpers.raw_files import hits_text

import lcdvt
from lcdvt.catalogs.reading.files import archive_members
from lcdvt.errors import InputFileError, LcdvtError
from lcdvt.results.saved import load_run

ROOT = Path(__file__).parents[2]
OLD_RUN = ROOT / "tests" / "data" / "run-0.1"
STAR = hits_text([(57070 + day / 5, 20 + day % 7 / 10, 0.05) for day in range(20)]).encode()
MANY = 100_000
MEMORY_LIMIT_KIB = 1 << 20


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def tar_member(archive: tarfile.TarFile, name: str, content: bytes = b"", **properties: object) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in properties.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(content))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_a_hundred_thousand_empty_members_cost_no_star_and_little_memory(tmp_path, workspace, kind):
    path = tmp_path / f"many.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for number in range(MANY):
                archive.writestr(f"e/f_N1_{number:06d}_0001_g.dat", b"")
            archive.writestr("e/f_N1_9999999_0001_g.dat", STAR)
    else:
        with tarfile.open(path, "w:gz", compresslevel=1) as tar:
            for number in range(MANY):
                tar_member(tar, f"e/f_N1_{number:06d}_0001_g.dat")
            tar_member(tar, "e/f_N1_9999999_0001_g.dat", STAR)
    before = peak()
    result = lcdvt.ingest(path, survey="hits", clean="none", jobs=1, features="none")
    assert result.totals["objects"] == 1
    assert result.totals["files_skipped"] == MANY
    assert len(result.problems) == 1000, "the list of what was skipped stays readable"
    assert peak() - before < MEMORY_LIMIT_KIB


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_a_bomb_is_refused_before_it_goes_off(tmp_path, kind):
    path = tmp_path / f"bomb.{kind}"
    block = bytes(1 << 20)
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a_g.dat", "w") as member:
            for _ in range(80):
                member.write(block)
    else:
        with tarfile.open(path, "w:gz") as tar:
            for number in range(80):
                tar_member(tar, f"a{number}_g.dat", block)
    before = peak()
    with pytest.raises(InputFileError, match="grows more than"):
        list(archive_members(path))
    assert peak() - before < MEMORY_LIMIT_KIB // 2


def test_members_that_lead_out_of_the_archive_or_are_no_files_are_left_out(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for name in ("../up_g.dat", "/etc/absolute_g.dat", "a/../../up_g.dat"):
            tar_member(tar, name, STAR)
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            tar_member(tar, f"kind{kind.decode()}_g.dat", type=kind, linkname="/etc/passwd")
        tar_member(tar, "good_g.dat", STAR)
    members = list(archive_members(path))
    assert [member.name.rpartition("::")[2] for member in members if not member.refused] == ["good_g.dat"]
    assert len([member for member in members if member.refused]) == 7
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.tar"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD_RUN, tmp_path / "run"))


def header_of_a_gigabyte(run: Path) -> None:
    weights = run / "weights.safetensors"
    weights.write_bytes((1 << 30).to_bytes(8, "little") + weights.read_bytes()[8:])


def layers_beyond_all_memory(run: Path) -> None:
    config = run / "config.toml"
    text = config.read_text()
    start = text.index("shared = [")
    config.write_text(text[:start] + "shared = [1000000, 1000000, 1000000]\n" + text[text.index("]", start) + 1 :])


def a_million_layers(run: Path) -> None:
    config = run / "config.toml"
    text = config.read_text()
    start = text.index("shared = [")
    config.write_text(text[:start] + f"shared = [{'1, ' * 100_000}1]\n" + text[text.index("]", start) + 1 :])


def other_arrays(run: Path) -> None:
    from safetensors.torch import load_file, save_file

    arrays = load_file(run / "weights.safetensors")
    save_file({**arrays, "more": arrays["class_prior"].clone()}, run / "weights.safetensors")


def whole_numbers(run: Path) -> None:
    from safetensors.torch import load_file, save_file

    save_file({name: array.long() for name, array in load_file(run / "weights.safetensors").items()},
              run / "weights.safetensors")  # fmt: skip


def a_large_toml(run: Path) -> None:
    (run / "config.toml").write_text("# " + "x" * (2 << 20) + "\n" + (run / "config.toml").read_text())


def deep_toml(run: Path) -> None:
    (run / "config.toml").write_text("x = " + "[" * 100_000)


def deep_json(run: Path) -> None:
    (run / "scaler.json").write_text("[" * 1_000_000)


def a_list_for_a_table(run: Path) -> None:
    (run / "metrics.json").write_text("[1, 2]")


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        (header_of_a_gigabyte, "header of 1073741824 bytes"),
        (layers_beyond_all_memory, "the weights do not fit the run"),
        (a_million_layers, "are no run of ours"),
        (other_arrays, "other arrays than the model's: more"),
        (whole_numbers, "the weights do not fit the run"),
        (a_large_toml, "larger than 1 MiB"),
        (deep_toml, "nested too deeply"),
        (deep_json, "nested too deeply"),
        (a_list_for_a_table, "no names and values"),
    ],
)
def test_a_run_made_to_do_harm_is_refused(run, attack, said):
    attack(run)
    before = peak()
    with pytest.raises(LcdvtError, match=said):
        load_run(run)
    assert peak() - before < MEMORY_LIMIT_KIB // 2
    assert not lcdvt.verify(run)[0].is_sound


def test_a_json_beyond_its_limit_is_refused(run, monkeypatch):
    monkeypatch.setattr("lcdvt.disk.limited_text.JSON_LIMIT", 1 << 20)
    (run / "scaler.json").write_text(json.dumps({"x": "y" * (1 << 20)}))
    with pytest.raises(LcdvtError, match="larger than 1 MiB"):
        load_run(run)


FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "yaml", "jsonpickle"}
FORBIDDEN_NAMES = {"eval", "exec", "__import__"}
FORBIDDEN_ATTRIBUTES = {
    ("torch", "load"), ("torch", "save"), ("yaml", "load"), ("joblib", "load"), ("pd", "read_pickle"),
    ("pandas", "read_pickle"), ("os", "system"), ("tempfile", "mktemp"),
}  # fmt: skip


def open_doors(source: str) -> list[str]:
    """Return what in a module runs code or data from a file as code."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + ([node.module] if isinstance(node, ast.ImportFrom) else [])
            found += [str(name) for name in names if name and name.split(".")[0] in FORBIDDEN_MODULES]
        elif isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES:
            found.append(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in FORBIDDEN_ATTRIBUTES or node.value.id in FORBIDDEN_MODULES:
                found.append(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.keyword) and node.arg in ("allow_pickle", "shell"):
            is_off = isinstance(node.value, ast.Constant) and node.value.value is False
            found += [] if is_off else [node.arg]
    return found


def test_nothing_of_ours_runs_what_a_file_says():
    modules = [path for folder in ("lcdvt", "cli", "catalogs", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    assert len(modules) > 80
    assert {str(path): doors for path in modules if (doors := open_doors(path.read_text()))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import torch; torch.load('x')",
        "eval('1')",
        "import yaml; yaml.load(x)",
        "np.load(x, allow_pickle=True)",
        "subprocess.run(x, shell=True)",
        "import cloudpickle as c",
    ],
)
def test_the_walk_sees_an_open_door(source):
    assert open_doors(source)
    assert open_doors("model.eval(); import json; json.load(x); np.load(x, allow_pickle=False)") == []

"""`lcdvt runs`: list, show, compare; damaged and newer runs in a sentence; no torch."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lcdvt
from lcdvt.results.comparison import compare
from lcdvt.results.folder import RunSummary
from lcdvt.tables.formats import FORMATS
from lcdvt.tables.table import MACRO

pytestmark = pytest.mark.usefixtures("few_trees")

QUICK = {
    "preset": "tied",
    "members": 1,
    "repeats": 2,
    "steps": 5,
    "rows": ["forest-target", "forest-upper-bound"],
    "jobs": 1,
}
ROWS = ["gmm-transfer", "forest-target", "forest-upper-bound"]


@pytest.fixture(scope="module")
def data(two_surveys, tmp_path_factory) -> Path:
    """A workspace with three runs, of which one has no scores, and one that was interrupted."""
    folder = shutil.copytree(two_surveys, tmp_path_factory.mktemp("runs") / "data")
    lcdvt.transfer("old", "new", "10%", data=folder, name="first", **QUICK)
    lcdvt.transfer("old", "new", "20%", mode="transfer", data=folder, name="second", **{**QUICK, "rows": ROWS})
    lcdvt.transfer("old", "new", "all", data=folder, name="everything", **{**QUICK, "repeats": 1})
    unfinished = folder / "runs" / ".third.unfinished" / "draws"
    unfinished.mkdir(parents=True)
    shutil.copy(folder / "runs" / "first" / "draws" / "draw-000.json", unfinished)
    return folder


def saved_table(data: Path, run: str) -> dict:
    return json.loads((data / "runs" / run / "metrics.json").read_text())["table"]


def test_the_list_has_every_run_and_what_was_interrupted(data, lcdvt_here, tmp_path):
    answer = lcdvt_here("runs", "--data", data, "--json", tmp_path / "runs.json")
    assert answer.returncode == 0, answer.stderr
    for text in ("first", "second", "everything", "old → new", "unfinished: third (1 draws done)"):
        assert text in answer.stdout
    record = json.loads((tmp_path / "runs.json").read_text())
    assert record["unfinished"] == {"third": 1}
    first = next(run for run in record["runs"] if run["name"] == "first")
    ensemble = next(row for row in saved_table(data, "first")["rows"] if row["name"] == "dvt-ensemble")
    assert first["macro_f1"] == [ensemble["macro_f1"]["mean"], ensemble["macro_f1"]["deviation"]]
    assert (first["labels"], first["draws"], first["members"]) == ("10%", 2, 1)


def test_several_sources_are_no_chain():
    def listed(*surveys: str) -> str:
        return RunSummary("mine", surveys, ("CEP", "EB"), "10%", members=1, draws=1, seed="0").title

    assert [listed("new"), listed("old", "new"), listed("old", "older", "new")] == [
        "new", "old → new", "old + older → new",
    ]  # fmt: skip


def test_an_empty_workspace_is_said(lcdvt_here, tmp_path):
    answer = lcdvt_here("runs", "--data", tmp_path / "nothing")
    assert answer.returncode == 0 and "no run in" in answer.stdout


def test_predict_says_which_features_were_never_computed(data, lcdvt_here, tmp_path):
    whole = lcdvt.predict("first", "new", data=data)
    assert whole.not_extracted == []
    other = shutil.copytree(data, tmp_path / "data")
    lcdvt.extract("old", features="fats", data=other, jobs=1)
    few = lcdvt.predict("first", "old", data=other)
    looked_at = json.loads((data / "runs" / "first" / "scaler.json").read_text())["features"]
    fourier = {"Period_amplitude", "Period_R21", "Period_phi21", "Period_R31", "Period_phi31"}
    assert fourier <= set(looked_at) and fourier <= set(few.not_extracted) < set(looked_at)
    assert "Period" not in few.not_extracted
    answer = lcdvt_here("predict", "first", "old", "--data", other, "--out", tmp_path / "stars.csv")
    assert f"{len(few.not_extracted)} of the features that the run looks at were not computed of old" in answer.stdout
    assert (
        "not computed" not in lcdvt_here("predict", "first", "new", "--data", data, "--out", tmp_path / "n.csv").stdout
    )


def test_show_prints_how_it_was_made_and_the_table(data, lcdvt_here, tmp_path):
    answer = lcdvt_here("runs", "show", "first", "--data", data, "--json", tmp_path / "first.json")
    for text in ("labels: 10%", "verb: transfer", "cite old:", "Random forest", "old → new (simulated)"):
        assert text in answer.stdout
    assert "learning_rate" not in answer.stdout
    record = json.loads((tmp_path / "first.json").read_text())
    assert record["rows"] == saved_table(data, "first")["rows"]
    assert "learning_rate" in lcdvt_here("runs", "show", "first", "--config", "--data", data).stdout


@pytest.mark.parametrize("form", FORMATS)
def test_show_prints_the_table_in_every_format(data, lcdvt_here, form):
    answer = lcdvt_here("runs", "show", "first", "--format", form, "--data", data)
    assert answer.returncode == 0, answer.stderr
    starts = {"markdown": "**old", "latex": "% needs", "html": "<figure", "csv": "data,row", "json": "{"}
    assert answer.stdout.startswith(starts[form])
    assert "Random forest" in answer.stdout


def test_compare_gives_rows_by_runs(data, lcdvt_here, tmp_path):
    answer = lcdvt_here("runs", "compare", "first", "second", "--data", data, "--json", tmp_path / "c.json")
    assert answer.returncode == 0, answer.stderr
    for text in ("macro F1 (%)", "Multi-task ensemble / Transfer ensemble", "labels 20%, 2 draws, 1 members"):
        assert text in answer.stdout
    assert "F1 of" not in answer.stdout
    record = json.loads((tmp_path / "c.json").read_text())
    rows = {row["name"]: row for row in record["rows"]}
    for run in ("first", "second"):
        for row in saved_table(data, run)["rows"]:
            assert rows[row["name"]]["macro_f1"][run] == row["macro_f1"]
            for label, value in row["f1"].items():
                assert rows[row["name"]]["f1"][label][run] == value
    assert rows["gmm-transfer"]["macro_f1"]["first"] is None, "a row that a run has not"


def test_compare_prints_classes_on_request(data, lcdvt_here):
    answer = lcdvt_here("runs", "compare", "first", "second", "--classes", "--data", data)
    for label in saved_table(data, "first")["classes"]:
        assert f"F1 of {label} (%)" in answer.stdout


def test_the_best_rival_of_each_run_is_marked_and_never_an_upper_bound(data):
    comparison = compare("first", "second", data=data)
    for place in range(2):
        cells = [(row, cells[place]) for row, cells in comparison.cells(MACRO)]
        best = [row for row, cell in cells if cell.is_best]
        rivals = [cell.value.mean for row, cell in cells if cell.value and not row.is_upper_bound]
        assert best and not any(row.is_upper_bound for row in best)
        values = [cell.value.mean for _, cell in cells if cell.is_best]
        assert min(values) == pytest.approx(max(rivals), abs=0.001)
    assert comparison.rows[0].is_upper_bound


@pytest.fixture
def broken(data, tmp_path) -> Path:
    """A workspace with one run, to be damaged."""
    shutil.copytree(data / "runs" / "first", tmp_path / "data" / "runs" / "mine")
    return tmp_path / "data"


def damage(folder: Path, how: str) -> None:
    config, metrics = folder / "config.toml", folder / "metrics.json"
    if how == "newer":
        config.write_text(config.read_text().replace("format = 1", "format = 9"))
    elif how == "no toml":
        config.write_text("format = = 1")
    elif how == "no metrics":
        metrics.unlink()
    elif how == "cut short":
        metrics.write_text(metrics.read_text()[:100])
    elif how == "list":
        metrics.write_text("[]")
    elif how == "other table":
        metrics.write_text('{"table": {"version": 1}}')


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("newer", "the run has format 9"),
        ("no toml", "config.toml cannot be read"),
        ("no metrics", "metrics.json cannot be read"),
        ("cut short", "metrics.json cannot be read"),
        ("list", "the run is damaged"),
        ("other table", "is not a table that lcdvt wrote"),
    ],
)
def test_a_damaged_or_newer_run_is_one_sentence(broken, lcdvt_here, how, said):
    damage(broken / "runs" / "mine", how)
    for arguments in (("show", "mine"), ("compare", "mine", "mine")):
        answer = lcdvt_here("runs", *arguments, "--data", broken)
        assert answer.returncode == 2, answer.stdout
        assert said in answer.stderr and len(answer.stderr.strip().splitlines()) == 1
    listed = lcdvt_here("runs", "--data", broken)
    assert listed.returncode == 0 and "mine" in listed.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "nothing"], "there is no run 'nothing'"),
        (["show", "third"], "it was interrupted; run the command that began it again"),
        (["show", "first", "--format", "pdf"], "no table format pdf"),
        (["show", "everything", "--format", "csv"], "has no table"),
        (["compare", "first"], "needs 2 runs"),
        (["compare", "first", "everything"], "run everything has no scores"),
        (["compare", "first", "nothing"], "there is no run 'nothing'"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(data, lcdvt_here, arguments, said):
    answer = lcdvt_here("runs", *arguments, "--data", data)
    assert answer.returncode == 2
    assert said in answer.stderr and len(answer.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("arguments", [[], ["show", "first"], ["compare", "first", "second"]])
def test_runs_need_no_torch(data, arguments):
    code = (
        "import sys; from lcdvt.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = ('torch', 'numba', 'pandas', 'pyarrow', 'sklearn')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "runs", *arguments, "--data", str(data)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "first" in answer.stdout
    assert answer.stderr.splitlines()[-1] == "[]"

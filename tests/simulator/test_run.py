"""The verb in Python and on the command line."""

import tarfile

import pytest
import typer
from typer.testing import CliRunner

from lcdvt.cli.simulate import simulate as command
from lcdvt.cli.wording import in_options
from lcdvt.errors import LcdvtError
from lcdvt.simulator import simulate as run
from lcdvt.simulator.simulate import simulate

app = typer.Typer()
app.command()(command)


def test_summary_counts_the_truth(tmp_path):
    calls = []
    written = simulate("hits", tmp_path, objects=120, seed=9, progress=lambda done, total, note="": calls.append(done))
    assert sum(written.classes.values()) == 120 == calls[-1]
    assert len((tmp_path / "truth.csv").read_text().splitlines()) == 121
    assert (written.seed, written.format) == (9, "dat")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"survey": "kepler"}, "does not know the survey 'kepler'"),
        ({"years": 10}, "only lsst can be shorter or longer"),
        ({"survey": "lsst", "years": 3}, "for 1 or 10 years"),
        ({"format": "csv"}, "hits files are written as dat, pack, psf"),
        ({"objects": 0}, "at least one object"),
        ({"seed": -1}, "whole number from 0"),
        ({"objects": 2.0}, "objects=2.0: give a whole number"),
        ({"seed": "1"}, "seed='1': give a whole number"),
    ],
)
def test_impossible_wishes(tmp_path, arguments, message):
    with pytest.raises(LcdvtError, match=message):
        simulate(**({"survey": "hits", "directory": tmp_path / "new", "objects": 1} | arguments))
    assert not (tmp_path / "new").exists()


def test_a_folder_with_files_is_left_alone(tmp_path):
    precious = tmp_path / "lightcurves"
    precious.mkdir()
    with pytest.raises(LcdvtError, match="not empty"):
        simulate("hits", tmp_path, objects=1)
    with pytest.raises(LcdvtError, match=r"no truth\.csv"):
        simulate("hits", tmp_path, objects=1, force=True)
    assert precious.exists()


def test_force_replaces_an_old_simulation_and_nothing_else(tmp_path):
    simulate("eros", tmp_path, objects=3)
    (tmp_path / "notes.txt").write_text("mine")
    simulate("hits", tmp_path, objects=2, force=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv", "lightcurves", "notes.txt", "truth.csv"]


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "here").write_text("")
    with pytest.raises(LcdvtError, match="is a file"):
        simulate("hits", tmp_path / "here", objects=1)
    with pytest.raises(LcdvtError, match="cannot write the simulation"):
        simulate("hits", tmp_path / "here" / "below", objects=1)


def test_interrupted_run_keeps_complete_files(tmp_path):
    def stop(done, total, note=""):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate("hits", tmp_path, objects=500, format="pack", progress=stop)
    listed = len((tmp_path / "truth.csv").read_text().splitlines()) - 1
    packed = 0
    for path in tmp_path.rglob("*.tar.gz"):
        with tarfile.open(path) as pack:
            packed += len(pack.getnames())
    assert packed == listed > 0


def test_command_says_seed_mix_and_place(tmp_path):
    result = CliRunner().invoke(app, ["hits", str(tmp_path / "new"), "--objects", "30", "--seed", "5"])
    assert result.exit_code == 0
    assert "30 simulated hits objects as dat, seed 5" in result.output
    assert "RRLYR" in result.output and "truth.csv" in result.output


def test_command_knows_years_and_speaks_of_them_as_an_option(tmp_path):
    result = CliRunner().invoke(app, ["lsst", str(tmp_path / "new"), "--objects", "3", "--years", "10"])
    assert result.exit_code == 0
    assert "3 simulated lsst objects as parquet, seed 0" in result.output
    assert in_options("years=3: lsst is simulated for 1 or 10 years.") == (
        "--years 3: lsst is simulated for 1 or 10 years."
    )


def test_command_interrupted(tmp_path, monkeypatch):
    written = []
    original = run.observe

    def observe_until_stopped(*arguments):
        if len(written) == 60:
            raise KeyboardInterrupt
        written.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(run, "observe", observe_until_stopped)
    result = CliRunner().invoke(app, ["hits", str(tmp_path / "new"), "--objects", "200"])
    assert result.exit_code == 130
    assert "stopped after at least 50 of 200 objects" in result.output
    assert len((tmp_path / "new" / "truth.csv").read_text().splitlines()) == 61

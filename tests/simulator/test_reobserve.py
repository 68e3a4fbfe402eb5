"""A survey's stars as another survey would have observed them, in Python and on the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import lcdvt
from lcdvt.cli.reobserve import reobserve as command
from lcdvt.errors import LcdvtError, WorkspaceError
from lcdvt.simulator import reobserve as module
from lcdvt.workspace.survey import open_survey

PERIOD, MEAN = 0.61, 17.0
SOURCE_ERROR, TARGET_ERROR = 0.001, 0.04
DATES_LONG = 52000.0 + np.sort(np.random.default_rng(1).uniform(0, 1500, 300))
DATES_SHORT = 56000.0 + np.array([0.0, 0.01, 30.0, 30.01, 400.0, 400.01, 410.0, 730.0, 731.0, 731.5])
app = typer.Typer()
app.command()(command)


def wave(mjd: np.ndarray) -> np.ndarray:
    return MEAN + 0.5 * np.sin(2 * np.pi * mjd / PERIOD)


def rows(star: str, band: str, mjd: np.ndarray, mag: np.ndarray, err: float) -> pd.DataFrame:
    return pd.DataFrame({"id": star, "band": band, "time": mjd, "mag": mag, "err": err})


@pytest.fixture(scope="module")
def two_cadences(tmp_path_factory) -> Path:
    """A workspace with a well observed source, one star periodic and one a step, and a sparse target of two bands."""
    folder = tmp_path_factory.mktemp("cadences")
    step = np.where(np.arange(len(DATES_LONG)) < len(DATES_LONG) // 2, 18.0, 19.0)
    noise = np.random.default_rng(2).normal(0, SOURCE_ERROR, (2, len(DATES_LONG)))
    long = [rows("pulsating", "V_CSS", DATES_LONG, wave(DATES_LONG) + noise[0], SOURCE_ERROR)]
    long += [rows("step", "V_CSS", DATES_LONG, step + noise[1], SOURCE_ERROR)]
    short = [
        rows(f"s{star}", band, DATES_SHORT + shift, np.full(len(DATES_SHORT), 15.0), TARGET_ERROR)
        for star in range(3)
        for band, shift in (("B", 0.0), ("R", 0.002))
    ]
    # only a source needs labels, and a file of them beside its light curves is taken by itself
    for survey, curves, labels in (
        ("catalina", long, "id,label\npulsating,RRLYR\nstep,QSO\n"),
        ("eros1", short, "id,label\n"),
    ):
        (folder / survey).mkdir()
        pd.concat(curves).to_csv(folder / survey / "curves.csv", index=False)
        (folder / survey / "labels.csv").write_text(labels)
        lcdvt.ingest(
            folder / survey, survey=f"{survey}-csv", name=survey, clean="none", data=folder / "workspace", jobs=1
        )
    return folder / "workspace"


def written(folder: Path) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(path) for path in sorted((folder / module.CURVES).glob("*.parquet"))])


def test_stars_have_the_targets_dates_bands_and_errors(two_cadences, tmp_path):
    result = lcdvt.reobserve("catalina", "eros1", tmp_path / "seen", data=two_cadences)
    assert (result.objects, result.by_phase) == (2, 1)
    assert dict(result.classes) == {"QSO": 1, "RRLYR": 1}
    epochs = written(tmp_path / "seen")
    target = open_survey("eros1", two_cadences)
    dates = {
        band: set(epochs_of["mjd"]) for band, epochs_of in pd.concat(target.iter_epochs()).groupby("band", sort=False)
    }
    for (_, band), curve in epochs.groupby(["object_id", "band"]):
        assert set(curve["mjd"]) == dates[band]
        assert (curve["mag_err"] == TARGET_ERROR).all()


def test_a_periodic_star_is_looked_up_by_phase(two_cadences, tmp_path):
    lcdvt.reobserve("catalina", "eros1", tmp_path / "seen", data=two_cadences)
    seen = written(tmp_path / "seen").query("object_id == 'pulsating'")
    # Where the target's dates were moved to is not told, so that phase is free: some shift fits all epochs.
    shifts = np.linspace(0, PERIOD, 200)
    misfit = [np.abs(seen["mag"] - wave(seen["mjd"].to_numpy() + shift)).max() for shift in shifts]
    # 300 epochs lie a hundredth of a phase apart or less nearly everywhere, which moves a magnitude by 0.03 at most
    assert min(misfit) < 4 * TARGET_ERROR + 0.06
    assert np.median(misfit) > 0.5


def test_a_star_without_period_keeps_its_order_in_time(two_cadences, tmp_path):
    lcdvt.reobserve("catalina", "eros1", tmp_path / "seen", data=two_cadences)
    seen = written(tmp_path / "seen").query("object_id == 'step'").sort_values("mjd")
    assert {round(mag) for mag in seen["mag"]} <= {18, 19}
    assert (np.diff(seen["mag"].round()) >= 0).all()


@pytest.mark.parametrize("period", [np.nan, 0.7, 50.0])
@pytest.mark.parametrize("epochs", [1, 2, 200])
def test_the_nearest_epoch_is_found_without_comparing_all(period, epochs):
    rng = np.random.default_rng(epochs)
    observed = 100.0 + np.sort(rng.uniform(0, 90, epochs))
    wanted = np.concatenate([rng.uniform(80, 210, 500), observed])
    apart = np.abs(wanted[:, None] - observed)
    if np.isfinite(period):
        apart = np.abs(np.mod(wanted / period, 1.0)[:, None] - np.mod(observed / period, 1.0))
        apart = np.minimum(apart, 1.0 - apart)
    found = module._nearest(wanted, observed, period)
    assert apart[np.arange(len(wanted)), found] == pytest.approx(apart.min(axis=1), abs=1e-12)
    assert (found[500:] == np.arange(epochs)).all()


def test_the_noise_is_the_targets_and_a_noisier_source_gets_none(two_cadences, tmp_path):
    lcdvt.reobserve("catalina", "eros1", tmp_path / "seen", data=two_cadences)
    seen = written(tmp_path / "seen").query("object_id == 'step'")
    scatter = (seen["mag"] - seen["mag"].round()).std()
    assert 0.6 * TARGET_ERROR < scatter < 1.6 * TARGET_ERROR
    lcdvt.reobserve("eros1", "catalina", tmp_path / "back", data=two_cadences)
    assert (written(tmp_path / "back")["mag"] == 15.0).all()


def test_the_same_seed_gives_the_same_epochs(two_cadences, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        lcdvt.reobserve("catalina", "eros1", tmp_path / name, data=two_cadences, seed=seed)
    first, same, other = (written(tmp_path / name) for name in "abc")
    pd.testing.assert_frame_equal(first, same)
    assert not np.allclose(first["mag"], other["mag"])


def test_what_is_written_can_be_ingested_and_has_the_targets_features(two_cadences, tmp_path):
    result = lcdvt.reobserve("catalina", "eros1", tmp_path / "seen", data=two_cadences)
    ingested = lcdvt.ingest(result.light_curves, survey=result.description, data=tmp_path / "workspace", jobs=1)
    assert (ingested.name, ingested.problems, ingested.simulated) == ("seen", [], False)
    stored, target = open_survey("seen", tmp_path / "workspace"), open_survey("eros1", two_cadences)
    assert list(stored.features().columns) == list(target.features().columns)
    assert stored.survey.nanometres == target.survey.nanometres
    assert dict(stored.objects().set_index("object_id")["label"]) == {"pulsating": "RRLYR", "step": "QSO"}


def test_stars_of_a_simulation_stay_simulated(tmp_path):
    for survey in ("ogle", "hits"):
        lcdvt.simulate(survey, tmp_path / survey, objects=3)
        lcdvt.ingest(tmp_path / survey, data=tmp_path / "workspace", jobs=1)
    result = lcdvt.reobserve("ogle", "hits", tmp_path / "seen", data=tmp_path / "workspace")
    ingested = lcdvt.ingest(result.light_curves, survey=result.description, data=tmp_path / "workspace", jobs=1)
    assert ingested.simulated


def test_a_large_target_gives_cadences_from_all_over_it(monkeypatch):
    monkeypatch.setattr(module, "MOST_CADENCES", 4)

    class Stored:
        name = "large"

        def count_objects(self) -> int:
            return 40

    monkeypatch.setattr(module, "_stored_parts", lambda survey: list(range(20)))
    monkeypatch.setattr(module, "read_part", lambda part: part)
    monkeypatch.setattr(module, "_stars", lambda part: [(f"{part}", {"g": part})] * 2)
    assert [star["g"] for star in module._cadences(Stored())] == [0, 0, 10, 10]


def test_one_sentence_for_each_mistake(two_cadences, tmp_path):
    with pytest.raises(LcdvtError, match="whole number from 0"):
        lcdvt.reobserve("catalina", "eros1", tmp_path / "new", data=two_cadences, seed=-1)
    with pytest.raises(WorkspaceError, match="is not ingested"):
        lcdvt.reobserve("nobody", "eros1", tmp_path / "new", data=two_cadences)
    assert not (tmp_path / "new").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    for force, message in ((False, "not empty"), (True, r"no reobserved\.json")):
        with pytest.raises(LcdvtError, match=message):
            lcdvt.reobserve("catalina", "eros1", tmp_path / "mine", data=two_cadences, force=force)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(two_cadences, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError, match="cannot be written"):
        lcdvt.reobserve("catalina", "eros1", tmp_path / "file" / "seen", data=two_cadences)


def test_interrupted_it_says_how_to_begin_again(two_cadences, tmp_path, monkeypatch):
    def interrupt(rows: object) -> None:
        raise KeyboardInterrupt

    arguments = ["catalina", "eros1", str(tmp_path / "seen"), "--data", str(two_cadences)]
    with monkeypatch.context() as patch:
        patch.setattr(module, "_table", interrupt)
        result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 130
    assert "run again with --force to begin again" in " ".join(result.output.split())
    assert CliRunner().invoke(app, [*arguments, "--force"]).exit_code == 0


def test_force_replaces_its_own_files_and_nothing_else(two_cadences, tmp_path):
    lcdvt.reobserve("catalina", "eros1", tmp_path, data=two_cadences)
    (tmp_path / "notes.txt").write_text("mine")
    again = lcdvt.reobserve("catalina", "eros1", tmp_path, data=two_cadences, force=True, seed=3)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert json.loads((tmp_path / module.RECORD).read_text())["seed"] == again.seed == 3


def test_without_periods_nothing_is_written(two_cadences, tmp_path):
    lcdvt.ingest(
        two_cadences.parent / "catalina",
        survey="catalina-csv",
        features=["Std"],
        clean="none",
        data=tmp_path / "workspace",
        name="plain",
        jobs=1,
    )
    with pytest.raises(WorkspaceError, match="no feature Period, by which stars are folded: run `lcdvt extract plain`"):
        lcdvt.reobserve("plain", "plain", tmp_path / "seen", data=tmp_path / "workspace")
    assert not (tmp_path / "seen").exists()


def test_the_command_says_what_comes_next(two_cadences, tmp_path):
    numbers = tmp_path / "numbers.json"
    arguments = ["catalina", "eros1", str(tmp_path / "seen"), "--data", str(two_cadences), "--json", str(numbers)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "2 objects of catalina as eros1 would have observed them, 1 of them folded on their period, seed 0" in said
    assert "next: lcdvt ingest" in said
    assert json.loads(numbers.read_text())["by_phase"] == 1

"""Features in the same pass as the epochs, and anew from what is stored."""

import json

import pandas as pd
import pytest
from helpers.raw_files import write_eros

import lcdvt
from lcdvt.errors import LcdvtError, WorkspaceError
from lcdvt.features.table import FEATURES
from lcdvt.workspace.folder import SurveyFolder

ROWS = [(300.0 + 1.37 * day, 15.0 + (day * 7 % 11) / 30, 0.02, 16.0 + (day * 5 % 13) / 40, 0.03) for day in range(40)]


@pytest.fixture
def raw(tmp_path):
    for star in range(40):
        write_eros(
            tmp_path / "eros", f"lm0010k{star:02d}", [(t, r + star / 100, re, b, be) for t, r, re, b, be in ROWS]
        )
    write_eros(tmp_path / "eros", "lm0010k99", ROWS[:4])
    return tmp_path / "eros"


def test_ingest_and_extract_give_the_same_features(raw, workspace):
    result = lcdvt.ingest(raw, jobs=1)
    survey = lcdvt.open_survey("eros")
    first = survey.features()
    assert sorted(first["object_id"]) == sorted(survey.objects()["object_id"])
    assert {"Period", "Period_fap", "Period_power", "Mean_B", "Mean_R", "Color", "StetsonJ"} <= set(first.columns)
    assert sum(result.totals["feature_gaps"].values()) == 2, "the star with four epochs has no features in B and in R"
    raw.rename(raw.with_name("gone"))  # the raw files are not needed any more
    again = lcdvt.extract("eros", jobs=2)
    assert again.objects == 41
    pd.testing.assert_frame_equal(survey.features(), first)


def test_the_features_of_a_star_are_those_of_its_stored_epochs(raw, workspace):
    lcdvt.ingest(raw, jobs=1, features=["Mean", "Std", "Color"])
    survey = lcdvt.open_survey("eros")
    features = survey.features().set_index("object_id")
    curve = survey.light_curve("lm0010k07").epochs.assign(object_id="lm0010k07")
    blue, red = (curve.loc[curve["band"] == band, "mag"] for band in "BR")
    assert features.loc["lm0010k07", "Mean_R"] == pytest.approx(red.mean())
    assert features.loc["lm0010k07", "Color"] == pytest.approx(blue.mean() - red.mean())


def test_an_interrupted_extraction_keeps_the_old_features_and_goes_on(raw, workspace):
    lcdvt.ingest(raw, jobs=1, features=["Mean"])

    def stop(done: int, total: int | None, note: str = "") -> None:
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        lcdvt.extract("eros", features=["Std"], jobs=1, progress=stop)
    survey = lcdvt.open_survey("eros")
    assert "Mean_B" in survey.features().columns
    waiting = SurveyFolder(workspace / "eros").root / "features.new"
    written = {path.name: path.stat().st_mtime_ns for path in waiting.glob("part-*.parquet")}
    assert len(written) == 1
    lcdvt.extract("eros", features=["Std"], jobs=1)
    assert not waiting.exists()
    for name, when in written.items():
        assert (workspace / "eros" / "features" / name).stat().st_mtime_ns == when, "a finished part was made again"
    assert list(survey.features().columns) == ["object_id", "Std_B", "Std_R"]
    assert len(survey.features()) == 41


def test_what_cannot_be_extracted_is_said(raw, workspace):
    with pytest.raises(WorkspaceError, match="not ingested"):
        lcdvt.extract("macho")
    with pytest.raises(LcdvtError, match="Meann"):
        lcdvt.ingest(raw, features=["Meann"], jobs=1)


def test_scripts_get_the_numbers_as_json(raw, workspace, lcdvt_here, tmp_path):
    assert lcdvt_here("ingest", raw, "--jobs", "1", "--json", "ingested.json").returncode == 0
    ingested = json.loads((tmp_path / "ingested.json").read_text())
    assert (ingested["name"], ingested["new_objects"], ingested["totals"]["epochs"]) == ("eros", 41, 2 * (40 * 40 + 4))
    assert lcdvt_here("extract", "eros", "--features", "Std,Mean", "--jobs", "1", "--json", "x.json").returncode == 0
    extracted = json.loads((tmp_path / "x.json").read_text())
    assert (extracted["objects"], extracted["features"]) == (41, 4), "two features in two bands"
    assert sum(extracted["without_features"].values()) == 2


def ingest_as_an_earlier_version_did(raw, workspace) -> None:
    """Store fewer features under the name of the whole set, and none of the settings that came with the others."""
    of_all_bands = ("Joint_", "DRW_", "SED_", "Amplitude_slope", "Colour_change")
    lcdvt.ingest(raw, jobs=1, features=[name for name in FEATURES if not name.startswith(of_all_bands)])
    journal = SurveyFolder(workspace / "eros").progress / "journal.jsonl"
    first, *others = journal.read_text(encoding="utf-8").splitlines()
    begun = json.loads(first)
    for key in ("wavelengths", "error_scale", "error_floor", "calibrated"):
        del begun["settings"]["features"][key]
    begun["settings"]["features"]["features"] = "all"
    del begun["sums"], begun["sum"]  # nor did its lines end with checksums
    journal.write_text("\n".join([json.dumps(begun), *others, ""]), encoding="utf-8")


def test_a_survey_of_an_earlier_version_is_brought_up_to_date_by_extract_and_then_takes_more_files(raw, workspace):
    ingest_as_an_earlier_version_did(raw, workspace)
    before = lcdvt.open_survey("eros").features()
    assert lcdvt.ingest(raw, jobs=1).nothing_new, "nothing to add, nothing to mix"
    write_eros(raw, "lm0010k77", ROWS)
    with pytest.raises(WorkspaceError, match=r"features of an earlier version.*run `lcdvt extract eros`"):
        lcdvt.ingest(raw, jobs=1)
    lcdvt.extract("eros", jobs=1)
    today = lcdvt.open_survey("eros").features()
    assert "DRW_tau" in today
    pd.testing.assert_frame_equal(today[before.columns], before)
    assert lcdvt.ingest(raw, jobs=1).new_objects == 1
    grown = lcdvt.open_survey("eros").features()
    assert list(grown.columns) == list(today.columns)
    assert grown["DRW_tau"].notna().sum() == today["DRW_tau"].notna().sum() + 1

"""Thinned light curves and their features: drawn star by star, kept, and never used after the survey has changed."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.raw_files import write_eros

import lcdvt
from lcdvt.errors import WorkspaceError
from lcdvt.ingestion.replicates import replicate_features, thinned
from lcdvt.workspace.folder import SurveyFolder

ROWS = [(300.0 + 1.37 * day, 15.0 + (day * 7 % 11) / 30, 0.02, 16.0 + (day * 5 % 13) / 40, 0.03) for day in range(40)]
WANTED = ["Mean", "Std", "Color"]


def write_stars(folder, stars=range(6)):
    for star in stars:
        write_eros(folder, f"lm0010k{star:02d}", [(t, r + star / 100, re, b, be) for t, r, re, b, be in ROWS])
    return folder


@pytest.fixture
def survey(tmp_path, workspace):
    lcdvt.ingest(write_stars(tmp_path / "eros"), jobs=1, features=WANTED)
    return lcdvt.open_survey("eros")


def epochs_of(*stars: str) -> pa.Table:
    return pa.table(
        {
            "object_id": [star for star in stars for _ in range(50)],
            "mjd": [float(night) for _ in stars for night in range(50)],
        }
    )


def kept_nights(epochs: pa.Table, star: str) -> list[float]:
    table = epochs.to_pandas()
    return table.loc[table["object_id"] == star, "mjd"].tolist()


def test_four_fifths_of_each_stars_epochs_stay_whatever_stars_are_beside_it():
    alone, among = thinned(epochs_of("b"), 1), thinned(epochs_of("c", "b", "a"), 1)
    assert len(kept_nights(alone, "b")) == 40
    assert kept_nights(alone, "b") == kept_nights(among, "b") == sorted(kept_nights(alone, "b"))
    assert kept_nights(among, "a") != kept_nights(among, "b")
    assert kept_nights(thinned(epochs_of("b"), 2), "b") != kept_nights(alone, "b")
    assert thinned(epochs_of(), 1).num_rows == 0


def test_of_a_large_survey_the_same_share_of_stars_has_replicates():
    stars = [f"star{number}" for number in range(200)]
    some = set(thinned(epochs_of(*stars), 1, share_of_stars=0.5)["object_id"].to_pylist())
    assert 70 < len(some) < 130
    assert some == set(thinned(epochs_of(*stars[::-1]), 2, share_of_stars=0.5)["object_id"].to_pylist())


def test_replicates_have_the_surveys_features_of_fewer_epochs(survey):
    own, again = (
        table.set_index("object_id").sort_index() for table in (survey.features(), replicate_features(survey, 1))
    )
    assert list(own.columns) == list(again.columns)
    assert own.index.tolist() == again.index.tolist()
    assert (own["Mean_R"] != again["Mean_R"]).all()
    assert np.allclose(own["Mean_R"], again["Mean_R"], atol=0.05)
    other = replicate_features(survey, 2).set_index("object_id").sort_index()
    assert (other["Mean_R"] != again["Mean_R"]).all()


def test_they_are_computed_once(survey):
    first = replicate_features(survey, 1)
    (kept,) = SurveyFolder(survey.folder.root).replicates.rglob("part-*.parquet")
    marked = first.assign(Mean_R=-1.0)
    marked.to_parquet(kept)
    pd.testing.assert_frame_equal(replicate_features(survey, 1), marked)


@pytest.mark.parametrize("change", ["more stars", "other features"])
def test_none_is_used_after_the_survey_has_changed(survey, tmp_path, change):
    replicate_features(survey, 1)
    (stale,) = survey.folder.replicates.iterdir()
    if change == "more stars":
        lcdvt.ingest(write_stars(tmp_path / "eros", range(6, 8)), jobs=1, features=WANTED)
    else:
        lcdvt.extract("eros", ["Std", "Skew"], jobs=1)
    survey = lcdvt.open_survey("eros")
    again = replicate_features(survey, 1)
    assert set(again.columns) == set(survey.features().columns)
    assert sorted(again["object_id"]) == sorted(survey.features()["object_id"])
    assert not stale.exists(), "what no run can use any more is removed"


def test_a_survey_without_features_says_what_to_do(tmp_path, workspace):
    lcdvt.ingest(write_stars(tmp_path / "eros"), jobs=1, features="none")
    with pytest.raises(WorkspaceError, match="lcdvt extract eros"):
        replicate_features(lcdvt.open_survey("eros"), 1)


def test_a_damaged_replicate_is_named(survey):
    replicate_features(survey, 1)
    (kept,) = survey.folder.replicates.rglob("part-*.parquet")
    kept.write_bytes(kept.read_bytes()[:100])
    with pytest.raises(WorkspaceError, match="made again"):
        replicate_features(survey, 1)


def test_a_survey_that_can_only_be_read_has_the_same_replicates(survey, monkeypatch):
    here = survey.folder.replicates
    monkeypatch.setattr(os, "access", lambda path, mode: path != survey.folder.root)
    again = replicate_features(survey, 1)
    assert not here.exists()
    monkeypatch.undo()
    pd.testing.assert_frame_equal(replicate_features(survey, 1), again)
    assert here.exists()


def test_the_journal_knows_the_epochs_checksums(survey, monkeypatch):
    first = replicate_features(survey, 1)

    def read(_):
        raise AssertionError("all epochs are read to find their replicates")

    monkeypatch.setattr("lcdvt.workspace.journal.file_checksum", read)
    pd.testing.assert_frame_equal(replicate_features(survey, 1), first)

"""One star from several light curves: by position, by name, whatever file and batch its pieces come in."""

import json
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from helpers.today_files import ZTF_COLUMNS

import lcdvt
from lcdvt.errors import InputFileError, SettingsError, WorkspaceError
from lcdvt.ingestion import join as join_module
from lcdvt.ingestion.join_rule import read_star_names
from lcdvt.ingestion.star_groups import close_pairs, group_stars

RA, DEC = 73.5, 33.0
ARCSEC = 1 / 3600
FILTER = {"g": "zg", "r": "zr", "i": "zi"}
ALONE = {"jobs": 1, "features": "none"}


class StopHereError(Exception):
    """Ends an ingest from within."""


def write_oid(folder: Path, oid: int, band: str = "g", *, mag: float = 15.0, first: float = 58400.0, **place: float):
    """Write one oid as IRSA does: 30 nights of a star that varies by 0.1 mag, `ra`, `dec` arcseconds from RA, DEC."""
    folder.mkdir(parents=True, exist_ok=True)
    ra, dec = RA + place.get("ra", 0.0) * ARCSEC / np.cos(np.radians(DEC)), DEC + place.get("dec", 0.0) * ARCSEC
    epochs = int(place.get("epochs", 30))
    lines = [
        f"{oid},1,{first + day + 2400000.5!r},{first + day!r},{mag + 0.1 * np.sin(day):.4f},0.01,0,{FILTER[band]},"
        f"{ra:.9f},{dec:.9f},1,0,1,657,5,2,20,26,0,0,0,30,1,1"
        for day in range(epochs)
    ]
    (folder / f"{oid}.csv").write_text("\n".join([ZTF_COLUMNS, *lines]) + "\n")


def objects(name: str = "ztf") -> pd.DataFrame:
    return lcdvt.open_survey(name).objects().set_index("object_id")


def labels() -> dict[str, str | None]:
    found = objects()["label"].astype(object)
    return found.where(found.notna(), None).to_dict()


def pieces(workspace: Path) -> pd.DataFrame:
    return pd.read_parquet(workspace / "ztf" / "pieces.parquet").set_index("piece")


def test_two_bands_are_one_star_and_neighbours_stay_apart(tmp_path, workspace):
    write_oid(tmp_path / "z", 21, "g", mag=15.0)
    write_oid(tmp_path / "z", 12, "r", mag=14.0, ra=0.4)
    write_oid(tmp_path / "z", 33, "g", mag=15.1, dec=3.0)
    result = lcdvt.ingest(tmp_path / "z", join_radius="1arcsec", jobs=1)
    stars = objects()
    assert list(stars.index) == ["12", "33"], "the smallest id, as text, names the star"
    assert stars.loc["12", ["n_epochs_g", "n_epochs_r"]].tolist() == [30, 30]
    assert result.joined == {
        "light_curves": 3,
        "stars": 2,
        "joined_light_curves": 2,
        "joined_stars": 1,
        "offsets": 0,
        "kept_apart": 0,
        "without_position": 0,
        "contradicting_labels": 0,
    }
    epochs = lcdvt.open_survey("ztf").light_curve("12").epochs
    assert epochs.groupby("band")["mag"].mean().round(1).to_dict() == {"g": 15.0, "r": 14.0}
    features = lcdvt.open_survey("ztf").features().set_index("object_id")
    assert features.loc["12", ["Amplitude_g", "Amplitude_r"]].notna().all()
    assert lcdvt.verify("ztf")[0].findings == []
    assert json.loads((workspace / "ztf" / "ingest.json").read_text())["joined"] == result.joined


def test_fields_are_brought_to_the_longest_and_the_offsets_written_down(tmp_path, workspace):
    write_oid(tmp_path / "z", 1, mag=15.0, epochs=40)
    write_oid(tmp_path / "z", 2, mag=15.2, first=58400.5)
    write_oid(tmp_path / "z", 3, mag=15.002, first=58400.7)
    write_oid(tmp_path / "z", 4, mag=15.2, first=59000.0)
    result = lcdvt.ingest(tmp_path / "z", join_radius="1arcsec", clean="none", **ALONE)
    table = pieces(workspace)
    assert table["star"].unique().tolist() == ["1"]
    assert table["offset"].round(2).to_dict() == {
        "1": 0.0,
        "2": -0.2,
        "3": 0.0,  # no more than chance
        "4": 0.0,  # at another time: the star may have changed
    }
    assert table["epochs"].to_dict() == {"1": 40, "2": 30, "3": 30, "4": 30}
    assert result.joined["offsets"] == 1
    mags = lcdvt.open_survey("ztf").light_curve("1").epochs.set_index("mjd")["mag"]
    assert mags.index.is_monotonic_increasing
    hour = ((mags.index % 1) * 24).to_numpy()  # TDB is 69 s later than the dates that were written
    shifted = mags[np.abs(hour - 12) < 0.1]
    assert len(shifted) == 30
    assert np.median(shifted) == pytest.approx(np.median(mags[(hour < 0.1) & (mags.index < 58900)]), abs=1e-9)


def test_two_stars_in_one_place_are_kept_apart(tmp_path, workspace):
    """The same band at the same time, a magnitude apart: the r light curve goes to the closer one."""
    write_oid(tmp_path / "z", 1, "g", mag=15.0)
    write_oid(tmp_path / "z", 2, "g", mag=16.0, ra=0.8)
    write_oid(tmp_path / "z", 3, "r", mag=14.5, ra=0.6)
    write_oid(tmp_path / "z", 4, "g", mag=17.0, ra=0.25, first=59000.0)
    result = lcdvt.ingest(tmp_path / "z", join_radius="1arcsec", **ALONE)
    assert pieces(workspace)["star"].to_dict() == {"1": "1", "2": "2", "3": "2", "4": "1"}
    assert result.joined["kept_apart"] == 4


def test_a_table_of_names_joins_what_has_no_common_place(tmp_path, workspace):
    for oid, band, where in ((1, "g", 0.0), (2, "r", 50.0), (3, "i", 90.0), (4, "g", 0.2), (5, "g", 300.0)):
        write_oid(tmp_path / "z", oid, band, ra=where)
    # in the folder itself: it is no light curve
    (tmp_path / "z" / "stars.csv").write_text("star,id\nV1,1\nV1,2\n5,3\n")
    result = lcdvt.ingest(tmp_path / "z", join_ids=tmp_path / "z" / "stars.csv", join_radius="1arcsec", **ALONE)
    assert pieces(workspace)["star"].to_dict() == {"1": "V1", "2": "V1", "3": "5", "4": "4", "5": "5"}
    assert objects().loc["V1", ["n_epochs_g", "n_epochs_r", "n_epochs_i"]].tolist() == [30, 30, 0]
    assert objects().loc["5", ["n_epochs_g", "n_epochs_r", "n_epochs_i"]].tolist() == [30, 0, 30]
    assert (result.totals["objects"], result.totals["files_skipped"]) == (3, 0)


def test_a_label_of_any_piece_counts_and_contradictions_count_for_none(tmp_path, workspace, lcdvt_here):
    for star in range(4):
        write_oid(tmp_path / "z", 10 + star, "g", ra=60.0 * star)
        write_oid(tmp_path / "z", 20 + star, "r", ra=60.0 * star)
    (tmp_path / "c.csv").write_text("id,class\n20,EA\n11,RRab\n21,CEP\n12,RRab\n22,RRc\n99,EA\n")
    result = lcdvt.ingest(tmp_path / "z", join_radius="1arcsec", catalog=tmp_path / "c.csv", **ALONE)
    assert labels() == {"10": "EB", "11": None, "12": "RRLYR", "13": None}
    assert result.labels["contradicted_stars"] == 1
    said = lcdvt_here("ingest", tmp_path / "z", "--features", "none", "--jobs", 1).stdout
    assert "1 stars have light curves with contradicting labels" in said
    assert "nothing to do" in said


def test_labels_of_class_folders_count_likewise(tmp_path, workspace):
    for name, oid, band, where in (
        ("EA", 1, "g", 0), ("none", 2, "r", 0), ("EA", 3, "g", 60), ("RRab", 4, "r", 60), ("EA", 5, "g", 90)
    ):  # fmt: skip
        write_oid(tmp_path / "z" / name, oid, band, ra=where)
    result = lcdvt.ingest(tmp_path / "z", join_radius="1arcsec", **ALONE)
    assert labels() == {"1": "EB", "3": None, "5": "EB"}
    assert result.joined["contradicting_labels"] == 1
    (tmp_path / "c.csv").write_text("id,class\n1,EA\n2,CEP\n4,RRab\n")
    lcdvt.ingest(tmp_path / "z", catalog=tmp_path / "c.csv", **ALONE)
    assert labels() == {"1": None, "3": "RRLYR", "5": "EB"}


def make_many(folder: Path, stars: range) -> None:
    """Write stars whose g and r lie in different files and batches."""
    for star in stars:
        write_oid(folder, 1000 + star, "g", ra=20.0 * star, mag=15 + star / 100)
        write_oid(folder, 5000 + star, "r", ra=20.0 * star, mag=14 + star / 100)


def check_same(one: Path, other: Path) -> None:
    """Compare the stars of two surveys, value for value."""
    names = [sorted(str(path.relative_to(each)) for path in each.rglob("*.parquet")) for each in (one, other)]
    assert names[0] == names[1]
    for name in names[0]:
        pd.testing.assert_frame_equal(pq.read_table(one / name).to_pandas(), pq.read_table(other / name).to_pandas())


@pytest.mark.parametrize("features", ["none", "Mean,StetsonK"])
@pytest.mark.parametrize("stop", ["reading", "deciding", "joining", "labels"])
def test_stopped_anywhere_it_goes_on_and_ends_the_same(tmp_path, workspace, monkeypatch, stop, features):
    make_many(tmp_path / "z", range(40))
    settings = {"join_radius": "1arcsec", "jobs": 1, "features": features.split(",") if "," in features else features}

    def raise_it(*_: object, **__: object) -> None:
        raise StopHereError

    def stopping(done: int, total: int | None, note: str = "") -> None:
        if (stop, total) in (("reading", 80), ("joining", 40)) and done >= 16:
            raise StopHereError

    with monkeypatch.context() as patched:
        if stop == "deciding":
            patched.setattr(join_module, "write_piece_table", raise_it)
        if stop == "labels":
            patched.setattr("lcdvt.ingestion.ingest.write_objects", raise_it)
        with pytest.raises(StopHereError):
            lcdvt.ingest(tmp_path / "z", progress=stopping, **settings)
    with pytest.raises(WorkspaceError, match="not ingested"):
        lcdvt.open_survey("ztf")
    made = {path: path.stat().st_mtime_ns for path in (workspace / "ztf" / "epochs").glob("part-*")}
    lcdvt.ingest(tmp_path / "z", **settings)
    assert {path: path.stat().st_mtime_ns for path in made} == made, "a finished part was made again"
    assert lcdvt.ingest(tmp_path / "z", **settings).nothing_new
    lcdvt.ingest(tmp_path / "z", name="whole", **settings)
    check_same(workspace / "ztf", workspace / "whole")
    assert len(objects()) == 40
    assert lcdvt.verify("ztf")[0].findings == []


def test_more_light_curves_later_join_the_stars_that_are_there(tmp_path, workspace):
    make_many(tmp_path / "z", range(20))
    lcdvt.ingest(tmp_path / "z", join_radius="1arcsec", **ALONE)
    lcdvt.extract("ztf", features=["Mean"], jobs=1)
    make_many(tmp_path / "z", range(20, 25))
    for star in range(10):
        write_oid(tmp_path / "z", 7000 + star, "i", ra=20.0 * star)
    grown = lcdvt.ingest(tmp_path / "z", jobs=1)
    assert (grown.totals["objects"], grown.joined["light_curves"], grown.nothing_new) == (25, 60, False)
    assert objects()["n_epochs_i"].gt(0).sum() == 10
    assert set(lcdvt.open_survey("ztf").features()) == {"object_id", "Mean_g", "Mean_r", "Mean_i"}
    assert lcdvt.ingest(tmp_path / "z", join_radius="1arcsec", jobs=1).nothing_new
    lcdvt.ingest(tmp_path / "z", join_radius="1arcsec", name="whole", features=["Mean"], jobs=1)
    stored = [lcdvt.open_survey(name).epochs.to_table().to_pandas() for name in ("ztf", "whole")]
    stored = [each.sort_values(["object_id", "band", "mjd"]).reset_index(drop=True) for each in stored]
    pd.testing.assert_frame_equal(*stored)
    assert lcdvt.verify("ztf")[0].findings == []


def test_another_radius_joins_again_without_reading_the_files(tmp_path, workspace):
    write_oid(tmp_path / "z", 1, "g")
    write_oid(tmp_path / "z", 2, "r", ra=2.0)
    lcdvt.ingest(tmp_path / "z", join_radius="1arcsec", **ALONE)
    assert len(objects()) == 2
    read = {path: path.stat().st_mtime_ns for path in (workspace / "ztf" / ".ingest" / "pieces").rglob("*.parquet")}
    assert len(read) == 2
    lcdvt.ingest(tmp_path / "z", join_radius="3arcsec", **ALONE)
    assert len(objects()) == 1
    assert {path: path.stat().st_mtime_ns for path in read} == read
    assert lcdvt.ingest(tmp_path / "z", **ALONE).joined["stars"] == 1, "without options as it was last time"


@pytest.mark.parametrize("damaged", ["epochs", "features", "pieces.parquet", ".ingest/pieces/epochs"])
def test_damage_is_found_and_repaired(tmp_path, workspace, damaged):
    make_many(tmp_path / "z", range(20))
    settings = {"join_radius": "1arcsec", "jobs": 1, "features": ["Mean"]}
    lcdvt.ingest(tmp_path / "z", **settings)
    shutil.copytree(workspace / "ztf", workspace / "unhurt")
    place = workspace / "ztf" / damaged
    path = place if place.is_file() else sorted(place.glob("part-*"))[0]
    path.write_bytes(path.read_bytes()[:-20])
    assert [finding for finding in lcdvt.verify("ztf")[0].findings if path.name in str(finding)]
    with pytest.raises(WorkspaceError, match="missing or damaged: run the same command with repair=True"):
        lcdvt.ingest(tmp_path / "z", **settings)
    repaired = lcdvt.ingest(tmp_path / "z", repair=True, **settings)
    assert repaired.repaired == ([] if place.is_file() else [path.name])
    assert lcdvt.verify("ztf")[0].findings == []
    check_same(workspace / "ztf", workspace / "unhurt")


def test_one_and_two_workers_write_the_same(tmp_path, workspace):
    make_many(tmp_path / "z", range(40))
    for name, jobs in {"one": 1, "two": 2}.items():
        lcdvt.ingest(tmp_path / "z", name=name, jobs=jobs, features=["Mean"], join_radius="1arcsec")
    check_same(workspace / "one", workspace / "two")


def test_a_survey_that_was_not_joined_asks_to_begin_again(tmp_path, workspace, lcdvt_here):
    write_oid(tmp_path / "z", 1, "g")
    write_oid(tmp_path / "z", 2, "r", ra=0.3)
    write_oid(tmp_path / "z", 3, "r", ra=30)
    said = lcdvt_here("ingest", tmp_path / "z", "--features", "none", "--jobs", 1)
    assert "2 light curves lie within 1 arcsec of another: --join-radius 1arcsec makes one star of them." in said.stdout
    refused = lcdvt_here("ingest", tmp_path / "z", "--join-radius", "1arcsec", "--features", "none", "--jobs", 1)
    assert refused.returncode == 2
    assert "was ingested without joining light curves: use --force" in refused.stderr
    assert len(objects()) == 3
    forced = lcdvt_here(
        "ingest", tmp_path / "z", "--join-radius", "1arcsec", "--force", "--features", "none", "--jobs", 1
    )
    assert "joined to one star with another" in forced.stdout
    assert "lie within" not in forced.stdout
    assert len(objects()) == 2


def test_without_positions_it_is_refused_and_names_still_work(tmp_path, workspace, lcdvt_here):
    (tmp_path / "z").mkdir()
    for oid in ("536106200014286", "536206200014287"):  # the band is a digit of the oid
        rows = [f"{58400 + day},{15 + day % 5 / 10},0.01,0.1" for day in range(20)]
        (tmp_path / "z" / f"{oid}.csv").write_text("\n".join(["mjd,mag,magerr,clrcoeff", *rows]) + "\n")
    refused = lcdvt_here("ingest", tmp_path / "z", "--join-radius", "1arcsec", "--features", "none", "--jobs", 1)
    assert refused.returncode == 2
    assert "no light curve of ztf has a position" in refused.stderr
    (tmp_path / "s.csv").write_text("id,star\n536106200014286,V1\n536206200014287,V1\n")
    lcdvt.ingest(tmp_path / "z", join_ids=tmp_path / "s.csv", **ALONE)
    assert objects().loc["V1", ["n_epochs_g", "n_epochs_r"]].tolist() == [20, 20]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"join_radius": "near"}, "join_radius='near' is not an angle"),
        ({"join_radius": "1"}, "join_radius='1' is not an angle"),
        ({"join_radius": "5arcmin"}, "would join neighbours: give an angle up to 60arcsec"),
        ({"join_ids": "missing.csv"}, "does not exist: give join_ids=FILE"),
        ({"join_ids": "id,name\n1,V1\n"}, "one column 'star'"),
        ({"join_ids": "id,star\n1,V1\n1,V2\n"}, "1 belongs to V1 and to V2"),
        ({"join_ids": "id,star\n1,\n"}, "1 rows lack the id or the star"),
        ({"join_ids": "id,star\n"}, "names no star"),
        ({"join_ids": "id,star\n7,V1\n"}, "none of the 1 ids of .* is the id of a light curve"),
    ],
)
def test_what_cannot_be_joined_is_said_in_a_sentence(tmp_path, workspace, options, message):
    write_oid(tmp_path / "z", 1)
    if "\n" in options.get("join_ids", ""):
        (tmp_path / "s.csv").write_text(options["join_ids"])
        options = {"join_ids": tmp_path / "s.csv"}
    with pytest.raises((InputFileError, SettingsError), match=message):
        lcdvt.ingest(tmp_path / "z", **options, **ALONE)


def test_a_wrong_table_leaves_the_stars_that_are_there(tmp_path, workspace):
    make_many(tmp_path / "z", range(3))
    lcdvt.ingest(tmp_path / "z", join_radius="1arcsec", **ALONE)
    (tmp_path / "s.csv").write_text("id,star\n7,V1\n")
    with pytest.raises(InputFileError, match="none of the 1 ids"):
        lcdvt.ingest(tmp_path / "z", join_ids=tmp_path / "s.csv", **ALONE)
    assert len(objects()) == 3
    assert lcdvt.ingest(tmp_path / "z", **ALONE).nothing_new


def test_a_table_of_names_that_is_gone_is_asked_for(tmp_path, workspace):
    make_many(tmp_path / "z", range(2))
    (tmp_path / "s.csv").write_text("id,star\n1000,V1\n5000,V1\n")
    lcdvt.ingest(tmp_path / "z", join_ids=tmp_path / "s.csv", **ALONE)
    (tmp_path / "s.csv").unlink()
    with pytest.raises(InputFileError, match="does not exist: give join_ids=FILE"):
        lcdvt.ingest(tmp_path / "z", **ALONE)
    assert len(objects()) == 3


def test_ids_in_a_table_of_names_are_text(tmp_path):
    (tmp_path / "s.csv").write_text("# by hand\nID;Star\n007;7\n 7 ;V 1\n")
    assert read_star_names(tmp_path / "s.csv") == {"007": "7", "7": "V 1"}


def test_friends_of_friends_across_the_meridian_and_at_the_pole():
    ra, dec = np.array([359.9999, 0.0001, 10.0, 190.0, 50.0]), np.array([0.0, 0.0, 89.9999, 89.9999, -20.0])
    first, second = close_pairs(ra, dec, 1.0)
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == {(0, 1), (2, 3)}
    frame = pd.DataFrame({"piece": list("abcde"), "ra": ra, "dec": dec})
    curves = pd.DataFrame({"piece": list("abcde"), "band": list("grgrg"), "median": 15.0, "spread": 0.1})
    groups = group_stars(frame, curves.assign(first=0.0, last=1.0), 1.0, {})
    assert groups.star_of == {"a": "a", "b": "a", "c": "c", "d": "c", "e": "e"}


def test_a_star_that_varies_much_is_one_star():
    """A Mira's medians may lie far apart, but within its own spread."""
    frame = pd.DataFrame({"piece": ["a", "b"], "ra": [1.0, 1.0], "dec": [0.0, 0.0]})
    curves = pd.DataFrame({"piece": ["a", "b"], "band": "g", "median": [14.0, 15.5], "first": 0.0, "last": 9.0})
    assert set(group_stars(frame, curves.assign(spread=1.0), 1.0, {}).star_of.values()) == {"a"}
    assert set(group_stars(frame, curves.assign(spread=0.3), 1.0, {}).star_of.values()) == {"a", "b"}


def test_simulated_ztf_becomes_one_object_for_each_true_star(tmp_path, workspace):
    lcdvt.simulate("ztf", tmp_path / "z", objects=60, seed=5)
    result = lcdvt.ingest(tmp_path / "z", join_radius="1arcsec", **ALONE)
    truth = pd.read_csv(tmp_path / "z" / "truth.csv", dtype={"id": str})
    true_stars = truth.groupby(["ra", "dec"])["id"].min()
    assert len(true_stars) == 60
    assert sorted(objects().index) == sorted(true_stars)
    assert objects()["label"].notna().all()
    assert result.joined["kept_apart"] == result.joined["offsets"] == 0
    of_truth = truth.sort_values("id").drop_duplicates(["ra", "dec"]).set_index("id")["class"]
    assert (objects()["label"].astype(str) == of_truth.reindex(objects().index)).all()


def test_dde_60_is_one_star_in_g_and_r(real_data, workspace):
    """Three oids in g and one in r; the period is that of the catalogue (VSX: 1.776396 d)."""
    files = sorted((real_data / "raw" / "today" / "ztf" / "irsa").glob("*"))
    result = lcdvt.ingest(*files, join_radius="1arcsec", jobs=1)
    assert result.joined["light_curves"] == 9
    star = objects().loc["1654113100005697"]
    alone = pieces(workspace)
    mine = alone[alone["star"] == "1654113100005697"]
    assert sorted(mine.index) == ["1654113100005697", "1654213100009109", "1655116200005297", "657105200011802"]
    assert star["n_epochs_g"] == mine.loc[mine["band"] == "g", "epochs"].sum() > 400
    assert star["n_epochs_r"] == 80
    assert mine["offset"].abs().max() < 0.05, "ZTF's fields agree to some hundredths"
    period = lcdvt.open_survey("ztf").light_curve("1654113100005697").period
    assert min(abs(period / 1.776396 - 1), abs(period * 2 / 1.776396 - 1)) < 1e-4
    # Rybka 2, and two stars that lie 5 arcseconds apart.
    assert sorted(objects().index)[1:] == ["1732315100004561", "686103400034440", "686103400106565"]


def test_many_light_curves_in_one_place_are_counted_without_listing_their_pairs(tmp_path, workspace):
    """A survey may give the field's centre as the position of all its stars: the hint must not take memory for it."""
    (tmp_path / "z").mkdir()
    row = "{},1,{},58000.5,15.0,0.01,0,zr,73.5,32.9,1,0,1,657,5,2,20,26,0,0,0,30,1,1"
    lines = [row.format(100_000_000_000_000 + oid, 2458001.0 + night) for oid in range(3000) for night in range(2)]
    (tmp_path / "z" / "all.csv").write_text("\n".join([ZTF_COLUMNS, *lines]) + "\n")
    tracemalloc.start()
    result = lcdvt.ingest(tmp_path / "z", clean="none", **ALONE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.neighbours == 3000
    assert peak < 80e6  # nine million pairs take more
